//! Reads of an input: its baskets and pages, in chunks of neighbours, in the order in which they
//! are written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::slice;

use super::plan::{CopiedPart, PlannedInput};
use super::remake::HELD_BYTES;

/// Maximum bytes that are read and written in one go: of a far input, and of a local one.
const CHUNK_BYTES: u64 = 4 << 20;
const CHUNK_BYTES_HERE: u64 = 1 << 20;
/// Bytes between two baskets that are rather read than skipped.
const GAP_BYTES: u64 = 4 << 10;

/// Position of a table among the outputs, and the two numbers of [`CopiedPart::ranges`].
pub type Place = (usize, usize, usize);

/// A basket or a page of an input's file.
pub struct CopiedPiece {
    pub range: Range<u64>,
    pub place: Place,
}

/// Baskets that lie near each other, in the order of their file.
pub struct Chunk {
    pub pieces: Vec<CopiedPiece>,
    /// Its baskets are placed at a cut, and go to the threads in any order before it.
    pub is_taken: bool,
}

/// A task of copying an input.
pub enum Task {
    Copy(Chunk),
    /// New columns: output, branch and basket of each; for the pages of a cluster's, output,
    /// cluster and 0.
    Add(Vec<Place>),
    /// Baskets of an output that are held are made anew, those up to an entry of the input.
    Cut(usize, u64),
    /// The input ends, with baskets that it has in its trees' records.
    End,
}

/// Tasks for all baskets and pages in the order of the file, then for the new columns of trees.
pub fn tasks(input: &PlannedInput) -> Vec<Task> {
    let chunks = chunks(pieces(input), chunk_bytes(input), false);
    let mut tasks = with_new(&input.tables, chunks);
    let added =
        input.tables.iter().map(|(output, part)| Task::Add(part.beside(*output, 0..u64::MAX)));
    tasks.extend(added.chain([Task::End]));
    tasks
}

/// Tasks for chunks, in front of each the new columns of the clusters that begin in it: those of a
/// cluster that waits for all its pages do not wait for the end of the input.
fn with_new(tables: &[(usize, CopiedPart)], chunks: Vec<Chunk>) -> Vec<Task> {
    let of = |(output, part): &(usize, CopiedPart)| {
        let output = *output;
        part.clusters_beside().into_iter().map(move |cluster| (output, cluster, 0))
    };
    let mut left: BTreeSet<Place> = tables.iter().flat_map(of).collect();
    let mut tasks = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let clusters = chunk.pieces.iter().map(|CopiedPiece { place, .. }| (place.0, place.1, 0));
        let new: Vec<Place> = clusters.filter(|cluster| left.remove(cluster)).collect();
        tasks.extend((!new.is_empty()).then_some(Task::Add(new)));
        tasks.push(Task::Copy(chunk));
    }
    tasks.extend((!left.is_empty()).then(|| Task::Add(left.into_iter().collect())));
    tasks
}

/// The baskets and pages of an input.
fn pieces(input: &PlannedInput) -> Vec<CopiedPiece> {
    let tables = input.tables.iter();
    let pieces = tables.flat_map(|(output, part)| {
        let ranges = part.ranges().into_iter();
        ranges.map(|(first, second, range)| CopiedPiece { range, place: (*output, first, second) })
    });
    pieces.collect()
}

/// Tasks table by table, and of a tree the baskets up to a cut before those behind it.
pub fn tasks_in_order(input: &PlannedInput, held: &mut BTreeMap<usize, u64>) -> Vec<Task> {
    let (mut tasks, mut at_end) = (Vec::new(), Vec::new());
    let most = chunk_bytes(input);
    for table in &input.tables {
        let (output, all) = table;
        let mut pieces: Vec<CopiedPiece> = pieces(input);
        pieces.retain(|piece| piece.place.0 == *output);
        if let CopiedPart::Tree(part) = all {
            let mut begin = 0;
            for cut in part.cuts(held.entry(*output).or_default(), HELD_BYTES) {
                let is_before = |piece: &CopiedPiece| {
                    let (_, branch, basket) = piece.place;
                    part.basket(branch, basket).first_entry < cut
                };
                let (before, behind) = pieces.into_iter().partition(is_before);
                pieces = behind;
                tasks.extend(chunks(before, most, true).into_iter().map(Task::Copy));
                tasks.push(Task::Add(all.beside(*output, begin..cut)));
                begin = cut;
                // The input's numbers are added to the tree's record at the input's end.
                let list = if cut < part.entries { &mut tasks } else { &mut at_end };
                list.push(Task::Cut(*output, cut));
            }
            let rest = all.beside(*output, begin..u64::MAX);
            tasks.extend(
                chunks(std::mem::take(&mut pieces), most, true).into_iter().map(Task::Copy),
            );
            tasks.push(Task::Add(rest));
        }
        tasks.extend(with_new(slice::from_ref(table), chunks(pieces, most, false)));
    }
    tasks.push(Task::End);
    tasks.append(&mut at_end);
    tasks
}

fn chunk_bytes(input: &PlannedInput) -> u64 {
    if input.is_local() { CHUNK_BYTES_HERE } else { CHUNK_BYTES }
}

/// Pieces in the order in which they lie in their file, up to so many bytes together.
fn chunks(mut pieces: Vec<CopiedPiece>, most: u64, is_taken: bool) -> Vec<Chunk> {
    pieces.sort_by_key(|piece| piece.range.start);
    let (mut chunks, mut start, mut end): (Vec<Chunk>, u64, u64) = (Vec::new(), 0, 0);
    for piece in pieces {
        let (from, to) = (piece.range.start, piece.range.end);
        let is_near = from >= end && from - end <= GAP_BYTES && to - start <= most;
        match chunks.last_mut().filter(|_| is_near) {
            Some(chunk) => chunk.pieces.push(piece),
            None => {
                start = from;
                chunks.push(Chunk { pieces: vec![piece], is_taken });
            }
        }
        end = to;
    }
    chunks
}

impl CopiedPiece {
    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }
}
