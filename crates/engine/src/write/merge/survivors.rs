//! Which entries of an input a cut leaves: only the columns that decide are read for that.

use remote::Result;
use rootfile::write::copy::Survivors;

use crate::read::core::cut::{self, Cut};
use crate::read::core::request::ColumnSpec;
use crate::read::core::skip::OnError;
use crate::read::core::steps::Step;
use crate::read::file::session::Session;
use crate::read::many::scan::{ScanBatches, ScanRequest, TableLocation};

/// Bytes of columns that are read at a time.
const STEP_BYTES: u64 = 32 << 20;

/// The entries that a cut leaves of a table.
pub async fn of(session: &Session, address: &str, table: &str, cut: &Cut) -> Result<Survivors> {
    let (url, path) = (address.to_owned(), Some(table.to_owned()));
    let place = TableLocation { url, path, ..TableLocation::default() };
    let request = ScanRequest {
        // One that is read anyway, as there is no batch of nothing.
        wanted: ColumnSpec::Requested(cut.columns.iter().take(1).cloned().collect()),
        entries: 0..u64::MAX,
        step: Step::Bytes(STEP_BYTES),
        cut: Some(cut.clone()),
        on_error: OnError::Raise,
    };
    let mut batches = ScanBatches::new(session.clone(), vec![place], request);
    let mut runs = Vec::new();
    while let Some(batch) = batches.next().await {
        let left = batch?.batch.survivors.into_iter().flatten();
        left.for_each(|run| cut::add(&mut runs, run));
    }
    Ok(Survivors::new(runs))
}
