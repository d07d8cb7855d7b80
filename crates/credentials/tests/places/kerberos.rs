//! Tickets from a real KDC of this machine, where Debian's krb5-kdc and krb5-user are installed.

use std::fs;
use std::process::Command;
use std::time::SystemTime;

use farroot_credentials::{Choice, CredentialStore, Kind, Reason, State};
use secrecy::ExposeSecret;

use crate::home::Home;
use crate::realm::Realm;

/// The name of the test that runs in a process of its own, whose environment the library reads.
const INSIDE: &str = "kerberos::inside_a_realm";

#[test]
fn without_tickets_the_cause_is_said() {
    let home = Home::new();
    let cache = format!("FILE:{}", home.path("nothing").display());
    let credential_store = home.credential_store(&[("KRB5CCNAME", &cache)]);
    let refused = credential_store.ticket("xrootd/localhost@TEST.REALM").unwrap_err();
    assert!(matches!(refused.reason, Reason::NoTicket(..) | Reason::NoLibrary(_)), "{refused}");
    let said = refused.to_string();
    assert!(said.contains("kinit USER@TEST.REALM") || said.contains("install"), "{said}");
    for bad in ["", "a b", "\u{fc}"] {
        let refused = credential_store.ticket(bad).unwrap_err();
        assert!(matches!(refused.reason, Reason::Malformed(_)), "{refused}");
    }
}

/// The library waits for the writer of a pipe for ever, and ends the process where its usual cache
/// is a folder: both may be put into /tmp by another user.
#[test]
fn what_is_no_cache_is_not_given_to_the_library() {
    let home = Home::new();
    let pipe = home.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(home.path("text"), "no tickets").unwrap();
    for (name, reason) in [
        ("pipe", Reason::NotAFile),
        ("tmp", Reason::NotAFile),
        ("text", Reason::Malformed("no cache of tickets".to_owned())),
    ] {
        for prefix in ["FILE:", ""] {
            let cache = format!("{prefix}{}", home.path(name).display());
            let credential_store = home.credential_store(&[("KRB5CCNAME", &cache)]);
            let refused = credential_store.ticket("xrootd/localhost@TEST.REALM").unwrap_err();
            let is_absent = matches!(refused.reason, Reason::NoLibrary(_));
            assert!(refused.reason == reason || is_absent, "{name}: {refused}");
        }
    }
}

#[test]
fn a_fresh_request_is_made_for_each_connection() {
    let home = Home::new();
    let Some(realm) = Realm::start(&home.path("")) else { return };
    realm.add("xrootd/localhost");
    realm.add("alice");
    realm.login("alice", "tickets", "10h");
    realm.login("alice", "short", "1s");
    realm.wait_until_expired("short");
    let inside = realm
        .command(std::env::current_exe().unwrap().to_str().unwrap())
        .args(["--exact", INSIDE, "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&inside.stdout) + String::from_utf8_lossy(&inside.stderr);
    assert!(inside.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "runs within a_fresh_request_is_made_for_each_connection"]
fn inside_a_realm() {
    let credential_store = CredentialStore::of_process();
    let service = "xrootd/localhost@TEST.REALM";
    let ticket = |_| credential_store.ticket(service).unwrap().expose_secret().to_vec();
    let first = ticket(0);
    // [APPLICATION 14]: an AP-REQ, with version 5 in it.
    assert_eq!(first[0], 0x6e);
    assert!(first.windows(5).any(|bytes| bytes == [0xa0, 3, 2, 1, 5]));
    // Four at once, and none a replay of another.
    let mut all: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|at| scope.spawn(move || ticket(at))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    all.push(first);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 5);

    let found = credential_store.candidates(SystemTime::now());
    let found = found.iter().find(|candidate| candidate.kind == Kind::Kerberos).unwrap();
    assert_eq!((found.owner.as_deref(), &found.state), (Some("alice@TEST.REALM"), &State::Used));
    assert!(found.left.unwrap().as_secs() > 3_600);

    let unknown = credential_store.ticket("xrootd/elsewhere@TEST.REALM").unwrap_err().to_string();
    assert!(unknown.contains("not found"), "{unknown}");
    // A cache that the caller names is for this call only.
    let ccache = Some("FILE:/nowhere/cache".to_owned());
    let other = credential_store.with(Choice { ccache, ..Choice::default() });
    assert!(other.ticket(service).is_err());
    let ccache = std::env::var("KRB5CCNAME").ok().map(|usual| usual.replace("tickets", "short"));
    let expired = credential_store.with(Choice { ccache, ..Choice::default() });
    let found = expired.candidates(SystemTime::now());
    let found = found.iter().find(|candidate| candidate.kind == Kind::Kerberos).unwrap();
    assert_ne!(found.state, State::Used, "it has expired");
    assert!(credential_store.ticket(service).is_ok());
}
