//! `farroot plan FILE:TREE -c A,B`: what a read would fetch, and about how long it would take.

use std::io::Write;
use std::ops::Range;
use std::time::Duration;

use clap::Args;
use engine::report::size;
use engine::{Column, Config, Engine, Plan, Step, Tree};

use crate::outcome::Outcome;
use crate::reading::{Selection, with_engine};
use crate::table::{table, text};
use crate::units::parse_rate;

/// Say what a read would fetch, without reading it
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The rate to predict for
    #[arg(long, value_parser = parse_rate, default_value = "1Gbit/s")]
    rate: u64,
    /// List every range
    #[arg(long)]
    ranges: bool,
}

/// Opens the tree, and prints the plan.
pub fn run(arguments: &Arguments) -> Outcome {
    with_engine(async |engine| {
        let selection = &arguments.selection;
        let tree = selection.open(engine).await?;
        let columns = selection.columns(&tree)?;
        let plan = tree.plan(&columns, selection.entries(tree.num_entries()), Step::Whole)?;
        let ranges = joined(&plan);
        let mut out = text(&per_column(&columns, &plan));
        out.push_str(&totals(engine, &tree, &plan, &ranges, arguments.rate));
        if arguments.ranges {
            for range in &ranges {
                out.push_str(&format!("{}-{}\n", range.start, range.end));
            }
        }
        std::io::stdout().write_all(out.as_bytes())?;
        Ok(())
    })
}

fn per_column(columns: &[Column], plan: &Plan) -> comfy_table::Table {
    let mut listed =
        table(&["column", ">baskets", ">stored", ">decoded", ">first byte", ">last byte"]);
    for (at, column) in columns.iter().enumerate() {
        let items: Vec<_> = plan.items.iter().filter(|item| item.column == at).collect();
        let ranges: Vec<&Range<u64>> =
            items.iter().filter_map(|item| item.range.as_ref()).collect();
        let place = |edge: Option<u64>| edge.map_or("-".to_owned(), |offset| offset.to_string());
        listed.add_row([
            column.name.clone(),
            items.len().to_string(),
            size(ranges.iter().map(|range| range.end - range.start).sum()),
            size(items.iter().map(|item| item.decoded).sum()),
            place(ranges.iter().map(|range| range.start).min()),
            place(ranges.iter().map(|range| range.end).max()),
        ]);
    }
    listed
}

/// The ranges of a plan in the file's order, neighbours joined.
fn joined(plan: &Plan) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> =
        plan.items.iter().filter_map(|item| item.range.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

fn totals(engine: &Engine, tree: &Tree, plan: &Plan, ranges: &[Range<u64>], rate: u64) -> String {
    let report = engine.report();
    let mut out = format!(
        "{} of {} in {} baskets, {} ranges where neighbours are joined\n\
         opened with {} in {} requests and {} serial round trips\n",
        size(plan.stored_bytes()),
        size(tree.file().size()),
        plan.items.len(),
        ranges.len(),
        size(report.bytes_received),
        report.requests,
        report.serial_round_trips,
    );
    let measured = report.sources.iter().filter_map(|source| source.first_byte_s).reduce(f64::min);
    let connections = Config::from_env().map_or(1, |config| config.connections_initial);
    if let Some(rtt) = measured.and_then(|rtt| Duration::try_from_secs_f64(rtt).ok())
        && !tree.file().url().starts_with("file:")
    {
        let time = predicted(plan.stored_bytes(), rtt, rate, connections);
        out.push_str(&format!(
            "about {:.2} s from here, at {}/s over {connections} connections and {:.1} ms a round trip\n",
            time.as_secs_f64(),
            size(rate),
            rtt.as_secs_f64() * 1e3,
        ));
    }
    out
}

/// What a TCP connection sends before the first acknowledgement (RFC 6928), bytes.
const FIRST_FLIGHT_BYTES: u64 = 10 * 1448;

/// Time for so many bytes whose ranges are all known, on connections just made: one round trip,
/// one more for each doubling that TCP needs, and the link's own time for the rest.
fn predicted(bytes: u64, rtt: Duration, rate: u64, connections: u32) -> Duration {
    let (mut time, mut sent) = (rtt, 0u64);
    let mut flight = FIRST_FLIGHT_BYTES.saturating_mul(connections.max(1).into());
    let link = |bytes: u64| Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
    while link(flight) < rtt && sent.saturating_add(flight) < bytes {
        sent += flight;
        flight = flight.saturating_mul(2);
        time += rtt;
    }
    time + link(bytes.saturating_sub(sent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_counts_round_trips_and_the_links_own_time() {
        let rtt = Duration::from_millis(100);
        let near = |time: Duration, ms: u64| {
            assert!(
                time.abs_diff(Duration::from_millis(ms)) < Duration::from_millis(5),
                "{time:?}"
            );
        };
        // All in the first flight.
        near(predicted(10_000, rtt, 125_000_000, 1), 100);
        // 12.5 MB at 1 Gbit/s: 14 kB on one connection, doubled nine times; 0.1 s for the last half.
        near(predicted(12_500_000, rtt, 125_000_000, 1), 100 + 900 + 41);
        // Sixteen connections save four doublings.
        near(predicted(12_500_000, rtt, 125_000_000, 16), 100 + 500 + 43);
        // No distance: the rate alone.
        near(predicted(12_500_000, Duration::ZERO, 125_000_000, 1), 100);
    }
}
