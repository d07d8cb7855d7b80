//! The form of a request: its target and its host (RFC 9112, section 3.2).

use hyper::header::HOST;
use hyper::{Method, Request, Version};

/// Why a request has no valid form, in words for its client; `None` where it has.
pub fn fault<B>(request: &Request<B>) -> Option<&'static str> {
    let hosts = request.headers().get_all(HOST).iter().count();
    let path = request.uri().path();
    let is_target = match *request.method() {
        Method::OPTIONS if path == "*" => true,
        Method::CONNECT => true,
        _ => path.starts_with('/'),
    };
    match hosts {
        0 if request.version() == Version::HTTP_11 => Some("a request has a line with Host\n"),
        0 | 1 if is_target => None,
        0 | 1 => Some("the target of a request begins with /, or is a whole address\n"),
        _ => Some("a request has one line with Host\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_whole_target_and_one_host() {
        let is_valid = |method: &str, target: &str, version, hosts: usize| {
            let mut request = Request::builder().method(method).uri(target).version(version);
            for _ in 0..hosts {
                request = request.header(HOST, "localhost");
            }
            fault(&request.body(()).unwrap()).is_none()
        };
        for (method, target, version, hosts, wanted) in [
            ("GET", "/f", Version::HTTP_11, 1, true),
            ("GET", "http://localhost/f", Version::HTTP_11, 1, true),
            ("GET", "http://localhost", Version::HTTP_11, 1, true),
            ("OPTIONS", "*", Version::HTTP_11, 1, true),
            ("CONNECT", "localhost:80", Version::HTTP_11, 1, true),
            ("GET", "/f", Version::HTTP_10, 0, true),
            ("GET", "/f", Version::HTTP_11, 0, false),
            ("GET", "http://localhost/f", Version::HTTP_11, 0, false),
            ("GET", "/f", Version::HTTP_11, 2, false),
            ("GET", "/f", Version::HTTP_10, 2, false),
            ("GET", "f", Version::HTTP_11, 1, false),
            ("GET", "*", Version::HTTP_11, 1, false),
        ] {
            assert_eq!(is_valid(method, target, version, hosts), wanted, "{method} {target}");
        }
    }
}
