//! The director of a federation (Pelican), as a server of HTTP: it redirects to a cache of the
//! file, names further ones (`Link`), and says whether they want a token.

use hyper::header::{HeaderMap, HeaderName};
use hyper::{Request, StatusCode};
use url::{Position, Url};

use super::address::anonymous;
use super::body::RequestBody;
use crate::address::{Address, Scheme};
use crate::error::{Error, ErrorKind, Result};

const NAMESPACE: HeaderName = HeaderName::from_static("x-pelican-namespace");

/// Asks a director where a file of its federation is.
///
/// # Errors
/// `InvalidArgument` where the address cannot be put into a request.
pub fn get(
    director: &Url,
    url: &Address,
    range: Option<&str>,
    http2: bool,
) -> Result<Request<RequestBody>> {
    let wrong = || {
        Error::new(ErrorKind::InvalidArgument, "no director can be asked for this address")
            .with_url(url.to_string())
    };
    let file = url.to_pelican().ok_or_else(wrong)?;
    let authority = &director[Position::BeforeHost..Position::AfterPort];
    let path = &file[Position::BeforePath..Position::AfterQuery];
    let path = format!("{}{path}", director.path().trim_end_matches('/'));
    anonymous(authority, &path, range, http2).ok_or_else(wrong)
}

/// Where an answer leads to. A cache that a federation's director names may be shown a token where
/// the director says that it wants one, as if the caller had named it.
pub fn entrusted(from: &Address, to: Address, headers: &HeaderMap) -> Address {
    let schemes = (from.scheme(), to.scheme());
    match schemes == (Scheme::Pelican, Scheme::Https) && requires_token(headers) {
        true => to.entrusted(),
        false => to,
    }
}

/// A director's refusal in words of a federation; another server's as it is.
pub fn explained(error: Error, url: &Address) -> Error {
    match (url.scheme(), error.kind()) {
        (Scheme::Pelican, ErrorKind::NotFound) => {
            Error::new(ErrorKind::NotFound, "no server of the federation has this file")
        }
        _ => error,
    }
}

/// Whether an answer says so: `X-Pelican-Namespace: namespace=/x, require-token=true, ...`.
fn requires_token(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(NAMESPACE).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|part| {
        part.split_once('=').is_some_and(|(name, value)| {
            name.trim() == "require-token"
                && value.trim().trim_matches('"').eq_ignore_ascii_case("true")
        })
    })
}

/// Whether a federation refuses a request without credentials.
pub fn asks_who(url: &Address, status: StatusCode) -> bool {
    let is_asked = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    is_asked && url.scheme() == Scheme::Pelican
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_required_where_the_director_says_so() {
        for (line, requires) in [
            ("namespace=/d, require-token=true, collections-url=https://o:8443", true),
            ("namespace=/d,require-token=\"True\"", true),
            ("namespace=/d, require-token=false", false),
            ("namespace=/require-token=true", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(NAMESPACE, line.parse().unwrap());
            assert_eq!(requires_token(&headers), requires, "{line}");
        }
    }

    #[test]
    fn a_director_is_asked_for_the_path_in_the_federation() {
        let url = Address::parse("pelican://fed/d/a b.root?directread").unwrap();
        for (director, host, path) in [
            ("https://director.org", "director.org", "/d/a%20b.root?directread"),
            ("https://director.org:8444/api/", "director.org:8444", "/api/d/a%20b.root?directread"),
        ] {
            let request = get(&Url::parse(director).unwrap(), &url, None, false).unwrap();
            assert_eq!(
                (request.uri().to_string().as_str(), request.headers()["host"].as_bytes()),
                (path, host.as_bytes())
            );
        }
    }
}
