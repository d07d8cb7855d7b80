//! A stand-in for TLS between a client and a served connection: a message each way, then every byte
//! is changed.

use bytes::Bytes;

pub const HELLO: &[u8] = b"\x16hello";
pub const READY: &[u8] = b"\x16ready";

/// One side of it.
pub struct Tunnel {
    /// Bytes of the opening that have not been received yet.
    expects: Bytes,
    /// Bytes written before the tunnel is open.
    held: Vec<Bytes>,
}

impl Tunnel {
    pub fn new(expects: &'static [u8]) -> Tunnel {
        Tunnel { expects: Bytes::from_static(expects), held: Vec::new() }
    }

    /// The content of received bytes; `true` where they have the last byte of the opening.
    pub fn receive(&mut self, mut bytes: Bytes) -> (Bytes, bool) {
        let was_open = self.expects.is_empty();
        let count = self.expects.len().min(bytes.len());
        assert_eq!(bytes.split_to(count), self.expects.split_to(count), "not the opening");
        (scramble(&bytes), !was_open && self.expects.is_empty())
    }

    /// The bytes to send for some content: `None` before the tunnel is open.
    pub fn send(&mut self, bytes: Bytes) -> Option<Bytes> {
        if !self.expects.is_empty() {
            self.held.push(bytes);
            return None;
        }
        Some(scramble(&bytes))
    }

    /// The bytes held back until the tunnel was open.
    pub fn held(&mut self) -> Option<Bytes> {
        let held = std::mem::take(&mut self.held).concat();
        (!held.is_empty()).then(|| scramble(&held))
    }
}

fn scramble(bytes: &[u8]) -> Bytes {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}
