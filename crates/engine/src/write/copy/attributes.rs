//! Attribute sets of RNTuples: tables about ranges of entries, which a copy counts anew.
//!
//! The sets of an input's RNTuple are copied like further tables, with other numbers in the columns
//! of the ranges. Their entries follow those of the inputs before.

use std::ops::Range;
use std::sync::Arc;

use remote::{ErrorKind, Result};
use rootfile::ntuple::AttributeSet;
use rootfile::write::copy::{NTupleColumnsWriter, NewColumns, SourceNTuple, Survivors};
use rootfile::write::{Compression, Encoders};
use rootfile::{Array, Numbers};

use super::ntuple_table::NTupleSource;
use crate::read::file::File;

/// The fields of a set with the first entry and the number of entries of each range.
const RANGE_FIELDS: [&str; 2] = ["_rangeStart", "_rangeLen"];

/// The attribute sets of an RNTuple of an input.
#[derive(Default)]
pub struct SourceSets {
    pub sets: Vec<SourceSet>,
    /// The notes on those that are not copied.
    pub left_out: Vec<String>,
}

/// An attribute set of an input.
pub struct SourceSet {
    pub name: String,
    pub schema_version: [u16; 2],
    ntuple: SourceNTuple,
    /// The entries that each of its entries is about.
    ranges: Vec<Range<u64>>,
}

impl SourceSets {
    /// Reads the metadata and the ranges of the sets of the RNTuple at a path.
    ///
    /// # Errors
    /// Those of reading. A set of a kind that cannot be copied is left out, with a note.
    pub async fn read(file: &File, path: &str, sets: &[AttributeSet]) -> Result<SourceSets> {
        let mut read = SourceSets::default();
        for set in sets {
            match SourceSet::read(file, path, set).await {
                Ok(set) => read.sets.push(set),
                Err(why) if why.kind() == ErrorKind::Unsupported => {
                    let name = &set.name;
                    read.left_out.push(format!("its attribute set {name} is left out: {why}"));
                }
                Err(why) => return Err(why),
            }
        }
        Ok(read)
    }
}

impl SourceSet {
    async fn read(file: &File, path: &str, set: &AttributeSet) -> Result<SourceSet> {
        let opened = file.ntuple(path).await?.attribute_set(&set.name).await?;
        let ranges = opened.ranges().await?;
        let key = file.key(&format!("{path}/{}", set.name)).await?;
        let read = |format: &_, known: &_| SourceNTuple::read(format, known, &key);
        let ntuple = file.reading(read).await?;
        let name = set.name.clone();
        Ok(SourceSet { name, schema_version: opened.schema_version(), ntuple, ranges })
    }

    /// Counts its ranges among the entries of the output: those that `survivors` leaves of the
    /// input's, behind `before` entries of other inputs. Ranges of which no entry is left are left
    /// out.
    pub fn counted(mut self, before: u64, survivors: Option<&Survivors>) -> CountedSet {
        let mut kept = Vec::new();
        let mut ranges = Vec::with_capacity(self.ranges.len());
        for (at, range) in (0..).zip(&self.ranges) {
            let rank = |entry: u64| survivors.map_or(entry, |some| some.rank(entry));
            let counted = rank(range.start)..rank(range.end);
            if counted.is_empty() && !range.is_empty() {
                continue;
            }
            ranges.push(before + counted.start..before + counted.end);
            kept.push(at..at + 1);
        }
        let left_out = self.ranges.len() - ranges.len();
        self.ranges = ranges;
        let survivors = (left_out > 0).then(|| Survivors::new(kept));
        CountedSet { set: self, survivors, left_out }
    }
}

/// An attribute set of an input, as the output gets it.
pub struct CountedSet {
    pub set: SourceSet,
    /// Its entries that are copied; `None` for all.
    survivors: Option<Survivors>,
    /// Entries whose ranges have none of the copied entries.
    pub left_out: usize,
}

impl CountedSet {
    /// The set as a table.
    ///
    /// # Errors
    /// `Unsupported` for ranges that are not numbers of 64 bits.
    pub fn into_table(self, compression: Compression) -> rootfile::Result<NTupleSource> {
        let SourceSet { name, ntuple, ranges, .. } = self.set;
        let names = RANGE_FIELDS.map(String::from).to_vec();
        let replaced = ntuple.number_columns(&names)?;
        let columns = NewColumns { tree: name, names, compression };
        let mut writer = NTupleColumnsWriter::replacing(columns, replaced);
        let mut end_before = 0;
        let mut kept_before = 0;
        for end in ntuple.ends_of_clusters() {
            let kept = self.survivors.as_ref().map_or(end, |some| some.rank(end));
            writer.end_cluster(kept, kept - kept_before == end - end_before);
            end_before = end;
            kept_before = kept;
        }
        let mut encoders = Encoders::default();
        let starts = ranges.iter().map(|range| range.start).collect();
        let lengths = ranges.iter().map(|range| range.end - range.start).collect();
        writer.extend(vec![numbers(starts), numbers(lengths)], &mut encoders)?;
        let new = writer.finish(&mut encoders)?;
        Ok(NTupleSource::with(ntuple, self.survivors, new))
    }
}

fn numbers(numbers: Vec<u64>) -> Arc<Array> {
    Arc::new(Array::Numbers { numbers: Numbers::U64(numbers), shape: Vec::new() })
}
