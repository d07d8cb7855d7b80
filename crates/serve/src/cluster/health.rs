//! Whether the other nodes answer, and which nodes a name has.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::{join_all, select_all};
use hyper::body::Body;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::HOST;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{ClusterInner, Node};

/// Time between two checks of a node.
const CHECK: Duration = Duration::from_millis(400);
/// The same after the end of a connection.
const CHECK_AGAIN: Duration = Duration::from_millis(50);
/// A node that takes longer than this is down. Together with [`CHECK`], clients are sent to a dead
/// machine for less than a second.
const ANSWER: Duration = Duration::from_millis(500);
/// After this time, all other nodes know that a node takes no more clients.
pub const NOTICED: Duration = CHECK.saturating_add(ANSWER);
/// How often the name of a cluster is resolved again, and after an error.
const RESOLVED: Duration = Duration::from_secs(10);
const UNRESOLVED: Duration = Duration::from_secs(1);

/// A connection to another node, for all its checks. It ends as soon as the node's process dies.
struct NodeConnection {
    requests: SendRequest<String>,
    end: JoinHandle<()>,
}

/// Checks the nodes until their cluster is gone.
pub async fn watch(cluster: Weak<ClusterInner>) {
    let mut connections = BTreeMap::new();
    while let Some(cluster) = cluster.upgrade() {
        connections = check_all(&cluster, connections).await;
        drop(cluster);
        pause(&mut connections).await;
    }
}

/// Until the next check: less if a connection ends.
async fn pause(connections: &mut BTreeMap<Node, NodeConnection>) {
    sleep(CHECK_AGAIN).await;
    let ends: Vec<_> = connections.values_mut().map(|connection| &mut connection.end).collect();
    match ends.is_empty() {
        true => sleep(CHECK - CHECK_AGAIN).await,
        false => drop(timeout(CHECK - CHECK_AGAIN, select_all(ends)).await),
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

async fn check_all(
    cluster: &Arc<ClusterInner>,
    mut connections: BTreeMap<Node, NodeConnection>,
) -> BTreeMap<Node, NodeConnection> {
    let others: Vec<Node> =
        cluster.members.lock().others.iter().map(|member| member.node.clone()).collect();
    let checks = others.into_iter().map(|node| {
        let kept = connections.remove(&node);
        async move {
            let checked = timeout(ANSWER, check(&node, kept)).await;
            let connection = checked.ok().and_then(|checked| checked.ok().flatten());
            cluster.set_up(&node, connection.is_some());
            Some((node, connection?))
        }
    });
    join_all(checks).await.into_iter().flatten().collect()
}

/// A connection to a node that takes clients; `None` of one that does not.
async fn check(node: &Node, kept: Option<NodeConnection>) -> io::Result<Option<NodeConnection>> {
    if let Some(mut connection) = kept
        && let Ok(is_ready) = connection.is_ready(node).await
    {
        return Ok(is_ready.then_some(connection));
    }
    // A node may end an idle connection.
    let stream = TcpStream::connect((&*node.host, node.port)).await?;
    let mut connection = NodeConnection::over(stream).await.map_err(io::Error::other)?;
    let is_ready = connection.is_ready(node).await.map_err(io::Error::other)?;
    Ok(is_ready.then_some(connection))
}

impl NodeConnection {
    async fn over(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) -> hyper::Result<Self> {
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // The next check says why it ended.
        let end = tokio::spawn(async move { drop(connection.await) });
        Ok(NodeConnection { requests, end })
    }

    /// Whether the node takes clients. Nodes answer this without encryption or credentials.
    async fn is_ready(&mut self, node: &Node) -> hyper::Result<bool> {
        let mut request = Request::new(String::new());
        *request.uri_mut() = hyper::Uri::from_static("/readyz");
        if let Ok(host) = node.to_string().parse() {
            request.headers_mut().insert(HOST, host);
        }
        self.requests.ready().await?;
        let answer = self.requests.send_request(request).await?;
        let is_ready = answer.status() == StatusCode::OK;
        // The connection takes its next request behind the last byte of the answer.
        let mut body = pin!(answer.into_body());
        while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
            frame?;
        }
        Ok(is_ready)
    }
}

impl Drop for NodeConnection {
    fn drop(&mut self) {
        self.end.abort();
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;

    /// A node that ends its connection after so many answers.
    async fn answering(mut stream: tokio::io::DuplexStream, answers: usize) {
        let mut request = [0; 1024];
        for _ in 0..answers {
            assert!(stream.read(&mut request).await.unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        }
    }

    /// XRootD's client waits for up to two minutes where it is sent to a dead node, so the time
    /// until the others notice has to be short.
    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_connection_is_noticed_before_the_next_check() {
        let node: Node = "cache1.example:1094".parse().unwrap();
        let (near, far) = tokio::io::duplex(4096);
        let mut connection = NodeConnection::over(near).await.unwrap();
        let other = tokio::spawn(answering(far, 2));
        assert!(connection.is_ready(&node).await.unwrap());
        let mut connections = BTreeMap::from([(node.clone(), connection)]);
        let begun = Instant::now();
        pause(&mut connections).await;
        assert_eq!(begun.elapsed(), CHECK, "nothing has ended");
        assert!(connections.get_mut(&node).unwrap().is_ready(&node).await.unwrap());
        other.await.unwrap();
        let begun = Instant::now();
        pause(&mut connections).await;
        assert_eq!(begun.elapsed(), CHECK_AGAIN);
        assert!(connections.get_mut(&node).unwrap().is_ready(&node).await.is_err());
    }

    #[tokio::test]
    async fn a_node_that_takes_no_clients_is_left_out() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let node = Node { host: address.ip().to_string(), port: address.port() };
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            for status in ["200 OK", "503 Service Unavailable"] {
                assert!(stream.read(&mut request).await.unwrap() > 0);
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let kept = check(&node, None).await.unwrap();
        assert!(kept.is_some());
        assert!(check(&node, kept).await.unwrap().is_none());
    }
}
