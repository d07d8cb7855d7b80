//! `RUST_LOG` writes farroot's events to standard error.

use std::env;
use std::io;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry;
use tracing_subscriber::util::SubscriberInitExt;

/// The variable that other programs in Rust have, too: `debug`, `farroot=debug`, or several.
const VARIABLE: &str = "RUST_LOG";

/// From now on writes the events that the variable asks for.
pub fn start() {
    let Some(wanted) = env::var(VARIABLE).ok().filter(|wanted| !wanted.is_empty()) else { return };
    match wanted.parse::<Targets>() {
        Ok(targets) => {
            // Libraries that farroot uses may write credentials.
            let ours = filter_fn(|metadata| metadata.target().starts_with("farroot"));
            let lines = fmt::layer().with_ansi(false).with_writer(io::stderr);
            // A program that has a subscriber already keeps it.
            let _ = registry().with(lines.with_filter(targets.and(ours))).try_init();
        }
        Err(error) => eprintln!("warning: {VARIABLE} is ignored, as it is no filter: {error}"),
    }
}
