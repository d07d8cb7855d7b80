//! Refusals of S3: their meaning for the user, and advice.

use std::time::Duration;

use credentials::advice;
use hyper::StatusCode;

use super::xml::Refusal;
use crate::error::{Error, ErrorKind};

/// A code of S3 is a word, and no server has longer ones.
const CODE_BYTES_MAX: usize = 64;

/// How a request showed who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// Signed with the keys that were found there.
    Keys(&'a str),
    /// Not at all: no keys were found.
    Nothing,
    /// The address is signed; how long ago that has ended by this machine's clock, if it has.
    Address(Option<Duration>),
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPurpose {
    Read,
    Write,
}

/// Facts about a request that was refused.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub shown: Shown<'a>,
    /// The service's address, without the bucket.
    pub service: &'a str,
    /// Seconds that this machine's clock is ahead of the server's.
    pub ahead: Option<i64>,
    pub purpose: RequestPurpose,
}

/// The refusal in words of its cause, with a hint; `plain` is the error of the status alone.
pub fn explain(refusal: &Refusal, status: StatusCode, plain: Error, asked: Asked<'_>) -> Error {
    let Asked { shown, service, .. } = asked;
    let say = |kind, text: String| Error::new(kind, text);
    match &*refusal.code {
        "NoSuchKey" => say(ErrorKind::NotFound, "the bucket has no such object".into()),
        "NoSuchVersion" => say(ErrorKind::NotFound, "the object has no such version".into()),
        "NoSuchBucket" => say(ErrorKind::NotFound, format!("{service} has no such bucket"))
            .with_advice("if it is at another site, set AWS_ENDPOINT_URL to that site's address"),
        "InvalidObjectState" => {
            say(ErrorKind::Unsupported, "the object is in an archive, not at hand".into())
                .with_advice("ask for it: aws s3api restore-object")
        }
        "RequestTimeTooSkewed" => skewed(asked.ahead),
        "SlowDown" => plain,
        "AccessDenied" | "RequestExpired" => denied(refusal, asked),
        "PreconditionFailed" | "ConditionalRequestConflict"
            if asked.purpose == RequestPurpose::Write =>
        {
            Error::target_is_there()
        }
        "NoSuchUpload" => say(ErrorKind::Io, "the server has dropped the parts sent so far".into())
            .with_advice("write the file again; the bucket's rules may end uploads too early"),
        "BadDigest" | "XAmzContentSHA256Mismatch" | "XAmzContentChecksumMismatch" => {
            say(ErrorKind::Corrupt, "the server has got other bytes than were sent".into())
                .with_advice("write the file again; if it happens again, ask the site")
        }
        "EntityTooLarge" | "QuotaExceeded" | "StorageFull" => {
            say(ErrorKind::LimitReached, format!("the bucket takes no more ({})", refusal.code))
                .with_advice("remove something there, or write to another bucket")
        }
        "InvalidAccessKeyId" | "InvalidClientTokenId" | "XAdminUserNotFound" => {
            unknown_key(shown, service)
        }
        "SignatureDoesNotMatch" => mismatch(shown),
        "ExpiredToken" | "InvalidToken" | "TokenRefreshRequired" => stale(refusal, shown),
        "AuthorizationHeaderMalformed" | "PermanentRedirect" | "TemporaryRedirect" => {
            elsewhere(refusal)
        }
        code => with_code(code, status, plain),
    }
}

/// Whether a refusal means that the bucket is in another region, and a request there would do.
pub fn is_elsewhere(code: &str) -> bool {
    matches!(code, "AuthorizationHeaderMalformed" | "PermanentRedirect" | "TemporaryRedirect")
        || matches!(code, "IllegalLocationConstraintException" | "InvalidRegion")
}

/// The meaning of answers without a document.
pub fn by_status(status: StatusCode) -> Option<Refusal> {
    let code = match status {
        StatusCode::FORBIDDEN => "AccessDenied",
        StatusCode::NOT_FOUND => "NoSuchKey",
        StatusCode::MOVED_PERMANENTLY => "PermanentRedirect",
        _ => return None,
    };
    Some(Refusal { code: code.into(), ..Refusal::default() })
}

/// Whether a refusal is of the file, or of who asks, so that no simpler request would do.
pub fn is_final(code: &str) -> bool {
    !matches!(code, "InvalidRange" | "InvalidArgument" | "InvalidRequest" | "NotImplemented")
}

fn skewed(ahead: Option<i64>) -> Error {
    let text = match ahead {
        Some(ahead) if ahead != 0 => {
            let side = if ahead > 0 { "ahead of" } else { "behind" };
            let time = span(Duration::from_secs(ahead.unsigned_abs()));
            format!("this machine's clock is {time} {side} the server's")
        }
        _ => "this machine's clock differs too much from the server's".into(),
    };
    let error = Error::new(ErrorKind::Unauthenticated, text);
    error.with_advice(advice::SET_CLOCK)
}

fn denied(refusal: &Refusal, Asked { shown, purpose, .. }: Asked<'_>) -> Error {
    let denied = ErrorKind::PermissionDenied;
    let unknown = ErrorKind::Unauthenticated;
    match shown {
        Shown::Nothing => Error::new(unknown, "the server wants an access key; none was found")
            .with_advice("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or type: aws configure"),
        Shown::Keys(place) => {
            let verb = if purpose == RequestPurpose::Read { "read" } else { "write" };
            Error::new(denied, format!("the access key of {place} may not {verb} this"))
                .with_advice("ask the bucket's owner, or name another profile in AWS_PROFILE")
        }
        Shown::Address(over) => {
            let says_so = refusal.message.contains("expired") || refusal.code == "RequestExpired";
            match (over, says_so) {
                (Some(over), _) => expired(&format!("expired {} ago", span(over))),
                (None, true) => expired("has expired by the server's clock"),
                (None, false) => {
                    Error::new(denied, "the server denies what the presigned address asks for")
                        .with_advice("it may be good for another object, or for another request")
                }
            }
        }
    }
}

fn expired(how: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("the presigned address {how}"))
        .with_advice("get a new one from where this one came from")
}

fn unknown_key(shown: Shown<'_>, service: &str) -> Error {
    let text = match shown {
        Shown::Keys(place) => format!("{service} does not know the access key of {place}"),
        _ => format!("{service} does not know the access key that the address was signed with"),
    };
    let error = Error::new(ErrorKind::Unauthenticated, text);
    error
        .with_advice("check that the key is this site's: AWS_ENDPOINT_URL says which site is asked")
}

fn mismatch(shown: Shown<'_>) -> Error {
    let kind = ErrorKind::Unauthenticated;
    match shown {
        Shown::Keys(place) => {
            let text = format!("the secret key of {place} is not that of its access key");
            Error::new(kind, text)
                .with_advice("copy both anew; a proxy that changes the line Host breaks it, too")
        }
        _ => Error::new(kind, "the presigned address is not as it was signed")
            .with_advice("quote it whole: a shell ends it at the first &"),
    }
}

fn stale(refusal: &Refusal, shown: Shown<'_>) -> Error {
    let how = if refusal.code == "InvalidToken" { "is not valid" } else { "has expired" };
    let whose = match shown {
        Shown::Keys(place) => format!("the session token of {place}"),
        _ => "the session token that the address was signed with".into(),
    };
    let error = Error::new(ErrorKind::Unauthenticated, format!("{whose} {how}"));
    error.with_advice("get new keys from where these came from")
}

fn elsewhere(refusal: &Refusal) -> Error {
    let (text, advice) = match refusal.region.as_deref() {
        Some(region) => (
            format!("the bucket is in the region {region}, and requests for it are refused, too"),
            format!("set AWS_REGION={region}, and AWS_ENDPOINT_URL if the site is another"),
        ),
        None => (
            "the bucket is in another region, and the server does not say which".into(),
            "set AWS_REGION to the bucket's region".into(),
        ),
    };
    Error::new(ErrorKind::InvalidArgument, text).with_advice(advice)
}

/// The error of the status, with S3's own word for it.
fn with_code(code: &str, status: StatusCode, plain: Error) -> Error {
    let is_word = code.len() <= CODE_BYTES_MAX && code.bytes().all(|b| b.is_ascii_alphanumeric());
    if !is_word {
        return plain;
    }
    let error = Error::new(plain.kind(), format!("the server answers {status} ({code})"))
        .retryable(plain.is_retryable());
    match plain.retry_after() {
        Some(pause) => error.with_retry_after(pause),
        None => error,
    }
}

/// A time in the largest units that say enough.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, seconds) => format!("{seconds} s"),
        (0, 0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: &str, shown: Shown<'_>, ahead: Option<i64>) -> Error {
        let refusal = Refusal { code: code.into(), message: "marker".into(), region: None };
        let plain = Error::new(ErrorKind::Io, "plain").retryable(true);
        let purpose = RequestPurpose::Read;
        let asked = Asked { shown, service: "https://s3.cern.ch/", ahead, purpose };
        explain(&refusal, StatusCode::FORBIDDEN, plain, asked)
    }

    #[test]
    fn each_cause_has_its_advice() {
        let keys = Shown::Keys("[default] of ~/.aws/credentials");
        let past = Shown::Address(Some(Duration::from_secs(7260)));
        for (code, shown, kind, part) in [
            ("NoSuchKey", keys, ErrorKind::NotFound, "no such object"),
            ("NoSuchBucket", keys, ErrorKind::NotFound, "https://s3.cern.ch/ has no such bucket"),
            ("AccessDenied", keys, ErrorKind::PermissionDenied, "of [default] of ~"),
            ("AccessDenied", Shown::Nothing, ErrorKind::Unauthenticated, "aws configure"),
            ("AccessDenied", past, ErrorKind::PermissionDenied, "expired 2 h 1 min ago"),
            ("AccessDenied", Shown::Address(None), ErrorKind::PermissionDenied, "another object"),
            ("InvalidAccessKeyId", keys, ErrorKind::Unauthenticated, "does not know"),
            ("SignatureDoesNotMatch", keys, ErrorKind::Unauthenticated, "secret key of [default]"),
            ("SignatureDoesNotMatch", past, ErrorKind::Unauthenticated, "quote it whole"),
            ("ExpiredToken", keys, ErrorKind::Unauthenticated, "session token of [default]"),
            ("InvalidObjectState", keys, ErrorKind::Unsupported, "restore-object"),
            ("PermanentRedirect", keys, ErrorKind::InvalidArgument, "AWS_REGION"),
        ] {
            let error = said(code, shown, None);
            assert_eq!(error.kind(), kind, "{code}");
            assert!(error.to_string().contains(part), "{code}: {error}");
            assert!(!error.is_retryable() && error.advice().is_some() || code == "NoSuchKey");
            assert!(!error.to_string().contains("marker"), "{error}");
        }
    }

    #[test]
    fn a_wrong_clock_is_wrong_by_so_much() {
        let keys = Shown::Keys("x");
        let error = |ahead| said("RequestTimeTooSkewed", keys, ahead).to_string();
        assert!(error(Some(1203)).contains("clock is 20 min 3 s ahead of the server's"));
        assert!(error(Some(-90_000)).contains("clock is 1 d 1 h behind the server's"));
        assert!(error(None).contains("differs too much"));
        assert!(error(None).contains("timedatectl"));
    }

    /// The server's code is shown only where it is a word.
    #[test]
    fn other_refusals_keep_what_their_status_says() {
        let error = said("InternalError", Shown::Nothing, None);
        assert_eq!(error.message(), "the server answers 403 Forbidden (InternalError)");
        assert!(error.is_retryable());
        assert_eq!(said("a marker=", Shown::Nothing, None).message(), "plain");
    }
}
