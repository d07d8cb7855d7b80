//! The timeline as text, for a terminal.

use std::fmt::Write;
use std::time::Duration;

use crate::fetch::trace::Records;

/// Characters in a line at most: more than any terminal has.
const WIDTH_MAX: usize = 10_000;

/// Draws a file's requests as lines of text `width` characters wide, one a connection: `.` for a
/// request on its way, `#` for bytes arriving.
pub fn text(records: &Records, file: u32, width: usize) -> String {
    let width = width.clamp(1, WIDTH_MAX);
    let requests: Vec<_> = records.requests.iter().filter(|r| r.file == file).collect();
    let begun = records.connections.iter().map(|connection| connection.started);
    let from = begun.chain(requests.iter().map(|r| r.sent)).min().unwrap_or_default();
    let until = requests.iter().filter_map(|r| r.done).max().unwrap_or(from);
    let span = (until - from).as_secs_f64().max(1e-6);
    let column = |time: Duration| {
        let part = time.saturating_sub(from).as_secs_f64() / span;
        ((part * width as f64) as usize).min(width.saturating_sub(1))
    };
    let mut out = String::new();
    for connection in &records.connections {
        let own: Vec<_> =
            requests.iter().filter(|r| r.connection == connection.connection).collect();
        if own.is_empty() {
            continue;
        }
        let mut line = vec![' '; width];
        for request in own {
            let done = request.done.unwrap_or(until);
            let first = request.first_byte.unwrap_or(done);
            let way = column(request.sent)..=column(first);
            way.for_each(|at| {
                if line[at] == ' ' {
                    line[at] = '.'
                }
            });
            (column(first)..=column(done)).for_each(|at| line[at] = '#');
        }
        let _ = writeln!(out, "{:>3} |{}|", connection.connection, line.iter().collect::<String>());
    }
    let _ = writeln!(out, "     0 ms{:>1$.0} ms", 1e3 * span, width.saturating_sub(7));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A width of none once led beyond the end of the line.
    #[test]
    fn any_width_will_do() {
        use crate::fetch::trace::{ConnectionRecord, RequestKind, RequestRecord};
        let mut records = Records::default();
        records.connections.push(ConnectionRecord {
            connection: 0,
            source: "there".into(),
            started: Duration::ZERO,
            usable: None,
            ended: None,
        });
        records.requests.push_back(RequestRecord {
            request: 0,
            file: 0,
            source: "there".into(),
            connection: 0,
            kind: RequestKind::Fetch,
            segments: vec![0..9],
            sent: Duration::ZERO,
            first_byte: None,
            done: Some(Duration::from_secs(1)),
            received: 9,
            failed: false,
        });
        assert!(text(&records, 0, 0).starts_with("  0 |#|"));
        assert!(text(&records, 0, 7).starts_with("  0 |......#|"));
        assert!(text(&records, 0, usize::MAX).len() < 3 * WIDTH_MAX);
    }
}
