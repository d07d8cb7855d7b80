//! A client that is sent to another node, and the marks of one that was.

use std::error::Error;
use std::fmt;
use std::io;

use xrootd::response::Redirect;

use super::Node;

/// The parameter of a client that a node has sent: it is served where it arrives, whatever that
/// node knows of the others. So no client is sent in a circle.
const SENT: &str = "farroot.node";
/// The parameter with the hosts that a client of XRootD could not reach.
const TRIED: &str = "tried";

/// The node that serves a file.
#[derive(Debug)]
pub struct SentElsewhere(Node);

/// The parts of a request's query that are for the cluster.
#[derive(Debug, PartialEq, Eq)]
pub struct SentRequest<'a> {
    pub is_sent: bool,
    /// Hosts that the client could not reach.
    pub tried: Vec<&'a str>,
}

impl SentElsewhere {
    pub fn error(node: Node) -> io::Error {
        io::Error::other(SentElsewhere(node))
    }

    /// The node that an error names; `None` for other errors.
    pub fn of(error: &io::Error) -> Option<&Node> {
        Some(&error.get_ref()?.downcast_ref::<SentElsewhere>()?.0)
    }
}

impl fmt::Display for SentElsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} serves this file", self.0)
    }
}

impl Error for SentElsewhere {}

impl Node {
    /// How a client of XRootD is sent here.
    pub fn redirect(&self) -> Redirect {
        Redirect::to_host(&self.host, self.port, Some(&format!("{SENT}=1")))
    }

    /// The address at which a client of HTTP gets `written`, a path with its query.
    pub fn location(&self, is_encrypted: bool, written: &str) -> String {
        let scheme = if is_encrypted { "https" } else { "http" };
        let mark = if written.contains('?') { '&' } else { '?' };
        format!("{scheme}://{self}{written}{mark}{SENT}=1")
    }
}

impl<'a> SentRequest<'a> {
    /// Of a name as the request has it.
    pub fn of(written: &'a str) -> Self {
        let mut request = SentRequest { is_sent: false, tried: Vec::new() };
        for part in written.split(['?', '&']).skip(1) {
            match part.split_once('=').unwrap_or((part, "")) {
                (SENT, _) => request.is_sent = true,
                (TRIED, hosts) => request.tried.extend(hosts.split(',')),
                _ => {}
            }
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_was_sent_says_so() {
        let node: Node = "[fe80::1]:1094".parse().unwrap();
        let error = SentElsewhere::error(node.clone());
        assert_eq!(SentElsewhere::of(&error), Some(&node));
        assert_eq!(SentElsewhere::of(&io::ErrorKind::NotFound.into()), None);
        assert_eq!(node.redirect().opaque.as_deref(), Some("farroot.node=1"));
        let there = node.location(true, "/root://o//f.root?a=b");
        assert_eq!(there, "https://[fe80::1]:1094/root://o//f.root?a=b&farroot.node=1");
        assert!(SentRequest::of(&there).is_sent);
        let there = node.location(false, "/root://o//f.root");
        assert_eq!(there, "http://[fe80::1]:1094/root://o//f.root?farroot.node=1");
    }

    #[test]
    fn tried_hosts_are_known() {
        let request = SentRequest::of("/root://o//f?tried=a.example,b.example&triedrc=enoent");
        let tried = vec!["a.example", "b.example"];
        assert_eq!(request, SentRequest { is_sent: false, tried });
        assert!(SentRequest::of("/root://o//f.node=1").tried.is_empty());
    }
}
