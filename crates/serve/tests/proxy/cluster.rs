//! Several proxies that share the files of an origin.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use farroot_serve::{ClusterSettings, Config, Content, Node, Nodes, Server};
use xrootd::client::Answer;
use xrootd::message::locate::LocateOptions;

use super::bed::{forwarding, header, http};
use super::guarded::clients::Session;
use super::{read, remote};

const FILES: usize = 24;
const FILE_BYTES: usize = 40_000;

/// An origin with files, and three nodes before it.
struct Cluster {
    _folder: tempfile::TempDir,
    origin: Server,
    nodes: Vec<Server>,
}

fn content(number: usize) -> Vec<u8> {
    (0..FILE_BYTES).map(|at| (at / 7 + at * number + number) as u8).collect()
}

fn node(server: &Server) -> Node {
    let address = server.address();
    Node { host: address.ip().to_string(), port: address.port() }
}

fn start(number: u8) -> Server {
    let content = Content::Far(Box::new(forwarding()));
    let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, number));
    Server::start(Config { address, ..Config::of(content) }).unwrap()
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..FILES {
            fs::write(folder.path().join(format!("{number}.root")), content(number)).unwrap();
        }
        tokio::task::block_in_place(|| {
            let origin = Server::start(Config::new(folder.path())).unwrap();
            let nodes: Vec<Server> = (1..=3).map(start).collect();
            let cluster = Cluster { _folder: folder, origin, nodes };
            cluster.introduce();
            cluster
        })
    }

    /// All nodes, for one of them.
    fn settings(&self, server: &Server) -> ClusterSettings {
        let nodes = Nodes::Listed(self.nodes.iter().map(node).collect());
        ClusterSettings { nodes, own: Some(node(server)) }
    }

    /// Tells all nodes of each other.
    fn introduce(&self) {
        for server in &self.nodes {
            server.set_cluster(Some(&self.settings(server))).unwrap();
        }
    }

    fn address(&self, node: usize, number: usize) -> String {
        format!("{}{}{number}.root", self.nodes[node].root_url(), self.origin.root_url())
    }

    /// The number of files that each node has opened at the origin.
    fn origin_opens(&self) -> Vec<u64> {
        self.nodes.iter().map(|server| server.figures().unwrap().origin_opens).collect()
    }

    async fn wait_until_up(&self, node: usize, up: u64) {
        while self.nodes[node].figures().unwrap().cluster.up != up {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_file_is_opened_at_its_origin_by_one_node() {
    let cluster = Cluster::start();
    for at in 0..3 {
        let remote = remote();
        for number in 0..FILES {
            let range = 0..FILE_BYTES as u64;
            let bytes = read(&remote, &cluster.address(at, number), &[range]).await;
            assert!(bytes[0] == content(number), "file {number} by node {at}");
        }
    }
    let opens = cluster.origin_opens();
    assert_eq!(opens.iter().sum::<u64>(), FILES as u64, "{opens:?}");
    assert!(opens.iter().all(|count| *count > 0), "{opens:?}");
    let sent = |server: &Server| server.figures().unwrap().cluster.clients_sent;
    assert!(cluster.nodes.iter().all(|server| sent(server) > 0));
}

/// curl -L follows such an answer; the node that gets the client serves it.
#[tokio::test(flavor = "multi_thread")]
async fn clients_of_http_are_sent_by_a_redirect() {
    let cluster = Cluster::start();
    let mut sent = 0;
    for number in 0..FILES {
        let path = format!("/{}{number}.root", cluster.origin.http_url());
        let (status, head, body) = http(&cluster.nodes[0], "GET", &path, "");
        if status == 200 {
            assert!(body == content(number));
            continue;
        }
        assert_eq!(status, 307, "{head}");
        let there = header(&head, "location").unwrap();
        let serves = |server: &&Server| there.starts_with(&server.http_url());
        let server = cluster.nodes[1..].iter().find(serves).expect(there);
        let path = &there[server.http_url().len() - 1..];
        let (status, _, body) = http(server, "GET", path, "");
        assert_eq!(status, 200);
        assert!(body == content(number));
        sent += 1;
    }
    assert!((1..FILES).contains(&sent), "{sent} of {FILES}");
}

/// Clients are not sent to a node that has died. It takes its files back when it is there again.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_dies_is_left_out() {
    let mut cluster = Cluster::start();
    cluster.wait_until_up(0, 2).await;
    let settings = cluster.settings(&cluster.nodes[0]);
    let dead = cluster.nodes.pop().unwrap();
    tokio::task::block_in_place(|| drop(dead));
    cluster.wait_until_up(0, 1).await;
    // A reload without a change does not take it for up again.
    cluster.nodes[0].set_cluster(Some(&settings)).unwrap();
    assert_eq!(cluster.nodes[0].figures().unwrap().cluster.up, 1);
    let remote = remote();
    for number in 0..FILES {
        let range = 0..FILE_BYTES as u64;
        let bytes = read(&remote, &cluster.address(0, number), &[range]).await;
        assert!(bytes[0] == content(number), "file {number}");
    }
    let opens = cluster.origin_opens();
    assert_eq!(opens.iter().sum::<u64>(), FILES as u64, "{opens:?}");
}

/// A client that is sent to a node in the moment of its death reads from another.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_survives_the_death_of_its_node() {
    let mut cluster = Cluster::start();
    let remote = remote();
    let mut files = Vec::new();
    for number in 0..FILES {
        files.push(remote.open_bytes(&cluster.address(0, number)).await.unwrap());
    }
    let dead = cluster.nodes.pop().unwrap();
    tokio::task::block_in_place(|| drop(dead));
    for (number, file) in files.iter().enumerate() {
        let range = 20_000..FILE_BYTES as u64;
        let fetched = file.fetch(&[range]).await.unwrap();
        assert!(fetched[0].1 == content(number)[20_000..], "file {number}");
        let again = read(&super::remote(), &cluster.address(0, number), &[0..100]).await;
        assert!(again[0] == content(number)[..100], "file {number}");
    }
}

/// Regression: a node said where a file is by its address, for which its certificate is not. So
/// clients of a node that had died could not go on at another one within TLS.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_located_by_its_name() {
    let cluster = Cluster::start();
    let node = &cluster.nodes[0];
    let own: Node = "localhost:1094".parse().unwrap();
    let nodes = Nodes::Listed(vec![own.clone()]);
    node.set_cluster(Some(&ClusterSettings { nodes, own: Some(own) })).unwrap();
    let path = format!("/{}0.root", cluster.origin.root_url());
    let located = tokio::task::block_in_place(|| {
        let mut session = Session::plain(node);
        let request = session.ask(|client, now| client.locate(now, &path, LocateOptions(0)));
        session.outcome(request).unwrap()
    });
    let Some(Answer::Locations(places)) = located else { panic!("{located:?}") };
    assert_eq!(places.iter().map(|place| &*place.address).collect::<Vec<_>>(), ["localhost:1094"]);
}
