//! Patterns of servers from which a proxy may read, with the credentials that they are shown, and
//! directories of this machine.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

use remote::address::{Address, Scheme};

use crate::access::PathParts;
use crate::origin_credential::OriginCredential;

/// A pattern of servers: `root://*.cern.ch`, `https://data.example:8443`, `host.example`, `*`. Or a
/// directory of this machine: `file:///lustre/data`, which no other pattern stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// `None` for every scheme that is read.
    scheme: Option<Scheme>,
    /// In lower case; one that begins with a dot stands for all hosts in a domain, an empty one
    /// for all hosts.
    host: String,
    port: Port,
    /// Of this machine, with the scheme `file`; all of it for rules, whose folders stand beside.
    directory: PathParts,
    credential: Option<Box<OriginCredential>>,
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
        if scheme == Some(Scheme::Local) {
            let is_path = place.is_empty() || place.starts_with('/');
            let directory = PathParts::literal(place.as_bytes()).filter(|_| is_path);
            let directory = directory.ok_or_else(|| {
                format!("{text}: a directory of this machine is file:///PATH, without . and ..")
            })?;
            let host = String::new();
            return Ok(Origin { scheme, host, port: Port::Any, directory, credential: None });
        }
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
        let directory = PathParts::default();
        Ok(Origin { scheme, host: host.to_owned(), port, directory, credential: None })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(scheme) = self.scheme {
            write!(f, "{}://", scheme.name())?;
        }
        if let Some(directory) = self.directory() {
            return write!(f, "{}", directory.display());
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
    /// The same servers, which are shown a credential.
    ///
    /// # Errors
    /// A text where they cannot be shown it.
    pub fn with_credential(self, credential: OriginCredential) -> Result<Self, String> {
        credential.suits(self.scheme).map_err(|why| format!("{self}: {why}"))?;
        Ok(Origin { credential: Some(Box::new(credential)), ..self })
    }

    /// The credential that they are shown.
    pub fn credential(&self) -> Option<&OriginCredential> {
        self.credential.as_deref()
    }

    /// The directory of this machine that it is, and no server.
    pub fn directory(&self) -> Option<PathBuf> {
        (self.scheme == Some(Scheme::Local)).then(|| self.directory.path())
    }

    /// Whether the file of this address may be read.
    pub fn allows(&self, address: &Address) -> bool {
        if let Some(path) = address.to_local() {
            let parts = PathParts::literal(path.as_os_str().as_bytes());
            let is_within = parts.is_some_and(|parts| parts.is_within(&self.directory));
            return self.scheme == Some(Scheme::Local) && is_within;
        }
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

    /// Whether every server of another pattern is one of this.
    pub fn covers(&self, other: &Origin) -> bool {
        let are_local = [self, other].map(|one| one.scheme == Some(Scheme::Local));
        if are_local.contains(&true) {
            return are_local == [true; 2] && other.directory.is_within(&self.directory);
        }
        let is_host = match self.host.starts_with('.') {
            true => other.host.ends_with(&self.host),
            false => self.host.is_empty() || self.host == other.host,
        };
        let usual = |scheme: Option<Scheme>| scheme.and_then(usual_port);
        let is_port = match (self.port, other.port) {
            (Port::Any, _) => true,
            (Port::Usual, Port::Number(number)) => usual(other.scheme) == Some(number),
            (Port::Number(number), Port::Usual) => usual(other.scheme) == Some(number),
            (own, others) => own == others,
        };
        is_host && is_port && self.scheme.is_none_or(|scheme| other.scheme == Some(scheme))
    }

    /// Whether it stands for a place that a server sends on to.
    pub fn has_place(&self, host: &str, port: u16) -> bool {
        if self.scheme == Some(Scheme::Local) {
            return false;
        }
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

    /// Whether it is one server, and not all of a domain.
    pub fn has_whole_name(&self) -> bool {
        !self.host.is_empty() && !self.host.starts_with('.')
    }
}

/// The scheme that addresses write so.
pub fn scheme(name: &str) -> Option<Scheme> {
    Some(match &*name.to_ascii_lowercase() {
        "root" | "xroot" => Scheme::Root,
        "roots" | "xroots" => Scheme::Roots,
        "http" | "dav" => Scheme::Http,
        "https" | "davs" => Scheme::Https,
        "file" => Scheme::Local,
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
            ("localhost", "/local/file", false),
            ("file:///lustre/data/", "/lustre/data/f", true),
            ("file:///lustre/data", "file:///lustre//data/a/f", true),
            ("file:///lustre/data", "/lustre/database", false),
            ("file:///lustre/data", "/lustre/data/../f", false),
            ("file:///lustre/data", "root://lustre//lustre/data/f", false),
            ("file://", "/any/file", true),
            ("root://[::1]:2094", "root://[::1]:2094//f", true),
            ("http://[::1]:2094", "http://[::1]:2094/f", true),
        ] {
            assert_eq!(allows(pattern, address), wanted, "{pattern} {address}");
        }
        for wrong in [
            "",
            "root://",
            "file://lustre/data",
            "file:///a/../b",
            "ftp://h",
            "root://a*b",
            "root://*b",
            "h:0",
            "h:x",
            "h/path",
            "u@h",
        ] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_directory_is_no_server() {
        let read = |text: &str| text.parse::<Origin>().unwrap();
        let directory = read("file:///lustre/data");
        assert_eq!(directory.directory(), Some(PathBuf::from("/lustre/data")));
        assert_eq!(read("*").directory(), None);
        assert!(!directory.has_place("any", 1094) && !directory.has_whole_name());
        for (one, other, wanted) in [
            ("file:///lustre", "file:///lustre/data", true),
            ("file:///lustre/data", "file:///lustre", false),
            ("*", "file:///lustre", false),
            ("file:///lustre", "*", false),
        ] {
            assert_eq!(read(one).covers(&read(other)), wanted, "{one} {other}");
        }
        let error = directory.with_credential(OriginCredential::Token("/t".into())).unwrap_err();
        assert!(error.contains("file:///lustre/data"), "{error}");
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
}
