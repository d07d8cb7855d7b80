//! The event loop of an analysis without the analysis: some branches of every event, and all of
//! every so many events. (The shape is that of the IOExerciser in Bockelman, "Optimizing
//! high-latency I/O in CMSSW".)

use std::collections::VecDeque;

use rootfile::Array;
use serde::Serialize;

use crate::read::core::columns::{Batch, Column};
use crate::read::core::cut::Cut;
use crate::read::core::lazy::Learning;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::Step;
use crate::read::core::table::{Columns, Table};
use crate::read::tree::Tree;
use crate::read::tree::columns::TreeColumns;
use remote::clock;
use remote::fetch::trace::Trace;
use remote::report::Report;
use remote::{Error, ErrorKind, Result};

use crate::Engine;

/// Decoded bytes of one batch.
const BATCH_BYTES: u64 = 16 << 20;

/// The columns and events to read.
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
    /// Event by event, without naming the columns beforehand.
    Events(Learning),
}

/// The columns that are read in each event, and the others.
#[derive(Clone)]
pub struct Choice {
    pub each: Box<dyn Columns>,
    pub rest: Box<dyn Columns>,
    /// The part of the stored bytes that is in `each`.
    pub fraction: f64,
}

/// Result of an exercise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    pub events: u64,
    /// Of these, read whole.
    pub events_whole: u64,
    /// Columns that are read in each event, and all that can be read.
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
    /// Chooses columns until they make up the fraction: the smallest, the largest, the next
    /// smallest, and so on, so that both kinds are among them.
    ///
    /// # Errors
    /// Those of planning.
    pub async fn choose(&self, table: &dyn Table) -> Result<Choice> {
        let all = table.select(&ColumnSpec::All)?;
        let footprint = all.footprint(0..u64::MAX).await?;
        let stored: Vec<u64> = footprint.columns.iter().map(|column| column.stored_bytes).collect();
        let total: u64 = stored.iter().sum();
        let enough = total as f64 * self.fraction;
        let mut by_size: Vec<usize> = (0..stored.len()).collect();
        by_size.sort_by_key(|column| stored[*column]);
        let mut by_size = VecDeque::from(by_size);
        let mut each = Vec::new();
        let mut chosen = 0u64;
        while (chosen as f64) < enough {
            let from_below = each.len() % 2 == 0;
            let next = if from_below { by_size.pop_front() } else { by_size.pop_back() };
            let Some(next) = next else { break };
            chosen += stored[next];
            each.push(next);
        }
        let rest: Vec<usize> = by_size.into();
        let fraction = chosen as f64 / u64::max(total, 1) as f64;
        Ok(Choice { each: all.pick(&each), rest: all.pick(&rest), fraction })
    }

    fn is_whole(&self, entry: u64) -> bool {
        self.prescale > 0 && (entry + 1).is_multiple_of(self.prescale)
    }

    /// Opens a tree or RNTuple and reads.
    ///
    /// # Errors
    /// `InvalidArgument` for a fraction that is none, and those of opening and reading.
    pub async fn run(&self, engine: &Engine, address: &str, path: Option<&str>) -> Result<Outcome> {
        self.check()?;
        let begun = Begun::now(engine.trace());
        let table = engine.open_table(address, path).await?;
        let choice = self.choose(&*table).await?;
        let events = self.events.min(table.num_entries());
        let trees = choice.each.downcast_ref::<TreeColumns>();
        let trees = trees.zip(choice.rest.downcast_ref::<TreeColumns>());
        let content_bytes = match (self.form, trees) {
            (Form::Columns, _) => self.read_columns(&choice, events).await?,
            (Form::Events(learning), Some((each, rest))) => {
                let rest = rest.columns();
                self.read_events(each.tree(), each.columns(), rest, events, learning).await?
            }
            (Form::Events(learning), None) => {
                let mut all = choice.each.clone();
                let each = choice.each.names().len();
                for at in 0..choice.rest.names().len() {
                    all.add(&*choice.rest, at)?;
                }
                self.follow_events(&*all, each, events, learning).await?
            }
        };
        Ok(begun.outcome(self, &choice, events, content_bytes))
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
        each: &[Column],
        rest: &[Column],
        events: u64,
        learning: Learning,
    ) -> Result<u64> {
        let mut reader = tree.events_with(0..events, learning);
        let mut bytes = 0;
        while let Some(mut event) = reader.next() {
            let rest = if self.is_whole(event.entry()) { rest } else { &[] };
            for column in each.iter().chain(rest) {
                let value = event.get(column.branch).await?;
                bytes += content(&value.to_array());
            }
        }
        Ok(bytes)
    }

    /// Of the columns, the first `each` are read of each event.
    async fn follow_events(
        &self,
        all: &dyn Columns,
        each: usize,
        events: u64,
        learning: Learning,
    ) -> Result<u64> {
        let columns = all.names().len();
        let reader = all.lazy_batches_with(0..events, Step::Entries(1), learning).await?;
        let mut bytes = 0;
        while let Some(event) = reader.next().await.transpose()? {
            let touched = if self.is_whole(event.start) { columns } else { each };
            for column in 0..touched {
                bytes += content(&reader.get(column, event.clone()).await?);
            }
        }
        Ok(bytes)
    }

    /// The columns of each event in batches, and beside them the others where an event is read
    /// whole.
    async fn read_columns(&self, choice: &Choice, events: u64) -> Result<u64> {
        let step = Step::Entries(choice.each.step_entries(Step::Bytes(BATCH_BYTES)).await?);
        let mut each = choice.each.batches(0..events, step, None).await?;
        let exercise = self.clone();
        let whole = move |batch: Batch| -> Result<Vec<bool>> {
            Ok(batch.entries.map(|entry| exercise.is_whole(entry)).collect())
        };
        let cut = Cut::new(Vec::<String>::new(), whole);
        let mut rest = match self.prescale > 0 && !choice.rest.names().is_empty() {
            true => Some(choice.rest.batches(0..events, step, Some(&cut)).await?),
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

fn of_batch(batch: &Batch) -> u64 {
    batch.columns.iter().map(|(_, array)| content(array)).sum()
}

/// Bytes of numbers and texts, without offsets of entries.
fn content(array: &Array) -> u64 {
    match array {
        Array::Numbers { numbers, .. } => numbers.nbytes() as u64,
        Array::List { content: below, .. }
        | Array::Regular { content: below, .. }
        | Array::Option { content: below, .. }
        | Array::WithParameter { content: below, .. } => content(below),
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
        choice: &Choice,
        events: u64,
        content_bytes: u64,
    ) -> Outcome {
        Outcome {
            events,
            events_whole: (0..events).filter(|entry| exercise.is_whole(*entry)).count() as u64,
            branches_each: choice.each.names().len(),
            branches: choice.each.names().len() + choice.rest.names().len(),
            fraction: choice.fraction,
            content_bytes,
            wall_s: self.trace.now().as_secs_f64() - self.wall_s,
            cpu_s: clock::cpu_time().as_secs_f64() - self.cpu_s,
            report: choice.each.file().report(),
        }
    }
}
