//! `farroot doctor URL`: where the way to a file is blocked, or slow.

use std::io::Write;

use clap::Args;
use remote::display::shown;
use remote::source::diagnose::Step;

use crate::outcome::Outcome;
use crate::reading::with_engine;
use crate::setup;
use crate::table::{lines_of_json, table, text};

/// Find the fault, or the slow step, on the way to a file: credentials, name, connection, TLS,
/// clock, login, open, read, several ranges, and whether the file is whole
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot doctor root://eos.example//store/nano.root")]
pub struct DoctorArguments {
    /// A URL (root://, http://) or a path; of 'URL1|URL2', each
    url: String,
    /// For programs, one line of JSON a step
    #[arg(long)]
    json: bool,
}

/// Prints one line a step, and hints.
pub fn run(arguments: &DoctorArguments) -> Outcome {
    with_engine(async |engine| {
        let findings = engine.examine(&arguments.url).await?;
        let mut out = std::io::stdout().lock();
        if arguments.json {
            lines_of_json(&mut out, findings.iter().map(serde_json::to_string))?;
        } else {
            let mut steps = table(&["step", ">ms", "where", "what"]);
            for finding in &findings {
                let mark = if finding.is_fault { "FAULT: " } else { "" };
                steps.add_row([
                    finding.step.name().to_owned(),
                    format!("{:.1}", finding.seconds * 1e3),
                    finding.place.clone(),
                    format!("{mark}{}", finding.text),
                ]);
            }
            out.write_all(text(&steps).as_bytes())?;
            if let Some(fault) = setup::fault() {
                writeln!(out, "-> {}", shown(&fault))?;
            }
            for advice in findings.iter().filter_map(|finding| finding.advice.as_ref()) {
                writeln!(out, "-> {}", shown(advice))?;
            }
        }
        match findings.last().filter(|last| last.is_fault) {
            Some(last) if last.step == Step::File => {
                Err("the file is not as it should be".to_owned().into())
            }
            Some(_) => Err("the file cannot be read from here".to_owned().into()),
            None => Ok(()),
        }
    })
}
