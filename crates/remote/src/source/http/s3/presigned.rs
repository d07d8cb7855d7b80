//! Addresses of HTTP that are signed themselves: who has one may read, until it expires.

use std::time::Duration;

use url::Url;

use super::sign::seconds;

/// Whether an address says itself who asks, so that a request for it must not: as S3 signs
/// (version 4, and version 2 before it), and Google, Azure and CloudFront.
pub fn is_presigned(url: &Url) -> bool {
    let has = |wanted: &str| url.query_pairs().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    has("X-Amz-Signature")
        || has("X-Goog-Signature")
        || (has("Signature")
            && ["AWSAccessKeyId", "GoogleAccessId", "Key-Pair-Id", "Expires"].into_iter().any(has))
        || (has("sig") && has("sv"))
}

/// How long ago an address of S3 has expired, at a time in seconds since 1970; `None` where it has
/// not, or has no time.
pub fn expired(url: &Url, now: u64) -> Option<Duration> {
    let value = |wanted: &str| {
        let mut pairs = url.query_pairs();
        pairs.find_map(|(name, value)| name.eq_ignore_ascii_case(wanted).then_some(value))
    };
    let lasts: u64 = value("X-Amz-Expires")?.parse().ok()?;
    let ends = seconds(&value("X-Amz-Date")?)?.checked_add(lasts)?;
    Some(Duration::from_secs(now.checked_sub(ends)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Authenticating Requests: Using Query Parameters" of the S3 API Reference.
    const EXAMPLE: &str = "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMA\
        C-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X\
        -Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aee\
        ed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";

    #[test]
    fn presigned_addresses_are_known_as_such() {
        for (url, is) in [
            (EXAMPLE, true),
            ("https://h/f?AWSAccessKeyId=x&Expires=1&Signature=y", true),
            ("https://h/f?GoogleAccessId=x&Expires=1&Signature=y", true),
            ("https://h/f?Expires=1&Signature=y", true),
            ("https://h/f?Policy=x&Signature=y&Key-Pair-Id=z", true),
            ("https://h/f?x-goog-signature=y", true),
            ("https://h/f?sv=2024-01-01&sr=b&sig=y", true),
            ("https://h/f?Signature=y", false),
            ("https://h/f?a=X-Amz-Signature", false),
            ("https://h/X-Amz-Signature", false),
        ] {
            assert_eq!(is_presigned(&Url::parse(url).unwrap()), is, "{url}");
        }
    }

    #[test]
    fn an_address_knows_its_end() {
        let url = Url::parse(EXAMPLE).unwrap();
        // 25 May 2013, 00:00:00.
        assert_eq!(expired(&url, 1_369_439_999), None);
        assert_eq!(expired(&url, 1_369_440_007), Some(Duration::from_secs(7)));
        for wrong in ["20130524", "2013éé24T000000Z", "20131324T000000Z", ""] {
            let url = EXAMPLE.replace("20130524T000000Z", wrong);
            assert_eq!(expired(&Url::parse(&url).unwrap(), u64::MAX), None, "{wrong}");
        }
    }
}
