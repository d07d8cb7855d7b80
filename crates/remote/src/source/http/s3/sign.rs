//! Version 4 of AWS's signatures of requests (AWS General Reference, "Signature Version 4 signing
//! process"), as S3 has it: paths are encoded once and not made shorter. Nothing here has a clock
//! or sends anything.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use time::{Date, OffsetDateTime};

/// Stands for a body's hash where the body is not signed.
pub const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// All but the letters, digits and marks that RFC 3986 (section 2.3) calls unreserved.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same in a path, whose slashes stay.
const RESERVED_IN_PATH: &AsciiSet = &RESERVED.remove(b'/');

/// A part of a query, encoded as signatures have it.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The path of an object's key, without the slash before it, encoded as signatures have it.
pub fn encoded_path(key: &str) -> String {
    utf8_percent_encode(key, RESERVED_IN_PATH).to_string()
}

/// The signed parts of a request. Path and query are as they are sent, and encoded with
/// [`encoded`].
pub struct Signable<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
    /// Names in lower case, and values; all of them are signed, `host` has to be among them.
    pub headers: Vec<(&'a str, &'a str)>,
    /// SHA-256 of the body in hexadecimal, or [`UNSIGNED_PAYLOAD`].
    pub payload: &'a str,
}

/// The scope of a signature: its date, region and service.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The time of the request, as [`stamp`] writes it.
    pub stamp: &'a str,
    pub region: &'a str,
    pub service: &'a str,
}

impl Scope<'_> {
    fn day(&self) -> &str {
        self.stamp.get(..8).unwrap_or_default()
    }

    fn text(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.day(), self.region, self.service)
    }
}

/// The value of `Authorization`, which is secret as long as it is good.
pub fn authorization(
    asked: &Signable<'_>,
    scope: Scope<'_>,
    key_id: &str,
    secret: &SecretString,
) -> SecretString {
    let (request, names) = canonical(asked);
    let signature = HEXLOWER.encode(&mac(
        &signing_key(scope, secret),
        &format!("{ALGORITHM}\n{}\n{}\n{}", scope.stamp, scope.text(), sha256(request.as_bytes())),
    ));
    let scope = scope.text();
    format!("{ALGORITHM} Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}")
        .into()
}

/// The request as both sides write it before they hash it, and the names of its headers.
fn canonical(asked: &Signable<'_>) -> (String, String) {
    let mut headers: Vec<(&str, String)> = asked
        .headers
        .iter()
        .map(|(name, value)| (*name, value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")))
        .collect();
    headers.sort();
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let query = canonical_query(asked.query);
    let Signable { method, path, payload, .. } = asked;
    (format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}"), names)
}

/// By name, then by value; a name without a value has an empty one.
fn canonical_query(query: &str) -> String {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let mut parts: Vec<(&str, &str)> =
        parts.map(|part| part.split_once('=').unwrap_or((part, ""))).collect();
    parts.sort_unstable();
    let parts: Vec<String> = parts.iter().map(|(name, value)| format!("{name}={value}")).collect();
    parts.join("&")
}

fn signing_key(scope: Scope<'_>, secret: &SecretString) -> Zeroizing<Vec<u8>> {
    let begin = Zeroizing::new(format!("AWS4{}", secret.expose_secret()).into_bytes());
    [scope.day(), scope.region, scope.service, "aws4_request"]
        .iter()
        .fold(begin, |key, text| Zeroizing::new(mac(&key, text)))
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    // Keys of every length are taken: the block's size is no limit (RFC 2104, section 2).
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// The hash of a body, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// A time, in seconds since 1970, as `X-Amz-Date` has it: `20130524T000000Z`. Times after the year
/// 9999 are those of 1970, which every server refuses.
pub fn stamp(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().map(OffsetDateTime::from_unix_timestamp);
    let time = time.and_then(|time| time.ok()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let month = u8::from(time.month());
    let year = time.year();
    let day = time.day();
    let (hour, minute, second) = time.to_hms();
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// The time of a [`stamp`]; a leap second is the second after it.
pub fn seconds(stamp: &str) -> Option<u64> {
    let number = |range| stamp.get(range).and_then(|digits: &str| digits.parse::<u16>().ok());
    let month = u8::try_from(number(4..6)?).ok()?;
    let day = u8::try_from(number(6..8)?).ok()?;
    let date = Date::from_calendar_date(number(0..4)?.into(), month.try_into().ok()?, day).ok()?;
    let hour = number(9..11)?;
    let minute = number(11..13)?;
    let second = number(13..15)?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let midnight = u64::try_from(date.midnight().assume_utc().unix_timestamp()).ok()?;
    Some(midnight + u64::from(hour) * 3600 + u64::from(minute) * 60 + u64::from(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of nothing.
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    /// The signature alone.
    fn signature(asked: &Signable<'_>, scope: Scope<'_>, id: &str, secret: &str) -> String {
        let value = authorization(asked, scope, id, &secret.to_owned().into());
        let value = value.expose_secret();
        let begin = format!("AWS4-HMAC-SHA256 Credential={id}/{}, SignedHeaders=", scope.text());
        assert!(value.starts_with(&begin), "{value}");
        value.rsplit_once("Signature=").unwrap().1.to_owned()
    }

    /// "Examples: Signature Calculations in AWS Signature Version 4" of the S3 API Reference.
    #[test]
    fn requests_to_s3_are_signed_as_its_documents_show() {
        let scope = Scope { stamp: "20130524T000000Z", region: "us-east-1", service: "s3" };
        let host = ("host", "examplebucket.s3.amazonaws.com");
        let hash = ("x-amz-content-sha256", EMPTY);
        let date = ("x-amz-date", scope.stamp);
        for (path, query, headers, expected) in [
            (
                "/test.txt",
                "",
                vec![host, ("range", "bytes=0-9"), hash, date],
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            ),
            (
                "/",
                "lifecycle",
                vec![host, hash, date],
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            ),
            (
                "/",
                "prefix=J&max-keys=2",
                vec![date, hash, host],
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
            ),
        ] {
            let asked = Signable { method: "GET", path, query, headers, payload: EMPTY };
            let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
            assert_eq!(signature(&asked, scope, "AKIAIOSFODNN7EXAMPLE", secret), expected);
        }
        // With a body, and a key that has to be encoded.
        let body = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
        let put = Signable {
            method: "PUT",
            path: &format!("/{}", encoded_path("test$file.text")),
            query: "",
            headers: vec![
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                host,
                ("x-amz-content-sha256", body),
                date,
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ],
            payload: body,
        };
        assert_eq!(
            signature(
                &put,
                scope,
                "AKIAIOSFODNN7EXAMPLE",
                "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
            ),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
    }

    /// `aws-sig-v4-test-suite`: get-vanilla, get-vanilla-query-order-key-case,
    /// get-header-value-trim, post-vanilla, post-sts-header-before.
    #[test]
    fn requests_are_signed_as_the_test_suite_has_them() {
        let session = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGB\
                       uFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtB\
                       mUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXA\
                       kiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9K\
                       SYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
        let host = ("host", "example.amazonaws.com");
        let date = ("x-amz-date", "20150830T123600Z");
        let plain = vec![host, date];
        for (method, query, headers, expected) in [
            (
                "GET",
                "",
                plain.clone(),
                "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
            ),
            (
                "GET",
                "Param2=value2&Param1=value1",
                plain.clone(),
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
            ),
            (
                "GET",
                "",
                vec![host, ("my-header1", " value1"), ("my-header2", " \"a   b   c\""), date],
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
            ),
            ("POST", "", plain, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            (
                "POST",
                "",
                vec![host, date, ("x-amz-security-token", session)],
                "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
            ),
        ] {
            let asked = Signable { method, path: "/", query, headers, payload: EMPTY };
            let scope = Scope { stamp: date.1, region: "us-east-1", service: "service" };
            let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
            assert_eq!(signature(&asked, scope, "AKIDEXAMPLE", secret), expected, "{method}");
        }
    }

    #[test]
    fn times_are_written_as_signatures_have_them() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_440_938_160, "20150830T123600Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
            (1_735_689_599, "20241231T235959Z"),
        ] {
            assert_eq!(stamp(seconds), expected);
            assert_eq!(super::seconds(expected), Some(seconds));
        }
        assert_eq!(super::seconds("20161231T235960Z"), super::seconds("20170101T000000Z"));
        for wrong in [
            "",
            "20130524",
            "20131324T000000Z",
            "20130229T000000Z",
            "20130524T240000Z",
            "19691231T235959Z",
            "2013éé24T000000Z",
        ] {
            assert_eq!(super::seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn keys_are_encoded_once_and_wholly() {
        assert_eq!(
            encoded_path("a b/c~d+é%2F'(*)/../x"),
            "a%20b/c~d%2B%C3%A9%252F%27%28%2A%29/../x"
        );
        assert_eq!(encoded("a/b=&"), "a%2Fb%3D%26");
    }
}
