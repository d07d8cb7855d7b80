//! The steps of a request, each in its client's turn.

use std::time::Duration;

use tokio::time::Instant;

use crate::Engine;
use crate::read::file::session::Session;
use crate::read::many::scan::{ScanBatch, ScanBatches};
use remote::{Error, ErrorKind, Result};

/// Batches of a scan; one is taken when the client may compute.
pub struct StepsInTurn {
    session: Session,
    batches: ScanBatches,
    /// Time that further steps may take.
    left: Duration,
    step_time: Duration,
}

impl StepsInTurn {
    /// The steps of a request, which together take at most `step_time`.
    pub fn new(engine: &Engine, batches: ScanBatches, step_time: Duration) -> Self {
        let session = engine.session().clone();
        StepsInTurn { session, batches, left: step_time, step_time }
    }

    /// The next batch; `None` behind the last. A future that is dropped has taken none.
    ///
    /// # Errors
    /// Those of reading; `LimitReached` when the steps have taken too long.
    pub async fn next(&mut self) -> Option<Result<ScanBatch>> {
        let turn = match self.session.turn().await {
            Ok(turn) => turn,
            Err(error) => return Some(Err(error)),
        };
        let mut step = StepTime { began: Instant::now(), left: &mut self.left };
        if step.left.is_zero() {
            return Some(Err(used_up(self.step_time)));
        }
        let batch = tokio::time::timeout(*step.left, self.batches.next()).await;
        step.end();
        drop(turn);
        batch.unwrap_or_else(|_| Some(Err(used_up(self.step_time))))
    }
}

/// The time of a step that is under way. A step whose future is dropped counts, too.
struct StepTime<'a> {
    began: Instant,
    left: &'a mut Duration,
}

impl StepTime<'_> {
    fn end(&mut self) {
        let now = Instant::now();
        *self.left = self.left.saturating_sub(now - self.began);
        self.began = now;
    }
}

impl Drop for StepTime<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

fn used_up(step_time: Duration) -> Error {
    let message = format!("the request needs the server's processors for more than {step_time:?}");
    Error::new(ErrorKind::LimitReached, message).with_advice("ask for fewer entries at a time")
}
