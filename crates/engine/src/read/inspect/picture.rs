//! A picture of a file: where the baskets or pages of chosen columns lie, and which bytes have been
//! fetched (after ROOT's `TFile::DrawMap`, which draws the first).
//!
//! The file is laid out like a text: in rows of equal length, from left to right and from top to
//! bottom. Below the records of a row, a thin line shows the bytes of it that have been fetched.

use std::fmt::Write;
use std::ops::Range;

use super::map::Record;
use crate::read::core::footprint::{FootprintColumn, ReadFootprint, joined};
use crate::read::core::table::Columns;
use remote::Result;
use remote::report::svg::{CENTRED, Drawing, NUMBER, PLAIN, Scale, Style, colour};
use remote::report::{count, size};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 92.0;
/// Distance from one row to the next; height of the records, and below them of the line of fetched
/// bytes.
const PITCH: f64 = 13.0;
const BAND: f64 = 8.0;
const FETCHED: (f64, f64) = (8.5, 11.0);
const ROWS_MAX: u64 = 40;
/// Smaller marks could not be seen.
const MARK_MIN: f64 = 0.7;
/// Columns with a name below the picture, and in one of its two columns.
const NAMED_MAX: usize = 24;
const LINES_MAX: usize = 12;
/// Characters of a name and of a title that have room.
const NAME_MAX: usize = 36;
const TITLE_MAX: usize = 100;
const LINE: f64 = 17.0;

const OTHER_DATA: &str = "#d4d4d4";
const METADATA: &str = "#777";
const FETCHED_COLOUR: &str = "#111";

impl dyn Columns {
    /// Draws where these columns' baskets or pages lie in the file, and which bytes of it have been
    /// fetched so far, as SVG.
    ///
    /// # Errors
    /// As [`Columns::footprints`] and [`crate::read::file::File::map`].
    pub async fn map_svg(&self) -> Result<String> {
        let file = self.file();
        let fetched = fetched(self);
        let footprint = self.footprint(0..u64::MAX).await?;
        let records = file.map().await?;
        let title = format!("{}:{}", file.url(), self.path());
        Ok(Picture { records, footprint, fetched, size: file.size() }.draw(&title))
    }
}

/// Ranges of the file that have been fetched, in its order.
fn fetched(columns: &dyn Columns) -> Vec<Range<u64>> {
    let remote = columns.file().remote();
    let records = remote.trace().records();
    let whole = records.requests.iter().filter(|each| each.file == remote.tag() && !each.failed);
    let size = columns.file().size();
    let segments = whole.filter(|each| each.received > 0).flat_map(|each| {
        // A tail that was asked for before the size was known lies at the end.
        match each.segments.is_empty() {
            true => vec![size.saturating_sub(each.received)..size],
            false => each.segments.clone(),
        }
    });
    joined(segments.map(|range| range.start.min(size)..range.end.min(size)).collect())
}

struct Picture {
    records: Vec<Record>,
    footprint: ReadFootprint,
    fetched: Vec<Range<u64>>,
    size: u64,
}

/// Where bytes are drawn.
struct Rows {
    /// Bytes of each row.
    bytes: u64,
    count: u64,
}

impl Rows {
    fn of(size: u64) -> Rows {
        let least = size.div_ceil(ROWS_MAX).max(1);
        let power = 10u64.pow(least.ilog10());
        let round = [1, 2, 5, 10].map(|factor| power.saturating_mul(factor));
        let bytes = round.into_iter().find(|bytes| *bytes >= least).unwrap_or(least);
        Rows { bytes, count: size.div_ceil(bytes).max(1) }
    }

    fn scale(&self) -> Scale {
        Scale { values: (0.0, self.bytes as f64), pixels: (LEFT, WIDTH - RIGHT) }
    }

    fn top(row: u64) -> f64 {
        TOP + PITCH * row as f64
    }

    fn foot(&self) -> f64 {
        Rows::top(self.count)
    }

    /// Rectangles for ascending ranges, those that touch joined, as the steps of a path.
    fn path<'a>(&self, ranges: impl Iterator<Item = &'a Range<u64>>, band: (f64, f64)) -> String {
        let scale = self.scale();
        let mut marks: Vec<(u64, f64, f64)> = Vec::new();
        for range in ranges {
            let mut at = range.start;
            while at < range.end {
                let row = at / self.bytes;
                let end = range.end.min((row + 1).saturating_mul(self.bytes));
                let from = scale.at((at - row * self.bytes) as f64);
                let to = scale.at((end - row * self.bytes) as f64).max(from + MARK_MIN);
                match marks.last_mut() {
                    Some((last, _, right)) if *last == row && from <= *right + 0.05 => {
                        *right = right.max(to);
                    }
                    _ => marks.push((row, from, to)),
                }
                at = end;
            }
        }
        let mut steps = String::new();
        for (row, from, to) in marks {
            let top = Rows::top(row) + band.0;
            let foot = Rows::top(row) + band.1;
            // Writing to a string cannot fail.
            let _ = write!(steps, "M{from:.2} {top:.1}H{to:.2}V{foot:.1}H{from:.2}z");
        }
        steps
    }
}

impl Picture {
    fn draw(&self, title: &str) -> String {
        let rows = Rows::of(self.size);
        let named = self.footprint.columns.len().min(NAMED_MAX);
        let lines = named.min(LINES_MAX) + usize::from(self.footprint.columns.len() > named);
        let height = rows.foot() + 44.0 + LINE * lines as f64 + 10.0;
        let mut drawing = Drawing::new(WIDTH, height);
        drawing.text(LEFT, 24.0, Style { size: 15.0, ..PLAIN }, &shortened(title, TITLE_MAX));
        drawing.text(LEFT, 43.0, Style { fill: "#444", ..PLAIN }, &self.summary());
        keys(&mut drawing);
        axes(&mut drawing, &rows, self.size);
        self.bands(&mut drawing, &rows);
        self.legend(&mut drawing, rows.foot() + 44.0);
        drawing.finish()
    }

    fn bands(&self, drawing: &mut Drawing, rows: &Rows) {
        let band = (0.0, BAND);
        for (is_data, fill) in [(true, OTHER_DATA), (false, METADATA)] {
            let of_kind = self.records.iter().filter(|record| {
                record.class != "gap" && is_data == matches!(&*record.class, "TBasket" | "page")
            });
            let end = |record: &Record| record.offset.saturating_add(record.stored_bytes);
            let ranges: Vec<_> = of_kind.map(|record| record.offset..end(record)).collect();
            drawing.path(&rows.path(ranges.iter(), band), &format!("fill=\"{fill}\""));
        }
        let columns = &self.footprint.columns;
        for (at, column) in columns.iter().enumerate() {
            let fill = format!("fill=\"{}\"", colour(at, columns.len()));
            drawing.path(&rows.path(column.ranges.iter(), band), &fill);
        }
        let fill = format!("fill=\"{FETCHED_COLOUR}\"");
        drawing.path(&rows.path(self.fetched.iter(), FETCHED), &fill);
    }

    fn summary(&self) -> String {
        let fetched: u64 = self.fetched.iter().map(|range| range.end - range.start).sum();
        format!(
            "{}; {} in {} of {} and {}; fetched {} in {}",
            size(self.size),
            size(self.footprint.stored_bytes()),
            count(self.footprint.pieces() as u64, "piece"),
            count(self.footprint.columns.len() as u64, "column"),
            count(self.footprint.ranges.len() as u64, "run"),
            size(fetched),
            count(self.fetched.len() as u64, "run"),
        )
    }

    /// The columns by name; of many, those with the most bytes.
    fn legend(&self, drawing: &mut Drawing, top: f64) {
        let columns = &self.footprint.columns;
        let style = Style { size: 11.0, ..PLAIN };
        let mut named: Vec<usize> = (0..columns.len()).collect();
        named.sort_by_key(|at| std::cmp::Reverse(columns[*at].stored_bytes));
        named.truncate(NAMED_MAX);
        named.sort_unstable();
        for (number, at) in named.iter().enumerate() {
            let x = LEFT + (number / LINES_MAX) as f64 * (WIDTH - LEFT - RIGHT) / 2.0;
            let y = top + LINE * (number % LINES_MAX) as f64;
            drawing.rect((x, x + 10.0), (y, y + 10.0), &colour(*at, columns.len()));
            drawing.text(x + 16.0, y + 9.0, style, &line(&columns[*at]));
        }
        if columns.len() > named.len() {
            let text = format!(
                "and {} with fewer bytes, coloured in the order of the columns",
                columns.len() - named.len()
            );
            drawing.text(LEFT + 16.0, top + LINE * LINES_MAX as f64 + 9.0, style, &text);
        }
    }
}

fn line(column: &FootprintColumn) -> String {
    let FootprintColumn { name, pieces, stored_bytes, ranges, .. } = column;
    let name = shortened(name, NAME_MAX);
    if ranges.is_empty() && *pieces > 0 {
        return format!("{name}: in the tree's own record");
    }
    format!(
        "{name}: {} in {} and {}",
        size(*stored_bytes),
        count(*pieces as u64, "piece"),
        count(ranges.len() as u64, "run")
    )
}

/// A text without its middle, where it is longer than there is room.
fn shortened(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let front = &letters[..half];
    let back = &letters[letters.len() - half..];
    front.iter().chain(&['…']).chain(back).collect()
}

/// Draws the part of the legend that does not depend on the columns.
fn keys(drawing: &mut Drawing) {
    let style = Style { size: 11.0, ..PLAIN };
    let mut x = LEFT;
    let all = [
        (OTHER_DATA, "other baskets and pages"),
        (METADATA, "keys, trees, metadata"),
        ("white", "nothing that a list names"),
    ];
    for (fill, name) in all {
        drawing.rect((x, x + 10.0), (56.0, 66.0), "#bbb");
        drawing.rect((x + 0.5, x + 9.5), (56.5, 65.5), fill);
        drawing.text(x + 15.0, 65.0, style, name);
        x += 40.0 + 6.0 * name.len() as f64;
    }
    drawing.rect((x, x + 10.0), (60.0, 62.5), FETCHED_COLOUR);
    drawing.text(x + 15.0, 65.0, style, "below: fetched");
}

fn axes(drawing: &mut Drawing, rows: &Rows, file_size: u64) {
    let (unit, name) = unit(rows.bytes);
    for row in (0..rows.count).step_by(2) {
        let start = row as f64 * rows.bytes as f64 / unit;
        let decimals = if rows.bytes as f64 / unit * 2.0 >= 1.0 { 0 } else { 1 };
        drawing.text(LEFT - 7.0, Rows::top(row) + BAND, NUMBER, &format!("{start:.decimals$}"));
    }
    let mut frame = String::new();
    for row in 0..rows.count {
        let start = row * rows.bytes;
        let end = rows.scale().at(file_size.saturating_sub(start).min(rows.bytes) as f64);
        let top = Rows::top(row);
        let foot = Rows::top(row) + BAND;
        let _ = write!(frame, "M{LEFT} {top:.1}H{end:.1}V{foot:.1}H{LEFT}z");
    }
    drawing.path(&frame, "fill=\"none\" stroke=\"#ddd\" stroke-width=\".5\"");
    let (ticks, decimals) =
        Scale { values: (0.0, rows.bytes as f64 / unit), pixels: (LEFT, WIDTH - RIGHT) }.ticks(8);
    for tick in ticks {
        let x = rows.scale().at(tick * unit);
        drawing.text(x, rows.foot() + 14.0, CENTRED, &format!("{tick:.decimals$}"));
    }
    let foot = rows.foot() + 30.0;
    drawing.text(
        (LEFT + WIDTH - RIGHT) / 2.0,
        foot,
        CENTRED,
        &format!("offset in the row, {name}"),
    );
    drawing.text_upwards(24.0, (TOP + rows.foot()) / 2.0, &format!("offset of the row, {name}"));
}

/// The unit in which a row is a number that is easy to read.
fn unit(bytes: u64) -> (f64, &'static str) {
    match bytes {
        0..2_000 => (1.0, "B"),
        2_000..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        _ => (1e9, "GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_round_and_few() {
        for (size, bytes, count) in [(1, 1, 1), (245_000_000, 10_000_000, 25), (80, 2, 40)] {
            let rows = Rows::of(size);
            assert_eq!((rows.bytes, rows.count), (bytes, count), "{size}");
        }
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("längere Namen", 6), "län…men");
    }

    #[test]
    fn what_ends_in_another_row_is_drawn_in_both() {
        let rows = Rows { bytes: 100, count: 3 };
        let path = rows.path([90..210, 210..220].iter(), (0.0, BAND));
        let marks: Vec<&str> = path.split('M').skip(1).collect();
        assert_eq!(marks.len(), 3, "{path}");
        assert!(marks[1].starts_with("84.00 105.0H936.00"), "{path}");
        assert!(marks[2].starts_with("84.00 118.0H254.40"), "neighbours are one: {path}");
    }
}
