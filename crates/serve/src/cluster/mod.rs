//! Several proxies that share the files of their origins, so that each file is in the cache of one
//! of them. There is no manager: each node knows all others, and sends a client to the owner of its
//! file. A node that does not answer is left out until it does.

mod health;
mod node;
mod sent;

use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash, Hasher};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mutex::Mutex;
use tokio::time::Instant;
use twox_hash::XxHash64;

pub use self::node::Node;
use self::node::ranked;
pub use self::sent::{SentElsewhere, SentRequest};

/// A file that clients of more addresses than this open within [`HOT_TIME`] is hot.
const HOT_CLIENTS: usize = 8;
const HOT_TIME: Duration = Duration::from_secs(10);
/// Most files whose opens are counted.
const COUNTED_MAX: usize = 4096;

/// The nodes of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nodes {
    Listed(Vec<Node>),
    /// All addresses of this name.
    Named(Node),
}

/// The cluster that a proxy is a node of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    pub nodes: Nodes,
    /// This node, as it is among the nodes; `None` with a name, whose address is one of this
    /// machine.
    pub own: Option<Node>,
}

/// The nodes, and which of them answer. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cluster(Arc<ClusterInner>);

#[derive(Debug)]
struct ClusterInner {
    settings: ClusterSettings,
    members: Mutex<Members>,
    opens: Mutex<HashMap<String, Opens>>,
    clients_sent: AtomicU64,
    /// This node ends: the others have its files.
    is_leaving: AtomicBool,
}

#[derive(Debug, Default)]
struct Members {
    own: Option<Node>,
    others: Vec<Member>,
}

/// Counts of a cluster; zeros without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClusterFigures {
    /// Other nodes, and those of them that answer.
    pub nodes: u64,
    pub up: u64,
    /// Requests whose clients were sent to another node.
    pub clients_sent: u64,
}

/// Another node.
#[derive(Debug, Clone)]
struct Member {
    node: Node,
    is_up: bool,
}

/// Clients of this node that have opened a file. One client opens it on many connections.
#[derive(Debug)]
struct Opens {
    since: Instant,
    /// At most one more than [`HOT_CLIENTS`].
    clients: BTreeSet<IpAddr>,
}

impl ClusterSettings {
    /// # Errors
    /// A text: this node is not among those that are listed; one is listed twice.
    pub fn check(&self) -> Result<(), String> {
        if let Nodes::Listed(nodes) = &self.nodes {
            let mut seen = BTreeSet::new();
            if let Some(node) = nodes.iter().find(|node| !seen.insert(*node)) {
                return Err(format!("the node {node} is listed twice"));
            }
        }
        match (&self.nodes, &self.own) {
            (Nodes::Listed(nodes), Some(own)) if !nodes.contains(own) => {
                Err(format!("{own} is this node, and not in the list of nodes"))
            }
            (Nodes::Listed(_), None) => {
                Err("which of the nodes is this one? own = \"HOST:PORT\"".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Cluster {
    /// Watches the other nodes, on the present tokio runtime.
    ///
    /// # Errors
    /// As [`ClusterSettings::check`].
    pub fn start(settings: &ClusterSettings) -> io::Result<Self> {
        let invalid = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
        settings.check().map_err(invalid)?;
        let cluster = Cluster::new(settings);
        let inner = Arc::downgrade(&cluster.0);
        if let Nodes::Named(name) = &settings.nodes {
            tokio::spawn(health::resolve_again(inner.clone(), name.clone()));
        }
        tokio::spawn(health::watch(inner));
        Ok(cluster)
    }

    /// Without health checks: all nodes count as up.
    pub fn new(settings: &ClusterSettings) -> Self {
        let inner = ClusterInner {
            settings: settings.clone(),
            members: Mutex::default(),
            opens: Mutex::default(),
            clients_sent: AtomicU64::new(0),
            is_leaving: AtomicBool::new(false),
        };
        if let Nodes::Listed(nodes) = &settings.nodes {
            inner.set_members(nodes.clone());
        }
        Cluster(Arc::new(inner))
    }

    /// The node that a client is sent to for a file; `None` where it is served here. `tried` are
    /// hosts that the client could not reach.
    pub fn elsewhere(&self, file: &str, client: IpAddr, tried: &[&str]) -> Option<Node> {
        let is_hot = self.0.is_hot(file, client);
        let members = self.0.members.lock();
        let own = members.own.as_ref()?;
        let may_serve =
            |member: &&Member| member.is_up && !tried.iter().any(|host| *host == member.node.host);
        let up = members.others.iter().filter(may_serve).map(|member| &member.node);
        let own_place = (!self.0.is_leaving.load(Ordering::Relaxed)).then_some(own);
        let ranked = ranked(up.chain(own_place), file);
        // Clients of a hot file are divided between its owner and the next node.
        let chosen = match ranked.get(1) {
            Some(second) if is_hot && is_second(client, file) => *second,
            _ => *ranked.first()?,
        };
        let elsewhere = (chosen != own).then(|| chosen.clone());
        self.0.clients_sent.fetch_add(elsewhere.is_some().into(), Ordering::Relaxed);
        elsewhere
    }

    /// From now on clients of this node are sent to others, as long as one answers. Returns the
    /// time after which the others send none to this one.
    pub fn leave(&self) -> Duration {
        self.0.is_leaving.store(true, Ordering::Relaxed);
        health::NOTICED
    }

    /// The name by which the other nodes know this one.
    pub fn own_node(&self) -> Option<Node> {
        self.0.members.lock().own.clone()
    }

    pub fn settings(&self) -> &ClusterSettings {
        &self.0.settings
    }

    pub fn figures(&self) -> ClusterFigures {
        let members = self.0.members.lock();
        let up = members.others.iter().filter(|member| member.is_up).count();
        let clients_sent = self.0.clients_sent.load(Ordering::Relaxed);
        ClusterFigures { nodes: members.others.len() as u64, up: up as u64, clients_sent }
    }
}

impl ClusterInner {
    /// Notes an open; whether many clients open the file.
    fn is_hot(&self, file: &str, client: IpAddr) -> bool {
        let mut opens = self.opens.lock();
        let now = Instant::now();
        if opens.len() >= COUNTED_MAX && !opens.contains_key(file) {
            opens.retain(|_, opens| now - opens.since < HOT_TIME);
            if opens.len() >= COUNTED_MAX {
                return false;
            }
        }
        let none = || Opens { since: now, clients: BTreeSet::new() };
        let counted = opens.entry(file.to_owned()).or_insert_with(none);
        if now - counted.since >= HOT_TIME {
            *counted = none();
        }
        if counted.clients.len() <= HOT_CLIENTS {
            counted.clients.insert(client);
        }
        counted.clients.len() > HOT_CLIENTS
    }

    /// Sets the nodes; those that were known keep their state, new ones are taken for up.
    fn set_members(&self, nodes: Vec<Node>) {
        let own =
            self.settings.own.clone().or_else(|| nodes.iter().find(|node| is_here(node)).cloned());
        let mut members = self.members.lock();
        let before = std::mem::take(&mut members.others);
        let state = |node: &Node| before.iter().find(|member| member.node == *node);
        let others = nodes.into_iter().filter(|node| Some(node) != own.as_ref());
        let member = |node: Node| Member { is_up: state(&node).is_none_or(|m| m.is_up), node };
        let others: Vec<Member> = others.map(member).collect();
        members.others = others;
        members.own = own;
    }

    fn set_up(&self, node: &Node, is_up: bool) {
        let mut members = self.members.lock();
        if let Some(member) = members.others.iter_mut().find(|member| member.node == *node)
            && member.is_up != is_up
        {
            member.is_up = is_up;
            match is_up {
                true => tracing::info!(%node, "a node of the cluster answers again"),
                false => tracing::warn!(%node, "a node of the cluster does not answer"),
            }
        }
    }
}

/// Whether a client belongs to the half that the second node of a hot file serves. All connections
/// of a client do.
fn is_second(client: IpAddr, file: &str) -> bool {
    let mut hasher = XxHash64::with_seed(0);
    client.hash(&mut hasher);
    hasher.write(file.as_bytes());
    hasher.finish() % 2 == 1
}

/// Whether a node's address is one of this machine: only such addresses can be bound.
fn is_here(node: &Node) -> bool {
    let Ok(address) = node.host.parse::<IpAddr>() else { return false };
    std::net::UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1));

    fn node(number: usize) -> Node {
        Node { host: format!("10.0.0.{number}"), port: 1094 }
    }

    fn cluster(own: usize) -> Cluster {
        let nodes = Nodes::Listed((1..=4).map(node).collect());
        Cluster::new(&ClusterSettings { nodes, own: Some(node(own)) })
    }

    fn file(number: usize) -> String {
        format!("root://origin//store/{number}.root")
    }

    /// Where a client of a node ends up.
    fn served(cluster: &Cluster, own: usize, file: &str) -> Node {
        cluster.elsewhere(file, CLIENT, &[]).unwrap_or_else(|| node(own))
    }

    #[tokio::test]
    async fn all_nodes_send_clients_of_a_file_to_the_same_one() {
        let clusters: Vec<Cluster> = (1..=4).map(cluster).collect();
        for number in 0..200 {
            let file = file(number);
            let owner = served(&clusters[0], 1, &file);
            for (at, cluster) in clusters.iter().enumerate() {
                assert_eq!(served(cluster, at + 1, &file), owner);
            }
        }
    }

    #[tokio::test]
    async fn files_of_a_node_that_is_down_go_to_all_others() {
        let cluster = cluster(1);
        let before: Vec<Node> = (0..400).map(|n| served(&cluster, 1, &file(n))).collect();
        cluster.0.set_up(&node(2), false);
        let mut takers = std::collections::BTreeSet::new();
        for (number, before) in before.iter().enumerate() {
            let after = served(&cluster, 1, &file(number));
            assert_ne!(after, node(2));
            match *before == node(2) {
                true => drop(takers.insert(after)),
                false => assert_eq!(after, *before),
            }
        }
        assert_eq!(takers.len(), 3);
        cluster.0.set_up(&node(2), true);
        assert_eq!(served(&cluster, 1, &file(0)), before[0]);
    }

    /// A node that ends does not keep its clients, except where no other node is left.
    #[tokio::test]
    async fn a_node_that_leaves_sends_its_clients_to_others() {
        let cluster = cluster(1);
        let is_own = |number: usize| served(&cluster, 1, &file(number)) == node(1);
        let own: Vec<usize> = (0..100).filter(|number| is_own(*number)).collect();
        assert!(!own.is_empty());
        cluster.leave();
        assert!(own.iter().all(|number| !is_own(*number)));
        (2..=4).for_each(|other| cluster.0.set_up(&node(other), false));
        assert!(own.iter().all(|number| is_own(*number)));
    }

    /// A client that could not reach a node does not wait until this one knows.
    #[tokio::test]
    async fn a_client_is_not_sent_where_it_has_tried() {
        let cluster = cluster(1);
        for number in 0..100 {
            let file = file(number);
            let Some(owner) = cluster.elsewhere(&file, CLIENT, &[]) else { continue };
            assert_ne!(cluster.elsewhere(&file, CLIENT, &[&owner.host]), Some(owner));
            let all = ["10.0.0.2", "10.0.0.3", "10.0.0.4"];
            assert_eq!(cluster.elsewhere(&file, CLIENT, &all), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn clients_of_a_hot_file_are_divided_between_two_nodes() {
        let cluster = cluster(1);
        let mut counts = std::collections::BTreeMap::new();
        let served_to = |number: u8| {
            let client = IpAddr::from([10, 0, 2, number]);
            cluster.elsewhere(&file(7), client, &[]).unwrap_or_else(|| node(1))
        };
        // A single client has many connections.
        let owner = served_to(0);
        assert!((0..100).all(|_| served_to(0) == owner));
        (0..200).for_each(|number| drop(served_to(number)));
        for number in 0..200 {
            let node = served_to(number);
            assert_eq!(served_to(number), node, "one client");
            *counts.entry(node).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 2, "{counts:?}");
        assert!(counts.values().all(|count| *count >= 60), "{counts:?}");
        tokio::time::advance(HOT_TIME).await;
        assert!((0..8).all(|number| served_to(number) == owner));
        (0..2 * COUNTED_MAX).for_each(|n| drop(cluster.elsewhere(&file(n), CLIENT, &[])));
        assert!(cluster.0.opens.lock().len() <= COUNTED_MAX);
    }

    #[test]
    fn a_node_knows_which_one_it_is() {
        let nodes = Nodes::Listed(vec![node(1), node(2)]);
        let check = |own| ClusterSettings { nodes: nodes.clone(), own }.check();
        assert!(check(Some(node(1))).is_ok());
        assert!(check(Some(node(9))).unwrap_err().contains("10.0.0.9:1094"));
        assert!(check(None).unwrap_err().contains("own"));
        assert!(is_here(&"127.0.0.1:1094".parse().unwrap()));
        assert!(!is_here(&"192.0.2.1:1094".parse().unwrap()));
    }
}
