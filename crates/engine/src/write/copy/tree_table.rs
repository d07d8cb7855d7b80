//! Trees: baskets are copied one by one, or held until there are enough of them.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::vec::IntoIter;

use bytes::{Buf, Bytes, BytesMut};
use remote::Result;
use rootfile::Array;
use rootfile::streamer::StreamerInfo;
use rootfile::write::copy::basket::KeyNumbers;
use rootfile::write::copy::{
    BasketPart, BlockNumbers, CopiedTree, Counts, FillInputs, FilledBasket, HeldBasket,
    KeptEntries, Missing, NewColumns, PlannedBasket, SourceTree, Survivors, TreeColumns,
    TreeColumnsWriter, TreePart, basket, ends_of_clusters,
};
use rootfile::write::{Coding, Compression, Encoders, RecordPlace, TableDestination};

use super::blocks::{ArrivedBlock, CopiedPiece, Section, StoredBlock};
use super::recompressor::{BranchRules, HELD_BYTES, Recompressor, TakenBasket};
use super::table::{
    Added, CopiedTable, FinishedTable, MadeBlocks, SourceTable, TableChoice, made_for_another,
};
use crate::located::Located;
use crate::read::core::select::Names;

/// Bytes of baskets that are made for branches which an input lacks, before they are handed over.
const FILLED_BYTES: usize = 1 << 20;

/// A tree of an input.
pub struct TreeSource {
    tree: Arc<SourceTree>,
    survivors: Option<Survivors>,
    writer: Option<TreeColumnsWriter>,
    new: Option<TreeColumns>,
}

impl TreeSource {
    pub fn new(tree: SourceTree) -> TreeSource {
        TreeSource { tree: Arc::new(tree), survivors: None, writer: None, new: None }
    }

    /// The entries and new columns to copy. New columns without entries are left out: only their
    /// types count, at the end.
    fn taken(&self) -> KeptEntries<'_, TreeColumns> {
        let new_columns = self.new.as_ref().filter(|new| new.tree.tree.entries > 0);
        KeptEntries { survivors: self.survivors.as_ref(), new_columns }
    }
}

impl SourceTable for TreeSource {
    fn entries(&self) -> u64 {
        self.tree.tree.entries
    }

    fn ends_of_clusters(&self) -> Vec<u64> {
        ends_of_clusters(&self.tree.tree)
    }

    fn is_nothing(&self) -> bool {
        self.tree.is_nothing()
    }

    fn losses(&self, processes: u16) -> Vec<String> {
        let text = "of references to objects (TRef) its baskets' keys say whose they are, as after \
                    a fast merge by ROOT; but ROOT 6.40 takes them for the first file's";
        let may_mislead = processes > 0 && self.tree.may_refer();
        may_mislead.then(|| text.to_owned()).into_iter().collect()
    }

    fn survivors(&self) -> Option<&Survivors> {
        self.survivors.as_ref()
    }

    fn set_survivors(&mut self, survivors: Survivors) {
        self.survivors = Some(survivors);
    }

    fn begin_columns(&mut self, names: Vec<String>, compression: Compression) {
        let tree = self.tree.tree.name.clone();
        self.writer = Some(TreeColumnsWriter::new(NewColumns { tree, names, compression }));
    }

    fn extend_columns(
        &mut self,
        arrays: Vec<Arc<Array>>,
        encoders: &mut Encoders,
    ) -> rootfile::Result<()> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.extend(arrays, encoders))
    }

    fn end_cluster(&mut self, entries: u64, _: bool) {
        if let Some(writer) = &mut self.writer {
            writer.end_cluster(entries);
        }
    }

    fn end_columns(&mut self, encoders: &mut Encoders) -> rootfile::Result<()> {
        if let Some(writer) = self.writer.take() {
            self.new = writer.finish(encoders)?;
        }
        Ok(())
    }

    fn infos_of_columns(&self) -> &[StreamerInfo] {
        self.new.as_ref().map_or(&[], |new| &new.infos)
    }

    fn begin(self: Box<Self>, choice: &TableChoice<'_>) -> Result<(Box<dyn CopiedTable>, Added)> {
        let located = |error: rootfile::Error| error.within(choice.path).located(choice.url);
        let mut tree = CopiedTree::new(self.tree.clone()).map_err(located)?;
        choice.remake.iter().for_each(|remake| tree.remake(remake));
        if !choice.columns.is_empty() {
            let branches = Names::new(&tree.first().tree).select(choice.columns)?;
            tree.keep(&branches);
        }
        let mut copied = CopiedTreeTable::new(choice.output, tree);
        let added = copied.add(choice.input, *self, Missing::Filter).map_err(located)?;
        Ok((Box::new(copied), added))
    }
}

/// A tree of the output.
struct CopiedTreeTable {
    /// Its number among the outputs.
    output: usize,
    tree: CopiedTree,
    parts: BTreeMap<usize, TreePart>,
    /// The present input, and the number to add to those of processes in its baskets.
    input: usize,
    processes: u16,
    filling: Option<Filling>,
    /// New columns of an input of which no entry passes the cut: they have types only.
    types: Option<TreeColumns>,
    /// How the baskets of each branch are joined and compressed, once that was looked up.
    rules: BTreeMap<usize, BranchRules>,
}

/// Baskets for the branches that the present input lacks.
struct Filling {
    left: IntoIter<FilledBasket>,
    counts: Counts,
}

impl CopiedTreeTable {
    fn new(output: usize, tree: CopiedTree) -> CopiedTreeTable {
        CopiedTreeTable {
            output,
            tree,
            parts: BTreeMap::new(),
            input: 0,
            processes: 0,
            filling: None,
            types: None,
            rules: BTreeMap::new(),
        }
    }

    fn add(
        &mut self,
        input: usize,
        source: TreeSource,
        missing: Missing,
    ) -> rootfile::Result<Added> {
        let part = self.tree.plan(&source.tree, missing, source.taken())?;
        let stored = part.baskets().filter_map(|(_, _, basket)| stored(&basket.part));
        let stored_bytes = stored.map(|range| range.end - range.start).sum();
        let added = Added { entries: part.entries, stored_bytes };
        self.parts.insert(input, part);
        if self.types.is_none() {
            self.types = source.new.filter(|new| new.tree.tree.entries == 0);
        }
        Ok(added)
    }

    /// The part of the present input.
    fn part(&self) -> rootfile::Result<&TreePart> {
        self.parts.get(&self.input).ok_or_else(|| rootfile::Error::corrupt("no such input's tree"))
    }

    fn rules(&mut self, branch: usize) -> BranchRules {
        let tree = &self.tree;
        *self.rules.entry(branch).or_insert_with(|| BranchRules {
            may_join: tree.may_join(branch),
            compression: tree.compression(branch),
        })
    }

    /// Writes a basket that is in memory, of this number of its branch in the present input.
    fn write(
        &mut self,
        numbers: BlockNumbers,
        mut record: Vec<u8>,
        from: u64,
        processes: u16,
        mut to: TableDestination<'_>,
    ) -> rootfile::Result<()> {
        let place = to.place()?;
        let cycle = self.tree.place(numbers, record.len(), place);
        basket::move_record(&mut record, from, place, KeyNumbers { cycle, processes })?;
        to.writer.append(record.into());
        Ok(())
    }

    /// Places a basket that was in no input as it is.
    fn push(
        &mut self,
        branch: usize,
        made: HeldBasket,
        mut to: TableDestination<'_>,
    ) -> rootfile::Result<()> {
        let place = to.place()?;
        let cycle = self.tree.push(branch, &made, place);
        let mut record = BytesMut::from(made.record);
        basket::move_record(&mut record, 0, place, KeyNumbers { cycle, processes: 0 })?;
        to.writer.append(record.freeze());
        Ok(())
    }
}

impl CopiedTable for CopiedTreeTable {
    fn gives_way_to(&self, source: &dyn SourceTable) -> bool {
        let is_tree = (source as &dyn Any).is::<TreeSource>();
        is_tree && self.tree.is_nothing() && !source.is_nothing()
    }

    fn is_remade(&self) -> bool {
        self.tree.is_remade()
    }

    fn plan(
        &mut self,
        input: usize,
        source: Box<dyn SourceTable>,
        missing: Missing,
    ) -> rootfile::Result<Option<Added>> {
        match (source as Box<dyn Any>).downcast::<TreeSource>() {
            Ok(source) => self.add(input, *source, missing).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn blocks(&self, input: usize) -> Vec<StoredBlock> {
        let baskets = self.parts.get(&input).into_iter().flat_map(TreePart::baskets);
        let block = |(branch, at, one): (usize, usize, &PlannedBasket)| {
            let numbers = BlockNumbers { owner: branch, number: at };
            Some(StoredBlock { numbers, range: stored(&one.part)? })
        };
        baskets.filter_map(block).collect()
    }

    fn sections(&self, input: usize, held_bytes: &mut u64) -> Vec<Section> {
        let Some(part) = self.parts.get(&input) else { return Vec::new() };
        let mut left = self.blocks(input);
        if !self.is_remade() {
            let new = Some(self.new_blocks(input, 0..u64::MAX));
            let is_taken = false;
            return vec![Section { blocks: left, is_taken, new, cut: None, is_last: true }];
        }
        let mut begin = 0;
        let mut sections = Vec::new();
        for cut in part.cuts(held_bytes, HELD_BYTES) {
            let is_before = |StoredBlock { numbers, .. }: &StoredBlock| {
                part.basket(numbers.owner, numbers.number).first_entry < cut
            };
            let (blocks, behind) = left.into_iter().partition(is_before);
            left = behind;
            sections.push(Section {
                blocks,
                is_taken: true,
                new: Some(self.new_blocks(input, begin..cut)),
                cut: Some(cut),
                is_last: cut >= part.entries,
            });
            begin = cut;
        }
        let new = Some(self.new_blocks(input, begin..u64::MAX));
        sections.push(Section { blocks: left, is_taken: true, new, cut: None, is_last: true });
        sections
    }

    fn new_blocks(&self, input: usize, entries: Range<u64>) -> Vec<BlockNumbers> {
        let new = self.parts.get(&input).into_iter().flat_map(TreePart::new_blocks);
        let within = new.filter(|(_, _, basket)| entries.contains(&basket.first_entry));
        within.map(|(branch, at, _)| BlockNumbers { owner: branch, number: at }).collect()
    }

    fn begin_input(&mut self, input: usize, processes: u16) {
        self.input = input;
        self.processes = processes;
        if let Some(part) = self.parts.get(&input) {
            self.tree.begin(part);
        }
    }

    fn keep_in_place(&mut self) {
        for StoredBlock { numbers, range } in self.blocks(self.input) {
            let place = RecordPlace { offset: range.start, directory: 0, datime: 0 };
            self.tree.place(numbers, (range.end - range.start) as usize, place);
        }
    }

    /// The keys of the baskets get new first bytes.
    fn copy(
        &mut self,
        run: &[CopiedPiece],
        mut stored: Bytes,
        mut to: TableDestination<'_>,
    ) -> rootfile::Result<()> {
        let mut place = to.place()?;
        for CopiedPiece { range, numbers, .. } in run {
            let mut record = stored.split_to((range.end - range.start) as usize);
            let cycle = self.tree.place(*numbers, record.len(), place);
            let processes = self.tree.process_shift(numbers.owner, self.processes);
            let head =
                basket::moved_head(&record, range.start, place, KeyNumbers { cycle, processes })?;
            place.offset += record.len() as u64;
            record.advance(head.len());
            to.writer.append(head.into());
            to.writer.append(record);
        }
        Ok(())
    }

    fn recompress(
        &mut self,
        arrived: Vec<ArrivedBlock>,
        is_ahead: bool,
        recompressor: &mut Recompressor,
    ) -> rootfile::Result<()> {
        let mut baskets = Vec::with_capacity(arrived.len());
        for ArrivedBlock { numbers, offset, bytes } in arrived {
            let branch = numbers.owner;
            let planned = self.part()?.basket(branch, numbers.number);
            let entries = planned.entries_behind(self.tree.entries_before());
            let kept = planned.kept.clone();
            let processes = self.tree.process_shift(branch, self.processes);
            let basket = HeldBasket::new(entries, bytes.to_vec(), offset, processes)?;
            baskets.push(TakenBasket { branch, basket, kept, rules: self.rules(branch) });
        }
        recompressor.hold(self.output, baskets, is_ahead);
        Ok(())
    }

    fn add_new(
        &mut self,
        blocks: &[BlockNumbers],
        to: TableDestination<'_>,
        mut recompressor: Option<&mut Recompressor>,
    ) -> rootfile::Result<()> {
        let TableDestination { writer, directory } = to;
        for numbers in blocks.iter().copied() {
            let branch = numbers.owner;
            let planned = self.part()?.basket(branch, numbers.number);
            let BasketPart::New { record, from } = &planned.part else { continue };
            let record = record.to_vec();
            let from = *from;
            match &mut recompressor {
                Some(recompressor) => {
                    let entries = planned.entries_behind(self.tree.entries_before());
                    let basket = HeldBasket::new(entries, record, from, 0)?;
                    let rules = self.rules(branch);
                    let taken = TakenBasket { branch, basket, kept: None, rules };
                    recompressor.hold(self.output, vec![taken], false);
                }
                None => {
                    let to = TableDestination { writer: &mut *writer, directory };
                    self.write(numbers, record, from, 0, to)?;
                }
            }
        }
        Ok(())
    }

    fn cut(&mut self, entries: u64) {
        self.tree.cut(self.tree.entries_before() + entries);
    }

    fn counters(&self) -> rootfile::Result<BTreeSet<String>> {
        // An input before this table has nothing of it: see `gives_way_to`.
        self.parts.get(&self.input).map_or(Ok(BTreeSet::new()), |part| self.tree.counters(part))
    }

    fn begin_filling(&mut self, counts: Counts) -> rootfile::Result<()> {
        let Some(part) = self.parts.get(&self.input) else { return Ok(()) };
        let left = self.tree.filled(part, &counts)?.into_iter();
        self.filling = Some(Filling { left, counts });
        Ok(())
    }

    fn fill_some(
        &mut self,
        to: TableDestination<'_>,
        coding: Coding<'_>,
        mut recompressor: Option<&mut Recompressor>,
    ) -> rootfile::Result<bool> {
        let Some(Filling { mut left, counts }) = self.filling.take() else { return Ok(false) };
        let TableDestination { writer, directory } = to;
        let mut made_bytes = 0;
        while made_bytes < FILLED_BYTES
            && let Some(basket) = left.next()
        {
            let datime = writer.place(directory)?.datime;
            let of = FillInputs { part: self.part()?, counts: &counts };
            let made = self.tree.fill(&basket, of, datime, coding.encoders)?;
            made_bytes += made.record.len();
            match &mut recompressor {
                Some(recompressor) => {
                    let branch = basket.branch;
                    let rules = self.rules(branch);
                    let taken = TakenBasket { branch, basket: made, kept: None, rules };
                    recompressor.hold(self.output, vec![taken], false);
                }
                None => self.push(
                    basket.branch,
                    made,
                    TableDestination { writer: &mut *writer, directory },
                )?,
            }
        }
        let is_over = left.as_slice().is_empty();
        self.filling = (!is_over).then_some(Filling { left, counts });
        Ok(!is_over)
    }

    fn write_embedded(
        &mut self,
        to: TableDestination<'_>,
        coding: Coding<'_>,
        mut recompressor: Option<&mut Recompressor>,
    ) -> rootfile::Result<()> {
        let TableDestination { writer, directory } = to;
        let Some(part) = self.parts.remove(&self.input) else { return Ok(()) };
        for (branch, at, planned) in part.baskets() {
            let BasketPart::Embedded { bytes, entries } = &planned.part else { continue };
            let compression = self.tree.compression(branch);
            let record = basket::embedded_record(bytes, *entries, compression, coding.encoders)?;
            let processes = self.tree.process_shift(branch, self.processes);
            match &mut recompressor {
                Some(recompressor) => {
                    let entries = planned.entries_behind(self.tree.entries_before());
                    let basket = HeldBasket::new(entries, record, 0, processes)?;
                    let rules = self.rules(branch);
                    let kept = planned.kept.clone();
                    let taken = TakenBasket { branch, basket, kept, rules };
                    recompressor.hold(self.output, vec![taken], false);
                }
                None => {
                    self.tree.add_bytes(branch, record.len(), bytes.len());
                    let to = TableDestination { writer: &mut *writer, directory };
                    let numbers = BlockNumbers { owner: branch, number: at };
                    self.write(numbers, record, 0, processes, to)?;
                }
            }
        }
        self.parts.insert(self.input, part);
        Ok(())
    }

    fn end_input(&mut self, _: TableDestination<'_>, _: Coding<'_>) -> rootfile::Result<()> {
        self.parts.remove(&self.input);
        Ok(())
    }

    fn place(&mut self, made: MadeBlocks, to: TableDestination<'_>) -> rootfile::Result<()> {
        match made {
            MadeBlocks::Basket(branch, basket) => self.push(branch, basket, to),
            MadeBlocks::Pages(_) | MadeBlocks::Joined(..) => Err(made_for_another()),
        }
    }

    fn finish(
        mut self: Box<Self>,
        _: TableDestination<'_>,
        _: Coding<'_>,
    ) -> rootfile::Result<FinishedTable> {
        if let Some(types) = &self.types {
            let first = self.tree.first().clone();
            self.tree.add_new_columns(&first, types)?;
        }
        let entries = self.tree.entries();
        let notes = self.tree.left_out();
        Ok(FinishedTable { object: Arc::new(self.tree.finish()?), entries, notes })
    }
}

/// The range of a basket with a record of its own in the input.
fn stored(part: &BasketPart) -> Option<Range<u64>> {
    match part {
        BasketPart::Stored(range) => Some(range.clone()),
        BasketPart::Embedded { .. } | BasketPart::New { .. } => None,
    }
}
