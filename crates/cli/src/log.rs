//! `RUST_LOG` writes farroot's events to standard error.

use std::env;
use std::io;

use clap::ValueEnum;
use serde::Deserialize;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt;

/// The variable that other programs in Rust have, too: `debug`, `farroot=debug`, or several.
const VARIABLE: &str = "RUST_LOG";
const USUAL: &str = "farroot=info";
const WARNINGS: &str = "farroot=warn";

/// How an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

/// From now on writes the events that the variable asks for.
pub fn start() {
    if env::var_os(VARIABLE).is_some_and(|wanted| !wanted.is_empty()) {
        start_as(LogFormat::Text);
    }
}

/// From now on writes the events that the variable asks for, else those that an administrator
/// wants to see.
pub fn start_as(format: LogFormat) {
    start_or(USUAL, format);
}

/// From now on writes the events that the variable asks for, else warnings and errors.
pub fn start_with_warnings() {
    start_or(WARNINGS, LogFormat::Text);
}

fn start_or(usual: &str, format: LogFormat) {
    let wanted = env::var(VARIABLE).ok().filter(|wanted| !wanted.is_empty());
    match wanted.as_deref().unwrap_or(usual).parse::<Targets>() {
        Ok(targets) => {
            // Libraries that farroot uses may write credentials.
            let ours = filter_fn(|metadata| metadata.target().starts_with("farroot"));
            let lines = fmt::layer().with_ansi(false).with_writer(io::stderr);
            let filter = targets.and(ours);
            // A program that has a subscriber already keeps it.
            let _ = match format {
                LogFormat::Text => registry().with(lines.with_filter(filter)).try_init(),
                LogFormat::Json => registry().with(lines.json().with_filter(filter)).try_init(),
            };
        }
        Err(error) => eprintln!("warning: {VARIABLE} is ignored, as it is no filter: {error}"),
    }
}
