//! The walk through the directories of a pattern.

use std::ffi::OsString;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use glob::Pattern;

use super::OPTIONS;
use super::places::{MatchedName, MatchedPlace};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::network::Network;

/// Directories that are listed at a time.
const LISTINGS_MAX: usize = 16;
/// Directories that `**` may go through: where links of a server lead back, there is no end.
const FOLDERS_MAX: usize = 100_000;

/// One part of a pattern between slashes.
pub(super) enum PatternStep {
    /// `**`: this directory and all below it, but for hidden ones.
    AnyDepth,
    Like(Pattern),
    Name(String),
}

impl PatternStep {
    fn accepts(&self, name: &OsString) -> bool {
        match self {
            PatternStep::AnyDepth => !name.as_encoded_bytes().starts_with(b"."),
            PatternStep::Like(pattern) => pattern.matches_with(&name.to_string_lossy(), OPTIONS),
            PatternStep::Name(wanted) => *name == **wanted,
        }
    }
}

/// A place, with the names that led to it from the beginning of the walk.
#[derive(Clone)]
struct Found {
    names: Vec<OsString>,
    place: MatchedPlace,
    /// `None` where that is not known.
    is_directory: Option<bool>,
    /// Its names, where a former step has listed it.
    entries: Option<Arc<Vec<MatchedName>>>,
}

impl Found {
    fn child(&self, name: OsString, is_directory: Option<bool>) -> Result<Found> {
        let place = self.place.child(&name)?;
        let names = self.names.iter().cloned().chain([name]).collect();
        Ok(Found { names, place, is_directory, entries: None })
    }
}

/// A pattern, and how it requests the names in directories of servers.
pub(super) struct Walk<'a> {
    pattern: &'a str,
    config: &'a Config,
    network: &'a Arc<dyn Network>,
}

impl<'a> Walk<'a> {
    pub fn new(pattern: &'a str, config: &'a Config, network: &'a Arc<dyn Network>) -> Self {
        Walk { pattern, config, network }
    }

    /// The places that the steps lead to, by name.
    pub async fn go(&self, start: MatchedPlace, steps: &[PatternStep]) -> Result<Vec<String>> {
        let start = Found { names: Vec::new(), place: start, is_directory: None, entries: None };
        let mut found = vec![start];
        for (number, step) in steps.iter().enumerate() {
            let is_last = number + 1 == steps.len();
            found = match step {
                PatternStep::AnyDepth => self.below(found).await?,
                PatternStep::Name(name) => self.named(found, name, is_last).await?,
                PatternStep::Like(_) => self.children(found, step, !is_last).await?,
            };
        }
        found.sort_unstable_by(|a, b| a.names.cmp(&b.names));
        found.dedup_by(|a, b| a.names == b.names);
        found.iter().map(|found| found.place.text()).collect()
    }

    /// The directories themselves, and all below them.
    async fn below(&self, start: Vec<Found>) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let mut level = start;
        while !level.is_empty() {
            let listed = self.list(level, true).await?;
            let mut next = Vec::new();
            for folder in &listed {
                for entry in folder.entries.iter().flat_map(|entries| entries.iter()) {
                    if PatternStep::AnyDepth.accepts(&entry.name)
                        && entry.is_directory != Some(false)
                    {
                        next.push(folder.child(entry.name.clone(), entry.is_directory)?);
                    }
                }
            }
            found.extend(listed);
            if found.len() + next.len() > FOLDERS_MAX {
                let text = format!("** leads through more than {FOLDERS_MAX} directories");
                let error = Error::new(ErrorKind::InvalidArgument, text).with_url(self.pattern);
                return Err(error.with_advice("name the first directories without it"));
            }
            level = next;
        }
        Ok(found)
    }

    /// Places of this name. Whether the last one of a path is there, a server's listing says.
    async fn named(&self, found: Vec<Found>, name: &str, is_last: bool) -> Result<Vec<Found>> {
        let mut there = Vec::new();
        let mut unknown = Vec::new();
        for folder in found {
            if folder.is_directory == Some(false) && !matches!(folder.place, MatchedPlace::Disk(_))
            {
                continue;
            }
            let child = folder.child(name.into(), None)?;
            match child.place.is_there() {
                Some(false) => {}
                None if is_last && name.is_empty() => there.push(child),
                None if is_last => unknown.push(folder),
                _ => there.push(child),
            }
        }
        there.extend(self.children(unknown, &PatternStep::Name(name.to_owned()), false).await?);
        Ok(there)
    }

    /// The names in directories that a step accepts.
    async fn children(
        &self,
        folders: Vec<Found>,
        step: &PatternStep,
        with_facts: bool,
    ) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for folder in self.list(folders, with_facts).await? {
            for entry in folder.entries.iter().flat_map(|entries| entries.iter()) {
                if step.accepts(&entry.name) {
                    found.push(folder.child(entry.name.clone(), entry.is_directory)?);
                }
            }
        }
        Ok(found)
    }

    /// Those that are directories, with their names.
    async fn list(&self, folders: Vec<Found>, with_facts: bool) -> Result<Vec<Found>> {
        let is_far = |found: &Found| matches!(found.place, MatchedPlace::Far(_));
        let folders = folders.into_iter();
        // On a disk it may be a link to a directory.
        let folders = folders.filter(|found| !is_far(found) || found.is_directory != Some(false));
        let listings = folders.map(|found| async move {
            if found.entries.is_some() {
                return Ok(Some(found));
            }
            let listed = found.place.entries(with_facts, self.config, self.network).await?;
            Ok(listed.map(|entries| Found { entries: Some(Arc::new(entries)), ..found }))
        });
        let listings: Vec<_> = listings.collect();
        let listed = stream::iter(listings).buffered(LISTINGS_MAX).try_collect::<Vec<_>>().await?;
        Ok(listed.into_iter().flatten().collect())
    }
}
