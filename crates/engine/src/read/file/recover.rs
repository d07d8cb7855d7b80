//! Files that were never closed: their objects are found by going from record to record.

use mutex::Mutex;
use rootfile::file::Recovery;
use rootfile::{Known, Progress};

use super::layout_hints::MetadataHints;
use super::{Speculation, progress, supply};
use crate::located::Located;
use remote::Result;
use remote::fetch::RemoteFile;

/// Goes through the whole file, in stretches that grow to megabytes and are forgotten when passed.
pub async fn recover(remote: &RemoteFile, head: &Mutex<Known>) -> Result<rootfile::File> {
    let size = remote.info().size;
    let start = |known: &Known| Recovery::start(known, size);
    let learned = Speculation::Learned(MetadataHints::default());
    let mut recovery = progress(remote, head, &learned, start).await?;
    let wrong = |error: rootfile::Error| error.located(remote.url());
    let known = Mutex::new(head.lock().clone());
    loop {
        let advanced = recovery.advance(&known.lock()).map_err(wrong)?;
        let Progress::NeedsData(needs) = advanced else { break };
        let position = recovery.position();
        known.lock().forget_before(position);
        supply(remote, &known, &needs).await?;
    }
    let file = progress(remote, head, &learned, |known| recovery.finish(known)).await?;
    let found = recovery.found();
    let text = format!(
        "{} was never closed: {found} objects were found in it, as they were last saved; \
         what was written later is lost",
        remote.url()
    );
    remote.trace().note(Some(remote.tag()), text);
    Ok(file)
}
