//! The task that hands bytes to their place, in their order.

use std::sync::Arc;

use remote::{Error, ErrorKind, Result, Upload, Written};

use super::flow::{Flow, Next};
use super::options::WriteOptions;

/// Bytes written between two calls of [`Flow::carried`], which takes a lock: a basket may have only
/// a few hundred bytes.
const TOLD_BYTES: usize = 1 << 20;

/// Runs until the file has ended. Of a file that was there before, appended bytes are synced before
/// the header is replaced, and the header before any directory.
pub async fn carry(flow: Arc<Flow>, upload: Upload, options: WriteOptions, is_update: bool) {
    let ending = Ending(flow);
    let result = run(&ending.0, upload, &options, is_update).await;
    ending.0.end(result);
}

async fn run(
    flow: &Arc<Flow>,
    mut upload: Upload,
    options: &WriteOptions,
    is_update: bool,
) -> Result<Written> {
    let mut order = SyncOrder::new(is_update, options.checkpoint.is_some());
    loop {
        let writes = match flow.next_writes() {
            Next::Write(writes) => writes,
            Next::Wait => {
                flow.to_carry().await;
                continue;
            }
            Next::Finish => return upload.finish().await,
            Next::GiveUp(error) => {
                upload.abandon().await;
                return Err(error);
            }
        };
        let mut from = flow.now();
        let mut len = 0;
        let mut left = writes.len();
        for write in writes {
            len += write.bytes.len();
            left -= 1;
            if order.needs_sync(write.offset, upload.len()) {
                upload.sync().await?;
            }
            upload.write(write.offset, write.bytes, write.is_replaced).await?;
            if len < TOLD_BYTES && left > 0 {
                continue;
            }
            let now = flow.now();
            let progress = flow.carried(std::mem::take(&mut len), now.saturating_sub(from));
            from = now;
            if let Some(say) = &options.progress {
                say(progress);
            }
        }
    }
}

/// The order in which writes have to be synced, for a crash to leave a file that can be read.
pub(super) struct SyncOrder {
    is_update: bool,
    has_checkpoints: bool,
    /// Where the last write began, if it replaced something.
    last: Option<u64>,
}

impl SyncOrder {
    pub fn new(is_update: bool, has_checkpoints: bool) -> SyncOrder {
        SyncOrder { is_update, has_checkpoints, last: None }
    }

    /// Whether all that was written has to be safe before a write at an offset of a file of that
    /// length.
    pub fn needs_sync(&mut self, offset: u64, len: u64) -> bool {
        let replaced = (offset < len).then_some(offset);
        match (std::mem::replace(&mut self.last, replaced), replaced) {
            // New records before the fields that lead to them; the header before directories.
            (None | Some(0), Some(_)) => self.is_update || self.has_checkpoints,
            // The top directory before old records are marked as free.
            (Some(last), Some(offset)) => self.has_checkpoints && offset > last,
            // A checkpoint before the writes that follow it.
            (Some(_), None) => self.has_checkpoints,
            (None, None) => false,
        }
    }
}

/// Says that the file has ended, also where the task ends with its runtime.
struct Ending(Arc<Flow>);

impl Drop for Ending {
    fn drop(&mut self) {
        let error = Error::new(ErrorKind::Cancelled, "the engine that wrote the file has ended");
        self.0.end(Err(error.with_url(self.0.url())));
    }
}
