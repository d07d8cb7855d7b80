//! `host`: the server goes by the client's address.

use bytes::Bytes;

use super::Exchange;

#[derive(Debug)]
pub struct Host;

impl Exchange for Host {
    fn begin(&mut self, _arguments: &str) -> Bytes {
        Bytes::from_static(b"host\0")
    }

    fn proceed(&mut self, _challenge: &[u8]) -> Option<Bytes> {
        None
    }
}
