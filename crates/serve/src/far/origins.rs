//! Servers from which a proxy may read: a list of patterns, since who may choose the origin may
//! otherwise have this machine connect to anything.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::str::FromStr;

use futures::future::BoxFuture;
use remote::address::{Address, Scheme};
use remote::source::network::{Network, Stream, Tcp};

/// A pattern of servers: `root://*.cern.ch`, `https://data.example:8443`, `host.example`, `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `None` for every scheme that is read.
    scheme: Option<Scheme>,
    /// In lower case; one that begins with a dot stands for all hosts in a domain, an empty one
    /// for all hosts.
    host: String,
    port: Port,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    /// The one that addresses of the scheme mean without a number.
    Usual,
    Number(u16),
    Any,
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!("{text}: {why}; an origin is SCHEME://HOST:PORT, as root://*.cern.ch or *")
        };
        let (scheme, place) = match text.split_once("://") {
            Some((name, place)) => {
                (Some(scheme(name).ok_or_else(|| wrong("no such scheme"))?), place)
            }
            None => (None, text),
        };
        let place = place.trim_end_matches('/').to_ascii_lowercase();
        let end_of_host = place.rfind(']').map_or(0, |bracket| bracket + 1);
        let (host, port) = match place[end_of_host..].find(':') {
            Some(colon) => place.split_at(end_of_host + colon),
            None => (&*place, ""),
        };
        let port = match port {
            "" if host == "*" => Port::Any,
            "" => Port::Usual,
            ":*" => Port::Any,
            number => match number[1..].parse() {
                Ok(number) if number > 0 => Port::Number(number),
                _ => return Err(wrong("a port is a number, or * for any")),
            },
        };
        let host = match host {
            "*" => "",
            _ => host.strip_prefix('*').unwrap_or(host),
        };
        let is_domain = place.starts_with("*.");
        if host.contains(['*', '/', '@', '?'])
            || (place.starts_with('*') && !host.is_empty() && !is_domain)
        {
            return Err(wrong("a * stands alone or before a dot"));
        }
        if host.is_empty() && !place.starts_with('*') {
            return Err(wrong("no host"));
        }
        Ok(Origin { scheme, host: host.to_owned(), port })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme {
            write!(f, "{}://", scheme.name())?;
        }
        let star = if self.host.is_empty() || self.host.starts_with('.') { "*" } else { "" };
        write!(f, "{star}{}", self.host)?;
        match self.port {
            Port::Usual => Ok(()),
            Port::Any if self.host.is_empty() => Ok(()),
            Port::Any => f.write_str(":*"),
            Port::Number(port) => write!(f, ":{port}"),
        }
    }
}

impl Origin {
    /// Whether the file of this address may be read.
    pub fn allows(&self, address: &Address) -> bool {
        let Some(host) = address.host() else { return false };
        let Some(port) = address.port() else { return false };
        let is_port = match self.port {
            Port::Any => true,
            Port::Number(number) => number == port,
            Port::Usual => Some(port) == usual_port(address.scheme()),
        };
        self.has_host(host)
            && is_port
            && self.scheme.is_none_or(|scheme| scheme == address.scheme())
    }

    /// Whether it stands for a place that a server sends on to.
    fn has_place(&self, host: &str, port: u16) -> bool {
        let is_usual = |scheme: Scheme| usual_port(scheme) == Some(port);
        let all = [Scheme::Root, Scheme::Roots, Scheme::Http, Scheme::Https];
        let is_port = match self.port {
            Port::Any => true,
            Port::Number(number) => number == port,
            Port::Usual => self.scheme.map_or_else(|| all.into_iter().any(is_usual), is_usual),
        };
        is_port && self.has_host(host)
    }

    fn has_host(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let host = host.trim_matches(['[', ']']);
        let own = self.host.trim_matches(['[', ']']);
        match own.starts_with('.') {
            true => host.ends_with(own) && host.len() > own.len(),
            false => own.is_empty() || host == own,
        }
    }

    /// Whether it names this machine, whose files others could then read.
    pub fn is_here(&self) -> bool {
        let host = self.host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// The scheme that addresses write so.
pub fn scheme(name: &str) -> Option<Scheme> {
    Some(match &*name.to_ascii_lowercase() {
        "root" | "xroot" => Scheme::Root,
        "roots" | "xroots" => Scheme::Roots,
        "http" | "dav" => Scheme::Http,
        "https" | "davs" => Scheme::Https,
        _ => return None,
    })
}

fn usual_port(scheme: Scheme) -> Option<u16> {
    match scheme {
        Scheme::Root | Scheme::Roots => Some(xrootd::url::DEFAULT_PORT),
        Scheme::Http => Some(80),
        Scheme::Https => Some(443),
        Scheme::Local | Scheme::S3 | Scheme::Pelican => None,
    }
}

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
    (is_here && !may_be_here).then_some("this proxy does not forward to its own machine")
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
    pub network: Tcp,
    pub origins: Vec<Origin>,
}

impl Network for ListedOnly {
    fn connect(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        if self.origins.iter().any(|origin| origin.has_place(host, port)) {
            return self.network.connect(host, port);
        }
        let text = format!(
            "an origin sends on to {host}:{port}, to which this proxy does not forward: it was \
             started without --origin for that server"
        );
        let refused = io::Error::new(io::ErrorKind::PermissionDenied, text);
        Box::pin(async move { Err(refused) })
    }

    fn reached(&self, host: &str, port: u16) -> Option<IpAddr> {
        self.network.reached(host, port)
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

    fn allows(pattern: &str, address: &str) -> bool {
        let origin: Origin = pattern.parse().unwrap();
        assert_eq!(origin.to_string().parse::<Origin>().unwrap(), origin, "{origin}");
        origin.allows(&Address::parse(address).unwrap())
    }

    #[test]
    fn patterns_name_schemes_hosts_and_ports() {
        for (pattern, address, wanted) in [
            ("root://*.cern.ch", "root://eos.cern.ch//f", true),
            ("root://*.cern.ch", "root://a.b.CERN.ch.:1094//f", true),
            ("root://*.cern.ch", "root://cern.ch//f", false),
            ("root://*.cern.ch", "root://evilcern.ch//f", false),
            ("root://*.cern.ch", "root://eos.cern.ch.evil//f", false),
            ("root://*.cern.ch", "roots://eos.cern.ch//f", false),
            ("root://*.cern.ch", "root://eos.cern.ch:22//f", false),
            ("root://*.cern.ch:*", "root://eos.cern.ch:22//f", true),
            ("davs://h:8443/", "https://h:8443/f", true),
            ("h", "http://h/f", true),
            ("h", "https://h:443/f", true),
            ("h", "https://h:8443/f", false),
            ("*", "https://any:8443/f", true),
            ("*", "/local/file", false),
            ("root://[::1]:2094", "root://[::1]:2094//f", true),
            ("http://[::1]:2094", "http://[::1]:2094/f", true),
        ] {
            assert_eq!(allows(pattern, address), wanted, "{pattern} {address}");
        }
        for wrong in
            ["", "root://", "ftp://h", "root://a*b", "root://*b", "h:0", "h:x", "h/path", "u@h"]
        {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_of_origins_is_one_of_places() {
        for (pattern, host, port, wanted) in [
            ("root://*.cern.ch", "ds1.cern.ch", 1094, true),
            ("root://*.cern.ch", "ds1.cern.ch", 1095, false),
            ("root://*.cern.ch:*", "DS1.cern.ch.", 1095, true),
            ("root://*.cern.ch:*", "evil.example", 1094, false),
            ("h", "h", 443, true),
            ("h", "h", 8443, false),
            ("*", "any", 1, true),
            ("root://[::1]:9", "[::1]", 9, true),
        ] {
            let origin: Origin = pattern.parse().unwrap();
            assert_eq!(origin.has_place(host, port), wanted, "{pattern} {host} {port}");
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
