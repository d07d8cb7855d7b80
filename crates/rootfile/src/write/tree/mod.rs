//! Trees (ROOT: `TTree`; read in [`crate::tree`]).
//!
//! # Branches of a column
//!
//! | a column of | is a branch of | |
//! |---|---|---|
//! | numbers, fixed arrays | `TBranch`, `TLeafF`, … | `x/F`, `x[3][4]/F` |
//! | lists of these | the same, and one of their lengths | `nx/I`, `x[nx]/F` |
//! | texts | `TBranch`, `TLeafC` | `x/C` |
//! | lists of lists, lists of texts | `TBranchElement` | `vector<vector<float> >` |
//! | records | a branch for each member | `x_a`, `x_b` |
//! | lists of records | the same, with one counter | `nx/I`, `x_a[nx]/F`, `x_b[nx]/F` |
//!
//! [`TreeOptions`] has vectors for all lists, `std::string`, and other names.
//!
//! # Where baskets end
//!
//! All branches are flushed together at the end of a **cluster**. Clusters have the same number of
//! entries, which follows from how much the first entries compress: ROOT's caches, the tasks of
//! `RDataFrame` and this crate's reader count on it (`fAutoFlush`). A cluster ends early only where
//! its entries, before compression, would take several times the usual memory; those after it are
//! as long (`fClusterRangeEnd`). Within a cluster, a branch's baskets are neighbours.

mod branch;
mod clusters;
mod content;
mod measure;
mod options;
mod plan;
mod record;
mod trial;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use self::branch::{BasketFacts, EncodeBasket, OpenBranch};
use self::clusters::Clusters;
pub(super) use self::content::EMPTY_VECTOR;
pub use self::options::{ClusterSize, Jagged, TextBranch, TreeOptions};
use self::plan::{PlannedKind, SameCounts, TreePlan};
use self::record::TreeRecord;
use self::trial::{EncodeTrial, TrialFacts};
use self::view::View;
use super::compression::{Compression, Encoders};
use super::rows::Rows;
use super::schema::TableColumn;
use super::table::{Encoded, Finished, RecordPlace, TableWriter, Work};
use crate::array::{Array, Numbers};
use crate::error::{Error, Result};

/// A tree that is being written.
#[derive(Debug)]
pub struct TreeWriter {
    name: String,
    options: TreeOptions,
    rows: Rows,
    branches: Vec<OpenBranch>,
    key_lens: Vec<usize>,
    agreeing: Vec<SameCounts>,
    clusters: Clusters,
    stage: Stage,
    /// Baskets of complete clusters, in the order of the file.
    planned: VecDeque<PlannedBasket>,
    is_closed: bool,
}

/// Whether it is known how long clusters are.
#[derive(Debug)]
enum Stage {
    /// The first entries are awaited.
    Sampling,
    /// They are tried: how many branches have been given out, and how many are back.
    Trying {
        entries: u64,
        given: usize,
        back: usize,
        stored_per_entry: f64,
    },
    Writing,
}

#[derive(Debug)]
struct PlannedBasket {
    branch: usize,
    first: u64,
    entries: u64,
    content_len: usize,
}

impl TreeWriter {
    /// A tree of those columns.
    ///
    /// # Errors
    /// `Unsupported` for types that a tree does not hold, which are those with missing values and
    /// with records in arrays of fixed length, for names that are lacking or there twice, and for
    /// no columns; `Limit` for arrays of huge fixed length.
    pub fn new(columns: Vec<TableColumn>, options: TreeOptions) -> Result<Self> {
        let TreePlan { branches, agreeing, .. } = TreePlan::new(&columns, &options)?;
        let compression = options.tried(options.compression);
        let names: Vec<_> = branches.iter().map(|branch| branch.name.clone()).collect();
        let branches: Vec<_> = branches
            .into_iter()
            .map(|plan| {
                let counter_name = match plan.kind {
                    PlannedKind::Counted { counter, .. } => names[counter].clone(),
                    _ => String::new(),
                };
                OpenBranch::new(plan, counter_name, compression)
            })
            .collect();
        Ok(TreeWriter {
            name: String::new(),
            rows: Rows::new(columns),
            key_lens: Vec::new(),
            clusters: Clusters::new(&options, branches.len()),
            branches,
            agreeing,
            stage: Stage::Sampling,
            planned: VecDeque::new(),
            is_closed: false,
            options,
        })
    }

    /// The names of its branches, in their order.
    pub fn branch_names(&self) -> impl Iterator<Item = &str> {
        self.branches.iter().map(|branch| &*branch.plan.name)
    }

    /// That all lists that one branch counts have the same lengths.
    fn check_counts(&self, columns: &[Arc<Array>]) -> Result<()> {
        for SameCounts { branch, as_branch } in &self.agreeing {
            let one = &self.branches[*branch].plan;
            let other = &self.branches[*as_branch].plan;
            if (one.column, &one.path) == (other.column, &other.path) {
                continue;
            }
            let views = [one, other].map(|plan| View::of(columns.get(plan.column)?, &plan.path));
            let [Some(lists), Some(counts)] = views else { continue };
            if !agree(&lists, &counts) {
                let message = format!("lists of other lengths than \"{}\" counts", other.name);
                return Err(Error::unsupported(message).within(&one.name));
            }
        }
        Ok(())
    }

    /// Work of the trial of the first entries.
    fn poll_trial(&mut self) -> Option<Work> {
        if matches!(self.stage, Stage::Sampling) {
            let entries = self.clusters.sample(&mut self.rows, &self.branches, self.is_closed)?;
            self.stage = match self.clusters.needs_trial(&self.branches) && entries > 0 {
                true => Stage::Trying { entries, given: 0, back: 0, stored_per_entry: 0.0 },
                false => Stage::Writing,
            };
        }
        let Stage::Trying { entries, given, .. } = &mut self.stage else { return None };
        let number = *given;
        let branch = self.branches.get(number)?;
        *given += 1;
        let entries = *entries;
        let (run, content_len) = self.clusters.sample_of(&mut self.rows, &branch.plan, entries);
        let encode = EncodeTrial {
            branch: branch.plan.clone(),
            number,
            run,
            compression: branch.compression,
        };
        Some(Work { content_len, encode: Box::new(encode) })
    }

    /// Takes the result of a trial.
    fn place_trial(&mut self, facts: &TrialFacts) {
        let Stage::Trying { back, stored_per_entry, .. } = &mut self.stage else { return };
        self.branches[facts.number].compression = facts.compression;
        *stored_per_entry += facts.stored_len as f64 / facts.entries.max(1) as f64;
        *back += 1;
        if *back == self.branches.len() {
            self.clusters.decide(*stored_per_entry);
            self.stage = Stage::Writing;
        }
    }

    /// Plans the baskets of the next cluster, if all its entries are there.
    fn plan_cluster(&mut self) -> bool {
        let Some(entries) = self.clusters.next(&mut self.rows, &self.branches, self.is_closed)
        else {
            return false;
        };
        let bytes_max = self.options.basket_bytes.max(1) as u64;
        for (at, branch) in self.branches.iter().enumerate() {
            let run = self.rows.run(branch.plan.column, entries.clone());
            let measure = measure::Measure::new(&branch.plan, &run);
            let count = (entries.end - entries.start) as usize;
            let mut start = 0;
            for end in measure::basket_ends(&measure, count, bytes_max) {
                self.planned.push_back(PlannedBasket {
                    branch: at,
                    first: entries.start + start as u64,
                    entries: (end - start) as u64,
                    content_len: measure.bytes(start..end) as usize,
                });
                start = end;
            }
        }
        true
    }

    fn poll_basket(&mut self) -> Option<Work> {
        if self.planned.is_empty() && !self.plan_cluster() {
            return None;
        }
        let PlannedBasket { branch: number, first, entries, content_len } =
            self.planned.pop_front()?;
        if self.key_lens.is_empty() {
            self.key_lens = self.branches.iter().map(|b| b.key_len(&self.name)).collect();
        }
        let branch = &self.branches[number];
        let encode = EncodeBasket {
            branch: branch.plan.clone(),
            number,
            run: self.rows.run(branch.plan.column, first..first + entries),
            key_len: self.key_lens[number],
            content_len,
            compression: branch.compression,
        };
        if self.planned.is_empty() {
            self.rows.drop_before(self.clusters.start());
        }
        Some(Work { content_len, encode: Box::new(encode) })
    }
}

impl TableWriter for TreeWriter {
    fn named(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    fn set_compression(&mut self, column: Option<usize>, compression: Compression) -> Result<()> {
        if self.rows.end() > 0 {
            return Err(Error::unsupported("another compression after the first entries"));
        }
        let compression = self.options.tried(compression);
        let is_meant = |branch: &&mut OpenBranch| column.is_none_or(|n| branch.plan.column == n);
        let mut is_there = false;
        for branch in self.branches.iter_mut().filter(is_meant) {
            branch.compression = compression;
            is_there = true;
        }
        is_there.then_some(()).ok_or_else(|| Error::unsupported("a column that is not there"))
    }

    fn extend(&mut self, columns: Vec<Arc<Array>>) -> Result<()> {
        if self.is_closed {
            return Err(Error::unsupported("entries for a tree that has been closed"));
        }
        let entries = self.rows.check(&columns)?;
        self.check_counts(&columns)?;
        self.rows.push_checked(columns, entries)
    }

    fn end_cluster(&mut self, entries: u64) {
        self.clusters.end_at(entries);
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    fn poll_work(&mut self) -> Option<Work> {
        if !matches!(self.stage, Stage::Writing) {
            let work = self.poll_trial();
            if work.is_some() || !matches!(self.stage, Stage::Writing) {
                return work;
            }
        }
        self.poll_basket()
    }

    fn waits(&self) -> bool {
        matches!(self.stage, Stage::Trying { .. })
    }

    fn place(&mut self, encoded: Encoded, place: RecordPlace) -> Result<Vec<Bytes>> {
        if let Some(facts) = encoded.facts.downcast_ref::<TrialFacts>() {
            self.place_trial(facts);
            return Ok(Vec::new());
        }
        let Some(BasketFacts { number, content }) = encoded.facts.downcast_ref() else {
            return Err(Error::unsupported("the result of another table's work"));
        };
        let number = *number;
        let content = *content;
        self.branches[number].place(&self.name, encoded, &content, place)
    }

    fn is_even(&self) -> bool {
        let entries = |branch: &OpenBranch| branch.entries;
        self.branches.windows(2).all(|pair| entries(&pair[0]) == entries(&pair[1]))
    }

    fn interim(&mut self, _: RecordPlace, _: &mut Encoders) -> Result<Option<Finished>> {
        let entries = self.branches.first().map_or(0, |branch| branch.entries);
        let (cluster_entries, cluster_ranges) = self.clusters.of_first(entries);
        let record = TreeRecord {
            name: self.name.clone(),
            title: self.options.title.clone(),
            weight: self.options.weight,
            entries,
            cluster_entries,
            cluster_ranges,
            branches: self.branches.clone(),
        };
        Ok(Some(Finished { records: Vec::new(), object: Arc::new(record) }))
    }

    fn finish(&mut self, _place: RecordPlace, _encoders: &mut Encoders) -> Result<Finished> {
        let record = TreeRecord {
            name: self.name.clone(),
            title: self.options.title.clone(),
            weight: self.options.weight,
            entries: self.rows.end(),
            cluster_entries: self.clusters.entries(),
            cluster_ranges: self.clusters.ranges().to_vec(),
            branches: std::mem::take(&mut self.branches),
        };
        Ok(Finished { records: Vec::new(), object: Arc::new(record) })
    }

    fn entries(&self) -> u64 {
        self.rows.end()
    }

    fn held_bytes(&self) -> usize {
        self.rows.held_bytes()
    }
}

/// Whether lists have the lengths that other lists have, or that numbers say.
fn agree(lists: &View<'_>, counts: &View<'_>) -> bool {
    let View::Lists { offsets, .. } = lists else { return true };
    match counts {
        View::Lists { offsets: counts, .. } => offsets == counts,
        View::Numbers { numbers, .. } => {
            let lengths = offsets.windows(2).map(|pair| pair[1] - pair[0]);
            match numbers {
                Numbers::I32(counts) => lengths.eq(counts.iter().map(|count| i64::from(*count))),
                Numbers::U32(counts) => lengths.eq(counts.iter().map(|count| i64::from(*count))),
                _ => false,
            }
        }
        _ => true,
    }
}
