//! The state of each item of a plan.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rootfile::Array;

use super::share::Share;
use crate::read::core::columns::SkippedColumn;
use remote::Error;

/// State of an item, and the others that need it.
#[derive(Default)]
pub struct Slot {
    pub state: State,
    /// Batches that it goes into.
    pub needed_by: Vec<usize>,
    /// Windows with some of its entries about which nothing is decided.
    pub undecided: usize,
    /// Items with the counts that decoding it takes.
    pub counts: Vec<usize>,
    /// Items that this one holds the counts of, as long as these are not decoded.
    pub dependents: Vec<usize>,
}

#[derive(Default)]
pub enum State {
    /// Nothing has been asked for.
    #[default]
    Idle,
    /// On its way.
    Asked(Asked),
    /// Here, and waiting for its counts.
    Parked(Vec<Bytes>, Vec<Share>),
    Decoding,
    Held(Arc<Array>, Option<Share>),
    /// Decoded to where it goes.
    Put(Option<Share>),
    /// Not readable by this version, and of a column that may be left out.
    Refused(Error),
    /// Not readable: an error of each batch that needs it.
    Failed(Error),
    /// Handed out, or not needed after all.
    Gone,
}

impl State {
    /// Whether nothing more comes of it.
    pub fn is_settled(&self) -> bool {
        matches!(self, State::Held(..) | State::Refused(_) | State::Failed(_))
    }
}

/// An item of which some pieces have not come.
pub struct Asked {
    /// The want of each piece.
    pub wants: Vec<usize>,
    /// By piece, empty before it has come.
    pub bytes: Vec<Bytes>,
    /// Pieces that have not come.
    pub absent: usize,
    /// Shares of the memory budget, of those that have.
    pub shares: Vec<Share>,
}

impl Asked {
    /// None of so many pieces has come.
    pub fn of(pieces: usize) -> Self {
        let wants = vec![0; pieces];
        Asked { wants, bytes: vec![Bytes::new(); pieces], absent: pieces, shares: Vec::new() }
    }
}

/// Counts of some entries of the table.
pub type Counts = (Range<u64>, Arc<Array>);

/// The columns that are left out.
#[derive(Default)]
pub struct LeftOutColumns {
    /// `None` before the first batch has decided.
    pub columns: Option<Vec<SkippedColumn>>,
}

impl LeftOutColumns {
    pub fn has(&self, position: usize) -> bool {
        self.columns.iter().flatten().any(|column| column.position == position)
    }

    pub fn all(&self) -> Vec<SkippedColumn> {
        self.columns.clone().unwrap_or_default()
    }
}
