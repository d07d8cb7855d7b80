//! Entries as lines of CSV.

use engine::Batch;

use super::rows::Rows;

/// The names of the columns, and a line an entry.
pub(super) const ROWS: Rows = Rows { head: write_head, batch: write };

fn write_head(out: &mut Vec<u8>, names: &[&str]) {
    let names: Vec<String> = names.iter().map(|name| field(name)).collect();
    out.extend_from_slice(names.join(",").as_bytes());
    out.push(b'\n');
}

fn write(out: &mut Vec<u8>, batch: &Batch) {
    for row in 0..usize::try_from(batch.len()).unwrap_or(usize::MAX) {
        for (at, (_, array)) in batch.columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(field(&array.value(row).to_string()).as_bytes());
        }
        out.push(b'\n');
    }
}

/// A field of CSV (RFC 4180): in quotes where it must be.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("1.5"), "1.5");
        assert_eq!(field("[1, 2]"), "\"[1, 2]\"");
        assert_eq!(field("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
