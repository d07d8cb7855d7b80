//! Entries selected for others: the server's side of `read/near`, and histograms.
//!
//! A request is read by the same scan as any other read, with the same names, formulas and steps;
//! what is here turns its batches into an answer.

mod asked;
mod bounds;
mod filling;
mod histogram;
mod plan;
mod stream;
mod turn;

use self::bounds::too_long;
use crate::Engine;
use crate::read::near::request::{Operation, SelectRequest};
use remote::near::FileMetadata;
use remote::{Error, ErrorKind, Result};

pub use asked::HistogramRequest;
pub use bounds::{SelectBounds, SelectTotals};
pub use histogram::Histogram;
pub use stream::{AnswerForm, SelectedStream};

/// An answer.
pub enum Selected {
    /// The columns.
    Stream(Box<SelectedStream>),
    /// JSON, and its cost.
    Text(String, SelectTotals),
}

impl Engine {
    /// Answers a request, in a form that suits the client's protocol. The server gives the address
    /// of each file, by whatever rules it has.
    ///
    /// # Errors
    /// `InvalidArgument`, `NotInFile` and `Unsupported` for a request that cannot be answered;
    /// `LimitReached`; those of reading.
    pub async fn selected(
        &self,
        request: &SelectRequest,
        addresses: Vec<String>,
        bounds: SelectBounds,
        form: AnswerForm,
    ) -> Result<Selected> {
        let started = tokio::time::Instant::now();
        let answered = async {
            let plan = plan::planned(self, request, addresses, bounds).await?;
            match request.operation {
                Operation::Arrays => {
                    let stream = SelectedStream::start(self, plan, bounds, form, started).await?;
                    Ok(Selected::Stream(Box::new(stream)))
                }
                Operation::Count => {
                    let (text, totals) = plan::counted(self, plan, bounds, started).await?;
                    Ok(Selected::Text(text, totals))
                }
                Operation::Histogram => {
                    let batches = self.scan(plan.tables, plan.scan);
                    let batches = turn::StepsInTurn::new(self, batches, bounds.step_time);
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

    /// The metadata of a file, for a client that is about to open it.
    ///
    /// # Errors
    /// Those of opening it.
    pub async fn metadata_to_send(&self, address: &str) -> Result<FileMetadata> {
        Ok(self.open(address).await?.metadata_to_send().await)
    }

    /// The types of the columns of a request, as the first message of its answer. No entry is read.
    ///
    /// # Errors
    /// `InvalidArgument` where the answer has no columns; as [`Engine::selected`].
    pub async fn selected_types(
        &self,
        request: &SelectRequest,
        addresses: Vec<String>,
        bounds: SelectBounds,
    ) -> Result<Vec<u8>> {
        if request.operation != Operation::Arrays {
            let message = "counts and histograms have no columns";
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let plan = plan::planned(self, request, addresses, bounds);
        match tokio::time::timeout(bounds.time, plan).await {
            Ok(plan) => stream::types(plan?),
            Err(_) => Err(too_long(bounds)),
        }
    }
}
