//! Copies files: `cargo run --example copy -- FILE… FOLDER`.

use std::path::Path;

use farroot::{CopyOptions, Engine, Progress, Result};

/// Bytes that have been copied.
pub fn copy(sources: &[String], target: &Path) -> Result<u64> {
    let engine = Engine::new()?;
    let options = CopyOptions::default().overwrite(true);
    let report = |progress: Progress| {
        eprint!("\rfile {} of {}: {} bytes", progress.file + 1, progress.files, progress.done);
    };
    let copies = engine.remote().copy(sources, target, options, &report);
    let copied: Vec<_> = engine.block_on(copies)?.into_iter().collect::<Result<_>>()?;
    Ok(copied.iter().map(|file| file.size).sum())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (target, sources) = arguments.split_last().expect("FILE… FOLDER");
    println!("\n{} bytes", copy(sources, Path::new(target))?);
    Ok(())
}
