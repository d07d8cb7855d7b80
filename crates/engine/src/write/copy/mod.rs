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

mod blocks;
mod branch_queue;
mod carrier;
mod choice;
mod chunks;
mod counts;
mod ending;
mod finish;
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

use remote::sink::CreateOptions;
use remote::{Error, ErrorKind, Result, address};
use rootfile::write::{FileOptions, FileWriter};

use crate::located::Located;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::write::stamp::Stamp;
use carrier::Carrier;
pub(crate) use choice::{ChosenTable, CopyOptions, DecideEntries, DecidedTable, OpenedInput};
use inputs::is_local;
pub(crate) use ntuple_table::without_sets;
pub(crate) use objects::ObjectFilter;
pub use options::{ClusterCounts, InputEntries, MergeOptions, MergeProgress, MergeReport, Missing};
use plan::MergePlan;
use reads::{Reads, left_out, none_read};
use run::CopyContext;
pub(crate) use table::SourceTable;

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
    if addresses.iter().any(|address| address == output) {
        let error = Error::new(ErrorKind::InvalidArgument, "the output is one of the inputs");
        return Err(error.with_url(output));
    }
    let mut options = options;
    let mut first = inputs.first;
    if options.merge.append {
        first = existing(session, output).await?;
        match &first {
            Some(_) => addresses.insert(0, output.to_owned()),
            None => options.merge.append = false,
        }
    }
    let overwrite = options.merge.overwrite || options.merge.append;
    let create = CreateOptions { overwrite, ..CreateOptions::default() };
    let inputs = InputsToCopy { addresses, first };
    let plan = MergePlan::new(writer(output, &options.merge)?, options, notes);
    let mut carrier = Carrier::start(remote.create(output, create).await?);
    let context = CopyContext { session, url: output };
    match copy_to(context, inputs, plan, &mut carrier, progress).await {
        Ok(report) => {
            let written = carrier.finish().await?;
            Ok(MergeReport { written, time: remote.trace().now() - begun, ..report })
        }
        Err(error) => {
            carrier.abandon().await;
            Err(error)
        }
    }
}

/// The output as it is, if it is there.
async fn existing(session: &Session, output: &str) -> Result<Option<File>> {
    match session.open_to_copy(output).await {
        Ok(file) => Ok(Some(file)),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
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
    carrier: &mut Carrier,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<MergeReport> {
    let InputsToCopy { addresses, first } = inputs;
    let session = context.session;
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
        plan.complete(0)?;
    }
    run::run(context, plan, from, carrier, &mut now, progress).await
}

fn writer(output: &str, options: &MergeOptions) -> Result<FileWriter> {
    let url = address::parse(output)?.swap_remove(0);
    let Stamp { uuid, datime } = Stamp::new(options.reproducible)?;
    let options = FileOptions {
        name: url.file_name().to_string_lossy().into_owned(),
        title: String::new(),
        compression: options.compression,
        uuid,
        datime,
    };
    FileWriter::new(options).located(output)
}
