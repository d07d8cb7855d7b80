//! `farroot merge TARGET SOURCE...`: several files as one.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::Args;
use engine::{Compression, MergeOptions, MergeProgress, MergeReport, Missing};
use indicatif::{ProgressBar, ProgressStyle};
use remote::parse_bytes;
use remote::report::size;
use serde_json::json;

use crate::outcome::Outcome;
use crate::reading::with_engine;
use crate::target::{OutputArgument, Places, with_lists};

/// Merge ROOT files: baskets are copied as they are stored, histograms added up
///
/// Tables of all sources are checked before anything is written. Trees' entries are in the order
/// of the sources. Flags of hadd (-f, -a, -k, -T, -v, -n, -j, -ff, -fk, -f505) are understood;
/// -f505 is --recompress 505, and with no number nothing is compressed anew.
#[derive(Debug, Args)]
#[command(override_usage = "farroot merge [OPTIONS] TARGET SOURCE...")]
#[command(after_help = "Examples:
  farroot merge all.root 'run3/*.root'
  farroot merge -f --recompress zstd:5 all.root run3/0.root run3/1.root")]
pub struct MergeArguments {
    /// First the new file, as for hadd: a path or a URL. Then URLs (root://, http://), paths or
    /// patterns, in the order that their entries are to have; @FILE for those that a file lists,
    /// one per line
    #[arg(required = true, value_name = "TARGET SOURCE...")]
    places: Vec<String>,
    #[command(flatten)]
    output: OutputArgument,
    /// Replace an existing file
    #[arg(short, long, action = clap::ArgAction::Count)]
    force: u8,
    /// Append to TARGET, if it exists: its content comes first, and it grows in place if possible
    #[arg(short, long)]
    append: bool,
    /// Merge only this object, or all in this directory; may be a glob, and given several times
    #[arg(long, value_name = "PATH")]
    only: Vec<String>,
    /// Leave this object out, or all in this directory; may be a glob, and given several times
    #[arg(long, value_name = "PATH")]
    without: Vec<String>,
    /// Branches that not all sources have: an error, left out where the first source lacks them
    /// (filter), or filled with zeros and empty lists where a source lacks them (union)
    #[arg(long, value_enum, default_value_t = MissingBranches::Strict)]
    missing: MissingBranches,
    /// Compress baskets and pages anew: zlib, lzma, lz4 or zstd with ROOT's level, as zstd:5, or
    /// its number, as 505; 0 does not compress
    #[arg(long, value_name = "ALGORITHM:LEVEL", value_parser = compression)]
    recompress: Option<Compression>,
    /// Join the baskets of trees up to so many bytes before compression, as 256KB
    #[arg(long, value_name = "BYTES", value_parser = basket_bytes)]
    basket_size: Option<u64>,
    /// Leave trees and RNTuples out
    #[arg(short = 'T', long)]
    no_trees: bool,
    /// The same sources give the same bytes, without the time of writing
    #[arg(long)]
    reproducible: bool,
    /// Leave out sources that are not there or cannot be read, with a warning
    #[arg(short = 'k', long)]
    skip_bad: bool,
    /// For scripts written for hadd (files open at a time): changes nothing
    #[arg(short = 'n', value_name = "N")]
    files_open: Option<u32>,
    /// For scripts written for hadd (processes): changes nothing
    #[arg(short = 'j')]
    jobs: bool,
    /// For scripts written for hadd (how much to say): changes nothing
    #[arg(short = 'v')]
    verbose: bool,
    /// For programs, one line of JSON
    #[arg(long)]
    json: bool,
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum MissingBranches {
    Strict,
    Filter,
    Union,
}

/// A compression: an algorithm and ROOT's level, or ROOT's number for both.
///
/// # Errors
/// An error for the terminal.
pub fn compression(said: &str) -> Result<Compression, String> {
    let wrong = || format!("{said}: it is as zstd:5, or ROOT's number, as 505");
    let number = match said.split_once(':') {
        None => said.parse().map_err(|_| wrong())?,
        Some((algorithm, level)) => {
            let algorithm = match &*algorithm.to_ascii_lowercase() {
                "zlib" => 100,
                "lzma" => 200,
                "lz4" => 400,
                "zstd" => 500,
                _ => return Err(wrong()),
            };
            algorithm + level.parse::<u32>().ok().filter(|level| *level < 10).ok_or_else(wrong)?
        }
    };
    Compression::of_number(number).map_err(|error| error.to_string())
}

/// Bytes of a basket: those of the largest fit into one block of every compression.
fn basket_bytes(said: &str) -> Result<u64, String> {
    let bytes = parse_bytes(said).map_err(|error| error.to_string())?;
    match (1 << 10..=16 << 20).contains(&bytes) {
        true => Ok(bytes),
        false => Err(format!("{said}: baskets have from 1 KB to 16 MB")),
    }
}

/// The arguments of `farroot merge` without numbers of hadd's that may be there or not: -f505 is
/// --recompress 505, and those behind -j and -v say nothing, as one process does it all.
pub fn without_hadds_numbers(arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_none_or(|verb| verb != "merge") {
        return arguments;
    }
    let mut kept: Vec<OsString> = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let text = argument.to_string_lossy();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let flag = ["-f", "-j", "-v"]
            .into_iter()
            .find(|flag| text.strip_prefix(flag).is_some_and(is_number));
        let follows = kept.last().is_some_and(|before| before == "-j" || before == "-v");
        match flag {
            Some("-f") => {
                kept.extend(["-f".into(), "--recompress".into(), text[2..].into()]);
            }
            Some(flag) => kept.push(flag.into()),
            None if follows && is_number(&text) => {}
            None => kept.push(argument),
        }
    }
    kept
}

/// Merges, with a bar on a terminal.
pub fn run(arguments: &MergeArguments) -> Outcome {
    let Places { target, sources } = arguments.output.or_first(&arguments.places)?;
    let sources = &with_lists(sources)?;
    let options = MergeOptions {
        overwrite: arguments.force > 0,
        append: arguments.append,
        only: arguments.only.clone(),
        without: arguments.without.clone(),
        missing: match arguments.missing {
            MissingBranches::Strict => Missing::Strict,
            MissingBranches::Filter => Missing::Filter,
            MissingBranches::Union => Missing::Union,
        },
        compression: arguments.recompress.unwrap_or(MergeOptions::default().compression),
        recompress: arguments.recompress,
        basket_bytes: arguments.basket_size,
        without_tables: arguments.no_trees,
        skip_bad: arguments.skip_bad,
        reproducible: arguments.reproducible,
    };
    with_engine(async |engine| {
        let bar = bar();
        let show = |now: MergeProgress| {
            if now.read < now.inputs {
                bar.set_message(format!("{} of {} sources read ", now.read, now.inputs));
            } else {
                bar.set_message("");
            }
            bar.set_length(now.total_bytes);
            bar.set_position(now.copied_bytes);
        };
        let report = engine.merge(target, sources, &options, &show).await;
        bar.finish_and_clear();
        arguments.account(&report?)?;
        if arguments.report {
            eprint!("{}", engine.report());
        }
        Ok(())
    })
}

impl MergeArguments {
    fn account(&self, report: &MergeReport) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for note in report.notes.iter().chain(&report.written.warnings) {
            eprintln!("note: {note}");
        }
        let seconds = report.time.as_secs_f64().max(1e-6);
        let bytes = report.written.size;
        if self.json {
            let tables: serde_json::Map<String, serde_json::Value> = report
                .tables
                .iter()
                .map(|(path, entries)| (path.clone(), json!(entries)))
                .collect();
            let line = json!({
                "target": report.written.address, "size": bytes, "sources": report.inputs,
                "tables": tables, "histograms": report.histograms, "objects": report.objects,
                "records": report.records, "copied_bytes": report.copied_bytes,
                "notes": report.notes, "seconds": seconds,
            });
            return writeln!(out, "{line}");
        }
        let rate = size((bytes as f64 / seconds) as u64);
        let files = match report.inputs {
            1 => "1 file".to_owned(),
            many => format!("{many} files"),
        };
        writeln!(out, "merged {files}: {} in {seconds:.3} s, {rate}/s", size(bytes))?;
        for (path, entries) in &report.tables {
            writeln!(out, "  {path}: {entries} entries")?;
        }
        if report.histograms > 0 {
            writeln!(out, "  {} histograms added up", report.histograms)?;
        }
        Ok(())
    }
}

/// A bar of bytes on standard error; none where that is no terminal.
pub fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{msg}{bar:30} {bytes} of {total_bytes}, {binary_bytes_per_sec}, {eta} left",
    );
    let bar = ProgressBar::new(0);
    // The template is a constant: a mistake in it only costs the looks.
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_hadd_takes() {
        let kept = |line: &str| -> String {
            let all = line.split(' ').map(OsString::from).collect();
            let kept = without_hadds_numbers(all).into_iter();
            kept.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        let line = "farroot merge -f505 -j 4 -v 99 -n 10 out 5 in";
        assert_eq!(kept(line), "farroot merge -f --recompress 505 -j -v -n 10 out 5 in");
        assert_eq!(kept("farroot merge -ff -k -v1 o i"), "farroot merge -ff -k -v o i");
        assert_eq!(kept("farroot cat -n 5 -v 7"), "farroot cat -n 5 -v 7");
    }

    #[test]
    fn compressions_as_root_and_people_say_them() {
        for (said, number) in [("zstd:5", 505), ("LZMA:7", 207), ("404", 404), ("6", 106), ("0", 0)]
        {
            assert_eq!(compression(said).map(Compression::number), Ok(number), "{said}");
        }
        for wrong in ["zstd", "zstd:11", "brotli:5", "777", "-1"] {
            assert!(compression(wrong).is_err(), "{wrong}");
        }
        assert_eq!(basket_bytes("256KB"), Ok(256_000));
        assert!(basket_bytes("1 GB").is_err());
    }
}
