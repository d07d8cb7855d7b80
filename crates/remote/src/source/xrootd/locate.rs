//! The meaning of an answer to kXR_locate.

use std::net::Ipv6Addr;

use xrootd::message::locate::Location;

use crate::address::{Address, Way};
use crate::source::{FileLocation, Role};

/// A place that has the file now, as an address of it. None where it cannot be one, or may not
/// follow the address of the request.
pub fn place(file: &Address, location: &Location) -> Option<FileLocation> {
    if location.pending {
        return None;
    }
    let (host, port) = location.address.rsplit_once(':')?;
    let mut there = file.to_xrootd()?.clone();
    there.host = host_of(host);
    there.port = port.parse().ok()?;
    let url = file.led_to(&there.to_string(), Way::Redirect).ok()?;
    let role = if location.manager { Role::Manager } else { Role::Server };
    Some(FileLocation { url, role })
}

/// XRootD writes addresses of IPv4 as of IPv6, sometimes in a form that no client can connect to
/// (`[::10.77.0.13]`); without the brackets.
fn host_of(host: &str) -> String {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let Some((inner, address)) =
        inner.and_then(|inner| Some((inner, inner.parse::<Ipv6Addr>().ok()?)))
    else {
        return host.to_owned();
    };
    match address.to_ipv4() {
        Some(address) if address.octets()[0] > 0 => address.to_string(),
        _ => inner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_of_the_file_there() {
        let file = Address::parse("root://man:1094//store/f.root?x=1").unwrap();
        let at = |pending, manager, address: &str| {
            let location =
                Location { manager, pending, writable: false, address: address.to_owned() };
            place(&file, &location).map(|place| (place.url.as_str().to_owned(), place.role))
        };
        for (address, expected) in [
            ("ds1.site.org:33161", "root://ds1.site.org:33161//store/f.root?x=1"),
            ("[::10.77.0.13]:33161", "root://10.77.0.13:33161//store/f.root?x=1"),
            ("[::ffff:10.77.0.13]:1094", "root://10.77.0.13:1094//store/f.root?x=1"),
            ("[2001:db8::1]:1094", "root://[2001:db8::1]:1094//store/f.root?x=1"),
        ] {
            assert_eq!(
                at(false, false, address),
                Some((expected.to_owned(), Role::Server)),
                "{address}"
            );
        }
        assert_eq!(at(false, true, "man2:1094").unwrap().1, Role::Manager);
        assert_eq!(at(true, false, "ds2:1094"), None, "it is only on its way there");
        assert_eq!(at(false, false, "[::1]:1094"), None, "this machine is not what man means");
        for wrong in ["", "host", "host:", "host:70000", ":1"] {
            assert_eq!(at(false, false, wrong), None, "{wrong}");
        }
    }
}
