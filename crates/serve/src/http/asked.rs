//! What a request asks of a file, by its conditions and ranges (RFC 9110, sections 13 and 14).

use std::ops::Range;

use hyper::header::{self, HeaderName};
use hyper::{Method, Request};

use super::last_modified;
use super::range::{self, RangeRequest};
use crate::folder::Stat;

/// What a request is answered with.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: the client has the file as it is.
    NotModified,
    /// No byte that is there.
    Unsatisfiable,
    /// All of it.
    Whole,
    /// These, in the order asked; never empty ones.
    Ranges(Vec<Range<u64>>),
}

/// What a request asks of a file with this description.
pub fn asked<B>(request: &Request<B>, stat: &Stat) -> Asked {
    let text = |name: HeaderName| request.headers().get(name)?.to_str().ok();
    let etag = stat.etag();
    let same = |value: &str| value.split(',').any(|tag| tag.trim() == etag || tag.trim() == "*");
    if text(header::IF_NONE_MATCH).is_some_and(same) {
        return Asked::NotModified;
    }
    let is_date = |value: &str| last_modified(stat).is_some_and(|date| date == value);
    let fresh = text(header::IF_RANGE).is_none_or(|value| value == etag || is_date(value));
    // Ranges mean something for GET alone (section 14.2).
    let ranges = text(header::RANGE).filter(|_| fresh && request.method() == Method::GET);
    match ranges.map(|value| range::parse(value, stat.size)) {
        None | Some(RangeRequest::Whole) => Asked::Whole,
        Some(RangeRequest::Unsatisfiable) => Asked::Unsatisfiable,
        Some(RangeRequest::Ranges(ranges)) => Asked::Ranges(ranges),
    }
}
