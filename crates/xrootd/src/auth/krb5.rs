//! `krb5`: a Kerberos ticket, as one AP-REQ message (RFC 4120, 5.5.1).

use secrecy::{ExposeSecret, SecretSlice};

use super::exchange::{Exchange, Step, no_further_step};
use crate::error::DecodeError;

#[derive(Debug)]
pub struct Krb5 {
    request: SecretSlice<u8>,
}

impl Krb5 {
    pub fn new(request: SecretSlice<u8>) -> Krb5 {
        Krb5 { request }
    }
}

impl Exchange for Krb5 {
    fn begin(&mut self, _arguments: &str) -> Result<Step, String> {
        Ok(Step::last([b"krb5\0", self.request.expose_secret()].concat().into()))
    }

    fn proceed(&mut self, _challenge: &[u8]) -> Result<Step, String> {
        no_further_step("krb5")
    }
}

/// The AP-REQ of a credential, as the served side receives it.
pub fn request_of(credential: &[u8]) -> Result<&[u8], DecodeError> {
    let subject = "krb5 credential";
    let request = credential.strip_prefix(b"krb5\0");
    let request = request.ok_or(DecodeError::Invalid { subject, why: "not a ticket" })?;
    if request.is_empty() {
        return Err(DecodeError::Short { subject });
    }
    Ok(request)
}

/// The principal that a server names behind `krb5` in its offer, `xrootd/host@REALM`.
///
/// # Errors
/// Why such an offer is not answered.
pub fn principal(arguments: &str) -> Result<&str, String> {
    let mut parts = arguments.trim_matches(['\0', ' ']).split(',');
    let principal = parts.next().unwrap_or_default();
    if principal.is_empty() {
        return Err("the server does not name its principal".to_owned());
    }
    if parts.any(|part| part == "fwd") {
        return Err("the server wants a ticket that it can pass on, which is never given".into());
    }
    Ok(principal)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn the_credential_is_the_bare_message_behind_the_name() {
        let mut exchange = Krb5::new(b"\x6e\x82".to_vec().into());
        assert_eq!(exchange.begin("").unwrap(), Step::last(Bytes::from_static(b"krb5\0\x6e\x82")));
    }

    #[test]
    fn the_served_side_reads_it_and_refuses_every_part_of_its_head() {
        let whole = b"krb5\0\x6e\x82";
        assert_eq!(request_of(whole).unwrap(), b"\x6e\x82");
        for end in 0..6 {
            assert_eq!(request_of(&whole[..end]).is_ok(), end == 6, "{end} bytes");
        }
        assert!(request_of(b"krb5 \x6e\x82").is_err());
    }

    #[test]
    fn a_ticket_to_pass_on_is_never_given() {
        assert_eq!(principal("xrootd/a.b@R"), Ok("xrootd/a.b@R"));
        assert!(principal("xrootd/a.b@R,fwd").is_err());
        assert!(principal("").is_err());
    }
}
