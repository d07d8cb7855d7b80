//! A proxy with rules: who may read what, over both protocols, in any order.

mod attacks;
mod certificates;
pub mod clients;
mod der;
mod grid;
mod gsi;
mod issuer;
mod matrix;
mod origins;
mod quotas;
mod tokens;
mod voms;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use farroot_serve::{
    AccessRule, Config, Content, Forwarding, IssuerSettings, Origin, Protection, Server,
};
use rcgen::{CertificateParams, KeyPair};
use remote::cache::{CacheCheck, CacheConfig};
use remote::credentials::{Choice, CredentialStore, Environment};
use serde_json::json;
use tempfile::TempDir;

use self::tokens::{AUDIENCE, Signer};

/// Issuers of the proxy.
pub const WLCG: &str = "https://wlcg.example/";
pub const SCI: &str = "https://sci.example";
/// Folders of the origin, each with a file `f`.
pub const FOLDERS: [&str; 10] = [
    "pub",
    "store",
    "store/deep",
    "storefront",
    "storefront/deep",
    "group",
    "users",
    "listed",
    "subject",
    "other",
];

/// More of them, whose files are for certificates.
pub const CERTIFICATE_FOLDERS: [&str; 4] = ["dn", "cms", "production", "bob"];

/// Everything but the proxy: a public origin, a certificate, keys and lists.
pub struct Site {
    pub folder: TempDir,
    pub certificate: String,
    pub origin: Server,
    pub wlcg: Signer,
    pub sci: Signer,
}

impl Site {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().self_signed(&key).unwrap().pem();
        let wlcg = Signer::rsa();
        let sci = Signer::p256();
        let write = |name: &str, text: &str| write(&folder.path().join(name), text);
        write("cert.pem", &certificate);
        write("key.pem", &key.serialize_pem());
        write("wlcg.json", &json!({"keys": [wlcg.public("w1")]}).to_string());
        write("sci.json", &json!({"keys": [sci.public("s1")]}).to_string());
        write("tokens", "marker-listed\n");
        write("users", "ada:marker-password\n");
        for name in FOLDERS.into_iter().chain(CERTIFICATE_FOLDERS) {
            let path = folder.path().join("files").join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("f"), content(name)).unwrap();
        }
        let origin = Server::start(Config::new(folder.path().join("files"))).unwrap();
        Site { folder, certificate, origin, wlcg, sci }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn tls(&self) -> Option<(PathBuf, PathBuf)> {
        Some((self.file("cert.pem"), self.file("key.pem")))
    }

    pub fn protection(&self) -> Protection {
        let issuer = |name: &str, url: &str, base: &str| IssuerSettings {
            name: name.to_owned(),
            url: url.to_owned(),
            audience: vec![AUDIENCE.to_owned()],
            base: vec![base.to_owned()],
            keys: Some(self.file(&format!("{name}.json"))),
        };
        Protection {
            tls: self.tls(),
            tokens: Some(self.file("tokens")),
            users: Some(self.file("users")),
            x509: None,
            issuers: vec![issuer("wlcg", WLCG, "*"), issuer("sci", SCI, "*/storefront")],
            kerberos: None,
            rules: rules(&[
                ("*/pub", "anyone"),
                ("*/store", "scope:wlcg"),
                ("*/storefront", "scope:sci"),
                ("*/group", "group:wlcg:/cms/uscms"),
                ("*/users", "user:ada"),
                ("*/listed", "token"),
                ("*/subject", "subject:sci:carol"),
            ]),
        }
    }

    /// The settings of a proxy that trusts this site's certificate, with a cache that it asks
    /// the origin about.
    pub fn settings(&self, cache: &Path) -> remote::Config {
        let certificate = self.file("cert.pem");
        let user = fs::metadata(&certificate).unwrap().uid();
        let variables = [("SSL_CERT_FILE", certificate.to_str().unwrap())];
        let mut environment = Environment::new(user, None, variables);
        environment.temporary = Some(self.folder.path().to_owned());
        let cache = CacheConfig {
            bytes_max: 1 << 30,
            folder: Some(cache.to_owned()),
            check: CacheCheck::Verify,
            free_bytes_min: 0,
            ..CacheConfig::default()
        };
        let credential_store = CredentialStore::new(environment, Choice::default());
        remote::Config { credential_store, cache, ..remote::Config::default() }
    }

    pub fn proxy(&self, protection: Protection, origins: Vec<Origin>, cache: &Path) -> Server {
        let settings = self.settings(cache);
        let far = Forwarding { settings, origins, secret: None, access_log: None };
        let content = Content::Far(Box::new(far));
        let config = Config { protection, select: true, ..Config::of(content) };
        Server::start(config).unwrap()
    }
}

/// Writes a file that only its owner may read.
pub fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

pub fn content(folder: &str) -> Vec<u8> {
    folder.repeat(1000).into_bytes()
}

pub fn rules(rules: &[(&str, &str)]) -> Vec<AccessRule> {
    let rule = |(path, who): &(&str, &str)| AccessRule {
        path: (*path).to_owned(),
        read: vec![(*who).to_owned()],
    };
    rules.iter().map(rule).collect()
}
