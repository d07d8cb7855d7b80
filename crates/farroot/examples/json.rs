//! Prints the entries of columns that pass a cut as JSON, a line each; `all` reads them at once:
//! `cargo run --example json -- STEP|all FIRST END 'CUT' COLUMN… -- FILE:TREE…`.

use std::ops::Range;
use std::process::ExitCode;

use farroot::{Batch, Cut, Engine, Result, ScanRequest, Step, ValueRef};

/// As JSON, with Python's words for numbers that are not finite.
fn json(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::F32(number) => json(ValueRef::F64(number.into())),
        ValueRef::F64(number) => format!("{number:?}").replace("inf", "Infinity"),
        ValueRef::Text(bytes) => quoted(&String::from_utf8_lossy(bytes)),
        ValueRef::List(items) => format!("[{}]", items.map(json).collect::<Vec<_>>().join(", ")),
        ValueRef::Record(record) => object(record.fields()),
        plain => plain.to_string(),
    }
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, ValueRef<'a>)>) -> String {
    let pairs = fields.map(|(name, value)| format!("{}: {}", quoted(name), json(value)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
}

fn quoted(text: &str) -> String {
    let escaped = text.chars().map(|letter| match letter {
        '"' | '\\' => format!("\\{letter}"),
        letter if letter.is_control() => format!("\\u{:04x}", u32::from(letter)),
        letter => letter.into(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn lines_of(batch: &Batch) -> Vec<String> {
    let columns = || batch.columns.iter();
    let row = |row| object(columns().map(|(name, array)| (name.as_str(), array.value(row))));
    (0..batch.len() as usize).map(row).collect()
}

/// All entries of a table, read at once.
pub fn at_once(entries: Range<u64>, columns: &[String], address: &str) -> Result<Vec<String>> {
    let engine = Engine::new()?;
    let read = async {
        let table = engine.table(address).await?;
        engine.read(&table, columns, entries).await
    };
    Ok(lines_of(&engine.block_on(read)?))
}

/// The entries of each table that pass a cut (an empty one: all), read in steps.
pub fn in_steps(
    step: u64,
    entries: Range<u64>,
    cut: &str,
    columns: &[String],
    addresses: &[String],
) -> Result<Vec<String>> {
    let engine = Engine::new()?;
    let mut request =
        ScanRequest::new().columns(columns).entries(entries).step(Step::Entries(step));
    if !cut.is_empty() {
        request = request.cut(Cut::parse(cut)?);
    }
    let mut scan = engine.scan(addresses, request);
    let mut lines = Vec::new();
    while let Some(batch) = engine.block_on(scan.next()) {
        lines.extend(lines_of(&batch?.batch));
    }
    Ok(lines)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [step, first, end, cut, rest @ ..] = &arguments[..] else {
        panic!("STEP|all FIRST END CUT COLUMN… -- FILE:TREE…");
    };
    let at = rest.iter().position(|word| word == "--").expect("-- before the files");
    let columns = &rest[..at];
    let addresses = &rest[at + 1..];
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let entries = number(first)..number(end);
    let lines = match (&**step, addresses) {
        ("all", [address]) if cut.is_empty() => at_once(entries, columns, address),
        (step, _) => in_steps(number(step), entries, cut, columns, addresses),
    };
    match lines {
        Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
        Err(error) => {
            eprintln!("farroot: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
