//! A stand-in for TLS between a client and a served connection: a message each way, then every byte
//! is changed.

use bytes::Bytes;

pub const HELLO: &[u8] = b"\x16hello";
pub const READY: &[u8] = b"\x16ready";

/// One side of it.
pub struct Tunnel {
    /// What is still to come before anything else.
    expects: Bytes,
    /// What was written before that.
    held: Vec<Bytes>,
}

impl Tunnel {
    pub fn new(expects: &'static [u8]) -> Tunnel {
        Tunnel { expects: Bytes::from_static(expects), held: Vec::new() }
    }

    /// What is inside of what has come; `opened` where the last byte of the opening was in it.
    pub fn receive(&mut self, mut bytes: Bytes) -> (Bytes, bool) {
        let was_open = self.expects.is_empty();
        let count = self.expects.len().min(bytes.len());
        assert_eq!(bytes.split_to(count), self.expects.split_to(count), "not the opening");
        (scramble(&bytes), !was_open && self.expects.is_empty())
    }

    /// What leaves for some bytes: nothing before the tunnel is open.
    pub fn send(&mut self, bytes: Bytes) -> Option<Bytes> {
        if !self.expects.is_empty() {
            self.held.push(bytes);
            return None;
        }
        Some(scramble(&bytes))
    }

    /// What was held.
    pub fn held(&mut self) -> Option<Bytes> {
        let held = std::mem::take(&mut self.held).concat();
        (!held.is_empty()).then(|| scramble(&held))
    }
}

fn scramble(bytes: &[u8]) -> Bytes {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}
