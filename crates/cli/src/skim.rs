//! `farroot skim SOURCE... TARGET`: some columns and entries of tables as a new file.

use std::io::{self, Write};

use clap::Args;
use engine::{
    ClusterCounts, Compression, Cut, Definition, MergeProgress, ParquetLibrary, SkimOptions,
    SkimReport, TableFormat, TableLocation,
};
use remote::address::split_object;
use remote::report::size;
use serde_json::json;

use crate::merge::{bar, compression};
use crate::outcome::Outcome;
use crate::reading::{Several, names_of, several, with_engine};
use crate::target::{OutputArgument, Places};

/// Write some columns and entries of a tree or RNTuple to a new file
///
/// Baskets of trees and pages of RNTuples are copied as they are stored. With a cut the other
/// columns are fetched only where entries pass (of the first remote tree, up to 4 MiB before that
/// is known); out of baskets, or clusters of RNTuples, of which not all do, entries are taken and
/// compressed anew. Where TARGET ends with .parquet, a Parquet file is written on this machine.
#[derive(Debug, Args)]
#[command(override_usage = "farroot skim [OPTIONS] SOURCE... TARGET")]
#[command(after_help = "Examples:
  farroot skim 'run3/*.root:Events' few.root -c 'Muon_*' --cut 'MET_pt > 50'
  farroot skim nano.root:Events more.root -c MET_pt --define 'half=MET_pt / 2'")]
pub struct SkimArguments {
    /// FILE:TREE, with URLs, paths or patterns as FILE, in the order that entries are to have; the
    /// tree may be left out where there is only one. Last the new file
    #[arg(required = true, value_name = "SOURCE... TARGET")]
    places: Vec<String>,
    #[command(flatten)]
    output: OutputArgument,
    /// Columns: names, paths, globs such as 'Jet_*', aliases of the file and formulas such as
    /// 'MET_pt / 2', separated by commas; --define gives a formula another name
    #[arg(short, long, value_parser = several)]
    columns: Vec<Several>,
    /// Which entries, as in '(MET_pt > 50) & (nMuon >= 2)'
    #[arg(long, value_name = "EXPRESSION")]
    cut: Option<String>,
    /// A new column, as in 'ratio=MET_pt / MET_sumEt'; may be given several times, and later
    /// formulas and the cut may name it
    #[arg(long, value_name = "NAME=FORMULA", value_parser = definition)]
    define: Vec<(String, String)>,
    /// The kind of table to write, if not that of the first source
    #[arg(long, value_enum)]
    format: Option<SkimFormat>,
    /// Of baskets and pages that are compressed anew: zlib, lzma, lz4 or zstd with ROOT's level, as
    /// zstd:5, or its number, as 505; 0 does not compress
    #[arg(long, value_name = "ALGORITHM:LEVEL", value_parser = compression)]
    compression: Option<Compression>,
    /// Keep other tables and objects, merged; not where columns are encoded anew
    #[arg(long)]
    keep_rest: bool,
    /// Replace an existing file
    #[arg(short, long)]
    force: bool,
    /// The same sources give the same bytes, without the time of writing
    #[arg(long)]
    reproducible: bool,
    /// For programs, one line of JSON
    #[arg(long)]
    json: bool,
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
}

/// A kind of table in a ROOT file.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SkimFormat {
    Tree,
    Rntuple,
}

/// A new column's name and formula.
fn definition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, formula)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), formula.trim().to_owned()))
        }
        _ => Err("write NAME=FORMULA, as in 'ratio=MET_pt / MET_sumEt'".to_owned()),
    }
}

/// Skims, with a bar on a terminal.
pub fn run(arguments: &SkimArguments, library: &dyn ParquetLibrary) -> Outcome {
    let Places { target, sources } = arguments.output.or_last(&arguments.places)?;
    let options = SkimOptions {
        columns: names_of(&arguments.columns),
        cut: arguments.cut.as_deref().map(Cut::parse).transpose()?,
        define: arguments
            .define
            .iter()
            .map(|(name, formula)| Definition::parse(name, formula))
            .collect::<Result<_, _>>()?,
        format: match arguments.format {
            Some(SkimFormat::Tree) => TableFormat::Tree,
            Some(SkimFormat::Rntuple) => TableFormat::RNTuple,
            None => TableFormat::Same,
        },
        compression: arguments.compression.unwrap_or(SkimOptions::default().compression),
        keep_rest: arguments.keep_rest,
        overwrite: arguments.force,
        reproducible: arguments.reproducible,
    };
    with_engine(async |engine| {
        let mut places = Vec::new();
        for source in sources {
            let at = split_object(source);
            for url in engine.remote().matching_some(&at.file).await? {
                let path = at.object.map(str::to_owned);
                places.push(TableLocation { url, path, ..TableLocation::default() });
            }
        }
        let bar = bar();
        let show = |now: MergeProgress| {
            bar.set_length(now.total_bytes);
            bar.set_position(now.copied_bytes);
        };
        let report = if target.ends_with(".parquet") {
            engine.skim_to_parquet(library, target, &places, &options, &show).await
        } else {
            engine.skim(target, &places, &options, &show).await
        };
        bar.finish_and_clear();
        arguments.account(&report?)?;
        if arguments.report {
            eprint!("{}", engine.report());
        }
        Ok(())
    })
}

impl SkimArguments {
    fn account(&self, report: &SkimReport) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for note in report.notes.iter().chain(&report.written.warnings) {
            eprintln!("note: {note}");
        }
        let seconds = report.time.as_secs_f64();
        let (before, after) = report
            .inputs
            .iter()
            .fold((0, 0), |(before, after), input| (before + input.1, after + input.2));
        if self.json {
            let line = json!({
                "target": report.written.address, "size": report.written.size,
                "table": report.table, "sources": report.inputs, "entries": after,
                "is_copied": report.is_copied, "clusters": clusters_as_json(report),
                "notes": report.notes, "seconds": seconds,
            });
            return writeln!(out, "{line}");
        }
        let how = match report.clusters {
            _ if report.is_copied => "copied as stored".to_owned(),
            None => "compressed anew".to_owned(),
            Some(ClusterCounts { copied, taken, left_out }) => {
                format!("clusters: {copied} copied as stored, {taken} in part, {left_out} left out")
            }
        };
        let bytes = size(report.written.size);
        writeln!(
            out,
            "{}: {after} of {before} entries, {bytes} in {seconds:.3} s, {how}",
            report.table
        )
    }
}

/// The counts of the sources' clusters: copied, taken, left out.
fn clusters_as_json(report: &SkimReport) -> serde_json::Value {
    match report.clusters {
        Some(ClusterCounts { copied, taken, left_out }) => {
            json!({ "copied": copied, "taken": taken, "left_out": left_out })
        }
        None => serde_json::Value::Null,
    }
}
