//! Prints ten entries of columns: `cargo run --example read -- FILE:TREE 'Muon_*' nMuon`.

use farroot::{Engine, Result};

/// The first ten entries, a line each.
pub fn lines(address: &str, columns: &[String]) -> Result<Vec<String>> {
    let engine = Engine::new()?;
    let batch = engine.block_on(async {
        let table = engine.table(address).await?;
        engine.read(&table, columns, ..10).await
    })?;
    let row = |row: usize| {
        let values =
            batch.columns.iter().map(|(name, array)| format!("{name}: {}", array.value(row)));
        values.collect::<Vec<_>>().join(", ")
    };
    Ok((0..batch.len() as usize).map(row).collect())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (address, columns) = arguments.split_first().expect("FILE:TREE and columns");
    lines(address, columns)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
