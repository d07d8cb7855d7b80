//! The `farroot` command as Cargo installs it.

use std::process::ExitCode;

fn main() -> ExitCode {
    farroot_cli::run(std::env::args_os(), farroot_cli::parquet::compiled_in())
}
