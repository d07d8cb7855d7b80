//! To servers of HTTP: XRootD's, and nginx with WebDAV, where this machine has them.

use std::fs;
use std::path::Path;
use std::process::Command;

use farroot_remote::{Config, CopyOptions, CreateOptions, ErrorKind};

use super::{OVER, check, content, files, upload};
use crate::over_tcp;
use crate::peers::{free_port, running_as_root, start, xrootd};

/// Holds for every server that can be written to.
async fn writes(origin: &str, data: &Path) {
    let remote = over_tcp(Config::default());
    for (name, size) in [("tiny", 101), ("empty", 0), ("small", 300_000), ("large", 30_000_000)] {
        let address = format!("{origin}{name}");
        let content = content(size);
        let written = upload(&remote, &address, &content, 700_001, CreateOptions::default()).await;
        check(&written.unwrap(), &content);
        assert!(fs::read(data.join(name)).unwrap() == content, "{address}");
    }
    let address = format!("{origin}small");
    let second = content(200_001);
    let refused = upload(&remote, &address, &second, 9_000, CreateOptions::default()).await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(fs::read(data.join("small")).unwrap() == content(300_000));
    check(&upload(&remote, &address, &second, 9_000, OVER).await.unwrap(), &second);
    assert!(fs::read(data.join("small")).unwrap() == second);
    let copied = remote
        .copy(&[address], Path::new(&format!("{origin}copy")), CopyOptions::default(), &|_| {})
        .await;
    assert_eq!(copied.unwrap().remove(0).unwrap().size, 200_001);
    assert!(fs::read(data.join("copy")).unwrap() == second);
    assert_eq!(files(data).len(), 5, "{:?}", files(data));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_written_to_xrootd_by_http() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("data")).unwrap();
    let Some((_server, ports)) = xrootd(root, "max 2 adler32 crc32c md5") else { return };
    writes(&format!("http://127.0.0.1:{}/", ports[1]), &root.join("data")).await;
}

/// nginx with WebDAV, or only with `PUT`.
fn nginx(root: &Path, methods: &str) -> Option<(crate::peers::Process, String)> {
    let help = Command::new("nginx").arg("-V").output().ok()?;
    if !String::from_utf8_lossy(&help.stderr).contains("http_dav_module") {
        eprintln!("SKIPPED: this nginx has no WebDAV");
        return None;
    }
    fs::create_dir(root.join("data")).unwrap();
    let port = free_port();
    let places = ["proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = places.map(|name| format!("{name}_temp_path {name};")).join(" ");
    let user = if running_as_root() { "user root;" } else { "" };
    let config = format!(
        "{user} daemon off; master_process off; pid nginx.pid; error_log nginx.log;\n\
         events {{}}\nhttp {{ access_log off; {temporary} client_body_temp_path body;\n\
         server {{ listen 127.0.0.1:{port}; root {}/data; client_max_body_size 0;\n\
         dav_methods {methods}; create_full_put_path on; }} }}\n",
        root.display()
    );
    fs::write(root.join("nginx.conf"), config).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(root).arg("-c").arg(root.join("nginx.conf"));
    Some((start(&mut command, Some(port))?, format!("http://127.0.0.1:{port}/")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_written_to_nginx() {
    let directory = tempfile::tempdir().unwrap();
    let Some((_server, origin)) = nginx(directory.path(), "PUT DELETE MOVE") else { return };
    writes(&origin, &directory.path().join("data")).await;
}

/// A server that renames nothing gets the file under its final name, and that is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_renames_no_files_takes_them_under_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let Some((_server, origin)) = nginx(directory.path(), "PUT DELETE") else { return };
    let remote = over_tcp(Config::default());
    let content = content(70_000);
    let address = format!("{origin}file");
    upload(&remote, &address, &content, 9_000, CreateOptions::default()).await.unwrap();
    let data = directory.path().join("data");
    assert!(fs::read(data.join("file")).unwrap() == content);
    assert_eq!(files(&data).len(), 1);
    assert!(remote.report().to_string().contains("renames no files"), "{}", remote.report());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_files_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let Some((_server, origin)) = nginx(directory.path(), "off") else { return };
    let remote = over_tcp(Config::default());
    let address = format!("{origin}file");
    let content = content(70_000);
    let refused = upload(&remote, &address, &content, 9_000, CreateOptions::default());
    let error = refused.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("lets files be written"), "{error}");
}
