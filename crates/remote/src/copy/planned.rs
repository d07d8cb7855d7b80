//! The plan of a copy: the target of each file, of directories that are copied with all that is
//! below them.
//!
//! As with `cp -r`: into a directory that is there, or whose name ends with a slash, a source goes
//! under its own name; else the target becomes the copy.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use futures::{StreamExt, stream};

use super::target::{CopyJob, NamedSource, far, local};
use super::tree::{Tree, TreeFile, is_file};
use super::up;
use crate::Remote;
use crate::address::{self, Scheme};
use crate::disk;
use crate::error::{Error, ErrorKind, Result};

/// Directories that are made at a time on a server.
const FOLDERS_AT_ONCE: usize = 8;

/// Where a source goes.
#[derive(Debug, Clone)]
enum Place {
    Disk(PathBuf),
    /// The address of a file or directory.
    Far(String),
}

impl Place {
    fn of(target: &Path) -> Result<Place> {
        match far(target) {
            Some(address) => Ok(Place::Far(address.to_owned())),
            None => Ok(Place::Disk(local(target)?)),
        }
    }

    fn ends_with_slash(&self) -> bool {
        match self {
            Place::Disk(path) => path.as_os_str().to_string_lossy().ends_with('/'),
            Place::Far(address) => {
                address.split('?').next().is_some_and(|place| place.ends_with('/'))
            }
        }
    }

    /// The place of these names below it.
    fn below(&self, names: &Path) -> Result<Place> {
        match self {
            Place::Disk(path) => Ok(Place::Disk(path.join(names))),
            Place::Far(address) => {
                let mut address = address.clone();
                for name in names {
                    let Some(name) = name.to_str() else {
                        let text = format!("{name:?} cannot be the name of a file on a server");
                        return Err(Error::new(ErrorKind::Unsupported, text));
                    };
                    address = up::below(&address, name)?;
                }
                Ok(Place::Far(address))
            }
        }
    }

    fn into_target(self) -> PathBuf {
        match self {
            Place::Disk(path) => path,
            Place::Far(address) => PathBuf::from(address),
        }
    }
}

impl Remote {
    /// The files of sources that may be directories, which are made at the target; and the errors
    /// of entries that cannot be copied.
    ///
    /// # Errors
    /// Errors about all: a target that is none, a source that cannot be listed.
    pub(super) async fn jobs_of_trees(
        &self,
        sources: Vec<NamedSource>,
        target: &Path,
    ) -> Result<(Vec<CopyJob>, Vec<Error>)> {
        let place = Place::of(target)?;
        let is_into = place.ends_with_slash() || self.is_there(&place).await?;
        if sources.len() > 1 && !is_into {
            let text = "there is no such directory for several files";
            let error = Error::new(ErrorKind::InvalidArgument, text);
            let advice = "it is made where its name ends with a /";
            return Err(error.with_url(shown(target)).with_advice(advice));
        }
        let mut jobs = Vec::new();
        let mut failed = Vec::new();
        for named in sources {
            let tree = self.tree(&named.source).await?;
            let place = match is_into {
                true => match source_name(&named, tree.is_some())? {
                    Some(name) => place.below(Path::new(&name))?,
                    // The topmost directory of a server has no name.
                    None => place.clone(),
                },
                false => place.clone(),
            };
            let Some(tree) = tree else {
                if let (true, Place::Disk(folder)) = (is_into, &Place::of(target)?) {
                    make_all(folder)?;
                }
                jobs.push(CopyJob::new(named.source, place.into_target()));
                continue;
            };
            refuse_own(&named.source, &place)?;
            self.add_tree(tree, &place, &mut jobs, &mut failed).await?;
        }
        let mut taken = BTreeSet::new();
        let (jobs, twice): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job: &CopyJob| taken.insert(job.target.clone()));
        failed.extend(twice.into_iter().map(|job: CopyJob| {
            let text = "another file of this copy has the same target";
            Error::new(ErrorKind::InvalidArgument, text).with_url(job.target.to_string_lossy())
        }));
        Ok((jobs, failed))
    }

    async fn add_tree(
        &self,
        tree: Tree,
        place: &Place,
        jobs: &mut Vec<CopyJob>,
        failed: &mut Vec<Error>,
    ) -> Result<()> {
        let Tree { files, folders, failed: not_copied } = tree;
        failed.extend(not_copied);
        let mut without = Vec::new();
        match place {
            Place::Disk(top) => {
                make_one(top)?;
                for below in &folders {
                    // Entries below a directory that was not made stay with it.
                    if without.iter().any(|above: &PathBuf| below.starts_with(above)) {
                        continue;
                    }
                    if let Err(error) = make_one(&top.join(below)) {
                        failed.push(error);
                        without.push(below.clone());
                    }
                }
            }
            Place::Far(_) => {
                let with_files: BTreeSet<&Path> =
                    files.iter().filter_map(|file| file.below.parent()).collect();
                let missing = self.make_far(place, &folders, &with_files).await;
                failed.extend(missing);
            }
        }
        let is_left = |file: &TreeFile| !without.iter().any(|above| file.below.starts_with(above));
        for file in files.into_iter().filter(is_left) {
            match place.below(&file.below) {
                Ok(place) => jobs.push(CopyJob {
                    source: file.source,
                    target: place.into_target(),
                    is_below: true,
                    facts: file.facts,
                }),
                Err(error) => failed.push(error),
            }
        }
        Ok(())
    }

    /// Makes directories on a server, with those above them; returns the errors of those that
    /// cannot be made and have no files, whose own errors would name them.
    async fn make_far(
        &self,
        top: &Place,
        folders: &[PathBuf],
        with_files: &BTreeSet<&Path>,
    ) -> Vec<Error> {
        let top_folder = PathBuf::new();
        let all = folders.iter().chain([&top_folder]);
        let is_leaf = |below: &&PathBuf| {
            !folders.iter().any(|other| other != *below && other.starts_with(below))
        };
        let leaves = all.filter(is_leaf).filter_map(|below| {
            let Place::Far(address) = top.below(below).ok()? else { return None };
            let scheme = address::parse(&address).ok()?.first()?.scheme();
            let has_files = with_files.contains(&**below);
            // Files of XRootD servers come with the directories above them, and S3 has none.
            let is_made = matches!(scheme, Scheme::S3)
                || has_files && matches!(scheme, Scheme::Root | Scheme::Roots);
            (!is_made).then_some((address, has_files))
        });
        let made = leaves.map(|(address, has_files)| async move {
            let made = self.make_folder(&address).await;
            made.err().filter(|_| !has_files)
        });
        let made: Vec<_> = made.collect();
        stream::iter(made).buffered(FOLDERS_AT_ONCE).filter_map(std::future::ready).collect().await
    }

    /// Whether a target is a directory that is there.
    async fn is_there(&self, place: &Place) -> Result<bool> {
        match place {
            Place::Disk(path) => Ok(path.is_dir()),
            Place::Far(address) => match self.list(address).await {
                // S3 has the name of a directory only where something is below it.
                Ok(_) => Ok(true),
                Err(error) if is_file(&error) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }
}

/// How a source is called; `None` of a directory without a name.
fn source_name(named: &NamedSource, is_folder: bool) -> Result<Option<OsString>> {
    if !is_folder {
        return named.file_name().map(Some);
    }
    let url = address::parse(&named.source)?.swap_remove(0);
    // As `cp -r`: of `folder/.` its content is copied, without a directory of that name.
    if named.source.trim_end_matches('/').ends_with("/.") || named.source == "." {
        return Ok(None);
    }
    if let Some(path) = url.to_local() {
        // `..` has another name.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        return Ok(path.file_name().map(OsString::from));
    }
    let slashless = url.without_slash();
    let name = slashless.file_name();
    let is_name = !matches!(name.as_encoded_bytes(), b"" | b"." | b"..")
        && !name.as_encoded_bytes().contains(&b'/');
    Ok(is_name.then_some(name))
}

/// # Errors
/// `InvalidArgument` where a directory would be copied into itself.
fn refuse_own(source: &str, place: &Place) -> Result<()> {
    let Place::Disk(target) = place else { return Ok(()) };
    let Some(source) = address::parse(source)?.swap_remove(0).to_local().map(Path::to_owned) else {
        return Ok(());
    };
    let source = source.canonicalize().map_err(|error| Error::from_io(&error))?;
    let target = std::path::absolute(target).map_err(|error| Error::from_io(&error))?;
    // The existing part of the target's path has no links any more.
    let there = target.ancestors().find_map(|above| above.canonicalize().ok());
    match there.is_some_and(|there| there.starts_with(&source)) {
        true => {
            let text = "a directory cannot be copied into itself";
            Err(Error::new(ErrorKind::InvalidArgument, text).with_url(target.to_string_lossy()))
        }
        false => Ok(()),
    }
}

/// Makes a directory in one that is there. A link in its place, which could lead anywhere, is
/// refused.
fn make_one(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if there.is_dir() => Ok(()),
        Ok(_) if path.as_os_str().to_string_lossy().ends_with('/') && path.is_dir() => Ok(()),
        Ok(_) => {
            let text =
                "a directory is to be made, and something else has its name: nothing goes below it";
            let error = Error::new(ErrorKind::InvalidArgument, text);
            Err(error.with_url(shown(path)).with_advice("remove or rename what is there"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make_all(path),
        Err(error) => Err(cannot_make(path, &error)),
    }
}

fn make_all(path: &Path) -> Result<()> {
    disk::make_folders(path).map_err(|error| cannot_make(path, &error))
}

fn cannot_make(path: &Path, error: &std::io::Error) -> Error {
    let text = format!("the directory cannot be made: {error}");
    Error::new(ErrorKind::InvalidArgument, text).with_url(shown(path))
}

fn shown(path: &Path) -> String {
    match far(path).map(address::parse) {
        Some(Ok(urls)) if !urls.is_empty() => urls[0].to_string(),
        _ => path.to_string_lossy().into_owned(),
    }
}
