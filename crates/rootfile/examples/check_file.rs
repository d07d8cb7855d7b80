//! Prints the findings of a check of files: `check_file FILE...`.
#![allow(clippy::disallowed_methods, reason = "an example reads files")]

use bytes::Bytes;
use farroot_rootfile::write::check::check;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        for finding in check(&Bytes::from(std::fs::read(&path)?)) {
            println!("{path}: {finding}");
        }
    }
    Ok(())
}
