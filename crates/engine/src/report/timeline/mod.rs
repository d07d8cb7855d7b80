//! The timeline of a read: offset in the file over time, one stroke a request (after figure 3 of
//! Bloom et al., "Any data, any time, anywhere", where each dot is a request).

mod text;

use std::fmt::Write;
use std::time::Duration;

use crate::fetch::trace::{Records, RequestRecord};

pub use self::text::text;

/// Colours of the connections, told apart also by the colour-blind (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000"];
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// What of a trace is drawn.
struct Frame {
    from: Duration,
    span: f64,
    size: f64,
}

/// Draws a file's requests as SVG: from sent (thin) over first byte to done (thick), at the
/// place of their ranges in the file.
pub fn svg(records: &Records, file: u32, file_size: u64, title: &str) -> String {
    let requests: Vec<_> = records.requests.iter().filter(|r| r.file == file).collect();
    let frame = Frame::new(&requests, file_size);
    let mut out = String::new();
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    axes(&mut out, &frame);
    for request in &requests {
        draw_request(&mut out, &frame, request);
    }
    out.push_str("</svg>\n");
    out
}

impl Frame {
    fn new(requests: &[&RequestRecord], file_size: u64) -> Self {
        let from = requests.iter().map(|r| r.sent).min().unwrap_or_default();
        let until = requests.iter().filter_map(|r| r.done).max().unwrap_or(from);
        let span = (until - from).as_secs_f64().max(1e-6);
        Frame { from, span, size: (file_size as f64).max(1.0) }
    }

    fn x(&self, time: Duration) -> f64 {
        let part = time.saturating_sub(self.from).as_secs_f64() / self.span;
        LEFT + part * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, offset: u64) -> f64 {
        HEIGHT - BOTTOM - (offset as f64 / self.size).min(1.0) * (HEIGHT - TOP - BOTTOM)
    }
}

fn axes(out: &mut String, frame: &Frame) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let _ =
        writeln!(out, "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#333\"/>");
    for tick in 0..=4u32 {
        let part = f64::from(tick) / 4.0;
        let x = LEFT + part * (right - LEFT);
        let y = bottom - part * (bottom - TOP);
        let ms = 1e3 * part * frame.span;
        let bytes = super::size((part * frame.size) as u64);
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{ms:.0} ms</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{bytes}</text>\n\
             <path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#eee\"/>\n",
            bottom + 18.0,
            LEFT - 6.0,
            y + 4.0,
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">time; thin: on its way, thick: \
         bytes arriving; one colour a connection</text>",
        (LEFT + right) / 2.0,
        HEIGHT - 12.0
    );
}

fn draw_request(out: &mut String, frame: &Frame, request: &RequestRecord) {
    let colour = COLOURS[request.connection as usize % COLOURS.len()];
    let done = request.done.unwrap_or(request.sent);
    let first = request.first_byte.unwrap_or(done);
    let (sent, first, done) =
        (frame.x(request.sent), frame.x(first), frame.x(done).max(frame.x(first) + 1.0));
    // A tail asked for before the size was known has no ranges: it lies at the end.
    let whole = frame.size as u64;
    let tail = [whole..whole];
    let segments = if request.segments.is_empty() { &tail[..] } else { &request.segments[..] };
    let (low, high) = (segments[0].start, segments.iter().map(|s| s.end).max().unwrap_or(0));
    let middle = (frame.y(low) + frame.y(high)) / 2.0;
    let _ = writeln!(
        out,
        "<path d=\"M{sent:.1} {middle:.1}H{first:.1}\" stroke=\"{colour}\" stroke-width=\".6\"/>"
    );
    let mut last_drawn = f64::NAN;
    for segment in segments {
        let (y, height) = (frame.y(segment.end), frame.y(segment.start) - frame.y(segment.end));
        // Strokes closer than half a pixel would only make the file large.
        if (last_drawn - y).abs() < 0.5 {
            continue;
        }
        last_drawn = y;
        let _ = writeln!(
            out,
            "<rect x=\"{first:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"{colour}\" fill-opacity=\".8\"/>",
            done - first,
            height.max(1.5)
        );
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
