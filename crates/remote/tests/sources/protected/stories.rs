//! Failures between a client and servers that want TLS and a token.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use farroot_remote::{Config, ErrorKind};
use xrootd::server::ServedTls;

use super::super::over_tcp;
use super::super::secrets::search_error;
use super::bed::{Bed, content};
use super::door::Door;
use super::read;
use super::relay::Relay;

const TOKEN: &str = "marker-of-a-secret.of-ada";
const NEW_TOKEN: &str = "marker-of-a-secret.newer";

fn door(door: Door) -> Arc<Door> {
    *door.token.lock() = TOKEN.to_owned();
    Arc::new(door)
}

/// Reads the file in pieces, a request each.
async fn read_pieces(
    config: &Config,
    port: u16,
    then: impl Fn(usize),
) -> Result<(), farroot_remote::Error> {
    let remote = over_tcp(config.clone());
    let address = format!("roots://localhost:{port}//store/a.bin");
    let file = remote.open_bytes(&address).await.inspect_err(search_error)?;
    for at in 0..10 {
        then(at);
        let range = at as u64 * 20_000..(at as u64 + 1) * 20_000;
        let bytes = file.fetch(std::slice::from_ref(&range)).await.inspect_err(search_error)?;
        let bytes: Vec<u8> = bytes.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
        assert!(bytes == content()[range.start as usize..range.end as usize], "other bytes");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_reads_ahead_gets_no_early_hello() {
    let bed = Bed::new();
    let door = door(Door { version: 0x500, loses_hello: true, ..Door::default() });
    let relay = Relay::to(door.open(&bed).await).await;
    let config = bed.user(Some(TOKEN));
    for _ in 0..2 {
        // TCP, kXR_protocol, hello; login with the token, open and read.
        assert_eq!(read(&bed, &config, "root", &relay).await.unwrap(), 4);
        assert_eq!(relay.connections(), 1);
        assert!(!relay.saw(b"marker-of-a-secret"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_loses_an_early_hello_against_its_version_is_asked_without() {
    let bed = Bed::new();
    let door = door(Door { loses_hello: true, ..Door::default() });
    let relay = Relay::to(door.open(&bed).await).await;
    let config = bed.user(Some(TOKEN));
    for connections in [1, 2] {
        read(&bed, &config, "roots", &relay).await.unwrap();
        assert_eq!(relay.connections(), connections);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_expires_in_mid_read_is_read_again_from_its_file() {
    let bed = Bed::new();
    let door = door(Door { expires: Some((4, NEW_TOKEN)), ..Door::default() });
    let port = door.open(&bed).await;
    let config = bed.user(Some(TOKEN));
    let renew = |at| {
        if at == 2 {
            bed.user(Some(NEW_TOKEN));
        }
    };
    read_pieces(&config, port, renew).await.unwrap();
    assert_eq!(*door.shown.lock(), [TOKEN, NEW_TOKEN]);

    // Where it is not renewed, the read ends with the server's reason.
    let door = self::door(Door { expires: Some((4, NEW_TOKEN)), ..Door::default() });
    let port = door.open(&bed).await;
    let config = bed.user(Some(TOKEN));
    let error = read_pieces(&config, port, |_| ()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    let text = error.to_string();
    assert!(text.contains("ztn: token expired") && !text.contains("marker"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_refused_beside_others_harms_no_read() {
    let bed = Bed::new();
    let door = door(Door { refuses: [3].into(), ..Door::default() });
    let port = door.open(&bed).await;
    let four = Config { connections_initial: 4, connections_max: 4, ..bed.user(Some(TOKEN)) };
    read_pieces(&four, port, |_| ()).await.unwrap();
    assert!(door.connections.load(Ordering::Relaxed) >= 3, "the third was not made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_another_sends_to_is_asked_what_it_wants_itself() {
    let bed = Bed::new();
    let there = door(Door::default());
    let sends_to = Some(("localhost", there.open(&bed).await));
    let here = Door { tls: ServedTls::None, security: "&P=unix", sends_to, ..Door::default() };
    let here = Arc::new(here);
    let relay = Relay::to(here.open(&bed).await).await;
    let config = bed.user(Some(TOKEN));
    read(&bed, &config, "root", &relay).await.unwrap();
    assert!(here.shown.lock().is_empty(), "a token where none was asked for");
    assert_eq!(*there.shown.lock(), [TOKEN]);
    assert!(!relay.saw(b"marker-of-a-secret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_named_by_its_number_is_verified_by_its_name() {
    let bed = Bed::new();
    let there = door(Door::default());
    let sends_to = Some(("127.0.0.1", there.open(&bed).await));
    let here = door(Door { sends_to, ..Door::default() });
    let port = here.open(&bed).await;
    read_pieces(&bed.user(Some(TOKEN)), port, |_| ()).await.unwrap();
    assert_eq!(there.shown.lock()[0], TOKEN);

    // Another machine has only its number, which no certificate is for.
    let sends_to = Some(("127.0.0.2", port));
    let here = door(Door { sends_to, ..Door::default() });
    let port = here.open(&bed).await;
    let error = read_pieces(&bed.user(Some(TOKEN)), port, |_| ()).await.unwrap_err();
    assert!(error.to_string().contains("127.0.0.2"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_ends_in_the_handshake_is_made_again() {
    let bed = Bed::new();
    let door = door(Door { resets: [1].into(), ..Door::default() });
    let port = door.open(&bed).await;
    read_pieces(&bed.user(Some(TOKEN)), port, |_| ()).await.unwrap();
    assert!(door.connections.load(Ordering::Relaxed) >= 2);
    assert_eq!(door.shown.lock()[0], TOKEN);
}
