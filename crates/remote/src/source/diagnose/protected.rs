//! Needs of a protected server: credentials, TLS, and a clock that is right.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use credentials::x509::Certificate;
use credentials::{CredentialStore, Kind, State};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use super::{Finding, Step, failed, fault, fine};
use crate::address::{Address, Scheme};
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::proxies::Proxy;
use crate::source::network::Network;
use crate::source::servers;
use crate::source::tls::{self, Handshake, Peer, Trust, config_for};

/// No header of an answer that says the time is longer.
const ANSWER_BYTES_MAX: usize = 16 << 10;
/// Tokens and signatures are refused by servers whose clock differs by some minutes.
const CLOCK_OFF: Duration = Duration::from_secs(60);
/// A certificate that ends so soon is worth a word.
const SOON: Duration = Duration::from_secs(3 * 86_400);

/// One line for each credential that would be used, or cannot be. Nothing secret is in them.
pub(super) async fn credentials(url: &Address, config: &Config, findings: &mut Vec<Finding>) {
    let credential_store: CredentialStore =
        servers::config_for(url, config).credential_store.clone();
    let asks = |kind| match url.scheme() {
        Scheme::Local | Scheme::Http => false,
        Scheme::Https | Scheme::Pelican => matches!(kind, Kind::Token | Kind::X509),
        Scheme::Root | Scheme::Roots => kind != Kind::S3,
        Scheme::S3 => kind == Kind::S3,
    };
    let is_empty = credential_store.order().is_some_and(|order| order.is_empty());
    if url.is_local() || url.scheme() == Scheme::Http || is_empty {
        return;
    }
    let begun = Instant::now();
    // The Kerberos library may ask a service of the system.
    let found = tokio::task::spawn_blocking(move || credential_store.candidates(SystemTime::now()));
    let Ok(Ok(candidates)) = timeout(config.read_timeout, found).await else {
        let text = "looking for them takes too long";
        let advice = "does klist answer?";
        let seconds = begun.elapsed().as_secs_f64();
        let finding = fine(Step::Credentials, "this machine", seconds, text.into());
        return findings.push(Finding { advice: Some(advice.into()), ..finding });
    };
    let seconds = begun.elapsed().as_secs_f64();
    let mut is_any = false;
    for candidate in candidates.iter().filter(|candidate| asks(candidate.kind)) {
        let place = candidate.place.to_string();
        let mut text = candidate.kind.name().to_owned();
        match &candidate.state {
            State::Absent | State::Second | State::Unwanted => continue,
            State::Used => {
                let owner = candidate.owner.iter().map(|owner| format!(" of {owner}"));
                let left = candidate.time_left().map(|left| format!(", {left} left"));
                let mode = candidate.mode.map(|mode| format!(", mode {mode:03o}"));
                text.extend(owner.chain(left).chain(mode));
                text.extend(candidate.notes.iter().map(|note| format!("; {note}")));
                findings.push(fine(Step::Credentials, &place, seconds, text));
            }
            State::Unusable(_) => {
                let text = format!("{text}: {}", candidate.verdict());
                let advice = Some(candidate.advice()).filter(|advice| !advice.is_empty());
                let finding = fine(Step::Credentials, &place, seconds, text);
                findings.push(Finding { advice, ..finding });
            }
        }
        is_any = true;
    }
    if !is_any {
        let text = "none was found: what only some may read cannot be read".to_owned();
        findings.push(fine(Step::Credentials, "this machine", seconds, text));
    }
}

/// TLS with a server of the web, and its clock; whether there is a session.
pub(super) async fn encryption(
    url: &Address,
    proxy: Option<&Proxy>,
    config: &Config,
    network: &Arc<dyn Network>,
    findings: &mut Vec<Finding>,
) -> bool {
    let (Scheme::Https, Some(host), Some(port)) = (url.scheme(), url.host(), url.port()) else {
        return true;
    };
    let insecure = servers::config_for(url, config).insecure;
    let begun = Instant::now();
    let name = format!("{host}:{port}");
    let seen = timeout(
        config.connect_timeout.saturating_add(config.read_timeout),
        look(host, port, proxy, insecure, config, network),
    );
    let seconds = |begun: Instant| begun.elapsed().as_secs_f64();
    let (peer, date) = match seen.await {
        Ok(Ok(seen)) => seen,
        Ok(Err(error)) => {
            findings.push(failed(Step::Tls, &name, seconds(begun), &error));
            return false;
        }
        Err(_) => {
            let text = "no answer in the TLS handshake";
            let advice = "is it a port for https?";
            findings.push(fault(Step::Tls, &name, seconds(begun), text.into(), advice.into()));
            return false;
        }
    };
    findings.push(of_tls(&name, seconds(begun), &peer, url, config));
    findings.extend(date.map(|date| clock(&name, date, SystemTime::now())));
    true
}

/// The finding about a session of TLS.
pub(super) fn of_tls(
    place: &str,
    seconds: f64,
    peer: &Peer,
    url: &Address,
    config: &Config,
) -> Finding {
    let mut text = described(peer, SystemTime::now());
    if servers::config_for(url, config).insecure {
        text.push_str("; INSECURE was asked for: it may be any server's");
    }
    fine(Step::Tls, place, seconds, text)
}

/// A session of TLS without a credential, and when the server answers, by its own clock.
async fn look(
    host: &str,
    port: u16,
    proxy: Option<&Proxy>,
    insecure: bool,
    config: &Config,
    network: &Arc<dyn Network>,
) -> Result<(Arc<Peer>, Option<SystemTime>)> {
    let trust = Trust::of(config.credential_store.environment());
    let tls = config_for(&format!("{host}:{port} examined"), &trust, None, insecure)?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = match proxy {
        Some(proxy) => {
            let made = || config_for(&proxy.place(), &trust, None, false);
            let its_tls = proxy.is_encrypted.then(made).transpose()?;
            let stream = proxy.connect(&**network, its_tls.as_ref()).await?;
            proxy.tunnel(stream, (bare, port), config.read_timeout).await?
        }
        None => network.connect(bare, port).await.map_err(|error| tls::explain(&error))?,
    };
    let mut stream = tls::connect(stream, host, &tls)?;
    let handshake = stream.watch();
    let question = format!("HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let mut answer = Vec::new();
    let asked = async {
        stream.write_all(question.as_bytes()).await?;
        stream.flush().await?;
        while answer.len() < ANSWER_BYTES_MAX && !answer.windows(4).any(|end| end == b"\r\n\r\n") {
            if stream.read_buf(&mut answer).await? == 0 {
                break;
            }
        }
        Ok::<(), std::io::Error>(())
    };
    let asked = asked.await;
    let state = handshake.borrow().clone();
    match (state, asked) {
        // A server that wants a certificate ends a session without one after the handshake: whether
        // the one of this user will do is seen later.
        (Handshake::Done(peer) | Handshake::Failed(_, Some(peer)), _) => {
            Ok((peer, date_of(&answer)))
        }
        (Handshake::Failed(failure, None), _) => Err(failure.explain()),
        (Handshake::Running, Err(error)) => Err(tls::explain(&error)),
        (Handshake::Running, Ok(())) => {
            let message = "the server has closed the connection in the TLS handshake";
            Err(Error::new(ErrorKind::Connection, message))
        }
    }
}

fn date_of(answer: &[u8]) -> Option<SystemTime> {
    let text = String::from_utf8_lossy(answer);
    let date = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("date").then(|| value.trim().to_owned())
    })?;
    httpdate::parse_http_date(&date).ok()
}

/// Version, name, authority and time of a server's certificate.
fn described(peer: &Peer, now: SystemTime) -> String {
    let Some(Ok(own)) = peer.chain.first().map(|der| Certificate::parse(der)) else {
        return format!("{}; the server showed no certificate", peer.version);
    };
    let mut names = own.hosts.iter().cloned().chain(own.addresses.iter().map(ToString::to_string));
    let first = names.by_ref().take(4).collect::<Vec<_>>().join(", ");
    let more = match names.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names = if first.is_empty() { own.subject.clone() } else { first + &more };
    let left = own.validity.1.duration_since(now).unwrap_or_default();
    let soon = if left < SOON { ", which is soon" } else { "" };
    let certificates = peer.chain.len();
    format!(
        "{}; a certificate of {names} from {}, which ends in {} days{soon}; {certificates} in the \
         chain",
        peer.version,
        own.issuer,
        left.as_secs() / 86_400,
    )
}

/// This machine's clock by the server's.
pub(super) fn clock(place: &str, date: SystemTime, now: SystemTime) -> Finding {
    let (is_ahead, off) = match now.duration_since(date) {
        Ok(off) => (true, off),
        Err(error) => (false, error.duration()),
    };
    let way = if is_ahead { "ahead of" } else { "behind" };
    let text = format!("this machine's clock is {} s {way} the server's", off.as_secs());
    let finding = fine(Step::Clock, place, 0.0, text);
    match off > CLOCK_OFF {
        false => finding,
        true => Finding {
            advice: Some(
                "one of the clocks is wrong: tokens, proxies and tickets look expired, or not yet \
                 valid (timedatectl shows this machine's)"
                    .to_owned(),
            ),
            ..finding
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_named() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let near = clock("h:443", now - Duration::from_secs(2), now);
        assert_eq!(near.text, "this machine's clock is 2 s ahead of the server's");
        assert!(near.advice.is_none() && !near.is_fault);
        let far = clock("h:443", now + Duration::from_secs(600), now);
        assert_eq!(far.text, "this machine's clock is 600 s behind the server's");
        assert!(far.advice.unwrap().contains("clocks is wrong"));
    }

    #[test]
    fn the_date_of_an_answer_is_read() {
        let answer = b"HTTP/1.1 403 Forbidden\r\ndate: Tue, 14 Nov 2023 22:13:20 GMT\r\n\r\n";
        let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(date_of(answer), Some(expected));
        assert_eq!(date_of(b"\x15\x03\x01"), None);
        assert_eq!(date_of(b"HTTP/1.1 200 OK\r\nDate: yesterday\r\n\r\n"), None);
    }
}
