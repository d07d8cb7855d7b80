//! `farroot check FILE`: whether files are written as they should be.

use std::io::Write;

use clap::Args;
use remote::display::shown;
use serde_json::json;

use crate::outcome::Outcome;
use crate::reading::with_engine;
use crate::table::lines_of_json;

/// Find what the writer of a file did wrong, also what readers do not notice: the whole file is
/// read, and held in memory
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// URLs or paths
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// For programs, one line of JSON a finding
    #[arg(long)]
    json: bool,
}

/// Prints one line a finding. Findings are a failure.
pub fn run(arguments: &CheckArguments) -> Outcome {
    with_engine(async |engine| {
        let (mut out, mut count) = (std::io::stdout(), 0);
        for file in &arguments.files {
            let findings = engine.check(file).await?;
            count += findings.len();
            if arguments.json {
                let line = |finding: &engine::Finding| json!({"file": file, "offset": finding.offset, "what": finding.what});
                lines_of_json(&mut out, findings.iter().map(|found| Ok(line(found).to_string())))?;
                continue;
            }
            for finding in findings {
                writeln!(out, "{}", shown(&format!("{file}: {finding}")))?;
            }
        }
        match count {
            0 => Ok(()),
            1 => Err("one finding".to_owned().into()),
            _ => Err(format!("{count} findings").into()),
        }
    })
}
