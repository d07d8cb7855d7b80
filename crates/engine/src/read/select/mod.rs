//! Entries selected for others: the server's side of `read/near`, and histograms.
//!
//! A request is read by the same scan as any other read, with the same names, formulas and steps;
//! what is here turns its batches into an answer.

mod asked;
mod filling;
mod histogram;
mod plan;
mod stream;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use crate::Engine;
use crate::read::near::request::{Operation, SelectRequest};
use remote::{Error, ErrorKind, Result};

pub use asked::HistogramRequest;
pub use histogram::Histogram;
pub use stream::SelectedStream;

/// Limits of an answer.
#[derive(Debug, Clone, Copy)]
pub struct SelectBounds {
    /// Bytes of a stream.
    pub bytes: u64,
    pub time: Duration,
    /// Decoded bytes of a step.
    pub step_bytes: u64,
}

/// The cost of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SelectTotals {
    /// Entries that were looked at.
    pub entries: u64,
    /// Those of them that were left.
    pub selected: u64,
    /// Bytes of the stream.
    pub bytes: u64,
    pub seconds: f64,
}

/// An answer.
pub enum Selected {
    /// The columns.
    Stream(Box<SelectedStream>),
    /// JSON, and its cost.
    Text(String, SelectTotals),
}

impl Engine {
    /// Answers a request. The server gives the address of each file, by whatever rules it has.
    ///
    /// # Errors
    /// `InvalidArgument`, `NotInFile` and `Unsupported` for a request that cannot be answered;
    /// `LimitReached`; those of reading.
    pub async fn selected(
        &self,
        request: &SelectRequest,
        addresses: Vec<String>,
        bounds: SelectBounds,
    ) -> Result<Selected> {
        let started = tokio::time::Instant::now();
        let answered = async {
            let plan = plan::planned(self, request, addresses, bounds).await?;
            match request.operation {
                Operation::Arrays => {
                    let stream = SelectedStream::start(self, plan, bounds, started).await?;
                    Ok(Selected::Stream(Box::new(stream)))
                }
                Operation::Count => plan::counted(self, plan, started).await,
                Operation::Histogram => {
                    let batches = self.scan(plan.tables, plan.scan);
                    let batches = turn::StepsInTurn::new(self, batches);
                    let has_weight = request.weight.is_some();
                    let filled = histogram::filled(batches, &request.axes, has_weight);
                    let (histogram, totals) = filled.await?;
                    let seconds = started.elapsed().as_secs_f64();
                    let totals = SelectTotals { seconds, ..totals };
                    Ok(Selected::Text(histogram.json(totals), totals))
                }
            }
        };
        match tokio::time::timeout(bounds.time, answered).await {
            Ok(answered) => answered,
            Err(_) => Err(too_long(bounds)),
        }
    }
}

fn too_long(bounds: SelectBounds) -> Error {
    let what = format!("the request takes longer than {} s", bounds.time.as_secs());
    Error::new(ErrorKind::LimitReached, what).with_advice("ask for fewer entries at a time")
}

/// A table that is read.
type Table = Arc<dyn crate::read::core::table::Table>;
