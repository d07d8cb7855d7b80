//! The owner of a socket of this machine, by a request to the kernel for one socket (sock_diag(7)):
//! its tables of all sockets take a millisecond a thousand connections to read.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};

/// Of a message's head, of a request and of an answer behind it.
const HEAD_LEN: usize = 16;
const REQUEST_LEN: usize = HEAD_LEN + 56;
const ANSWER_LEN: usize = HEAD_LEN + 72;
/// `AF_NETLINK`, `NETLINK_SOCK_DIAG`, `NLMSG_ERROR`, `SOCK_DIAG_BY_FAMILY`
const NETLINK: i32 = 16;
const SOCK_DIAG: i32 = 4;
const ERROR: u16 = 2;
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`: of one socket, not of all.
const REQUEST: u16 = 1;
const TCP: u8 = 6;
/// Sockets that listen are found where no other is.
const LISTENS: u8 = 10;

/// A socket as the kernel describes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub user: u32,
    pub listens: bool,
}

/// The socket with these addresses; `remote` is unspecified for one that listens. `None` where
/// there is none.
///
/// # Errors
/// The kernel does not report it.
pub fn find(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<Found>> {
    let mut kernel = Socket::new(NETLINK.into(), Type::RAW, Some(Protocol::from(SOCK_DIAG)))?;
    // The kernel answers while the request is sent.
    kernel.set_nonblocking(true)?;
    kernel.send(&request(local, remote))?;
    let mut answer = [0; 512];
    let length = kernel.read(&mut answer)?;
    let answer = answer.get(..length).unwrap_or_default();
    let number = |at: usize| Some(u32::from_ne_bytes(*answer.get(at..)?.first_chunk()?));
    let kind = answer.get(4..).and_then(|rest| rest.first_chunk()).copied().map(u16::from_ne_bytes);
    if kind == Some(BY_FAMILY) && length >= ANSWER_LEN {
        let listens = answer.get(HEAD_LEN + 1) == Some(&LISTENS);
        return Ok(number(HEAD_LEN + 64).map(|user| Found { user, listens }));
    }
    // An error has its negative number behind the head.
    match number(HEAD_LEN).map(|code| code.cast_signed().wrapping_neg()) {
        Some(code) if kind == Some(ERROR) && code > 0 => {
            let error = io::Error::from_raw_os_error(code);
            if error.kind() == ErrorKind::NotFound { Ok(None) } else { Err(error) }
        }
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

fn request(local: SocketAddr, remote: SocketAddr) -> [u8; REQUEST_LEN] {
    let (local, remote) = match (local.ip().to_canonical(), remote.ip().to_canonical()) {
        (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => {
            let canonical = |at: SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
            (canonical(local), canonical(remote))
        }
        _ => (local, remote),
    };
    let family = if local.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let mut out = [0; REQUEST_LEN];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &(REQUEST_LEN as u32).to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &REQUEST.to_ne_bytes());
    put(HEAD_LEN, &[u8::try_from(i32::from(family)).unwrap_or(0), TCP]);
    // In every state.
    put(HEAD_LEN + 4, &u32::MAX.to_ne_bytes());
    put(HEAD_LEN + 8, &local.port().to_be_bytes());
    put(HEAD_LEN + 10, &remote.port().to_be_bytes());
    for (at, ip) in [(HEAD_LEN + 12, local.ip()), (HEAD_LEN + 28, remote.ip())] {
        match ip {
            IpAddr::V4(ip) => put(at, &ip.octets()),
            IpAddr::V6(ip) => put(at, &ip.octets()),
        }
    }
    // Whichever socket has these addresses.
    put(HEAD_LEN + 48, &u64::MAX.to_ne_bytes());
    out
}
