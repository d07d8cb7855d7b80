//! The address of a file after a redirection.

use core::net::IpAddr;

use xrootd::response::Redirect;

use super::{XrootdServer, parts};
use crate::address::{Address, Way};
use crate::error::{Error, ErrorKind, Result};

impl XrootdServer {
    /// A target that is named by the number of this very machine keeps its name: certificates are
    /// for names.
    pub(super) fn by_name(&self, mut target: Redirect) -> Redirect {
        let here = self.network.reached(&self.host, self.port);
        if here.is_some() && target.host.parse::<IpAddr>().ok() == here {
            target.host.clone_from(&self.host);
            if let Some(url) = &mut target.url {
                url.host.clone_from(&self.host);
            }
        }
        target
    }
}

/// The target's host with the file's own path, unless the
/// target is a whole address.
pub fn redirected(file: &Address, target: &Redirect) -> Result<Address> {
    let next = target.follow(parts(file)?).map_err(|error| {
        Error::new(ErrorKind::Io, format!("sent to an address that cannot be read: {error}"))
            .with_url(file.to_string())
    })?;
    file.led_to(&next.to_string(), Way::Redirect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_keeps_the_path_and_takes_the_opaque_part() {
        let target = Redirect::to_host("ds1", 33161, Some("tried=a"));
        let from = Address::parse("root://redirector:1094//store/f.root?x=1").unwrap();
        let url = redirected(&from, &target).unwrap();
        assert_eq!(url.host(), Some("ds1"));
        assert_eq!(url.port(), Some(33161));
        assert!(url.as_str().contains("//store/f.root?x=1&tried=a"), "{url}");
    }
}
