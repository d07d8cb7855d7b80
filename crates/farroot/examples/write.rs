//! Writes a tree of made-up muons: `cargo run --example write -- FILE ENTRIES`.

use std::sync::Arc;

use farroot::{
    Array, Engine, EntryType, Number, Numbers, Result, TableColumn, TreeOptions, WriteOptions,
    WriteReport,
};

/// Entries that are added at a time.
const BATCH: usize = 10_000;

/// Momenta of the muons of some events: as many as the event's number modulo 4.
fn momenta(events: std::ops::Range<usize>) -> Array {
    let mut offsets = vec![0];
    let mut values: Vec<f32> = Vec::new();
    for event in events {
        values.extend((0..event % 4).map(|muon| (10 * event + muon) as f32));
        offsets.push(values.len() as i64);
    }
    let content = Array::Numbers { numbers: Numbers::F32(values), shape: Vec::new() };
    Array::List { offsets: offsets.into(), content: Box::new(content) }
}

/// Writes so many entries, and returns the report.
pub fn write(address: &str, entries: usize) -> Result<WriteReport> {
    let engine = Engine::new()?;
    engine.block_on(async {
        let file = engine.create(address, WriteOptions::default().overwrite(true)).await?;
        let float = EntryType::Number(Number::F32);
        let columns = [
            TableColumn::new("event", EntryType::Number(Number::I64)),
            TableColumn::new("Muon_pt", EntryType::List(Box::new(float))),
        ];
        let events = file.make_tree("Events", columns.into(), TreeOptions::default()).await?;
        for start in (0..entries).step_by(BATCH) {
            let end = entries.min(start + BATCH);
            let numbers = Numbers::I64((start as i64..end as i64).collect());
            let number = Array::Numbers { numbers, shape: Vec::new() };
            events.extend([number, momenta(start..end)].map(Arc::new).into()).await?;
        }
        file.finish().await
    })
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, entries] = &arguments[..] else { panic!("FILE and ENTRIES") };
    println!("{}", write(address, entries.parse().expect("a number of entries"))?);
    Ok(())
}
