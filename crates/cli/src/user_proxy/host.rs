//! The proxy's side: accepts commands, and ends the proxy after the last one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::serve::Server;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::{socket, summary};

/// How long a proxy started by `farroot run` waits for its first command.
const FIRST: Duration = Duration::from_secs(20);

/// When a proxy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// With the last command that reads through it.
    WithCommands,
    /// On Ctrl-C or SIGTERM.
    WhenTold,
}

/// The socket at which commands find a proxy. Dropping it removes the socket.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    path: PathBuf,
}

impl Door {
    /// Binds the socket for this process's settings. Needs a tokio runtime.
    ///
    /// # Errors
    /// Errors of the file system; `AddrInUse` where another proxy listens on the socket.
    pub fn open() -> io::Result<Self> {
        Door::at(socket()?)
    }

    /// Binds a socket, in place of one left by a proxy that has ended.
    ///
    /// # Errors
    /// As [`Door::open`].
    pub(super) fn at(path: PathBuf) -> io::Result<Self> {
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // A proxy that was killed leaves its socket.
        let _ = std::fs::remove_file(&path);
        Ok(Door { listener: UnixListener::bind(&path)?, path })
    }

    /// Sends each command the addresses of `server`, whose clients name `secret` in front of every
    /// path. With [`Ends::WithCommands`] it returns after the last one, or if none comes in time.
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
                        // The socket first: `stream`'s end lets the last command end.
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
        // Before the listener closes: a command that finds no socket starts its own proxy.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Serves one command: sends two lines, the addresses; after the command's line, which reports its
/// end, one line about the reads. Returns the connection: `farroot run` ends at its close.
async fn attend(stream: UnixStream, server: Arc<Server>, secret: String) -> BufReader<UnixStream> {
    let before = server.figures().unwrap_or_default();
    let mut stream = BufReader::new(stream);
    let addresses = format!("{}{secret}\n{}{secret}\n", server.root_url(), server.http_url());
    if stream.write_all(addresses.as_bytes()).await.is_err() {
        return stream;
    }
    let mut said = String::new();
    // A `farroot run` that was killed closes without a line.
    if stream.read_line(&mut said).await.is_ok_and(|count| count > 0) {
        let flushing = server.clone();
        let _ = tokio::task::spawn_blocking(move || flushing.flush()).await;
        let line = summary(&before, &server.figures().unwrap_or_default());
        let _ = stream.write_all(format!("{line}\n").as_bytes()).await;
    }
    stream
}
