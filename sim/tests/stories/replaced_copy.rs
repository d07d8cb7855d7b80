//! A file is replaced while it is copied, or between a copy that broke off and the next try. Bytes
//! of both were joined under the final name.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use engine::{Engine, Error, ErrorKind};
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour};
use farroot_sim::{bulk, http_host, one_file};
use hyper::header::{ETAG, LAST_MODIFIED};
use remote::{Copied, CopyOptions};
use tempfile::TempDir;

use crate::world::{MB, RTT, link, seconds};

const SIZE: usize = 20 * MB as usize;
const XROOTD: &str = "root://a:1094//f";
const WEB: &str = "http://web/f";

/// One file at an XRootD server and at a web server, and a folder to copy to.
struct Stage {
    world: World,
    server: xrootd_host::Control,
    web: http_host::Control,
    folder: TempDir,
}

fn stage() -> Stage {
    let world = World::default();
    let files = one_file("/f", content());
    let accepted = world.host("a", 1094, link(RTT, 5 * MB));
    let server = xrootd_host::serve(accepted, files.clone(), Behaviour::default());
    let web = http_host::serve(world.host("web", 80, link(RTT, 5 * MB)), files);
    web.lock().headers = vec![(ETAG, "\"v1\"".into())];
    Stage { world, server, web, folder: tempfile::tempdir().expect("a folder") }
}

fn content() -> Bytes {
    bulk::content(SIZE)
}

/// Another file, of which every byte is another one.
fn other() -> Bytes {
    content().iter().map(|byte| byte ^ 0xFF).collect()
}

impl Stage {
    /// The servers are restarted with another file of the same size.
    fn replace(&self) {
        let files = one_file("/f", other());
        self.world.kill("a", 1094);
        let mut server = self.server.lock();
        server.replaced_by = Some(files.clone());
        server.says.modified = Some(1_700_000_060);
        let mut web = self.web.lock();
        web.replaced_by = Some(files);
        web.headers = vec![(LAST_MODIFIED, "Tue, 14 Nov 2023 22:14:20 GMT".into())];
        self.world.restart("a", 1094);
    }

    fn target(&self) -> std::path::PathBuf {
        self.folder.path().join("f")
    }
}

async fn copy(engine: &Engine, source: &str, target: &Path) -> Result<Copied, Error> {
    let sources = [source.to_owned()];
    let copied = engine.remote().copy(&sources, target, CopyOptions::default(), &|_| {}).await?;
    copied.into_iter().next().expect("one file")
}

#[test]
fn a_copy_is_of_one_file_or_fails() {
    for source in [XROOTD, WEB] {
        farroot_sim::run(async {
            let stage = stage();
            let target = stage.target();
            let replace = async {
                tokio::time::sleep(seconds(2.0)).await;
                stage.replace();
            };
            let engine = farroot_sim::engine(&stage.world);
            let (copied, ()) = futures::join!(copy(&engine, source, &target), replace);
            let error = copied.expect_err("two files were joined");
            assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
            assert!(!target.exists(), "{source}");
            // The next try takes nothing of the old one.
            let copied =
                copy(&farroot_sim::engine(&stage.world), source, &target).await.expect("copies");
            assert_eq!(copied.resumed, 0, "{source}");
            assert!(std::fs::read(&target).expect("is there") == other(), "{source}");
        });
    }
}

#[test]
fn what_came_of_another_file_is_not_gone_on_with() {
    for source in [XROOTD, WEB] {
        farroot_sim::run(async {
            let stage = stage();
            let target = stage.target();
            let engine = farroot_sim::engine(&stage.world);
            let copying = copy(&engine, source, &target);
            assert!(tokio::time::timeout(Duration::from_secs(2), copying).await.is_err());
            stage.replace();
            let copied =
                copy(&farroot_sim::engine(&stage.world), source, &target).await.expect("copies");
            assert_eq!(copied.resumed, 0, "{source}");
            assert!(std::fs::read(&target).expect("is there") == other(), "{source}");
        });
    }
}

/// It is gone on with, and only then is the file replaced.
#[test]
fn a_resumed_copy_is_of_one_file_or_fails() {
    for source in [XROOTD, WEB] {
        farroot_sim::run(async {
            let stage = stage();
            let target = stage.target();
            let engine = farroot_sim::engine(&stage.world);
            let copying = copy(&engine, source, &target);
            assert!(tokio::time::timeout(Duration::from_secs(2), copying).await.is_err());
            drop(engine);
            // The bytes requested before have passed the link.
            tokio::time::sleep(seconds(30.0)).await;
            let engine = farroot_sim::engine(&stage.world);
            let replace = async {
                tokio::time::sleep(seconds(1.0)).await;
                stage.replace();
            };
            let (copied, ()) = futures::join!(copy(&engine, source, &target), replace);
            let error = copied.expect_err("two files were joined");
            assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
            assert!(!target.exists(), "{source}");
        });
    }
}
