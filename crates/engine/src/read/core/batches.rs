//! Batches on their way from the task that makes them to the one that takes them.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};

use super::columns::Batch;
use remote::fetch::activity::Activity;
use remote::fetch::ledger::Phase;
use remote::fetch::{Fetcher, LentMemory, RemoteFile};
use remote::{Error, ErrorKind, Result};

/// Batches on their way, in order; after an error nothing more comes. Dropping it ends the read.
#[derive(Debug)]
pub struct Batches {
    receiver: mpsc::Receiver<Result<AccountedBatch>>,
    waiting: Arc<Notify>,
    activity: Activity,
    /// The batch taken last is thought to be in use until the next one is taken: a loop lets go of
    /// the one only when it has the other.
    in_use: Option<LentMemory>,
    steps: Option<usize>,
}

/// A batch, whose bytes lower the budget of prefetching from the moment it is made.
pub(crate) struct AccountedBatch {
    batch: Batch,
    counted: LentMemory,
}

/// The output's end.
pub(crate) struct BatchSender {
    /// Room for one batch: the next one is made when the one before has been taken.
    pub sender: mpsc::Sender<Result<AccountedBatch>>,
    /// Notified when the consumer begins to wait.
    pub waiting: Arc<Notify>,
    activity: Activity,
    recorded: Option<Phase>,
    fetcher: Fetcher,
}

impl Batches {
    /// Runs `make` on the present tokio runtime; its error is handed out last.
    pub(crate) fn start<F>(
        remote: &RemoteFile,
        make: impl FnOnce(BatchSender) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(1);
        let waiting = Arc::new(Notify::new());
        let activity = Activity::begin(remote.trace(), Phase::Bytes, Some(remote.tag()));
        let output = BatchSender {
            sender: sender.clone(),
            waiting: waiting.clone(),
            activity: activity.clone(),
            recorded: None,
            fetcher: remote.fetcher().clone(),
        };
        let made = tokio::spawn(make(output));
        tokio::spawn(async move {
            let error = match made.await {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error,
                Err(end) if end.is_panic() => broken(),
                Err(_) => Error::new(ErrorKind::Cancelled, "the reader was shut down"),
            };
            let _ = sender.send(Err(error)).await;
        });
        Batches { receiver, waiting, activity, in_use: None, steps: None }
    }

    /// The same, of which it is known how many there are in all.
    pub(crate) fn in_steps(self, steps: usize) -> Self {
        Batches { steps: Some(steps), ..self }
    }

    /// How many batches there are in all, those taken included, where that is known beforehand.
    pub fn steps(&self) -> Option<usize> {
        self.steps
    }

    /// The next batch; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<Batch>> {
        let _waiting = self.activity.waiting();
        self.next_unreported().await
    }

    /// As [`Batches::next`], for a part of another read, whose own consumer may not be waiting.
    pub(crate) async fn next_unreported(&mut self) -> Option<Result<Batch>> {
        if self.receiver.is_empty() {
            self.waiting.notify_one();
        }
        let next = self.receiver.recv().await;
        self.in_use = None;
        Some(next?.map(|AccountedBatch { batch, counted }| {
            self.in_use = Some(counted);
            batch
        }))
    }
}

/// Batches that end without a word would pass for all there are.
fn broken() -> Error {
    Error::new(ErrorKind::Io, "reading stopped at a defect of farroot; please report it")
}

impl BatchSender {
    /// A batch that has been made is still to be taken.
    pub fn is_handing_over(&self) -> bool {
        self.sender.capacity() == 0
    }

    /// A batch with its share of the memory budget.
    pub fn accounted(&self, batch: Batch) -> AccountedBatch {
        let counted = self.fetcher.hand_out(batch.nbytes() as u64);
        AccountedBatch { batch, counted }
    }

    /// Hands a batch over when the one before has been taken; false when the consumer is gone.
    pub async fn hand_over(&mut self, batch: Batch) -> bool {
        let Ok(slot) = self.sender.clone().reserve_owned().await else { return false };
        self.waits_for(Phase::Joining);
        slot.send(Ok(self.accounted(batch)));
        true
    }

    /// Records the phase that the consumer waits for, if it does, for the report.
    pub fn waits_for(&mut self, phase: Phase) {
        if self.recorded.replace(phase) != Some(phase) {
            self.activity.enter(phase);
        }
    }
}
