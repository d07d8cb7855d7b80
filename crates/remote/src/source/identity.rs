//! The version of a file at a source, and the one place where two versions are compared.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The last second that the format of HTTP's dates can write.
const YEAR_9999_ENDS: i64 = 253_402_300_799;

/// A server's description of a file, which distinguishes this version from others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileInfo {
    /// Bytes.
    pub size: u64,
    /// Modification time, seconds since 1970, where the server reports it.
    pub modified: Option<i64>,
    /// Other marks of a version, in the server's own words: the entity tag of HTTP (`ETag`), the id
    /// of XRootD's stat; of a local file its inode and its time of modification to the nanosecond.
    pub version: Option<String>,
    /// Of a local file, when anything of it last changed (`ctime`), in seconds and nanoseconds. No
    /// program can set it, but a change of name or of permissions counts as well: it decides about
    /// cached bytes, and not about a file that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_changed: Option<(i64, i64)>,
}

impl FileInfo {
    /// The description of a file of this size.
    ///
    /// # Errors
    /// `LimitReached` for a file that is larger than any that can be read.
    pub fn new(size: u64, modified: Option<i64>, version: Option<String>) -> Result<Self> {
        check_size(size)?;
        Ok(FileInfo { size, modified, version, status_changed: None })
    }

    /// Whether bytes that were cached of the file before are those of the file now.
    pub fn keeps_bytes(&self, now: &FileInfo) -> bool {
        self.status_changed == now.status_changed && self.is_still(now).is_ok()
    }

    /// By the size alone, versions cannot be distinguished.
    pub fn says_only_size(&self) -> bool {
        self.modified.is_none() && self.version.is_none()
    }

    /// Compares a server's description of a file now with the earlier one of the same server.
    ///
    /// Every earlier fact has to be reported again: without the entity tag that it had before, a
    /// file is not known to be the same. Only where nothing but a size was reported, as with an
    /// error of HTTP, more may be added. A strong entity tag (RFC 9110, section 8.8.1) counts more
    /// than the time of modification, which differs where several servers answer under one name.
    ///
    /// # Errors
    /// `Changed` where it is another version, with both.
    pub fn is_still(&self, now: &FileInfo) -> Result<()> {
        let times = self.modified == now.modified || self.has_strong_tag();
        let is_same = self.size == now.size
            && (self.says_only_size() || (self.version == now.version && times));
        match is_same {
            true => Ok(()),
            false => Err(self.changed_to(now)),
        }
    }

    /// A fact is missing that was reported before.
    pub fn says_less_than(&self, before: &FileInfo) -> bool {
        let lacks_time = self.modified.is_none() && before.modified.is_some();
        lacks_time || (self.version.is_none() && before.version.is_some())
    }

    fn has_strong_tag(&self) -> bool {
        self.version.as_ref().is_some_and(|version| version.starts_with('"'))
    }

    fn changed_to(&self, now: &FileInfo) -> Error {
        let shows_version = self.version != now.version;
        let text = format!(
            "the file has changed while it was read: it had {}, and now has {}",
            self.shown(shows_version),
            now.shown(shows_version)
        );
        let advice = match self.size == now.size {
            true => {
                "open it again; if that helps only for a moment, several servers under one name \
                 give one file different ETags or times: name one of them"
            }
            false => "open it again, and read it from its beginning",
        };
        Error::new(ErrorKind::Changed, text).with_advice(advice)
    }

    fn shown(&self, shows_version: bool) -> String {
        let size = format!("{} bytes", self.size);
        let time = match self.modified {
            Some(seconds) => format!(", modified {}", date(seconds)),
            None => String::new(),
        };
        let version = match &self.version {
            _ if !shows_version => String::new(),
            Some(version) => format!(", version {version}"),
            None => ", no version".into(),
        };
        size + &time + &version
    }
}

/// A size beyond this one, a pebibyte, is no file's.
pub const FILE_BYTES_MAX: u64 = 1 << 50;

/// Refuses a file that is larger than any that can be read, at the place where its size is learnt.
///
/// # Errors
/// `LimitReached`.
pub fn check_size(size: u64) -> Result<()> {
    if size <= FILE_BYTES_MAX {
        return Ok(());
    }
    let text =
        format!("a size of {size} bytes is said of it; at most {FILE_BYTES_MAX} can be read");
    Err(Error::new(ErrorKind::LimitReached, text)
        .with_advice("no such file exists: the size is wrong where it comes from"))
}

/// Whole seconds, those before 1970 below zero.
pub fn seconds_since_1970(time: SystemTime) -> i64 {
    let (is_before, time) = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (false, since),
        Err(error) => (true, error.duration()),
    };
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    if is_before { -seconds } else { seconds }
}

/// A time as HTTP writes it.
fn date(seconds: i64) -> String {
    match u64::try_from(seconds) {
        Ok(since) if seconds <= YEAR_9999_ENDS => {
            httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(since))
        }
        _ => format!("{seconds} s after 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(size: u64, modified: Option<i64>, version: Option<&str>) -> FileInfo {
        FileInfo::new(size, modified, version.map(str::to_owned)).unwrap()
    }

    fn is_same(was: &FileInfo, now: &FileInfo) -> bool {
        was.is_still(now).is_ok()
    }

    #[test]
    fn all_that_was_said_has_to_be_said_again() {
        let whole = info(10, Some(1), Some("7"));
        assert!(is_same(&whole, &whole));
        for other in [
            info(11, Some(1), Some("7")),
            info(10, Some(2), Some("7")),
            info(10, Some(1), Some("8")),
            info(10, Some(1), None),
            info(10, None, Some("7")),
            info(10, None, None),
        ] {
            assert!(!is_same(&whole, &other), "{other:?}");
        }
        assert!(!is_same(&info(10, Some(1), None), &whole), "it says more than before");
        let size = info(10, None, None);
        assert!(is_same(&size, &whole) && !is_same(&size, &info(11, None, None)));
    }

    #[test]
    fn a_strong_entity_tag_counts_more_than_the_time_and_a_weak_one_does_not() {
        let tagged = |time, tag| info(10, Some(time), Some(tag));
        assert!(is_same(&tagged(1, "\"a\""), &tagged(2, "\"a\"")));
        assert!(!is_same(&tagged(1, "\"a\""), &tagged(1, "\"b\"")));
        assert!(!is_same(&tagged(1, "W/\"a\""), &tagged(2, "W/\"a\"")));
        assert!(!is_same(&tagged(1, "\"a\""), &tagged(1, "W/\"a\"")));
    }

    /// A program that writes into a file may set its time of modification back.
    #[test]
    fn cached_bytes_are_given_up_where_the_status_has_changed() {
        let was = FileInfo { status_changed: Some((5, 1)), ..info(10, Some(1), Some("7")) };
        let now = FileInfo { status_changed: Some((5, 2)), ..was.clone() };
        assert!(was.keeps_bytes(&was) && !was.keeps_bytes(&now));
        assert!(is_same(&was, &now), "an open file may get another name");
    }

    #[test]
    fn the_error_says_what_was_and_what_is() {
        let was = info(10, Some(1_700_000_000), Some("7"));
        let error = was.is_still(&info(12, Some(1_700_000_060), Some("7"))).unwrap_err();
        assert_eq!(
            error.message(),
            "the file has changed while it was read: it had 10 bytes, modified Tue, 14 Nov 2023 \
             22:13:20 GMT, and now has 12 bytes, modified Tue, 14 Nov 2023 22:14:20 GMT"
        );
        let error = was.is_still(&info(10, Some(i64::MAX), None)).unwrap_err();
        assert!(error.message().ends_with("modified 9223372036854775807 s after 1970, no version"));
        assert!(!error.is_retryable());
    }

    #[test]
    fn what_no_file_can_be_is_refused() {
        assert!(check_size(FILE_BYTES_MAX).is_ok());
        for size in [FILE_BYTES_MAX + 1, 1 << 55, u64::MAX] {
            assert_eq!(
                FileInfo::new(size, None, None).unwrap_err().kind(),
                ErrorKind::LimitReached
            );
        }
    }
}
