//! Cuts a stream of bytes, however it arrives, into frames: a header and the bytes it announces.
//!
//! Bodies that are kept whole are bounded by a limit and gathered as they arrive, so a length
//! that lies takes no memory. Bodies that are data are passed on as slices of the received bytes.

use bytes::{Bytes, BytesMut};

use crate::error::{DecodeError, ProtocolError};
use crate::header::{RequestHeader, ResponseHeader};

/// The head of a frame.
pub trait Head: Copy {
    const BYTES: usize;
    fn parse(bytes: &[u8]) -> Result<Self, DecodeError>;
    fn length(&self) -> u32;
}

impl Head for RequestHeader {
    const BYTES: usize = RequestHeader::BYTES;

    fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes =
            bytes.try_into().map_err(|_| DecodeError::Short { subject: "request header" })?;
        RequestHeader::decode(bytes)
    }

    fn length(&self) -> u32 {
        self.length
    }
}

impl Head for ResponseHeader {
    const BYTES: usize = ResponseHeader::BYTES;

    fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let bytes =
            bytes.try_into().map_err(|_| DecodeError::Short { subject: "response header" })?;
        ResponseHeader::decode(bytes)
    }

    fn length(&self) -> u32 {
        self.length
    }
}

/// Treatment of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Hand it over whole, if it has no more than this many bytes.
    Whole { subject: &'static str, limit: u64 },
    /// Hand it over as it comes.
    AsItComes,
}

/// A piece of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<H> {
    Whole { head: H, body: Bytes },
    Part { head: H, bytes: Bytes, last: bool },
}

#[derive(Debug)]
enum State<H> {
    Head,
    Whole { head: H },
    Part { head: H, left: usize },
}

/// The cutter. Holds at most one header, or one body that is kept whole.
#[derive(Debug)]
pub struct FrameReader<H> {
    state: State<H>,
    gathered: BytesMut,
}

impl<H: Head> FrameReader<H> {
    pub fn new() -> Self {
        FrameReader { state: State::Head, gathered: BytesMut::new() }
    }

    /// The next piece, taken off the front of `input`; none when more bytes are needed. `body`
    /// is asked once per frame.
    pub fn next(
        &mut self,
        input: &mut Bytes,
        body: impl Fn(&H) -> Result<Body, ProtocolError>,
    ) -> Result<Option<Piece<H>>, ProtocolError> {
        loop {
            match self.state {
                State::Head => {
                    let Some(bytes) = self.take(input, H::BYTES) else { return Ok(None) };
                    let head = H::parse(&bytes)?;
                    self.state = match body(&head)? {
                        Body::AsItComes => State::Part { head, left: head.length() as usize },
                        Body::Whole { subject, limit } if u64::from(head.length()) > limit => {
                            let bytes = head.length().into();
                            return Err(ProtocolError::TooLarge { subject, bytes, limit });
                        }
                        Body::Whole { .. } => State::Whole { head },
                    };
                }
                State::Whole { head } => {
                    let Some(body) = self.take(input, head.length() as usize) else {
                        return Ok(None);
                    };
                    self.state = State::Head;
                    return Ok(Some(Piece::Whole { head, body }));
                }
                State::Part { head, left } => {
                    if input.is_empty() && left > 0 {
                        return Ok(None);
                    }
                    let bytes = input.split_to(left.min(input.len()));
                    let left = left - bytes.len();
                    let last = left == 0;
                    self.state = if last { State::Head } else { State::Part { head, left } };
                    return Ok(Some(Piece::Part { head, bytes, last }));
                }
            }
        }
    }

    /// The body just handed over announces bytes that its header did not count: they follow as
    /// parts under this head.
    pub fn follow(&mut self, head: H) {
        self.state = State::Part { head, left: head.length() as usize };
    }

    /// Bytes of the body that is being kept whole and has not come to its end.
    pub fn arriving_bytes(&self) -> u32 {
        match &self.state {
            State::Whole { head } => head.length(),
            State::Head | State::Part { .. } => 0,
        }
    }

    /// Whether a frame, its header included, has arrived in part.
    pub fn is_amid_a_frame(&self) -> bool {
        !matches!(self.state, State::Head) || !self.gathered.is_empty()
    }

    /// Whether the bytes that came last belong to a body that is not through.
    pub fn is_amid_a_body(&self) -> bool {
        match self.state {
            State::Head => false,
            State::Whole { .. } => !self.gathered.is_empty(),
            State::Part { .. } => true,
        }
    }

    /// Exactly `count` bytes, without a copy where they came in one piece.
    fn take(&mut self, input: &mut Bytes, count: usize) -> Option<Bytes> {
        if self.gathered.is_empty() && input.len() >= count {
            return Some(input.split_to(count));
        }
        let missing = count - self.gathered.len();
        self.gathered.extend_from_slice(&input.split_to(missing.min(input.len())));
        (self.gathered.len() == count).then(|| self.gathered.split().freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Status, StreamId};

    /// Two frames, the second one data, and the beginning of a third.
    fn stream() -> Vec<u8> {
        let head = |stream, length| {
            ResponseHeader { stream: StreamId(stream), status: Status::Ok, length }.encode()
        };
        [&head(1, 3)[..], b"abc", &head(2, 4), b"defg", &head(3, 0)[..5]].concat()
    }

    fn data_is_stream_2(head: &ResponseHeader) -> Result<Body, ProtocolError> {
        Ok(match head.stream {
            StreamId(2) => Body::AsItComes,
            _ => Body::Whole { subject: "test", limit: 3 },
        })
    }

    fn cut(chunks: impl Iterator<Item = Bytes>) -> (Vec<(u16, Vec<u8>)>, usize) {
        let mut reader = FrameReader::new();
        let mut frames: Vec<(u16, Vec<u8>)> = Vec::new();
        let mut open = false;
        for mut chunk in chunks {
            while let Some(piece) = reader.next(&mut chunk, data_is_stream_2).unwrap() {
                match piece {
                    Piece::Whole { head, body } => frames.push((head.stream.0, body.to_vec())),
                    Piece::Part { head, bytes, last } => {
                        if !open {
                            frames.push((head.stream.0, Vec::new()));
                        }
                        frames.last_mut().unwrap().1.extend_from_slice(&bytes);
                        open = !last;
                    }
                }
            }
        }
        (frames, reader.gathered.len())
    }

    #[test]
    fn frames_come_out_the_same_whole_and_byte_by_byte_and_the_tail_stays() {
        let stream = Bytes::from(stream());
        let expected = (vec![(1, b"abc".to_vec()), (2, b"defg".to_vec())], 5);
        for size in 1..=stream.len() {
            let chunks = (0..stream.len())
                .step_by(size)
                .map(|at| stream.slice(at..stream.len().min(at + size)));
            assert_eq!(cut(chunks), expected, "in chunks of {size}");
        }
    }

    #[test]
    fn data_is_passed_on_without_a_copy() {
        let stream = Bytes::from(stream());
        let mut input = stream.clone();
        let mut reader = FrameReader::new();
        reader.next(&mut input, data_is_stream_2).unwrap();
        let Some(Piece::Part { bytes, last: true, .. }) =
            reader.next(&mut input, data_is_stream_2).unwrap()
        else {
            panic!("the data of stream 2");
        };
        assert_eq!(bytes.as_ptr(), stream[19..].as_ptr());
    }

    #[test]
    fn what_follows_a_body_uncounted_comes_in_parts() {
        for length in [0, 4] {
            let stream = Bytes::from(stream());
            let mut input = stream.clone();
            let mut reader = FrameReader::new();
            reader.next(&mut input, data_is_stream_2).unwrap();
            let status = Status::Ok;
            reader.follow(ResponseHeader { stream: StreamId(9), status, length });
            let Some(Piece::Part { head, bytes, last: true }) =
                reader.next(&mut input, data_is_stream_2).unwrap()
            else {
                panic!("what follows");
            };
            assert_eq!((head.stream, bytes.len()), (StreamId(9), length as usize));
        }
    }

    #[test]
    fn a_body_over_its_limit_is_refused_before_it_arrives() {
        let mut input = Bytes::from_static(&[0, 1, 0, 0, 0x7f, 0xff, 0xff, 0xff]);
        let error = FrameReader::<ResponseHeader>::new().next(&mut input, data_is_stream_2);
        let bytes = 0x7fff_ffff;
        let limit = 3;
        assert_eq!(error, Err(ProtocolError::TooLarge { subject: "test", bytes, limit }));
    }
}
