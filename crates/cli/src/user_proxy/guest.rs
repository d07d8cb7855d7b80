//! A command's side: the proxy that is there, or one that is started.

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

/// How long a proxy that is there may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// How long one may take to start, and another command to start one.
const START: Duration = Duration::from_secs(20);
/// How long one may write to its cache before a command ends.
const FLUSH: Duration = Duration::from_secs(10);
/// How often a lock is tried.
const TRY_AGAIN: Duration = Duration::from_millis(20);

/// What keeps a proxy running, and the way to it.
#[derive(Debug)]
pub struct Claim {
    stream: BufReader<UnixStream>,
    /// Addresses before which nothing but an origin's is missing.
    pub root: String,
    pub http: String,
}

impl Claim {
    /// The command has ended: what has been read since it joined, in a line. `None` where the proxy
    /// has ended before.
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

/// The user's proxy with this process's settings that runs and answers; or one that is started now
/// and ends with the last command that reads through it. `None` where none can be shared; the
/// caller then has one of its own.
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

/// A lock that ends with the process at the latest.
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

/// Starts this program once more, as a proxy that outlives this command where others read through
/// it.
async fn started() -> io::Result<()> {
    // In the wheel the program is Python, with words of its own before the verb.
    let mut words = std::env::args_os().take_while(|word| word != "run");
    let program = words.next().ok_or(io::ErrorKind::NotFound)?;
    let mut proxy = Command::new(program)
        .args(words)
        .args(["proxy", "--for-commands"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // It would keep open what reads this command's errors.
        .stderr(Stdio::null())
        // Keys of the terminal are for the command.
        .process_group(0)
        .spawn()?;
    let said = proxy.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    line(&mut BufReader::new(said)).await.map(drop)
}

/// A proxy that answers at a socket, and behind its port as well: in another namespace of networks
/// that may be another server's.
async fn joined(path: &Path) -> Option<Claim> {
    let claim = async {
        let mut stream = BufReader::new(UnixStream::connect(path).await?);
        let (root, http) = (line(&mut stream).await?, line(&mut stream).await?);
        let claim = Claim { stream, root, http };
        is_it(&claim.http).await?;
        Ok::<_, io::Error>(claim)
    };
    timeout(ANSWER, claim).await.ok()?.ok()
}

/// Asks the port behind a proxy's address for what only the proxy with this secret has.
///
/// # Errors
/// It is another one.
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

/// A line without its end.
///
/// # Errors
/// `UnexpectedEof` where there is no whole one.
async fn line(stream: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    line.strip_suffix('\n').map(str::to_owned).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
