//! `unix`: the name of user and group, without proof.

use bytes::Bytes;

use super::exchange::{Exchange, Step, no_further_step};

#[derive(Debug)]
pub struct Unix {
    credential: Bytes,
}

impl Unix {
    pub fn new(user: &str, group: &str) -> Unix {
        Unix { credential: Bytes::from(format!("unix\0{user} {group}\0")) }
    }
}

impl Exchange for Unix {
    fn begin(&mut self, _arguments: &str) -> Result<Step, String> {
        Ok(Step::last(self.credential.clone()))
    }

    fn proceed(&mut self, _challenge: &[u8]) -> Result<Step, String> {
        no_further_step("unix")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credential_is_what_a_server_has_accepted() {
        let recorded = include_bytes!("../../samples/auth.req.bin");
        let step = Unix::new("user", "group").begin("").unwrap();
        assert_eq!(step.credential, recorded[24..]);
    }
}
