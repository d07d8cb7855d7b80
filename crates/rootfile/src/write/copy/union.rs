//! Trees of which not all inputs have all branches: those that an input lacks are filled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::fill::{FilledBasket, Filling};
use super::new_columns::TreeColumns;
use super::plan::TreePart;
use super::record::Edits;
use super::remake::HeldBasket;
use super::source::SourceTree;
use super::tree::{CopiedTree, Missing};
use crate::error::{Error, Result};
use crate::write::basket_key;
use crate::write::compression::Encoders;
use crate::write::table::RecordPlace;

/// Of each entry of an input how many items it has, by the path of the branch that counts them.
pub type Counts = BTreeMap<String, Vec<u64>>;

/// An input that lacks a branch, and the number of items that its entries have.
#[derive(Debug, Clone, Copy)]
pub struct FillInputs<'a> {
    pub part: &'a TreePart,
    pub counts: &'a Counts,
}

impl CopiedTree {
    /// Adds the branches of a further input that those before lack.
    ///
    /// # Errors
    /// `Unsupported` for a part of an object that the inputs before have without it, and for
    /// branches that the inputs before cannot be filled with.
    pub(super) fn add_branches_of(&mut self, other: &Arc<SourceTree>) -> Result<()> {
        let mut added = BTreeSet::new();
        for (at, (path, number)) in other.numbered_paths().enumerate() {
            let branch = &other.tree.branches[at];
            let refused = |error: Error| error.within(path).within(&other.tree.name);
            let in_added = branch.parent.map(|parent| added.contains(&(parent.0 as usize)));
            let is_there = self.places.get(path).is_some_and(|places| number < places.len());
            if in_added.is_some_and(|in_added| in_added == is_there) {
                let message = "a part of an object that the inputs before lack in it";
                return Err(refused(Error::unsupported(message)));
            }
            if is_there {
                continue;
            }
            if self.planned > 0 {
                fillable(other, at).map_err(refused)?;
            }
            added.insert(at);
            self.add_branch(other, at);
        }
        if !added.is_empty() {
            self.add_source(other.clone())?;
        }
        Ok(())
    }

    /// Adds the branches of new columns, unless they were added with an input before.
    ///
    /// # Errors
    /// `Unsupported` where an input has a branch of that name.
    pub fn add_new_columns(&mut self, other: &SourceTree, new_columns: &TreeColumns) -> Result<()> {
        let new = &new_columns.tree;
        let is_there =
            |path: &&String| other.paths.contains(path) || self.sources[0].paths.contains(path);
        if let Some(path) = new.paths.iter().find(is_there) {
            let message = "a new column that is there already: give it another name";
            return Err(Error::unsupported(message).within(path).within(&other.tree.name));
        }
        let added: Vec<usize> =
            (0..new.paths.len()).filter(|at| !self.places.contains_key(&new.paths[*at])).collect();
        for at in &added {
            self.add_branch(new, *at);
            let place = self.branches.len() - 1;
            self.branches[place].is_new = true;
        }
        if !added.is_empty() {
            self.add_source(new.clone())?;
        }
        Ok(())
    }

    /// Whether an input may lack a branch.
    pub(super) fn check_lacking(
        &self,
        at: usize,
        other: &SourceTree,
        missing: Missing,
    ) -> Result<()> {
        if missing != Missing::Union {
            return Err(Error::unsupported("a branch of the first input that this one lacks"));
        }
        let (source, _) = self.branches[at].origin;
        let branch = self.branch(at);
        let parent = branch.parent.map(|id| &self.sources[source].paths[id.0 as usize]);
        if other.tree.entries == 0 {
            return Ok(());
        }
        if parent.is_some_and(|parent| other.paths.contains(parent)) {
            let message = "a part of an object of the inputs before that this one lacks in it";
            return Err(Error::unsupported(message));
        }
        let (source, branch) = self.branches[at].origin;
        fillable(&self.sources[source], branch)
    }

    /// The branches of the present input that count items of those that it lacks: these are filled
    /// with as many zeros.
    ///
    /// # Errors
    /// As [`CopiedTree::plan`].
    pub fn counters(&self, part: &TreePart) -> Result<BTreeSet<String>> {
        let mut all = BTreeSet::new();
        for at in self.lacking(part) {
            all.extend(self.counter(part, at)?);
        }
        Ok(all)
    }

    /// The branches that the present input lacks.
    fn lacking(&self, part: &TreePart) -> Vec<usize> {
        let count = if part.entries > 0 { self.branches.len() } else { 0 };
        (0..count).filter(|at| part.lacks(*at)).collect()
    }

    /// The path of the branch that counts the items of a branch, where the present input has that.
    fn counter(&self, part: &TreePart, at: usize) -> Result<Option<String>> {
        let Filling::Counted { counter, .. } = Filling::of(self.branch(at))? else {
            return Ok(None);
        };
        let (source, _) = self.branches[at].origin;
        let path = &self.sources[source].paths[counter.0 as usize];
        // `fillable` has refused further ones of that path.
        let place = self.places.get(path).and_then(|places| places.first());
        Ok(place.filter(|place| !part.lacks(**place)).map(|_| path.clone()))
    }

    /// The baskets that stand for branches which the present input lacks, in order.
    ///
    /// # Errors
    /// As [`CopiedTree::plan`]; `Limit` for entries that need too many bytes.
    pub fn filled(&mut self, part: &TreePart, counts: &Counts) -> Result<Vec<FilledBasket>> {
        let mut all = Vec::new();
        let mut bytes = 0;
        for branch in self.lacking(part) {
            let (filling, counts) = self.filling(branch, part, counts)?;
            let counted = filling.count_bytes(part.entries, counts, &mut bytes);
            let tree = &self.first().tree.name;
            counted.map_err(|error| error.within(self.path(branch)).within(tree))?;
            let ranges = filling.baskets(&part.clusters, counts);
            all.extend(ranges.into_iter().map(|entries| FilledBasket { branch, entries }));
            self.branches[branch].add_entries(part.entries);
        }
        Ok(all)
    }

    fn filling<'a>(
        &self,
        branch: usize,
        part: &TreePart,
        counts: &'a Counts,
    ) -> Result<(Filling, &'a [u64])> {
        let filling = Filling::of(self.branch(branch))?;
        let counter = self.counter(part, branch)?.and_then(|counter| counts.get(&counter));
        match counter {
            Some(counts) if counts.len() as u64 == part.entries => Ok((filling, counts)),
            Some(_) => Err(Error::corrupt("a counter that does not count all entries")),
            None => Ok((filling.without_items(), &[])),
        }
    }

    /// Makes such a basket, which then goes to [`CopiedTree::push`].
    ///
    /// # Errors
    /// As [`Encoders::compress`].
    pub fn fill(
        &self,
        basket: &FilledBasket,
        inputs: FillInputs<'_>,
        datime: u32,
        encoders: &mut Encoders,
    ) -> Result<HeldBasket> {
        let FillInputs { part, counts } = inputs;
        let FilledBasket { branch: at, entries } = basket.clone();
        let too_many = |_| Error::limit("a basket of more than 4,294,967,295 entries");
        let count = u32::try_from(entries.end - entries.start).map_err(too_many)?;
        let (filling, counts) = self.filling(at, part, counts)?;
        let branch = self.branch(at);
        let first_entry = self.entries_before() + entries.start;
        let place = RecordPlace { offset: 0, directory: 0, datime };
        let head = basket_key::head(&branch.name, &self.first().tree.name, 0, place);
        let compression = self.compression(at);
        let made = filling.record(&head, place, entries, counts, compression, encoders);
        let (record, content_len) = made.map_err(|error| error.within(&branch.name))?;
        let record = record.into();
        Ok(HeldBasket { first_entry, entries: count, record, content_len, taken: None })
    }

    /// Adds the branches that later inputs have to the first one's tree. Their references to other
    /// branches, counters above all, lead to the output's branches of the same path.
    pub(super) fn edit_union(&self, edits: &mut Edits) -> Result<()> {
        let tree = self.records[0].record.root();
        let lists = [tree.pointed("fBranches")?, tree.pointed("fLeaves")?];
        let [Some(branches), Some(leaves)] = lists.map(|list| list.map(|list| (0, list.id))) else {
            return Ok(());
        };
        for (number, source) in self.sources.iter().enumerate().skip(1) {
            for (at, (path, same)) in source.numbered_paths().enumerate() {
                let column = self.records[number].column(at);
                let own = column.objects("fLeaves")?.into_iter().flatten();
                let own = own.map(|leaf| (number, leaf.id));
                let places = self.places.get(path);
                let Some(place) = places.and_then(|places| places.get(same)) else { continue };
                if self.branches[*place].origin == (number, at) {
                    edits.added.entry(leaves).or_default().extend(own);
                    if source.tree.branches[at].parent.is_none() {
                        edits.added.entry(branches).or_default().push((number, column.id));
                    }
                    continue;
                }
                let (record, first) = self.column(*place);
                let theirs = first.objects("fLeaves")?.into_iter().flatten();
                let theirs = theirs.map(|leaf| (record, leaf.id));
                edits.replaced.extend(own.zip(theirs));
                edits.replaced.insert((number, column.id), (record, first.id));
            }
        }
        Ok(())
    }
}

/// Whether entries of a branch that an input lacks can be filled.
///
/// # Errors
/// `Unsupported` where not.
fn fillable(source: &SourceTree, at: usize) -> Result<()> {
    let Filling::Counted { counter, .. } = Filling::of(&source.tree.branches[at])? else {
        return Ok(());
    };
    // An input's counts are read by the path.
    let path = &source.paths[counter.0 as usize];
    match source.paths.iter().position(|first| first == path) {
        Some(first) if first == counter.0 as usize => Ok(()),
        _ => {
            let message = format!("its items are counted by the second of two branches {path}");
            Err(Error::unsupported(message))
        }
    }
}
