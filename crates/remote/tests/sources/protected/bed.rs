//! Debian's xrootd with TLS and with tokens, on certificates and by an issuer made here.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credentials::{Choice, CredentialStore, Environment};
use farroot_remote::Config;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SigningKey,
};

use super::super::peers::{Process, own_by_daemon, running_as_root, start};
use super::super::secrets::MARKER;

const ISSUER: &str = "https://localhost:9443/issuer";

/// The bytes of the one file that servers have, `/store/a.bin`.
pub fn content() -> Vec<u8> {
    (0..200_000_u32).map(|at| ((at * 31) >> 4) as u8).collect()
}

/// Files of a user, an authority, and servers.
pub struct Bed {
    folder: tempfile::TempDir,
    authority: Issuer<'static, KeyPair>,
    signer: KeyPair,
}

pub struct Xrootd {
    _process: Process,
    pub port: u16,
}

impl Bed {
    pub fn new() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "An authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).unwrap();
        let trusted = folder.path().join("certificates");
        fs::create_dir(&trusted).unwrap();
        fs::write(trusted.join("0123abcd.0"), certificate.pem()).unwrap();
        let data = folder.path().join("data/store");
        fs::create_dir_all(&data).unwrap();
        fs::create_dir_all(folder.path().join("cache/scitokens")).unwrap();
        // The server runs as another user.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(data.join("a.bin"), content()).unwrap();
        let authority = Issuer::new(params, key);
        Bed { folder, authority, signer: KeyPair::generate().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The certificate and the key of a host, PEM.
    pub fn host(&self, names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, "a host");
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A user's certificate with its key, in one file.
    pub fn certificate(&self) -> PathBuf {
        let (params, key) = self.ada();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        let path = self.path("user.pem");
        private(&path, format!("{}{}", certificate.pem(), key.serialize_pem()).as_bytes());
        path
    }

    /// A proxy of a user (RFC 3820), as tools write it: proxy, key, the user's certificate.
    pub fn proxy(&self) -> PathBuf {
        let (user, key) = self.ada();
        let signed = user.signed_by(&key, &self.authority).unwrap();
        let mut proxy = user.clone();
        proxy.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 3]), "12345678");
        // proxyCertInfo { policy { id-ppl-inheritAll } }
        let info = vec![0x30, 12, 0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 21, 1];
        let mut extension = CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 14], info);
        extension.set_criticality(true);
        proxy.custom_extensions.push(extension);
        let own = KeyPair::generate().unwrap();
        let proxy = proxy.signed_by(&own, &Issuer::new(user, key)).unwrap();
        let path = self.path("proxy.pem");
        let text = [proxy.pem(), own.serialize_pem(), signed.pem()].concat();
        private(&path, text.as_bytes());
        path
    }

    fn ada(&self) -> (CertificateParams, KeyPair) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "Ada Lovelace");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        (params, KeyPair::generate().unwrap())
    }

    /// A running xrootd; none, loudly, where there is no such program.
    pub fn xrootd(&self, name: &str, more: &str) -> Option<Xrootd> {
        self.xrootd_within(name, more, &[])
    }

    /// The same, with these variables in its environment.
    pub fn xrootd_within(
        &self,
        name: &str,
        more: &str,
        variables: &[(&str, &Path)],
    ) -> Option<Xrootd> {
        let own = self.path(name);
        fs::create_dir(&own).unwrap();
        let (certificate, key) = self.host(&["localhost"]);
        fs::write(own.join("host.pem"), certificate).unwrap();
        private(&own.join("host.key"), key.as_bytes());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = own.display();
        let all = self.folder.path().display();
        let config = format!(
            "xrd.port {port}\nall.export /store\noss.localroot {all}/data\n\
             all.adminpath {at}\nall.pidpath {at}\n{}\n",
            more.replace("@AT@", &at.to_string()).replace("@ALL@", &all.to_string())
        );
        fs::write(own.join("xrootd.cfg"), config).unwrap();
        let mut command = Command::new("xrootd");
        command.args(["-n", name, "-c"]).arg(own.join("xrootd.cfg")).arg("-l").arg(own.join("log"));
        command.env("XDG_CACHE_HOME", self.path("cache")).envs(variables.iter().copied());
        if running_as_root() {
            own_by_daemon(&own);
            own_by_daemon(&self.path("data"));
            own_by_daemon(&self.path("cache"));
            command.args(["-R", "daemon"]);
        }
        let process = start(&mut command, Some(port))?;
        Some(Xrootd { _process: process, port })
    }

    /// Writes the keys by which libscitokens trusts tokens of this issuer without asking it. False,
    /// loudly, where that cannot be written.
    pub fn publish_keys(&self) -> bool {
        let point = self.signer.der_bytes();
        let half = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let keys = format!(
            "{{\"jwks\": {{\"keys\": [{{\"kty\": \"EC\", \"crv\": \"P-256\", \"kid\": \"1\", \
             \"alg\": \"ES256\", \"use\": \"sig\", \"x\": \"{}\", \"y\": \"{}\"}}]}}, \
             \"expires\": 4000000000, \"next_update\": 4000000000}}",
            half(&point[1..33]),
            half(&point[33..65])
        );
        let folder = self.path("cache/scitokens");
        let script = "import sqlite3, sys\n\
            db = sqlite3.connect(sys.argv[1])\n\
            db.execute('CREATE TABLE keycache (issuer text UNIQUE PRIMARY KEY NOT NULL, \
            keys text NOT NULL)')\n\
            db.execute('INSERT INTO keycache VALUES (?, ?)', sys.argv[2:4])\n\
            db.commit()\n";
        let mut python = Command::new("python3");
        python.args(["-c", script]).arg(folder.join("scitokens_cpp.sqllite"));
        python.arg(ISSUER).arg(keys);
        let written = python.status().is_ok_and(|status| status.success());
        if !written {
            eprintln!("SKIPPED: python3 with sqlite3 is missing; no token was tested");
        }
        fs::write(
            self.path("scitokens.conf"),
            format!(
                "[Global]\naudience = ANY\n[Issuer local]\nissuer = {ISSUER}\n\
                 base_path = /store\ndefault_user = daemon\n"
            ),
        )
        .unwrap();
        fs::write(self.path("authdb"), "").unwrap();
        written
    }

    /// A token that is valid for so many seconds from now on.
    pub fn token(&self, scope: &str, valid: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let now = now.as_secs().cast_signed();
        let claims = format!(
            "{{\"iss\": \"{ISSUER}\", \"sub\": \"ada\", \"aud\": \"ANY\", \
             \"ver\": \"scitoken:2.0\", \"scope\": \"{scope}\", \"iat\": {now}, \
             \"nbf\": {}, \"exp\": {}, \"jti\": \"{MARKER}\"}}",
            now - 60,
            now + valid
        );
        let head = "{\"alg\": \"ES256\", \"typ\": \"JWT\", \"kid\": \"1\"}";
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(&claims));
        let signature = raw_signature(&self.signer.sign(text.as_bytes()).unwrap());
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// A user with this token, or without, who trusts the authority here.
    pub fn user(&self, token: Option<&str>) -> Config {
        let certificates = self.path("certificates");
        let file = self.path("token");
        let mut variables = vec![("X509_CERT_DIR", certificates.to_str().unwrap())];
        if let Some(token) = token {
            private(&file, token.as_bytes());
            variables.push(("BEARER_TOKEN_FILE", file.to_str().unwrap()));
        }
        let home = self.path("home");
        fs::create_dir_all(&home).unwrap();
        let user = nix::unistd::geteuid().as_raw();
        let mut environment = Environment::new(user, Some(home.clone()), variables);
        // No proxy and no token of this machine.
        environment.temporary = Some(home);
        let credential_store = CredentialStore::new(environment, Choice::default());
        // One connection, whose flights are counted.
        Config { credential_store, connections_initial: 1, connections_max: 1, ..Config::default() }
    }
}

/// Whether the library that judges tokens is installed; says loudly where it is not.
pub fn has_scitokens() -> bool {
    let folders =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let names = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let found = names.any(|name| name.starts_with("libXrdAccSciTokens"));
    if !found {
        eprintln!("SKIPPED: xrootd-scitokens-plugins is not installed; no token was tested");
    }
    found
}

/// A file that only its owner may read.
fn private(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Both numbers of a signature, 32 bytes each (RFC 7518, section 3.4), out of their DER.
fn raw_signature(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut raw = Vec::new();
    for _ in 0..2 {
        let length = usize::from(rest[1]);
        let number = &rest[2..2 + length];
        let number = &number[number.len().saturating_sub(32)..];
        raw.extend(std::iter::repeat_n(0, 32 - number.len()));
        raw.extend_from_slice(number);
        rest = &rest[2 + length..];
    }
    raw
}
