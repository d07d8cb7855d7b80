//! Certificate authorities that a client believes: those of the system, and those of the grid, of
//! which CERN's and many others are in no browser's list.
//!
//! Signing policies in grid directories are not looked at; revocation lists are, for each server
//! that is verified ([`revocations`](crate::x509::revocations)).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mutex::PerProcess;

use crate::Environment;
use crate::x509::{Certificate, certificates};

/// A directory with more is none of authorities; a file with more bytes is none, either.
const FILES_MAX: usize = 20_000;
const BYTES_MAX: u64 = 16 << 20;
/// After this long all is read again even if no directory says that it has changed.
const KEPT: Duration = Duration::from_secs(3_600);

/// The authorities whose certificates of servers are believed.
#[derive(Debug, Clone, Default)]
pub struct Authorities {
    /// Their certificates as DER, each once. Those that have expired are not among them.
    pub anchors: Vec<Vec<u8>>,
    /// Certificates of servers that sign themselves, and may sign no others.
    pub own: Vec<Vec<u8>>,
    /// Files, or certificates in them, that are left out, and why.
    pub skipped: Vec<(PathBuf, String)>,
    /// Where they come from: files and directories that are there.
    pub places: Vec<PathBuf>,
    /// Whether one of the places is a grid directory.
    pub grid: bool,
    /// The grid directories that were looked for, where none of them is there.
    pub missing: Vec<PathBuf>,
}

/// Searched places: directories and files of the grid, and those of the system.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Places {
    /// Directories of which the first one that is there counts.
    grid: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
    system: bool,
}

struct Kept {
    read: SystemTime,
    stamps: Vec<Option<(i64, i64, u64)>>,
    authorities: Arc<Authorities>,
}

static KNOWN: PerProcess<BTreeMap<Places, Kept>> = PerProcess::new();

impl Authorities {
    /// Those of `X509_CERT_DIR` and `X509_CERT_FILE`, where one is set; else those of the system
    /// (or of `SSL_CERT_FILE` and `SSL_CERT_DIR`, where one is set) and those of the first grid
    /// directory that is there. All is kept for the process until a directory changes.
    pub fn load(environment: &Environment) -> Arc<Self> {
        Authorities::load_at(environment, SystemTime::now())
    }

    /// Those of one grid directory, read now.
    pub fn of_directory(path: &Path, now: SystemTime) -> Self {
        Places { directories: vec![path.to_owned()], ..Places::default() }.read(now)
    }

    /// How many, from where, and which are lacking, in one line.
    pub fn summary(&self) -> String {
        let places: Vec<_> = self.places.iter().map(|place| place.display().to_string()).collect();
        let mut text = match places.is_empty() {
            true => "no authority is known, so no server can be verified".to_owned(),
            false => format!("{} authorities of {}", self.anchors.len(), places.join(" and ")),
        };
        text.push_str(&self.lacking());
        if !self.skipped.is_empty() {
            text.push_str(&format!("; {} left out", self.skipped.len()));
        }
        text
    }

    /// That no grid directory is there, and which were looked for, as the end of a sentence; empty
    /// where one is.
    pub fn lacking(&self) -> String {
        let missing: Vec<_> = self.missing.iter().map(|path| path.display().to_string()).collect();
        match missing.is_empty() {
            true => String::new(),
            false => format!("; no grid directory is there: not {}", missing.join(", nor ")),
        }
    }

    fn load_at(environment: &Environment, now: SystemTime) -> Arc<Self> {
        let places = Places::of(environment);
        let stamps = places.stamps();
        let mut known = KNOWN.lock();
        if let Some(kept) = known.get(&places)
            && kept.stamps == stamps
            && now.duration_since(kept.read).is_ok_and(|age| age < KEPT)
        {
            return kept.authorities.clone();
        }
        let authorities = Arc::new(places.read(now));
        let kept = Kept { read: now, stamps, authorities: authorities.clone() };
        known.insert(places, kept);
        authorities
    }

    /// The directories in which authorities of the grid are looked for, the first one that is
    /// there counts.
    pub fn grid_directories(environment: &Environment) -> Vec<PathBuf> {
        if let Some(path) = environment.variable("X509_CERT_DIR") {
            return path.split(':').filter(|path| !path.is_empty()).map(PathBuf::from).collect();
        }
        let mut places = vec![PathBuf::from("/etc/grid-security/certificates")];
        places.extend(environment.home.iter().map(|home| home.join(".globus/certificates")));
        let conda = environment.variable("CONDA_PREFIX").map(Path::new);
        places.extend(conda.map(|conda| conda.join("etc/grid-security/certificates")));
        places.push(PathBuf::from("/cvmfs/grid.cern.ch/etc/grid-security/certificates"));
        places
    }
}

impl Places {
    fn of(environment: &Environment) -> Self {
        let paths = |name: &str, split: bool| -> Vec<PathBuf> {
            let Some(value) = environment.variable(name) else { return Vec::new() };
            match split {
                true => value.split(':').filter(|p| !p.is_empty()).map(PathBuf::from).collect(),
                false => vec![PathBuf::from(value)],
            }
        };
        let grid_files = paths("X509_CERT_FILE", false);
        let grid_named = paths("X509_CERT_DIR", true);
        let system_files = paths("SSL_CERT_FILE", false);
        let system_named = paths("SSL_CERT_DIR", true);
        let only_grid = !grid_files.is_empty() || !grid_named.is_empty();
        let system = !only_grid && system_files.is_empty() && system_named.is_empty();
        Places {
            grid: match only_grid {
                true => Vec::new(),
                false => Authorities::grid_directories(environment),
            },
            directories: [grid_named, system_named].concat(),
            files: [grid_files, system_files].concat(),
            system,
        }
    }

    /// Time and inode of each file and folder: they differ where something has changed.
    fn stamps(&self) -> Vec<Option<(i64, i64, u64)>> {
        let all = self.grid.iter().chain(&self.directories).chain(&self.files);
        let stamp = |facts: Metadata| (facts.mtime(), facts.mtime_nsec(), facts.ino());
        all.map(|path| std::fs::metadata(path).ok().map(stamp)).collect()
    }

    fn read(&self, now: SystemTime) -> Authorities {
        let mut reading = Reading { now, ..Reading::default() };
        if self.system {
            reading.system();
        }
        for path in &self.grid {
            if reading.directory(path, false) {
                reading.authorities.grid = true;
                break;
            }
        }
        if !reading.authorities.grid {
            reading.authorities.missing.clone_from(&self.grid);
        }
        for path in &self.directories {
            reading.authorities.grid |= reading.directory(path, true);
        }
        for path in &self.files {
            reading.file(path, true);
        }
        reading.authorities
    }
}

struct Reading {
    now: SystemTime,
    authorities: Authorities,
    known: BTreeSet<Vec<u8>>,
    /// Links to one file, as grid directories have two of each: device and number.
    seen: BTreeSet<(u64, u64)>,
}

impl Default for Reading {
    fn default() -> Self {
        Reading {
            now: SystemTime::UNIX_EPOCH,
            authorities: Authorities::default(),
            known: BTreeSet::new(),
            seen: BTreeSet::new(),
        }
    }
}

impl Reading {
    fn system(&mut self) {
        let found = rustls_native_certs::load_native_certs();
        for certificate in &found.certs {
            let _ = self.take(certificate);
        }
        let place = PathBuf::from("the system's list");
        for error in found.errors {
            self.authorities.skipped.push((place.clone(), error.to_string()));
        }
        if !found.certs.is_empty() {
            self.authorities.places.push(place);
        }
    }

    /// Whether it has anything of authorities.
    fn directory(&mut self, path: &Path, named: bool) -> bool {
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                if named {
                    self.skip(path, &error.kind().to_string());
                }
                return false;
            }
        };
        let paths = entries.flatten().map(|entry| entry.path()).take(FILES_MAX);
        // In the order of their names, so that two runs print the same.
        let paths: BTreeSet<PathBuf> = paths.filter(|path| may_have_one(path)).collect();
        for path in &paths {
            self.file(path, false);
        }
        if paths.is_empty() && named {
            self.skip(path, "no certificate of an authority is in it");
        }
        if !paths.is_empty() {
            self.authorities.places.push(path.to_owned());
        }
        !paths.is_empty()
    }

    fn file(&mut self, path: &Path, named: bool) {
        let facts = match std::fs::metadata(path) {
            Ok(facts) => facts,
            Err(error) => return self.skip(path, &error.kind().to_string()),
        };
        if !facts.is_file() || facts.len() > BYTES_MAX {
            return self.skip(path, "no file of certificates");
        }
        if !self.seen.insert((facts.dev(), facts.ino())) {
            return;
        }
        let text = match std::fs::read(path) {
            Ok(text) => text,
            Err(error) => return self.skip(path, &error.kind().to_string()),
        };
        let certificates = certificates(&text);
        if certificates.is_empty() {
            return self.skip(path, "no certificate is in it");
        }
        for certificate in certificates {
            if let Err(why) = self.take(&certificate) {
                self.skip(path, &why);
            }
        }
        if named {
            self.authorities.places.push(path.to_owned());
        }
    }

    /// A certificate as an anchor. One that has expired would be trusted for ever: anchors have no
    /// end in the library that verifies. How a root signed itself does not matter, so those of
    /// SHA-1 stay.
    fn take(&mut self, der: &[u8]) -> Result<(), String> {
        let facts = Certificate::parse(der)?;
        if facts.validity.1 < self.now {
            return Err(format!("{} has expired", facts.subject));
        }
        if facts.authority == Some(false) && facts.is_own_issuer() {
            if self.known.insert(der.to_vec()) {
                self.authorities.own.push(der.to_vec());
            }
            return Ok(());
        }
        if facts.authority == Some(false) {
            return Err(format!("{} is no authority", facts.subject));
        }
        if self.known.insert(der.to_vec()) {
            self.authorities.anchors.push(der.to_vec());
        }
        Ok(())
    }

    fn skip(&mut self, path: &Path, why: &str) {
        self.authorities.skipped.push((path.to_owned(), why.to_owned()));
    }
}

/// `5168735f.0`, `CERN-Root-2.pem`, `GEANT.crt`; not `.r0`, `.signing_policy`, `.namespaces`.
fn may_have_one(path: &Path) -> bool {
    let text =
        |part: Option<&std::ffi::OsStr>| part.and_then(|part| part.to_str()).map(str::to_owned);
    let Some(stem) = text(path.file_stem()) else { return false };
    let Some(extension) = text(path.extension()) else { return false };
    let numbered = extension.bytes().all(|byte| byte.is_ascii_digit());
    let hashed = stem.len() == 8 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
    (numbered && hashed) || matches!(extension.as_str(), "pem" | "crt" | "cer" | "der")
}
