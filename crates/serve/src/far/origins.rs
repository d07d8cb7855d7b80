//! Addresses to which a proxy connects: listed servers, since who may choose the origin may
//! otherwise have this machine connect to anything.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use futures::future::BoxFuture;
use remote::source::network::{Network, Stream, Tcp};

use crate::origin::Origin;

/// Where clouds tell a machine its secrets, beside 169.254.169.254: those of Alibaba, Azure and
/// Oracle, and of Amazon and Google over IPv6.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Why no origin is at this address, however a name led there: the proxy itself, and addresses that
/// only mean something on one link, where clouds keep their secrets. `None` where one may be.
pub fn refusal(address: SocketAddr, own: &[SocketAddr], may_be_here: bool) -> Option<&'static str> {
    let ip = address.ip().to_canonical();
    let is_own = own.iter().any(|own| {
        own.port() == address.port()
            && (own.ip() == ip || (own.ip().is_unspecified() && is_of_this_machine(ip)))
    });
    let is_link_local = match embedded(ip) {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    if is_own {
        return Some("this is the proxy itself");
    }
    if is_link_local || ip.is_multicast() || is_broadcast(ip) {
        return Some("a proxy does not forward to addresses of one link");
    }
    if METADATA.contains(&embedded(ip)) {
        return Some("a proxy does not forward to where clouds keep the secrets of a machine");
    }
    let is_here = ip.is_unspecified() || is_of_this_machine(embedded(ip));
    (is_here && !may_be_here).then_some(
        "this proxy does not forward to its own machine, unless --origin has the server's whole name",
    )
}

/// The address that one of a translated network stands for (RFC 4291, 2.5.5.1; RFC 6052; RFC 3056).
fn embedded(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let octets = v6.octets();
    let inner = match v6.segments() {
        [0, 0, 0, 0, 0, 0, high, _] if high > 0 => octets.last_chunk(),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => octets.last_chunk(),
        [0x2002, ..] => octets[2..6].first_chunk(),
        _ => None,
    };
    inner.map_or(ip, |inner: &[u8; 4]| IpAddr::from(*inner))
}

/// A network on which the proxy connects to listed servers only, whichever server redirects it.
pub struct ListedOnly {
    /// Refuses this machine: a name of a domain may lead here.
    pub elsewhere: Tcp,
    /// For servers whose whole name is listed.
    pub anywhere: Tcp,
    pub origins: Vec<Origin>,
}

impl Network for ListedOnly {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        let mut listed = self.origins.iter().filter(|origin| origin.has_place(host, port));
        if let Some(first) = listed.next() {
            return match first.has_whole_name() || listed.any(Origin::has_whole_name) {
                true => self.anywhere.connect(host, port),
                false => self.elsewhere.connect(host, port),
            };
        }
        let text = format!(
            "an origin sends on to {host}:{port}, to which this proxy does not forward: it was \
             started without --origin for that server"
        );
        let refused = io::Error::new(io::ErrorKind::PermissionDenied, text);
        Box::pin(async move { Err(refused) })
    }

    fn reached(&self, host: &str, port: u16) -> Option<IpAddr> {
        self.elsewhere.reached(host, port).or_else(|| self.anywhere.reached(host, port))
    }
}

fn is_broadcast(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(v4) if v4.is_broadcast())
}

/// Whether packets to this address come back: the system says from which address it would send.
fn is_of_this_machine(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        // Nothing is sent: a datagram socket only chooses its own address.
        socket.connect((ip, 9))?;
        socket.local_addr()
    });
    ip.is_loopback() || from.is_ok_and(|from| from.ip() == ip)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A site may have a proxy and a server on one machine. Regression: only an origin written as
    /// `localhost` could be there, and the error said that the origin had to be listed.
    #[tokio::test]
    async fn a_server_of_this_machine_is_listed_by_its_whole_name() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let network = |may_be_here: bool| {
            let refusal = move |address| refusal(address, &[], may_be_here);
            Tcp::new(std::time::Duration::from_secs(5)).refusing(std::sync::Arc::new(refusal))
        };
        for (origin, is_allowed) in [("root://localhost", true), ("*", false)] {
            let origins = vec![format!("{origin}:{port}").parse().unwrap()];
            let listed = ListedOnly { elsewhere: network(false), anywhere: network(true), origins };
            let connected = listed.connect("localhost", port).await;
            assert_eq!(connected.is_ok(), is_allowed, "{origin}: {:?}", connected.err());
        }
    }

    #[test]
    fn neither_the_proxy_nor_one_link_is_an_origin() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let own = [at("127.0.0.1:1094"), at("0.0.0.0:2094")];
        for address in [
            "127.0.0.1:1094",
            "127.0.0.7:2094",
            "169.254.169.254:80",
            "[fe80::1]:80",
            "[::ffff:169.254.169.254]:80",
            "[64:ff9b::a9fe:a9fe]:80",
            "[2002:a9fe:a9fe::]:80",
            "100.100.100.200:80",
            "[::ffff:100.100.100.200]:80",
            "[fd00:ec2::254]:80",
            "[::ffff:127.0.0.1]:1094",
            "224.0.0.1:80",
        ] {
            assert!(refusal(at(address), &own, true).is_some(), "{address}");
        }
        for address in ["127.0.0.1:1095", "127.0.0.2:1094", "192.0.2.1:1094", "[2001:db8::1]:80"] {
            assert_eq!(refusal(at(address), &own, true), None, "{address}");
        }
        assert!(refusal(at("127.0.0.1:1095"), &own, false).is_some());
        assert!(refusal(at("0.0.0.0:1095"), &own, false).is_some());
        for inner in ["[::127.0.0.1]:80", "[64:ff9b::7f00:1]:80", "[2002:7f00:1::]:80"] {
            assert!(refusal(at(inner), &[], false).is_some(), "{inner}");
        }
        // The address by which others reach this machine, where it has one.
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        if socket.connect("192.0.2.1:9").is_ok() {
            let ip = socket.local_addr().unwrap().ip();
            assert!(refusal(SocketAddr::new(ip, 80), &[], false).is_some(), "{ip}");
            assert_eq!(refusal(SocketAddr::new(ip, 80), &[], true), None);
        }
    }
}
