//! Authentication: what a server offers, and the protocols that can answer it, one file each.
//!
//! A protocol is a [`Method`] in the client's configuration; in a session it becomes an
//! [`Exchange`] that is asked for credentials until the server is content.

use bytes::Bytes;

mod host;
mod unix;

/// A protocol that a client may use, with what it needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Says who one is; servers believe it.
    Unix { user: String, group: String },
    /// Says nothing; servers go by the address.
    Host,
}

/// One authentication under way.
pub trait Exchange: std::fmt::Debug + Send + Sync {
    /// The first credential. `arguments` is what the server said behind the protocol's name.
    fn begin(&mut self, arguments: &str) -> Bytes;

    /// The next credential after kXR_authmore; none if the protocol has no further step.
    fn proceed(&mut self, challenge: &[u8]) -> Option<Bytes>;
}

impl Method {
    /// The protocol's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Unix { .. } => "unix",
            Method::Host => "host",
        }
    }

    /// The name as kXR_auth carries it, filled up with NUL.
    pub fn wire_name(&self) -> [u8; 4] {
        let mut name = [0; 4];
        for (to, from) in name.iter_mut().zip(self.name().bytes()) {
            *to = from;
        }
        name
    }

    /// Whether its first credential is its last, so that it can leave before the server asks.
    pub fn is_one_step(&self) -> bool {
        match self {
            Method::Unix { .. } | Method::Host => true,
        }
    }

    /// Begins an authentication.
    pub fn exchange(&self) -> Box<dyn Exchange> {
        match self {
            Method::Unix { user, group } => Box::new(unix::Unix::new(user, group)),
            Method::Host => Box::new(host::Host),
        }
    }
}

/// One protocol that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub name: String,
    pub arguments: String,
}

/// Reads a login's security text, `&P=name,arguments&P=...`, in the server's order of preference.
pub fn offers(security: &str) -> Vec<Offer> {
    security
        .split("&P=")
        .filter(|part| !part.trim_matches('&').is_empty())
        .map(|part| {
            let (name, arguments) = part.split_once(',').unwrap_or((part, ""));
            Offer { name: name.trim().to_owned(), arguments: arguments.to_owned() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_read_in_the_servers_order() {
        let found = offers("&P=gsi,v:10600,c:ssl,ca:d1bfdaf0.0|a48310c5.0&P=unix");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].name, "gsi");
        assert_eq!(found[0].arguments, "v:10600,c:ssl,ca:d1bfdaf0.0|a48310c5.0");
        assert_eq!(found[1], Offer { name: "unix".to_owned(), arguments: String::new() });
        assert!(offers("").is_empty());
    }
}
