//! Many files read as one, the next ones opened while the present one is read.

use std::collections::VecDeque;
use std::ops::Range;

use tokio::task::JoinHandle;

use super::columns::Batch;
use super::cut::Cut;
use super::pipeline::Batches;
use super::plan::Step;
use super::tree::{Rank, Tree};
use crate::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::errand::Errand;
use crate::fetch::ledger::Phase;

/// Files opened ahead of the one being read: their metadata comes while data flows.
const OPEN_AHEAD: usize = 3;

/// One tree in one file.
#[derive(Clone)]
pub struct Place {
    pub url: String,
    /// Path of the tree; `None` takes the only one there is.
    pub tree: Option<String>,
    /// The tree itself, where it is open already.
    pub open: Option<Tree>,
}

impl Place {
    pub(crate) async fn open(&self, engine: &Engine) -> Result<Tree> {
        match &self.open {
            Some(tree) => Ok(tree.clone()),
            None => engine.open_tree(&self.url, self.tree.as_deref()).await,
        }
    }
}

/// What is read of every tree.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Names, paths and globs; `None` takes all columns that can be read.
    pub patterns: Option<Vec<String>>,
    /// Entries of each tree.
    pub entries: Range<u64>,
    pub step: Step,
    /// Which of the entries are read; `None` takes all.
    pub cut: Option<Cut>,
}

/// A batch and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Position of the file in the list.
    pub file: usize,
    pub url: String,
    pub batch: Batch,
}

/// Batches of many files, in the order of the files.
pub struct Parts {
    engine: Engine,
    places: VecDeque<(usize, Place)>,
    wish: Wish,
    opening: VecDeque<(Errand, JoinHandle<Result<Started>>)>,
    present: Option<Started>,
}

struct Started {
    file: usize,
    url: String,
    batches: Batches,
}

impl Parts {
    pub(crate) fn new(engine: Engine, places: Vec<Place>, wish: Wish) -> Self {
        let places = places.into_iter().enumerate().collect();
        Parts { engine, places, wish, opening: VecDeque::new(), present: None }
    }

    /// The next batch; `None` after the last one of the last file.
    pub async fn next(&mut self) -> Option<Result<Part>> {
        loop {
            self.open_ahead();
            if let Some(present) = &mut self.present {
                match present.batches.next().await {
                    Some(Ok(batch)) => {
                        let (file, url) = (present.file, present.url.clone());
                        return Some(Ok(Part { file, url, batch }));
                    }
                    Some(Err(error)) => return Some(Err(self.give_up(error))),
                    None => self.present = None,
                }
            }
            // Taken from the queue only when done: a caller may stop waiting and come again.
            let (errand, task) = self.opening.front_mut()?;
            let waiting = errand.waiting();
            let opened = task.await;
            drop(waiting);
            self.opening.pop_front();
            match opened {
                Ok(Ok(started)) => self.present = Some(started),
                Ok(Err(error)) => return Some(Err(self.give_up(error))),
                Err(error) => {
                    let error = Error::new(ErrorKind::Io, format!("opening a file: {error}"));
                    return Some(Err(self.give_up(error)));
                }
            }
        }
    }

    fn give_up(&mut self, error: Error) -> Error {
        self.places.clear();
        self.opening.drain(..).for_each(|(_, task)| task.abort());
        self.present = None;
        error
    }

    fn open_ahead(&mut self) {
        while self.opening.len() < OPEN_AHEAD {
            let Some((file, place)) = self.places.pop_front() else { return };
            let (engine, wish) = (self.engine.clone(), self.wish.clone());
            let urgent = self.present.is_none() && self.opening.is_empty();
            let errand = Errand::begin(engine.trace(), Phase::Connecting, None);
            let ahead = errand.clone();
            let task = async move { ahead.ahead(start(engine, file, place, wish, urgent)).await };
            self.opening.push_back((errand, tokio::spawn(task)));
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.opening.drain(..).for_each(|(_, task)| task.abort());
    }
}

async fn start(
    engine: Engine,
    file: usize,
    place: Place,
    wish: Wish,
    urgent: bool,
) -> Result<Started> {
    let tree = place.open(&engine).await?;
    let columns = match &wish.patterns {
        Some(patterns) => tree.columns(patterns).map_err(|e| e.with_url(&*place.url))?,
        None => tree.all_columns(),
    };
    let rank = Rank { order: file as u64, urgent };
    let batches = tree.start(columns, wish.cut.as_ref(), wish.entries, wish.step, rank)?;
    Ok(Started { file, url: place.url, batches })
}
