//! RNTuples: pages are copied as they are, and taken entries are joined to clusters.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use remote::Result;
use rootfile::Array;
use rootfile::ntuple::AttributeSet;
use rootfile::write::copy::{
    BlockNumbers, CopiedNTuple, KeptEntries, Missing, NTupleColumns, NTupleColumnsWriter,
    NTuplePart, NewColumns, SourceNTuple, Survivors,
};
use rootfile::write::ntuple::LinkedSet;
use rootfile::write::{Coding, Compression, Encoders, TableDestination};

use super::blocks::{ArrivedBlock, CopiedPiece, Section, StoredBlock};
use super::recompressor::{Page, Recompressor};
use super::table::{
    Added, CopiedTable, FinishedTable, JoinedClusters, MadeBlocks, SourceTable, TableChoice,
    made_for_another,
};
use super::taken_entries::ArrivedPage;
use crate::located::Located;

/// An RNTuple of an input.
pub struct NTupleSource {
    ntuple: SourceNTuple,
    survivors: Option<Survivors>,
    writer: Option<NTupleColumnsWriter>,
    new: Option<NTupleColumns>,
}

impl NTupleSource {
    pub fn new(ntuple: SourceNTuple) -> NTupleSource {
        NTupleSource::with(ntuple, None, None)
    }

    /// With the entries to copy of it, and new columns of these.
    pub fn with(
        ntuple: SourceNTuple,
        survivors: Option<Survivors>,
        new: Option<NTupleColumns>,
    ) -> NTupleSource {
        NTupleSource { ntuple, survivors, writer: None, new }
    }
}

impl SourceTable for NTupleSource {
    fn entries(&self) -> u64 {
        self.ntuple.ntuple.entries
    }

    fn ends_of_clusters(&self) -> Vec<u64> {
        self.ntuple.ends_of_clusters().collect()
    }

    fn attribute_sets(&self) -> &[AttributeSet] {
        &self.ntuple.ntuple.attribute_sets
    }

    fn survivors(&self) -> Option<&Survivors> {
        self.survivors.as_ref()
    }

    fn set_survivors(&mut self, survivors: Survivors) {
        self.survivors = Some(survivors);
    }

    fn begin_columns(&mut self, names: Vec<String>, compression: Compression) {
        let tree = self.ntuple.ntuple.schema.name.clone();
        self.writer = Some(NTupleColumnsWriter::new(NewColumns { tree, names, compression }));
    }

    fn extend_columns(
        &mut self,
        arrays: Vec<Arc<Array>>,
        encoders: &mut Encoders,
    ) -> rootfile::Result<()> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.extend(arrays, encoders))
    }

    fn end_cluster(&mut self, entries: u64, is_whole: bool) {
        if let Some(writer) = &mut self.writer {
            writer.end_cluster(entries, is_whole);
        }
    }

    fn end_columns(&mut self, encoders: &mut Encoders) -> rootfile::Result<()> {
        if let Some(writer) = self.writer.take() {
            self.new = writer.finish(encoders)?;
        }
        Ok(())
    }

    fn begin(self: Box<Self>, choice: &TableChoice<'_>) -> Result<(Box<dyn CopiedTable>, Added)> {
        let NTupleSource { ntuple, survivors, new, .. } = *self;
        let taken = KeptEntries { survivors: survivors.as_ref(), new_columns: new.as_ref() };
        let columns = (!choice.columns.is_empty()).then_some(choice.columns);
        let begun = CopiedNTuple::new(ntuple, columns, taken);
        let (mut ntuple, part) =
            begun.map_err(|error| error.within(choice.path).located(choice.url))?;
        let compression = choice.remake.and_then(|remake| remake.compression);
        compression.into_iter().for_each(|to| ntuple.remake(to));
        if choice.is_in_place {
            ntuple.stay_in_place();
        }
        let mut copied = CopiedNTupleTable {
            ntuple,
            is_remade: choice.remake.is_some(),
            parts: BTreeMap::new(),
            output: choice.output,
            input: 0,
        };
        let added = copied.add(choice.input, part);
        Ok((Box::new(copied), added))
    }
}

/// An RNTuple of the output.
struct CopiedNTupleTable {
    ntuple: CopiedNTuple,
    is_remade: bool,
    parts: BTreeMap<usize, Arc<NTuplePart>>,
    /// Its number among the outputs.
    output: usize,
    /// The present input.
    input: usize,
}

impl CopiedNTupleTable {
    fn add(&mut self, input: usize, part: NTuplePart) -> Added {
        let stored_bytes = part.places().map(|(_, _, range)| range.end - range.start).sum();
        let added = Added { entries: part.entries, stored_bytes };
        self.parts.insert(input, Arc::new(part));
        added
    }

    /// The part of the present input.
    fn part(&self) -> rootfile::Result<&Arc<NTuplePart>> {
        let lacking = || rootfile::Error::corrupt("no such input's RNTuple");
        self.parts.get(&self.input).ok_or_else(lacking)
    }

    /// Places pages as one record.
    fn place_pages(
        &mut self,
        pages: Vec<Page>,
        mut to: TableDestination<'_>,
    ) -> rootfile::Result<()> {
        let place = to.place()?;
        let len = pages.iter().map(|page| page.bytes.len()).sum();
        let key = CopiedNTuple::key(place, len)?;
        let mut offset = place.offset + key.len() as u64;
        to.writer.append(key.into());
        for Page { place, bytes, .. } in pages {
            self.ntuple.place(place, offset, bytes.len());
            offset += bytes.len() as u64;
            to.writer.append(bytes.into());
        }
        Ok(())
    }
}

impl CopiedTable for CopiedNTupleTable {
    fn is_remade(&self) -> bool {
        self.is_remade
    }

    fn plan(
        &mut self,
        input: usize,
        source: Box<dyn SourceTable>,
        missing: Missing,
    ) -> rootfile::Result<Option<Added>> {
        let Ok(source) = (source as Box<dyn Any>).downcast::<NTupleSource>() else {
            return Ok(None);
        };
        let NTupleSource { ntuple, survivors, new, .. } = *source;
        let taken = KeptEntries { survivors: survivors.as_ref(), new_columns: new.as_ref() };
        let part = self.ntuple.plan(&ntuple, missing, taken)?;
        Ok(Some(self.add(input, part)))
    }

    fn complete(&mut self, input: usize, missing: Missing) -> rootfile::Result<()> {
        match self.parts.get(&input) {
            Some(part) => self.ntuple.complete(part, missing),
            None => Ok(()),
        }
    }

    fn write_header(
        &mut self,
        to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> rootfile::Result<()> {
        self.ntuple.write_header(to, coding)
    }

    fn blocks(&self, input: usize) -> Vec<StoredBlock> {
        let places = self.parts.get(&input).into_iter().flat_map(|part| part.places());
        let stored = places.filter(|(_, _, range)| range.start < range.end);
        let block = |(cluster, at, range): (usize, usize, &Range<u64>)| StoredBlock {
            numbers: BlockNumbers { owner: cluster, number: at },
            range: range.clone(),
        };
        stored.map(block).collect()
    }

    fn sections(&self, input: usize, _: &mut u64) -> Vec<Section> {
        let blocks = self.blocks(input);
        vec![Section { blocks, is_taken: false, new: None, cut: None, is_last: true }]
    }

    fn new_clusters(&self, input: usize) -> BTreeSet<usize> {
        self.parts.get(&input).into_iter().flat_map(|part| part.new_clusters()).collect()
    }

    fn begin_input(&mut self, input: usize, _: u16) {
        self.input = input;
        if let Some(part) = self.parts.get(&input) {
            self.ntuple.begin(part);
        }
    }

    fn keep_in_place(&mut self) {
        for StoredBlock { numbers, range } in self.blocks(self.input) {
            self.ntuple.place(numbers, range.start, (range.end - range.start) as usize);
        }
    }

    /// The pages become one record.
    fn copy(
        &mut self,
        run: &[CopiedPiece],
        stored: Bytes,
        mut to: TableDestination<'_>,
    ) -> rootfile::Result<()> {
        let place = to.place()?;
        let key = CopiedNTuple::key(place, stored.len())?;
        let mut offset = place.offset + key.len() as u64;
        for piece in run {
            self.ntuple.place(piece.numbers, offset, piece.len() as usize);
            offset += piece.len();
        }
        to.writer.append(key.into());
        to.writer.append(stored);
        Ok(())
    }

    fn recompress(
        &mut self,
        arrived: Vec<ArrivedBlock>,
        _: bool,
        recompressor: &mut Recompressor,
    ) -> rootfile::Result<()> {
        let part = self.part()?;
        let mut pages = Vec::new();
        let mut of_taken = Vec::new();
        for ArrivedBlock { numbers: place, bytes, .. } in arrived {
            match part.group(place.owner) {
                Some(_) => {
                    of_taken.push(ArrivedPage { place, bytes: Bytes::copy_from_slice(&bytes) });
                }
                None => {
                    let content = part.content(place);
                    pages.push(Page { place, bytes: bytes.to_vec(), content });
                }
            }
        }
        if !pages.is_empty() {
            recompressor.compress(self.output, pages);
        }
        if !of_taken.is_empty() {
            recompressor.take(self.output, part, of_taken);
        }
        Ok(())
    }

    /// Pages of a cluster's new columns; threads get them where some of its entries are taken.
    fn add_new(
        &mut self,
        blocks: &[BlockNumbers],
        mut to: TableDestination<'_>,
        mut recompressor: Option<&mut Recompressor>,
    ) -> rootfile::Result<()> {
        for BlockNumbers { owner: cluster, .. } in blocks.iter().copied() {
            let part = self.part()?.clone();
            if let (Some(_), Some(recompressor)) = (part.group(cluster), &mut recompressor) {
                let page = |(at, bytes)| {
                    let place = BlockNumbers { owner: cluster, number: at };
                    ArrivedPage { place, bytes }
                };
                let pages = part.new_pages(cluster).map(page).collect();
                recompressor.take(self.output, &part, pages);
                continue;
            }
            self.ntuple.place_new(&part, cluster, to.again())?;
        }
        Ok(())
    }

    fn joined_clusters(&self) -> Option<JoinedClusters> {
        let part = self.parts.get(&self.input)?;
        Some(JoinedClusters { open: self.ntuple.open_after(part) })
    }

    fn end_input(&mut self, to: TableDestination<'_>, coding: Coding<'_>) -> rootfile::Result<()> {
        let Some(part) = self.parts.remove(&self.input) else { return Ok(()) };
        self.ntuple.end(&part, to, coding)
    }

    fn must_end_open(&self, next: Option<usize>) -> bool {
        match next {
            None => self.ntuple.must_end_open(None),
            Some(next) => {
                let part = self.parts.get(&next);
                part.is_some_and(|part| self.ntuple.must_end_open(Some(part)))
            }
        }
    }

    fn end_open(&mut self, to: TableDestination<'_>, coding: Coding<'_>) -> rootfile::Result<()> {
        self.ntuple.end_open(to, coding)
    }

    fn place(&mut self, made: MadeBlocks, to: TableDestination<'_>) -> rootfile::Result<()> {
        match made {
            MadeBlocks::Pages(pages) => self.place_pages(pages, to),
            MadeBlocks::Joined(group, fields) => self.ntuple.place_joined(group, fields, to),
            MadeBlocks::Basket(..) => Err(made_for_another()),
        }
    }

    fn link(&mut self, sets: Vec<LinkedSet>) {
        self.ntuple.link(sets);
    }

    fn finish_set(
        self: Box<Self>,
        name: &str,
        schema_version: [u16; 2],
        to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> rootfile::Result<LinkedSet> {
        self.ntuple.finish_set(name, schema_version, to, coding)
    }

    fn finish(
        self: Box<Self>,
        to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> rootfile::Result<FinishedTable> {
        let (object, entries) = self.ntuple.finish(to, coding)?;
        Ok(FinishedTable { object, entries, notes: Vec::new() })
    }
}

/// The note on the attribute sets of an RNTuple whose columns are encoded anew; `None` without any.
pub fn without_sets(path: &str, url: &str, sets: &[AttributeSet]) -> Option<String> {
    let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
    let names = names.join(", ");
    let note = || format!("{path} of {url}: its attribute sets ({names}) are left out");
    (!sets.is_empty()).then(note)
}
