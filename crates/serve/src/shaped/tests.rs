use tokio::io::{DuplexStream, duplex};

use super::*;

const RTT: Duration = Duration::from_millis(100);

/// A client's end, and the same connection as the server sees it.
fn connect(link: &Arc<Link>) -> (DuplexStream, Shaped) {
    let (near, far) = duplex(64 << 20);
    (near, link.shape(far))
}

fn near(measured: Duration, expected_ms: u64) {
    let expected = Duration::from_millis(expected_ms);
    assert!(
        measured.abs_diff(expected) <= Duration::from_millis(3),
        "{measured:?}, not {expected:?}"
    );
}

async fn echo(mut stream: Shaped) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        stream.write_all(&buffer[..count]).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_pays_the_handshake_and_later_requests_one_round_trip() {
    let link = Link::new(Shape { rtt: RTT, ..Shape::default() });
    let (mut client, server) = connect(&link);
    tokio::spawn(echo(server));
    let start = Instant::now();
    let mut answer = [0; 4];
    client.write_all(b"ping").await.unwrap();
    client.read_exact(&mut answer).await.unwrap();
    near(start.elapsed(), 200);
    let start = Instant::now();
    client.write_all(b"pong").await.unwrap();
    client.read_exact(&mut answer).await.unwrap();
    near(start.elapsed(), 100);
    assert_eq!(&answer, b"pong");
}

#[tokio::test(start_paused = true)]
async fn requests_sent_together_are_answered_together() {
    let link = Link::new(Shape { rtt: RTT, ..Shape::default() });
    let (mut client, server) = connect(&link);
    tokio::spawn(echo(server));
    let start = Instant::now();
    for _ in 0..100 {
        client.write_all(b"ping").await.unwrap();
        tokio::task::yield_now().await;
    }
    client.read_exact(&mut [0; 400]).await.unwrap();
    near(start.elapsed(), 200);
}

#[tokio::test(start_paused = true)]
async fn connections_share_the_rate() {
    let link = Link::new(Shape { rtt: RTT, rate: Some(10_000_000), flow_rate: None });
    let start = Instant::now();
    let mut reads = Vec::new();
    for _ in 0..4 {
        let (mut client, mut server) = connect(&link);
        tokio::spawn(async move { server.write_all(&vec![7; 1_000_000]).await });
        reads.push(tokio::spawn(async move {
            let mut body = Vec::new();
            client.read_to_end(&mut body).await.unwrap();
            (body.len(), start.elapsed())
        }));
    }
    let mut last = Duration::ZERO;
    for read in reads {
        let (count, elapsed) = read.await.unwrap();
        assert_eq!(count, 1_000_000);
        assert!(elapsed > Duration::from_millis(420), "took no turns: {elapsed:?}");
        last = last.max(elapsed);
    }
    near(last, 450);
}

#[tokio::test(start_paused = true)]
async fn each_flow_has_its_own_rate() {
    let link = Link::new(Shape { rtt: RTT, rate: None, flow_rate: Some(1_000_000) });
    let start = Instant::now();
    let (mut client, mut server) = connect(&link);
    let writer = tokio::spawn(async move { server.write_all(&vec![7; 500_000]).await });
    let mut body = Vec::new();
    client.read_to_end(&mut body).await.unwrap();
    near(start.elapsed(), 550);
    writer.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_is_bounded() {
    let link = Link::new(Shape { rtt: Duration::from_secs(3600), ..Shape::default() });
    let (_client, mut server) = connect(&link);
    let data = vec![0; LINE_BYTES_MAX + PIECE_BYTES_MAX + 1];
    let write = server.write_all(&data);
    assert!(tokio::time::timeout(Duration::from_secs(60), write).await.is_err());
    assert!(server.outbound.state.lock().bytes <= LINE_BYTES_MAX + PIECE_BYTES_MAX);
}

#[tokio::test(start_paused = true)]
async fn the_end_arrives_after_the_bytes_and_a_peer_that_left_breaks_the_line() {
    let link = Link::new(Shape { rtt: RTT, ..Shape::default() });
    let (mut client, mut server) = connect(&link);
    client.write_all(b"last words").await.unwrap();
    drop(client);
    assert_eq!(server.peek().await, Some(b'l'));
    let mut heard = Vec::new();
    server.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"last words");
    server.write_all(b"into the void").await.unwrap();
    tokio::time::sleep(RTT).await;
    assert!(server.write_all(b"more").await.is_err());
}
