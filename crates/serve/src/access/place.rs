//! Names of files as rules see them: the parts of a path, compared whole.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use remote::address::{Address, Scheme};

use crate::origin::Origin;

/// The parts of a path between its slashes. None of them is empty, `.` or `..`, and none hides a
/// slash, so that every server takes the path for the same one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathParts(Vec<Vec<u8>>);

impl PathParts {
    /// Of a path whose characters stand for themselves; `None` for one that leads upwards.
    pub fn literal(path: &[u8]) -> Option<Self> {
        let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        let parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
        let is_name = |part: &Vec<u8>| part != b"." && part != b".." && !part.contains(&0);
        parts.iter().all(is_name).then_some(PathParts(parts))
    }

    /// Of a path in which `%` and two digits stand for a byte; `None` also for one that is escaped
    /// twice, or has a backslash: servers differ in what they take it for.
    pub fn escaped(path: &str) -> Option<Self> {
        let bytes: Vec<u8> = percent_decode_str(path).collect();
        let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
        let is_escape = |at: usize| {
            bytes[at] == b'%' && is_digit(bytes.get(at + 1)) && is_digit(bytes.get(at + 2))
        };
        let is_clear = !bytes.contains(&b'\\') && !(0..bytes.len()).any(is_escape);
        is_clear.then(|| Self::literal(&bytes)).flatten()
    }

    /// Of a folder as an administrator writes it for rules, whose characters stand for themselves.
    ///
    /// # Errors
    /// A text: whatever would match no path, or another one than it seems to.
    pub fn of_rule(folder: &str) -> Result<Self, String> {
        let parts = Self::literal(folder.as_bytes()).ok_or("a path with . or ..")?;
        // The path is the same however it is escaped, and so has to be that of an address.
        let is_plain = Self::escaped(folder).is_some_and(|escaped| escaped == parts);
        match folder.chars().any(|letter| "*?\\".contains(letter) || letter.is_control()) {
            true => Err("a rule is for a folder and all below it: no *, ? or \\ in it".to_owned()),
            false if !is_plain => {
                Err("a folder has its plain name, without % and two digits".to_owned())
            }
            false => Ok(parts),
        }
    }

    /// The parts behind those of a folder; `None` for a path that is not within it.
    pub fn behind(&self, folder: &PathParts) -> Option<PathParts> {
        let rest = self.0.strip_prefix(&folder.0[..])?;
        Some(PathParts(rest.to_vec()))
    }

    /// The absolute path of these parts.
    pub fn path(&self) -> PathBuf {
        let root = PathBuf::from("/");
        self.0.iter().fold(root, |path, part| path.join(OsStr::from_bytes(part)))
    }

    /// Whether this is a folder, or what is in it.
    pub fn is_within(&self, folder: &PathParts) -> bool {
        self.0.starts_with(&folder.0)
    }
}

/// A place about which a client asks.
#[derive(Debug, Clone)]
pub enum ServedPlace {
    /// The figures of a proxy.
    Figures,
    /// A path in a served folder; `None` for one that leads upwards.
    Folder(Option<PathParts>),
    /// A file of an origin, and its path; `None` for one that servers may take for another.
    Far(Box<Address>, Option<PathParts>),
}

impl ServedPlace {
    /// A path in a served folder.
    pub fn of_folder(path: &[u8]) -> Self {
        ServedPlace::Folder(PathParts::literal(path))
    }

    /// A file of an origin.
    pub fn of_far(address: &Address) -> Self {
        let parts = match address.scheme() {
            Scheme::Root | Scheme::Roots => PathParts::literal(address.path().as_bytes()),
            Scheme::Local => {
                let path = address.to_local().unwrap_or(Path::new(""));
                PathParts::literal(path.as_os_str().as_bytes())
            }
            _ => PathParts::escaped(&address.path()),
        };
        ServedPlace::Far(Box::new(address.clone()), parts)
    }
}

/// The files of a rule: all within a folder, of some servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlacePattern {
    /// The figures of a proxy.
    Figures,
    /// A folder of a served folder.
    Folder(PathParts),
    /// A folder of servers.
    Far(Origin, PathParts),
}

impl PlacePattern {
    /// Reads `/metrics`, `/store` or `root://*.cern.ch//store`.
    ///
    /// # Errors
    /// A text that names the fault.
    pub fn parse(text: &str, is_far: bool) -> Result<Self, String> {
        let wrong = |why: &str| format!("{text}: {why}");
        if is_far && text == "/metrics" {
            return Ok(PlacePattern::Figures);
        }
        let begin = text.find("://").map_or(0, |colon| colon + "://".len());
        let path = text[begin..].find('/').map_or(text.len(), |slash| begin + slash);
        let parts = PathParts::of_rule(&text[path..]).map_err(|why| wrong(&why))?;
        match (is_far, path) {
            (false, 0) if text.starts_with('/') => Ok(PlacePattern::Folder(parts)),
            (false, _) => Err(wrong("a path of the served folder begins with a slash")),
            (true, _) => Ok(PlacePattern::Far(text[..path].parse()?, parts)),
        }
    }

    /// The parts of a place behind this folder; `None` where the place is not within it.
    pub fn behind(&self, place: &ServedPlace) -> Option<PathParts> {
        match (self, place) {
            (PlacePattern::Figures, ServedPlace::Figures) => Some(PathParts::default()),
            (PlacePattern::Folder(folder), ServedPlace::Folder(Some(parts))) => {
                parts.behind(folder)
            }
            (PlacePattern::Far(origin, folder), ServedPlace::Far(address, Some(parts))) => {
                parts.behind(folder).filter(|_| origin.allows(address))
            }
            _ => None,
        }
    }

    /// Whether every place of another pattern is one of this.
    pub fn covers(&self, other: &PlacePattern) -> bool {
        match (self, other) {
            (PlacePattern::Far(origin, folder), PlacePattern::Far(others, within)) => {
                within.is_within(folder) && origin.covers(others)
            }
            (PlacePattern::Folder(folder), PlacePattern::Folder(within)) => {
                within.is_within(folder)
            }
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(pattern: &str, address: &str) -> bool {
        let pattern = PlacePattern::parse(pattern, true).unwrap();
        let address = Address::parse(address).unwrap();
        pattern.behind(&ServedPlace::of_far(&address)).is_some()
    }

    #[test]
    fn parts_are_compared_whole_however_they_are_written() {
        for (pattern, address, wanted) in [
            ("root://h//store", "root://h//store/f", true),
            ("root://h//store", "root://h//store", true),
            ("root://h//store/", "root://h///store//f", true),
            ("root://h//store", "root://h//storefront/f", false),
            ("root://h//store", "root://h//Store/f", false),
            ("root://h//store", "root://h//", false),
            ("root://h//store", "root://g//store/f", false),
            ("root://h//store", "roots://h//store/f", false),
            ("h/store", "https://h/store/f", true),
            ("*/store", "https://g:8443/store/f", true),
            ("*", "https://g:8443/store/f", true),
            ("https://h/store", "https://h/%73tore/f", true),
            ("https://h/store", "https://h/store%2Ff", true),
            ("https://h/store", "https://h/%2573tore/f", false),
            ("https://h", "https://h/%2573tore/f", false),
            ("https://h", "https://h/store\\f", true),
            ("https://h", "https://h/store%5Cf", false),
            // XRootD's servers escape nothing.
            ("root://h//store", "root://h//%73tore/f", false),
            ("root://h", "root://h//%73tore/f", true),
            ("root://h", "root://h//a/../store/f", false),
            ("file:///lustre/data", "/lustre/data/f", true),
            ("file:///lustre/data", "/lustre/database/f", false),
            ("file:///lustre/data", "root://h//lustre/data/f", false),
            ("*", "/lustre/data/f", false),
            ("*/lustre", "/lustre/data/f", false),
        ] {
            assert_eq!(is_in(pattern, address), wanted, "{pattern} {address}");
        }
    }

    #[test]
    fn a_pattern_is_read_or_refused() {
        for (text, is_far) in [("store", false), ("", false), ("/a/../b", false), ("", true)] {
            assert!(PlacePattern::parse(text, is_far).is_err(), "{text}");
        }
        assert_eq!(PlacePattern::parse("/metrics", true), Ok(PlacePattern::Figures));
        let folder = PlacePattern::parse("/store", false).unwrap();
        assert!(folder.behind(&ServedPlace::of_folder(b"//store/f")).is_some());
        assert!(folder.behind(&ServedPlace::of_folder(b"store/../f")).is_none());
        assert!(folder.behind(&ServedPlace::Figures).is_none());
    }

    /// They were read, matched no file, and a rule that was to forbid something forbade nothing.
    #[test]
    fn a_pattern_of_paths_is_no_folder() {
        for folder in ["/dir/*", "/dir/?", "/dir%2Fsub", "/d%69r", "/a\\b", "/*", "/a\n"] {
            for (text, is_far) in [
                (folder.to_owned(), false),
                (format!("http://h{folder}"), true),
                (format!("root://h/{folder}"), true),
                (format!("file://{folder}"), true),
            ] {
                let error = PlacePattern::parse(&text, is_far).expect_err(&text);
                assert!(error.contains(" folder "), "{error}");
            }
        }
        for (text, is_far) in [("/100% pure/a b", false), ("https://*.h/100%/d", true)] {
            assert!(PlacePattern::parse(text, is_far).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_pattern_covers_what_is_within_it() {
        for (one, other, wanted) in [
            ("*", "root://h//store", true),
            ("h/store", "root://h//store/a", true),
            ("root://h//store", "h/store", false),
            ("root://*.h", "root://a.h", true),
            ("root://*.h", "root://*.a.h", true),
            ("root://a.h", "root://*.h", false),
            ("root://h:*", "root://h:99", true),
            ("root://h", "root://h:99", false),
            ("root://h", "root://h:1094", true),
            ("/metrics", "/metrics", true),
            ("*", "/metrics", false),
            ("*", "file:///lustre", false),
            ("file:///lustre", "file:///lustre/data", true),
            ("file:///lustre/data", "file:///lustre", false),
        ] {
            let read = |text| PlacePattern::parse(text, true).unwrap();
            assert_eq!(read(one).covers(&read(other)), wanted, "{one} {other}");
        }
    }
}
