//! The steps of a request, each in its client's turn.

use crate::Engine;
use crate::read::file::session::Session;
use crate::read::many::scan::{ScanBatch, ScanBatches};
use remote::Result;

/// Batches of a scan; one is taken when the client may compute.
pub struct StepsInTurn {
    session: Session,
    batches: ScanBatches,
}

impl StepsInTurn {
    pub fn new(engine: &Engine, batches: ScanBatches) -> Self {
        StepsInTurn { session: engine.session().clone(), batches }
    }

    /// The next batch; `None` behind the last. A future that is dropped has taken none.
    pub async fn next(&mut self) -> Option<Result<ScanBatch>> {
        let turn = match self.session.turn().await {
            Ok(turn) => turn,
            Err(error) => return Some(Err(error)),
        };
        let batch = self.batches.next().await;
        drop(turn);
        batch
    }
}
