//! The proxy of `farroot proxy --mine`, and commands that join it. The verb itself does not run
//! here: it reads the configuration in the home of the user who runs the test.

use std::sync::Arc;

use ::serve::{Config, Content, Forwarding, Server};
use remote::Remote;
use remote::source::network::Tcp;
use tokio::runtime;

use super::guest::joined;
use super::{Door, Ends};

const NOTHING: &str = "nothing was read over XRootD through farroot";

fn forwarding() -> Forwarding {
    let settings = remote::Config::default();
    let secret = Some("s3cr3t".to_owned().into());
    Forwarding { settings, origins: Vec::new(), secret, access_log: None }
}

/// Reads the first bytes of a file.
async fn read(address: &str) -> Vec<u8> {
    let config = remote::Config::default();
    let remote = Remote::start(config.clone(), Arc::new(Tcp::new(config.connect_timeout)));
    let file = remote.open_bytes(address).await.expect("opens");
    file.fetch(&[0..4]).await.expect("reads")[0].1.to_vec()
}

#[test]
fn commands_join_a_proxy_that_runs_and_leave_it_running() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f"), "bytes of a file").unwrap();
    let origin = Server::start(Config::new(folder.path())).unwrap();
    let forwarding = forwarding();
    let prefix = forwarding.prefix();
    let proxy = Arc::new(Server::start(Config::of(Content::Far(Box::new(forwarding)))).unwrap());
    let path = folder.path().join("socket");
    let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        assert!(joined(&path).await.is_none(), "no proxy runs");
        let door = Door::at(path.clone()).unwrap();
        let taken = Door::at(path.clone()).unwrap_err();
        assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
        let attending = tokio::spawn(door.attend(proxy.clone(), prefix.clone(), Ends::WhenTold));
        let first = joined(&path).await.expect("it runs");
        let second = joined(&path).await.expect("it runs");
        for claim in [&first, &second] {
            assert_eq!(claim.root, format!("{}{prefix}", proxy.root_url()));
            assert_eq!(claim.http, format!("{}{prefix}", proxy.http_url()));
        }
        assert_eq!(first.end().await.as_deref(), Some(NOTHING));
        let address = format!("{}{}f", second.root, origin.root_url());
        assert_eq!(read(&address).await, b"byte");
        let said = second.end().await.expect("a line");
        assert!(said.starts_with("opened 1 file and read "), "{said}");
        let third = joined(&path).await.expect("it runs on without commands");
        assert_eq!(third.end().await.as_deref(), Some(NOTHING), "what it has read itself");
        attending.abort();
        let _ = attending.await;
        assert!(!path.exists(), "the socket goes with the proxy");
        assert!(joined(&path).await.is_none());
    });
}
