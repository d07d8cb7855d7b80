//! `farroot check FILE`: whether files are written as they should be.

use std::io::Write;

use clap::Args;
use engine::{Finding, Severity};
use remote::display::{shown, without_secrets};
use serde_json::json;

use crate::outcome::Outcome;
use crate::reading::with_engine;
use crate::table::lines_of_json;

/// Find the mistakes of a file's writer, also those that readers do not notice: the whole file is
/// read, and held in memory
///
/// Each finding is broken (a reader fails or gets other values, or the next writer writes over
/// data), wasteful (bytes that nothing needs) or unusual (ROOT writes it otherwise and reads it all
/// the same). The exit status is 1 where some finding is broken, and 0 where none is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot check nano.root")]
pub struct CheckArguments {
    /// URLs or paths
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// For programs, one line of JSON a finding
    #[arg(long)]
    json: bool,
}

/// Prints one line a finding. Only those that are broken are a failure.
pub fn run(arguments: &CheckArguments) -> Outcome {
    with_engine(async |engine| {
        let mut out = std::io::stdout();
        let mut broken = 0;
        for file in &arguments.files {
            let findings = engine.check(file).await?;
            broken += findings.iter().filter(|one| one.severity == Severity::Broken).count();
            if arguments.json {
                let lines = findings.iter().map(|finding| Ok(line(file, finding)));
                lines_of_json(&mut out, lines)?;
                continue;
            }
            for finding in findings {
                writeln!(out, "{}", shown(&format!("{file}: {finding}")))?;
            }
        }
        match broken {
            0 => Ok(()),
            1 => Err("one finding is broken".to_owned().into()),
            _ => Err(format!("{broken} findings are broken").into()),
        }
    })
}

fn line(file: &str, finding: &Finding) -> String {
    let Finding { severity, offset, message } = finding;
    let severity = severity.to_string();
    let file = without_secrets(file);
    json!({"file": file, "offset": offset, "severity": severity, "what": message}).to_string()
}
