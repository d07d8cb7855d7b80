//! The requests of a read as readable lines: the form of golden logs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use remote::fetch::trace::{Records, RequestKind};

/// One line a connection and a request, in the order in which they were made; times in round
/// trips since the first, connections in the order of their first request.
pub fn lines(records: &Records, rtt: Duration) -> String {
    let trips = |time: Duration| time.as_secs_f64() / rtt.as_secs_f64();
    let mut out = String::new();
    let mut begun: BTreeMap<String, usize> = BTreeMap::new();
    for connection in &records.connections {
        let time = trips(connection.started);
        *begun.entry(format!("{time:>6.2}  connect {}", connection.source)).or_default() += 1;
    }
    for (line, count) in begun {
        let _ = writeln!(out, "{line} x {count}");
    }
    for request in &records.requests {
        let action = match request.kind {
            RequestKind::Open if request.segments.is_empty() => "open, tail".to_owned(),
            RequestKind::Open => format!("open, head {}", request.segments[0].end),
            RequestKind::Fetch => "fetch".to_owned(),
        };
        let asked: u64 = request.segments.iter().map(|s| s.end - s.start).sum();
        let first = request.segments.first().map_or(0, |segment| segment.start);
        let _ = write!(out, "{:>6.2}  #{:<2} {action}", trips(request.sent), request.connection);
        if request.kind == RequestKind::Fetch {
            let ranges = request.segments.len();
            let _ = write!(out, " {ranges} ranges, {asked} bytes from {first}");
        }
        let done = request.done.map_or("never".to_owned(), |done| format!("{:.2}", trips(done)));
        let _ = writeln!(out, "; {} bytes came by {done}", request.received);
    }
    out
}

/// Compares with the log that is kept in `tests/golden`; `GOLDEN=write` writes it anew.
///
/// # Panics
/// Where they differ, or nothing can be written.
pub fn golden(name: &str, log: &str) {
    let path = format!("{}/tests/golden/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, log).expect("can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == log,
        "the requests of this read have changed; if that is right, run this test with \
         GOLDEN=write and let the review see it.\n--- kept\n{kept}\n--- now\n{log}"
    );
}
