//! `unix`: the name of user and group, without proof.

use bytes::Bytes;

use super::Exchange;

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
    fn begin(&mut self, _arguments: &str) -> Bytes {
        self.credential.clone()
    }

    fn proceed(&mut self, _challenge: &[u8]) -> Option<Bytes> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credential_is_what_a_server_has_accepted() {
        let recorded = include_bytes!("../../samples/auth.req.bin");
        assert_eq!(Unix::new("user", "group").begin(""), recorded[24..]);
    }
}
