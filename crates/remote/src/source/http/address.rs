//! Parts of a file's address that are sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, HOST, HeaderValue, RANGE, USER_AGENT};
use hyper::{Request, Uri};
use percent_encoding::percent_decode_str;
use url::{Position, Url};

use super::body::RequestBody;
use super::s3;
use crate::address::Address;
use crate::error::{Error, ErrorKind, Result};

/// A request for these ranges, or for the whole file.
///
/// # Errors
/// `InvalidArgument` where the address cannot be put into a request.
pub fn get(address: &Address, range: Option<&str>, http2: bool) -> Result<Request<RequestBody>> {
    let wrong = || {
        Error::new(ErrorKind::InvalidArgument, "the address cannot be asked for by HTTP")
            .with_url(address.to_string())
    };
    let url = address.to_http().ok_or_else(wrong)?;
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let path = &url[Position::BeforePath..Position::AfterQuery];
    let mut request = anonymous(authority, path, range, http2).ok_or_else(wrong)?;
    // Servers of S3 refuse a request that says twice who asks.
    if !s3::is_presigned(url)
        && let Some(credentials) = credentials(url)
    {
        let value = format!("Basic {}", STANDARD.encode(credentials));
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

/// A request without credentials; `None` for an address that cannot be put into one.
pub fn anonymous(
    authority: &str,
    path: &str,
    range: Option<&str>,
    http2: bool,
) -> Option<Request<RequestBody>> {
    let uri = if http2 {
        Uri::builder().scheme("http").authority(authority).path_and_query(path).build()
    } else {
        Uri::builder().path_and_query(path).build()
    };
    let mut request = Request::get(uri.ok()?)
        .header(USER_AGENT, concat!("farroot/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, "*/*")
        // Ranges of compressed content would be ranges of something else.
        .header(ACCEPT_ENCODING, "identity");
    if !http2 {
        request = request.header(HOST, authority);
    }
    if let Some(range) = range {
        request = request.header(RANGE, range);
    }
    request.body(RequestBody::default()).ok()
}

/// `user:password`, as RFC 7617 wants it.
fn credentials(url: &Url) -> Option<Vec<u8>> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut credentials: Vec<u8> = percent_decode_str(url.username()).collect();
    credentials.push(b':');
    credentials.extend(percent_decode_str(url.password().unwrap_or_default()));
    Some(credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn the_user_is_sent_as_rfc_7617_has_it() {
        // The example of the RFC's section 2.
        let request = get(&url("http://Aladdin:open%20sesame@h/x?y"), Some("bytes=0-1"), false);
        let request = request.unwrap();
        assert_eq!(request.uri(), "/x?y");
        assert_eq!(request.headers()[HOST], "h");
        assert_eq!(request.headers()[RANGE], "bytes=0-1");
        assert_eq!(request.headers()[AUTHORIZATION], "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let request = get(&url("http://h:8080//store/x"), None, true).unwrap();
        assert_eq!(request.uri(), "http://h:8080//store/x");
        assert!(!request.headers().contains_key(AUTHORIZATION));
    }
}
