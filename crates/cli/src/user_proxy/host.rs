//! The proxy's side: commands that come, and the end when the last has gone.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::serve::Server;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::{socket, summary};

/// How long a proxy that was started for a command waits for it.
const FIRST: Duration = Duration::from_secs(20);

/// When a proxy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// With the last command that reads through it.
    WithCommands,
    /// When its user says so.
    WhenTold,
}

/// Where commands find a proxy. Removed when dropped.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Takes the place of a proxy that has ended, on the present tokio runtime.
    ///
    /// # Errors
    /// What the file system says; `AddrInUse` where another proxy is there.
    pub fn open() -> io::Result<Self> {
        let path = socket()?;
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // It may be there without a proxy that listens.
        let _ = std::fs::remove_file(&path);
        Ok(Door { listener: UnixListener::bind(&path)?, path })
    }

    /// Shows commands the way to a proxy, whose clients name `secret` in front of every path, until
    /// it ends.
    pub async fn attend(self, server: Arc<Server>, secret: String, ends: Ends) {
        let mut commands = JoinSet::new();
        let mut first = Box::pin(tokio::time::sleep(FIRST));
        let mut is_first = true;
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    is_first = false;
                    commands.spawn(attend(stream, server.clone(), secret.clone()));
                }
                Some(stream) = commands.join_next() => {
                    if ends == Ends::WithCommands && commands.is_empty() {
                        // The last command ends when nothing can be joined any more.
                        drop(self);
                        drop(stream);
                        return;
                    }
                }
                () = &mut first, if is_first => {
                    if ends == Ends::WithCommands {
                        return;
                    }
                    is_first = false;
                }
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // Before the listener ends: a command that finds nothing here makes a socket of its own.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Lets one command read: its two lines are the addresses. When it says that it has ended, it is
/// sent what was read meanwhile. Returns the connection, at the end of which the command ends.
async fn attend(stream: UnixStream, server: Arc<Server>, secret: String) -> BufReader<UnixStream> {
    let before = server.figures().unwrap_or_default();
    let mut stream = BufReader::new(stream);
    let addresses = format!("{}{secret}\n{}{secret}\n", server.root_url(), server.http_url());
    if stream.write_all(addresses.as_bytes()).await.is_err() {
        return stream;
    }
    let mut said = String::new();
    // A command that was killed says nothing.
    if stream.read_line(&mut said).await.is_ok_and(|count| count > 0) {
        let flushing = server.clone();
        let _ = tokio::task::spawn_blocking(move || flushing.flush()).await;
        let line = summary(&before, &server.figures().unwrap_or_default());
        let _ = stream.write_all(format!("{line}\n").as_bytes()).await;
    }
    stream
}
