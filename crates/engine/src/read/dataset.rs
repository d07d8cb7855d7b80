//! Many files read as one, the next ones opened while the present one is read.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use super::ahead::{Ahead, Pace};
use super::batches::Batches;
use super::columns::Batch;
use super::cut::Cut;
use super::file::Guesses;
use super::plan::Step;
use super::table::{Table, Wanted};
use super::tree::Rank;
use crate::Engine;
use crate::error::{Error, Result};

/// One tree or RNTuple in one file.
#[derive(Clone)]
pub struct Place {
    pub url: String,
    /// Path of the table; `None` takes the only one there is.
    pub path: Option<String>,
    /// The table itself, where it is open already.
    pub open: Option<Table>,
}

impl Place {
    pub(crate) async fn open(&self, engine: &Engine, guesses: Guesses) -> Result<Table> {
        match &self.open {
            Some(table) => Ok(table.clone()),
            None => engine.open_table_with(&self.url, self.path.as_deref(), guesses).await,
        }
    }
}

/// What is read of every table.
#[derive(Debug, Clone)]
pub struct Wish {
    pub wanted: Wanted,
    /// Entries of each table.
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

/// Many tables, opened side by side, in the order of their places.
pub struct Opens {
    engine: Engine,
    places: VecDeque<Place>,
    opening: Ahead<Table>,
}

impl Opens {
    pub(crate) fn new(engine: Engine, places: Vec<Place>) -> Self {
        Opens { engine, places: places.into(), opening: Ahead::new() }
    }

    /// The next table; `None` after the last one. Nothing comes after an error.
    pub async fn next(&mut self) -> Option<Result<Table>> {
        while self.opening.len() < self.engine.config().opens_max {
            let Some(place) = self.places.pop_front() else { break };
            let engine = self.engine.clone();
            let work = async move { place.open(&engine, Guesses::Dear).await };
            self.opening.push(self.engine.trace(), work);
        }
        let opened = self.opening.next().await;
        if let Some(Err(_)) = &opened {
            self.places.clear();
            self.opening.clear();
        }
        opened
    }
}

/// Batches of many files, in the order of the files.
pub struct Parts {
    engine: Engine,
    places: VecDeque<(usize, Place)>,
    wish: Wish,
    opening: Ahead<Started>,
    present: Option<Started>,
    pace: Pace,
}

struct Started {
    file: usize,
    url: String,
    batches: Batches,
    metadata_bytes: u64,
    opening_took: Duration,
    /// When the file's turn came, on the engine's clock.
    turn: Duration,
}

impl Parts {
    pub(crate) fn new(engine: Engine, places: Vec<Place>, wish: Wish) -> Self {
        let places = places.into_iter().enumerate().collect();
        let (opening, pace) = (Ahead::new(), Pace::default());
        Parts { engine, places, wish, opening, present: None, pace }
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
                    None => {
                        let now = self.engine.trace().now();
                        self.pace.read(now.saturating_sub(present.turn));
                        self.present = None;
                    }
                }
            }
            match self.opening.next().await? {
                Ok(mut started) => {
                    self.pace.opened(started.opening_took, started.metadata_bytes);
                    started.turn = self.engine.trace().now();
                    self.present = Some(started);
                }
                Err(error) => return Some(Err(self.give_up(error))),
            }
        }
    }

    fn give_up(&mut self, error: Error) -> Error {
        self.places.clear();
        self.opening.clear();
        self.present = None;
        error
    }

    fn open_ahead(&mut self) {
        let config = self.engine.config();
        let ahead = self.pace.files_ahead(config.opens_max, config.memory_bytes_max);
        while self.opening.len() < ahead {
            let Some((file, place)) = self.places.pop_front() else { return };
            let urgent = self.present.is_none() && self.opening.len() == 0;
            let work = start(self.engine.clone(), file, place, self.wish.clone(), urgent);
            self.opening.push(self.engine.trace(), work);
        }
    }
}

async fn start(
    engine: Engine,
    file: usize,
    place: Place,
    wish: Wish,
    urgent: bool,
) -> Result<Started> {
    let begun = engine.trace().now();
    let rank = Rank { order: file as u64, urgent };
    let remembered = match &place.open {
        None => start_presumed(&engine, &place, &wish, rank).await?,
        Some(_) => None,
    };
    let (table, batches) = match remembered {
        Some(started) => started,
        None => {
            let guesses = if urgent { Guesses::Welcome } else { Guesses::Dear };
            let table = place.open(&engine, guesses).await?;
            let batches = begin(&table, &place, &wish, rank).await?;
            (table, batches)
        }
    };
    let opening_took = engine.trace().now().saturating_sub(begun);
    let metadata_bytes = table.file().metadata_bytes();
    let turn = Duration::ZERO;
    Ok(Started { file, url: place.url, batches, metadata_bytes, opening_took, turn })
}

/// Begins to read before the file is open, where it is remembered: what is wanted first is asked
/// for together with the open. Nothing is handed on unless the file is the one that was remembered.
async fn start_presumed(
    engine: &Engine,
    place: &Place,
    wish: &Wish,
    rank: Rank,
) -> Result<Option<(Table, Batches)>> {
    let Some(presumed) = engine.open_presumed(&place.url).await? else { return Ok(None) };
    let started = async {
        let table = engine.table_of(&presumed.file, &place.url, place.path.as_deref()).await?;
        let batches = begin(&table, place, wish, rank).await?;
        Ok((table, batches))
    };
    // An error may be the other file's.
    let started = started.await;
    if presumed.confirm().await? { started.map(Some) } else { Ok(None) }
}

async fn begin(table: &Table, place: &Place, wish: &Wish, rank: Rank) -> Result<Batches> {
    let selected = table.select(&wish.wanted).map_err(|error| error.with_url(&*place.url))?;
    selected.start(wish.cut.as_ref(), wish.entries.clone(), wish.step, rank).await
}
