//! versitygw, which verifies signatures, where this machine has it (`.ci/ensure-s3`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use credentials::{Choice, CredentialStore, Environment};
use farroot_remote::address::Address;
use farroot_remote::source::FileEnd;
use farroot_remote::source::http::s3::sign::{
    Scope, Signable, UNSIGNED_PAYLOAD, authorization, stamp,
};
use farroot_remote::{Config, ErrorKind};
use secrecy::ExposeSecret;

use crate::conformance;
use crate::http::server;
use crate::peers::{Process, free_port, start};
use crate::secrets::Searched;
use crate::secured::Authority;
use crate::talk::{Talk, file};
use crate::{lay_out, over_tcp};

pub const KEY: &str = "AKIDEXAMPLE";
pub const SECRET: &str = "marker-of-a-secret/key+";
pub const REGION: &str = "eu-test-7";

pub struct Gateway {
    scheme: &'static str,
    authority: Option<Authority>,
    _process: Process,
    port: u16,
    /// The bucket `bucket`.
    pub bucket: PathBuf,
    _folder: tempfile::TempDir,
}

impl Gateway {
    /// Serves a folder; `None`, loudly, where there is no versitygw.
    pub fn start() -> Option<Self> {
        Self::start_as(None, false)
    }

    /// One that remembers parts and checksums, as one to which is written has to.
    pub fn start_writable() -> Option<Self> {
        Self::start_as(None, true)
    }

    fn start_as(authority: Option<Authority>, has_memory: bool) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let bucket = folder.path().join("data/bucket");
        fs::create_dir_all(&bucket).unwrap();
        lay_out(&bucket);
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/s3/versitygw");
        let program = if built.exists() { built } else { "versitygw".into() };
        let port = free_port();
        let mut command = Command::new(program);
        if let Some(authority) = &authority {
            let (certificate, key) = authority.host_files();
            command.arg("--cert").arg(certificate).arg("--key").arg(key);
        }
        command.args(["--quiet", "--access", KEY, "--secret", SECRET, "--region", REGION]).args([
            "--port",
            &format!("127.0.0.1:{port}"),
            "--keep-alive",
            "posix",
        ]);
        if has_memory {
            let memory = folder.path().join("memory");
            fs::create_dir(&memory).unwrap();
            command.arg("--sidecar").arg(memory);
        } else {
            command.arg("--nometa");
        }
        command.arg(folder.path().join("data"));
        let process = start(&mut command, Some(port))?;
        let scheme = if authority.is_some() { "https" } else { "http" };
        Some(Gateway { scheme, authority, _process: process, port, bucket, _folder: folder })
    }

    fn endpoint(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.port)
    }

    /// With these keys, from this region.
    fn config(&self, keys: Option<(&str, &str)>, region: Option<&str>) -> Config {
        let endpoint = self.endpoint();
        let mut variables = vec![("AWS_ENDPOINT_URL_S3", &*endpoint)];
        let authorities = self.authority.as_ref().map(|authority| authority.path().join("ca.pem"));
        variables.extend(authorities.iter().map(|path| ("SSL_CERT_FILE", path.to_str().unwrap())));
        variables.extend(region.map(|region| ("AWS_REGION", region)));
        if let Some((key, secret)) = keys {
            variables.extend([("AWS_ACCESS_KEY_ID", key), ("AWS_SECRET_ACCESS_KEY", secret)]);
        }
        let credential_store =
            CredentialStore::new(Environment::new(0, None, variables), Choice::default());
        Config { credential_store, ..Config::default() }
    }

    pub fn remote(&self, keys: Option<(&str, &str)>, region: Option<&str>) -> Searched {
        over_tcp(self.config(keys, region))
    }
}

fn url(key: &str) -> Address {
    Address::parse(&format!("s3://bucket/{key}")).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_requests_keep_the_rules() {
    let Some(gateway) = Gateway::start() else { return };
    let config = gateway.config(Some((KEY, SECRET)), Some(REGION));
    conformance::check(server(&url(""), &config), url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_requests_within_tls_keep_the_rules() {
    let Some(gateway) = Gateway::start_as(Some(Authority::new()), false) else { return };
    let config = gateway.config(Some((KEY, SECRET)), Some(REGION));
    conformance::check(server(&url(""), &config), url).await;
}

/// Its answer to several ranges is the whole object.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_ranges_are_asked_for_one_by_one_once_that_is_known() {
    let Some(gateway) = Gateway::start() else { return };
    let config = gateway.config(Some((KEY, SECRET)), Some(REGION));
    let content = fs::read(gateway.bucket.join("large.bin")).unwrap();
    let file = file(1, &url("large.bin"));
    let mut talk = Talk::with(server(&url(""), &config));
    let tail = talk.open(&file, FileEnd::Tail(1000)).await;
    assert_eq!(tail.bytes(), content[content.len() - 1000..]);
    let parts = talk.fetch(&file, &[5..10, 1_000_000..1_000_010]).await;
    assert_eq!(parts.bytes(), [&content[5..10], &content[1_000_000..1_000_010]].concat());
    assert!(parts.traits.expect("it has learnt").one_range);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_refusal_says_what_is_wrong() {
    let Some(gateway) = Gateway::start() else { return };
    for (keys, key, kind, part) in [
        (
            Some((KEY, "marker-of-a-secret.another")),
            "small.bin",
            ErrorKind::Unauthenticated,
            "secret key of",
        ),
        (Some(("AKIDOTHER", SECRET)), "small.bin", ErrorKind::Unauthenticated, "does not know"),
        (None, "small.bin", ErrorKind::Unauthenticated, "aws configure"),
        (Some((KEY, SECRET)), "no such file", ErrorKind::NotFound, "no such object"),
    ] {
        let remote = gateway.remote(keys, Some(REGION));
        let error = remote.open_bytes(url(key).as_str()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert!(error.to_string().contains(&format!("s3://bucket/{key}")), "{error}");
        assert!(!error.is_retryable(), "{error}");
        for secret in ["marker", "Signature", "AKID"] {
            assert!(!error.to_string().contains(secret), "{error}");
            assert!(!remote.report().to_string().contains(secret), "{}", remote.report());
        }
    }
    let remote = gateway.remote(Some((KEY, SECRET)), Some(REGION));
    let error = remote.open_bytes("s3://elsewhere/f").await.unwrap_err();
    assert!(error.to_string().contains("no such bucket"), "{error}");
    let error = remote.open_bytes("s3://bucket").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

/// The server names the region that it is in; every file was read with one refusal for each
/// request otherwise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_region_is_learnt_from_the_first_refusal() {
    let Some(gateway) = Gateway::start() else { return };
    for region in [None, Some("us-west-2")] {
        let remote = gateway.remote(Some((KEY, SECRET)), region);
        let opened = remote.open_bytes("s3://bucket/medium.bin").await.unwrap();
        let content = fs::read(gateway.bucket.join("medium.bin")).unwrap();
        let fetched = opened.fetch(&[7..90_000]).await.unwrap();
        assert_eq!(fetched[0].1, content[7..90_000]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_are_listed_and_patterns_found() {
    let Some(gateway) = Gateway::start() else { return };
    for name in ["d/run1/a b+%.root", "d/run1/c#?.root", "d/run2/é.root", "d/x.txt"] {
        let path = gateway.bucket.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    // More than one page.
    fs::create_dir(gateway.bucket.join("many")).unwrap();
    for number in 0..2345 {
        fs::write(gateway.bucket.join(format!("many/{number:04}.root")), "").unwrap();
    }
    let remote = gateway.remote(Some((KEY, SECRET)), Some(REGION));
    let names = async |directory: &str| {
        let listed = remote.list(directory).await.unwrap();
        listed.into_iter().map(|there| there.name).collect::<Vec<_>>()
    };
    assert_eq!(
        names("s3://bucket").await,
        ["d", "empty.bin", "large.bin", "many", "medium.bin", "small.bin"]
    );
    let listed = remote.list("s3://bucket/d/").await.unwrap();
    let sizes: Vec<_> = listed.iter().map(|there| (there.is_directory, there.size)).collect();
    let file = fs::metadata(gateway.bucket.join("d/x.txt")).unwrap();
    let directory = (Some(true), None);
    assert_eq!(sizes, [directory, directory, (Some(false), Some(file.len()))]);
    let ago = listed[2].modified.unwrap().elapsed().unwrap_or_default();
    assert!(ago.as_secs() < 3600 && listed[0].modified.is_none(), "{listed:?}");
    assert_eq!(names("s3://bucket/d/").await, ["run1", "run2", "x.txt"]);
    assert_eq!(names("s3://bucket/d/run1").await, ["a b+%.root", "c#?.root"]);
    assert_eq!(names("s3://bucket/many/").await.len(), 2345);
    let found = remote.matching("s3://bucket/d/run*/*.root").await.unwrap();
    let expected = [
        "s3://bucket/d/run1/a b+%.root",
        "s3://bucket/d/run1/c#?.root",
        "s3://bucket/d/run2/é.root",
    ];
    assert_eq!(found, expected);
    for address in found {
        let opened = remote.open_bytes(&address).await.unwrap();
        let size = opened.info().size;
        let bytes = &opened.fetch(&[0..size]).await.unwrap()[0].1;
        assert_eq!(format!("s3://bucket/{}", String::from_utf8_lossy(bytes)), address);
    }
    let error = remote.list("s3://bucket/nothing/").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(remote.matching("s3://bucket/nothing/*.root").await.unwrap().is_empty());
    let error = gateway.remote(Some((KEY, "other")), None).list("s3://bucket").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
}

/// An address of an object that is good for so long, signed at a time in seconds since 1970.
fn presigned(gateway: &Gateway, key: &str, signed: u64, seconds: u64) -> String {
    let stamp = stamp(signed);
    let scope = Scope { stamp: &stamp, region: REGION, service: "s3" };
    let query = format!(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={KEY}%2F{}%2F{REGION}%2Fs3%2F\
         aws4_request&X-Amz-Date={stamp}&X-Amz-Expires={seconds}&X-Amz-SignedHeaders=host",
        &stamp[..8]
    );
    let path = format!("/bucket/{key}");
    let authority = format!("127.0.0.1:{}", gateway.port);
    let asked = Signable {
        method: "GET",
        path: &path,
        query: &query,
        headers: vec![("host", &authority)],
        payload: UNSIGNED_PAYLOAD,
    };
    let value = authorization(&asked, scope, KEY, &SECRET.to_owned().into());
    let (_, signature) = value.expose_secret().rsplit_once("Signature=").unwrap();
    format!("http://{authority}{path}?{query}&X-Amz-Signature={signature}")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A client with the address needs no keys; a HEAD would be refused, and so would an Authorization.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presigned_addresses_keep_the_rules() {
    let Some(gateway) = Gateway::start() else { return };
    let config = gateway.config(Some(("AKIDOTHER", "other")), None);
    let name = |key: &str| key.replace(' ', "%20");
    let url = |key: &str| presigned(&gateway, &name(key), now(), 600).parse::<Address>().unwrap();
    conformance::check(server(&url(""), &config), url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presigned_addresses_expire_and_are_for_one_object() {
    let Some(gateway) = Gateway::start() else { return };
    let remote = gateway.remote(None, None);
    let good = presigned(&gateway, "small.bin", now(), 600);
    assert_eq!(remote.open_bytes(&good).await.unwrap().info().size, 100);
    for (address, part) in [
        (presigned(&gateway, "small.bin", now() - 7500, 300), "expired 2 h 0 min ago"),
        (good.replace("small", "medium"), "not as it was signed"),
        (good.replace(KEY, "AKIDOTHER"), "that the address was signed with"),
    ] {
        let error = remote.open_bytes(&address).await.unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        for secret in [KEY, "AKIDOTHER", "aws4_request", good.rsplit_once('=').unwrap().1] {
            assert!(!error.to_string().contains(secret), "{error}");
            assert!(!remote.report().to_string().contains(secret), "{}", remote.report());
        }
    }
}
