//! The mean of a column of real numbers over many files, of which entries pass a cut:
//! `cargo run --example scan -- 'MET_pt > 50' MET_phi FILE:TREE FILE:TREE`.

use farroot::{Cut, Engine, Result, ScanRequest, ValueRef};

/// How many entries pass, and the mean of their numbers.
pub fn mean(cut: &str, column: &str, addresses: &[String]) -> Result<(u64, f64)> {
    let engine = Engine::new()?;
    let request = ScanRequest::new().columns([column]).cut(Cut::parse(cut)?);
    let mut scan = engine.scan(addresses, request);
    let mut count = 0;
    let mut sum = 0.0;
    while let Some(batch) = engine.block_on(scan.next()) {
        for value in batch?[column].values() {
            count += 1;
            sum += match value {
                ValueRef::Int(number) => number as f64,
                ValueRef::F32(number) => number.into(),
                ValueRef::F64(number) => number,
                other => panic!("{other} is no real number"),
            };
        }
    }
    Ok((count, sum / count as f64))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cut, column, addresses @ ..] = &arguments[..] else { panic!("CUT COLUMN FILE:TREE…") };
    let (count, mean) = mean(cut, column, addresses)?;
    println!("{count} entries, mean {mean}");
    Ok(())
}
