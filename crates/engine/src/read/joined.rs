//! Columns of a tree and of its friends, entry by entry.
//!
//! Each tree is read by a pipeline of its own, in the same steps; they are served side by side, since
//! what is wanted is ordered by its entry. A friend with an index is read where the numbers of
//! the tree's entries say so, one step behind them.

use std::collections::BTreeSet;
use std::ops::Range;

use rootfile::Array;
use rootfile::tree::TreeIndex;
use tokio::sync::oneshot;

use super::batches::{Batches, Maker, Parcel};
use super::columns::{Batch, Column};
use super::cut::{self, Cut};
use super::formula::Expression;
use super::friends::{Alignment, Friend};
use super::plan::{self, Step};
use super::tree::{Rank, Tree};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ledger::Phase;

/// Columns of a tree and of friends. Cheap to clone.
#[derive(Clone)]
pub struct Joined {
    /// The tree itself, and then those of its friends that something is read of.
    parts: Vec<Part>,
    /// What is read: which of a part.
    columns: Vec<JoinedColumn>,
}

#[derive(Clone)]
struct Part {
    friend: Friend,
    alignment: Alignment,
}

/// A column of the tree itself, or of a friend.
#[derive(Debug, Clone)]
pub struct JoinedColumn {
    /// As the user gets it: the branch's path, with `friend.` before it.
    pub name: String,
    part: usize,
    column: Column,
}

/// What is read of one part.
struct Reading {
    alignment: Alignment,
    friend: Friend,
    columns: Vec<Column>,
    /// `None` where entries are looked up.
    batches: Option<Batches>,
}

/// A read that has begun.
struct Run {
    readings: Vec<Reading>,
    /// Which column of which reading, for those that are handed out and for those that decide.
    shown: Vec<(String, usize, usize)>,
    deciding: Vec<(usize, usize)>,
    cut: Option<Cut>,
    /// First entries of the batches and, last, the end.
    starts: Vec<u64>,
}

impl Joined {
    pub(super) fn new(tree: &Tree) -> Self {
        let own = Friend { name: String::new(), tree: tree.clone() };
        Joined {
            parts: vec![Part { friend: own, alignment: Alignment::Entry }],
            columns: Vec::new(),
        }
    }

    /// The tree itself.
    pub fn tree(&self) -> &Tree {
        &self.parts[0].friend.tree
    }

    pub fn columns(&self) -> &[JoinedColumn] {
        &self.columns
    }

    /// The columns without entries, by name.
    pub(super) fn empty_columns(&self) -> impl Iterator<Item = (String, Array)> {
        self.columns.iter().map(|column| (column.name.clone(), self.empty(column)))
    }

    /// Adds a column of the tree itself. None is left out here because its data cannot be read.
    pub(super) fn add_own(&mut self, column: Column) {
        let column = Column { optional: false, ..column };
        self.columns.push(JoinedColumn { name: column.name.clone(), part: 0, column });
    }

    /// Adds a column of a friend.
    ///
    /// # Errors
    /// Why the friend's index cannot be used.
    pub(super) fn add(&mut self, friend: &Friend, column: Column) -> Result<()> {
        let part = self.part(friend)?;
        let name = format!("{}.{}", friend.name, column.name);
        let column = Column { optional: false, ..column };
        self.columns.push(JoinedColumn { name, part, column });
        Ok(())
    }

    fn part(&mut self, friend: &Friend) -> Result<usize> {
        let known = self.parts.iter().skip(1).position(|part| part.friend.name == friend.name);
        if let Some(known) = known {
            return Ok(known + 1);
        }
        let alignment = Alignment::of(self.tree(), friend)?;
        self.parts.push(Part { friend: friend.clone(), alignment });
        Ok(self.parts.len() - 1)
    }

    /// Has a friend at hand that a cut needs.
    pub(super) fn admit(&mut self, friend: &Friend) -> Result<()> {
        self.part(friend).map(|_| ())
    }

    pub(super) fn pick(&self, positions: &[usize]) -> Joined {
        let columns = positions.iter().map(|at| self.columns[*at].clone()).collect();
        Joined { parts: self.parts.clone(), columns }
    }

    /// Entries of a step.
    pub(super) fn step_entries(&self, step: Step, total: u64) -> u64 {
        let bytes = |column: &JoinedColumn| {
            let tree = self.parts[column.part].friend.tree.metadata();
            plan::decoded_bytes_per_entry(tree, &column.column)
        };
        step.entries(total, || self.columns.iter().map(bytes).sum())
    }

    /// First entries of the steps and, last, the end.
    pub(super) fn starts(&self, entries: &Range<u64>, step: Step) -> Vec<u64> {
        let total = entries.end.saturating_sub(entries.start);
        plan::borders(entries, self.step_entries(step, total), &[])
    }

    /// The first of the steps; `None` where there are none.
    pub(super) fn first_step(&self, entries: Range<u64>, step: Step) -> Option<Range<u64>> {
        let starts = self.starts(&self.there(entries), step);
        starts.first_chunk().map(|[start, end]| *start..*end)
    }

    fn there(&self, entries: Range<u64>) -> Range<u64> {
        let end = entries.end.min(self.tree().num_entries());
        entries.start.min(end)..end
    }

    /// Reads a range of entries (cut to those there are), all at once.
    ///
    /// # Errors
    /// As [`Tree::read_where`], and `InvalidArgument` for entries that a friend does not have.
    pub async fn read(&self, cut: Option<&Cut>, entries: Range<u64>) -> Result<Batch> {
        let entries = self.there(entries);
        let nothing = Batch::empty(entries.clone(), cut, self.empty_columns());
        let mut batches = self.start(cut, entries, Step::Whole, Rank::FIRST)?;
        batches.next().await.unwrap_or(Ok(nothing))
    }

    fn empty(&self, column: &JoinedColumn) -> Array {
        self.parts[column.part].alignment.empty(&column.column)
    }

    /// Starts reading in steps.
    ///
    /// # Errors
    /// As [`Joined::read`].
    pub(super) fn start(
        &self,
        cut: Option<&Cut>,
        entries: Range<u64>,
        step: Step,
        rank: Rank,
    ) -> Result<Batches> {
        let entries = self.there(entries);
        let starts = self.starts(&entries, step);
        let step = Step::Entries(self.step_entries(step, entries.end - entries.start));
        let mut read: Vec<Vec<Column>> = vec![Vec::new(); self.parts.len()];
        let mut place = |part: usize, column: &Column| {
            let known = read[part].iter().position(|other| other.branch == column.branch);
            let at = known.unwrap_or(read[part].len());
            if known.is_none() {
                read[part].push(column.clone());
            }
            (part, at)
        };
        let shown = self.columns.iter().map(|column| {
            let (part, at) = place(column.part, &column.column);
            (column.name.clone(), part, at)
        });
        let shown = shown.collect();
        let mut deciding = Vec::new();
        for name in cut.iter().flat_map(|cut| &cut.columns) {
            let (part, column) = self.named(name)?;
            deciding.push(place(part, &column));
        }
        for part in &self.parts {
            for name in part.alignment.columns() {
                place(0, &self.tree().column(self.tree().names().the(name)?)?);
            }
        }
        let parts = self.parts.iter().zip(read);
        let begin = |(part, columns): (&Part, Vec<Column>)| {
            part.begin(columns, &entries, step, rank, self.tree())
        };
        let readings = parts.map(begin).collect::<Result<Vec<Reading>>>()?;
        let run = Run { readings, shown, deciding, cut: cut.cloned(), starts };
        Ok(Batches::start(self.tree().file().remote(), |maker| run.run(maker)))
    }

    /// The column of a name in a cut.
    fn named(&self, name: &str) -> Result<(usize, Column)> {
        for (at, part) in self.parts.iter().enumerate().skip(1) {
            let prefix = name.strip_prefix(&*part.friend.name);
            if let Some(branch) = prefix.and_then(|rest| rest.strip_prefix('.'))
                && self.tree().names().find(name).is_none()
            {
                let tree = &part.friend.tree;
                return Ok((at, tree.column(tree.names().the(branch)?)?));
            }
        }
        Ok((0, self.tree().column(self.tree().names().the(name)?)?))
    }
}

impl Alignment {
    /// Names of the tree's columns that say which entries of the friend are meant.
    fn columns(&self) -> impl Iterator<Item = &String> {
        let both: &[Expression] = match self {
            Alignment::Entry => &[],
            Alignment::Index(_, both) => &both[..],
        };
        both.iter().flat_map(|one| &one.columns)
    }

    fn empty(&self, column: &Column) -> Array {
        let empty = column.interpretation.empty();
        match self {
            Alignment::Entry => empty,
            Alignment::Index(..) => Array::Option { index: Vec::new(), content: Box::new(empty) },
        }
    }
}

impl Part {
    fn begin(
        &self,
        columns: Vec<Column>,
        entries: &Range<u64>,
        step: Step,
        rank: Rank,
        own: &Tree,
    ) -> Result<Reading> {
        let Part { friend, alignment } = self.clone();
        let batches = match &alignment {
            Alignment::Entry if !columns.is_empty() => {
                let there = friend.tree.num_entries();
                if entries.end > there {
                    let what = format!(
                        "the friend \"{}\" has {there} entries, {} has {}",
                        friend.name,
                        own.path(),
                        own.num_entries()
                    );
                    return Err(Error::new(ErrorKind::InvalidArgument, what)
                        .with_url(friend.tree.file().url())
                        .with_advice("entry_stop leaves out those that it lacks"));
                }
                Some(friend.tree.start(columns.clone(), None, entries.clone(), step, rank)?)
            }
            _ => None,
        };
        Ok(Reading { alignment, friend, columns, batches })
    }
}

impl Run {
    async fn run(self, maker: Maker) -> Result<()> {
        let closed = maker.sender.clone();
        tokio::select! {
            done = self.hand_out(maker) => done,
            () = closed.closed() => Ok(()),
        }
    }

    async fn hand_out(mut self, mut maker: Maker) -> Result<()> {
        let starts = std::mem::take(&mut self.starts);
        for pair in starts.windows(2) {
            let Ok(slot) = maker.sender.clone().reserve_owned().await else { return Ok(()) };
            maker.tell(Phase::Bytes);
            let entries = pair[0]..pair[1];
            let read = self.columns_of(&entries).await?;
            let parcel = self.batch(entries, read, &maker).await?;
            slot.send(Ok(parcel));
        }
        Ok(())
    }

    /// The columns of each part for some entries.
    async fn columns_of(&mut self, entries: &Range<u64>) -> Result<Vec<Vec<Array>>> {
        let mut read: Vec<Vec<Array>> = Vec::with_capacity(self.readings.len());
        for reading in &mut self.readings {
            let mut columns = Vec::new();
            if let Some(batches) = &mut reading.batches {
                let batch = batches.next_unreported().await.transpose()?;
                let batch = batch.filter(|batch| batch.entries == *entries).ok_or_else(|| {
                    let what =
                        format!("{} ends before entry {}", reading.friend.tree.path(), entries.end);
                    Error::new(ErrorKind::Corrupt, what).with_url(reading.friend.tree.file().url())
                })?;
                columns = batch.columns.into_iter().map(|(_, array)| array).collect();
            }
            read.push(columns);
        }
        for at in 1..self.readings.len() {
            let reading = &self.readings[at];
            if let Alignment::Index(index, both) = &reading.alignment {
                let own = self.readings[0].columns.iter().zip(&read[0]);
                let own: Vec<_> = own.collect();
                let wanted = looked_up(index, both, &own, entries)?;
                read[at] = reading.looked_up(&wanted).await?;
            }
        }
        Ok(read)
    }

    async fn batch(
        &self,
        entries: Range<u64>,
        read: Vec<Vec<Array>>,
        maker: &Maker,
    ) -> Result<Parcel> {
        let survivors = match &self.cut {
            None => None,
            Some(cut) => {
                let named = cut.columns.iter().zip(&self.deciding);
                let columns =
                    named.map(|(name, (part, at))| (name.clone(), read[*part][*at].clone()));
                let deciding = Batch {
                    entries: entries.clone(),
                    survivors: None,
                    columns: columns.collect(),
                    left_out: Vec::new(),
                };
                Some(cut::survivors(&entries, &self.mask(cut, deciding).await?)?)
            }
        };
        let local = |run: &Range<u64>| {
            (run.start - entries.start) as usize..(run.end - entries.start) as usize
        };
        let runs: Option<Vec<Range<usize>>> =
            survivors.as_ref().map(|runs| runs.iter().map(local).collect());
        let column = |(name, part, at): &(String, usize, usize)| {
            let array = &read[*part][*at];
            let array = match &runs {
                Some(runs) => array.gather(runs),
                None => array.clone(),
            };
            (name.clone(), array)
        };
        let columns = self.shown.iter().map(column).collect();
        Ok(maker.parcel(Batch { entries, survivors, columns, left_out: Vec::new() }))
    }

    /// What the predicate says, on a decoding thread.
    async fn mask(&self, cut: &Cut, batch: Batch) -> Result<Vec<bool>> {
        let (said, mask) = oneshot::channel();
        let predicate = cut.predicate.clone();
        let file = self.readings[0].friend.tree.file();
        file.decoders().run(file.remote().tag(), move |_| {
            // Who does not wait any more has been dropped.
            let _ = said.send(predicate.decide(batch));
        });
        let gone = || Error::new(ErrorKind::Cancelled, "the cut has gone without an answer");
        mask.await.map_err(|_| gone())?
    }
}

/// The entry of an index for each of some entries.
fn looked_up(
    index: &TreeIndex,
    both: &[Expression; 2],
    own: &[(&Column, &Array)],
    entries: &Range<u64>,
) -> Result<Vec<Option<u64>>> {
    let count = (entries.end - entries.start) as usize;
    let numbers = |expression: &Expression| {
        let column = |name: &String| {
            let found = own.iter().find(|(column, _)| is_called(column, name));
            let (_, array) = found.ok_or_else(|| {
                Error::new(
                    ErrorKind::NotInFile,
                    format!("no column {name} to look entries up with"),
                )
            })?;
            Ok((name.clone(), (*array).clone()))
        };
        let columns = expression.columns.iter().map(column).collect::<Result<_>>()?;
        let left_out = Vec::new();
        let batch = Batch { entries: entries.clone(), survivors: None, columns, left_out };
        expression.integers(&batch, count)
    };
    let (major, minor) = (numbers(&both[0])?, numbers(&both[1])?);
    Ok(major.into_iter().zip(minor).map(|(major, minor)| index.entry(major, minor)).collect())
}

/// Whether a name means a column: by its path, or by the last part of that.
fn is_called(column: &Column, name: &str) -> bool {
    column.name == name || column.name.rsplit('/').next() == Some(name)
}

impl Reading {
    /// The columns for these entries of the friend, missing where there is none.
    async fn looked_up(&self, wanted: &[Option<u64>]) -> Result<Vec<Array>> {
        let tree = &self.friend.tree;
        let entries: BTreeSet<u64> = wanted.iter().flatten().copied().collect();
        if let Some(last) = entries.last().filter(|last| **last >= tree.num_entries()) {
            let what = format!("the index of \"{}\" names entry {last}", self.friend.name);
            return Err(Error::new(ErrorKind::Corrupt, what).with_url(tree.file().url()));
        }
        let runs = self.runs(&entries);
        let start = |run: &Range<u64>| {
            tree.start(self.columns.clone(), None, run.clone(), Step::Whole, Rank::FIRST)
        };
        // All are on their way before the first is waited for.
        let begun = runs.iter().map(start).collect::<Result<Vec<Batches>>>()?;
        let mut parts: Vec<Vec<Array>> = vec![Vec::new(); self.columns.len()];
        for mut batches in begun {
            let Some(batch) = batches.next_unreported().await.transpose()? else { continue };
            for (parts, (_, array)) in parts.iter_mut().zip(batch.columns) {
                parts.push(array);
            }
        }
        let index = positions(&runs, wanted);
        let columns = self.columns.iter().zip(parts).map(|(column, parts)| {
            let content = Array::concat(parts)?.unwrap_or_else(|| column.interpretation.empty());
            Ok(Array::Option { index: index.clone(), content: Box::new(content) })
        });
        columns.collect()
    }

    /// Runs of entries that hold all of `entries`, with gaps that spare a basket of each column.
    fn runs(&self, entries: &BTreeSet<u64>) -> Vec<Range<u64>> {
        let branches = &self.friend.tree.metadata().branches;
        let baskets = |column: &Column, entry: u64| {
            plan::baskets_of(&branches[column.branch.0 as usize], &(entry..entry + 1)).start
        };
        let apart = |before: u64, after: u64| {
            self.columns.iter().all(|column| baskets(column, before) != baskets(column, after))
        };
        let mut runs: Vec<Range<u64>> = Vec::new();
        for entry in entries {
            match runs.last_mut() {
                Some(last) if last.end == *entry || !apart(last.end - 1, *entry) => {
                    last.end = entry + 1;
                }
                _ => runs.push(*entry..entry + 1),
            }
        }
        runs
    }
}

/// Where entries are in runs that follow each other; -1 for none.
fn positions(runs: &[Range<u64>], wanted: &[Option<u64>]) -> Vec<i64> {
    let mut before = Vec::with_capacity(runs.len());
    let mut total = 0;
    for run in runs {
        before.push(total);
        total += run.end - run.start;
    }
    let position = |entry: u64| {
        let at = runs.partition_point(|run| run.end <= entry);
        (before[at] + entry - runs[at].start) as i64
    };
    wanted.iter().map(|entry| entry.map_or(-1, position)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_runs() {
        let runs = [3..5, 10..12];
        let wanted = [Some(11), None, Some(3), Some(10), Some(4), Some(11)];
        assert_eq!(positions(&runs, &wanted), [3, -1, 0, 2, 1, 3]);
    }
}
