//! Tables of the inputs and of the output, whatever their format.
//!
//! A [`SourceTable`] is a tree or an RNTuple of an input, with the entries that a cut has left and
//! the new columns that a skim has computed. The first one of a name begins a [`CopiedTable`] of
//! the output, to which further inputs add parts. A part stays in the table, by the number of its
//! input, until that input has been copied.

use std::any::Any;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use remote::Result;
use rootfile::Array;
use rootfile::ntuple::AttributeSet;
use rootfile::streamer::StreamerInfo;
use rootfile::write::copy::{
    BlockNumbers, Counts, HeldBasket, JoinedFields, Missing, Remake, Survivors,
};
use rootfile::write::ntuple::LinkedSet;
use rootfile::write::{Coding, Compression, Encoders, TableDestination, WritableObject};

use super::blocks::{ArrivedBlock, CopiedPiece, Section, StoredBlock};
use super::recompressor::{Page, Recompressor};

/// A table of an input.
pub trait SourceTable: Any + Send {
    fn entries(&self) -> u64;

    /// The number of entries up to the end of each cluster.
    fn ends_of_clusters(&self) -> Vec<u64>;

    /// Whether it has neither columns nor entries.
    fn is_nothing(&self) -> bool {
        false
    }

    /// The attribute sets that are linked to it.
    fn attribute_sets(&self) -> &[AttributeSet] {
        &[]
    }

    /// The parts and meanings that a copy loses, if its references to objects (`TRef`) are to
    /// processes whose numbers grow by `processes`.
    fn losses(&self, _processes: u16) -> Vec<String> {
        Vec::new()
    }

    /// Entries that pass the cut; `None` without one.
    fn survivors(&self) -> Option<&Survivors>;

    fn set_survivors(&mut self, survivors: Survivors);

    /// Begins new columns, each of the entries that pass the cut.
    fn begin_columns(&mut self, names: Vec<String>, compression: Compression);

    /// Adds entries of the new columns, one array a column.
    ///
    /// # Errors
    /// `Unsupported` for types that a table of this kind does not hold.
    fn extend_columns(
        &mut self,
        arrays: Vec<Arc<Array>>,
        encoders: &mut Encoders,
    ) -> rootfile::Result<()>;

    /// Ends a cluster of the new columns behind their first `entries` entries. `is_whole` if all
    /// entries of the input's cluster pass the cut.
    fn end_cluster(&mut self, entries: u64, is_whole: bool);

    /// Encodes the last entries of the new columns.
    ///
    /// # Errors
    /// As [`SourceTable::extend_columns`].
    fn end_columns(&mut self, encoders: &mut Encoders) -> rootfile::Result<()>;

    /// The classes of the new columns.
    fn infos_of_columns(&self) -> &[StreamerInfo] {
        &[]
    }

    /// The table of the output that begins with this one.
    ///
    /// # Errors
    /// `Unsupported` where it cannot be copied; `NotInFile` for columns that it has not.
    fn begin(self: Box<Self>, choice: &TableChoice<'_>) -> Result<(Box<dyn CopiedTable>, Added)>;
}

/// The part of a first table that is copied, and how.
pub struct TableChoice<'a> {
    /// The number of the table among the outputs, and that of its input.
    pub output: usize,
    pub input: usize,
    /// Names, paths and globs of columns; all if there are none.
    pub columns: &'a [String],
    pub remake: Option<Remake>,
    /// Whether the table is in the output's file already, and its blocks stay where they are.
    pub is_in_place: bool,
    /// The table for errors: its path and the input's address, without secrets.
    pub path: &'a str,
    pub url: &'a str,
}

/// The size of the part that an input adds to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    pub entries: u64,
    pub stored_bytes: u64,
}

/// Baskets or pages that a thread has made for a table.
pub enum MadeBlocks {
    /// A basket of a branch.
    Basket(usize, HeldBasket),
    /// Pages of the present input.
    Pages(Vec<Page>),
    /// Pages of entries taken for a cluster of the output.
    Joined(usize, JoinedFields),
}

/// The tables of the output, as the threads' results find them.
pub trait PlaceBlocks: Send {
    /// Places blocks that a thread has made for the table of this number.
    ///
    /// # Errors
    /// As [`CopiedTable::place`].
    fn place(&mut self, output: usize, made: MadeBlocks) -> rootfile::Result<()>;

    /// The path of a table, for errors.
    fn path(&self, output: usize) -> &str;
}

/// The clusters that have to be joined before an input ends.
pub struct JoinedClusters {
    /// The cluster that stays open: it may get entries of further inputs.
    pub open: Option<usize>,
}

/// A complete table, and the notes on it.
pub struct FinishedTable {
    pub object: Arc<dyn WritableObject>,
    pub entries: u64,
    pub notes: Vec<String>,
}

/// A table of the output.
pub trait CopiedTable: Send {
    /// Whether it has no columns so far, and the table of an input decides which it gets.
    fn gives_way_to(&self, _source: &dyn SourceTable) -> bool {
        false
    }

    /// Whether its baskets or pages are made anew, and not copied.
    fn is_remade(&self) -> bool;

    /// Plans the part of a further input; `None` if its table is of another kind.
    ///
    /// # Errors
    /// `Unsupported` with the column that does not fit those of the inputs before.
    fn plan(
        &mut self,
        input: usize,
        source: Box<dyn SourceTable>,
        missing: Missing,
    ) -> rootfile::Result<Option<Added>>;

    /// Plans the zeros of columns that an input lacks, once all columns of the output are known.
    ///
    /// # Errors
    /// `Unsupported` with the column that the input must not lack.
    fn complete(&mut self, _input: usize, _missing: Missing) -> rootfile::Result<()> {
        Ok(())
    }

    /// Writes the records that precede all blocks.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    fn write_header(
        &mut self,
        _to: TableDestination<'_>,
        _coding: Coding<'_>,
    ) -> rootfile::Result<()> {
        Ok(())
    }

    /// Every range that is copied of an input.
    fn blocks(&self, input: usize) -> Vec<StoredBlock>;

    /// The blocks of an input in the order in which they are compressed or joined again.
    fn sections(&self, input: usize, held_bytes: &mut u64) -> Vec<Section>;

    /// The blocks of new columns that begin within `entries`, counted in the copied entries of the
    /// input.
    fn new_blocks(&self, _input: usize, _entries: Range<u64>) -> Vec<BlockNumbers> {
        Vec::new()
    }

    /// The clusters of an input with pages of new columns.
    fn new_clusters(&self, _input: usize) -> BTreeSet<usize> {
        BTreeSet::new()
    }

    /// Begins with the next input, whose blocks are now placed in any order.
    fn begin_input(&mut self, input: usize, processes: u16);

    /// Keeps all blocks of the present input, which are in the output's file, where they are.
    fn keep_in_place(&mut self);

    /// Copies neighbours of the present input.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    fn copy(
        &mut self,
        run: &[CopiedPiece],
        stored: Bytes,
        to: TableDestination<'_>,
    ) -> rootfile::Result<()>;

    /// Gives blocks of the present input to the threads. `is_ahead` if they are behind the next
    /// cut.
    ///
    /// # Errors
    /// `Corrupt` for a basket that is not the planned one.
    fn recompress(
        &mut self,
        arrived: Vec<ArrivedBlock>,
        is_ahead: bool,
        recompressor: &mut Recompressor,
    ) -> rootfile::Result<()>;

    /// Writes blocks of new columns, or gives them to the threads.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    fn add_new(
        &mut self,
        blocks: &[BlockNumbers],
        to: TableDestination<'_>,
        recompressor: Option<&mut Recompressor>,
    ) -> rootfile::Result<()>;

    /// Ends a cluster behind so many entries of the present input, where baskets are joined.
    fn cut(&mut self, _entries: u64) {}

    /// The columns of the present input that count items of those which it lacks.
    ///
    /// # Errors
    /// As [`CopiedTable::plan`].
    fn counters(&self) -> rootfile::Result<BTreeSet<String>> {
        Ok(BTreeSet::new())
    }

    /// Begins to fill the columns that the present input lacks.
    ///
    /// # Errors
    /// `Limit` for entries that need too many bytes.
    fn begin_filling(&mut self, _counts: Counts) -> rootfile::Result<()> {
        Ok(())
    }

    /// Makes some of the blocks for these columns; `false` once all are made.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    fn fill_some(
        &mut self,
        _to: TableDestination<'_>,
        _coding: Coding<'_>,
        _recompressor: Option<&mut Recompressor>,
    ) -> rootfile::Result<bool> {
        Ok(false)
    }

    /// Writes the blocks that the present input has in the table's own record.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    fn write_embedded(
        &mut self,
        _to: TableDestination<'_>,
        _coding: Coding<'_>,
        _recompressor: Option<&mut Recompressor>,
    ) -> rootfile::Result<()> {
        Ok(())
    }

    /// The clusters to join before the present input ends; `None` for a table without such.
    fn joined_clusters(&self) -> Option<JoinedClusters> {
        None
    }

    /// Ends the present input, all of whose blocks are placed, and drops its part.
    ///
    /// # Errors
    /// As [`FileWriter::place`]; `Corrupt` for columns that do not fit together.
    fn end_input(&mut self, to: TableDestination<'_>, coding: Coding<'_>) -> rootfile::Result<()>;

    /// Whether a cluster is open that gets no entries of the input `next`, or of none if that is
    /// `None`.
    fn must_end_open(&self, _next: Option<usize>) -> bool {
        false
    }

    /// Ends the open cluster, all of whose pages are placed.
    ///
    /// # Errors
    /// As [`CopiedTable::end_input`].
    fn end_open(&mut self, _to: TableDestination<'_>, _coding: Coding<'_>) -> rootfile::Result<()> {
        Ok(())
    }

    /// Places blocks that a thread has made for this table.
    ///
    /// # Errors
    /// As [`FileWriter::place`].
    fn place(&mut self, made: MadeBlocks, to: TableDestination<'_>) -> rootfile::Result<()>;

    /// Links attribute sets of its entries, which have been written.
    fn link(&mut self, _sets: Vec<LinkedSet>) {}

    /// Writes the complete table as an attribute set, which no directory lists.
    ///
    /// # Errors
    /// As [`CopiedTable::finish`]; `Unsupported` for a tree.
    fn finish_set(
        self: Box<Self>,
        _name: &str,
        _schema_version: [u16; 2],
        _to: TableDestination<'_>,
        _coding: Coding<'_>,
    ) -> rootfile::Result<LinkedSet> {
        Err(rootfile::Error::unsupported("an attribute set that is a tree"))
    }

    /// The complete table, after all inputs.
    ///
    /// # Errors
    /// `Limit` and `Unsupported` where the output's format cannot say it.
    fn finish(
        self: Box<Self>,
        to: TableDestination<'_>,
        coding: Coding<'_>,
    ) -> rootfile::Result<FinishedTable>;
}

/// The error for blocks that were made for a table of another kind.
pub fn made_for_another() -> rootfile::Error {
    rootfile::Error::corrupt("blocks that were made for a table of another kind")
}
