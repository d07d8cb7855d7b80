//! The task that hands bytes to their place, in their order.

use std::sync::Arc;

use remote::{Error, ErrorKind, Result, Upload, Written};

use super::flow::{Flow, Next};
use super::options::WriteOptions;

/// Runs until the file has ended. Of a file that was there before, what is appended is safe before
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
    // Where the last write began, of those that replace something.
    let mut replaced = None;
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
        for write in writes {
            let (from, len) = (flow.now(), write.bytes.len());
            if is_update && write.offset < upload.len() {
                if matches!(replaced, None | Some(0)) {
                    upload.sync().await?;
                }
                replaced = Some(write.offset);
            }
            upload.write(write.offset, write.bytes, write.is_replaced).await?;
            let progress = flow.carried(len, flow.now().saturating_sub(from));
            if let Some(say) = &options.progress {
                say(progress);
            }
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
