//! Logins by gsi, without TLS and within it: the same rows as for certificates within TLS, and
//! XRootD's own client.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use farroot_serve::{Protection, Server, X509Settings};
use rcgen::{CertificateParams, KeyPair, PublicKeyData};
use remote::credentials::x509::{self, ChainLink, certificates, hashes, text_of};
use rsa::pkcs8::DecodePrivateKey;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use secrecy::SecretBox;
use xrootd::auth::gsi::{GsiCredential, Peer, PublicKey, RANDOM_BYTES};
use xrootd::error::ErrorCode;

use super::certificates::{accepted, protection, refused, wrong_attributes};
use super::clients::Session;
use super::grid::{Grid, Identity, Party, VALID};
use super::{Site, content, rules, write};

/// Bytes of padding in a signature.
const PADDING: usize = 11;

/// A client's side: it signs with its key, and believes any server.
#[derive(Debug)]
struct Signing(RsaPrivateKey);

impl Peer for Signing {
    fn sign(&self, raw: &[u8]) -> Result<Vec<u8>, String> {
        let piece = rsa::traits::PublicKeyParts::size(&self.0) - PADDING;
        let sign = |piece| self.0.sign(Pkcs1v15Sign::new_unprefixed(), piece).unwrap();
        Ok(raw.chunks(piece).flat_map(sign).collect())
    }

    fn verify(&self, pem: &str, _authorities: &[&str]) -> Result<PublicKey, String> {
        let der = certificates(pem.as_bytes()).remove(0);
        let key = x509::PublicKey::of(&x509::Certificate::parse(&der)?.public_key).unwrap();
        Ok(PublicKey::new(&key.modulus, &key.exponent))
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let arguments = arguments.split(' ').map(|one| one.replace('~', " "));
    let mut openssl = Command::new("openssl");
    openssl.args(arguments).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    assert!(openssl.stdout(Stdio::null()).status().unwrap().success());
}

/// Whether the programs are here; otherwise this is said.
fn are_installed(programs: &[&str]) -> bool {
    let is_there = |program: &&&str| {
        let run = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        run.is_ok()
    };
    let missing: Vec<_> = programs.iter().filter(|one| !is_there(one)).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: {missing:?} are not installed; nothing was tested with them");
    }
    missing.is_empty()
}

/// A key of RSA, the same for all: it takes long to make one.
fn rsa_key() -> KeyPair {
    static KEY: OnceLock<String> = OnceLock::new();
    KeyPair::from_pem(KEY.get_or_init(|| new_rsa_key().serialize_pem())).unwrap()
}

fn new_rsa_key() -> KeyPair {
    let folder = tempfile::tempdir().unwrap();
    openssl(folder.path(), "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key");
    KeyPair::from_pem(&fs::read_to_string(folder.path().join("key")).unwrap()).unwrap()
}

/// The host's certificate, with a key of RSA.
fn host(site: &Site, grid: &Grid) {
    let key = rsa_key();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(VALID.start, 1, 1);
    params.not_after = rcgen::date_time_ymd(VALID.end, 1, 1);
    let issuer = rcgen::Issuer::from_params(&grid.authority.params, &grid.authority.key);
    let pem = params.signed_by(&key, &issuer).unwrap().pem();
    write(&site.file("host.pem"), &pem);
    write(&site.file("host.key"), &key.serialize_pem());
}

fn of_host(site: &Site, protection: Protection) -> Protection {
    let tls = Some((site.file("host.pem"), site.file("host.key")));
    Protection { tls, ..protection }
}

/// These certificates with one more proxy, whose key is of RSA.
fn with_rsa(shown: &Identity) -> Identity {
    let key = KeyPair::try_from(shown.key.as_slice()).unwrap();
    let params = CertificateParams::default();
    let issuer = Party { params, key, der: shown.chain[0].clone() };
    let key = rsa_key();
    let proxy = issuer.proxy(|proxy| proxy.public_key = key.subject_public_key_info());
    let chain = [&[proxy.der], &shown.chain[..]].concat();
    Identity { chain, key: key.serialize_der() }
}

fn credential(shown: &Identity) -> Box<GsiCredential> {
    let key = RsaPrivateKey::from_pkcs8_der(&shown.key).unwrap();
    let public = rsa_key().subject_public_key_info();
    Box::new(GsiCredential {
        chain_pem: shown.chain.iter().map(|der| text_of("CERTIFICATE", der)).collect(),
        public_key_pem: text_of("PUBLIC KEY", &public),
        issuer_hash: "00000000.0|00000000.0".to_owned(),
        random: SecretBox::new(Box::new([0x5a; RANDOM_BYTES])),
        peer: Arc::new(Signing(key)),
    })
}

/// Opens a file without TLS: whether that is refused, and the refusal's text.
fn opened(site: &Site, proxy: &Server, shown: &Identity, folder: &str) -> Option<String> {
    let mut session = Session::by_gsi(proxy, credential(shown));
    let (file, open) = session.open(&format!("/{}{folder}/f", site.origin.root_url()));
    match session.refusal(open) {
        Some(code) => {
            assert_eq!(code, ErrorCode::NOT_AUTHORIZED);
            Some(session.said(open))
        }
        None => {
            let read = session.ask(|client, now| client.read(now, file, 0..10));
            session.outcome(read).unwrap();
            assert_eq!(session.bytes(read), &content(folder)[..10]);
            None
        }
    }
}

#[test]
fn a_login_by_gsi_proves_what_a_certificate_within_tls_does() {
    if !are_installed(&["openssl"]) {
        return;
    }
    let site = Site::new();
    let grid = Grid::new();
    host(&site, &grid);
    let cache = tempfile::tempdir().unwrap();
    let protection = of_host(&site, protection(&site, &grid));
    let proxy = site.proxy(protection.clone(), Vec::new(), cache.path());
    for (name, shown, may) in accepted(&grid) {
        // It may have no further proxy.
        if name == "limited" {
            continue;
        }
        let shown = with_rsa(&shown);
        for folder in ["pub", "dn", "cms", "production", "bob", "store"] {
            let refusal = opened(&site, &proxy, &shown, folder);
            assert_eq!(refusal.is_none(), may.contains(&folder), "{name} {folder}: {refusal:?}");
        }
    }
    for (name, shown, why) in refused(&grid) {
        // No proxy can be made of it.
        if ChainLink::parse(&shown.chain[0]).is_none() {
            continue;
        }
        let shown = with_rsa(&shown);
        let refusal = opened(&site, &proxy, &shown, "dn").unwrap();
        assert!(refusal.contains(why), "{name}: {refusal}");
        assert_eq!(opened(&site, &proxy, &shown, "pub"), None, "{name}");
    }
    for (name, shown, why) in wrong_attributes(&grid) {
        let shown = with_rsa(&shown);
        let refusal = opened(&site, &proxy, &shown, "cms").unwrap();
        assert!(refusal.contains(why), "{name}: {refusal}");
        assert_eq!(opened(&site, &proxy, &shown, "dn"), None, "{name}");
    }
    // A certificate is public: who has not its key is nobody.
    let mine = with_rsa(&grid.ada.with(&[]));
    let other = new_rsa_key();
    let other_public = text_of("PUBLIC KEY", &other.subject_public_key_info());
    let other = RsaPrivateKey::from_pkcs8_der(&other.serialize_der()).unwrap();
    for public in [text_of("PUBLIC KEY", &rsa_key().subject_public_key_info()), other_public] {
        let mut stolen = credential(&mine);
        stolen.public_key_pem = public;
        stolen.peer = Arc::new(Signing(other.clone()));
        let mut session = Session::by_gsi(&proxy, stolen);
        session.open(&format!("/{}dn/f", site.origin.root_url()));
        assert!(session.is_locked_out());
    }
    // Where it is switched off nobody logs in by it.
    let mut protection = protection;
    protection.x509 = protection.x509.map(|x509| X509Settings { gsi: false, ..x509 });
    proxy.reload_as(Some(&protection)).unwrap();
    let refusal = opened(&site, &proxy, &with_rsa(&grid.ada.with(&[])), "dn");
    assert!(refusal.is_some());
}

/// A grid by openssl alone, with keys of RSA, as users have it.
fn grid_of_openssl(folder: &Path) -> X509Settings {
    let run = |arguments: &str| openssl(folder, arguments);
    run(
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 99 -subj /O=Grid/CN=CA",
    );
    fs::write(folder.join("host.ext"), "subjectAltName=DNS:localhost\n").unwrap();
    fs::write(folder.join("user.ext"), "keyUsage=critical,digitalSignature\n").unwrap();
    let proxy = "keyUsage=critical,digitalSignature\n\
                 proxyCertInfo=critical,language:id-ppl-inheritAll\n";
    fs::write(folder.join("proxy.ext"), proxy).unwrap();
    for (name, subject, issuer, days) in [
        ("host", "/O=Grid/CN=localhost", "ca", 99),
        ("user", "/O=Grid/CN=Ada~Lovelace", "ca", 99),
        ("other", "/O=Grid/CN=Eve", "ca", 99),
    ] {
        run(&format!("req -newkey rsa:2048 -nodes -keyout {name}.key -out csr -subj {subject}"));
        let extensions = if name == "host" { "host" } else { "user" };
        run(&format!(
            "x509 -req -in csr -CA {issuer}.pem -CAkey {issuer}.key -set_serial 5 -days {days} \
             -sha256 -out {name}.pem -extfile {extensions}.ext"
        ));
    }
    for (name, subject) in [("user", "/O=Grid/CN=Ada~Lovelace"), ("other", "/O=Grid/CN=Eve")] {
        run(&format!("req -newkey rsa:2048 -nodes -keyout px.key -out csr -subj {subject}/CN=123"));
        run(&format!(
            "x509 -req -in csr -CA {name}.pem -CAkey {name}.key -set_serial 123 -days 9 -sha256 \
             -out px.pem -extfile proxy.ext"
        ));
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let all = [text("px.pem"), text("px.key"), text(&format!("{name}.pem"))].concat();
        write(&folder.join(format!("{name}.proxy")), &all);
    }
    let authorities = folder.join("certificates");
    fs::create_dir(&authorities).unwrap();
    let pem = fs::read(folder.join("ca.pem")).unwrap();
    let names = x509::Certificate::parse(&certificates(&pem)[0]).unwrap().names;
    let (new, old) = hashes(&names.0);
    for hash in [new, old] {
        fs::write(authorities.join(format!("{hash}.0")), &pem).unwrap();
    }
    X509Settings { authorities, vomsdir: folder.join("vomsdir"), gsi: true }
}

/// As jobs do it: `xrdcp` and `xrdfs` with a proxy, without TLS and within it.
#[test]
fn xrootds_own_client_logs_in() {
    if !are_installed(&["openssl", "xrdcp", "xrdfs"]) {
        return;
    }
    let site = Site::new();
    let folder = tempfile::tempdir().unwrap();
    let settings = grid_of_openssl(folder.path());
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let protection = Protection {
        tls: Some((path("host.pem"), path("host.key"))),
        rules: rules(&[("*/pub", "anyone"), ("*/dn", "dn:/O=Grid/CN=Ada Lovelace")]),
        x509: Some(settings.clone()),
        ..Protection::default()
    };
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(protection, Vec::new(), cache.path());
    let run = |program: &str, shown: Option<&str>, methods: &str, arguments: &[String]| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        command.env("X509_CERT_DIR", &settings.authorities).env("HOME", folder.path());
        for name in ["X509_USER_PROXY", "X509_USER_CERT", "X509_USER_KEY"] {
            command.env_remove(name);
        }
        if let Some(shown) = shown {
            command.env("X509_USER_PROXY", path(shown));
        }
        command.env("XrdSecPROTOCOL", methods).env("XRD_CONNECTIONRETRY", "1");
        command.env("XRD_STREAMERRORWINDOW", "0").env("XRD_REQUESTTIMEOUT", "30");
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    };
    let got = path("got");
    for scheme in ["root", "roots"] {
        let port = proxy.address().port();
        let server = format!("{scheme}://localhost:{port}");
        let file =
            |folder: &str| format!("/{}/{folder}/f", site.origin.root_url().trim_end_matches('/'));
        for (shown, folder, methods, wanted) in [
            (Some("user.proxy"), "dn", "gsi", true),
            (Some("user.proxy"), "dn", "gsi,unix", true),
            (Some("user.proxy"), "pub", "gsi", true),
            (Some("other.proxy"), "dn", "gsi", false),
            (Some("other.proxy"), "pub", "gsi", true),
            (None, "pub", "unix", true),
            (None, "dn", "unix", false),
        ] {
            let to = got.to_str().unwrap().to_owned();
            let from = format!("{server}/{}", file(folder));
            let arguments = ["-f".to_owned(), "-s".to_owned(), from, to];
            let (is_copied, said) = run("xrdcp", shown, methods, &arguments);
            assert_eq!(is_copied, wanted, "{scheme} {shown:?} {folder} {methods}: {said}");
            if wanted {
                assert_eq!(fs::read(&got).unwrap(), content(folder));
                fs::remove_file(&got).unwrap();
            }
            let arguments = [server.clone(), "stat".to_owned(), file(folder)];
            let (is_there, said) = run("xrdfs", shown, methods, &arguments);
            assert_eq!(is_there, wanted, "{scheme} {shown:?} {folder} {methods}: {said}");
        }
    }
}
