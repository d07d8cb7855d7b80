//! Writes a tree of seeded types, and prints the content of its branches as JSON, for a comparison
//! with the values that ROOT and uproot read.
#![allow(clippy::disallowed_methods, reason = "an example writes files")]

use farroot_rootfile::write::tree::{ClusterSize, Jagged, TextBranch, TreeOptions, TreeWriter};
use farroot_rootfile::write::{Compression, DirectoryId};
use farroot_rootfile::{Array, Numbers};
use serde_json::{Value, json};

#[path = "../tests/support/made_up.rs"]
mod made_up;
#[path = "../tests/support/written.rs"]
mod written;

use made_up::{Dice, array, branches};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: write_tree FILE SEED ENTRIES";
    let path = args.next().ok_or(usage)?;
    let seed: u64 = args.next().ok_or(usage)?.parse()?;
    let entries: usize = args.next().ok_or(usage)?.parse()?;
    let mut dice = Dice::new(seed);
    let columns = made_up::columns(&mut dice);
    let arrays: Vec<_> =
        columns.iter().map(|column| array(&mut dice, &column.entry, entries)).collect();
    let options = TreeOptions {
        title: format!("tree {seed}"),
        jagged: if dice.roll(2) == 0 { Jagged::Counter } else { Jagged::Vector },
        text: if dice.roll(2) == 0 { TextBranch::Leaf } else { TextBranch::StdString },
        cluster: [ClusterSize::Bytes(3000), ClusterSize::Entries(50)][dice.roll(2)],
        basket_bytes: [100, 5000, 1 << 20][dice.roll(3)],
        compression: Compression::of_number([0, 101, 207, 404, 505][dice.roll(5)])?,
        ..TreeOptions::default()
    };
    let mut file = written::file();
    let table = file.add_table(
        DirectoryId::TOP,
        "events",
        Box::new(TreeWriter::new(columns.clone(), options)?),
    );
    let mut written = written::Written::new(file, seed);
    for piece in made_up::pieces(&arrays, 30) {
        written.file.extend(table, piece)?;
        written.drive();
    }
    std::fs::write(path, written.finish())?;
    let mut said = serde_json::Map::new();
    for (column, array) in columns.iter().zip(&arrays) {
        for (name, array) in branches(&column.name, array) {
            said.insert(name, (0..array.len()).map(|entry| value(&array, entry)).collect());
        }
    }
    println!("{}", Value::Object(said));
    Ok(())
}

/// One entry of an array.
fn value(array: &Array, entry: usize) -> Value {
    match array {
        Array::Numbers { numbers, shape } => fixed(numbers, shape, entry),
        Array::List { offsets, content } => {
            (offsets[entry]..offsets[entry + 1]).map(|item| value(content, item as usize)).collect()
        }
        Array::Strings { offsets, bytes } => {
            let text = &bytes[offsets[entry] as usize..offsets[entry + 1] as usize];
            Value::String(String::from_utf8_lossy(text).into_owned())
        }
        other => unreachable!("no branch is {other:?}"),
    }
}

fn fixed(numbers: &Numbers, shape: &[usize], at: usize) -> Value {
    if let [length, inner @ ..] = shape {
        return (at * length..(at + 1) * length).map(|at| fixed(numbers, inner, at)).collect();
    }
    match numbers {
        Numbers::Bool(all) => json!(all[at] != 0),
        Numbers::I8(all) => json!(all[at]),
        Numbers::I16(all) => json!(all[at]),
        Numbers::I32(all) => json!(all[at]),
        Numbers::I64(all) => json!(all[at]),
        Numbers::U8(all) => json!(all[at]),
        Numbers::U16(all) => json!(all[at]),
        Numbers::U32(all) => json!(all[at]),
        Numbers::U64(all) => json!(all[at]),
        Numbers::F32(all) => json!(all[at]),
        Numbers::F64(all) => json!(all[at]),
    }
}
