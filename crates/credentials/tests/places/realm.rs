//! A realm of Kerberos on this machine: a KDC, services and users, where Debian's krb5-kdc,
//! krb5-admin-server and krb5-user are installed.

use std::fs;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The name of the realm.
pub const REALM: &str = "TEST.REALM";

/// A KDC, ended with the test.
pub struct Realm {
    folder: PathBuf,
    kdc: Option<Child>,
}

impl Drop for Realm {
    fn drop(&mut self) {
        if let Some(kdc) = &mut self.kdc {
            let _ = kdc.kill();
            let _ = kdc.wait();
        }
    }
}

impl Realm {
    /// A realm without users, with its files in a folder; `None`, loudly, where no KDC is installed
    /// or it takes another user.
    pub fn start(folder: &Path) -> Option<Self> {
        let mut realm = Realm { folder: folder.to_owned(), kdc: None };
        realm.configure(1);
        if !realm.run("kdb5_util", &["create", "-s", "-r", REALM, "-P", "master"]) {
            eprintln!("SKIPPED: krb5-kdc is not installed, or not by root; no ticket was tested");
            return None;
        }
        for _ in 0..5 {
            let port = free_port();
            realm.configure(port);
            let mut kdc = realm.command("krb5kdc");
            kdc.arg("-n").stdout(Stdio::null()).stderr(Stdio::null());
            let kdc = realm.kdc.insert(kdc.spawn().ok()?);
            // It ends where another program has taken its port meanwhile.
            if listens(kdc, port) {
                return Some(realm);
            }
        }
        panic!("the KDC does not listen");
    }

    fn configure(&self, port: u16) {
        let at = self.folder.display();
        let config = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n\
             \x20dns_lookup_realm = false\n dns_canonicalize_hostname = false\n[realms]\n\
             \x20{REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n\
             [domain_realm]\n localhost = {REALM}\n"
        );
        fs::write(self.path("krb5.conf"), config).unwrap();
        let config = format!(
            "[realms]\n {REALM} = {{\n  database_name = {at}/principal\n\
             \x20 key_stash_file = {at}/stash\n  kdc_listen = 127.0.0.1:{port}\n\
             \x20 kdc_tcp_listen = 127.0.0.1:{port}\n }}\n[logging]\n kdc = FILE:{at}/kdc.log\n"
        );
        fs::write(self.path("kdc.conf"), config).unwrap();
    }

    /// A command within the realm, with the usual cache of tickets.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        self.enter(&mut command);
        command.stdin(Stdio::null());
        command
    }

    /// Lets a command run within the realm.
    pub fn enter<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("KRB5_CONFIG", self.path("krb5.conf"))
            .env("KRB5_KDC_PROFILE", self.path("kdc.conf"))
            .env("KRB5CCNAME", self.cache("tickets"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The name of a cache of tickets.
    pub fn cache(&self, name: &str) -> String {
        format!("FILE:{}", self.path(name).display())
    }

    fn run(&self, name: &str, arguments: &[&str]) -> bool {
        let mut run = self.command(name);
        run.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        run.status().is_ok_and(|status| status.success())
    }

    /// Adds a user or a service; the file with its keys.
    pub fn add(&self, principal: &str) -> PathBuf {
        let keytab = self.path(&principal.replace('/', "."));
        let added = format!("addprinc -randkey {principal}");
        let kept = format!("ktadd -k {} {principal}", keytab.display());
        for query in [added, kept] {
            assert!(self.run("kadmin.local", &["-q", &query]), "{query}");
        }
        keytab
    }

    /// Gets a ticket with the keys of a user.
    pub fn login(&self, user: &str, cache: &str, life: &str) {
        let keytab = self.path(user).display().to_string();
        let arguments = ["-l", life, "-c", &self.cache(cache), "-k", "-t", &keytab, user];
        let is_in = (0..100).any(|_| {
            self.run("kinit", &arguments) || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        });
        assert!(is_in, "no ticket of {user} from the KDC");
    }

    /// Waits until the tickets of a cache have expired.
    pub fn wait_until_expired(&self, cache: &str) {
        for _ in 0..100 {
            if !self.run("klist", &["-s", "-c", &self.cache(cache)]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("a short ticket is valid after ten seconds");
    }
}

/// A port that was free a moment ago, for UDP and TCP.
fn free_port() -> u16 {
    let free = std::iter::repeat_with(|| {
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port)
    });
    free.flatten().next().expect("without an end")
}

/// Waits until a KDC listens; `false` where it has ended.
fn listens(kdc: &mut Child, port: u16) -> bool {
    for _ in 0..600 {
        if kdc.try_wait().unwrap().is_some() {
            return false;
        }
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the KDC does not listen after 30 s");
}
