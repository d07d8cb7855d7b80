//! A faulty server goes wrong where it is told to, and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use remote::ErrorKind;
use remote::address::Address;
use remote::source::FileRef;
use remote::source::conformance;
use remote::source::faulty::{Faults, Faulty};
use remote::source::local::LocalServer;

use super::lay_out;
use super::talk::{Answer, End, Talk, file};

fn medium(directory: &tempfile::TempDir) -> (FileRef, Vec<u8>) {
    lay_out(directory.path());
    let url = Address::local(&directory.path().join("medium.bin")).unwrap();
    let (_, content) = conformance::files().into_iter().find(|f| f.0 == "medium.bin").unwrap();
    (file(1, &url), content)
}

/// Four fetches of the same thousand bytes, on one connection.
async fn four(faults: Faults) -> (Vec<Answer>, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let (medium, content) = medium(&directory);
    let mut talk = Talk::with(Arc::new(Faulty::new(Arc::new(LocalServer::new()), faults)));
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(talk.fetch(&medium, &[0..1000]).await);
    }
    (answers, content[..1000].to_vec())
}

#[tokio::test]
async fn without_faults_the_rules_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path());
    let url_of = |name: &str| Address::local(&directory.path().join(name)).unwrap();
    let faulty = Faulty::new(Arc::new(LocalServer::new()), Faults::default());
    conformance::check(Arc::new(faulty), url_of).await;
}

#[tokio::test]
async fn every_second_request_fails() {
    let (answers, _) = four(Faults { fail_every: Some(2), ..Faults::default() }).await;
    let failed: Vec<bool> = answers.iter().map(|a| matches!(a.end, End::Failed(_))).collect();
    assert_eq!(failed, [false, true, false, true]);
    assert!(answers.into_iter().nth(1).unwrap().error().is_retryable());
}

#[tokio::test]
async fn every_third_request_is_cut_short() {
    let (answers, content) = four(Faults { truncate_every: Some(3), ..Faults::default() }).await;
    let lengths: Vec<usize> = answers.iter().map(|answer| answer.bytes().len()).collect();
    assert_eq!(lengths, [1000, 1000, 500, 1000]);
    assert_eq!(answers[2].bytes(), content[..500]);
}

#[tokio::test]
async fn every_second_piece_is_corrupt() {
    let (answers, content) = four(Faults { corrupt_every: Some(2), ..Faults::default() }).await;
    let right: Vec<bool> = answers.iter().map(|answer| answer.bytes() == content).collect();
    assert_eq!(right, [true, false, true, false]);
    assert_eq!(answers[1].bytes()[1..], content[1..]);
}

#[tokio::test]
async fn connections_break_after_so_many_bytes() {
    let faults = Faults {
        cut_after_bytes: Some(2500),
        delay: Duration::from_millis(1),
        ..Faults::default()
    };
    let (answers, _) = four(faults).await;
    let done = answers.iter().filter(|answer| matches!(answer.end, End::Done)).count();
    assert_eq!(done, 2);
    assert_eq!(answers.into_iter().nth(2).unwrap().error().kind(), ErrorKind::Connection);
}
