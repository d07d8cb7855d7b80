//! Checksums by HTTP: `Want-Digest` and `Digest` (RFC 3230), `Want-Repr-Digest` and `Repr-Digest`
//! (RFC 9530), on a `HEAD`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request};

use super::answer::{Head, judge};
use super::body::RequestBody;
use super::exchange::Exchange;
use super::job::{Job, Outcome, Stop};
use crate::checksum::{Algorithm, Checksum};
use crate::error::{Error, ErrorKind};
use crate::source::ConnectionEvent;

const WANT_DIGEST: HeaderName = HeaderName::from_static("want-digest");
const DIGEST: HeaderName = HeaderName::from_static("digest");
const WANT_REPR_DIGEST: HeaderName = HeaderName::from_static("want-repr-digest");
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");

impl Exchange<'_> {
    /// Requests a checksum, and sends it as an event.
    pub async fn checksum(&self, job: &Job, algorithm: Option<Algorithm>) -> Outcome<()> {
        let _turn = self.transport.turn().await?;
        job.stop_if_cancelled()?;
        if self.server.is_s3(job.url()) {
            return self.object_checksum(job, algorithm).await;
        }
        let request = head(self.server.get(job.url(), None)?, algorithm);
        let response = self.ask(job, &request).await?;
        let judged = judge(&response);
        let checksum = checksum_in(response.headers(), algorithm);
        // The answer to a HEAD has no body.
        drop(response);
        match judged? {
            Head::Redirected(location) => {
                let to = self.server.led_to(job.url(), &location)?;
                Err(Stop::Redirected(Box::new(to)))
            }
            _ => {
                let checksum = checksum.ok_or_else(|| {
                    Error::new(ErrorKind::Unsupported, "the server gives no checksum of the file")
                })?;
                self.driver.send(ConnectionEvent::Checksum { request: job.request, checksum });
                Ok(())
            }
        }
    }
}

/// The request. XRootD 5 takes the first algorithm that is named.
fn head(mut request: Request<RequestBody>, algorithm: Option<Algorithm>) -> Request<RequestBody> {
    *request.method_mut() = Method::HEAD;
    let (want, repr) = match algorithm.unwrap_or(Algorithm::Adler32) {
        Algorithm::Adler32 => ("adler32", "adler=9"),
        Algorithm::Crc32c => ("crc32c", "crc32c=9"),
        Algorithm::Md5 => ("md5", "md5=9"),
        Algorithm::Crc32 => ("crc32", "crc32=9"),
        Algorithm::Sha256 => ("sha-256", "sha-256=9"),
        Algorithm::Sha1 => ("sha", "sha=9"),
        Algorithm::Sha512 => ("sha-512", "sha-512=9"),
    };
    request.headers_mut().insert(WANT_DIGEST, HeaderValue::from_static(want));
    request.headers_mut().insert(WANT_REPR_DIGEST, HeaderValue::from_static(repr));
    request
}

/// The checksum that an answer carries, of this kind or of the first one known.
pub fn checksum_in(headers: &HeaderMap, algorithm: Option<Algorithm>) -> Option<Checksum> {
    let lines = headers.get_all(REPR_DIGEST).into_iter().chain(headers.get_all(DIGEST));
    let values = lines.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let mut checksums = values.filter_map(|value| {
        let (name, value) = value.split_once('=')?;
        let algorithm = name.parse::<Algorithm>().ok()?;
        read(algorithm, value.trim().trim_matches(':'))
    });
    checksums.find(|checksum| algorithm.is_none_or(|wanted| wanted == checksum.algorithm()))
}

/// RFC 3230 has small checksums in hexadecimal and hashes in base64, RFC 9530 all in base64.
fn read(algorithm: Algorithm, value: &str) -> Option<Checksum> {
    let hex = Checksum::from_hex(algorithm, value).ok();
    // Some servers leave the padding out.
    let base64 = || STANDARD_NO_PAD.decode(value.trim_end_matches('=')).ok();
    hex.or_else(|| Checksum::from_bytes(algorithm, base64()?).ok())
}

#[cfg(test)]
mod tests {
    use super::super::address::get;
    use super::*;

    fn of(headers: &[(HeaderName, &'static str)], wanted: Option<Algorithm>) -> Option<String> {
        let headers =
            headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        checksum_in(&headers.collect(), wanted).map(|checksum| checksum.to_string())
    }

    #[test]
    fn both_specifications_are_read() {
        for (header, value, expected) in [
            (DIGEST, "adler32=11e60398", "adler32 11e60398"),
            (DIGEST, "sha=xyz, crc32c=e3069283", "crc32c e3069283"),
            (DIGEST, "md5=kAFQmDzST7DWlj99KOF/cg==", "md5 900150983cd24fb0d6963f7d28e17f72"),
            (REPR_DIGEST, "sha-256=:AA==:,adler=:EeYDmA==:", "adler32 11e60398"),
        ] {
            assert_eq!(of(&[(header, value)], None).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn what_was_not_asked_for_or_makes_no_sense_is_left_out() {
        let both = [(DIGEST, "adler32=11e60398,md5=kAFQmDzST7DWlj99KOF/cg==")];
        assert!(of(&both, Some(Algorithm::Md5)).unwrap().starts_with("md5 "));
        assert_eq!(of(&both, Some(Algorithm::Crc32c)), None);
        for wrong in ["adler32", "adler32=", "md5=kAFQ", "adler32=?", "=", ""] {
            assert_eq!(of(&[(DIGEST, wrong)], None), None, "{wrong}");
        }
    }

    #[test]
    fn the_question_names_one_algorithm() {
        let url = crate::address::Address::parse("http://h/f").unwrap();
        let request = head(get(&url, None, false).unwrap(), Some(Algorithm::Md5));
        assert_eq!(request.method(), Method::HEAD);
        assert_eq!(request.headers()[WANT_DIGEST], "md5");
        assert_eq!(request.headers()[WANT_REPR_DIGEST], "md5=9");
    }
}
