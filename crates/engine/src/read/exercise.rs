//! The event loop of an analysis without the analysis: some branches of every event, and all of
//! every so many events. (The shape is that of the IOExerciser in Bockelman, "Optimizing
//! high-latency I/O in CMSSW".)

use std::collections::VecDeque;
use std::sync::Arc;

use rootfile::Array;
use rootfile::tree::BasketPlace;
use serde::Serialize;

use super::columns::{Batch, Column};
use super::cut::Cut;
use super::learn::Learning;
use super::plan::Step;
use super::tree::Tree;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::trace::Trace;
use crate::report::Report;
use crate::{Engine, clock};

/// Decoded bytes of one batch.
const BATCH_BYTES: u64 = 16 << 20;

/// What is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Exercise {
    /// The part of the stored bytes whose branches are read in each event: above 0, at most 1.
    pub fraction: f64,
    /// Each so-manyth event is read whole; 0: none is.
    pub prescale: u64,
    /// Events, from the first; as many as there are at most.
    pub events: u64,
    pub form: Form,
}

/// In which form an exercise reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Batches of columns that are named beforehand.
    Columns,
    /// Event by event, without saying what will be looked at.
    Events(Learning),
}

/// The branches that are read in each event, and the others.
#[derive(Debug, Clone)]
pub struct Choice {
    pub each: Vec<Column>,
    pub rest: Vec<Column>,
    /// The part of the stored bytes that is in `each`.
    pub fraction: f64,
}

/// What an exercise has come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub events: u64,
    /// Of these, read whole.
    pub events_whole: u64,
    /// Branches that are read in each event, and all that can be read.
    pub branches_each: usize,
    pub branches: usize,
    /// The part of the stored bytes that is read in each event.
    pub fraction: f64,
    /// Bytes of numbers and texts that were handed over.
    pub content_bytes: u64,
    /// From the address to the last event.
    pub wall_s: f64,
    /// CPU time of the process meanwhile; of several exercises at once, of all of them.
    pub cpu_s: f64,
    pub report: Report,
}

impl Exercise {
    /// Chooses branches until they make up the fraction: the smallest, the largest, the next
    /// smallest, and so on, so that both kinds are among them.
    pub fn choose(&self, tree: &Tree) -> Choice {
        let mut columns: Vec<(u64, Column)> =
            tree.all_columns().into_iter().map(|column| (stored(tree, &column), column)).collect();
        columns.sort_by_key(|(bytes, column)| (*bytes, column.branch.0));
        let total: u64 = columns.iter().map(|(bytes, _)| bytes).sum();
        let enough = total as f64 * self.fraction;
        let mut columns = VecDeque::from(columns);
        let (mut each, mut chosen) = (Vec::new(), 0u64);
        while (chosen as f64) < enough {
            let from_below = each.len() % 2 == 0;
            let next = if from_below { columns.pop_front() } else { columns.pop_back() };
            let Some((bytes, column)) = next else { break };
            chosen += bytes;
            each.push(column);
        }
        let rest = columns.into_iter().map(|(_, column)| column).collect();
        Choice { each, rest, fraction: chosen as f64 / u64::max(total, 1) as f64 }
    }

    fn is_whole(&self, entry: u64) -> bool {
        self.prescale > 0 && (entry + 1).is_multiple_of(self.prescale)
    }

    /// Opens a tree and reads.
    ///
    /// # Errors
    /// `InvalidArgument` for a fraction that is none, and those of opening and reading.
    pub async fn run(&self, engine: &Engine, address: &str, path: Option<&str>) -> Result<Outcome> {
        self.check()?;
        let begun = Begun::now(engine.trace());
        let tree = engine.open_tree(address, path).await?;
        let choice = self.choose(&tree);
        let events = self.events.min(tree.num_entries());
        let content_bytes = match self.form {
            Form::Columns => self.read_columns(&tree, &choice, events).await?,
            Form::Events(learning) => self.read_events(&tree, &choice, events, learning).await?,
        };
        Ok(begun.outcome(self, &tree, &choice, events, content_bytes))
    }

    fn check(&self) -> Result<()> {
        if self.fraction > 0.0 && self.fraction <= 1.0 {
            return Ok(());
        }
        let why = format!("{} is no fraction: it is above 0 and at most 1", self.fraction);
        Err(Error::new(ErrorKind::InvalidArgument, why))
    }

    async fn read_events(
        &self,
        tree: &Tree,
        choice: &Choice,
        events: u64,
        learning: Learning,
    ) -> Result<u64> {
        let mut reader = tree.events_with(0..events, learning);
        let mut bytes = 0;
        while let Some(mut event) = reader.next() {
            let rest = if self.is_whole(event.entry()) { &choice.rest[..] } else { &[] };
            for column in choice.each.iter().chain(rest) {
                let value = event.get(column.branch).await?;
                bytes += content(&value.to_array());
            }
        }
        Ok(bytes)
    }

    /// The branches of each event in batches, and beside them the others where an event is read
    /// whole.
    async fn read_columns(&self, tree: &Tree, choice: &Choice, events: u64) -> Result<u64> {
        let plan = tree.plan(&choice.each, 0..events, Step::Bytes(BATCH_BYTES))?;
        let first = plan.batches.first().map_or(0..1, |batch| batch.entries.clone());
        let step = Step::Entries((first.end - first.start).max(1));
        let mut each = tree.batches(choice.each.clone(), 0..events, step)?;
        let exercise = self.clone();
        let whole = move |batch: Batch| -> Result<Vec<bool>> {
            Ok(batch.entries.map(|entry| exercise.is_whole(entry)).collect())
        };
        let cut = Cut { columns: Vec::new(), predicate: Arc::new(whole) };
        let mut rest = match self.prescale > 0 && !choice.rest.is_empty() {
            true => Some(tree.batches_where(choice.rest.clone(), &cut, 0..events, step)?),
            false => None,
        };
        let mut bytes = 0;
        while let Some(batch) = each.next().await {
            bytes += of_batch(&batch?);
            if let Some(rest) = &mut rest
                && let Some(batch) = rest.next().await
            {
                bytes += of_batch(&batch?);
            }
        }
        Ok(bytes)
    }
}

/// Bytes of a branch's baskets in the file.
fn stored(tree: &Tree, column: &Column) -> u64 {
    let baskets = &tree.metadata().branches[column.branch.0 as usize].baskets;
    let bytes = baskets.iter().map(|basket| match &basket.place {
        BasketPlace::Stored(range) => range.end - range.start,
        BasketPlace::Embedded(bytes) => bytes.len() as u64,
    });
    bytes.sum()
}

fn of_batch(batch: &Batch) -> u64 {
    batch.columns.iter().map(|(_, array)| content(array)).sum()
}

/// Bytes of numbers and texts, without what says where entries begin.
fn content(array: &Array) -> u64 {
    match array {
        Array::Numbers { numbers, .. } => numbers.nbytes() as u64,
        Array::List { content: below, .. }
        | Array::Regular { content: below, .. }
        | Array::Option { content: below, .. }
        | Array::Marked { content: below, .. } => content(below),
        Array::Union { contents, .. } => contents.iter().map(content).sum(),
        Array::Strings { bytes, .. } => bytes.len() as u64,
        Array::Record { fields, .. } => fields.iter().map(|(_, field)| content(field)).sum(),
    }
}

/// The moment at which an exercise begins.
struct Begun {
    trace: Trace,
    wall_s: f64,
    cpu_s: f64,
}

impl Begun {
    fn now(trace: &Trace) -> Self {
        let wall_s = trace.now().as_secs_f64();
        Begun { trace: trace.clone(), wall_s, cpu_s: clock::cpu_time().as_secs_f64() }
    }

    fn outcome(
        self,
        exercise: &Exercise,
        tree: &Tree,
        choice: &Choice,
        events: u64,
        content_bytes: u64,
    ) -> Outcome {
        Outcome {
            events,
            events_whole: (0..events).filter(|entry| exercise.is_whole(*entry)).count() as u64,
            branches_each: choice.each.len(),
            branches: choice.each.len() + choice.rest.len(),
            fraction: choice.fraction,
            content_bytes,
            wall_s: self.trace.now().as_secs_f64() - self.wall_s,
            cpu_s: clock::cpu_time().as_secs_f64() - self.cpu_s,
            report: tree.file().report(),
        }
    }
}
