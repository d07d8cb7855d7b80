//! The requested part of a file, by the conditions and ranges of the request (RFC 9110, sections 13
//! and 14).

use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use hyper::header::{self, HeaderMap, HeaderName};
use hyper::{Method, Request};

use super::last_modified;
use super::range::{self, RangeRequest};
use crate::folder::Stat;

/// Content of the answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: a precondition of the request fails (412).
    Failed,
    /// Nothing: the client has the file as it is (304).
    NotModified,
    /// Nothing: no range is within the file, or there are too many (416).
    Unsatisfiable,
    /// The whole file (200).
    Whole,
    /// These ranges, in the order requested (206); never empty ones.
    Ranges(Vec<Range<u64>>),
}

/// The answer that a request wants of a file with this description. Conditions are evaluated in
/// their order of precedence (section 13.2.2).
pub fn asked<B>(request: &Request<B>, stat: &Stat) -> Asked {
    let headers = request.headers();
    let etag = stat.etag();
    if !is_as_meant(headers, Some(stat)) {
        return Asked::Failed;
    }
    let is_known = match list(headers, header::IF_NONE_MATCH) {
        Some(tags) => names(&tags, &etag, true),
        None => is_unchanged(headers, header::IF_MODIFIED_SINCE, stat).unwrap_or(false),
    };
    if is_known {
        return Asked::NotModified;
    }
    // A weak tag or another date does not name this version (section 13.1.5).
    let is_date = |value: &str| last_modified(stat).is_some_and(|date| date == value);
    let is_fresh =
        text(headers, header::IF_RANGE).is_none_or(|value| value == etag || is_date(value));
    // Ranges are defined for GET only (section 14.2).
    let is_get = request.method() == Method::GET;
    let ranges = text(headers, header::RANGE).filter(|_| is_fresh && is_get);
    match ranges.map(|value| range::parse(value, stat.size)) {
        None | Some(RangeRequest::Whole) => Asked::Whole,
        Some(RangeRequest::Unsatisfiable) => Asked::Unsatisfiable,
        Some(RangeRequest::Ranges(ranges)) => Asked::Ranges(ranges),
    }
}

/// Whether a change may be made under this name, of which `None` is there: `If-None-Match: *`
/// is for a new file only (section 13.1.2).
pub fn may_be_changed(headers: &HeaderMap, stat: Option<&Stat>) -> bool {
    let is_known = || {
        let tags = list(headers, header::IF_NONE_MATCH)?;
        Some(names(&tags, &stat?.etag(), true))
    };
    is_as_meant(headers, stat) && !is_known().unwrap_or(false)
}

/// Whether the request is for the file that is there now (sections 13.1.1 and 13.1.4).
fn is_as_meant(headers: &HeaderMap, stat: Option<&Stat>) -> bool {
    match (list(headers, header::IF_MATCH), stat) {
        (Some(_), None) => false,
        (Some(tags), Some(stat)) => names(&tags, &stat.etag(), false),
        (None, None) => true,
        (None, Some(stat)) => {
            is_unchanged(headers, header::IF_UNMODIFIED_SINCE, stat).unwrap_or(true)
        }
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The joined lines of a list header; `None` without any.
fn list(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let lines: Vec<&str> =
        headers.get_all(name).iter().filter_map(|line| line.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join(","))
}

/// Whether a list of entity tags has this one, or is `*`. With `weak_counts` weak tags count: the
/// client does not go on with bytes that it has (section 8.8.3.2). No tag of this server has a
/// comma.
fn names(tags: &str, etag: &str, weak_counts: bool) -> bool {
    tags.split(',').map(str::trim).any(|tag| {
        let strong = if weak_counts { tag.strip_prefix("W/").unwrap_or(tag) } else { tag };
        strong == etag || tag == "*"
    })
}

/// Whether the file has not changed since the date of a header; `None` where there is no date, or
/// where the file has none (sections 13.1.3 and 13.1.4).
fn is_unchanged(headers: &HeaderMap, name: HeaderName, stat: &Stat) -> Option<bool> {
    let since = httpdate::parse_http_date(text(headers, name)?).ok()?;
    let since = since.duration_since(UNIX_EPOCH).ok()?;
    let modified = Duration::from_secs(stat.modified.as_secs());
    (!modified.is_zero()).then(|| modified <= since)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_YEAR: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
    const LATER: &str = "Thu, 01 Jan 2026 00:00:01 GMT";
    const BEFORE: &str = "Wed, 31 Dec 2025 23:59:59 GMT";

    fn stat(seconds: u64) -> Stat {
        let modified = Duration::from_millis(seconds * 1000 + 900 * u64::from(seconds > 0));
        Stat { size: 100, modified, is_folder: false, inode: 7 }
    }

    fn of(stat: &Stat, method: Method, headers: &[(&str, &str)]) -> Asked {
        let mut request = Request::builder().method(method);
        for (name, value) in headers {
            request = request.header(*name, value.replace("ETAG", &stat.etag()));
        }
        asked(&request.body(()).unwrap(), stat)
    }

    #[test]
    fn conditions_decide_in_their_order() {
        let stat = stat(1_767_225_600);
        let cases: [(&[(&str, &str)], Asked); 23] = [
            (&[("if-match", "\"x\"")], Asked::Failed),
            (&[("if-match", "W/ETAG")], Asked::Failed),
            (&[("if-match", "\"x\", ETAG")], Asked::Whole),
            (&[("if-match", "\"x\""), ("if-match", "*")], Asked::Whole),
            (&[("if-unmodified-since", BEFORE)], Asked::Failed),
            (&[("if-unmodified-since", NEW_YEAR)], Asked::Whole),
            (&[("if-unmodified-since", BEFORE), ("if-match", "ETAG")], Asked::Whole),
            (&[("if-unmodified-since", "yesterday")], Asked::Whole),
            (&[("if-none-match", "\"x\"")], Asked::Whole),
            (&[("if-none-match", "\"x\" , W/ETAG")], Asked::NotModified),
            (&[("if-none-match", "*")], Asked::NotModified),
            (&[("if-modified-since", NEW_YEAR)], Asked::NotModified),
            (&[("if-modified-since", LATER)], Asked::NotModified),
            (&[("if-modified-since", BEFORE)], Asked::Whole),
            (&[("if-modified-since", LATER), ("if-none-match", "\"x\"")], Asked::Whole),
            (&[("if-match", "\"x\""), ("if-none-match", "ETAG")], Asked::Failed),
            (&[("range", "bytes=0-9"), ("if-range", "ETAG")], Asked::Ranges(vec![0..10])),
            (&[("range", "bytes=0-9"), ("if-range", NEW_YEAR)], Asked::Ranges(vec![0..10])),
            (&[("range", "bytes=0-9"), ("if-range", LATER)], Asked::Whole),
            (&[("range", "bytes=0-9"), ("if-range", "W/ETAG")], Asked::Whole),
            (&[("range", "bytes=100-")], Asked::Unsatisfiable),
            (&[("range", "bytes=100-"), ("if-range", "\"x\"")], Asked::Whole),
            (&[("range", "bytes=100-"), ("if-none-match", "ETAG")], Asked::NotModified),
        ];
        for (headers, wanted) in cases {
            assert_eq!(of(&stat, Method::GET, headers), wanted, "{headers:?}");
        }
        assert_eq!(of(&stat, Method::HEAD, &[("range", "bytes=100-")]), Asked::Whole);
        assert_eq!(of(&stat, Method::HEAD, &[("if-none-match", "ETAG")]), Asked::NotModified);
    }

    #[test]
    fn a_change_is_made_to_what_the_client_takes_it_for() {
        let stat = stat(1_767_225_600);
        for (name, value, of_file, of_none) in [
            ("if-match", "\"x\"", false, false),
            ("if-match", "ETAG", true, false),
            ("if-match", "*", true, false),
            ("if-none-match", "*", false, true),
            ("if-none-match", "\"x\"", true, true),
            ("if-none-match", "W/ETAG", false, true),
            ("if-unmodified-since", BEFORE, false, true),
            ("if-unmodified-since", NEW_YEAR, true, true),
            ("if-modified-since", LATER, true, true),
        ] {
            let mut headers = HeaderMap::new();
            let value = value.replace("ETAG", &stat.etag());
            headers.insert(name, value.parse().unwrap());
            assert_eq!(may_be_changed(&headers, Some(&stat)), of_file, "{name}: {value}");
            assert_eq!(may_be_changed(&headers, None), of_none, "{name}: {value}");
        }
    }

    #[test]
    fn a_file_without_a_time_has_not_changed_since_none() {
        for name in ["if-modified-since", "if-unmodified-since"] {
            assert_eq!(of(&stat(0), Method::GET, &[(name, NEW_YEAR)]), Asked::Whole);
        }
    }
}
