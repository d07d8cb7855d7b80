//! Tables for people: plain columns, numbers to the right. And for programs: lines of JSON.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// An empty table with these headings; those that begin with `>` stand above numbers.
pub fn table(headings: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.iter().map(|heading| heading.trim_start_matches('>')));
    for (column, heading) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, 2));
        if heading.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
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

/// A table as text, without blanks at the ends of lines.
pub fn text(table: &Table) -> String {
    let mut text =
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}
