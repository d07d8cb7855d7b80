//! Diagnosis of the way to a file: each step with its time and its fault.
//!
//! The steps are taken one after the other, as no read does, so that each has a time of its own.
//! Each has an end, whatever the server does: a connection after the configured time for
//! connecting, any other step after the configured time of silence.

mod protected;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::join_all;
use serde::Serialize;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::http::HttpServer;
use super::network::Network;
use super::servers::{config_for, server_for};
use super::{
    Command, ConnectionEvent, ConnectionTag, DriverLink, FileEnd, FileInfo, FileRef, RequestTag,
    Server,
};
use crate::address::{Address, FileUse, Scheme};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::proxies::Proxy;

/// Read to see whether and how fast bytes come.
const READ_BYTES: u64 = 1 << 20;
/// Single bytes, far from each other, for one request.
const RANGES: u64 = 4;
const ONE_RANGE: &str = "only one range a request";
const SLOW: &str = "reads of few branches take a request for each basket here: use root://, or another \
                    server, where the site has it";
/// How often one may be sent on.
const REDIRECTIONS_MAX: usize = 16;

/// A step on the way to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// The user's credentials.
    Credentials,
    /// HTTP goes through a proxy, which the next steps reach.
    Proxy,
    /// The host's name becomes addresses.
    Name,
    /// A TCP connection to one of them.
    Connect,
    /// Keys are agreed on, and the server's certificate is verified.
    Tls,
    /// This machine's clock, by the server's.
    Clock,
    /// The protocol's greeting and login.
    Login,
    /// The file is found.
    Open,
    /// The first bytes come.
    Read,
    /// Several ranges come in answer to one request.
    Ranges,
    /// The file is a ROOT file, and complete.
    File,
}

impl Step {
    pub fn name(self) -> &'static str {
        match self {
            Step::Credentials => "credentials",
            Step::Proxy => "proxy",
            Step::Name => "name",
            Step::Connect => "connect",
            Step::Tls => "tls",
            Step::Clock => "clock",
            Step::Login => "login",
            Step::Open => "open",
            Step::Read => "read",
            Step::Ranges => "ranges",
            Step::File => "file",
        }
    }
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub step: Step,
    /// The host, address or server concerned.
    pub place: String,
    pub seconds: f64,
    /// The result or the fault, in plain words.
    pub text: String,
    pub is_fault: bool,
    /// How to mend a fault.
    pub advice: Option<String>,
}

/// Goes the way to a file, up to the first fault that cannot be passed; whether its bytes can be
/// read.
pub async fn examine(
    url: &Address,
    config: &Config,
    network: &Arc<dyn Network>,
) -> (Vec<Finding>, bool) {
    let mut findings = Vec::new();
    let mut at = url.clone();
    protected::credentials(url, config, &mut findings).await;
    for _ in 0..REDIRECTIONS_MAX {
        let Ok(proxy) = proxy_to(&at, config, network, &mut findings) else { break };
        let proxy = proxy.as_ref();
        let place = match proxy {
            Some(proxy) => Some((&*proxy.host, proxy.port)),
            None => at.host().zip(at.port()),
        };
        let is_reachable = match place {
            Some((host, port)) => reach(host, port, config.connect_timeout, &mut findings).await,
            None => true,
        };
        if !is_reachable || !protected::encryption(&at, proxy, config, network, &mut findings).await
        {
            break;
        }
        match converse(&at, config, network, &mut findings).await {
            End::Elsewhere(next) => at = *next,
            End::Read => return (findings, true),
            End::Stopped => break,
        }
    }
    (findings, false)
}

/// The proxy of HTTP on the way to a server, with a finding.
///
/// # Errors
/// It cannot be used: the last finding says why.
fn proxy_to(
    url: &Address,
    config: &Config,
    network: &Arc<dyn Network>,
    findings: &mut Vec<Finding>,
) -> Result<Option<Proxy>> {
    let found = match (url.scheme(), url.host(), url.port()) {
        (Scheme::Http | Scheme::Https | Scheme::S3, ..) => {
            HttpServer::new(url, &config_for(url, config), network.clone())
                .and_then(|server| server.proxy())
        }
        // The federation's own address, and its director, are within TLS.
        (Scheme::Pelican, Some(host), Some(port)) => config.proxies.for_server(true, host, port),
        _ => Ok(None),
    };
    match &found {
        Ok(Some(proxy)) => {
            let text = format!("HTTP goes through the proxy {proxy}");
            findings.push(fine(Step::Proxy, &url.to_string(), 0.0, text));
        }
        Ok(None) => {}
        Err(error) => findings.push(failed(Step::Proxy, &url.to_string(), 0.0, error)),
    }
    found
}

/// Name look-up, and a connection to every address; whether there is one.
async fn reach(host: &str, port: u16, time_limit: Duration, findings: &mut Vec<Finding>) -> bool {
    let begun = Instant::now();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = timeout(time_limit, lookup_host((bare, port))).await;
    let seconds = begun.elapsed().as_secs_f64();
    let mut addresses: Vec<SocketAddr> = match found {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return name_fault(host, seconds, error.to_string(), findings),
        Err(_) => {
            let text = format!("no answer within {} s", time_limit.as_secs_f64());
            return name_fault(host, seconds, text, findings);
        }
    };
    addresses.dedup();
    let list: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
    findings.push(fine(Step::Name, host, seconds, list.join(", ")));
    let tries = addresses.iter().map(|address| async move {
        let begun = Instant::now();
        let connected = timeout(time_limit, TcpStream::connect(address)).await;
        (address, begun.elapsed().as_secs_f64(), connected)
    });
    let mut is_reachable = false;
    for (address, seconds, connected) in join_all(tries).await {
        let place = address.to_string();
        findings.push(match connected {
            Ok(Ok(_)) => {
                is_reachable = true;
                fine(Step::Connect, &place, seconds, "connected".into())
            }
            Ok(Err(error)) => {
                let refused = error.kind() == std::io::ErrorKind::ConnectionRefused;
                let advice = match refused {
                    true => {
                        "nothing listens on this port: is the server running, and the port right?"
                    }
                    false => "is this machine on the network, and the host?",
                };
                fault(Step::Connect, &place, seconds, error.to_string(), advice.into())
            }
            Err(_) => {
                let text = format!("no answer within {} s", time_limit.as_secs_f64());
                let advice = "the host is down, or a firewall drops what is sent to this port";
                fault(Step::Connect, &place, seconds, text, advice.into())
            }
        });
    }
    is_reachable
}

fn name_fault(host: &str, seconds: f64, text: String, findings: &mut Vec<Finding>) -> bool {
    let advice = "is the name spelt right? some names are known only inside a site or its VPN";
    findings.push(fault(Step::Name, host, seconds, text, advice.into()));
    false
}

/// How a visit to a server ends.
enum End {
    Read,
    Elsewhere(Box<Address>),
    Stopped,
}

/// Login, open and read.
async fn converse(
    url: &Address,
    config: &Config,
    network: &Arc<dyn Network>,
    findings: &mut Vec<Finding>,
) -> End {
    let mut visit = match Visit::begin(url, config, network.clone()) {
        Ok(visit) => visit,
        Err(error) => {
            findings.push(failed(Step::Login, &url.to_string(), 0.0, &error));
            return End::Stopped;
        }
    };
    for step in [Step::Login, Step::Clock, Step::Open, Step::Read, Step::Ranges] {
        let begun = Instant::now();
        // Logging in begins with another connection.
        let time_limit = match step {
            Step::Login => config.connect_timeout.saturating_add(config.read_timeout),
            _ => config.read_timeout,
        };
        let outcome = visit.take(step, time_limit).await;
        let seconds = begun.elapsed().as_secs_f64();
        if let (Step::Login, Some(peer)) = (step, visit.server.shown()) {
            findings.push(protected::of_tls(&visit.name, seconds, &peer, url, config));
        }
        match outcome {
            Ok(Passed::Clock(at)) => {
                findings.push(protected::clock(&visit.name, at, SystemTime::now()));
            }
            // Not every server reports it.
            Err(_) if step == Step::Clock => {}
            Ok(Passed::On(text)) => findings.push(fine(step, &visit.name, seconds, text)),
            Ok(Passed::Slowly(text)) => {
                let finding = fine(step, &visit.name, seconds, text);
                findings.push(Finding { advice: Some(SLOW.to_owned()), ..finding });
            }
            Ok(Passed::Stuck(text)) => {
                findings.push(fine(step, &visit.name, seconds, text));
                return End::Stopped;
            }
            Ok(Passed::Over) => {}
            Ok(Passed::Elsewhere(target)) => {
                let text = format!("sent on to {target}");
                findings.push(fine(step, &visit.name, seconds, text));
                return End::Elsewhere(Box::new(target));
            }
            Err(error) => {
                findings.push(failed(step, &visit.name, seconds, &error));
                return End::Stopped;
            }
        }
    }
    End::Read
}

enum Passed {
    On(String),
    /// It works, and reads suffer.
    Slowly(String),
    /// It has not come to its end in time.
    Stuck(String),
    /// There is nothing to see.
    Over,
    /// When this has been answered, by the server's clock.
    Clock(SystemTime),
    Elsewhere(Address),
}

/// One connection, with one request after the other.
struct Visit {
    server: Arc<dyn Server>,
    name: String,
    file: FileRef,
    orders: mpsc::UnboundedSender<Command>,
    inbox: mpsc::UnboundedReceiver<(ConnectionTag, ConnectionEvent)>,
    info: FileInfo,
}

impl Visit {
    fn begin(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let server = server_for(url, config, network)?;
        let name = server.name().to_owned();
        let (orders, commands) = mpsc::unbounded_channel();
        let (events, inbox) = mpsc::unbounded_channel();
        // It ends with `orders`.
        tokio::spawn(server.clone().run(DriverLink {
            connection: ConnectionTag(0),
            commands,
            events,
        }));
        let file = FileRef { tag: 0, url: Arc::new(url.clone()), file_use: FileUse::Decoded };
        Ok(Visit { server, name, file, orders, inbox, info: FileInfo::default() })
    }

    /// Sends the request that shows whether a step succeeds; false where none does.
    fn ask(&self, step: Step) -> bool {
        let request = RequestTag(step as u64);
        let file = self.file.clone();
        let size = self.info.size;
        match step {
            Step::Credentials | Step::Proxy | Step::Name | Step::Connect | Step::Tls => {}
            Step::Login | Step::File => {}
            Step::Clock if self.file.url.to_xrootd().is_none() => return false,
            Step::Clock => self.order(Command::Clock { request, file }),
            Step::Open => self.order(Command::Open { request, file, part: FileEnd::Head(1) }),
            Step::Read => {
                let segments = vec![0..size.min(READ_BYTES)];
                self.order(Command::Fetch { request, file, segments });
            }
            // Reads request many at once.
            Step::Ranges if size < RANGES * 2 || self.server.traits().local => return false,
            Step::Ranges => {
                let segments = (0..RANGES).map(|at| at * (size / RANGES));
                let segments = segments.map(|at| at..at + 1).collect();
                self.order(Command::Fetch { request, file, segments });
            }
        }
        true
    }

    async fn take(&mut self, step: Step, time_limit: Duration) -> Result<Passed> {
        let size = self.info.size;
        if !self.ask(step) {
            return Ok(Passed::Over);
        }
        let begun = Instant::now();
        let mut first = None;
        let mut bytes = 0;
        let mut wait = None;
        let mut heard = begun;
        let mut note = None;
        let mut clock = None;
        loop {
            let left = time_limit.saturating_sub(begun.elapsed());
            let event = match timeout(left, self.next()).await {
                Ok(event) => event?,
                // One that has only begun hangs; one that goes on is slow.
                Err(_) if step == Step::Read && heard.elapsed() < time_limit / 2 => {
                    let text = format!("only {bytes} bytes within {} s", time_limit.as_secs_f64());
                    return Ok(Passed::Stuck(text));
                }
                Err(_) => return Err(unanswered(time_limit, wait)),
            };
            match event {
                ConnectionEvent::Wait(time) => wait = Some(time),
                ConnectionEvent::Note(text) if !self.server.traits().local => note = Some(text),
                ConnectionEvent::Connected if step == Step::Login => {
                    return Ok(Passed::On(self.welcome()));
                }
                ConnectionEvent::Clock { at, .. } => clock = Some(at),
                ConnectionEvent::Opened { info, .. } => self.info = info,
                ConnectionEvent::Data { bytes: more, .. } => {
                    first.get_or_insert_with(|| begun.elapsed());
                    heard = Instant::now();
                    bytes += more.len() as u64;
                }
                ConnectionEvent::Done { .. } if step == Step::Clock => break,
                ConnectionEvent::Done { .. } if step == Step::Open => {
                    return Ok(Passed::On(format!("a file of {} bytes", self.info.size)));
                }
                ConnectionEvent::Done { .. } if step == Step::Ranges => {
                    return match (bytes, self.server.traits().segments_max) {
                        (RANGES, 2..) => Ok(Passed::On(format!("{RANGES} ranges in one answer"))),
                        (RANGES, _) => Ok(Passed::Slowly(ONE_RANGE.into())),
                        _ => {
                            let text = format!("{bytes} bytes came of {RANGES} single ones");
                            Err(Error::new(ErrorKind::Io, text))
                        }
                    };
                }
                ConnectionEvent::Done { .. } => {
                    if bytes < size.min(READ_BYTES) {
                        let text = format!("{bytes} bytes came of {}", size.min(READ_BYTES));
                        return Err(Error::new(ErrorKind::Io, text));
                    }
                    let first = first.unwrap_or_default().as_secs_f64() * 1e3;
                    let text = format!("{bytes} bytes, the first after {first:.1} ms");
                    return Ok(match note {
                        Some(note) => Passed::Slowly(format!("{text}; {note}")),
                        None => Passed::On(text),
                    });
                }
                ConnectionEvent::Redirected { url, .. } => return Ok(Passed::Elsewhere(url)),
                ConnectionEvent::Failed { error, .. } => return Err(error),
                _ => {}
            }
        }
        Ok(clock.map_or(Passed::Over, Passed::Clock))
    }

    /// The answer of a server to a login.
    fn welcome(&self) -> String {
        let traits = self.server.traits();
        let text = match (traits.local, traits.checksums) {
            (true, _) => "no server: the file is on this machine",
            (_, true) => "the server answers, and offers checksums of what it sends",
            (_, false) => "the server answers",
        };
        let login = self.server.introduction().map(|login| format!("; {login}"));
        text.to_owned() + &login.unwrap_or_default()
    }

    fn order(&self, command: Command) {
        // A connection that has ended reports it itself.
        let _ = self.orders.send(command);
    }

    async fn next(&mut self) -> Result<ConnectionEvent> {
        let lost = || Error::new(ErrorKind::Connection, "the server has closed the connection");
        match self.inbox.recv().await {
            Some((_, ConnectionEvent::Disconnected { error })) => Err(error.unwrap_or_else(lost)),
            Some((_, event)) => Ok(event),
            None => Err(lost()),
        }
    }
}

/// A step has not ended in time.
fn unanswered(time_limit: Duration, wait: Option<Duration>) -> Error {
    let mut text = format!("no answer within {} s", time_limit.as_secs_f64());
    if let Some(wait) = wait {
        text.push_str(&format!("; the server has asked to wait {} s", wait.as_secs_f64()));
    }
    Error::new(ErrorKind::TimedOut, text)
}

pub fn fine(step: Step, place: &str, seconds: f64, text: String) -> Finding {
    Finding { step, place: place.to_owned(), seconds, text, is_fault: false, advice: None }
}

pub fn fault(step: Step, place: &str, seconds: f64, text: String, advice: String) -> Finding {
    Finding { step, place: place.to_owned(), seconds, text, is_fault: true, advice: Some(advice) }
}

fn failed(step: Step, place: &str, seconds: f64, error: &Error) -> Finding {
    let known = match error.kind() {
        ErrorKind::Connection if !matches!(step, Step::Tls | Step::Login) => None,
        _ => error.advice(),
    };
    let advice = known.unwrap_or(match (error.kind(), step) {
        (ErrorKind::NotFound, _) => "is the path right? in root:// addresses it begins with //",
        (ErrorKind::PermissionDenied, _) => {
            "the server refuses whom it takes this for: farroot auth lists what you have to show; \
             else ask the site"
        }
        (ErrorKind::Unauthenticated, _) => {
            "make a proxy (voms-proxy-init -voms YOUR_VO -rfc), get a ticket (kinit USER@REALM) or \
             fetch a token (htgettoken), as the site has it; farroot auth lists what is there"
        }
        (ErrorKind::Unsupported, _) => "use an address without encryption where the site has one",
        (ErrorKind::TimedOut, Step::Login) => {
            "the port takes connections, but no answer comes: the server hangs, or is another kind"
        }
        (ErrorKind::TimedOut, _) => {
            "the server hangs, or brings the file from tape: try again later"
        }
        (ErrorKind::Connection, Step::Login) => {
            "does the address have the right scheme? this may be another kind of server"
        }
        (ErrorKind::Connection, _) => "the server has given up: try again, or another replica",
        (ErrorKind::InvalidArgument, _) => "name a file, not a directory",
        _ => "the server or its disk has failed: try another replica, and tell the site",
    });
    fault(step, place, seconds, error.message().to_owned(), advice.to_owned())
}
