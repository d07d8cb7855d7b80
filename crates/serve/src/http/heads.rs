//! Whether a part of the next request's head has arrived on a connection.
//!
//! hyper reads all pending bytes. With one request, or while its answer is sent, a part of the next
//! request may arrive, and after the answer hyper's caller cannot see that.

use parking_lot::Mutex;

/// Position of the last received byte of a connection in the head of a request.
#[derive(Debug, Default)]
pub struct Heads(Mutex<Place>);

/// Position of the last received byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// At the end of a head, or before the first one.
    #[default]
    End,
    /// In a line of a head.
    Line,
    /// At the end of a line.
    LineEnd,
}

impl Heads {
    /// Moves the position on by bytes that have arrived.
    pub fn follow(&self, bytes: &[u8]) {
        let mut place = self.0.lock();
        *place = bytes.iter().fold(*place, |place, byte| place.after(*byte));
    }

    /// Whether a head has begun and has not ended.
    pub fn are_unfinished(&self) -> bool {
        *self.0.lock() != Place::End
    }

    /// The last bytes were the body of a request. A part of the next head that has arrived with
    /// them counts as body.
    pub fn end_body(&self) {
        *self.0.lock() = Place::End;
    }
}

impl Place {
    /// An empty line ends a head; lines may end without CR, and empty lines may stand before a head
    /// (RFC 9112, sections 2.1 and 2.2).
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (_, b'\r') | (Place::End, b'\n') => self,
            (Place::Line, b'\n') => Place::LineEnd,
            (Place::LineEnd, b'\n') => Place::End,
            _ => Place::Line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_unfinished_until_its_empty_line() {
        let text = b"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n\nGET / HTTP/1.1\n\n";
        let ends = [0, 1, 2, 29, 30];
        let heads = Heads::default();
        for (at, byte) in text.iter().enumerate() {
            let is_whole = !heads.are_unfinished();
            assert_eq!(is_whole, ends.contains(&at), "{at}");
            heads.follow(&[*byte]);
        }
        assert!(!heads.are_unfinished());
        for end in 0..text.len() {
            let heads = Heads::default();
            heads.follow(&text[..end]);
            assert_eq!(!heads.are_unfinished(), ends.contains(&end), "{end}");
            heads.end_body();
            assert!(!heads.are_unfinished());
        }
    }
}
