//! `farroot plan FILE:TREE -c A,B`: the bytes that a read would fetch, and about how long it would
//! take.

use std::io::Write;
use std::ops::Range;
use std::time::Duration;

use clap::Args;
use engine::{Engine, File, FootprintColumn, ReadFootprint};
use remote::LinkModel;
use remote::display::shown_lines;
use remote::report::size;
use serde_json::json;

use crate::outcome::Outcome;
use crate::reading::{Selection, with_engine};
use crate::table::{Listing, table, text};
use crate::units::parse_rate;

/// Show the bytes that a read would fetch, without reading them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot plan root://eos.example//store/nano.root:Events -c Muon_pt,Jet_pt")]
pub struct PlanArguments {
    #[command(flatten)]
    selection: Selection,
    /// The rate to predict for
    #[arg(long, value_parser = parse_rate, default_value = "1Gbit/s")]
    rate: u64,
    /// List every range
    #[arg(long)]
    ranges: bool,
    /// For programs, all in one line of JSON
    #[arg(long, conflicts_with = "ranges")]
    json: bool,
}

/// Opens the tree or RNTuple, and prints the plan.
pub fn run(arguments: &PlanArguments) -> Outcome {
    with_engine(async |engine| {
        let selected = arguments.selection.selected(engine, None).await?.into_columns();
        let entries = arguments.selection.entries(selected.num_entries());
        let footprints = selected.footprints(entries).await?;
        let pieces = selected.pieces();
        if arguments.json {
            let time = prediction(engine, selected.file(), &footprints, arguments.rate);
            let line = as_json(engine, &footprints, time);
            return Ok(writeln!(std::io::stdout(), "{line}")?);
        }
        let mut out = String::new();
        for footprint in &footprints {
            if footprints.len() > 1 {
                out.push_str(&format!("{}:{}\n", footprint.url, footprint.path));
            }
            out.push_str(&text(&per_column(footprint, pieces)));
            if arguments.ranges && footprints.len() > 1 {
                out.push_str(&listed(footprint));
            }
        }
        out.push_str(&totals(engine, selected.file(), &footprints, pieces, arguments.rate));
        if let [only] = &footprints[..]
            && arguments.ranges
        {
            out.push_str(&listed(only));
        }
        std::io::stdout().write_all(shown_lines(&out).as_bytes())?;
        Ok(())
    })
}

/// One line a range.
fn listed(footprint: &ReadFootprint) -> String {
    let line = |range: &Range<u64>| format!("{}-{}\n", range.start, range.end);
    footprint.ranges.iter().map(line).collect()
}

fn per_column(footprint: &ReadFootprint, pieces: &str) -> Listing {
    let pieces = format!(">{pieces}");
    let mut listed =
        table(&["column", &pieces, ">stored", ">decoded", ">first byte", ">last byte"]);
    for column in &footprint.columns {
        let place = |edge: Option<u64>| edge.map_or("-".to_owned(), |offset| offset.to_string());
        listed.add_row([
            column.name.clone(),
            column.pieces.to_string(),
            size(column.stored_bytes),
            size(column.decoded_bytes),
            place(column.span.as_ref().map(|span| span.start)),
            place(column.span.as_ref().map(|span| span.end)),
        ]);
    }
    listed
}

fn totals(
    engine: &Engine,
    file: &File,
    footprints: &[ReadFootprint],
    pieces: &str,
    rate: u64,
) -> String {
    let report = engine.report();
    let stored_bytes = footprints.iter().map(ReadFootprint::stored_bytes).sum();
    let of = match footprints {
        [_] => format!("of {}", size(file.size())),
        several => format!("of {} trees and RNTuples", several.len()),
    };
    let ranges = match footprints.iter().map(|footprint| footprint.ranges.len()).sum() {
        1usize => "1 range".to_owned(),
        many => format!("{many} ranges"),
    };
    let mut out = format!(
        "{} {of} in {} {pieces}, {ranges} where neighbours are joined\n\
         opened with {} in {} requests and {} serial round trips\n",
        size(stored_bytes),
        footprints.iter().map(ReadFootprint::pieces).sum::<usize>(),
        size(report.bytes_received),
        report.requests,
        report.serial_round_trips,
    );
    if let Some(Prediction { time, rtt, connections }) = prediction(engine, file, footprints, rate)
    {
        out.push_str(&format!(
            "about {:.2} s from here, at {}/s over {connections} connections and {:.1} ms a round trip\n",
            time.as_secs_f64(),
            size(rate),
            rtt.as_secs_f64() * 1e3,
        ));
    }
    out
}

/// All of it for programs.
fn as_json(
    engine: &Engine,
    footprints: &[ReadFootprint],
    time: Option<Prediction>,
) -> serde_json::Value {
    let span = |span: &Range<u64>| json!([span.start, span.end]);
    let column = |column: &FootprintColumn| {
        json!({
            "name": column.name, "pieces": column.pieces, "stored_bytes": column.stored_bytes,
            "decoded_bytes": column.decoded_bytes, "span": column.span.as_ref().map(span),
        })
    };
    let table = |footprint: &ReadFootprint| {
        json!({
            "url": footprint.url, "path": footprint.path,
            "columns": footprint.columns.iter().map(column).collect::<Vec<_>>(),
            "ranges": footprint.ranges.iter().map(span).collect::<Vec<_>>(),
        })
    };
    let report = engine.report();
    json!({
        "tables": footprints.iter().map(table).collect::<Vec<_>>(),
        "stored_bytes": footprints.iter().map(ReadFootprint::stored_bytes).sum::<u64>(),
        "opened": {
            "bytes_received": report.bytes_received, "requests": report.requests,
            "serial_round_trips": report.serial_round_trips,
        },
        "predicted_s": time.map(|time| time.time.as_secs_f64()),
    })
}

/// About how long a read takes.
struct Prediction {
    time: Duration,
    rtt: Duration,
    connections: u32,
}

fn prediction(
    engine: &Engine,
    file: &File,
    footprints: &[ReadFootprint],
    rate: u64,
) -> Option<Prediction> {
    if file.url().starts_with("file:") {
        return None;
    }
    let report = engine.report();
    let measured = report.sources.iter().filter_map(|source| source.first_byte_s).reduce(f64::min);
    let rtt = Duration::try_from_secs_f64(measured?).ok()?;
    let connections = engine.config().connections_initial;
    let bytes = footprints.iter().map(ReadFootprint::stored_bytes).sum();
    Some(Prediction {
        time: LinkModel::USUAL.time(bytes, rtt, rate, connections),
        rtt,
        connections,
    })
}
