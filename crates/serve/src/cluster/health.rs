//! Whether the other nodes answer, and which nodes a name has.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::{ClusterInner, Node};

/// Time between two checks of a node.
const CHECK: Duration = Duration::from_millis(400);
/// A node that takes longer than this is down. Together with [`CHECK`] clients are sent to a node
/// that has died for less than a second.
const ANSWER: Duration = Duration::from_millis(500);
/// How often the name of a cluster is resolved again, and after an error.
const RESOLVED: Duration = Duration::from_secs(10);
const UNRESOLVED: Duration = Duration::from_secs(1);
/// Bytes of an answer that are read.
const STATUS_BYTES: usize = 16;

/// Checks the nodes until their cluster is gone.
pub async fn watch(cluster: Weak<ClusterInner>) {
    while let Some(cluster) = cluster.upgrade() {
        check_all(&cluster).await;
        drop(cluster);
        tokio::time::sleep(CHECK).await;
    }
}

/// Resolves the name of a cluster until that is gone, beside the checks: the DNS may take longer
/// than a node that has died. A name that is not resolved now keeps its addresses.
pub async fn resolve_again(cluster: Weak<ClusterInner>, name: Node) {
    while cluster.strong_count() > 0 {
        let resolved = resolve(&name).await;
        let pause = if resolved.is_ok() { RESOLVED } else { UNRESOLVED };
        if let (Ok(nodes), Some(cluster)) = (resolved, cluster.upgrade()) {
            cluster.set_members(nodes);
        }
        tokio::time::sleep(pause).await;
    }
}

async fn check_all(cluster: &Arc<ClusterInner>) {
    let others: Vec<Node> =
        cluster.members.lock().others.iter().map(|member| member.node.clone()).collect();
    let checks = others.iter().map(|node| async move {
        let is_up = timeout(ANSWER, is_ready(node)).await.is_ok_and(|found| found.unwrap_or(false));
        cluster.set_up(node, is_up);
    });
    join_all(checks).await;
}

/// Whether a node takes clients. Nodes answer this without encryption or credentials.
async fn is_ready(node: &Node) -> io::Result<bool> {
    let mut stream = TcpStream::connect((&*node.host, node.port)).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {node}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; STATUS_BYTES];
    stream.read_exact(&mut status).await?;
    Ok(status.starts_with(b"HTTP/1.1 200"))
}

async fn resolve(name: &Node) -> io::Result<Vec<Node>> {
    let addresses = lookup_host((&*name.host, name.port)).await?;
    let node = |address: std::net::SocketAddr| Node {
        host: address.ip().to_string(),
        port: address.port(),
    };
    let mut nodes: Vec<Node> = addresses.map(node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    Ok(nodes)
}
