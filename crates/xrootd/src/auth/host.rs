//! `host`: the server goes by the client's address.

use bytes::Bytes;

use super::exchange::{Exchange, Step, no_further_step};

#[derive(Debug)]
pub struct Host;

impl Exchange for Host {
    fn begin(&mut self, _arguments: &str) -> Result<Step, String> {
        Ok(Step::last(Bytes::from_static(b"host\0")))
    }

    fn proceed(&mut self, _challenge: &[u8]) -> Result<Step, String> {
        no_further_step("host")
    }
}
