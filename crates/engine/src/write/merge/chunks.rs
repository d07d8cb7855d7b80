//! What is read of an input: its baskets and pages, in chunks of neighbours, in the order in which
//! they are written.

use std::collections::BTreeMap;
use std::ops::Range;

use super::plan::{CopiedPart, PlannedInput};
use super::remake::HELD_BYTES;

/// What is read and written in one go.
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

/// What is to be done of an input.
pub enum Task {
    Copy(Chunk),
    /// New columns: output, branch and basket of each.
    Add(Vec<Place>),
    /// Baskets of an output that are held are made anew, those up to an entry of the input.
    Cut(usize, u64),
    /// The input ends, with baskets that it has in its trees' records.
    End,
}

/// Tasks for all baskets and pages in the order of the file, then for the new columns.
pub fn tasks(input: &PlannedInput) -> Vec<Task> {
    let copied = chunks(pieces(input), chunk_bytes(input), false).into_iter().map(Task::Copy);
    let added =
        input.tables.iter().map(|(output, part)| Task::Add(part.beside(*output, 0..u64::MAX)));
    copied.chain(added).chain([Task::End]).collect()
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

/// Table by table, and of a tree what is held together before what follows it.
pub fn tasks_in_order(input: &PlannedInput, held: &mut BTreeMap<usize, u64>) -> Vec<Task> {
    let (mut tasks, mut at_end) = (Vec::new(), Vec::new());
    let most = chunk_bytes(input);
    for (output, all) in &input.tables {
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
                // What the tree's record has of the input comes with its end.
                let list = if cut < part.entries { &mut tasks } else { &mut at_end };
                list.push(Task::Cut(*output, cut));
            }
            let rest = all.beside(*output, begin..u64::MAX);
            tasks.extend(
                chunks(std::mem::take(&mut pieces), most, true).into_iter().map(Task::Copy),
            );
            tasks.push(Task::Add(rest));
        }
        tasks.extend(chunks(pieces, most, false).into_iter().map(Task::Copy));
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
