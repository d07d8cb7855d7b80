//! The checksum that an S3 server keeps of an object (S3 User Guide, "Checking object integrity").
//!
//! The writer chose its algorithm. After a multipart upload it may be a checksum of the parts'
//! checksums. Only a CRC-32C of the whole object can be compared here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::HeaderMap;

use crate::checksum::{Algorithm, Checksum};
use crate::clock::seconds_since_1970;
use crate::error::{Error, ErrorKind, Result};
use crate::source::ConnectionEvent;
use crate::source::http::exchange::Exchange;
use crate::source::http::job::{Job, Outcome};

/// Algorithms of S3 checksums, as in the header names `x-amz-checksum-...`.
const KINDS: [&str; 5] = ["crc32c", "crc64nvme", "crc32", "sha1", "sha256"];
/// Most attempts: a server may answer that the bucket is in another region.
const QUESTIONS_MAX: u32 = 3;

impl Exchange<'_> {
    /// Requests the checksum of an object, and sends it to the driver as an event.
    pub async fn object_checksum(&self, job: &Job, wanted: Option<Algorithm>) -> Outcome<()> {
        let Some(bucket) = &self.server.bucket else {
            let text = "an address that is signed is so for reading, not to ask for a checksum";
            let error = Error::new(ErrorKind::Unsupported, text);
            return Err(error.with_advice("name the object as s3://bucket/key, with keys").into());
        };
        for _ in 0..QUESTIONS_MAX {
            job.stop_if_cancelled()?;
            let http2 = self.server.http2;
            let now = seconds_since_1970();
            let request = bucket.head(job.url(), http2, now)?;
            let response = self.ask(job, &request).await?;
            if response.status() == StatusCode::OK {
                let checksum = kept(response.headers(), wanted)?;
                self.driver.send(ConnectionEvent::Checksum { request: job.request, checksum });
                return Ok(());
            }
            let Some((error, _)) = self.refusal(job.url(), &request, response).await? else {
                continue;
            };
            // An error answer to `HEAD` lacks the reason, and often the bucket's region.
            let request = bucket.get(job.url(), Some("bytes=0-0"), http2, now)?;
            let response = self.ask(job, &request).await?;
            if response.status().is_success() {
                self.transport.abandon(response).await;
                return Err(error.into());
            }
            if let Some((error, _)) = self.refusal(job.url(), &request, response).await? {
                return Err(error.into());
            }
        }
        Err(Error::new(ErrorKind::Io, "the bucket is somewhere else each time").into())
    }
}

/// The checksum of the whole object in a response's headers.
///
/// # Errors
/// `Unsupported`, naming the checksum that the server keeps instead.
fn kept(headers: &HeaderMap, wanted: Option<Algorithm>) -> Result<Checksum> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_of_parts = text("x-amz-checksum-type").is_some_and(|of| of == "COMPOSITE");
    let there =
        KINDS.iter().find_map(|kind| Some((*kind, text(&format!("x-amz-checksum-{kind}"))?)));
    let unsupported = |text: String| Err(Error::new(ErrorKind::Unsupported, text));
    match there {
        None => unsupported("the server keeps no checksum of this object".to_owned()),
        // Base64 has no `-`: behind it is the number of parts.
        Some((kind, value)) if is_of_parts || value.contains('-') => {
            let scope = "of this object, of its parts' checksums: none of the whole";
            unsupported(format!("the server keeps a {kind} {scope}"))
        }
        Some(("crc32c", value)) if wanted.is_none_or(|it| it == Algorithm::Crc32c) => {
            let bytes = STANDARD.decode(value).unwrap_or_default();
            Checksum::from_bytes(Algorithm::Crc32c, bytes)
        }
        Some((kind, _)) => {
            unsupported(format!("the server keeps a {kind} of this object, and no other checksum"))
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn of(lines: &[(&'static str, &'static str)], wanted: Option<Algorithm>) -> String {
        let headers = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        match kept(&headers.collect(), wanted) {
            Ok(checksum) => checksum.to_string(),
            Err(error) => format!("{:?}: {error}", error.kind()),
        }
    }

    #[test]
    fn a_checksum_of_the_whole_object_is_taken_and_others_are_named() {
        let whole = ("x-amz-checksum-type", "FULL_OBJECT");
        let parts = ("x-amz-checksum-type", "COMPOSITE");
        let crc32c = ("x-amz-checksum-crc32c", "4waSgw==");
        let crc64 = ("x-amz-checksum-crc64nvme", "rosUhgp5mIg=");
        assert_eq!(of(&[whole, crc32c], None), "crc32c e3069283");
        assert_eq!(of(&[crc32c], Some(Algorithm::Crc32c)), "crc32c e3069283");
        for (lines, wanted, why) in [
            (&[parts, crc32c][..], None, "a crc32c of this object, of its parts'"),
            (&[("x-amz-checksum-crc32c", "4waSgw==-3")], None, "of its parts'"),
            (&[whole, crc64], None, "keeps a crc64nvme of this object"),
            (&[whole, crc32c], Some(Algorithm::Adler32), "keeps a crc32c of this object"),
            (&[], None, "keeps no checksum"),
        ] {
            let said = of(lines, wanted);
            assert!(said.starts_with("Unsupported: ") && said.contains(why), "{said}");
        }
        assert!(of(&[("x-amz-checksum-crc32c", "4waSgw")], None).starts_with("Corrupt: "));
    }
}
