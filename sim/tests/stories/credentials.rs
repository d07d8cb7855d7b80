//! Servers that want TLS and a credential: the cost of both, and their failures.

use std::time::Duration;

use engine::{Config, Engine, ErrorKind};
use farroot_sim::guard::{Authority, Guard};
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour, Control};
use farroot_sim::{bulk, one_file};
use tokio::time::Instant;
use xrootd::server::ServedTls;

use crate::world::{MB, RTT, link};

const SIZE: u64 = 20 * MB;
const OLD: &str = "marker-of-a-secret.old";
const NEW: &str = "marker-of-a-secret.new";
const ZTN: &str = "&P=ztn,0:4096:";

/// A world with an authority and a user who has a token.
struct Stage {
    world: World,
    authority: Authority,
}

impl Stage {
    fn new() -> Stage {
        let authority = Authority::new();
        authority.give(OLD);
        Stage { world: World::default(), authority }
    }

    /// The guard of a server that demands TLS and a token.
    fn guard(&self, name: &str) -> Guard {
        let host = Some(self.authority.host(name, None));
        Guard { tls: ServedTls::Demanded, host, offers: ZTN, token: OLD, ..Guard::default() }
    }

    fn serve(&self, name: &str, behaviour: Behaviour) -> Control {
        let accepted = self.world.host(name, 1094, link(RTT, 20 * MB));
        xrootd_host::serve(accepted, one_file("/f", bulk::content(SIZE as usize)), behaviour)
    }

    fn guarded(&self, name: &str, guard: Guard) -> Control {
        self.serve(name, Behaviour { guard, ..Behaviour::default() })
    }

    fn engine(&self) -> Engine {
        farroot_sim::engine_with(&self.world, self.authority.user())
    }
}

/// Reads all of `root://a//f`, or fails, within a time that is bounded whatever happens.
async fn read(engine: &Engine) -> Result<u64, engine::Error> {
    let read = bulk::read(engine, "root://a:1094//f");
    tokio::time::timeout(Duration::from_secs(600), read).await.expect("it hangs")
}

#[test]
fn a_token_that_expires_in_mid_read_is_read_again_from_its_file() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let guard = Guard { expires: Some((5, NEW)), ..stage.guard("a") };
        let control = stage.guarded("a", guard);
        let renewed = async {
            tokio::time::sleep(Duration::from_millis(900)).await;
            stage.authority.give(NEW);
        };
        let engine = stage.engine();
        let (bytes, ()) = futures::join!(read(&engine), renewed);
        assert_eq!(bytes.unwrap(), SIZE);
        let shown = control.lock().guard.shown.lock().clone();
        assert!(shown.iter().any(|token| token == NEW), "{} logins", shown.len());
    });
}

#[test]
fn a_token_that_expires_and_is_not_renewed_ends_the_read_with_the_reason() {
    farroot_sim::run(async {
        let stage = Stage::new();
        stage.guarded("a", Guard { expires: Some((5, NEW)), ..stage.guard("a") });
        let begun = Instant::now();
        let error = read(&stage.engine()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
        let text = error.to_string();
        assert!(text.contains("ztn: token expired") && !text.contains("marker"), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    });
}

#[test]
fn a_login_that_is_refused_on_the_third_connection_harms_no_read() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let guard = Guard { refuses: [3].into(), ..stage.guard("a") };
        let control = stage.guarded("a", guard);
        assert_eq!(read(&stage.engine()).await.unwrap(), SIZE);
        assert!(control.lock().guard.shown.lock().len() >= 2, "others logged in");
        assert!(stage.world.connections("a", 1094) > 3, "the third was made again");
    });
}

/// A token went wherever a server sent the client to.
#[test]
fn another_server_that_is_redirected_to_gets_a_token_where_the_caller_lists_it() {
    for listed in [&["b"][..], &[]] {
        farroot_sim::run(async {
            let stage = Stage::new();
            let named = Guard { offers: "&P=unix", ..Guard::default() };
            let redirects_to = vec![("b".into(), 1094)];
            let behaviour = Behaviour { redirects_to, guard: named, ..Behaviour::default() };
            let here = stage.serve("a", behaviour);
            let there = stage.guarded("b", stage.guard("b"));
            let redirect_credentials = listed.iter().map(|host| (*host).into()).collect();
            let config = Config { redirect_credentials, ..stage.authority.user() };
            let outcome = read(&farroot_sim::engine_with(&stage.world, config)).await;
            assert!(here.lock().guard.shown.lock().is_empty(), "a token where none was asked for");
            let shown = there.lock().guard.shown.lock().clone();
            match outcome {
                Ok(bytes) => assert_eq!((bytes, &*shown[0], listed.len()), (SIZE, OLD, 1)),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("another server has named b"), "{text}");
                    assert!(shown.is_empty() && listed.is_empty());
                }
            }
        });
    }
}

#[test]
fn connections_that_are_reset_in_the_handshake_are_made_again() {
    for resets in [&[1][..], &[1, 2], &[2, 3, 4]] {
        farroot_sim::run(async {
            let stage = Stage::new();
            let resets = resets.iter().copied().collect();
            stage.guarded("a", Guard { resets, ..stage.guard("a") });
            let begun = Instant::now();
            assert_eq!(read(&stage.engine()).await.unwrap(), SIZE);
            assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
        });
    }
}

/// Round trips until the first bytes of a file are there, connecting among them, of processes one
/// after the other that use the notes about servers.
async fn first_bytes(stage: &Stage, processes: usize) -> Vec<f64> {
    let one = Config { connections_initial: 1, connections_max: 1, ..stage.authority.user() };
    first_bytes_of(stage, one, processes).await
}

async fn first_bytes_of(stage: &Stage, config: Config, processes: usize) -> Vec<f64> {
    let store = tempfile::tempdir().unwrap();
    let config = Config { store_folder: Some(store.path().into()), ..config };
    let mut round_trips = Vec::new();
    for _ in 0..processes {
        let engine = farroot_sim::engine_with(&stage.world, config.clone());
        let begun = Instant::now();
        engine.remote().open_bytes("root://a:1094//f").await.unwrap();
        round_trips.push(farroot_sim::round_trips(begun.elapsed(), RTT).round());
    }
    round_trips
}

#[test]
fn round_trips_to_the_first_byte_are_those_of_the_protocols() {
    let counted = |server: fn(&Stage) -> Guard, processes| {
        farroot_sim::run(async {
            let stage = Stage::new();
            stage.guarded("a", server(&stage));
            first_bytes(&stage, processes).await
        })
    };
    // Connecting; kXR_protocol; the hello; the rest. Known, the hello leaves with kXR_protocol.
    assert_eq!(counted(|stage| stage.guard("a"), 3), [4.0, 3.0, 3.0]);
    // A public server, and a token at hand.
    assert_eq!(counted(|_| Guard::default(), 3), [3.0, 2.0, 2.0]);
    // A token is never shown by TLS 1.2 before the server has proven who it is: one more, until a
    // session can be resumed.
    let older = |stage: &Stage| {
        let host = Some(stage.authority.host("a", Some(&rustls::version::TLS12)));
        Guard { host, ..stage.guard("a") }
    };
    assert_eq!(counted(older, 3), [5.0, 3.0, 3.0]);
    // dCache: nothing may come behind kXR_protocol.
    let buffering = |stage: &Stage| Guard { is_buffering: true, ..stage.guard("a") };
    assert_eq!(counted(buffering, 2), [4.0, 4.0]);
}

#[test]
fn a_ticket_at_hand_costs_a_public_server_nothing_and_another_one_no_more_than_before() {
    let first = |guard: Guard| {
        farroot_sim::run(async {
            let stage = Stage::new();
            stage.guarded("a", guard);
            // A cache of tickets is named, which makes a polite request to a server worth its time.
            let ticket = stage.authority.user_with(&[("KRB5CCNAME", "FILE:/nonexistent")]);
            first_bytes_of(&stage, ticket, 2).await
        })
    };
    // No server has requested a credential: the connection with the question says all at once.
    assert_eq!(first(Guard::default()), [2.0, 2.0]);
    // It is refused, and the one beside it has made a polite request meanwhile.
    assert_eq!(first(Guard { offers: "&P=unix", ..Guard::default() }), [3.0, 2.0]);
}

#[test]
fn a_refused_token_makes_a_server_slow_until_there_is_another_one() {
    farroot_sim::run(async {
        let stage = Stage::new();
        let offers = "&P=ztn,0:4096:&P=unix";
        let control = stage.guarded("a", Guard { offers, token: NEW, ..stage.guard("a") });
        let one = Config { connections_initial: 1, connections_max: 1, ..stage.authority.user() };
        let engine = farroot_sim::engine_with(&stage.world, one);
        let mut kept = Vec::new();
        let mut trips = Vec::new();
        for token in [OLD, OLD, NEW] {
            stage.authority.give(token);
            let begun = Instant::now();
            kept.push(engine.remote().open_bytes("root://a:1094//f").await.unwrap());
            trips.push(farroot_sim::round_trips(begun.elapsed(), RTT).round());
            // The next one needs another connection.
            stage.world.kill("a", 1094);
            stage.world.restart("a", 1094);
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        // The token is refused, and the name is taken: connecting, TLS, login, both, the file.
        assert_eq!(trips[1..], [6.0, 3.0]);
        assert_eq!(control.lock().guard.shown.lock().last().unwrap(), NEW);
    });
}
