//! Merges: all of several files as one, without decoding their contents.

use remote::Result;

use super::copy::{
    CopyOptions, InputsToCopy, MergeOptions, MergeProgress, MergeReport, copy_files,
};
use crate::read::file::session::Session;

/// Merges files into a new one; `inputs` are addresses and patterns.
pub(crate) async fn merge(
    session: &Session,
    output: &str,
    inputs: Vec<String>,
    options: MergeOptions,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<MergeReport> {
    let options = CopyOptions::of_merge(options)?;
    let inputs = InputsToCopy { addresses: inputs, first: None };
    copy_files(session, output, inputs, options, progress).await
}

/// Copies a whole file into a new one, with all that it has.
///
/// # Errors
/// `Unsupported` where something of it cannot be copied, or not under its name and cycle.
pub(crate) async fn copy_whole(
    session: &Session,
    output: &str,
    input: &str,
    options: MergeOptions,
) -> Result<MergeReport> {
    let options = CopyOptions { keeps_all: true, ..CopyOptions::of_merge(options)? };
    let inputs = InputsToCopy { addresses: vec![input.to_owned()], first: None };
    copy_files(session, output, inputs, options, &|_| {}).await
}
