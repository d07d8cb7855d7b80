//! The timeline of a read: offset in the file over time, one line a request (after figure 3 of
//! Bockelman, "Optimizing high-latency I/O in CMSSW"), and below it the phases of the caller's
//! wait, how full the link was, and how many threads were decoding.

mod strips;
mod text;

use std::fmt::Write;
use std::ops::Range;
use std::time::Duration;

use super::svg::{CENTRED, Drawing, NUMBER, PLAIN, Scale, Style, colour};
use super::{Report, count, size};
use crate::fetch::ledger::Spell;
use crate::fetch::trace::{Records, RequestRecord};

pub use self::text::text;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 640.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 62.0;
/// Foot of the large panel; the strips follow below.
const FOOT: f64 = 410.0;
/// Marks drawn at most: more make a file that no program likes to show.
const MARKS_MAX: usize = 60_000;

/// The parts of the picture of one file.
struct Scene<'a> {
    requests: Vec<&'a RequestRecord>,
    spells: Vec<&'a Spell>,
    decodings: Vec<&'a Range<Duration>>,
    /// Names that colours stand for: sources where there are several, or else connections.
    legend: Vec<String>,
    by_source: bool,
    /// Milliseconds since the beginning.
    time: Scale,
    from: Duration,
    file_size: u64,
}

/// Draws a file's requests as SVG.
///
/// `until` is when the picture ends; without, when the last byte had come, was decoded and handed
/// over.
pub fn svg(
    records: &Records,
    file: u32,
    file_size: u64,
    until: Option<Duration>,
    title: &str,
    report: &Report,
) -> String {
    let scene = Scene::new(records, file, file_size, until);
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    drawing.text(LEFT, 24.0, Style { size: 15.0, ..PLAIN }, title);
    drawing.text(LEFT, 43.0, Style { fill: "#444", ..PLAIN }, &summary(report));
    offsets(&mut drawing, &scene);
    scene.draw_requests(&mut drawing);
    legend(&mut drawing, &scene);
    strips::draw(&mut drawing, &scene);
    time_axis(&mut drawing, &scene);
    drawing.finish()
}

/// The time when the last byte had arrived, was decoded and handed over; the caller's later work,
/// and the answer that there is no more, would only make the picture small.
fn end(requests: &[&RequestRecord], spells: &[&Spell], decodings: &[&Range<Duration>]) -> Duration {
    let done = requests.iter().filter_map(|request| request.done);
    let active = done.chain(decodings.iter().map(|time| time.end)).max().unwrap_or_default();
    let first = requests.iter().map(|request| request.sent).min().unwrap_or_default();
    let shortly_after = active + active.saturating_sub(first) / 20;
    let soon = spells.iter().filter(|spell| spell.time.start <= shortly_after);
    soon.map(|spell| spell.time.end).max().unwrap_or_default().max(active)
}

fn summary(report: &Report) -> String {
    format!(
        "{} in {} on {}; {}, {}; {:.3} s",
        size(report.bytes_received),
        count(report.requests, "request"),
        count(report.connections, "connection"),
        count(report.serial_round_trips, "serial round trip"),
        count(report.stalls, "stall"),
        report.wall_s,
    )
}

impl<'a> Scene<'a> {
    fn new(records: &'a Records, file: u32, file_size: u64, until: Option<Duration>) -> Self {
        let requests: Vec<_> = records.requests.iter().filter(|r| r.file == file).collect();
        let spells: Vec<_> =
            records.ledger.spells().filter(|spell| spell.file == Some(file)).collect();
        let decodings: Vec<_> =
            records.decodings.iter().filter(|(of, _)| *of == file).map(|(_, time)| time).collect();
        let begins = requests.iter().map(|r| r.sent).chain(spells.iter().map(|s| s.time.start));
        let from = begins.min().unwrap_or_default();
        let until = until.unwrap_or_else(|| end(&requests, &spells, &decodings)).max(from);
        let span_ms = ((until.saturating_sub(from)).as_secs_f64() * 1e3).max(1e-3);
        let mut sources: Vec<String> = requests.iter().map(|r| r.source.to_string()).collect();
        sources.sort();
        sources.dedup();
        let by_source = sources.len() > 1;
        let mut connections: Vec<u32> = requests.iter().map(|r| r.connection).collect();
        connections.sort_unstable();
        connections.dedup();
        let legend = match by_source {
            true => sources,
            false => connections.iter().map(u32::to_string).collect(),
        };
        Scene {
            requests,
            spells,
            decodings,
            legend,
            by_source,
            time: Scale { values: (0.0, span_ms), pixels: (LEFT, WIDTH - RIGHT) },
            from,
            file_size,
        }
    }

    fn ms(&self, time: Duration) -> f64 {
        time.saturating_sub(self.from).as_secs_f64() * 1e3
    }

    fn x(&self, time: Duration) -> f64 {
        self.time.at(self.ms(time))
    }

    fn offset(&self) -> Scale {
        Scale { values: (0.0, (self.file_size as f64 / 1e6).max(1e-6)), pixels: (FOOT, TOP) }
    }

    fn class(&self, request: &RequestRecord) -> usize {
        let name = match self.by_source {
            true => request.source.to_string(),
            false => request.connection.to_string(),
        };
        self.legend.iter().position(|known| *known == name).unwrap_or_default()
    }

    /// The colour of the name at this place of the legend.
    fn colour(&self, at: usize) -> String {
        colour(at, self.legend.len())
    }

    /// One path for each colour: requests on their way thin, bytes arriving thick.
    fn draw_requests(&self, drawing: &mut Drawing) {
        let runs_max = (MARKS_MAX / self.requests.len().max(1)).max(1);
        let mut ways = vec![String::new(); self.legend.len()];
        let mut arrivals = vec![String::new(); self.legend.len()];
        for request in &self.requests {
            let class = self.class(request);
            let done = request.done.unwrap_or(self.from + self.span());
            let first = request.first_byte.unwrap_or(done);
            let sent = self.x(request.sent);
            let first = self.x(first);
            let done = self.x(done);
            let done = done.max(first + 1.0);
            let runs = self.runs(request, runs_max);
            // Writing to a string cannot fail.
            for (low, high) in runs {
                let _ = write!(ways[class], "M{sent:.1} {:.1}H{first:.1}", (low + high) / 2.0);
                let _ =
                    write!(arrivals[class], "M{first:.1} {low:.1}H{done:.1}V{high:.1}H{first:.1}z");
            }
        }
        let line = "fill=\"none\" stroke-width=\".5\" stroke-opacity=\".4\"";
        for (at, (way, arrival)) in ways.iter().zip(&arrivals).enumerate() {
            let colour = self.colour(at);
            drawing.path(way, &format!("{line} stroke=\"{colour}\""));
            drawing.path(arrival, &format!("fill=\"{colour}\" fill-opacity=\".85\""));
        }
    }

    fn span(&self) -> Duration {
        Duration::from_secs_f64(self.time.values.1 / 1e3)
    }

    /// Where in the panel a request's ranges lie, top and bottom, those that touch there joined.
    fn runs(&self, request: &RequestRecord, most: usize) -> Vec<(f64, f64)> {
        let offset = self.offset();
        // A tail that was requested before the size was known lies at the end.
        let tail = self.file_size.saturating_sub(request.received)..self.file_size;
        let tail = [tail];
        let segments = if request.segments.is_empty() { &tail[..] } else { &request.segments };
        let mut runs: Vec<(f64, f64)> = Vec::new();
        for segment in segments {
            let bottom = offset.at(segment.start as f64 / 1e6);
            let top = offset.at(segment.end as f64 / 1e6).min(bottom - 1.4);
            let full = runs.len() == most;
            match runs.last_mut() {
                Some((last, _)) if full || bottom >= *last - 1.0 => *last = last.min(top),
                _ => runs.push((top, bottom)),
            }
        }
        runs
    }
}

fn offsets(drawing: &mut Drawing, scene: &Scene<'_>) {
    let scale = scene.offset();
    let (ticks, decimals) = scale.ticks(7);
    let mut grid = String::new();
    for tick in ticks {
        let y = scale.at(tick);
        let _ = write!(grid, "M{LEFT} {y:.1}H{:.1}", WIDTH - RIGHT);
        drawing.text(LEFT - 7.0, y + 4.0, NUMBER, &format!("{tick:.decimals$}"));
    }
    drawing.path(&grid, "stroke=\"#e6e6e6\" fill=\"none\"");
    drawing.text_upwards(24.0, (TOP + FOOT) / 2.0, "offset in the file, MB");
    frame(drawing, TOP, FOOT);
}

fn frame(drawing: &mut Drawing, top: f64, foot: f64) {
    drawing.path(
        &format!("M{LEFT} {top}V{foot}H{:.1}", WIDTH - RIGHT),
        "fill=\"none\" stroke=\"#333\"",
    );
}

/// Draws the names of the colours, in the upper right corner.
fn legend(drawing: &mut Drawing, scene: &Scene<'_>) {
    let count = scene.legend.len();
    if scene.by_source {
        for (at, name) in scene.legend.iter().enumerate() {
            let y = TOP + 8.0 + 16.0 * at as f64;
            drawing.rect(
                (WIDTH - RIGHT - 14.0, WIDTH - RIGHT - 4.0),
                (y, y + 10.0),
                &colour(at, count),
            );
            drawing.text(WIDTH - RIGHT - 20.0, y + 9.0, NUMBER, name);
        }
        return;
    }
    let right = WIDTH - RIGHT;
    let width = (10.0 * count as f64).min(160.0);
    for at in 0..count {
        let step = width / count as f64;
        let x = right - width + step * at as f64;
        drawing.rect((x, x + step), (49.0, 56.0), &colour(at, count));
    }
    drawing.text(
        right - width - 6.0,
        56.5,
        NUMBER,
        "thin: on its way, thick: bytes arriving; by connection",
    );
}

fn time_axis(drawing: &mut Drawing, scene: &Scene<'_>) {
    let (unit, factor) = if scene.time.values.1 > 10_000.0 { ("s", 1e-3) } else { ("ms", 1.0) };
    let shown = Scale { values: (0.0, scene.time.values.1 * factor), ..scene.time };
    let (ticks, decimals) = shown.ticks(10);
    let foot = strips::FOOT;
    let mut marks = String::new();
    for tick in ticks {
        let x = shown.at(tick);
        let _ = write!(marks, "M{x:.1} {foot}v5M{x:.1} {FOOT}v4");
        drawing.text(x, foot + 18.0, CENTRED, &format!("{tick:.decimals$}"));
    }
    drawing.path(&marks, "stroke=\"#333\"");
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    drawing.text(middle, foot + 36.0, CENTRED, &format!("time since the first call, {unit}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::ledger::Phase;
    use crate::fetch::trace::RequestKind;

    fn request(number: u64, connection: u32, segments: Vec<Range<u64>>) -> RequestRecord {
        let sent = Duration::from_millis(number);
        RequestRecord {
            request: number,
            file: 0,
            source: "root://there:1094".into(),
            connection,
            kind: RequestKind::Fetch,
            received: segments.iter().map(|segment| segment.end - segment.start).sum(),
            segments,
            sent,
            first_byte: Some(sent + Duration::from_millis(100)),
            done: Some(sent + Duration::from_millis(120)),
            failed: false,
        }
    }

    fn drawn(records: &Records) -> String {
        svg(records, 0, 1_000_000_000, None, "root://there//a&b<c>.root", &Report::default())
    }

    #[test]
    fn thousands_of_requests_make_a_picture_that_can_be_shown() {
        let mut records = Records::default();
        for number in 0..5_000 {
            let segments = (0..200).map(|at| {
                let start = at * 5_000_000 + number * 900;
                start..start + 900
            });
            records.requests.push_back(request(number, number as u32 % 16, segments.collect()));
        }
        let svg = drawn(&records);
        assert!(svg.len() < 5_000_000, "{} bytes", svg.len());
        assert!(svg.contains("a&amp;b&lt;c&gt;.root"), "{}", &svg[..600]);
        // Each connection has a path of ways and one of arrivals.
        assert_eq!(svg.matches("fill-opacity=\".85\"").count(), 16);
    }

    #[test]
    fn ranges_that_touch_on_paper_are_one_mark() {
        let mut records = Records::default();
        let near = [0..1_000_000, 1_500_000..3_000_000];
        records.requests.push_back(request(0, 0, near.to_vec()));
        records.requests.push_back(request(1, 0, vec![0..1_000, 500_000_000..500_001_000]));
        let svg = drawn(&records);
        let arrivals = svg.lines().find(|line| line.contains("fill-opacity=\".85\"")).unwrap();
        assert_eq!(arrivals.matches('M').count(), 3, "{arrivals}");
    }

    /// The caller's work after the last byte does not make the rest small.
    #[test]
    fn the_picture_ends_with_the_last_byte() {
        let mut records = Records::default();
        records.requests.push_back(request(0, 0, vec![0..1_000]));
        let wait = records.ledger.begin(Duration::ZERO, Phase::Bytes, Some(0));
        records.ledger.wait(Duration::ZERO, wait);
        records.ledger.leave(Duration::from_millis(121), wait);
        records.ledger.wait(Duration::from_secs(60), wait);
        records.ledger.leave(Duration::from_secs(61), wait);
        let scene = Scene::new(&records, 0, 1_000, None);
        assert_eq!(scene.time.values, (0.0, 121.0));
        // Where that work is the output of entries (`farroot cat`), the picture shows it.
        let scene = Scene::new(&records, 0, 1_000, Some(Duration::from_secs(2)));
        assert_eq!(scene.time.values, (0.0, 2000.0));
    }

    #[test]
    fn nothing_read_is_an_empty_picture() {
        assert!(drawn(&Records::default()).ends_with("</svg>\n"));
    }
}
