//! What is in a directory of a server: one question on a connection of its own.

use std::sync::Arc;

use tokio::sync::mpsc;
use url::Url;

use super::network::Network;
use super::{Command, ConnectionTag, FileRef, Link, Notice, RequestTag, display_url, server_for};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// How often a question may be passed on: a redirector's redirector is common, more is a circle.
const REDIRECTIONS_MAX: usize = 16;

/// The names in a directory, without it, in the server's order.
///
/// # Errors
/// `Unsupported` where a server lists nothing; `NotFound` where there is no such directory;
/// whatever keeps it from being asked.
pub async fn list(
    directory: &Url,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Vec<String>> {
    let mut url = directory.clone();
    for _ in 0..REDIRECTIONS_MAX {
        match ask(&url, config, network.clone()).await? {
            Answer::Names(names) => return Ok(names),
            Answer::Elsewhere(target) => url = target,
        }
    }
    Err(Error::new(
        ErrorKind::Io,
        format!("sent on {REDIRECTIONS_MAX} times, from one server to another"),
    )
    .with_url(display_url(directory)))
}

enum Answer {
    Names(Vec<String>),
    Elsewhere(Url),
}

async fn ask(url: &Url, config: &Config, network: Arc<dyn Network>) -> Result<Answer> {
    let server = server_for(url, config, network)?;
    let (orders, commands) = mpsc::unbounded_channel();
    let (notices, mut told) = mpsc::unbounded_channel();
    let request = RequestTag(0);
    let directory = FileRef { tag: 0, url: Arc::new(url.clone()) };
    let _ = orders.send(Command::List { request, directory });
    // It ends when the order's sender is dropped, at the latest with this function.
    tokio::spawn(server.run(Link { connection: ConnectionTag(0), commands, notices }));
    let mut listed = Vec::new();
    let lost = || Error::new(ErrorKind::Connection, "the connection ended before the answer");
    while let Some((_, notice)) = told.recv().await {
        match notice {
            Notice::Listed { names, .. } => listed = names,
            Notice::Done { .. } => return Ok(Answer::Names(listed)),
            Notice::Redirected { url, .. } => return Ok(Answer::Elsewhere(url)),
            Notice::Failed { error, .. } => return Err(error),
            Notice::Disconnected { error } => {
                return Err(error.unwrap_or_else(lost).with_url(display_url(url)));
            }
            _ => {}
        }
    }
    Err(lost().with_url(display_url(url)))
}
