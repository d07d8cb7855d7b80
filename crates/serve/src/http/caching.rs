//! Headers of HTTP about caches: `Cache-Control` of requests and `Age` of answers (RFC 9111,
//! sections 5.2.1 and 5.1), and `Cache-Status` (RFC 9211).

use hyper::header::{AGE, CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue};
use remote::address::CacheUse;

use crate::far::{CacheRules, CacheStatus};

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// A request's directives to caches on its way. Other directives are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Directives {
    /// No request goes to the origin: without all bytes in the cache the answer is 504.
    pub only_if_cached: bool,
    /// Cached bytes are used only after the origin has confirmed the file.
    pub no_cache: bool,
    /// The cache stores nothing of the answer.
    pub no_store: bool,
    /// Cached bytes are used only where the origin has confirmed the file within these seconds.
    pub max_age: Option<u64>,
}

impl Directives {
    /// The directives of all lines of the header.
    pub fn of(headers: &HeaderMap) -> Self {
        let mut directives = Directives::default();
        let lines = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
        for item in lines.flat_map(items) {
            let (name, value) = item.split_once('=').unwrap_or((item, ""));
            match &*name.trim().to_ascii_lowercase() {
                "only-if-cached" => directives.only_if_cached = true,
                "no-cache" => directives.no_cache = true,
                "no-store" => directives.no_store = true,
                "max-age" => {
                    let both = [directives.max_age, seconds(value)];
                    directives.max_age = both.into_iter().flatten().min();
                }
                _ => {}
            }
        }
        directives
    }

    /// Whether the directives both forbid and require a request to the origin.
    pub fn are_contradictory(self) -> bool {
        self.only_if_cached && self.no_cache
    }

    /// The rules of such a request for the cache of a proxy.
    pub fn rules(self) -> CacheRules {
        CacheRules { cache_use: self.cache_use(), age_max: self.max_age }
    }

    /// How far a cache may serve such a request. With `no-store` stored bytes could be used, too;
    /// they are not, so that the request leaves no trace in the cache.
    fn cache_use(self) -> CacheUse {
        match self {
            Directives { only_if_cached: true, .. } => CacheUse::Only,
            Directives { no_store: true, .. } => CacheUse::Off,
            Directives { no_cache: true, .. } => CacheUse::Verified,
            _ => CacheUse::Usual,
        }
    }
}

/// Seconds, as a token or a quoted text (RFC 9111, section 5.2); `None` where it is no number.
fn seconds(value: &str) -> Option<u64> {
    let value = value.trim().trim_matches('"');
    let is_number = !value.is_empty() && value.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| value.parse().unwrap_or(u64::MAX))
}

/// The items of a list; commas in quoted texts do not end an item.
fn items(line: &str) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    line.split(move |letter| {
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && is_quoted && !is_escaped;
        letter == ',' && !is_quoted
    })
}

/// Sets the headers of an answer about the source of its bytes.
pub fn describe(headers: &mut HeaderMap, cached: &CacheStatus, directives: Directives) {
    if let Ok(status) = HeaderValue::from_str(&status(cached, directives)) {
        headers.insert(CACHE_STATUS, status);
    }
    let CacheStatus { wanted, missing, has_asked, age, .. } = *cached;
    // `Age` means that bytes of the answer were cached before, without a request to the origin.
    if !has_asked && (missing < wanted || wanted == 0) {
        headers.insert(AGE, HeaderValue::from(age));
    }
}

/// Sets `Cache-Status` of an answer 504: the cache has no answer.
pub fn describe_none(headers: &mut HeaderMap) {
    headers.insert(CACHE_STATUS, HeaderValue::from_static("farroot; detail=only-if-cached"));
}

/// The value of `Cache-Status`. An answer without bytes of the file, as to a `HEAD`, is a hit where
/// no request went to the origin.
fn status(cached: &CacheStatus, directives: Directives) -> String {
    let CacheStatus { wanted, missing, has_asked, was_too_old, is_kept, .. } = *cached;
    if !has_asked && missing == 0 {
        return "farroot; hit".to_owned();
    }
    let is_here = wanted == 0 || missing < wanted;
    let why = match directives {
        Directives { no_store: true, .. } => "request",
        Directives { no_cache, .. } if is_here && (no_cache || was_too_old) => "request",
        _ if wanted == 0 => "miss",
        _ if missing == 0 => "stale",
        _ if is_here => "partial",
        _ => "miss",
    };
    let stored = if missing > 0 && is_kept { "; stored" } else { "" };
    format!("farroot; fwd={why}{stored}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&'static str]) -> Directives {
        let lines = lines.iter().map(|line| (CACHE_CONTROL, HeaderValue::from_static(line)));
        Directives::of(&lines.collect())
    }

    #[test]
    fn directives_are_read_from_all_lines() {
        let none = Directives::default();
        assert_eq!(of(&[]), none);
        assert_eq!(of(&["no-cach, x=\"a, no-cache\", max-age, ,"]), none);
        for (lines, seconds) in [
            ("max-age=3", Some(3)),
            ("Max-Age = \"60\" , max-age=20", Some(20)),
            ("max-age=99999999999999999999", Some(u64::MAX)),
            ("max-age=-1, max-age=+1, max-age=1.5", None),
        ] {
            assert_eq!(of(&[lines]), Directives { max_age: seconds, ..none }, "{lines}");
        }
        assert_eq!(of(&["No-Cache"]), Directives { no_cache: true, ..none });
        assert_eq!(
            of(&["max-stale , no-store", "x=\"\\\"\", only-if-cached=1"]).cache_use(),
            CacheUse::Only
        );
        assert_eq!(of(&["no-cache, no-store"]).cache_use(), CacheUse::Off);
        assert_eq!(of(&["no-cache"]).cache_use(), CacheUse::Verified);
        assert!(of(&["no-cache", "only-if-cached"]).are_contradictory());
    }

    #[test]
    fn the_status_says_where_bytes_were_and_why_the_origin_was_asked() {
        let asked = true;
        let here = false;
        let none = Directives::default();
        let anew = Directives { no_cache: true, ..none };
        let apart = Directives { no_store: true, ..none };
        for (wanted, missing, has_asked, directives, says) in [
            (10, 0, here, none, "hit"),
            (0, 0, here, none, "hit"),
            (10, 3, here, none, "fwd=partial; stored"),
            (10, 10, here, none, "fwd=miss; stored"),
            (10, 0, asked, none, "fwd=stale"),
            (10, 3, asked, none, "fwd=partial; stored"),
            (10, 10, asked, none, "fwd=miss; stored"),
            (0, 0, asked, none, "fwd=miss"),
            (10, 0, asked, anew, "fwd=request"),
            (10, 10, asked, anew, "fwd=miss; stored"),
        ] {
            let was_too_old = false;
            let cached =
                CacheStatus { wanted, missing, has_asked, was_too_old, is_kept: true, age: 7 };
            assert_eq!(status(&cached, directives), format!("farroot; {says}"), "{cached:?}");
            let mut headers = HeaderMap::new();
            describe(&mut headers, &cached, directives);
            let is_aged = headers.get(AGE).is_some_and(|age| age == "7");
            assert_eq!(is_aged, !has_asked && missing < 10, "{cached:?}");
        }
        let wanted = 10;
        let missing = 10;
        let has_asked = true;
        let age = 0;
        let new =
            CacheStatus { wanted, missing, has_asked, was_too_old: false, is_kept: false, age };
        assert_eq!(status(&new, apart), "farroot; fwd=request");
        for (missing, says) in [(0, "request"), (3, "request"), (10, "miss")] {
            let old = CacheStatus { missing, was_too_old: true, ..new };
            assert_eq!(status(&old, none), format!("farroot; fwd={says}"));
        }
    }
}
