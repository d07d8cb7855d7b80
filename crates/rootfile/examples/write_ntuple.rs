//! Writes RNTuples of made-up types and entries, each beside its entries as JSON, for readers that
//! are not ours: `write_ntuple FOLDER FIRST SEEDS`. ROOT's `RNTupleReader::Show` prints entries as
//! JSON, too, but for those with counters.
#![allow(clippy::disallowed_methods, reason = "a program writes files")]

use std::collections::BTreeMap;

use farroot_rootfile::Array;
use farroot_rootfile::array::Number;
use farroot_rootfile::write::{
    Compression, EntryType, RNTupleOptions, RNTupleWriter, RealStorage, TableColumn,
};
use serde_json::{Value, json};

#[path = "../tests/support/seeded.rs"]
#[allow(dead_code, reason = "tests divide entries, too")]
mod seeded;
#[path = "../tests/support/write.rs"]
mod write;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, seeds] = &arguments[..] else { panic!("FOLDER FIRST SEEDS") };
    let first: u64 = first.parse().unwrap();
    let seeds: u64 = seeds.parse().unwrap();
    for seed in first..first + seeds {
        let mut seeded = seeded::Seeded::new(seed);
        let columns = seeded.columns();
        let options = RNTupleOptions {
            description: format!("seed {seed}"),
            descriptions: BTreeMap::new(),
            compression: Compression::of_number([0, 505, 101, 404][seed as usize % 4]).unwrap(),
            cluster_bytes: [64 << 20, 3000, 1][seed as usize % 3],
            cluster_entries: None,
            page_bytes: [1 << 20, 100, 8][seed as usize / 3 % 3],
            checksums: !seed.is_multiple_of(7),
            // uproot does not read payloads in several records.
            max_key_size: if seed % 8 == 3 { 1200 } else { 1 << 30 },
            counter_name: (seed % 5 == 4).then(|| "n{name}".into()),
            reals: if seed % 6 == 5 { reals(&columns, seed) } else { vec![] },
        };
        let arrays = seeded.arrays(&columns, [0, 1, 60][seed as usize % 5 % 3]);
        let writer = RNTupleWriter::new(columns.clone(), options).unwrap();
        let mut writing = write::Writing::new("events", Box::new(writer), seed * 2 + 1);
        writing.extend(arrays.clone());
        std::fs::write(format!("{folder}/{seed}.root"), writing.finish()).unwrap();
        let entries = |array: &Array| (0..array.len()).map(|row| value(array, row)).collect();
        let named = columns.iter().zip(&arrays);
        let all: serde_json::Map<String, Value> =
            named.map(|(column, array)| (column.name.clone(), entries(array))).collect();
        std::fs::write(format!("{folder}/{seed}.json"), Value::Object(all).to_string()).unwrap();
    }
}

/// All reals with fewer bits, so that values read are only near to those written.
fn reals(columns: &[TableColumn], seed: u64) -> Vec<(String, RealStorage)> {
    let storage = match seed / 6 % 4 {
        0 => RealStorage::Single,
        1 => RealStorage::Truncated { bits: 26 },
        2 => RealStorage::Truncated { bits: 31 },
        _ => RealStorage::Quantised { bits: 32, min: -1.0, max: 3e18 },
    };
    let is_real = |column: &&TableColumn| match &column.entry {
        EntryType::Number(Number::F32 | Number::F64) => true,
        EntryType::List(content) => **content == EntryType::Number(Number::F32),
        _ => false,
    };
    columns.iter().filter(is_real).map(|column| (column.name.clone(), storage)).collect()
}

/// One entry.
fn value(array: &Array, row: usize) -> Value {
    let list = |content: &Array, start: usize, end: usize| {
        (start..end).map(|row| value(content, row)).collect::<Value>()
    };
    match array {
        Array::Numbers { numbers, .. } => {
            use farroot_rootfile::Numbers::*;
            match numbers {
                Bool(all) => json!(all[row] != 0),
                I8(all) => json!(all[row]),
                I16(all) => json!(all[row]),
                I32(all) => json!(all[row]),
                I64(all) => json!(all[row]),
                U8(all) => json!(all[row]),
                U16(all) => json!(all[row]),
                U32(all) => json!(all[row]),
                U64(all) => json!(all[row]),
                F32(all) => json!(f64::from(all[row])),
                F64(all) => json!(all[row]),
            }
        }
        Array::Strings { offsets, bytes } => {
            let text = &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            json!(String::from_utf8_lossy(text))
        }
        Array::List { offsets, content } => {
            list(content, offsets[row] as usize, offsets[row + 1] as usize)
        }
        Array::Regular { length, content, .. } => list(content, row * length, (row + 1) * length),
        Array::Record { fields, .. } => {
            fields.iter().map(|(name, field)| (name.clone(), value(field, row))).collect()
        }
        Array::Option { index, content } => match usize::try_from(index[row]) {
            Ok(row) => value(content, row),
            Err(_) => Value::Null,
        },
        Array::WithParameter { content, .. } => value(content, row),
        Array::Union { .. } => Value::Null,
    }
}
