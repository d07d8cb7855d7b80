//! `farroot completions SHELL`: the script that completes command lines in a shell.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::outcome::Outcome;

/// Print the script with which a shell completes verbs, options and their values
///
/// The package installs it for bash, zsh and fish, below share/ of its environment.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  eval \"$(farroot completions bash)\"
  farroot completions zsh > _farroot")]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &CompletionsArguments) -> Outcome {
    let mut script = Vec::new();
    let mut command = crate::Command::command();
    // Not into the output itself: it panics where that is closed.
    clap_complete::generate(arguments.shell, &mut command, "farroot", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}
