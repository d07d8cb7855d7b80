//! A process that reads 10,000 files, one after the other: its records stay bounded, and its sums
//! are right to the byte.

use std::sync::Arc;

use farroot_remote::source::network::Tcp;
use farroot_remote::{Config, Remote};

const FILES: u64 = 10_000;
/// The 1,000 closed files with sums of their own, and an open one.
const KEPT_MAX: usize = 1001;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_thousand_files_the_sums_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small");
    std::fs::write(&path, [7; 100]).unwrap();
    let config = Config::default();
    let remote = Remote::start(config.clone(), Arc::new(Tcp::new(config.connect_timeout)));
    let address = path.to_str().unwrap();
    let mut bytes_of_one = None;
    for _ in 0..FILES {
        let file = remote.open_bytes(address).await.unwrap();
        let read = file.fetch(&[10..60]).await.unwrap();
        assert_eq!(read[0].1, [7; 50][..]);
        bytes_of_one.get_or_insert_with(|| remote.report().bytes_received);
    }
    let kept = |records: &farroot_remote::fetch::trace::Records| {
        (records.tallies.files_kept(), records.ledger.files_kept())
    };
    let (tallies, ledger) = remote.trace().look(|records, _| kept(records));
    assert!(tallies <= KEPT_MAX && ledger <= KEPT_MAX, "{tallies} {ledger}");
    let report = remote.report();
    assert_eq!(report.bytes_received, FILES * bytes_of_one.unwrap());
    assert_eq!(report.sources.len(), 1);
}
