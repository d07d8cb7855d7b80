//! Below the requests: the phases of the caller's wait, the rate of arrival, and threads decoding.

use std::fmt::Write;
use std::time::Duration;

use super::{LEFT, RIGHT, Scene, WIDTH, frame};
use crate::fetch::ledger::Phase;
use crate::fetch::trace::RequestRecord;
use crate::report::history::spread;
use crate::report::svg::{Drawing, NUMBER, PLAIN, Scale, Style};

/// Foot of the lowest strip.
pub const FOOT: f64 = 592.0;
const CALLER: (f64, f64) = (446.0, 464.0);
const RATE: (f64, f64) = (478.0, 532.0);
const DECODING: (f64, f64) = (544.0, FOOT);
/// Columns in which rates and threads are averaged.
const COLUMNS: usize = 426;

pub fn draw(drawing: &mut Drawing, scene: &Scene<'_>) {
    caller(drawing, scene);
    let rate = rates(scene, None);
    area(drawing, RATE, &rate, "#8aa9c4", "bytes arriving, MB/s");
    if scene.by_source {
        for at in 0..scene.legend.len() {
            line(drawing, RATE, &rates(scene, Some(at)), highest(&rate), &scene.colour(at));
        }
    }
    let busy = decoding(scene);
    area(drawing, DECODING, &busy, "#b8b08d", "threads decoding");
}

/// Colours of the phases of a caller's wait.
fn phase_colour(phase: Phase) -> &'static str {
    match phase {
        Phase::Connecting => "#7f3c8d",
        Phase::Opening => "#c46bb0",
        Phase::Metadata => "#e69f00",
        Phase::Bytes => "#b5cfe6",
        Phase::Decoding => "#b8b08d",
        Phase::Joining => "#6f6a4c",
    }
}

fn caller(drawing: &mut Drawing, scene: &Scene<'_>) {
    let end = WIDTH - RIGHT;
    drawing.path(
        &format!("M{LEFT} {}H{end}V{}H{LEFT}z", CALLER.0, CALLER.1),
        "fill=\"#fafafa\" stroke=\"#bbb\"",
    );
    for spell in &scene.spells {
        let from = scene.x(spell.time.start);
        let to = scene.x(spell.time.end);
        if to - from >= 0.05 {
            drawing.rect((from, to), CALLER, phase_colour(spell.phase));
        }
    }
    drawing.text(LEFT - 7.0, CALLER.1 - 5.0, NUMBER, "caller");
    let mut x = LEFT;
    for phase in Phase::ALL {
        drawing.rect((x, x + 10.0), (CALLER.0 - 16.0, CALLER.0 - 6.0), phase_colour(phase));
        drawing.text(x + 14.0, CALLER.0 - 7.0, Style { size: 11.0, ..PLAIN }, phase.name());
        x += 34.0 + 6.0 * phase.name().len() as f64;
    }
    drawing.text(x, CALLER.0 - 7.0, Style { size: 11.0, ..PLAIN }, "blank: at its own work");
}

/// Adds an amount that is spread evenly over a time to the columns of the drawing.
fn add(columns: &mut [f64], scene: &Scene<'_>, from: Duration, to: Duration, amount: f64) {
    let width = scene.time.values.1 / columns.len() as f64;
    spread(columns, width, scene.ms(from)..scene.ms(to), amount);
}

/// MB/s in each column, each request's bytes spread over the time in which they came; of all
/// requests, or of those of one colour.
fn rates(scene: &Scene<'_>, class: Option<usize>) -> Vec<f64> {
    let mut columns = vec![0.0; COLUMNS];
    let is_meant = |request: &RequestRecord| class.is_none_or(|at| scene.class(request) == at);
    for request in scene.requests.iter().filter(|request| is_meant(request)) {
        if let (Some(first), Some(done)) = (request.first_byte, request.done) {
            add(&mut columns, scene, first, done, request.received as f64);
        }
    }
    let column_ms = scene.time.values.1 / COLUMNS as f64;
    columns.into_iter().map(|bytes| bytes / 1e6 / (column_ms / 1e3)).collect()
}

/// Threads decoding in each column, on average.
fn decoding(scene: &Scene<'_>) -> Vec<f64> {
    let mut columns = vec![0.0; COLUMNS];
    for time in &scene.decodings {
        let took = (time.end.saturating_sub(time.start)).as_secs_f64() * 1e3;
        add(&mut columns, scene, time.start, time.end, took);
    }
    let column_ms = scene.time.values.1 / COLUMNS as f64;
    columns.into_iter().map(|ms| ms / column_ms).collect()
}

fn highest(columns: &[f64]) -> f64 {
    columns.iter().copied().fold(0.0, f64::max).max(1e-9)
}

fn scale(place: (f64, f64), most: f64) -> Scale {
    Scale { values: (0.0, most * 1.25), pixels: (place.1, place.0) }
}

/// The upper edge of columns, from the foot at the left.
fn outline(columns: &[f64], scale: &Scale, foot: f64) -> String {
    let step = (WIDTH - RIGHT - LEFT) / columns.len() as f64;
    let mut steps = format!("M{LEFT} {foot}");
    for (at, value) in columns.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(steps, "V{:.1}H{:.1}", scale.at(*value), LEFT + step * (at + 1) as f64);
    }
    steps
}

/// One source's part of an area, to the same scale.
fn line(drawing: &mut Drawing, place: (f64, f64), columns: &[f64], most: f64, colour: &str) {
    let steps = outline(columns, &scale(place, most), place.1);
    drawing.path(&steps, &format!("fill=\"none\" stroke=\"{colour}\""));
}

fn area(drawing: &mut Drawing, place: (f64, f64), columns: &[f64], fill: &str, name: &str) {
    let most = highest(columns);
    let (ticks, decimals) = Scale { values: (0.0, most), pixels: (0.0, 1.0) }.ticks(2);
    let scale = scale(place, most);
    let mut steps = outline(columns, &scale, place.1);
    // Writing to a string cannot fail.
    let _ = write!(steps, "V{}z", place.1);
    drawing.path(&steps, &format!("fill=\"{fill}\""));
    for tick in ticks {
        drawing.text(LEFT - 7.0, scale.at(tick) + 4.0, NUMBER, &format!("{tick:.decimals$}"));
    }
    drawing.text(LEFT + 6.0, place.0 + 8.0, Style { size: 11.0, fill: "#444", ..PLAIN }, name);
    frame(drawing, place.0, place.1);
}
