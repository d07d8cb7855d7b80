//! Records behind all baskets: objects, and the metadata of tables, in the order of keys.

use std::sync::Arc;

use remote::{Result, Written};
use rootfile::write::{
    Coding, DirectoryId, Encoders, FileWriter, TableDestination, WritableObject,
};

use super::later::LaterObjects;
use super::options::MergeReport;
use super::plan::{MergePlan, Output, OutputContent, UnchangedKind};
use super::processes;
use super::uploader::Uploader;
use crate::located::Located;
use crate::read::file::session::Session;
use crate::write::infos::OWN;

/// Writes objects and metadata, and closes the file.
///
/// # Errors
/// Those of reading the remaining objects, and as [`MergePlan::add_object`].
pub async fn run(
    session: &Session,
    mut plan: MergePlan,
    uploader: &mut Uploader,
    url: &str,
) -> Result<MergeReport> {
    let mut later = LaterObjects::new(session.clone(), std::mem::take(&mut plan.later));
    let mut report = report(&plan, url);
    let mut encoders = Encoders::default();
    plan.folders.make(&mut plan.writer).located(url)?;
    for at in 0..plan.outputs.len() {
        later.add(&mut plan, at).await?;
        link_sets(&mut plan, at, &mut encoders).located(url)?;
        put(&mut plan, at, &mut encoders, &mut report, url)?;
        uploader.drain(&mut plan.writer, Vec::new()).await?;
    }
    let MergePlan { mut writer, processes, existing_processes, notes, .. } = plan;
    let is_new = |number: &u16| !existing_processes.contains(number);
    for (number, process) in processes.into_iter().filter(|(number, _)| is_new(number)) {
        writer.put(DirectoryId::TOP, &processes::name(number), Arc::new(*process));
    }
    OWN.iter().for_each(|class| writer.infos().need(class));
    writer.close();
    uploader.drain(&mut writer, Vec::new()).await?;
    Ok(MergeReport { notes, ..report })
}

/// The report before the first object is written.
fn report(plan: &MergePlan, url: &str) -> MergeReport {
    MergeReport {
        inputs: plan.inputs.len(),
        tables: Vec::new(),
        input_entries: plan.inputs.iter().map(|input| input.entries.clone()).collect(),
        histograms: 0,
        objects: 0,
        records: 0,
        copied_bytes: 0,
        notes: Vec::new(),
        written: Written::new(url.to_owned(), 0, None),
        time: std::time::Duration::ZERO,
    }
}

/// Writes the attribute sets of output number `at`, if it is an RNTuple, and links them.
fn link_sets(plan: &mut MergePlan, at: usize, encoders: &mut Encoders) -> rootfile::Result<()> {
    let compression = plan.compression();
    let mut linked = Vec::new();
    for set in plan.sets_of(at) {
        let Output { name, directory, content, set_of, .. } = &mut plan.outputs[set];
        let taken = std::mem::replace(content, OutputContent::Nothing);
        let (OutputContent::Table(table), Some(set_of)) = (taken, set_of) else { continue };
        let to = TableDestination { writer: &mut plan.writer, directory: *directory };
        let coding = Coding { compression, encoders: &mut *encoders };
        linked.push(table.finish_set(name, set_of.schema_version, to, coding)?);
    }
    if let Some((table, _)) = plan.table(at) {
        table.link(linked);
    }
    Ok(())
}

/// Puts output number `at` into the file, and adds it to the report.
fn put(
    plan: &mut MergePlan,
    at: usize,
    encoders: &mut Encoders,
    report: &mut MergeReport,
    url: &str,
) -> Result<()> {
    let compression = plan.compression();
    let MergePlan { writer, outputs, notes, .. } = plan;
    let Output { path, name, directory, content, inputs, first_only, existing, cycle, .. } =
        &mut outputs[at];
    let directory = *directory;
    let existing = *existing;
    let cycle = *cycle;
    let put = |writer: &mut FileWriter, object: Arc<dyn WritableObject>| match (existing, cycle) {
        (Some(existing), _) => writer.put_in_place(directory, name, existing.cycle, object),
        (None, Some(cycle)) => writer.put_with_cycle(directory, name, cycle, object),
        (None, None) => writer.put(directory, name, object),
    };
    if *inputs < report.inputs {
        notes.push(format!("{path} is in {inputs} of {} inputs only", report.inputs));
    }
    if let Some(why) = first_only {
        notes.push(format!("{path} {why}: the first one is kept"));
    }
    match std::mem::replace(content, OutputContent::Nothing) {
        OutputContent::Table(table) => {
            let to = TableDestination { writer: &mut *writer, directory };
            let finished = table.finish(to, Coding { compression, encoders }).located(url)?;
            report.tables.push((path.clone(), finished.entries));
            notes.extend(finished.notes.into_iter().map(|note| format!("{path}: {note}")));
            put(writer, finished.object);
        }
        OutputContent::Sum(sum) => {
            report.histograms += 1;
            put(writer, Arc::new(sum.finish().located(url)?));
        }
        OutputContent::Object(object) => {
            report.objects += 1;
            // That of the file is the first.
            if existing.is_none() {
                put(writer, Arc::new(*object));
            }
        }
        OutputContent::Unchanged(kind) => match kind {
            UnchangedKind::Table(entries) => report.tables.push((path.clone(), entries)),
            UnchangedKind::Sum => report.histograms += 1,
            UnchangedKind::Object => report.objects += 1,
        },
        OutputContent::Nothing | OutputContent::Later | OutputContent::Left => {}
    }
    Ok(())
}
