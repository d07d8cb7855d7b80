//! Settings of a cache.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::local::CacheLocal;
use super::quota::CacheQuota;

/// Which parts of read files are cached on the local disk, and when they are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheConfig {
    /// Bytes on the disk at the most; 0, as by default, keeps nothing (`FARROOT_CACHE`, e.g.
    /// `20 GB`).
    pub bytes_max: u64,
    /// Bytes that are left free on the disk, but no more than a tenth of it
    /// (`FARROOT_CACHE_FREE`).
    pub free_bytes_min: u64,
    /// Where; `None`, as by default without the environment, keeps nothing
    /// (`FARROOT_CACHE_FOLDER`; default: `farroot` in the platform's cache folder).
    pub folder: Option<PathBuf>,
    /// Further ones, on disks of their own. Each has up to `bytes_max`.
    pub more_folders: Vec<PathBuf>,
    /// How much of a file (`FARROOT_CACHE_MODE`).
    pub mode: CacheMode,
    /// When it is trusted (`FARROOT_CACHE_CHECK`).
    pub check: CacheCheck,
    /// With which codec (`FARROOT_CACHE_FORM`).
    pub form: CacheForm,
    /// Which files of this machine's file systems (`FARROOT_CACHE_LOCAL`).
    pub local: CacheLocal,
    /// Parts of the room that some files or identities may take.
    pub quotas: Vec<CacheQuota>,
}

impl CacheConfig {
    /// All folders, each once.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        let more = self.more_folders.iter().filter(|more| self.folder.as_ref() != Some(more));
        self.folder.iter().chain(more).map(PathBuf::as_path)
    }

    /// Whether the bytes of a file go that are cached with another codec. Whole files stay as they
    /// are: else what is missing of them would be fetched again and again.
    pub fn gives_up_originals(&self) -> bool {
        self.form == CacheForm::Recompressed && self.mode == CacheMode::Touched
    }
}

impl Default for CacheConfig {
    fn default() -> Self {
        CacheConfig {
            bytes_max: 0,
            free_bytes_min: 50_000_000_000,
            folder: None,
            more_folders: Vec::new(),
            mode: CacheMode::Touched,
            check: CacheCheck::Verify,
            form: CacheForm::Recompressed,
            local: CacheLocal::Off,
            quotas: Vec::new(),
        }
    }
}

/// How much of a file is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheMode {
    /// Nothing, and cached bytes are not read.
    Off,
    /// The wanted ranges.
    Touched,
    /// The wanted ranges first, and the rest of the file while no reader waits.
    Whole,
    /// The whole of files that are small, or of which more than half is wanted; of others the
    /// wanted ranges.
    Auto,
}

/// The modes' names, and those that CMSSW and others have for them.
const MODES: [(&str, CacheMode); 8] = [
    ("off", CacheMode::Off),
    ("touched", CacheMode::Touched),
    ("whole", CacheMode::Whole),
    ("auto", CacheMode::Auto),
    ("application-only", CacheMode::Off),
    ("storage-only", CacheMode::Touched),
    ("lazy-download", CacheMode::Whole),
    ("auto-detect", CacheMode::Auto),
];

impl CacheMode {
    /// `off`, `touched`, `whole`, `auto`, or CMSSW's names of them.
    pub fn named(text: &str) -> Option<Self> {
        MODES.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        MODES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| *name)
    }
}

/// With which codec baskets and pages of slow codecs are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheForm {
    /// As the file has them.
    Original,
    /// Once they have been decompressed, with a fast codec instead.
    Recompressed,
    /// Then with a fast codec, too.
    Both,
}

impl CacheForm {
    const ALL: [CacheForm; 3] = [CacheForm::Original, CacheForm::Recompressed, CacheForm::Both];

    /// `original`, `recompressed` or `both`.
    pub fn named(text: &str) -> Option<Self> {
        CacheForm::ALL.into_iter().find(|form| form.name() == text)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CacheForm::Original => "original",
            CacheForm::Recompressed => "recompressed",
            CacheForm::Both => "both",
        }
    }
}

/// When cached bytes are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheCheck {
    /// When the file's server has confirmed in this open that it is the same file.
    Verify,
    /// Where it has confirmed so within this time.
    Trust(Duration),
    /// Where it has confirmed so once: the files do not change.
    Immutable,
}

const DAY: u64 = 86_400;
/// With `verify`, clients that open a file at about the same time share one request to its server.
const OPEN_COUNTS: Duration = Duration::from_secs(10);

impl CacheCheck {
    /// `verify`, `immutable`, or `trust` with the time for which: `trust=7d`, `trust=12h`,
    /// `trust=600s`; without one, for seven days.
    pub fn named(text: &str) -> Option<Self> {
        match text {
            "verify" => Some(CacheCheck::Verify),
            "immutable" => Some(CacheCheck::Immutable),
            "trust" => Some(CacheCheck::Trust(Duration::from_secs(7 * DAY))),
            _ => {
                let time = text.strip_prefix("trust=")?;
                let unit = time.chars().next_back()?;
                let number: u64 = time[..time.len() - unit.len_utf8()].parse().ok()?;
                let seconds = match unit {
                    'd' => DAY,
                    'h' => 3600,
                    'm' => 60,
                    's' => 1,
                    _ => return None,
                };
                Some(CacheCheck::Trust(Duration::from_secs(number.checked_mul(seconds)?)))
            }
        }
    }

    /// As [`CacheCheck::named`] takes it.
    pub fn shown(self) -> String {
        match self {
            CacheCheck::Verify => "verify".to_owned(),
            CacheCheck::Immutable => "immutable".to_owned(),
            CacheCheck::Trust(time) => {
                let seconds = time.as_secs();
                match seconds {
                    0 => "trust=0s".to_owned(),
                    _ if seconds % DAY == 0 => format!("trust={}d", seconds / DAY),
                    _ if seconds % 3600 == 0 => format!("trust={}h", seconds / 3600),
                    _ => format!("trust={seconds}s"),
                }
            }
        }
    }

    /// How long a server's answer about a file that is open counts for further clients who open it;
    /// `None` without an end.
    pub fn open_counts(self) -> Option<Duration> {
        match self {
            CacheCheck::Verify => Some(OPEN_COUNTS),
            CacheCheck::Trust(time) => Some(time),
            CacheCheck::Immutable => None,
        }
    }

    /// Whether a server's answer of a time is trusted without another request.
    pub fn believes(self, checked: u64, now: u64) -> bool {
        match self {
            CacheCheck::Verify => false,
            CacheCheck::Immutable => true,
            CacheCheck::Trust(time) => now.saturating_sub(checked) < time.as_secs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_names_and_those_of_others() {
        for (name, mode) in MODES {
            assert_eq!(CacheMode::named(name), Some(mode));
            assert_eq!(CacheMode::named(mode.name()), Some(mode));
        }
        assert_eq!(CacheMode::Off.name(), "off");
        assert_eq!(CacheMode::named("some"), None);
    }

    #[test]
    fn checks_read_as_people_write_them() {
        for text in ["verify", "immutable", "trust=7d", "trust=12h", "trust=90s", "trust=0s"] {
            assert_eq!(CacheCheck::named(text).unwrap().shown(), text);
        }
        assert_eq!(CacheCheck::named("trust"), CacheCheck::named("trust=7d"));
        for wrong in ["", "trust=", "trust=d", "trust=7", "trust=-1d", "trust=7y", "trust=7é"] {
            assert_eq!(CacheCheck::named(wrong), None, "{wrong:?}");
        }
        let hour = CacheCheck::named("trust=1h").unwrap();
        assert!(hour.believes(1000, 4599) && !hour.believes(1000, 4600));
        assert!(!CacheCheck::Verify.believes(1000, 1000));
    }
}
