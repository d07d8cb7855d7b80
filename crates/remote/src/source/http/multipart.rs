//! A `multipart/byteranges` body (RFC 9110, section 14.6), read as it streams.
//!
//! Each part says with `Content-Range` how long it is, so its bytes are counted, never searched for
//! the boundary, and are handed on without being copied: once the boundary after them has been
//! seen, since a part that is shorter than it says has others' bytes in it. Parts may come in any
//! order, and fewer of them than were requested.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Buf, Bytes};

use super::range::parse_content_range;

/// Longest line between parts; a server writes here only headers.
const LINE_BYTES_MAX: usize = 4096;
/// Most lines before a part's bytes, or before the first boundary.
const LINES_MAX: u32 = 64;
/// A larger part is not held back until its end: servers that merge ranges may send one of any
/// size.
pub const HELD_BYTES_MAX: u64 = 4 << 20;
/// RFC 2046 allows 70; some servers use more.
const BOUNDARY_BYTES_MAX: usize = 200;

/// Why a body cannot be read.
pub type Malformed = &'static str;

/// The boundary that a `Content-Type` names; `None` for other types of content.
pub fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/byteranges") {
        return None;
    }
    parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let usable = !value.is_empty() && value.len() <= BOUNDARY_BYTES_MAX;
        (name.trim().eq_ignore_ascii_case("boundary") && usable).then(|| value.to_owned())
    })
}

/// The parser: bytes of the body in, bytes of the file out.
#[derive(Debug)]
pub struct Multipart {
    delimiter: Vec<u8>,
    /// From the first requested byte to the last.
    hull: Range<u64>,
    state: State,
    /// A line that has begun.
    line: Vec<u8>,
    lines: u32,
    /// The bytes of a part, until the boundary after them is checked.
    held: VecDeque<(u64, Bytes)>,
    released: bool,
    /// Parts that may still come.
    parts_left: usize,
}

#[derive(Debug, PartialEq)]
enum State {
    /// Before the first boundary.
    Preamble,
    /// After a part.
    Between,
    /// In the headers of a part; its place in the file once it has been read.
    Headers(Option<(Range<u64>, Option<u64>)>),
    /// In the bytes of a part: those that are still to come.
    Part { rest: Range<u64>, hold: bool },
    /// Past the last boundary.
    End,
}

/// Items of a body, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// These bytes of a part have come, and are held back until its end.
    Held(Range<u64>),
    /// The size of the file, as a part has it.
    Size(u64),
    /// Bytes of a part.
    Data { offset: u64, bytes: Bytes },
}

impl Multipart {
    /// For the answer to a request of so many ranges that lie within `hull`.
    pub fn new(boundary: &str, hull: Range<u64>, ranges: usize) -> Self {
        let delimiter = [b"--", boundary.as_bytes()].concat();
        Multipart {
            delimiter,
            hull,
            state: State::Preamble,
            line: Vec::new(),
            lines: 0,
            held: VecDeque::new(),
            released: false,
            parts_left: ranges,
        }
    }

    /// The next item of `input`, which is used up by it; `None` where more input is needed.
    ///
    /// # Errors
    /// The defect of the body; nothing can be read after it.
    pub fn next(&mut self, input: &mut Bytes) -> Result<Option<Item>, Malformed> {
        loop {
            if self.released {
                if let Some((offset, bytes)) = self.held.pop_front() {
                    return Ok(Some(Item::Data { offset, bytes }));
                }
                self.released = false;
            }
            if !input.has_remaining() {
                return Ok(None);
            }
            match &mut self.state {
                State::Part { rest, hold } => {
                    let left = usize::try_from(rest.end - rest.start).unwrap_or(usize::MAX);
                    let bytes = input.split_to(left.min(input.len()));
                    let offset = rest.start;
                    let hold = *hold;
                    rest.start += bytes.len() as u64;
                    let end = rest.start;
                    if end == rest.end {
                        self.state = State::Between;
                    }
                    if !hold {
                        return Ok(Some(Item::Data { offset, bytes }));
                    }
                    let held = offset..end;
                    self.held.push_back((offset, bytes));
                    return Ok(Some(Item::Held(held)));
                }
                State::End => input.clear(),
                State::Preamble | State::Between | State::Headers(_) => {
                    if !self.take_line(input)? {
                        return Ok(None);
                    }
                    let line = std::mem::take(&mut self.line);
                    if let Some(size) = self.handle_line(line.trim_ascii_end())? {
                        return Ok(Some(Item::Size(size)));
                    }
                }
            }
        }
    }

    /// Whether the body has ended where it may.
    pub fn is_complete(&self) -> bool {
        self.state == State::End
    }

    /// Moves a line over, or as much of it as there is; true once its end has come.
    fn take_line(&mut self, input: &mut Bytes) -> Result<bool, Malformed> {
        let end = input.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(input.len(), |at| at + 1);
        if self.line.len() + taken > LINE_BYTES_MAX {
            return Err("a line between its parts is too long");
        }
        self.line.extend_from_slice(&input.split_to(taken));
        // The last boundary need not be followed by a line end.
        let last = matches!(self.state, State::Preamble | State::Between)
            && self.line.strip_prefix(self.delimiter.as_slice()) == Some(b"--");
        Ok(end.is_some() || last)
    }

    /// Takes in a line between parts' bytes; the size of the file, where a part has it.
    fn handle_line(&mut self, line: &[u8]) -> Result<Option<u64>, Malformed> {
        self.lines += 1;
        if self.lines > LINES_MAX {
            return Err("there are too many lines between its parts");
        }
        match &mut self.state {
            State::Preamble | State::Between => {
                match line.strip_prefix(self.delimiter.as_slice()) {
                    Some(b"--") => self.state = State::End,
                    Some(b"") => self.state = State::Headers(None),
                    // The line end after a part belongs to the boundary.
                    _ if line.is_empty() || self.state == State::Preamble => return Ok(None),
                    _ => return Err("a part is not as long as it says"),
                }
                self.released = true;
            }
            State::Headers(place) if line.is_empty() => {
                let (range, size) = place.take().ok_or("a part does not say its place")?;
                let end = size.unwrap_or(u64::MAX).min(self.hull.end);
                if range.start < self.hull.start || range.end > end {
                    return Err("a part was not asked for");
                }
                self.parts_left =
                    self.parts_left.checked_sub(1).ok_or("there are more parts than ranges")?;
                self.lines = 0;
                let hold = range.end - range.start <= HELD_BYTES_MAX;
                self.state = State::Part { rest: range, hold };
                return Ok(size);
            }
            State::Headers(place) => {
                let text = std::str::from_utf8(line).map_err(|_| "a header is not text")?;
                let (name, value) = text.split_once(':').ok_or("a header has no colon")?;
                if name.trim().eq_ignore_ascii_case("content-range") {
                    let content_range =
                        parse_content_range(value).ok_or("a part's place cannot be read")?;
                    let range = content_range.range.ok_or("a part has no bytes")?;
                    if place.replace((range, content_range.size)).is_some() {
                        return Err("a part says its place twice");
                    }
                }
            }
            State::Part { .. } | State::End => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As XrdHttp writes it, with a line that looks like a boundary within the bytes.
    const BODY: &[u8] = b"\r\n--42\r\n\
        Content-type: text/plain\r\nContent-range: bytes 0-6/100\r\n\r\n\
        \r\n--42-\r\n--42\r\n\
        CONTENT-RANGE: bytes 90-91/100\r\n\r\nxy\r\n--42--";

    /// Offsets, and the bytes that were handed on there.
    type Parts = Vec<(u64, Vec<u8>)>;

    fn expected() -> Parts {
        vec![(0, b"\r\n--42-".to_vec()), (90, b"xy".to_vec())]
    }

    fn read(pieces: impl Iterator<Item = Bytes>) -> Result<Parts, Malformed> {
        let mut parser = Multipart::new("42", 0..92, 2);
        let mut parts = Parts::new();
        for mut piece in pieces {
            while let Some(item) = parser.next(&mut piece)? {
                match item {
                    Item::Size(size) => assert_eq!(size, 100),
                    Item::Held(_) => {}
                    Item::Data { offset, bytes } => match parts.last_mut() {
                        Some((at, data)) if *at + data.len() as u64 == offset => {
                            data.extend_from_slice(&bytes);
                        }
                        _ => parts.push((offset, bytes.to_vec())),
                    },
                }
            }
            assert!(piece.is_empty());
        }
        if parser.is_complete() { Ok(parts) } else { Err("incomplete") }
    }

    #[test]
    fn parts_are_read_whole_byte_by_byte_and_with_a_tail() {
        let same = |parts: Parts| parts == expected();
        assert!(same(read([Bytes::from_static(BODY)].into_iter()).unwrap()));
        assert!(same(read(BODY.iter().map(|b| Bytes::copy_from_slice(&[*b]))).unwrap()));
        for size in 2..40 {
            assert!(same(read(BODY.chunks(size).map(Bytes::copy_from_slice)).unwrap()), "{size}");
        }
        let tail = [BODY, b"\r\nepilogue\r\n--42\r\nno: header"].concat();
        assert!(same(read([Bytes::from(tail)].into_iter()).unwrap()));
        let bare = BODY.iter().copied().filter(|&byte| byte != b'\r');
        let bare: Vec<u8> = bare.collect();
        // Without carriage returns the first part's bytes are others; only its place changes.
        let bare = String::from_utf8(bare).unwrap().replace("0-6", "0-5");
        assert_eq!(read([Bytes::from(bare)].into_iter()).unwrap()[1].1, b"xy");
    }

    #[test]
    fn every_truncation_is_noticed() {
        for length in 0..BODY.len() {
            assert!(read([Bytes::from_static(&BODY[..length])].into_iter()).is_err(), "{length}");
        }
    }

    #[test]
    fn malformed_parts_are_refused() {
        let cases: [&[u8]; 9] = [
            b"--42\r\n\r\nxy",
            b"--42\r\nContent-Range: bytes 5-1/100\r\n\r\n",
            b"--42\r\nContent-Range: bytes */100\r\n\r\n",
            b"--42\r\nno colon\r\n\r\n",
            b"--42\r\nContent-Range: bytes 0-0/100\r\nContent-Range: bytes 1-1/100\r\n\r\nx",
            b"--42\r\n\xff\xfe: 1\r\n\r\n",
            b"--42\r\nContent-Range: bytes 90-92/100\r\n\r\nxyz\r\n--42--",
            b"--42\r\nContent-Range: bytes 90-91/91\r\n\r\nxy\r\n--42--",
            b"--42\r\nContent-Range: bytes 0-0/100\r\n\r\nxyz\r\n--42--",
        ];
        for case in cases {
            assert!(read([Bytes::from_static(case)].into_iter()).is_err());
        }
        let long = vec![b'x'; LINE_BYTES_MAX + 1];
        assert!(read(long.chunks(100).map(Bytes::copy_from_slice)).is_err());
        let many = b"a: b\r\n".repeat(LINES_MAX as usize + 2);
        assert!(read([Bytes::from(many)].into_iter()).is_err());
    }

    #[test]
    fn nothing_of_a_part_that_is_too_short_is_handed_on() {
        let short = b"--42\r\nContent-Range: bytes 0-9/100\r\n\r\n01234\r\n--42--\r\n";
        let mut parser = Multipart::new("42", 0..92, 2);
        let mut input = Bytes::from_static(short);
        assert_eq!(parser.next(&mut input), Ok(Some(Item::Size(100))));
        assert_eq!(parser.next(&mut input), Ok(Some(Item::Held(0..10))));
        assert!(parser.next(&mut input).is_err());
    }

    /// A body that never ends could go on with parts that were not requested.
    #[test]
    fn there_are_no_more_parts_than_ranges() {
        let part = b"--42\r\nContent-Range: bytes 0-0/100\r\n\r\nx\r\n";
        let mut parser = Multipart::new("42", 0..92, 2);
        let mut input = Bytes::from(part.repeat(3));
        let end = loop {
            match parser.next(&mut input) {
                Ok(Some(_)) => {}
                end => break end,
            }
        };
        assert!(end.is_err());
    }

    #[test]
    fn a_part_of_any_size_passes_without_being_held() {
        let size = HELD_BYTES_MAX + 1;
        let head = format!("--42\r\nContent-Range: bytes 0-{}/{size}\r\n\r\n", size - 1);
        let mut parser = Multipart::new("42", 0..size, 1);
        assert_eq!(parser.next(&mut head.into()), Ok(Some(Item::Size(size))));
        let bytes = Bytes::from_static(b"01");
        let data = Item::Data { offset: 0, bytes: bytes.clone() };
        assert_eq!(parser.next(&mut bytes.clone()), Ok(Some(data)));
    }

    /// Whatever is changed about a body: it is refused, or all bytes that are handed on were
    /// requested.
    #[test]
    fn changed_bodies_never_lead_outside_of_what_was_asked() {
        let mut state: u64 = 1;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut read_to_the_end = 0;
        for _ in 0..20_000 {
            let mut body = BODY.to_vec();
            for _ in 0..1 + next(3) {
                let from = next(body.len());
                let to = next(body.len());
                let byte = next(256) as u8;
                match next(3) {
                    0 => body[from] = byte,
                    1 => drop(body.drain(from..body.len().min(from + to % 9))),
                    _ => body.extend_from_within(from.min(to)..from.max(to)),
                }
                body.push(byte);
            }
            let mut parser = Multipart::new("42", 0..92, 2);
            for piece in body.chunks(1 + next(50)) {
                let mut piece = Bytes::copy_from_slice(piece);
                while let Ok(Some(item)) = parser.next(&mut piece) {
                    if let Item::Data { offset, bytes } = item {
                        assert!(!bytes.is_empty() && offset + bytes.len() as u64 <= 92);
                    }
                }
            }
            read_to_the_end += u32::from(parser.is_complete());
        }
        // Most changes within a part's bytes cannot be noticed.
        assert!(read_to_the_end > 100, "{read_to_the_end}");
    }

    #[test]
    fn boundaries_come_with_and_without_quotes() {
        let named = |text| boundary(text);
        assert_eq!(named("multipart/byteranges; boundary=42").as_deref(), Some("42"));
        assert_eq!(
            named("Multipart/ByteRanges; charset=x; Boundary=\"a b\"").as_deref(),
            Some("a b")
        );
        assert_eq!(named("text/html; boundary=42"), None);
        assert_eq!(named("multipart/byteranges"), None);
        assert_eq!(named("multipart/byteranges; boundary="), None);
    }
}
