//! Rules for addresses that come from outside: each goes through [`Address::led_to`]; those that
//! the caller wrote do not.
//!
//! Three ways lead from one address to another:
//!
//! * [`Way::Redirect`]: a server answers that the file is elsewhere (HTTP `Location`, kXR_redirect,
//!   also the one of an open with `tried=`) or names hosts in answer to a request for its location
//!   (kXR_locate).
//! * [`Way::Replica`]: a document or an answer lists locations of the same file (Metalink, `Link`).
//! * [`Way::Mention`]: a ROOT file names another one (a friend of a tree, a file of a chain).
//!
//! A pattern is none of them: a listing gives names, which stay in their directory
//! ([`Address::child`]). The schemes that may follow, a row for each scheme that leads and each
//! way:
//!
//! | from    | way      | local | root  | roots | http  | https | s3    | pelican |
//! |---------|----------|-------|-------|-------|-------|-------|-------|---------|
//! | local   | redirect |       |       |       |       |       |       |         |
//! | local   | replica  |       | yes   | yes   | yes   | yes   | yes   | yes     |
//! | local   | mention  | yes   | yes   | yes   | yes   | yes   | yes   | yes     |
//! | root    | redirect |       | yes   | yes   |       |       |       |         |
//! | root    | replica  |       | yes   | yes   | yes   | yes   |       |         |
//! | root    | mention  |       | yes   | yes   | yes   | yes   |       |         |
//! | roots   | redirect |       |       | yes   |       |       |       |         |
//! | roots   | replica  |       |       | yes   |       | yes   |       |         |
//! | roots   | mention  |       |       | yes   |       | yes   |       |         |
//! | http    | redirect |       |       |       | yes   | yes   |       |         |
//! | http    | replica  |       | yes   | yes   | yes   | yes   |       |         |
//! | http    | mention  |       | yes   | yes   | yes   | yes   |       |         |
//! | https   | redirect |       |       |       | yes   | yes   |       |         |
//! | https   | replica  |       | yes   | yes   |       | yes   |       |         |
//! | https   | mention  |       | yes   | yes   |       | yes   |       |         |
//! | s3      | redirect |       |       |       |       | yes   |       |         |
//! | s3      | replica  |       |       |       |       | yes   |       |         |
//! | s3      | mention  |       | yes   | yes   |       | yes   | yes   |         |
//! | pelican | redirect |       |       |       |       | yes   |       |         |
//! | pelican | replica  |       |       |       |       | yes   |       |         |
//! | pelican | mention  |       | yes   | yes   |       | yes   |       | yes     |
//!
//! The caller's credential, a token or a certificate, stays with the origin that the caller has
//! named ([`Address::is_named`]): an address keeps it however far it leads. A Metalink on a local
//! disk is as good as the caller, a ROOT file is not.
//!
//! Besides, only an address of this machine or of its own link may lead to one. The reasons are in
//! `docs/decisions/0012-what-may-follow.md`.

// The numbers alone: connections are opened in `source` only.
use core::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use url::Host;

use super::{Address, Scheme, Target, written};
use crate::display::shown_address;
use crate::error::{Error, ErrorKind, Result};

/// How an address comes to be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A server says that the file is there instead.
    Redirect,
    /// A Metalink or a server says that the file is there, too.
    Replica,
    /// A ROOT file names another one.
    Mention,
}

/// The table above.
fn may_follow(from: Scheme, way: Way, to: Scheme) -> bool {
    use Scheme::{Http, Https, Local, Pelican, Root, Roots, S3};
    let reachable: &[Scheme] = match (from, way) {
        (Local, Way::Redirect) => &[],
        (Local, Way::Replica) => &[Root, Roots, Http, Https, S3, Pelican],
        (Local, Way::Mention) => &[Local, Root, Roots, Http, Https, S3, Pelican],
        (S3 | Pelican, Way::Redirect | Way::Replica) => &[Https],
        (S3, Way::Mention) => &[Root, Roots, Https, S3],
        (Pelican, Way::Mention) => &[Root, Roots, Https, Pelican],
        (Root, Way::Redirect) => &[Root, Roots],
        (Http, Way::Redirect) => &[Http, Https],
        (Root | Http, Way::Replica | Way::Mention) => &[Root, Roots, Http, Https],
        (Roots, Way::Redirect) => &[Roots],
        // Data servers of XRootD and pools of dCache, which the redirection itself authorises.
        (Https, Way::Redirect) => &[Http, Https],
        (Roots, Way::Replica | Way::Mention) => &[Roots, Https],
        (Https, Way::Replica | Way::Mention) => &[Root, Roots, Https],
    };
    reachable.contains(&to)
}

impl Address {
    /// An address that this one has led to. In an answer or a file of an HTTP server it may be
    /// relative to this one, and user and password go along to the same server only.
    ///
    /// # Errors
    /// `Io` for a text that is no address, or one that may not follow this one.
    pub fn led_to(&self, text: &str, way: Way) -> Result<Self> {
        let refused = |why: String| {
            let by = match way {
                Way::Redirect => "the server sends to",
                Way::Replica => "another place of the file is said to be",
                Way::Mention => "the file names",
            };
            let named = shown_address(text);
            Error::new(ErrorKind::Io, format!("{by} {named:?}, {why}")).with_url(self.to_string())
        };
        if text.is_empty() {
            return Err(refused("which is no address".into()));
        }
        if written::parts(text).len() != 1 {
            return Err(refused("which is several addresses where one belongs".into()));
        }
        let to = match &self.target {
            Target::Http(from) if way != Way::Mention => {
                let mut to = from.join(text).map_err(|error| refused(format!("but {error}")))?;
                to.set_fragment(None);
                let is_own = to.origin() == from.origin();
                if is_own && to.username().is_empty() && to.password().is_none() {
                    let _ = to.set_username(from.username());
                    let _ = to.set_password(from.password());
                }
                Address::read(to.as_str())
            }
            _ => Address::read(text),
        };
        let to = to.map_err(|error| refused(format!("but {}", error.message())))?;
        if !may_follow(self.scheme(), way, to.scheme()) {
            let why = match (self.scheme(), to.scheme()) {
                (_, Scheme::Local) => "a file of this machine, which only its user may name".into(),
                (
                    Scheme::Roots | Scheme::Https | Scheme::S3 | Scheme::Pelican,
                    Scheme::Root | Scheme::Http,
                ) => {
                    format!("without the encryption that {}:// asks for", self.scheme().name())
                }
                (from, to) => {
                    format!("a {}:// address, which may not follow {}://", to.name(), from.name())
                }
            };
            return Err(refused(why));
        }
        let comes_from_afar = !self.is_local() && !self.host().is_some_and(is_near);
        if comes_from_afar && to.host().is_some_and(is_near) {
            let why = "this machine or its own link, which is not what the host means there";
            let advice = "if both run on this machine, begin with localhost in the address";
            return Err(refused(why.into()).with_advice(advice));
        }
        let meant = match (self.is_local(), way) {
            (true, Way::Replica) => None,
            (true, _) => Some(Arc::from("")),
            (false, _) => Some(self.meant.clone().unwrap_or_else(|| self.origin().into())),
        };
        // A file that names another server does not give that one the credentials for its own.
        let is_own = way != Way::Mention || self.origin() == to.origin();
        Ok(to.meant_for(meant).under(if is_own { &self.access } else { &None }))
    }
}

/// Endings that the names of all sites of a country share, before the country.
const OF_COUNTRIES: [&str; 12] =
    ["ac", "co", "com", "edu", "go", "gov", "in", "ne", "net", "or", "org", "res"];

impl Address {
    /// Whether it is a host of the site that the caller has named: another port of the same host,
    /// or a host beside it in the same domain. Servers of XRootD send on to data servers so.
    pub fn is_of_named_site(&self) -> bool {
        let host = self.host().unwrap_or_default().to_ascii_lowercase();
        let named = self.meant.as_deref().and_then(|origin| origin.split_once("://"));
        let Some((named, _)) = named.and_then(|(_, named)| named.rsplit_once(':')) else {
            return self.is_named();
        };
        let is_beside = || {
            let domain = domain_of(named)?;
            Some(host.strip_suffix(domain)?.ends_with('.'))
        };
        !host.is_empty() && (host == named || is_beside() == Some(true))
    }
}

/// The domain that a host is in, where one site has it.
fn domain_of(host: &str) -> Option<&str> {
    let (_, domain) = host.split_once('.').filter(|_| host.parse::<Ipv4Addr>().is_err())?;
    let (first, rest) = domain.split_once('.')?;
    let is_of_country = rest.len() == 2 && OF_COUNTRIES.contains(&first);
    (!is_of_country).then_some(domain)
}

/// Whether a host is written as this machine, or as an address that is valid on one link only.
/// Names are not looked up: the owner of a name can make it lead to any address in any case.
fn is_near(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<Ipv6Addr>() {
        // With IPv4 addresses in the forms that XRootD and the system write.
        let inner = address.to_ipv4().filter(|inner| inner.octets()[0] > 0);
        return inner.map_or_else(|| is_near_v6(address), is_near_v4);
    }
    // As the system's name look-up reads numbers: 127.1 is an address, too.
    match Host::parse(bare) {
        Ok(Host::Ipv4(address)) => is_near_v4(address),
        Ok(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        _ => false,
    }
}

fn is_near_v4(address: Ipv4Addr) -> bool {
    address.is_loopback() || address.is_link_local() || address.is_unspecified()
}

fn is_near_v6(address: Ipv6Addr) -> bool {
    address.is_loopback() || address.is_unspecified() || address.is_unicast_link_local()
}
