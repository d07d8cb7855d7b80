//! Reads columns of a tree and prints where the time went.
//!
//! `cargo run --release -p farroot-engine --example three_columns -- URL TREE COLUMN...`

use std::time::Instant;

fn main() -> farroot_engine::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, tree, columns @ ..] = &arguments[..] else {
        eprintln!("usage: three_columns URL TREE COLUMN...");
        return Ok(());
    };
    let engine = farroot_engine::Engine::start(farroot_engine::Config::from_env()?)?;
    let started = Instant::now();
    let batch = engine.block_on(async {
        let tree = engine.open_tree(url, Some(tree)).await?;
        println!("open after {:.1} ms", 1e3 * started.elapsed().as_secs_f64());
        let chosen = tree.columns(columns)?;
        let batch = tree.read(chosen, 0..u64::MAX).await?;
        println!("read after {:.1} ms", 1e3 * started.elapsed().as_secs_f64());
        println!("{}", tree.file().timeline_text(100));
        Ok::<_, farroot_engine::Error>(batch)
    })?;
    for (name, array) in &batch.columns {
        println!("{name}: {} entries, {} bytes", array.len(), array.nbytes());
    }
    print!("{}", engine.report());
    Ok(())
}
