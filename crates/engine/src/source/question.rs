//! Questions beside the driver, each on a connection of its own: what is in a directory, what a
//! file's checksum is.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use url::Url;

use super::network::Network;
use super::{Command, ConnectionTag, FileRef, Link, Notice, RequestTag, display_url, server_for};
use crate::checksum::{Algorithm, Checksum};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};

/// How often a question may be passed on: a redirector's redirector is common, more is a circle.
const REDIRECTIONS_MAX: usize = 16;
/// A server that has to read the whole file for its checksum says nothing meanwhile.
const CHECKSUM_TIMEOUT: Duration = Duration::from_secs(600);
const REQUEST: RequestTag = RequestTag(0);

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
    let question = |directory| Command::List { request: REQUEST, directory };
    let told = ask(directory, config, network, question).await?;
    let names = told.into_iter().find_map(|notice| match notice {
        Notice::Listed { names, .. } => Some(names),
        _ => None,
    });
    Ok(names.unwrap_or_default())
}

/// The checksum that a server keeps, or makes, of a file; without an algorithm, of the kind that the
/// server likes best.
///
/// # Errors
/// `Unsupported` where a server has none of this kind; `NotFound`; whatever keeps it from being
/// asked.
pub async fn checksum(
    file: &Url,
    algorithm: Option<Algorithm>,
    config: &Config,
    network: Arc<dyn Network>,
) -> Result<Checksum> {
    let silence_timeout = config.silence_timeout.max(CHECKSUM_TIMEOUT);
    let config = Config { silence_timeout, ..config.clone() };
    let question = |file| Command::Checksum { request: REQUEST, file, algorithm };
    let told = ask(file, &config, network, question).await?;
    let checksum = told.into_iter().find_map(|notice| match notice {
        Notice::Checksum { checksum, .. } => Some(checksum),
        _ => None,
    });
    let fits = |checksum: &Checksum| algorithm.is_none_or(|wanted| wanted == checksum.algorithm());
    checksum.filter(fits).ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "the server gives no checksum of this kind")
            .with_url(display_url(file))
    })
}

/// Asks, and goes where the answer is; what it told before it was done.
async fn ask(
    url: &Url,
    config: &Config,
    network: Arc<dyn Network>,
    question: impl Fn(FileRef) -> Command,
) -> Result<Vec<Notice>> {
    let mut at = url.clone();
    for _ in 0..REDIRECTIONS_MAX {
        match ask_one(&at, config, network.clone(), &question).await? {
            Answer::Told(notices) => return Ok(notices),
            Answer::Elsewhere(target) => at = target,
        }
    }
    Err(Error::new(
        ErrorKind::Io,
        format!("sent on {REDIRECTIONS_MAX} times, from one server to another"),
    )
    .with_url(display_url(url)))
}

enum Answer {
    Told(Vec<Notice>),
    Elsewhere(Url),
}

async fn ask_one(
    url: &Url,
    config: &Config,
    network: Arc<dyn Network>,
    question: impl Fn(FileRef) -> Command,
) -> Result<Answer> {
    let server = server_for(url, config, network)?;
    let (orders, commands) = mpsc::unbounded_channel();
    let (notices, mut inbox) = mpsc::unbounded_channel();
    let _ = orders.send(question(FileRef { tag: 0, url: Arc::new(url.clone()) }));
    // It ends when the order's sender is dropped, at the latest with this function.
    tokio::spawn(server.run(Link { connection: ConnectionTag(0), commands, notices }));
    let mut told = Vec::new();
    let lost = || Error::new(ErrorKind::Connection, "the connection ended before the answer");
    while let Some((_, notice)) = inbox.recv().await {
        match notice {
            notice @ (Notice::Listed { .. } | Notice::Checksum { .. }) => told.push(notice),
            Notice::Done { .. } => return Ok(Answer::Told(told)),
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
