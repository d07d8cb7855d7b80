//! The side of `farroot run`: connects to the user's proxy, or starts one.

use std::fs::{File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use remote::address::Address;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::process::Command;
use tokio::time::timeout;

use super::socket;

/// Timeout for the answer of a running proxy.
const ANSWER: Duration = Duration::from_secs(5);
/// Timeout for starting a proxy, and for the lock while another command starts one.
const START: Duration = Duration::from_secs(20);
/// Timeout for the proxy to write its cache to the disk when a command ends.
const FLUSH: Duration = Duration::from_secs(10);
/// Pause between two attempts to take the lock.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// A connection that keeps a proxy running, and the proxy's addresses.
#[derive(Debug)]
pub struct Claim {
    stream: BufReader<UnixStream>,
    /// Prefixes for an origin's `root://` and `https://` addresses, secret included.
    pub root: String,
    pub http: String,
}

impl Claim {
    /// Reports to the proxy that the command has ended; returns the proxy's line about the reads
    /// since this command joined. `None` if the proxy ended first or does not answer in time.
    pub async fn end(mut self) -> Option<String> {
        self.stream.write_all(b"ended\n").await.ok()?;
        let end = async {
            let line = line(&mut self.stream).await?;
            let mut rest = Vec::new();
            self.stream.read_to_end(&mut rest).await.map(|_| line)
        };
        timeout(FLUSH, end).await.ok()?.ok()
    }
}

/// Joins the user's running proxy with this process's settings, or starts one, which ends with the
/// last command that reads through it. `None` where no proxy can be shared: the caller then starts
/// its own.
pub async fn join_or_start() -> Option<Claim> {
    let path = socket().ok()?;
    if let Some(claim) = joined(&path).await {
        return Some(claim);
    }
    let _lock = timeout(START, locked(&path.with_extension("lock"))).await.ok()?.ok()?;
    // Another command may have started one meanwhile.
    if let Some(claim) = joined(&path).await {
        return Some(claim);
    }
    timeout(START, started()).await.ok()?.ok()?;
    joined(&path).await
}

/// Waits for the lock of a file; the kernel frees it when the file is closed or the process ends.
async fn locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => tokio::time::sleep(TRY_AGAIN).await,
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Starts this program again as a proxy, which outlives this command while other commands read
/// through it. Returns when the proxy is ready.
async fn started() -> io::Result<()> {
    // In the wheel the program is Python, with its own arguments before the verb.
    let mut words = std::env::args_os().take_while(|word| word != "run");
    let program = words.next().ok_or(io::ErrorKind::NotFound)?;
    let mut proxy = Command::new(program)
        .args(words)
        .args(["proxy", "--for-commands"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // An inherited stderr would keep the reader of this command's pipe waiting.
        .stderr(Stdio::null())
        // Ctrl-C in the terminal must not reach the proxy.
        .process_group(0)
        .spawn()?;
    let said = proxy.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    line(&mut BufReader::new(said)).await.map(drop)
}

/// Joins the proxy that listens on a socket, if its TCP port reaches the same proxy: in another
/// network namespace the port may belong to another server.
pub(super) async fn joined(path: &Path) -> Option<Claim> {
    let claim = async {
        let mut stream = BufReader::new(UnixStream::connect(path).await?);
        let root = line(&mut stream).await?;
        let http = line(&mut stream).await?;
        let claim = Claim { stream, root, http };
        is_it(&claim.http).await?;
        Ok::<_, io::Error>(claim)
    };
    timeout(ANSWER, claim).await.ok()?.ok()
}

/// Requests the metrics at a proxy's address, which needs that proxy's secret.
///
/// # Errors
/// The port does not answer, or another server does.
async fn is_it(http: &str) -> io::Result<()> {
    let other = || io::Error::other("another server has the proxy's port");
    let address = Address::parse(http).map_err(|_| other())?;
    let host = address.host().and_then(|host| host.parse().ok()).ok_or_else(other)?;
    let at = SocketAddr::new(host, address.port().ok_or_else(other)?);
    let mut stream = TcpStream::connect(at).await?;
    let path = address.path();
    let request = format!("HEAD {path}metrics HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(1 << 10).read_to_end(&mut answer).await?;
    match answer.starts_with(b"HTTP/1.1 200 ") {
        true => Ok(()),
        false => Err(other()),
    }
}

/// Reads a line, without its newline.
///
/// # Errors
/// `UnexpectedEof` where the stream ends before a newline.
async fn line(stream: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    line.strip_suffix('\n').map(str::to_owned).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
