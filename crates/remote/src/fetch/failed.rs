//! Opens that failed a short time ago. With a cache, the same open gets the same error from here,
//! without a request.
//!
//! Otherwise a job that looks for a file at several places, or a proxy of such jobs, would request
//! absent files again and again, and wait for an unreachable server each time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;

use crate::address::Address;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind};

/// How long `NotFound` is remembered: another process may be about to write the file.
const ABSENT_FOR: Duration = Duration::from_secs(10);
/// How long `Connection` and `TimedOut` are remembered: as long as the open took to fail, within
/// these limits. Clients need not wait again for a server that does not answer. One that starts
/// again refuses connections at once, and is asked again soon.
const UNREACHABLE_FOR: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30);
/// Most failures that are remembered; further ones are not.
const FAILURES_MAX: usize = 1024;

/// A hash of the complete addresses of a file, with user, query and the caller's choice of
/// credentials: a server may answer another identity differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpenKey(u64);

/// An open that has begun, and whose failure is remembered.
#[derive(Debug)]
pub struct AttemptedOpen {
    failed: FailedOpens,
    key: OpenKey,
    since: Duration,
}

/// The failed opens of this process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FailedOpens {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    clock: Clock,
    /// Randomly keyed, so that no address can be constructed to have the hash of another one.
    hashes: RandomState,
    failures: Mutex<HashMap<OpenKey, Failure>>,
}

#[derive(Debug)]
struct Failure {
    error: Error,
    since: Duration,
    until: Duration,
}

impl FailedOpens {
    /// Without failures.
    pub fn new(clock: Clock) -> Self {
        let hashes = RandomState::new();
        let failures = Mutex::default();
        FailedOpens { inner: Arc::new(Inner { clock, hashes, failures }) }
    }

    /// The key of a file at these addresses.
    pub fn key(&self, urls: &[Address]) -> OpenKey {
        let texts: Vec<&str> = urls.iter().map(Address::as_str).collect();
        OpenKey(self.inner.hashes.hash_one(texts))
    }

    /// The remembered error of the last open, whose text says how old it is and for how long it is
    /// still remembered; `None` without one.
    pub fn recent(&self, key: OpenKey) -> Option<Error> {
        let now = self.inner.clock.now();
        let failures = self.inner.failures.lock();
        let failure = failures.get(&key).filter(|failure| now < failure.until)?;
        let ago = now.saturating_sub(failure.since);
        let left = failure.until - now;
        Some(failure.error.clone().remembered(ago, left))
    }

    /// Begins an open.
    pub fn attempt(&self, key: OpenKey) -> AttemptedOpen {
        AttemptedOpen { failed: self.clone(), key, since: self.inner.clock.now() }
    }

    /// Remembers the error of an open that took so long. Returns the error; if remembered, with a
    /// `retry_after` of at least the time for which it is remembered.
    fn note(&self, key: OpenKey, error: Error, took: Duration) -> Error {
        let time = match error.kind() {
            ErrorKind::NotFound => ABSENT_FOR,
            ErrorKind::Connection | ErrorKind::TimedOut => {
                took.clamp(*UNREACHABLE_FOR.start(), *UNREACHABLE_FOR.end())
            }
            _ => return error,
        };
        let since = self.inner.clock.now();
        let mut failures = self.inner.failures.lock();
        if failures.len() >= FAILURES_MAX {
            failures.retain(|_, failure| since < failure.until);
        }
        if failures.len() >= FAILURES_MAX && !failures.contains_key(&key) {
            return error;
        }
        failures.insert(key, Failure { error: error.clone(), since, until: since + time });
        let pause = error.retry_after().unwrap_or_default().max(time);
        error.with_retry_after(pause)
    }

    /// Forgets all failures, after this process has written a file, which readers may know by
    /// another address, or has changed its settings.
    pub fn forget(&self) {
        self.inner.failures.lock().clear();
    }
}

impl AttemptedOpen {
    /// Remembers the error of this open, if it is `NotFound`, `Connection` or `TimedOut`. Returns
    /// the error; if remembered, with a `retry_after` of at least the time for which it is
    /// remembered.
    pub fn failed_with(self, error: Error) -> Error {
        let took = self.failed.inner.clock.now().saturating_sub(self.since);
        self.failed.note(self.key, error, took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn key(failed: &FailedOpens, address: &str) -> OpenKey {
        failed.key(&[Address::parse(address).unwrap()])
    }

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "no such file")
    }

    #[tokio::test(start_paused = true)]
    async fn errors_are_remembered_for_as_long_as_their_kind_says() {
        let failed = FailedOpens::new(Clock::start());
        for (kind, seconds) in [
            (ErrorKind::NotFound, 10),
            (ErrorKind::Connection, 30),
            (ErrorKind::TimedOut, 30),
            (ErrorKind::PermissionDenied, 0),
            (ErrorKind::Unauthenticated, 0),
            (ErrorKind::Io, 0),
        ] {
            let key = key(&failed, &format!("root://h//{kind:?}"));
            let noted = failed.note(key, error(kind), LONG);
            let pause = (seconds > 0).then(|| Duration::from_secs(seconds));
            assert_eq!(
                noted,
                pause.map_or(error(kind), |pause| error(kind).with_retry_after(pause))
            );
            let time = Duration::from_secs(seconds);
            let is_kept = seconds > 0;
            tokio::time::advance(time.saturating_sub(Duration::from_secs(1))).await;
            let remembered = failed.recent(key);
            assert_eq!(remembered.as_ref().map(Error::kind), is_kept.then_some(kind), "{kind:?}");
            if let Some(error) = remembered {
                let text = format!("{}.0 s ago and is remembered for 1.0 s more", seconds - 1);
                assert!(error.to_string().contains(&text), "{error}");
                assert_eq!(error.retry_after(), Some(Duration::from_secs(1)));
            }
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(failed.recent(key), None, "{kind:?}");
        }
    }

    /// Regression: a server that was away for three seconds was not asked for thirty.
    #[tokio::test(start_paused = true)]
    async fn a_server_is_asked_again_after_the_time_that_its_failure_took() {
        let failed = FailedOpens::new(Clock::start());
        let key = key(&failed, "root://h//f");
        for (took, remembered) in [(0, 1), (4, 4), (29, 29), (300, 30)] {
            let attempt = failed.attempt(key);
            tokio::time::advance(Duration::from_secs(took)).await;
            let noted = attempt.failed_with(error(ErrorKind::Connection));
            assert_eq!(noted.retry_after(), Some(Duration::from_secs(remembered)), "{took} s");
            tokio::time::advance(Duration::from_secs(remembered)).await;
            assert_eq!(failed.recent(key), None, "{took} s");
        }
    }

    #[test]
    fn other_identities_are_asked_for_themselves() {
        let failed = FailedOpens::new(Clock::start());
        let one = key(&failed, "root://h//f?authz=one");
        failed.note(one, error(ErrorKind::NotFound), LONG);
        assert!(failed.recent(one).is_some());
        for other in ["root://h//f?authz=two", "root://h//f", "root://u@h//f?authz=one"] {
            assert_eq!(failed.recent(key(&failed, other)), None, "{other}");
        }
        failed.forget();
        assert_eq!(failed.recent(one), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_scan_of_absent_files_takes_little_memory() {
        let failed = FailedOpens::new(Clock::start());
        let key = |at: usize| key(&failed, &format!("root://h//{at}"));
        let note = |at: usize| failed.note(key(at), error(ErrorKind::NotFound), LONG).retry_after();
        let remembered = (0..FAILURES_MAX + 10).filter(|at| note(*at).is_some());
        assert_eq!(remembered.count(), FAILURES_MAX);
        assert_eq!(failed.inner.failures.lock().len(), FAILURES_MAX);
        assert!(failed.recent(key(FAILURES_MAX)).is_none());
        tokio::time::advance(ABSENT_FOR).await;
        note(FAILURES_MAX);
        assert!(failed.recent(key(FAILURES_MAX)).is_some());
        assert_eq!(failed.inner.failures.lock().len(), 1, "the others are over");
    }
}
