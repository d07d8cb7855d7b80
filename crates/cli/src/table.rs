//! Tables for people: plain columns, numbers to the right. And for programs: lines of JSON.

use std::io::{self, IsTerminal, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use remote::display::shown;

/// Blanks between columns.
const GAP: usize = 2;
/// A column of text is made no narrower than this, for the table to fit.
const TEXT_WIDTH_MIN: usize = 14;

/// Rows below headings.
#[derive(Debug, Clone)]
pub struct Listing {
    table: Table,
    /// Of each column, whether it is one of numbers.
    is_number: Vec<bool>,
}

/// An empty table with these headings; those that begin with `>` stand above numbers.
pub fn table(headings: &[&str]) -> Listing {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.iter().map(|heading| shown(heading.trim_start_matches('>'))));
    for (column, heading) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, GAP as u16));
        if heading.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    Listing { table, is_number: headings.iter().map(|heading| heading.starts_with('>')).collect() }
}

impl Listing {
    /// Cells are names and texts of files: they show control characters as escapes.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl AsRef<str>>) {
        let cells = cells.into_iter().map(|cell| shown(cell.as_ref()).into_owned());
        self.table.add_row(cells.collect::<Vec<_>>());
    }
}

/// Each row, as JSON, on a line of its own.
pub fn lines_of_json(
    out: &mut impl Write,
    rows: impl Iterator<Item = serde_json::Result<String>>,
) -> io::Result<()> {
    for row in rows {
        writeln!(out, "{}", row?)?;
    }
    Ok(())
}

/// A table as text, as wide as the terminal has room for. Where that is too narrow for columns,
/// each row is a paragraph. In a pipe a row is a line.
pub fn text(listing: &Listing) -> String {
    match terminal_width() {
        Some(width) => fitted(listing, width),
        None => plain(&listing.table),
    }
}

/// Columns of characters of the terminal that the output goes to, if it does.
fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&out).ok()?;
    Some(size.ws_col.into()).filter(|width| *width > 0)
}

/// Without blanks at the ends of lines.
fn plain(table: &Table) -> String {
    let mut text =
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

fn fitted(listing: &Listing, width: usize) -> String {
    let Listing { table, is_number } = listing;
    let widths: Vec<usize> =
        table.column_max_content_widths().into_iter().map(usize::from).collect();
    let gaps = GAP * widths.len().saturating_sub(1);
    if widths.iter().sum::<usize>() + gaps <= width {
        return plain(table);
    }
    let least: usize = widths
        .iter()
        .zip(is_number)
        .map(|(width, is_number)| if *is_number { *width } else { (*width).min(TEXT_WIDTH_MIN) })
        .sum();
    if least + gaps > width {
        return paragraphs(table, width);
    }
    let mut table = table.clone();
    // The last column's padding is blanks that are cut off.
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width((width + GAP) as u16);
    for ((column, content), is_number) in table.column_iter_mut().zip(&widths).zip(is_number) {
        let least = if *is_number { *content } else { (*content).min(TEXT_WIDTH_MIN) };
        let bound = Width::Fixed((least + GAP) as u16);
        column.set_constraint(match is_number {
            true => ColumnConstraint::Absolute(bound),
            false => ColumnConstraint::LowerBoundary(bound),
        });
    }
    plain(&table)
}

/// Each row as its first cell on a line, and the others with their headings below.
fn paragraphs(table: &Table, width: usize) -> String {
    let headings: Vec<String> = table
        .header()
        .map(|row| row.cell_iter().map(comfy_table::Cell::content).collect())
        .unwrap_or_default();
    let mut out = String::new();
    for row in table.row_iter() {
        let cells: Vec<String> = row.cell_iter().map(comfy_table::Cell::content).collect();
        let Some((first, rest)) = cells.split_first() else { continue };
        out.push_str(&format!("{first}\n"));
        let mut line = String::new();
        for (heading, cell) in
            headings.iter().skip(1).zip(rest).filter(|(_, cell)| !cell.is_empty())
        {
            let part = format!("{heading} {cell}");
            let part = part.trim();
            if !line.is_empty() && 2 + line.chars().count() + 2 + part.chars().count() > width {
                out.push_str(&format!("  {line}\n"));
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { ", " });
            line.push_str(part);
        }
        if !line.is_empty() {
            out.push_str(&format!("  {line}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Listing {
        let mut example = table(&["name", "class", ">stored", "title"]);
        example.add_row(["Events;1", "TTree", "1.10 kB", "a tree of events with a long title"]);
        example.add_row(["run_and_more/h;12", "TH1F", "350 B", ""]);
        example
    }

    /// On a terminal of 50 columns each row broke wherever the line was full.
    #[test]
    fn a_table_is_no_wider_than_the_terminal() {
        let wide = fitted(&example(), 200);
        assert_eq!(wide, plain(&example().table));
        for width in 20..90 {
            let text = fitted(&example(), width);
            // A text that is wider by itself is left for the terminal to break.
            let fits = |line: &str| line.chars().count() <= width || !line.contains(", ");
            assert!(text.lines().all(fits), "{width}\n{text}");
            let all: String = text.split_whitespace().collect();
            assert!(all.contains("1.10kB") && all.contains("350B"), "{width}\n{text}");
        }
        assert!(fitted(&example(), 60).starts_with("name"), "columns");
        let narrow =
            "Events;1\n  class TTree, stored 1.10 kB\n  title a tree of events with a long title\n";
        assert!(fitted(&example(), 36).starts_with(narrow), "{}", fitted(&example(), 36));
    }
}
