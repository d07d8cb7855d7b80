//! Other users of this machine's loopback: every user can connect to it, can listen on it, and a
//! page in a browser can request names that lead to it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hyper::Request;
use hyper::header::HOST;
use tokio::net::TcpStream;

use crate::sock_diag;

/// The kernel's tables of TCP sockets, with the user of each.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The name of this machine.
const NAME: &str = "/proc/sys/kernel/hostname";
/// The state of a socket that listens, as the tables write it.
const LISTENS: &str = "0A";

/// Whether a client is another user of this machine, of whom not even the secret counts. Where the
/// system does not report whose it is, the secret alone decides.
pub fn is_of_another_user(stream: &TcpStream, from: SocketAddr) -> bool {
    let user = || user_of_peer(from, stream.local_addr().ok()?);
    user().is_some_and(|user| user != 0 && user != rustix::process::geteuid().as_raw())
}

/// The user whose socket is at the other end of a connection on this machine; `None` where the
/// system does not report it.
pub fn user_of_peer(peer: SocketAddr, here: SocketAddr) -> Option<u32> {
    if let Ok(found) = sock_diag::find(peer, here) {
        return found.filter(|socket| !socket.listens).map(|socket| socket.user);
    }
    let is_it = |socket: &Socket<'_>| {
        socket.local == Some(canonical(peer)) && socket.remote == Some(canonical(here))
    };
    found(is_it)
}

/// The user who listens on a port of loopback; `None` where nobody does, or the system does not
/// report it.
pub fn user_of_port(port: u16) -> Option<u32> {
    let listens_at = |ip: IpAddr| {
        let any = if ip.is_ipv4() { SocketAddr::from(([0; 4], 0)) } else { ([0_u16; 8], 0).into() };
        let found = sock_diag::find(SocketAddr::new(ip, port), any).ok()??;
        found.listens.then_some(found.user)
    };
    let here = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    if let Some(user) = here.into_iter().find_map(listens_at) {
        return Some(user);
    }
    found(|socket| {
        let reaches = |at: SocketAddr| at.ip().is_loopback() || at.ip().is_unspecified();
        socket.state == LISTENS && socket.local.is_some_and(|at| at.port() == port && reaches(at))
    })
}

/// Whether a request that has come to loopback names this machine. A page of a browser may request
/// a name of its own, which it has made lead here since.
pub fn names_this_machine<B>(request: &Request<B>, here: SocketAddr) -> bool {
    if !here.ip().to_canonical().is_loopback() {
        return true;
    }
    // A target that is a whole address counts, and not the header beside it (RFC 9112, section
    // 3.2.2); HTTP/2 has the host there, too.
    let of_target = request.uri().authority().map(|named| Some(named.as_str()));
    let of_header = || request.headers().get(HOST).map(|named| named.to_str().ok());
    let named = match of_target.or_else(of_header) {
        Some(Some(named)) => named,
        Some(None) => return false,
        None => return true,
    };
    let host = match named.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => named,
    };
    let host = host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let is_own = || {
        let own = std::fs::read_to_string(NAME).unwrap_or_default().trim().to_ascii_lowercase();
        !host.is_empty() && (own == host || own.split('.').next() == Some(&host))
    };
    let is_address =
        || host.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback());
    host == "localhost" || host.ends_with(".localhost") || is_address() || is_own()
}

/// A line of a table.
struct Socket<'a> {
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    state: &'a str,
    user: Option<u32>,
}

fn found(is_it: impl Fn(&Socket<'_>) -> bool) -> Option<u32> {
    TABLES.iter().find_map(|path| {
        let table = std::fs::read_to_string(path).ok()?;
        table.lines().skip(1).filter_map(socket).find(|socket| is_it(socket))?.user
    })
}

fn socket(line: &str) -> Option<Socket<'_>> {
    // "sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid ..."
    let mut fields = line.split_ascii_whitespace().skip(1);
    let local = fields.next()?;
    let remote = fields.next()?;
    let state = fields.next()?;
    let user = fields.nth(3).and_then(|user| user.parse().ok());
    Some(Socket { local: address(local), remote: address(remote), state, user })
}

/// An address as the tables write it: words of 32 bits in this machine's order.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let mut bytes = Vec::with_capacity(16);
    for at in (0..ip.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(&bytes[..]).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?),
    };
    Some(canonical(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?)))
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream as StdStream};

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_says_whose_a_socket_is() {
        let own = rustix::process::geteuid().as_raw();
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(here) else { continue };
            let here = listener.local_addr().unwrap();
            let client = StdStream::connect(here).unwrap();
            let peer = client.local_addr().unwrap();
            assert_eq!(user_of_peer(peer, here), Some(own));
            assert_eq!(user_of_port(here.port()), Some(own));
            let of_table =
                found(|socket| socket.local == Some(peer) && socket.remote == Some(here));
            assert_eq!(of_table, Some(own));
            if let Ok(socket) = sock_diag::find(peer, here) {
                assert_eq!(socket, Some(sock_diag::Found { user: own, listens: false }));
            }
            assert_eq!(user_of_peer(here, SocketAddr::from(([192, 0, 2, 1], 1))), None);
        }
    }

    #[test]
    fn a_request_has_to_name_this_machine() {
        let here = SocketAddr::from(([127, 0, 0, 1], 1094));
        let names = |host: &str, here| {
            let request = Request::builder().uri("/f").header(HOST, host);
            names_this_machine(&request.body(()).unwrap(), here)
        };
        for own in ["127.0.0.1:1094", "127.0.0.2", "localhost:9", "LOCALHOST.", "[::1]:1094"] {
            assert!(names(own, here), "{own}");
        }
        for other in ["evil.example:1094", "127.0.0.1.evil.example", "192.0.2.1", "", "localhost.x"]
        {
            assert!(!names(other, here), "{other}");
        }
        assert!(names("data.example", SocketAddr::from(([192, 0, 2, 1], 1094))));
        assert!(names_this_machine(&Request::new(()), here), "HTTP/1.0");
        for (target, wanted) in [("http://evil.example/f", false), ("http://[::1]:1/f", true)] {
            let host = if wanted { "evil.example" } else { "localhost" };
            let request = Request::builder().uri(target).header(HOST, host);
            assert_eq!(names_this_machine(&request.body(()).unwrap(), here), wanted, "{target}");
        }
    }
}
