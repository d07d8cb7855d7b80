//! The pieces that a drawing is made of: scales, axes with round numbers, marks.

use std::fmt::{Display, Write};

/// Colours that also the colour-blind tell apart (Okabe and Ito).
pub const DISTINCT: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];
/// From dark blue to yellow, evenly brighter (after viridis): for numbers that have an order.
const RAMP: [[f64; 3]; 5] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [94.0, 201.0, 98.0],
    [225.0, 205.0, 35.0],
];

/// Colour number `at` of `count`: distinct as long as there are enough, then shades of a ramp.
pub fn colour(at: usize, count: usize) -> String {
    if count <= DISTINCT.len() {
        return DISTINCT[at % DISTINCT.len()].to_owned();
    }
    let place = at.min(count - 1) as f64 / (count - 1) as f64 * (RAMP.len() - 1) as f64;
    let low = (place as usize).min(RAMP.len() - 2);
    let part = place - low as f64;
    let mix = |channel: usize| {
        let from = RAMP[low][channel];
        let to = RAMP[low + 1][channel];
        (from + part * (to - from)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// A stretch of numbers, drawn from one coordinate to another.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// First and last value.
    pub values: (f64, f64),
    /// Where these are drawn.
    pub pixels: (f64, f64),
}

impl Scale {
    /// Where a value is drawn; a value outside is drawn at the edge.
    pub fn at(&self, value: f64) -> f64 {
        let (from, to) = self.values;
        let part = if to > from { ((value - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }

    /// Round values inside, at most `most` of them, and the decimals to print them with.
    pub fn ticks(&self, most: usize) -> (Vec<f64>, usize) {
        let (from, to) = self.values;
        let span = to - from;
        if !(span > 0.0 && span.is_finite()) {
            return (vec![from], 0);
        }
        let raw = span / most.max(1) as f64;
        let power = 10f64.powf(raw.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
        let step = steps.into_iter().find(|step| *step >= raw * 0.999).unwrap_or(10.0 * power);
        let first = (from / step).ceil() as i64;
        let last = (to / step * 1.000_001).floor() as i64;
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        ((first..=last).map(|n| n as f64 * step).collect(), decimals)
    }
}

/// A drawing under way.
pub struct Drawing {
    out: String,
}

/// How a text is set.
#[derive(Clone, Copy)]
pub struct Style {
    /// `start`, `middle` or `end`: the point of the text at its coordinate.
    pub anchor: &'static str,
    /// Pixels.
    pub size: f64,
    /// The colour.
    pub fill: &'static str,
}

/// Ordinary text, from its left.
pub const PLAIN: Style = Style { anchor: "start", size: 12.0, fill: "#222" };
/// Numbers at axes, from their right.
pub const NUMBER: Style = Style { anchor: "end", size: 11.0, fill: "#444" };
/// Under an axis.
pub const CENTRED: Style = Style { anchor: "middle", size: 11.0, fill: "#444" };

impl Drawing {
    /// A white page, in pixels.
    pub fn new(width: f64, height: f64) -> Self {
        let out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        Drawing { out }
    }

    /// One line of text, escaped.
    pub fn text(&mut self, x: f64, y: f64, style: Style, text: &str) {
        let Style { anchor, size, fill } = style;
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.line(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" \
             fill=\"{fill}\">{text}</text>"
        ));
    }

    /// Text that reads upwards.
    pub fn text_upwards(&mut self, x: f64, y: f64, text: &str) {
        self.line(format_args!(
            "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\" \
             font-size=\"11\" fill=\"#444\">{text}</text>"
        ));
    }

    /// A rectangle, from and to in both directions.
    pub fn rect(&mut self, x: (f64, f64), y: (f64, f64), fill: &str) {
        self.line(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
            x.0,
            y.0,
            x.1 - x.0,
            y.1 - y.0
        ));
    }

    /// A path with these attributes; nothing where there is nothing to draw.
    pub fn path(&mut self, steps: &str, attributes: &str) {
        if !steps.is_empty() {
            self.line(format_args!("<path d=\"{steps}\" {attributes}/>"));
        }
    }

    /// The document.
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    fn line(&mut self, text: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let scale = |to: f64| Scale { values: (0.0, to), pixels: (0.0, 1.0) };
        assert_eq!(scale(1_830.0).ticks(8), (vec![0.0, 500.0, 1_000.0, 1_500.0], 0));
        assert_eq!(scale(0.4).ticks(4), (vec![0.0, 0.1, 0.2, 0.30000000000000004, 0.4], 1));
        assert_eq!(scale(0.0).ticks(4).0.len(), 1);
        assert_eq!(scale(f64::NAN).ticks(4).0.len(), 1);
    }

    #[test]
    fn colours_stay_apart() {
        assert_eq!(colour(1, 2), DISTINCT[1]);
        let shades: std::collections::BTreeSet<_> = (0..16).map(|at| colour(at, 16)).collect();
        assert_eq!(shades.len(), 16);
    }
}
