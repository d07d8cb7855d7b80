//! Names of services as XRootD's offers have them, and GSS's frame around Kerberos's messages.

/// The object identifier of Kerberos 5, as the frame has it: 1.2.840.113554.1.2.2.
const KERBEROS: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2];
/// The bytes behind it in front of an AP-REQ (RFC 4121, section 4.1).
const AP_REQ: [u8; 2] = [1, 0];
/// No name of a service is longer, in bytes.
const LONGEST: usize = 512;

/// The principal of an offer, without the server's other wishes: `xrootd/host@REALM,fwd` requests a
/// ticket that the server could use in the user's name, which farroot does not give.
pub(super) fn service(offer: &str) -> Result<&str, String> {
    let principal = offer.split(',').next().unwrap_or_default().trim();
    let graphic = principal.bytes().all(|byte| byte.is_ascii_graphic());
    match !principal.is_empty() && graphic && principal.len() <= LONGEST {
        true => Ok(principal),
        false => Err("the server's name for Kerberos is none".to_owned()),
    }
}

/// The AP-REQ of a token (RFC 2743, section 3.1); `None` where it holds another thing.
pub(super) fn application_request(token: &[u8]) -> Option<&[u8]> {
    let rest = token.strip_prefix(&[0x60])?;
    let (&first, rest) = rest.split_first()?;
    let digits = if first < 0x80 { 0 } else { usize::from(first & 0x7f) };
    let rest = rest.get(digits..)?;
    let request = rest.strip_prefix(&KERBEROS)?.strip_prefix(&AP_REQ)?;
    // [APPLICATION 14], RFC 4120, section 5.5.1.
    (request.first() == Some(&0x6e)).then_some(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_of_gss_is_taken_off() {
        let framed = |length: &[u8]| [&[0x60], length, &KERBEROS, &AP_REQ, &[0x6e, 1, 2]].concat();
        for length in [&[16][..], &[0x81, 200], &[0x82, 2, 200]] {
            assert_eq!(application_request(&framed(length)), Some(&[0x6e, 1, 2][..]));
        }
        for cut in 0..framed(&[16]).len() - 2 {
            assert_eq!(application_request(&framed(&[16])[..cut]), None);
        }
    }

    #[test]
    fn what_a_server_would_like_besides_is_left_out() {
        assert_eq!(service("xrootd/a.example@A,fwd"), Ok("xrootd/a.example@A"));
        assert!(service("").is_err());
        assert!(service("a\nb").is_err());
        assert!(service(&"a".repeat(600)).is_err());
    }
}
