//! Searches a reader's output about its reads for secrets: in the log, the report, the picture, the
//! store, and errors.
//!
//! Every secret of a test has [`MARKER`] in it; of keys the label of their files is looked for.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use farroot_remote::cache::CacheConfig;
use farroot_remote::fetch::log::{self, LevelFilter};
use farroot_remote::report::timeline;
use farroot_remote::{Config, Error, Remote};
use percent_encoding::percent_decode;

pub const MARKER: &str = "marker-of-a-secret";
const KEY: &str = "PRIVATE KEY-----";

/// The secret as it may be written, among other things.
fn forms() -> Vec<Vec<u8>> {
    let hex: String = MARKER.bytes().map(|byte| format!("{byte:02x}")).collect();
    let numbers = format!("{:?}", MARKER.as_bytes());
    let numbers = numbers.trim_matches(['[', ']']).to_owned();
    let mut forms = vec![KEY.into(), MARKER.into(), hex.to_uppercase().into(), hex.into()];
    forms.push(numbers.into());
    for before in 0..3 {
        // The letters that stand for nothing but the secret when so many bytes go before it.
        let text = STANDARD.encode([&vec![0; before], MARKER.as_bytes()].concat());
        let from = (before * 8).div_ceil(6);
        let to = (before + MARKER.len()) * 8 / 6;
        forms.push(text[from..to].into());
        forms.push(text[from..to].replace('+', "-").replace('/', "_").into());
    }
    forms
}

/// Whether a secret is in it, also as base64, in hexadecimal, as numbers or percent-encoded.
pub fn is_in(content: &[u8]) -> bool {
    let decoded: Vec<u8> = percent_decode(content).collect();
    let has = |content: &[u8], form: &Vec<u8>| content.windows(form.len()).any(|part| part == form);
    forms().iter().any(|form| has(content, form) || has(&decoded, form))
}

/// # Panics
/// Where a secret is in it, without showing it.
pub fn search(place: &str, content: impl AsRef<[u8]>) {
    assert!(!is_in(content.as_ref()), "a secret is in {place}");
}

/// Searches an error, its parts and its causes.
pub fn search_error(error: &Error) {
    search("an error", format!("{error} {error:?} {:?} {:?}", error.url(), error.source_name()));
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        search("the cause of an error", format!("{error} {error:?}"));
        cause = error.source();
    }
}

fn search_folder(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => search_folder(&path),
            false => search("the store", std::fs::read(path).unwrap_or_default()),
        }
    }
}

/// A reader of which all is searched at its end.
pub struct Searched {
    remote: Remote,
    settings: String,
    store: Option<PathBuf>,
    cache: tempfile::TempDir,
}

impl Searched {
    pub fn new(config: Config, start: impl FnOnce(Config) -> Remote) -> Searched {
        let settings = format!("{config:?}");
        let store = config.store_folder.clone();
        let cache = tempfile::tempdir().expect("a folder");
        let folder = Some(cache.path().to_owned());
        let in_use = CacheConfig { bytes_max: 1 << 30, folder, free_bytes_min: 0, ..config.cache };
        let config = Config { cache: in_use, ..config };
        let remote = start(config);
        log::keep(LevelFilter::TRACE);
        Searched { remote, settings, store, cache }
    }

    fn search(&self) {
        search("the settings", &self.settings);
        let trace = self.remote.trace();
        let report = self.remote.report();
        search("the log", format!("{:?}", log::take()));
        search("the report", format!("{report} {report:?}"));
        search("the report", serde_json::to_vec(&report).unwrap());
        let records = trace.records();
        search("the trace", format!("{records:?}"));
        search("a picture", timeline::svg(&records, 0, 1, None, "a file", &report));
        if let Some(cache) = self.remote.cache() {
            cache.flush();
            search("the cache's list", format!("{:?}", cache.files()));
        }
        search_folder(self.cache.path());
        if let Some(store) = &self.store {
            search_folder(store);
        }
    }
}

impl Deref for Searched {
    type Target = Remote;

    fn deref(&self) -> &Remote {
        &self.remote
    }
}

impl Drop for Searched {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.search();
        }
    }
}

#[test]
fn a_secret_is_found_in_every_form() {
    for before in ["", "a", "ab", "abc"] {
        let secret = format!("{before}{MARKER} and more");
        let hex: String = secret.bytes().map(|byte| format!("{byte:02X}")).collect();
        let percent: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let coded = STANDARD.encode(&secret);
        for form in [&secret, &hex, &percent, &coded, &format!("{:?}", secret.as_bytes())] {
            assert!(is_in(format!("{{\"x\": {form}}}").as_bytes()), "{form}");
        }
    }
    assert!(!is_in(b"marker of no secret, bWFya2Vy"));
}

#[tokio::test]
#[should_panic(expected = "a secret is in the ")]
async fn a_secret_in_what_is_said_ends_a_test() {
    let remote = super::over_tcp(Config::default());
    remote.trace().note(None, format!("the server was shown {MARKER}"));
}
