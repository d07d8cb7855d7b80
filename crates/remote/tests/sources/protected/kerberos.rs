//! A KDC, an xrootd that takes its tickets, and a user who has one, or has not.
//!
//! The Kerberos library reads its configuration from the environment of the process, so each read
//! runs in a process of its own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use credentials::{Choice, CredentialStore, Environment};
use farroot_remote::source::diagnose::Step;
use farroot_remote::{Config, ErrorKind};
use xrootd::server::ServedTls;

use super::super::over_tcp;
use super::super::peers::own_by_daemon;
use super::bed::{Bed, content};
use super::door::Door;
use super::examined::{examine, of};
use super::realm::Realm;
use super::relay::Relay;
use super::{address, read, read_with};

const SECURITY: &str = "xrootd.seclib libXrdSec.so\n\
                        sec.protocol krb5 @ALL@/xrootd.localhost xrootd/localhost@TEST.REALM\n";
const INSIDE: &str = "FARROOT_TEST_KERBEROS";

/// A realm with a service, and a ticket of alice; and one that has expired when it is used.
fn realm(folder: &Path) -> Option<Realm> {
    let realm = Realm::start(folder)?;
    realm.add("xrootd/localhost");
    realm.add("alice");
    realm.login("alice", "tickets", "10h");
    realm.login("alice", "short", "1s");
    Some(realm)
}

#[test]
fn tickets_are_shown_to_a_server_that_wants_them() {
    let bed = Bed::new();
    let folder = bed.path("");
    let Some(realm) = realm(&folder) else { return };
    fs::set_permissions(folder.join("krb5.conf"), fs::Permissions::from_mode(0o644)).unwrap();
    own_by_daemon(&folder.join("xrootd.localhost"));
    let config = folder.join("krb5.conf");
    let in_bed = |name: &str, order: &str| {
        bed.xrootd_within(name, &[SECURITY, order].concat(), &[("KRB5_CONFIG", config.as_path())])
    };
    let Some(only) = in_bed("only", "sec.protbind * only krb5\n") else { return };
    let Some(choice) = in_bed("choice", "sec.protocol unix\nsec.protbind * only krb5 unix\n")
    else {
        return;
    };
    // The file in the loader's first place is no library, which ends its search.
    let broken = bed.path("broken");
    fs::create_dir(&broken).unwrap();
    for name in ["libgssapi_krb5.so.2", "libgssapi.so.3"] {
        fs::write(broken.join(name), "").unwrap();
    }
    realm.wait_until_expired("short");
    let ports = format!("{} {}", only.port, choice.port);
    run_inside("inside", &realm, &[(INSIDE, ports.as_ref())]);
    let without = [(INSIDE, ports.as_ref()), ("LD_LIBRARY_PATH", broken.as_os_str())];
    run_inside("inside_without_a_library", &realm, &without);
}

/// Runs one of the tests below in a process of its own.
fn run_inside(test: &str, realm: &Realm, variables: &[(&str, &OsStr)]) {
    let mut inside = Command::new(std::env::current_exe().unwrap());
    inside.args(["--exact", &format!("protected::kerberos::{test}")]);
    inside.args(["--ignored", "--nocapture"]);
    realm.enter(&mut inside).envs(variables.iter().copied());
    let output = inside.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "nothing was run");
}

/// As a process of this user, who names a cache of tickets.
fn user(tickets: &str, protocols: &str) -> Config {
    let variables = [("KRB5CCNAME", tickets), ("XrdSecPROTOCOL", protocols)];
    let environment = Environment::new(nix::unistd::geteuid().as_raw(), None, variables);
    let credential_store = CredentialStore::new(environment, Choice::default());
    Config { credential_store, connections_initial: 1, connections_max: 1, ..Config::default() }
}

/// Step by step, with a ticket and without.
async fn examined(alice: &Config, without: [&Config; 2], port: u16) {
    let findings = examine(alice, port).await;
    let shown = of(&findings, Step::Credentials);
    assert!(shown.text.contains("alice@TEST.REALM") && shown.text.contains(" left"), "{shown:?}");
    let login = of(&findings, Step::Login);
    assert!(login.text.contains("not encrypted; logged in by krb5"), "{login:?}");
    let clock = of(&findings, Step::Clock);
    assert!(clock.text.contains("clock is ") && clock.advice.is_none(), "{clock:?}");
    assert!(findings.iter().all(|finding| !finding.is_fault), "{findings:#?}");
    for user in without {
        let findings = examine(user, port).await;
        let shown = of(&findings, Step::Credentials);
        let words = ["expired", "No credentials cache"];
        assert!(words.iter().any(|word| shown.text.contains(word)), "{shown:?}");
        let refused = findings.last().unwrap();
        assert!(refused.is_fault && refused.step == Step::Login, "{findings:#?}");
        assert!(refused.text.contains("krb5: "), "{refused:?}");
        assert!(refused.advice.as_ref().unwrap().contains("kinit"), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test above, with the configuration of its KDC in the environment"]
async fn inside() {
    let Ok(ports) = std::env::var(INSIDE) else { return };
    let ports: Vec<u16> = ports.split(' ').map(|port| port.parse().unwrap()).collect();
    let tickets = std::env::var("KRB5CCNAME").unwrap();
    let bed = Bed::new();
    let relay = Relay::to(ports[0]).await;
    let alice = user(&tickets, "");
    for round_trips in [3, 2] {
        assert_eq!(read(&bed, &alice, "root", &relay).await.unwrap(), round_trips);
        assert_eq!(relay.connections(), 1, "nothing was tried twice");
    }

    // A ticket of its own for each connection: the same one again would be a replay.
    let config = Config { connections_initial: 4, connections_max: 4, ..alice.clone() };
    let remote = over_tcp(Config { store_folder: Some(bed.path("store")), ..config });
    relay.clear();
    let file = remote.open_bytes(&address("root", &relay)).await.unwrap();
    let pieces: Vec<_> = (0..40).map(|at| at * 5000..(at + 1) * 5000).collect();
    let bytes = file.fetch(&pieces).await.unwrap();
    let mut bytes: Vec<_> = bytes.into_iter().collect();
    bytes.sort_by_key(|(offset, _)| *offset);
    let bytes: Vec<u8> = bytes.into_iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
    assert!(bytes == content());
    assert!(!relay.saw(b"replay") && !relay.saw(b"3030"));

    // No ticket: the error has the command to type, and nothing of the file is requested.
    let nobody = user("FILE:/nonexistent/tickets", "");
    let error = read(&bed, &nobody, "root", &relay).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    let text = error.to_string();
    assert!(text.contains("krb5: ") && text.contains("kinit"), "{text}");

    let short = user(&tickets.replace("tickets", "short"), "");
    let error = read(&bed, &short, "root", &relay).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    let text = error.to_string();
    assert!(text.contains("expired") && text.contains("kinit"), "{text}");

    // A server of another realm, of which alice has no ticket.
    let abroad = Arc::new(Door {
        tls: ServedTls::None,
        security: "&P=krb5,xrootd/localhost@OTHER.REALM",
        ..Door::default()
    });
    let relay = Relay::to(abroad.open(&bed).await).await;
    let error = read(&bed, &alice, "root", &relay).await.unwrap_err();
    assert!(error.to_string().contains("kinit USER@OTHER.REALM"), "{error}");

    examined(&alice, [&short, &nobody], ports[0]).await;

    // Of several offers the server's first that the user has; others only if they are wanted.
    let relay = Relay::to(ports[1]).await;
    for (user, offer) in
        [(&alice, &b"krb5\0"[..]), (&nobody, b"unix\0"), (&self::user(&tickets, "unix"), b"unix\0")]
    {
        let remote = over_tcp(user.clone());
        relay.clear();
        read_with(&remote, &address("root", &relay), &relay).await.unwrap();
        assert!(relay.saw(offer));
        assert_eq!(relay.saw(b"krb5\0"), offer == b"krb5\0", "another identity was shown");
    }
    let only_gsi = self::user(&tickets, "gsi");
    let error = read(&bed, &only_gsi, "root", &relay).await.unwrap_err();
    assert!(error.to_string().contains("krb5: is excluded"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test above, where the loader finds no Kerberos library"]
async fn inside_without_a_library() {
    let Ok(ports) = std::env::var(INSIDE) else { return };
    let ports: Vec<u16> = ports.split(' ').map(|port| port.parse().unwrap()).collect();
    let alice = user(&std::env::var("KRB5CCNAME").unwrap(), "");
    let bed = Bed::new();
    let relay = Relay::to(ports[0]).await;
    let error = read(&bed, &alice, "root", &relay).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    let text = error.to_string();
    assert!(text.contains("needs a Kerberos library"), "{text}");
    assert!(text.contains("install libgssapi-krb5-2"), "{text}");
    let findings = examine(&alice, ports[0]).await;
    let text = format!("{findings:?}");
    assert!(text.contains("needs a Kerberos library"), "{findings:#?}");
    assert!(text.contains("install libgssapi-krb5-2"), "{findings:#?}");
    // Other ways to log in work without it.
    let relay = Relay::to(ports[1]).await;
    read_with(&over_tcp(alice), &address("root", &relay), &relay).await.unwrap();
    assert!(relay.saw(b"unix\0") && !relay.saw(b"krb5\0"));
}
