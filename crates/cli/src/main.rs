//! The `farroot` command as Cargo installs it.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os(), cli::parquet::compiled_in())
}
