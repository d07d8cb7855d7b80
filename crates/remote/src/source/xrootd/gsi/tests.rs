//! gsi with Debian's xrootd and certificates made here: reads, their round trips, and the errors of
//! logins that fail.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use xrootd::auth::gsi::buffer::{BucketType, Buffer};
use xrootd::auth::{Credential, Method};
use xrootd::client::{Client, ClientConfig, Event};
use xrootd::error::SessionError;
use xrootd::message::open::OpenOptions;
use xrootd::profile::Profile;

use self::relay::Relay;
use super::super::causes;
use super::bed::{Grid, Party, Xrootd, content};
use super::*;
use crate::address::Address;
use crate::source::diagnose::{Finding, Step};
use crate::source::network::Tcp;
use crate::{Config, Remote};

#[path = "../../../../tests/sources/protected/relay.rs"]
#[allow(dead_code, reason = "it is that of the tests of other protocols")]
mod relay;

/// The result of reading the file.
struct Told {
    bytes: Vec<u8>,
    /// How often the client has sent something after it had heard something. One more round trip
    /// is the connection's.
    flights: u32,
    profile: Profile,
    error: Option<SessionError>,
}

impl Told {
    fn why(&self) -> String {
        self.error.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

/// Reads the file over a connection to this machine, as `host`.
fn read(credential_store: &CredentialStore, host: &str, port: u16, profile: Profile) -> Told {
    let mut config = ClientConfig::new("ada", "test", 1);
    config.authentication = vec![Method::Gsi];
    config.unasked = Some(Method::Gsi);
    let start = profile.start();
    let client = Client::new(config, profile, start);
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    converse(client, &mut socket, credential_store, host)
}

fn converse(
    mut client: Client,
    socket: &mut TcpStream,
    credential_store: &CredentialStore,
    host: &str,
) -> Told {
    let begun = Instant::now();
    let (file, _) = client.open(begun.elapsed(), "/store/a.bin", OpenOptions::FOR_READING);
    let read = client.read(begun.elapsed(), file, 0..content().len() as u64);
    let mut told = Told {
        bytes: vec![0; content().len()],
        flights: 0,
        profile: Profile::default(),
        error: None,
    };
    let mut buffer = vec![0; 1 << 16];
    loop {
        while let Some(event) = client.poll_event() {
            match event {
                Event::CredentialWanted { method, .. } => {
                    match credential(credential_store, host) {
                        Ok(credential) => {
                            client.provide(begun.elapsed(), Credential::Gsi(credential));
                        }
                        Err(why) => client.lack(begun.elapsed(), &method, why),
                    }
                }
                Event::Data { offset, bytes, .. } => {
                    told.bytes[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
                }
                Event::Done { request } if request == read => {
                    told.profile = client.profile().clone();
                    return told;
                }
                Event::SessionFailed { error, .. } => {
                    told.profile = client.profile().clone();
                    told.error = Some(error);
                    return told;
                }
                Event::Failed { .. } | Event::Opened { .. } | Event::SessionUp { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        let mut out = Vec::new();
        while let Some(bytes) = client.poll_transmit(begun.elapsed()) {
            out.extend_from_slice(&bytes);
        }
        if !out.is_empty() {
            told.flights += 1;
            socket.write_all(&out).unwrap();
        }
        let count = socket.read(&mut buffer).unwrap();
        match count {
            0 => client.handle_eof(begun.elapsed()),
            _ => {
                let bytes = Bytes::copy_from_slice(&buffer[..count]);
                client.handle_bytes(begun.elapsed(), bytes).unwrap();
            }
        }
    }
}

/// A grid with a server for `localhost`, or nothing, loudly.
fn bed() -> Option<(Grid, Xrootd)> {
    let grid = Grid::new()?;
    let host = grid.authority.host("localhost", &["localhost", "127.0.0.1"], &grid.keys[0]);
    let server = Xrootd::start(&grid, "server", &host, false)?;
    Some((grid, server))
}

#[test]
fn a_real_xrootd_is_read_with_a_proxy_and_with_a_certificate() {
    let Some((grid, server)) = bed() else { return };
    let proxy = grid.proxy("proxy", 2020..2048);
    assert_ne!(server.asked_by_xrdfs(&grid, &proxy), Some(false), "the bed itself");
    let certificate = grid.certificate("certificate", &grid.user);
    for shown in [&proxy, &certificate] {
        let credential_store = grid.credential_store(Some(shown), "certificates");
        let first = read(&credential_store, "localhost", server.port, Profile::default());
        assert_eq!((first.why(), first.flights), (String::new(), 2));
        assert!(first.bytes == content());
        // The server is known: its offer, too, and that requests may follow at once.
        let second = read(&credential_store, "127.0.0.1", server.port, first.profile);
        assert_eq!((second.why(), second.flights), (String::new(), 2));
        assert!(second.bytes == content());
    }
}

/// One flight each: the message that would have held the user's certificate and signature was not
/// sent.
#[test]
fn a_server_that_is_not_believed_gets_nothing() {
    let Some((grid, server)) = bed() else { return };
    let proxy = grid.proxy("proxy", 2020..2048);
    let credential_store = grid.credential_store(Some(&proxy), "certificates");
    let told = read(&credential_store, "eos.example.org", server.port, Profile::default());
    assert_eq!(told.flights, 1);
    let why = told.why();
    assert!(why.contains("the certificate of eos.example.org is for localhost"), "{why}");
    let stranger = grid.credential_store(Some(&proxy), "strangers");
    let told = read(&stranger, "localhost", server.port, Profile::default());
    assert_eq!(told.flights, 1);
    let why = told.why();
    assert!(why.contains("from an authority that is not trusted"), "{why}");
    assert!(why.contains("/CN=The CA") && why.contains("X509_CERT_DIR"), "{why}");
}

#[test]
fn certificates_of_hosts_without_alternative_names_go_by_their_subject() {
    let Some(grid) = Grid::new() else { return };
    let host = grid.authority.host("localhost", &[], &grid.keys[0]);
    let Some(server) = Xrootd::start(&grid, "server", &host, false) else { return };
    let proxy = grid.proxy("proxy", 2020..2048);
    let credential_store = grid.credential_store(Some(&proxy), "certificates");
    let told = read(&credential_store, "localhost", server.port, Profile::default());
    assert_eq!((told.why(), told.flights), (String::new(), 2));
    let told = read(&credential_store, "eos.example.org", server.port, Profile::default());
    assert_eq!(told.flights, 1);
}

/// A file that has no such certificate is named, with the command to type.
#[test]
fn what_is_wrong_with_a_users_certificate_is_said_before_anything_is_sent() {
    let Some(grid) = Grid::new() else { return };
    let why = |shown: Option<&Path>| {
        credential(&grid.credential_store(shown, "certificates"), "localhost").unwrap_err()
    };
    let expired = why(Some(&grid.proxy("expired", 2020..2021)));
    assert!(expired.contains("expired") && expired.contains("voms-proxy-init"), "{expired}");
    let missing = why(None);
    assert!(missing.contains("voms-proxy-init"), "{missing}");
}

/// The server has one text for a proxy of yesterday and one of tomorrow, and none that a user can
/// act on.
#[test]
fn what_a_server_refuses_is_explained_by_what_is_known_here() {
    let Some((grid, server)) = bed() else { return };
    let told_of = |shown: &Path| {
        let credential_store = grid.credential_store(Some(shown), "certificates");
        // The server's message is lost when it closes on a request behind the last message; the
        // next connection hears it.
        let told = read(&credential_store, "localhost", server.port, Profile::default());
        let told = match told.error {
            Some(SessionError::AuthenticationFirst { .. }) => {
                read(&credential_store, "localhost", server.port, told.profile)
            }
            _ => told,
        };
        let Some(SessionError::NoAuthentication { skipped, .. }) = &told.error else {
            panic!("{:?}", told.error)
        };
        let refusal = skipped.iter().find(|skipped| skipped.name == "gsi").unwrap();
        let cause = causes::of_login(&credential_store, refusal, SystemTime::now()).unwrap();
        (refusal.why.clone(), cause.why)
    };
    let (refusal, why) = told_of(&grid.proxy("future", 2040..2048));
    assert!(refusal.contains("expired"), "{refusal}");
    assert!(why.contains("not valid yet") && why.contains("clock"), "{why}");
    let foreign = grid.stranger.user(&grid.keys[0]);
    let (refusal, why) = told_of(&grid.certificate("foreign", &foreign));
    assert!(refusal.contains("unknown CA"), "{refusal}");
    assert!(why.contains("/CN=Another CA"), "{why}");
}

/// A grid with the certificate of a host for a server that is none of Debian's.
fn fake_bed() -> Option<(Grid, Identity, CredentialStore)> {
    let grid = Grid::new()?;
    let host = grid.authority.host("localhost", &["localhost"], &grid.keys[0]);
    let file = grid.certificate("host", &host);
    let identity = grid.credential_store(Some(&file), "certificates").identity().unwrap().unwrap();
    let credential_store =
        grid.credential_store(Some(&grid.proxy("proxy", 2020..2048)), "certificates");
    Some((grid, identity, credential_store))
}

#[test]
fn a_server_with_the_prime_and_the_digest_of_xrootd_6_is_read() {
    let Some((grid, host, credential_store)) = fake_bed() else { return };
    let (port, server) = fake::serve(host, |message| message);
    let told = read(&credential_store, "localhost", port, Profile::default());
    assert_eq!((told.why(), told.flights), (String::new(), 2));
    assert!(told.bytes == content());
    let chain = server.join().unwrap().chain.unwrap();
    assert!(chain.ends_with(&grid.user.pem) && chain.matches("BEGIN CERTIFICATE").count() == 2);
}

/// The bytes of a digest with its name, signed raw, would be a signature under anything.
#[test]
fn a_server_that_wants_forty_bytes_signed_gets_nothing() {
    let Some((_grid, host, credential_store)) = fake_bed() else { return };
    let (port, server) = fake::serve(host, |message| {
        let (mut outer, _) = Buffer::decode(&message).unwrap();
        let (mut main, _) = Buffer::decode(outer.get(BucketType::MAIN).unwrap()).unwrap();
        main.buckets.retain(|(kind, _)| *kind != BucketType::TAG);
        main.buckets.push((BucketType::TAG, &[b'x'; 40]));
        let main = main.encode();
        outer.buckets.retain(|(kind, _)| *kind != BucketType::MAIN);
        outer.buckets.push((BucketType::MAIN, &main));
        outer.encode().into()
    });
    let told = read(&credential_store, "localhost", port, Profile::default());
    assert!(told.why().contains("40 bytes signed"), "{}", told.why());
    assert_eq!(told.flights, 1);
    assert_eq!(server.join().unwrap().messages, 1);
}

#[test]
fn a_server_that_wants_a_proxy_of_the_proxy_gets_none() {
    let Some((_grid, host, credential_store)) = fake_bed() else { return };
    let (port, server) =
        fake::serve(host, |_| Buffer { step: 2002, buckets: Vec::new() }.encode().into());
    let told = read(&credential_store, "localhost", port, Profile::default());
    assert!(told.why().contains("delegated"), "{}", told.why());
    assert_eq!((told.flights, server.join().unwrap().messages), (1, 1));
}

#[test]
fn nothing_of_the_key_is_printed() {
    let Some(grid) = Grid::new() else { return };
    let Party { key, .. } = &grid.user;
    let shown = grid.certificate("certificate", &grid.user);
    let made =
        credential(&grid.credential_store(Some(&shown), "certificates"), "localhost").unwrap();
    let text = format!("{made:?}");
    let marker = format!("{:?}", &key.serialize_der()[100..110]);
    assert!(!text.contains(marker.trim_matches(['[', ']'])), "{text}");
    assert!(!text.contains("PRIVATE"), "{text}");
}

/// Reads the file as users do.
async fn read_by_remote(
    credential_store: CredentialStore,
    host: &str,
    port: u16,
) -> crate::Result<Vec<u8>> {
    read_by(credential_store, &format!("root://{host}:{port}//store/a.bin")).await
}

async fn read_by(credential_store: CredentialStore, address: &str) -> crate::Result<Vec<u8>> {
    let config = Config { credential_store, ..Config::default() };
    let network = Arc::new(Tcp::new(config.connect_timeout));
    let file = Remote::start(config, network).open_bytes(address).await?;
    let pieces = file.fetch(&[0..content().len() as u64]).await?;
    Ok(pieces.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect())
}

/// Opens the file as a process of its own would, which uses the notes of earlier processes, and
/// returns the round trips to the first byte.
async fn round_trips(
    grid: &Grid,
    credential_store: &CredentialStore,
    scheme: &str,
    relay: &Relay,
) -> usize {
    let store_folder = Some(grid.path("store"));
    let config = Config {
        credential_store: credential_store.clone(),
        store_folder,
        connections_initial: 1,
        connections_max: 1,
        ..Config::default()
    };
    let network = Arc::new(Tcp::new(config.connect_timeout));
    relay.clear();
    let address = format!("{scheme}://localhost:{}//store/a.bin", relay.port);
    let file = Remote::start(config, network).open_bytes(&address).await.unwrap();
    let trips = relay.round_trips();
    assert_eq!(relay.connections(), 1, "nothing was tried twice");
    let pieces = file.fetch(&[0..content().len() as u64]).await.unwrap();
    let bytes: Vec<u8> = pieces.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
    assert!(bytes == content());
    trips
}

/// That of TCP, one with the login and the first message, one with the certificate, open and read.
/// TLS has one more, and another one where the server is not known to take its beginning at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_byte_comes_after_three_round_trips_and_four_within_tls() {
    let Some((grid, server)) = bed() else { return };
    let credential_store =
        grid.credential_store(Some(&grid.proxy("proxy", 2020..2048)), "certificates");
    let relay = Relay::to(server.port).await;
    for trips in [3, 3] {
        assert_eq!(round_trips(&grid, &credential_store, "root", &relay).await, trips);
        let of_user = grid.user.pem.lines().nth(5).unwrap();
        assert!(relay.saw(b"-----BEGIN CERTIFICATE-----"), "the server's");
        assert!(!relay.saw(of_user.as_bytes()), "the user's is encrypted");
    }
    let host = grid.authority.host("localhost", &["localhost"], &grid.keys[0]);
    let Some(server) = Xrootd::start(&grid, "encrypted", &host, true) else { return };
    let relay = Relay::to(server.port).await;
    for trips in [5, 4] {
        assert_eq!(round_trips(&grid, &credential_store, "roots", &relay).await, trips);
        assert!(!relay.saw(b"-----BEGIN CERTIFICATE-----"), "all is within TLS");
    }
}

/// A server that insists on TLS is found out by who has a proxy at hand, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_gsi_inside_tls_is_read_by_its_plain_address() {
    let Some(grid) = Grid::new() else { return };
    let credential_store =
        grid.credential_store(Some(&grid.proxy("proxy", 2020..2048)), "certificates");
    let host = grid.authority.host("localhost", &["localhost"], &grid.keys[0]);
    let Some(server) = Xrootd::start(&grid, "insists", &host, true) else { return };
    let bytes = read_by_remote(credential_store, "localhost", server.port).await;
    assert!(bytes.unwrap_or_else(|error| panic!("{error}")) == content());
}

/// At the levels at which opens, and at which all requests are signed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_want_signatures_get_them() {
    let Some((grid, _)) = bed() else { return };
    let credential_store =
        grid.credential_store(Some(&grid.proxy("proxy", 2020..2048)), "certificates");
    let host = grid.authority.host("localhost", &["localhost"], &grid.keys[0]);
    for (name, tls) in [("standard", false), ("pedantic", false), ("pedantic-tls", true)] {
        let level = name.split('-').next().unwrap();
        let more = format!("sec.level all {level}\n");
        let Some(server) = Xrootd::start_with(&grid, name, &host, tls, &more) else { return };
        let scheme = if tls { "roots" } else { "root" };
        let address = format!("{scheme}://localhost:{}//store/a.bin", server.port);
        let bytes = read_by(credential_store.clone(), &address).await;
        assert!(bytes.unwrap_or_else(|error| panic!("{name}: {error}")) == content(), "{name}");
    }
}

/// Each cause of a login that fails is named, with a hint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_are_told_what_is_wrong_and_what_helps() {
    let Some((grid, server)) = bed() else { return };
    let proxy = grid.proxy("proxy", 2020..2048);
    let credential_store = |shown: Option<&Path>| grid.credential_store(shown, "certificates");
    let bytes =
        read_by_remote(credential_store(Some(&proxy)), "localhost", server.port).await.unwrap();
    assert!(bytes == content());
    let stranger = grid.stranger.user(&grid.keys[0]);
    let expired = grid.proxy("expired", 2020..2021);
    let future = grid.proxy("future", 2040..2048);
    let foreign = grid.certificate("foreign", &stranger);
    let causes: [(CredentialStore, &[&str]); 5] = [
        (credential_store(None), &["is not there", "X509_USER_PROXY", "voms-proxy-init"]),
        (credential_store(Some(&expired)), &["expired", " ago", "voms-proxy-init"]),
        (credential_store(Some(&future)), &["not valid yet", "the clock may be wrong"]),
        (credential_store(Some(&foreign)), &["does not know the authority", "/CN=Another CA"]),
        (
            grid.credential_store(Some(&proxy), "strangers"),
            &["not trusted: ", "/CN=The CA", "X509_CERT_DIR"],
        ),
    ];
    for (credential_store, words) in causes {
        let error = read_by_remote(credential_store, "localhost", server.port).await.unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Unauthenticated, "{error}");
        let text = error.to_string();
        for word in words {
            assert!(text.contains(word), "{word:?}: {text}");
        }
        assert!(!text.contains("PRIVATE"));
    }
    // The server's name is wrong, not the user's certificate.
    let host = grid.authority.host("other.example.org", &["other.example.org"], &grid.keys[0]);
    let Some(other) = Xrootd::start(&grid, "other", &host, false) else { return };
    let error =
        read_by_remote(credential_store(Some(&proxy)), "localhost", other.port).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the certificate of localhost is for other.example.org"), "{text}");
    assert!(!text.contains("voms-proxy-init"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_by_gsi_is_examined_step_by_step() {
    let Some((grid, server)) = bed() else { return };
    let examine = async |shown: &Path| {
        let credential_store = grid.credential_store(Some(shown), "certificates");
        let config = Config { credential_store, ..Config::default() };
        let network = Arc::new(Tcp::new(config.connect_timeout));
        let address = format!("root://localhost:{}//store/a.bin", server.port);
        let remote = Remote::start(config, network);
        remote.examine(&Address::parse(&address).unwrap()).await.0
    };
    let of = |findings: &[Finding], step: Step| {
        findings.iter().find(|finding| finding.step == step).expect("the step").clone()
    };
    let findings = examine(&grid.proxy("proxy", 2020..2048)).await;
    let shown = of(&findings, Step::Credentials).text;
    assert!(shown.contains("Ada Lovelace") && shown.contains(" left"), "{shown}");
    let login = of(&findings, Step::Login).text;
    assert!(login.contains("not encrypted; logged in by gsi as "), "{login}");
    assert!(login.contains("Ada Lovelace"), "{login}");
    assert!(of(&findings, Step::Clock).advice.is_none());
    assert!(findings.iter().all(|finding| !finding.is_fault), "{findings:#?}");

    let findings = examine(&grid.proxy("expired", 2020..2021)).await;
    let shown = of(&findings, Step::Credentials);
    assert!(shown.text.contains("expired"), "{shown:?}");
    assert!(shown.advice.unwrap().contains("voms-proxy-init"));
    let refused = findings.last().unwrap();
    assert!(refused.is_fault && refused.step == Step::Login, "{findings:#?}");
    assert!(refused.text.contains("expired"), "{refused:?}");
    assert!(!format!("{findings:?}").contains("PRIVATE"));
}
