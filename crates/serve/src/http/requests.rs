//! Whether a part of a request has arrived on a connection.
//!
//! hyper reads all pending bytes. With one request, or while its answer is sent, a part of the next
//! request may arrive, and after the answer hyper's caller cannot see that. A body belongs to its
//! request whether or not a service reads it.

use mutex::Mutex;

/// Bytes of a line that are looked at; lines with the length of a body are shorter.
const LINE_BYTES_MAX: usize = 256;

/// Position of the last received byte of a connection in its requests.
#[derive(Debug, Default)]
pub struct Requests(Mutex<Follower>);

#[derive(Debug, Default)]
struct Follower {
    place: Place,
    /// The beginning of the line that has not ended.
    line: Vec<u8>,
    body: Body,
}

/// Position of the last received byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// At the end of a request, or before the first one.
    #[default]
    End,
    /// In a line of a head, or of the trailers behind chunks.
    Line,
    /// At the end of such a line.
    LineEnd,
    /// In the line with the size of a chunk.
    ChunkSize,
    /// In a body, or in a chunk with its line end, of which this many bytes are to come.
    Data(u64),
}

/// The body behind the lines of the present request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Body {
    #[default]
    None,
    Bytes(u64),
    Chunks,
    /// The last chunk has come: the lines are its trailers.
    NoMoreChunks,
}

impl Requests {
    /// Moves the position on by bytes that have arrived.
    pub fn follow(&self, bytes: &[u8]) {
        self.0.lock().follow(bytes);
    }

    /// Whether a request has begun and has not ended.
    pub fn are_unfinished(&self) -> bool {
        self.0.lock().place != Place::End
    }
}

impl Follower {
    fn follow(&mut self, mut bytes: &[u8]) {
        while let Some((first, behind)) = bytes.split_first() {
            let Place::Data(left) = self.place else {
                self.place = self.after(*first);
                bytes = behind;
                continue;
            };
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            bytes = bytes.get(count..).unwrap_or_default();
            self.place = match (left - count as u64, self.body) {
                (0, Body::Chunks) => Place::ChunkSize,
                (0, _) => Place::End,
                (left, _) => Place::Data(left),
            };
        }
    }

    /// The position after a byte of a line. An empty line ends a head; lines may end without CR,
    /// and empty lines may stand before a head (RFC 9112, sections 2.1 and 2.2).
    fn after(&mut self, byte: u8) -> Place {
        match (self.place, byte) {
            (place, b'\r') | (place @ Place::End, b'\n') => place,
            (Place::LineEnd, b'\n') => self.behind_lines(),
            (Place::ChunkSize, b'\n') => self.behind_chunk_size(),
            (_, b'\n') => {
                self.take_field();
                Place::LineEnd
            }
            (place, _) => {
                if self.line.len() < LINE_BYTES_MAX {
                    self.line.push(byte);
                }
                if place == Place::ChunkSize { place } else { Place::Line }
            }
        }
    }

    /// Where an empty line leads.
    fn behind_lines(&mut self) -> Place {
        match std::mem::take(&mut self.body) {
            Body::None | Body::NoMoreChunks | Body::Bytes(0) => Place::End,
            Body::Bytes(count) => Place::Data(count),
            Body::Chunks => {
                self.body = Body::Chunks;
                Place::ChunkSize
            }
        }
    }

    /// Where the size of a chunk leads (RFC 9112, section 7.1). hyper ends a connection with
    /// another size than a number.
    fn behind_chunk_size(&mut self) -> Place {
        let line = std::mem::take(&mut self.line);
        let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
        let size = std::str::from_utf8(digits).ok();
        match size.and_then(|size| u64::from_str_radix(size.trim(), 16).ok()) {
            None | Some(0) => {
                self.body = Body::NoMoreChunks;
                Place::LineEnd
            }
            Some(size) => Place::Data(size.saturating_add(b"\r\n".len() as u64)),
        }
    }

    /// Notes the length of the body where the line that has ended gives it (RFC 9112, section 6).
    fn take_field(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
        let Some((name, value)) = text.split_once(':') else { return };
        match (name, value.trim(), self.body) {
            ("transfer-encoding", value, Body::None | Body::Bytes(_))
                if value.ends_with("chunked") =>
            {
                self.body = Body::Chunks;
            }
            ("content-length", value, Body::None) => {
                self.body = value.parse().map_or(Body::None, Body::Bytes);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks after which numbers of bytes no request is unfinished, byte by byte and at once.
    fn assert_ends(text: &[u8], ends: &[usize]) {
        let requests = Requests::default();
        for (at, byte) in text.iter().enumerate() {
            assert_eq!(!requests.are_unfinished(), ends.contains(&at), "{at}");
            requests.follow(&[*byte]);
        }
        assert_eq!(!requests.are_unfinished(), ends.contains(&text.len()));
        for end in 0..=text.len() {
            let requests = Requests::default();
            requests.follow(&text[..end]);
            assert_eq!(!requests.are_unfinished(), ends.contains(&end), "{end}");
            requests.follow(&text[end..]);
            assert_eq!(!requests.are_unfinished(), ends.contains(&text.len()), "{end}");
        }
    }

    #[test]
    fn a_head_is_unfinished_until_its_empty_line() {
        let text = b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n\nGET / HTTP/1.1\n\n";
        assert_ends(text, &[0, 1, 2, 29, 30, text.len()]);
    }

    /// Regression: a body counted as the beginning of the next head, unless a file was written.
    #[test]
    fn a_body_is_a_part_of_its_request() {
        for body in ["hello", "\r\n\r\n\n", "GET /"] {
            let head = "DELETE /f HTTP/1.1\r\ncontent-LENGTH:  5 \r\n\r\n";
            let text = format!("{head}{body}GET / HTTP/1.1\r\n\r\n");
            assert_ends(text.as_bytes(), &[0, head.len() + 5, text.len()]);
        }
        let empty = b"PUT /f HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
        assert_ends(empty, &[0, 38, empty.len()]);
    }

    #[test]
    fn chunks_end_with_their_trailers() {
        let head =
            "PUT /f HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
        let chunks = "5;name=\"x\"\r\nhello\r\n0A\r\n0123456789\r\n0\r\nContent-Length: 7\r\n\r\n";
        let text = format!("{head}{chunks}GET / HTTP/1.1\r\n\r\n");
        assert_ends(text.as_bytes(), &[0, head.len() + chunks.len(), text.len()]);
    }

    #[test]
    fn long_lines_and_wrong_lengths_are_followed() {
        let long = format!("GET /{} HTTP/1.1\r\nContent-Length: x\r\n\r\n", "a".repeat(100_000));
        let requests = Requests::default();
        requests.follow(long.as_bytes());
        assert!(!requests.are_unfinished());
        assert!(requests.0.lock().line.capacity() <= 2 * LINE_BYTES_MAX);
        let largest = format!("GET / HTTP/1.1\r\nContent-Length: {}\r\n\r\nx", u64::MAX);
        requests.follow(largest.as_bytes());
        assert_eq!(requests.0.lock().place, Place::Data(u64::MAX - 1));
    }
}
