//! A certificate authority of a test, by OpenSSL's command, which is the oracle of hashes, too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::home::Home;

/// Runs OpenSSL in a folder; returns its output.
pub fn openssl(folder: &Path, arguments: &str) -> String {
    let run = Command::new("openssl").current_dir(folder).args(words(arguments)).output();
    let run = run.expect("these tests need the command openssl");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "openssl {arguments}: {said}");
    String::from_utf8(run.stdout).unwrap()
}

/// Blanks separate, but for those that are written `~`.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().map(|word| word.replace('~', " "))
}

/// An authority, a user and proxies of hers.
pub struct Grid {
    pub home: Home,
    pub folder: PathBuf,
}

const EXTENSIONS: &str = "
[authority]
basicConstraints=critical,CA:true
[user]
basicConstraints=critical,CA:false
keyUsage=critical,digitalSignature,keyEncipherment
[host]
subjectAltName=DNS:host.example,DNS:*.pool.example,IP:127.0.0.1,IP:::1
[proxy]
keyUsage=critical,digitalSignature,keyEncipherment
proxyCertInfo=critical,language:id-ppl-inheritAll
[voms]
keyUsage=critical,digitalSignature,keyEncipherment
proxyCertInfo=critical,language:id-ppl-inheritAll
1.3.6.1.4.1.8005.100.100.5=ASN1:SEQUENCE:attributes
[attributes]
a=INTEGER:1
";

impl Grid {
    pub fn new() -> Self {
        let home = Home::new();
        let folder = home.path("grid");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("extensions"), EXTENSIONS).unwrap();
        let grid = Grid { home, folder };
        grid.root("ca", "/DC=example/O=Grid~Tests/CN=Test~Authority", 3_650);
        grid.signed("user", "ca", "user", "/DC=example/CN=Ada~Lovelace", 365);
        grid
    }

    pub fn file(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).unwrap()
    }

    pub fn openssl(&self, arguments: &str) -> String {
        openssl(&self.folder, arguments)
    }

    /// A certificate that signs itself.
    pub fn root(&self, name: &str, subject: &str, days: i32) {
        self.key(name);
        self.openssl(&format!("req -new -key {name}.key -subj {subject} -out {name}.csr"));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -signkey {name}.key -days {days} -extfile extensions \
             -extensions authority -out {name}.pem"
        ));
    }

    /// A key: the same one in all tests for a name, because making one takes long.
    fn key(&self, name: &str) {
        static MADE: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let file = format!("{name}.key");
        if let Some(key) = made.get(name) {
            return fs::write(self.folder.join(file), key).unwrap();
        }
        self.openssl(&format!("genrsa -out {file} 2048"));
        made.insert(name.to_owned(), self.file(&file));
    }

    /// A certificate that another one signs.
    pub fn signed(&self, name: &str, by: &str, kind: &str, subject: &str, days: i32) {
        self.key(name);
        self.openssl(&format!("req -new -key {name}.key -subj {subject} -out {name}.csr"));
        self.openssl(&format!(
            "x509 -req -in {name}.csr -CA {by}.pem -CAkey {by}.key -CAcreateserial -days {days} \
             -extfile extensions -extensions {kind} -out {name}.pem"
        ));
    }

    /// The file of a proxy as `voms-proxy-init` writes it: proxy, key, certificate of the user.
    pub fn proxy(&self, kind: &str, days: i32) -> Vec<u8> {
        self.signed("proxy", "user", kind, "/DC=example/CN=Ada~Lovelace/CN=4711", days);
        [self.file("proxy.pem"), self.file("proxy.key"), self.file("user.pem")].concat()
    }
}
