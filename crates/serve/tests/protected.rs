//! A protected server in one command, read by farroot's own client.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use credentials::{Choice, CredentialStore, Environment, TokenFrom};
use farroot_serve::{AccessRule, Config, Content, Forwarding, Protection, Server};
use futures::StreamExt;
use rcgen::{CertificateParams, KeyPair};
use remote::fetch::{Urgency, Want};
use remote::source::network::Tcp;
use remote::{Error, ErrorKind, Remote};

const CONTENT: &[u8] = b"0123456789";

fn start(folder: &Path, tokens: bool, users: bool) -> Server {
    let protection = protection(folder, tokens, users);
    Server::start(Config { protection, ..Config::new(files(folder)) }).unwrap()
}

fn files(folder: &Path) -> PathBuf {
    let files = folder.join("files");
    std::fs::create_dir_all(&files).unwrap();
    std::fs::write(files.join("f.root"), CONTENT).unwrap();
    files
}

fn protection(folder: &Path, tokens: bool, users: bool) -> Protection {
    let key = KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    Protection {
        tls: Some((write("cert.pem", &certificate.pem()), write("key.pem", &key.serialize_pem()))),
        tokens: tokens.then(|| write("tokens", "# of tests\nmarker-token\n")),
        users: users.then(|| write("users", "ada:marker-password\n")),
        ..Protection::default()
    }
}

fn read(folder: &Path, url: &str, token: Option<&str>) -> Result<Vec<u8>, Error> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(read_within(folder, url, token))
}

async fn read_within(folder: &Path, url: &str, token: Option<&str>) -> Result<Vec<u8>, Error> {
    let remote = remote(folder, token);
    let file = remote.open_bytes(url).await?;
    let want = Want { range: 0..10, cost: 10, urgency: Urgency::Demand, order: 0 };
    Ok(file.want(vec![want]).next().await.expect("one want")?.bytes.to_vec())
}

fn remote(folder: &Path, token: Option<&str>) -> Remote {
    let certificate = folder.join("cert.pem");
    let variables = [("SSL_CERT_FILE", certificate.to_str().unwrap())];
    let token = token.map(|token| TokenFrom::Secret(token.into()));
    let mut environment = Environment::new(u32::MAX, None, variables);
    environment.temporary = Some(folder.to_owned());
    let credential_store = CredentialStore::new(environment, Choice { token, ..Choice::default() });
    let config = remote::Config { credential_store, ..remote::Config::default() };
    let network = Arc::new(Tcp::new(config.connect_timeout));
    Remote::start(config, network)
}

#[test]
fn both_protocols_are_spoken_within_tls() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), false, false);
    assert!(server.root_url().starts_with("roots://"));
    assert!(server.http_url().starts_with("https://"));
    for url in [server.http_url(), server.root_url()] {
        let bytes = read(folder.path(), &format!("{url}f.root"), None);
        assert_eq!(bytes.expect(&url), CONTENT);
    }
    // Without protection unencrypted requests are served, too.
    for url in [server.http_url(), server.root_url()] {
        let plain = url.replacen("s://", "://", 1);
        let bytes = read(folder.path(), &format!("{plain}f.root"), None);
        assert_eq!(bytes.expect(&plain), CONTENT);
    }
}

#[test]
fn a_token_of_the_list_may_read_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), true, false);
    for url in [server.http_url(), server.root_url()] {
        let url = format!("{url}f.root");
        let bytes = read(folder.path(), &url, Some("marker-token"));
        assert_eq!(bytes.expect(&url), CONTENT);
        for token in [Some("marker-other"), Some("marker-toke"), None] {
            let error = read(folder.path(), &url, token).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
            assert!(!error.to_string().contains("marker"), "{error}");
        }
    }
    let plain = server.http_url().replacen("https", "http", 1);
    let error = read(folder.path(), &format!("{plain}f.root"), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("write https://"), "{error}");
}

/// Of its clients the proxy wants TLS and a token; its origin is public.
#[test]
fn a_proxy_is_protected_as_a_folder_is() {
    let folder = tempfile::tempdir().unwrap();
    let origin = Server::start(Config::new(files(folder.path()))).unwrap();
    let settings = remote::Config::default();
    let far = Forwarding { settings, origins: Vec::new(), secret: None, access_log: None };
    let protection = protection(folder.path(), true, false);
    let content = Content::Far(Box::new(far));
    let proxy = Server::start(Config { protection, ..Config::of(content) }).unwrap();
    let over_xrootd = format!("{}{}f.root", proxy.root_url(), origin.root_url());
    let over_http = format!("{}{}f.root", proxy.http_url(), origin.http_url());
    assert!(over_xrootd.starts_with("roots://") && over_http.starts_with("https://"));
    for url in [over_xrootd, over_http] {
        let bytes = read(folder.path(), &url, Some("marker-token"));
        assert_eq!(bytes.expect(&url), CONTENT);
        for token in [Some("marker-other"), None] {
            let error = read(folder.path(), &url, token).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
        }
    }
}

#[test]
fn a_user_with_a_password_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), false, true);
    let url =
        |user: &str| format!("{}f.root", server.http_url().replacen("//", &format!("//{user}"), 1));
    let bytes = read(folder.path(), &url("ada:marker-password@"), None);
    assert_eq!(bytes.unwrap(), CONTENT);
    for user in ["ada:marker@", "marker-password@", ""] {
        let error = read(folder.path(), &url(user), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
        assert!(error.to_string().contains("it wants Basic"), "{error}");
        assert!(!error.to_string().contains("ada:"), "{error}");
    }
}

/// The list of tokens was read once, when the server started.
#[test]
fn a_reload_changes_who_may_read_and_ends_no_connection() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), true, false);
    let url = format!("{}f.root", server.root_url());
    assert_eq!(read(folder.path(), &url, Some("marker-token")).unwrap(), CONTENT);
    std::fs::write(folder.path().join("tokens"), "another-token\n").unwrap();
    server.reload().unwrap();
    assert_eq!(read(folder.path(), &url, Some("another-token")).unwrap(), CONTENT);
    let error = read(folder.path(), &url, Some("marker-token")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    // A damaged file leaves all as it was.
    std::fs::write(folder.path().join("cert.pem"), "nothing").unwrap();
    std::fs::write(folder.path().join("tokens"), "third\n").unwrap();
    let error = server.reload().unwrap_err();
    assert!(error.to_string().contains("cert.pem"), "{error}");
    std::fs::write(folder.path().join("cert.pem"), "").unwrap();
    assert!(server.reload().is_err());
}

/// With a rule for `/public` only, a link in it gave away the files of other folders, and a folder
/// behind a link its names.
#[test]
fn a_rule_counts_for_the_written_name_and_for_the_place_behind_links() {
    let top = tempfile::tempdir().unwrap();
    let files = files(top.path());
    for name in ["public", "secret"] {
        std::fs::create_dir(files.join(name)).unwrap();
        std::fs::write(files.join(name).join("f"), CONTENT).unwrap();
    }
    for (target, link) in [("../secret/f", "link"), ("../secret", "folder"), ("f", "same")] {
        std::os::unix::fs::symlink(target, files.join("public").join(link)).unwrap();
    }
    let rule = AccessRule { path: "/public".into(), read: vec!["anyone".into()] };
    let protection = Protection { rules: vec![rule], ..Protection::default() };
    let server = Server::start(Config { protection, ..Config::new(files) }).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // Nothing can be proved here: neither a credential nor https would help.
    let is_denied = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        assert!(!error.to_string().contains("to be read by https"), "{error}");
    };
    for url in [server.http_url(), server.root_url()] {
        for name in ["f", "same"] {
            let url = format!("{url}public/{name}");
            assert_eq!(read(top.path(), &url, None).expect(&url), CONTENT);
        }
        let remote = runtime.block_on(async { remote(top.path(), None) });
        for name in ["public/link", "public/folder/f", "public/folder/none", "secret/f"] {
            let url = format!("{url}{name}");
            is_denied(read(top.path(), &url, None).expect_err(&url));
            runtime.block_on(remote.checksum(&url, None)).map(drop).map_or_else(is_denied, |()| {
                panic!("{url} has a checksum");
            });
        }
        let names = |folder: &str| {
            let url = format!("{url}{folder}/");
            let listed = runtime.block_on(remote.list(&url))?;
            Ok::<_, Error>(listed.into_iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names("public").unwrap(), ["f", "same"]);
        is_denied(names("public/folder").unwrap_err());
    }
}
