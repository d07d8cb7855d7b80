//! The output's side of a copy: arrived blocks go to their tables, or to the threads.

use std::collections::BTreeMap;

use rootfile::write::copy::BlockNumbers;
use rootfile::write::{Coding, Encoders};

use super::blocks::{ArrivedBlock, BlockId, CopiedPiece};
use super::plan::{MergePlan, PlannedInput};
use super::recompressor::Recompressor;
use super::requested::ArrivedPieces;
use crate::read::file::session::Session;

/// Places baskets and pages in the output, or gives them to the threads.
pub struct Target {
    pub encoders: Encoders,
    /// Number of baskets and pages that were copied.
    pub records: u64,
    /// Threads that compress or join baskets and pages, where the output wants that.
    pub recompressor: Option<Recompressor>,
}

impl Target {
    pub fn new(session: &Session, plan: &MergePlan) -> Target {
        let new =
            |how| Recompressor::new(how, plan.options.has_one_table(), session.decoders().clone());
        let recompressor = plan.options.remake().map(new);
        Target { encoders: Encoders::default(), records: 0, recompressor }
    }

    /// Copies baskets and pages; neighbours of one table stay neighbours.
    pub fn copy(&mut self, plan: &mut MergePlan, arrived: &ArrivedPieces) -> rootfile::Result<()> {
        self.records += arrived.pieces.len() as u64;
        if self.recompressor.is_some() {
            return self.recompress(plan, arrived);
        }
        let are_neighbours = |one: &CopiedPiece, next: &CopiedPiece| {
            one.output == next.output && one.range.end == next.range.start
        };
        for run in arrived.pieces.chunk_by(are_neighbours) {
            let start = (run[0].range.start - arrived.start()) as usize;
            let len: u64 = run.iter().map(CopiedPiece::len).sum();
            let stored = arrived.bytes.slice(start..start + len as usize);
            if let Some((table, to)) = plan.table(run[0].output) {
                table.copy(run, stored, to)?;
            }
        }
        Ok(())
    }

    /// Gives baskets and pages to the threads.
    fn recompress(
        &mut self,
        plan: &mut MergePlan,
        arrived: &ArrivedPieces,
    ) -> rootfile::Result<()> {
        let Some(recompressor) = &mut self.recompressor else { return Ok(()) };
        let mut by_output: BTreeMap<usize, Vec<ArrivedBlock>> = BTreeMap::new();
        for piece in &arrived.pieces {
            let start = (piece.range.start - arrived.start()) as usize;
            let bytes = arrived.bytes.slice(start..start + piece.len() as usize);
            let block = ArrivedBlock { numbers: piece.numbers, offset: piece.range.start, bytes };
            by_output.entry(piece.output).or_default().push(block);
        }
        for (output, blocks) in by_output {
            if let Some((table, _)) = plan.table(output) {
                table.recompress(blocks, arrived.is_ahead, recompressor)?;
            }
        }
        Ok(())
    }

    /// Writes baskets and pages of new columns, or gives them to the threads.
    pub fn add(&mut self, plan: &mut MergePlan, blocks: Vec<BlockId>) -> rootfile::Result<()> {
        for run in blocks.chunk_by(|one, next| one.output == next.output) {
            let numbers: Vec<BlockNumbers> = run.iter().map(|block| block.numbers).collect();
            if let Some((table, to)) = plan.table(run[0].output) {
                table.add_new(&numbers, to, self.recompressor.as_mut())?;
            }
        }
        Ok(())
    }

    /// Makes anew the baskets that are held of a tree, up to an entry of the present input.
    pub fn cut(&mut self, plan: &mut MergePlan, output: usize, entry: u64) {
        if let Some(recompressor) = &mut self.recompressor {
            recompressor.cut(output);
        }
        if let Some((table, _)) = plan.table(output) {
            table.cut(entry);
        }
    }

    /// Makes some blocks of columns that the present input lacks; `false` once all are made.
    pub fn fill_some(&mut self, plan: &mut MergePlan, output: usize) -> rootfile::Result<bool> {
        let compression = plan.compression();
        let Some((table, to)) = plan.table(output) else { return Ok(false) };
        let coding = Coding { compression, encoders: &mut self.encoders };
        table.fill_some(to, coding, self.recompressor.as_mut())
    }

    /// Writes the baskets that an input has in the records of its trees.
    pub fn write_embedded(
        &mut self,
        plan: &mut MergePlan,
        input: &PlannedInput,
    ) -> rootfile::Result<()> {
        let compression = plan.compression();
        for output in &input.tables {
            let Some((table, to)) = plan.table(*output) else { continue };
            let coding = Coding { compression, encoders: &mut self.encoders };
            table.write_embedded(to, coding, self.recompressor.as_mut())?;
        }
        Ok(())
    }
}
