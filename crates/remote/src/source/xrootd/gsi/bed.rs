//! A grid of one user and one xrootd: authorities, certificates, proxies, made for one test.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use credentials::x509::{Certificate, hashes};
use credentials::{Choice, CredentialStore, Environment};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, DnValue, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// The bytes of the one file that servers have, `/store/a.bin`.
pub fn content() -> Vec<u8> {
    (0..1_000_000_u32).map(|i| (i % 251) as u8).collect()
}

/// Runs a program of this machine; none, loudly, where it is not there.
fn installed(program: &str) -> Option<&str> {
    let found = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    if found.is_err() {
        eprintln!("SKIPPED: {program} is not installed; nothing was tested against it");
        return None;
    }
    Some(program)
}

/// A name, a key of RSA, and the certificate that was signed for them.
pub struct Party {
    pub params: CertificateParams,
    pub key: KeyPair,
    pub pem: String,
}

/// Keys of RSA take long to make, so each is used by several parties.
fn rsa_key() -> KeyPair {
    let made = Command::new("openssl")
        .args(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    KeyPair::from_pem(std::str::from_utf8(&made.stdout).unwrap()).unwrap()
}

fn copy_of(key: &KeyPair) -> KeyPair {
    KeyPair::from_pem(&key.serialize_pem()).unwrap()
}

fn named(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    // xrootd takes a certificate that ends later for an expired one.
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2049, 1, 1);
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CountryName, printable("XX"));
    params.distinguished_name.push(DnType::OrganizationName, printable("Farroot"));
    for (i, name) in names.iter().enumerate() {
        // The common name once more is another kind of name for rcgen.
        let kind = if i == 0 { DnType::CommonName } else { DnType::CustomDnType(vec![2, 5, 4, 3]) };
        params.distinguished_name.push(kind, printable(name));
    }
    params
}

fn printable(text: &str) -> DnValue {
    DnValue::PrintableString(text.try_into().unwrap())
}

impl Party {
    pub fn authority(name: &str) -> Party {
        let mut params = named(&[name]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = rsa_key();
        let pem = params.self_signed(&key).unwrap().pem();
        Party { params, key, pem }
    }

    fn signed(&self, params: CertificateParams, key: &KeyPair) -> Party {
        let issuer = Issuer::from_params(&self.params, &self.key);
        let pem = params.signed_by(key, &issuer).unwrap().pem();
        Party { params, key: copy_of(key), pem }
    }

    /// A host's certificate; `hosts` are its alternative names.
    pub fn host(&self, common_name: &str, hosts: &[&str], key: &KeyPair) -> Party {
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut params = named(&[common_name]);
        params.subject_alt_names = CertificateParams::new(hosts).unwrap().subject_alt_names;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.signed(params, key)
    }

    pub fn user(&self, key: &KeyPair) -> Party {
        let mut params = named(&["Ada Lovelace"]);
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        self.signed(params, key)
    }

    /// A proxy of RFC 3820, valid from one year to another.
    pub fn proxy(&self, years: std::ops::Range<i32>, key: &KeyPair) -> Party {
        let mut params = named(&["Ada Lovelace", "12345678"]);
        params.not_before = date_time_ymd(years.start, 1, 1);
        params.not_after = date_time_ymd(years.end, 1, 1);
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        // proxyCertInfo { policy { id-ppl-inheritAll } }
        let info = vec![0x30, 12, 0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 21, 1];
        let kind = [1, 3, 6, 1, 5, 5, 7, 1, 14];
        let mut extension = CustomExtension::from_oid_content(&kind, info);
        extension.set_criticality(true);
        params.custom_extensions.push(extension);
        self.signed(params, key)
    }
}

/// Files of a user and of servers.
pub struct Grid {
    folder: tempfile::TempDir,
    pub authority: Party,
    pub stranger: Party,
    pub user: Party,
    pub keys: [KeyPair; 2],
}

impl Grid {
    /// None, loudly, where openssl is missing.
    pub fn new() -> Option<Grid> {
        installed("openssl")?;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let authority = Party::authority("The CA");
        let stranger = Party::authority("Another CA");
        let keys = [rsa_key(), rsa_key()];
        let user = authority.user(&keys[0]);
        let grid = Grid { folder, authority, stranger, user, keys };
        grid.trust_in("certificates", &grid.authority);
        grid.trust_in("strangers", &grid.stranger);
        Some(grid)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn trust_in(&self, name: &str, authority: &Party) {
        let folder = self.path(name);
        fs::create_dir(&folder).unwrap();
        let der = credentials::x509::certificates(authority.pem.as_bytes()).remove(0);
        let names = Certificate::parse(&der).unwrap().names;
        let (new, old) = hashes(&names.0);
        for hash in [new, old] {
            fs::write(folder.join(format!("{hash}.0")), &authority.pem).unwrap();
        }
    }

    fn secret(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        let mut file = fs::File::create(&path).unwrap();
        file.set_permissions(Permissions::from_mode(0o600)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        path
    }

    /// The file that a tool for proxies writes: proxy, key, user certificate.
    pub fn proxy(&self, name: &str, years: std::ops::Range<i32>) -> PathBuf {
        let proxy = self.user.proxy(years, &self.keys[1]);
        let key = proxy.key.serialize_pem();
        self.secret(name, &[&*proxy.pem, &key, &self.user.pem].concat())
    }

    /// A user certificate with its key in one file.
    pub fn certificate(&self, name: &str, user: &Party) -> PathBuf {
        self.secret(name, &[user.pem.as_str(), &user.key.serialize_pem()].concat())
    }

    /// A user with the credential of this file, who trusts the authorities of this directory.
    pub fn credential_store(&self, shown: Option<&Path>, trusted: &str) -> CredentialStore {
        let user = Environment::of_process().user_id;
        let trusted = self.path(trusted);
        let nothing = self.path("nothing");
        let proxy = nothing.to_str().unwrap();
        let variables = [("X509_CERT_DIR", trusted.to_str().unwrap()), ("X509_USER_PROXY", proxy)];
        let named = &variables[..if shown.is_some() { 1 } else { 2 }];
        let environment = Environment::new(user, None, named.iter().copied());
        let choice = Choice { proxy: shown.map(Path::to_owned), ..Choice::default() };
        CredentialStore::new(environment, choice)
    }
}

/// A running xrootd that takes gsi only, ended when dropped.
pub struct Xrootd {
    child: Child,
    pub port: u16,
}

impl Drop for Xrootd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Xrootd {
    /// One that shows this certificate; none, loudly, where xrootd is missing. Within TLS, too,
    /// where the caller chooses so, and then for all clients.
    pub fn start(grid: &Grid, name: &str, host: &Party, tls: bool) -> Option<Xrootd> {
        Xrootd::start_with(grid, name, host, tls, "")
    }

    /// The same with more lines in its configuration.
    pub fn start_with(
        grid: &Grid,
        name: &str,
        host: &Party,
        tls: bool,
        more: &str,
    ) -> Option<Xrootd> {
        let program = installed("xrootd")?;
        let folder = grid.path(name);
        fs::create_dir_all(folder.join("data/store")).unwrap();
        fs::write(folder.join("data/store/a.bin"), content()).unwrap();
        fs::write(folder.join("host.pem"), &host.pem).unwrap();
        fs::write(folder.join("host.key"), host.key.serialize_pem()).unwrap();
        fs::set_permissions(folder.join("host.key"), Permissions::from_mode(0o400)).unwrap();
        fs::write(folder.join("gridmap"), "\"/C=XX/O=Farroot/CN=Ada Lovelace\" ada\n").unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = folder.display();
        let trusted = grid.path("certificates");
        let tls = match tls {
            true => format!(
                "xrd.tls {at}/host.pem {at}/host.key\nxrd.tlsca certdir {}\nxrootd.tls all\n",
                trusted.display()
            ),
            false => String::new(),
        };
        let config = format!(
            "xrd.port {port}\nxrd.allow host localhost\nxrd.allow host 127.0.0.1\n\
             all.export /store\noss.localroot {at}/data\nall.adminpath {at}\nall.pidpath {at}\n\
             xrootd.seclib libXrdSec.so\n\
             sec.protparm gsi -certdir:{} -cert:{at}/host.pem -key:{at}/host.key\n\
             sec.protparm gsi -crl:0 -ca:1 -gridmap:{at}/gridmap -gmapopt:trymap,usedn\n\
             sec.protocol gsi\nsec.protbind * only gsi\n{tls}{more}",
            trusted.display()
        );
        fs::write(folder.join("xrootd.cfg"), config).unwrap();
        let mut command = Command::new(program);
        if nix::unistd::geteuid().is_root() {
            // xrootd does not run as root: `-R` names the user that it becomes.
            let owned = Command::new("chown").arg("-R").arg("xrootd").arg(&folder).status();
            assert!(owned.unwrap().success());
            command.args(["-R", "xrootd"]);
        }
        command.args(["-n", "test", "-c"]).arg(folder.join("xrootd.cfg"));
        command.arg("-l").arg(folder.join("log"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Xrootd { child, port };
        let begun = Instant::now();
        loop {
            // It listens before it has read its certificates.
            let log = fs::read_to_string(folder.join("test/log")).unwrap_or_default();
            if log.contains("initialization completed") {
                break;
            }
            let late = begun.elapsed() > Duration::from_secs(90);
            assert!(!late && !log.contains("initialization failed."), "no xrootd: {log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(server)
    }

    /// The answer of xrdfs about the server's file, as this user: the oracle for the bed.
    pub fn asked_by_xrdfs(&self, grid: &Grid, shown: &Path) -> Option<bool> {
        let program = installed("xrdfs")?;
        let status = Command::new(program)
            .arg(format!("root://localhost:{}", self.port))
            .args(["stat", "/store/a.bin"])
            .env("X509_CERT_DIR", grid.path("certificates"))
            .env("X509_USER_PROXY", shown)
            .env("XRD_CONNECTIONRETRY", "1")
            .env("XRD_STREAMERRORWINDOW", "0")
            .env("XRD_REQUESTTIMEOUT", "30")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        Some(status.unwrap().success())
    }
}
