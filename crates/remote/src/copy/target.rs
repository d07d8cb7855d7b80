//! Targets of a copy: the name of each file that is written.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use url::Url;

use super::tree::Facts;
use crate::address::{self, Address};
use crate::disk;
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;

/// A source, and the name of its file where its address has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSource {
    pub source: String,
    pub name: Option<String>,
}

impl NamedSource {
    /// How the copy in a folder is called.
    ///
    /// # Errors
    /// As [`name_of`].
    pub fn file_name(&self) -> Result<OsString> {
        self.name.as_ref().map_or_else(|| name_of(&self.source), |name| Ok(name.into()))
    }
}

/// One file's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyJob {
    pub source: String,
    pub target: PathBuf,
    /// It was found below a directory, and is copied as it is.
    pub is_below: bool,
    pub facts: Facts,
}

impl CopyJob {
    /// Of a file that was named.
    pub fn new(source: String, target: PathBuf) -> Self {
        CopyJob { source, target, is_below: false, facts: Facts::default() }
    }

    /// # Errors
    /// `InvalidArgument` where there is no directory for the target.
    fn check_directory(&self) -> Result<()> {
        let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let Some(parent) = parent else { return Ok(()) };
        let text = match std::fs::metadata(parent) {
            Ok(there) if there.is_dir() => return Ok(()),
            Ok(_) => "what should be the target's directory is a file",
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                "the target's directory is not there"
            }
            Err(error) => &format!("the target's directory cannot be used: {error}"),
        };
        let error = Error::new(ErrorKind::InvalidArgument, text);
        Err(error.with_url(self.target.to_string_lossy()).with_advice("make it first"))
    }

    /// # Errors
    /// `InvalidArgument` where the target is one of the sources, or the Metalink that names them.
    pub fn check_sources(&self, sources: &[Address]) -> Result<()> {
        let Some(target) = Address::local(&self.target)?.identity() else { return Ok(()) };
        let named = address::parse(&self.source)?;
        let mut all = named.iter().chain(sources).filter_map(Address::identity);
        match all.any(|source| source == target) {
            true => {
                let error = Error::new(ErrorKind::InvalidArgument, "a file cannot replace itself");
                Err(error
                    .with_url(self.target.to_string_lossy())
                    .with_advice("name another target"))
            }
            false => Ok(()),
        }
    }

    /// # Errors
    /// `InvalidArgument` where the target is there and may not be replaced, or is a directory.
    pub fn check(&self, overwrite: bool) -> Result<()> {
        let Ok(there) = std::fs::symlink_metadata(&self.target) else { return Ok(()) };
        let wrong = |text: &str| {
            Error::new(ErrorKind::InvalidArgument, text).with_url(self.target.to_string_lossy())
        };
        if there.is_dir() {
            return Err(wrong("the target is a directory"));
        }
        match overwrite {
            true => Ok(()),
            false => Err(wrong("the target is there already")
                .with_advice_for("-f replaces it", "overwrite=True replaces it")),
        }
    }
}

/// The address of a server, where the target is one.
pub fn far(target: &Path) -> Option<&str> {
    let text = target.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    (scheme != "file").then_some(text)
}

/// The target as a path on a disk.
pub fn local(target: &Path) -> Result<PathBuf> {
    let text = target.to_string_lossy();
    let wrong =
        |message: String| Err(Error::new(ErrorKind::InvalidArgument, message).with_url(&*text));
    if text.is_empty() {
        return wrong("the target has no name".to_owned());
    }
    match text.split_once("://") {
        None => Ok(expanded(target)),
        Some(("file", _)) => match Url::parse(&text).map(|url| url.to_file_path()) {
            Ok(Ok(path)) => Ok(path),
            _ => wrong("the target is not a path".to_owned()),
        },
        Some(_) => wrong("the target is not a path".to_owned()),
    }
}

/// One file to `target`, or all of them into it. A directory that is not there is made where
/// `target` ends with a slash.
///
/// # Errors
/// `InvalidArgument` for several files and a target that is no directory, for sources of the same
/// name, and for those whose address ends without one.
pub fn jobs(sources: Vec<NamedSource>, target: &Path) -> Result<Vec<CopyJob>> {
    let wrong = |text: String| Error::new(ErrorKind::InvalidArgument, text);
    let target = &*local(target)?;
    let is_there = target.is_dir();
    if !is_there && !target.as_os_str().to_string_lossy().ends_with('/') {
        return match <[NamedSource; 1]>::try_from(sources) {
            Ok([NamedSource { source, .. }]) => {
                let job = CopyJob::new(source, target.to_owned());
                job.check_directory()?;
                Ok(vec![job])
            }
            Err(_) => Err(wrong("there is no such directory for several files".into())
                .with_url(target.to_string_lossy())
                .with_advice("it is made where its name ends with a /")),
        };
    }
    let mut names = BTreeSet::new();
    let mut jobs = Vec::with_capacity(sources.len());
    for named in sources {
        let name = named.file_name()?;
        if !names.insert(name.clone()) {
            let text = format!("two of the files are called {name:?}");
            return Err(wrong(text).with_advice("copy them into different directories"));
        }
        jobs.push(CopyJob::new(named.source, target.join(name)));
    }
    if !is_there {
        disk::make_folders(target).map_err(|error| {
            let text = format!("the directory cannot be made: {error}");
            wrong(text).with_url(target.to_string_lossy())
        })?;
    }
    Ok(jobs)
}

/// The last part of a file's path, as it is called on a disk: byte for byte the name that its
/// server has.
pub fn name_of(source: &str) -> Result<OsString> {
    let address = address::parse(source)?.swap_remove(0);
    let name = address.file_name();
    let is_name = match name.as_encoded_bytes() {
        b"" | b"." | b".." => false,
        bytes => !bytes.contains(&b'/') && !bytes.contains(&0),
    };
    if is_name {
        return Ok(name);
    }
    let error = Error::new(ErrorKind::InvalidArgument, "the address ends without a file's name");
    Err(error.with_url(address.to_string()).with_advice("name the target file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sources: &[&str], target: &Path) -> Result<Vec<CopyJob>> {
        let named = |source: &&str| NamedSource { source: (*source).to_owned(), name: None };
        jobs(sources.iter().map(named).collect(), target)
    }

    #[test]
    fn into_a_directory_files_keep_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for (source, name) in [
            ("root://a//d/f.root?x=1|http://b/g", "f.root"),
            ("http://b/a%20b%3Fc%23.root", "a b?c#.root"),
            ("root://a//d/a%20b#c.root", "a%20b#c.root"),
            ("data/100%?#.root", "100%?#.root"),
            ("file:///data/100%25.root", "100%.root"),
            (r"root://a//d/a\b.root", r"a\b.root"),
        ] {
            let jobs = of(&[source], folder.path()).unwrap();
            assert_eq!(jobs[0].target, folder.path().join(name), "{source}");
        }
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let folder = tempfile::tempdir().unwrap();
        for wrong in ["root://a//", "http://b/", "http://b/x%2F..%2Fy", "http://b/%00"] {
            let error = of(&[wrong], folder.path()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
        }
        assert!(of(&["root://a//f", "root://b//f"], folder.path()).is_err(), "one name");
    }

    /// `~` became a directory of that name, `root:` another, and a directory that is missing was
    /// reported as "No such file" of the file that was to be made.
    #[test]
    fn what_cannot_be_a_target_is_told_before_anything_is_read() {
        let refused = |target: &str| of(&["root://a//f"], Path::new(target)).unwrap_err();
        for (target, why) in [
            ("root://b//g", "not a path"),
            ("", "no name"),
            ("/no/such/folder/f", "the target's directory is not there"),
            ("/dev/null/f", "what should be the target's directory is a file"),
        ] {
            let error = refused(target);
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.to_string().contains(why), "{error}");
        }
        let home = etcetera::home_dir().unwrap();
        for target in ["~", "~/"] {
            let jobs = of(&["root://a//f"], Path::new(target)).unwrap();
            assert_eq!(jobs[0].target, home.join("f"), "{target}");
        }
        let folder = tempfile::tempdir().unwrap();
        let there = format!("file://{}/g", folder.path().display());
        assert_eq!(
            of(&["root://a//f"], Path::new(&there)).unwrap()[0].target,
            folder.path().join("g")
        );
    }

    #[test]
    fn one_file_goes_to_a_path_and_several_do_not() {
        assert_eq!(far(Path::new("file:///a")), None);
        assert_eq!(far(Path::new("a/b")), None);
        assert_eq!(far(Path::new("root://h//a")), Some("root://h//a"));
        let folder = tempfile::tempdir().unwrap();
        let path = &*folder.path().join("f");
        assert_eq!(of(&["root://a//f"], path).unwrap()[0].target, path);
        assert!(of(&["root://a//f", "root://a//g"], path).is_err());
        let new = folder.path().join("x/y/");
        assert_eq!(of(&["root://a//f"], &new).unwrap()[0].target, new.join("f"));
        assert!(new.is_dir());
        std::fs::write(new.join("f"), "").unwrap();
        assert!(of(&["root://a//f"], &new.join("f/g/")).is_err());
    }
}
