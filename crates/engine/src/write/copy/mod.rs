//! Tables and objects of several files in a new one, as stored: for merges and skims.
//!
//! ```text
//! metadata of all inputs -> check, plan -> copy, in the inputs' order -> metadata
//! ```
//!
//! A merge writes nothing before the tables of all inputs are known to fit together; it fetches the
//! baskets of the first inputs meanwhile. A skim copies each input once its metadata are read,
//! while it reads the next ones: so it opens each input once. Baskets are copied as they are
//! stored, in the order in which they lie in each input; neighbours are read and written in one
//! piece.
//!
//! Objects are added up while the inputs are read, as far as they fit into memory once decoded; the
//! remaining objects after all tables have been copied, some of them at a time.
//!
//! A merge may append to the output. The existing file is then the first input, and grows in place
//! where possible: its baskets and pages stay where they are, and so do all of its objects and
//! tables to which no other input adds anything.

mod attributes;
mod begin;
mod blocks;
mod branch_queue;
mod choice;
mod chunks;
mod counts;
mod ending;
mod finish;
mod folders;
mod inputs;
mod later;
mod ntuple_table;
mod objects;
mod options;
mod plan;
mod processes;
mod reads;
mod recompressor;
mod requested;
mod run;
mod table;
mod taken_entries;
mod target;
mod tree_table;
mod uploader;
mod whole;

use remote::Result;

use crate::read::file::File;
use crate::read::file::session::Session;
use begin::BegunOutput;
pub(crate) use begin::check_output;
pub(crate) use choice::{ChosenTable, CopyOptions, DecideEntries, DecidedTable, OpenedInput};
use inputs::is_local;
pub(crate) use ntuple_table::without_sets;
pub(crate) use objects::ObjectFilter;
pub use options::{ClusterCounts, InputEntries, MergeOptions, MergeProgress, MergeReport, Missing};
use plan::MergePlan;
use reads::{Reads, left_out, none_read};
use run::CopyContext;
pub(crate) use table::SourceTable;
use uploader::Uploader;

/// The files that are copied into one.
pub(crate) struct InputsToCopy {
    /// Addresses and patterns.
    pub addresses: Vec<String>,
    /// The first file, if the caller has opened it already.
    pub first: Option<File>,
}

/// Copies files into a new one.
pub(crate) async fn copy_files(
    session: &Session,
    output: &str,
    inputs: InputsToCopy,
    options: CopyOptions,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<MergeReport> {
    let remote = session.remote();
    let begun = remote.trace().now();
    let mut notes = Vec::new();
    let mut addresses = addresses(session, inputs.addresses, &options, &mut notes).await?;
    check_output(output, addresses.iter().map(String::as_str))?;
    let begun_output = BegunOutput::begin(session, output, &options).await?;
    let BegunOutput { writer, mut uploader, existing, notes: more } = begun_output;
    notes.extend(more);
    let mut options = options;
    options.merge.append = existing.is_some();
    let grows = existing.as_ref().is_some_and(|existing| existing.grows);
    let first = match existing {
        Some(existing) => {
            addresses.insert(0, output.to_owned());
            Some(existing.file)
        }
        None => inputs.first,
    };
    let inputs = InputsToCopy { addresses, first };
    let plan = MergePlan::new(writer, options, notes, grows);
    let context = CopyContext { session, url: output };
    match copy_to(context, inputs, plan, &mut uploader, progress).await {
        Ok(report) => {
            let written = uploader.finish().await?;
            Ok(MergeReport { written, time: remote.trace().now() - begun, ..report })
        }
        Err(error) => {
            uploader.abandon().await;
            Err(error)
        }
    }
}

/// The addresses that the inputs' patterns match, in their order.
async fn addresses(
    session: &Session,
    inputs: Vec<String>,
    options: &CopyOptions,
    notes: &mut Vec<String>,
) -> Result<Vec<String>> {
    let mut addresses = Vec::new();
    for input in inputs {
        match session.remote().matching_some(&input).await {
            Ok(found) => addresses.extend(found),
            Err(why) if options.skips(&why) => notes.push(left_out(&why)),
            Err(why) => return Err(why),
        }
    }
    Ok(addresses)
}

async fn copy_to(
    context: CopyContext<'_>,
    inputs: InputsToCopy,
    mut plan: MergePlan,
    uploader: &mut Uploader,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<MergeReport> {
    let InputsToCopy { addresses, first } = inputs;
    let session = context.session;
    let keeps_all = plan.options.keeps_all;
    let mut now = MergeProgress { inputs: addresses.len(), ..MergeProgress::default() };
    let is_here = addresses.iter().all(|address| is_local(address));
    let reads = Reads::new(session.clone(), addresses, first, plan.options.clone());
    let mut from = run::InputFiles::new(session, reads, is_here, plan.options.remake());
    if plan.options.reads_all_first() {
        while from.plan_next(&mut plan).await? {
            now.read += 1;
            now.total_bytes = plan.total_bytes();
            progress(now);
        }
        if plan.inputs.is_empty() {
            return Err(none_read(&plan.notes));
        }
        plan.check_objects()?;
        if keeps_all {
            whole::check_notes(&plan.notes)?;
        }
        plan.leave_unchanged();
        plan.complete(0)?;
    }
    let report = run::run(context, plan, from, uploader, &mut now, progress).await?;
    if keeps_all {
        whole::check_notes(&report.notes)?;
    }
    Ok(report)
}
