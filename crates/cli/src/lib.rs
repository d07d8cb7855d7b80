//! The `farroot` command. A verb is a file; no logic that a library user would miss.

mod access;
mod auth;
mod cache;
mod cat;
mod check;
mod completions;
mod cp;
mod doctor;
mod exercise;
mod log;
mod ls;
mod man;
mod map;
mod members;
mod merge;
mod outcome;
pub mod parquet;
mod plan;
mod plugin;
#[cfg(test)]
mod promises;
mod proxy;
mod quotas;
mod reading;
mod run;
mod serve;
mod setup;
mod show;
mod site;
mod skim;
mod table;
mod target;
mod units;
mod user_proxy;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use engine::ParquetLibrary;

/// Reads ROOT data that is far away as if it were near
///
/// Settings are FARROOT_* variables: see docs/settings.md. The exit status is 0, 1 when the work
/// failed, 2 when the arguments cannot be understood, 130 after Ctrl-C and 143 after SIGTERM.
#[derive(Debug, Parser)]
#[command(name = "farroot", bin_name = "farroot", version, arg_required_else_help = true)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Ls(ls::LsArguments),
    Show(show::ShowArguments),
    Skim(skim::SkimArguments),
    Map(map::MapArguments),
    Plan(plan::PlanArguments),
    Cat(cat::CatArguments),
    Cp(cp::CpArguments),
    Merge(merge::MergeArguments),
    Auth(auth::AuthArguments),
    Cache(cache::CacheArguments),
    Check(check::CheckArguments),
    Doctor(doctor::DoctorArguments),
    Exercise(exercise::ExerciseArguments),
    Serve(serve::ServeArguments),
    Proxy(proxy::ProxyArguments),
    Run(run::RunArguments),
    Setup(setup::SetupArguments),
    Completions(completions::CompletionsArguments),
    Man(man::ManArguments),
}

/// Runs the command with its arguments, the program's own name first. The wheel's `farroot` and
/// Cargo's are both this function, each with a library of its own for `cat --parquet`.
///
/// The exit status is 0, 1 when the work failed, 2 when the arguments cannot be understood, 130
/// after Ctrl-C and 143 after SIGTERM.
pub fn run(arguments: impl Iterator<Item = OsString>, parquet: &dyn ParquetLibrary) -> ExitCode {
    let arguments = merge::without_hadds_numbers(arguments.collect());
    let command = match Command::try_parse_from(arguments) {
        Ok(command) => command,
        Err(error) => {
            // Help and version come this way as well; a closed terminal needs no complaint.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    for warning in remote::settings::misspelt(std::env::vars_os().map(|(name, _)| name)) {
        eprintln!("warning: {warning}");
    }
    if !matches!(command.verb, Verb::Proxy(_)) {
        log::start();
    }
    outcome::exit_code(match command.verb {
        Verb::Ls(arguments) => ls::run(&arguments),
        Verb::Show(arguments) => show::run(&arguments),
        Verb::Skim(arguments) => skim::run(&arguments, parquet),
        Verb::Map(arguments) => map::run(&arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Cat(arguments) => cat::run(&arguments, parquet),
        Verb::Cp(arguments) => cp::run(&arguments),
        Verb::Merge(arguments) => merge::run(&arguments),
        Verb::Auth(arguments) => auth::run(&arguments),
        Verb::Cache(arguments) => cache::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Exercise(arguments) => exercise::run(&arguments),
        Verb::Serve(arguments) => serve::run(arguments),
        Verb::Proxy(arguments) => proxy::run(arguments),
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Setup(arguments) => setup::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Command::command().debug_assert();
    }
}
