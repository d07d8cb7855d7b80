//! Reads of an input: its baskets and pages, in chunks of neighbours, in the order in which they
//! are written.

use std::collections::{BTreeMap, BTreeSet};

use super::blocks::{BlockId, CopiedPiece, Section, StoredBlock};
use super::plan::{MergePlan, PlannedInput};

/// Bytes that are read and written in one go.
const CHUNK_BYTES: u64 = 4 << 20;
const CHUNK_BYTES_HERE: u64 = 1 << 20;
/// Bytes between two baskets that are rather read than skipped.
const GAP_BYTES: u64 = 4 << 10;

/// Baskets that lie near each other, in the order of their file.
pub struct Chunk {
    pub pieces: Vec<CopiedPiece>,
    /// Its baskets are placed at a cut, and go to the threads in any order before it.
    pub is_taken: bool,
}

/// A step of copying an input.
pub enum Task {
    Copy(Chunk),
    /// Blocks of new columns; for the pages of a cluster's, output, cluster and 0.
    Add(Vec<BlockId>),
    /// Baskets of an output that are held are made anew, those up to an entry of the input.
    Cut(usize, u64),
    /// The input ends, with baskets that it has in its trees' records.
    End,
}

/// Tasks for all baskets and pages in the order of the file, then for the new columns of trees.
pub fn tasks(plan: &MergePlan, input: &PlannedInput) -> Vec<Task> {
    let mut pieces = Vec::new();
    let mut clusters = BTreeSet::new();
    let mut added = Vec::new();
    for (output, table) in plan.tables_of(input) {
        pieces.extend(table.blocks(input.number).into_iter().map(|block| piece(output, block)));
        let new = table.new_clusters(input.number);
        clusters.extend(new.into_iter().map(|cluster| BlockId::of_cluster(output, cluster)));
        let new = table.new_blocks(input.number, 0..u64::MAX).into_iter();
        added.push(Task::Add(new.map(|numbers| BlockId { output, numbers }).collect()));
    }
    let mut tasks = with_new(clusters, chunks(pieces, chunk_bytes(input), false));
    tasks.extend(added);
    tasks.push(Task::End);
    tasks
}

fn piece(output: usize, block: StoredBlock) -> CopiedPiece {
    let StoredBlock { numbers, range } = block;
    CopiedPiece { range, output, numbers }
}

/// Tasks for chunks, in front of each the new columns of the clusters that begin in it: those of a
/// cluster that waits for all its pages do not wait for the end of the input.
fn with_new(mut left: BTreeSet<BlockId>, chunks: Vec<Chunk>) -> Vec<Task> {
    let mut tasks = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let clusters =
            chunk.pieces.iter().map(|piece| BlockId::of_cluster(piece.output, piece.numbers.owner));
        let new: Vec<BlockId> = clusters.filter(|cluster| left.remove(cluster)).collect();
        tasks.extend((!new.is_empty()).then_some(Task::Add(new)));
        tasks.push(Task::Copy(chunk));
    }
    tasks.extend((!left.is_empty()).then(|| Task::Add(left.into_iter().collect())));
    tasks
}

/// Table by table, and of a tree the section that is held together before the blocks behind it.
pub fn tasks_in_order(
    plan: &MergePlan,
    input: &PlannedInput,
    held: &mut BTreeMap<usize, u64>,
) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut at_end = Vec::new();
    let most = chunk_bytes(input);
    for (output, table) in plan.tables_of(input) {
        for section in table.sections(input.number, held.entry(output).or_default()) {
            let Section { blocks, is_taken, new, cut, is_last } = section;
            let pieces = blocks.into_iter().map(|block| piece(output, block)).collect();
            let chunks = chunks(pieces, most, is_taken);
            match new {
                Some(new) => {
                    tasks.extend(chunks.into_iter().map(Task::Copy));
                    let new = new.into_iter().map(|numbers| BlockId { output, numbers });
                    tasks.push(Task::Add(new.collect()));
                }
                None => {
                    let clusters = table.new_clusters(input.number).into_iter();
                    let clusters =
                        clusters.map(|cluster| BlockId::of_cluster(output, cluster)).collect();
                    tasks.extend(with_new(clusters, chunks));
                }
            }
            // The baskets in the tree's record come with the end of the input.
            let list = if is_last { &mut at_end } else { &mut tasks };
            list.extend(cut.map(|cut| Task::Cut(output, cut)));
        }
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
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for piece in pieces {
        let from = piece.range.start;
        let to = piece.range.end;
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
