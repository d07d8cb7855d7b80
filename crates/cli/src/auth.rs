//! `farroot auth`: the credentials that servers would get, without asking one.

use std::io::Write;
use std::time::SystemTime;

use clap::Args;
use engine::Config;
use remote::display::shown;

use crate::outcome::Outcome;
use crate::table::{lines_of_json, table, text};

/// List tokens, proxies, tickets and keys: where they are looked for, which one would be used,
/// whose it is, how long it lives, and why one cannot be used. No server is asked
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot auth")]
pub struct AuthArguments {
    /// For programs, one line of JSON a place
    #[arg(long)]
    json: bool,
}

/// Prints one line a place, and hints.
pub fn run(arguments: &AuthArguments) -> Outcome {
    let credential_store = Config::from_env()?.credential_store;
    let candidates = credential_store.candidates(SystemTime::now());
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let rows = candidates.iter().map(|candidate| serde_json::to_string(&candidate.json()));
        lines_of_json(&mut out, rows)?;
    } else {
        let mut rows = table(&["kind", "where", "whose", "time left", "mode", "state"]);
        for candidate in &candidates {
            let none = || "-".to_owned();
            let notes = candidate.notes.iter().map(|note| format!("; {note}"));
            rows.add_row([
                candidate.kind.name().to_owned(),
                candidate.place.to_string(),
                candidate.owner.clone().unwrap_or_else(none),
                candidate.time_left().unwrap_or_else(none),
                candidate.mode.map_or_else(none, |mode| format!("{mode:03o}")),
                candidate.verdict() + &notes.collect::<String>(),
            ]);
        }
        out.write_all(text(&rows).as_bytes())?;
        writeln!(
            out,
            "servers are verified by {}",
            shown(&credential_store.authorities().summary())
        )?;
        for candidate in candidates.iter().filter(|candidate| !candidate.advice().is_empty()) {
            writeln!(out, "-> {}", shown(&candidate.advice()))?;
        }
    }
    match candidates.iter().any(|candidate| candidate.is_unusable()) {
        true => Err("a credential is there that cannot be used".to_owned().into()),
        false => Ok(()),
    }
}
