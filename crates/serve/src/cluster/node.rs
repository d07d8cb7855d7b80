//! The nodes of a cluster, and which of them have a file.

use std::fmt;
use std::hash::Hasher;
use std::str::FromStr;

use twox_hash::XxHash64;

/// Where a node listens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node {
    /// A name or an address; an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
}

impl FromStr for Node {
    type Err = String;

    /// Of `HOST:PORT`, with an IPv6 address in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no node: write HOST:PORT, as cache1.example:1094");
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let is_name = |host: &str| {
            !host.is_empty()
                && host
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || "-.".contains(letter))
        };
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(address) => {
                address.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?;
                address
            }
            None if is_name(host) => host,
            None => return Err(wrong()),
        };
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
        Ok(Node { host: host.to_owned(), port })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The nodes in the order in which they have a file: the first is its owner, the second takes over
/// when that is down, and so on. Rendezvous hashing: the order of two nodes depends on nothing but
/// these and the file, so that a node that leaves moves no files of others.
pub fn ranked<'n>(nodes: impl IntoIterator<Item = &'n Node>, file: &str) -> Vec<&'n Node> {
    let mut scored: Vec<(u64, &Node)> =
        nodes.into_iter().map(|node| (score(node, file), node)).collect();
    scored.sort_unstable_by(|one, other| other.cmp(one));
    scored.into_iter().map(|(_, node)| node).collect()
}

fn score(node: &Node, file: &str) -> u64 {
    let mut hasher = XxHash64::with_seed(u64::from(node.port));
    hasher.write(node.host.as_bytes());
    hasher.write_u8(0);
    hasher.write(file.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn nodes(count: usize) -> Vec<Node> {
        (0..count).map(|n| Node { host: format!("cache{n}.example"), port: 1094 }).collect()
    }

    fn files() -> impl Iterator<Item = String> {
        (0..20_000).map(|n| format!("root://origin.example:1094//store/run3/nano_{n}.root"))
    }

    fn owners(nodes: &[Node]) -> Vec<Node> {
        files().map(|file| ranked(nodes, &file)[0].clone()).collect()
    }

    #[test]
    fn files_spread_evenly() {
        let all = nodes(8);
        let mut counts: BTreeMap<Node, usize> = BTreeMap::new();
        owners(&all).into_iter().for_each(|node| *counts.entry(node).or_default() += 1);
        assert_eq!(counts.len(), 8);
        assert!(counts.values().all(|count| (2300..2700).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_node_that_leaves_moves_its_own_files_only_and_to_all_others() {
        let all = nodes(8);
        let before = owners(&all);
        let after = owners(&all[1..]);
        let mut moved: BTreeMap<&Node, usize> = BTreeMap::new();
        for (was, is) in before.iter().zip(&after) {
            match *was == all[0] {
                true => *moved.entry(is).or_default() += 1,
                false => assert_eq!(was, is),
            }
        }
        assert_eq!(moved.len(), 7);
        assert!(moved.values().all(|count| (250..470).contains(count)), "{moved:?}");
    }

    #[test]
    fn the_order_of_the_list_does_not_matter() {
        let mut other = nodes(5);
        other.reverse();
        assert_eq!(owners(&nodes(5)), owners(&other));
    }

    #[test]
    fn nodes_are_hosts_with_ports() {
        for text in ["cache1.example:1094", "10.0.0.7:8443", "[fe80::1]:1094"] {
            assert_eq!(text.parse::<Node>().unwrap().to_string(), text);
        }
        for text in ["cache1.example", ":1094", "a:0", "a:99999", "a b:1", "http://a:1", "[x]:1"] {
            assert!(text.parse::<Node>().unwrap_err().contains("HOST:PORT"), "{text}");
        }
    }
}
