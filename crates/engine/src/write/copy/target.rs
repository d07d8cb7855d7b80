//! The output's side of a copy: arrived blocks go to their tables, or to the threads.

use std::slice::from_ref;

use rootfile::write::copy::BlockNumbers;
use rootfile::write::{Coding, Encoders};

use super::blocks::{ArrivedBlock, BlockId, CopiedPiece};
use super::plan::{MergePlan, PlannedInput};
use super::recompressor::Recompressor;
use super::requested::ArrivedPieces;
use super::table::CopiedTable;
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

    /// Copies baskets and pages, or gives those of a table that is made anew to the threads.
    /// Neighbours of a copied table stay neighbours.
    pub fn copy(&mut self, plan: &mut MergePlan, arrived: &ArrivedPieces) -> rootfile::Result<()> {
        self.records += arrived.pieces.len() as u64;
        for of_table in arrived.pieces.chunk_by(|one, next| one.output == next.output) {
            let Some((table, mut to)) = plan.table(of_table[0].output) else { continue };
            if let Some(recompressor) = of_remade(&mut self.recompressor, table) {
                let block = |piece: &CopiedPiece| ArrivedBlock {
                    numbers: piece.numbers,
                    offset: piece.range.start,
                    bytes: arrived.stored(from_ref(piece)),
                };
                let blocks = of_table.iter().map(block).collect();
                table.recompress(blocks, arrived.is_ahead, recompressor)?;
                continue;
            }
            for run in of_table.chunk_by(|one, next| one.range.end == next.range.start) {
                table.copy(run, arrived.stored(run), to.again())?;
            }
        }
        Ok(())
    }

    /// Writes baskets and pages of new columns, or gives them to the threads.
    pub fn add(&mut self, plan: &mut MergePlan, blocks: Vec<BlockId>) -> rootfile::Result<()> {
        for run in blocks.chunk_by(|one, next| one.output == next.output) {
            let numbers: Vec<BlockNumbers> = run.iter().map(|block| block.numbers).collect();
            if let Some((table, to)) = plan.table(run[0].output) {
                let recompressor = of_remade(&mut self.recompressor, table);
                table.add_new(&numbers, to, recompressor)?;
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
        let recompressor = of_remade(&mut self.recompressor, table);
        table.fill_some(to, coding, recompressor)
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
            let recompressor = of_remade(&mut self.recompressor, table);
            table.write_embedded(to, coding, recompressor)?;
        }
        Ok(())
    }
}

/// The threads, for a table whose baskets or pages are made anew: the others are copied.
fn of_remade<'a>(
    recompressor: &'a mut Option<Recompressor>,
    table: &dyn CopiedTable,
) -> Option<&'a mut Recompressor> {
    recompressor.as_mut().filter(|_| table.is_remade())
}
