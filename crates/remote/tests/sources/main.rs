//! Every source keeps the rules of `farroot_remote::source`.

// A request of one segment is a list of one range.
#![allow(clippy::single_range_in_vec_init)]

mod conformance;
mod copies;
mod diagnose;
mod federation;
mod http;
mod http_faults;
mod http_server;
mod https;
mod many_files;
mod names;
mod peers;
mod pelican;
mod processes;
mod protected;
mod replaced;
mod s3;
mod secrets;
mod secured;
mod talk;
mod uploads;

use std::path::Path;
use std::sync::Arc;

use farroot_remote::address::Address;

use farroot_remote::source::local::LocalServer;
use farroot_remote::source::network::Tcp;
use farroot_remote::{Config, Remote};
use secrets::Searched;

/// Writes the files that the conformance suite reads.
fn lay_out(directory: &Path) {
    for (name, content) in conformance::files() {
        std::fs::write(directory.join(name), content).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_files_keep_the_rules() {
    let directory = tempfile::tempdir().unwrap();
    lay_out(directory.path());
    let url_of = |name: &str| Address::local(&directory.path().join(name)).unwrap();
    conformance::check(Arc::new(LocalServer::new()), url_of).await;
}

/// Reads over the operating system's TCP; its log, reports and errors are searched for secrets at
/// its end.
fn over_tcp(config: Config) -> Searched {
    let network = Arc::new(Tcp::new(config.connect_timeout));
    Searched::new(config, |config| Remote::start(config, network))
}
