//! To servers of HTTP: XRootD's, and nginx with WebDAV, where this machine has them.

use std::fs;
use std::path::Path;
use std::process::Command;

use farroot_remote::{Config, CopyOptions, CreateOptions, ErrorKind};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

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
    odd_names(origin, data).await;
}

/// Regression: XRootD 5 takes the `Destination` of a `MOVE` for the name as it is: a file got the
/// name `a%20b`, the upload reported success, and the copy could not be read back.
async fn odd_names(origin: &str, data: &Path) {
    let remote = over_tcp(Config::default());
    let names = ["a b.bin", "x%41y z", "é+&=;", "a é"];
    for (options, size) in [(CreateOptions::default(), 70_000), (OVER, 60_001)] {
        for name in names {
            let address = format!("{origin}{}", utf8_percent_encode(name, NON_ALPHANUMERIC));
            let content = content(size);
            let written = upload(&remote, &address, &content, 9_000, options).await.unwrap();
            check(&written, &content);
            assert_eq!(written.warnings, [""; 0]);
            assert!(fs::read(data.join(name)).unwrap() == content, "{address}");
        }
    }
    assert_eq!(files(data).len(), 5 + names.len(), "{:?}", files(data));
    for name in names {
        let of = |name: &str| format!("{origin}{}", utf8_percent_encode(name, NON_ALPHANUMERIC));
        // An engine that knows nothing of the server.
        let remote = over_tcp(Config::default());
        remote.rename(&of(name), &of(&format!("{name} %42"))).await.unwrap();
        assert!(data.join(format!("{name} %42")).is_file(), "{name}: {:?}", files(data));
        remote.remove(&of(&format!("{name} %42"))).await.unwrap();
    }
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
pub fn nginx(root: &Path, methods: &str) -> Option<(crate::peers::Process, String)> {
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
         dav_methods {methods}; create_full_put_path on;\n\
         location /put/ {{ dav_methods PUT DELETE; }} }} }}\n",
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
    let written = upload(&remote, &address, &content, 9_000, CreateOptions::default()).await;
    let data = directory.path().join("data");
    assert!(fs::read(data.join("file")).unwrap() == content);
    assert_eq!(files(&data).len(), 1);
    assert!(written.unwrap().warnings[0].contains("renames no files"));
    assert!(remote.report().to_string().contains("renames no files"), "{}", remote.report());
}

/// Regression: once a rename had been refused in one place of a server, for whatever reason, its
/// files counted as ones that cannot be renamed anywhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_without_renames_says_nothing_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let Some((_server, origin)) = nginx(directory.path(), "PUT DELETE MOVE") else { return };
    let data = directory.path().join("data");
    fs::create_dir_all(data.join("folder")).unwrap();
    let remote = over_tcp(Config::default());
    let content = content(7_000);
    let put = async |name: &str, options| {
        let address = format!("{origin}{name}");
        upload(&remote, &address, &content, 9_000, options).await
    };
    assert_eq!(put("a/f", CreateOptions::default()).await.unwrap().warnings, [""; 0]);
    let in_place = put("put/f", CreateOptions::default()).await.unwrap();
    assert!(in_place.warnings[0].contains("renames no files"), "{:?}", in_place.warnings);
    assert!(put("folder", OVER).await.is_err(), "a folder is there");
    for name in ["a/f", "f"] {
        assert_eq!(put(name, OVER).await.unwrap().warnings, [""; 0], "{name}");
        assert!(fs::read(data.join(name)).unwrap() == content, "{name}");
    }
    assert_eq!(files(&data).into_keys().collect::<Vec<_>>(), ["a/f", "f", "put/f"]);
}

/// Regression: on a server that knows `PUT` alone, each upload left a complete hidden copy for
/// ever, and the warning of it was in the report only. An earlier file was lost at once, unasked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_over_where_files_can_only_be_put() {
    let directory = tempfile::tempdir().unwrap();
    let Some((_server, origin)) = nginx(directory.path(), "PUT") else { return };
    let remote = over_tcp(Config::default());
    let data = directory.path().join("data");
    fs::write(data.join("source"), content(70_000)).unwrap();
    let source = [data.join("source").display().to_string()];
    let target = format!("{origin}file");
    let copy = async |options| {
        remote.copy(&source, Path::new(&target), options, &|_| {}).await.unwrap().remove(0)
    };
    let copied = copy(CopyOptions::default()).await.unwrap();
    assert!(copied.warnings[0].contains("renames no files"), "{:?}", copied.warnings);
    let error = copy(CopyOptions::default().overwrite(true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("--in-place"), "{error}");
    let copied = copy(CopyOptions::default().overwrite(true).in_place(true)).await.unwrap();
    assert_eq!(copied.warnings, [""; 0]);
    assert_eq!(files(&data).into_keys().collect::<Vec<_>>(), ["file", "source"]);
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
