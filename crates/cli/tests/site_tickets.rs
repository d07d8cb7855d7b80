//! Servers that take tickets of Kerberos: farroot's own clients, and XRootD's.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use super::realm::Realm;

const FOLDERS: [&str; 3] = ["open", "ada", "realm"];
const RULES: &str = "\
    [[rule]]\npath = 'PLACE/open'\nread = ['anyone']\n\
    [[rule]]\npath = 'PLACE/ada'\nread = ['principal:ada@TEST.REALM']\n\
    [[rule]]\npath = 'PLACE/realm'\nread = ['realm:TEST.REALM']\n";

/// A server of this program within a realm.
struct Service {
    child: Child,
    /// Kept, as the program ends where it cannot say what it serves.
    _said: Lines<BufReader<ChildStdout>>,
    /// `root://localhost:PORT/`.
    root: String,
    http: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Service {
    fn start(realm: &Realm, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        realm.enter(&mut command).args(arguments).args(["--port", "0", "--http-port", "0"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut url =
            || said.next().expect("an address").unwrap().replace("127.0.0.1", "localhost");
        let root = url();
        let http = url();
        Service { child, _said: said, root, http }
    }
}

/// A user's ways to show who they are.
struct Person<'a> {
    name: &'a str,
    cache: &'a str,
    protocols: &'a str,
    may: &'a [&'a str],
}

const PEOPLE: [Person<'static>; 5] = [
    Person { name: "ada", cache: "of-ada", protocols: "krb5", may: &["open", "ada", "realm"] },
    Person { name: "bob", cache: "of-bob", protocols: "krb5", may: &["open", "realm"] },
    // A client without a ticket, or with an expired one, reads public files.
    Person { name: "expired", cache: "short", protocols: "krb5,unix", may: &["open"] },
    Person { name: "nobody", cache: "none", protocols: "unix", may: &["open"] },
    // Who logs in by the name alone has not shown the ticket.
    Person { name: "shy ada", cache: "of-ada", protocols: "unix", may: &["open"] },
];

struct Bed {
    folder: tempfile::TempDir,
    realm: Realm,
    keytab: PathBuf,
}

impl Bed {
    fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let realm = Realm::start(folder.path())?;
        let keytab = realm.add("xrootd/localhost");
        for (user, cache, life) in
            [("ada", "of-ada", "1h"), ("bob", "of-bob", "1h"), ("ada", "short", "1s")]
        {
            if !folder.path().join(user).exists() {
                realm.add(user);
            }
            realm.login(user, cache, life);
        }
        for name in FOLDERS {
            let files = folder.path().join("files").join(name);
            fs::create_dir_all(&files).unwrap();
            fs::write(files.join("f"), name.repeat(1000)).unwrap();
        }
        realm.wait_until_expired("short");
        Some(Bed { folder, realm, keytab })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn kerberos(&self) -> String {
        let keytab = self.keytab.display();
        format!("[kerberos]\nprincipal = 'xrootd/localhost@TEST.REALM'\nkeytab = '{keytab}'\n")
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    fn folder_service(&self) -> Service {
        let rules = RULES.replace("PLACE", "");
        let access = self.write("access.toml", &format!("{}{rules}", self.kerberos()));
        let files = self.path("files");
        Service::start(&self.realm, &["serve", files.to_str().unwrap(), "--access", &access])
    }

    fn client(&self, program: &str, person: &Person<'_>) -> Command {
        let mut command = self.realm.command(program);
        command.env("KRB5CCNAME", self.realm.cache(person.cache));
        command.env("XrdSecPROTOCOL", person.protocols);
        command.env("FARROOT_STORE", "0").env("XRD_CONNECTIONRETRY", "1");
        command
    }

    /// What a client gets, if it may.
    fn copied(&self, program: &str, person: &Person<'_>, url: &str) -> Result<Vec<u8>, String> {
        let target = self.path("copy");
        let _ = fs::remove_file(&target);
        let mut command = self.client(program, person);
        if program.ends_with("farroot") {
            command.arg("cp");
        }
        let done: Output = command.arg(url).arg(&target).output().unwrap();
        if done.status.success() {
            return Ok(fs::read(&target).unwrap());
        }
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

fn clients() -> Vec<&'static str> {
    let mut clients = vec![env!("CARGO_BIN_EXE_farroot")];
    if Path::new("/usr/bin/xrdcp").exists() {
        clients.push("/usr/bin/xrdcp");
    } else {
        eprintln!("SKIPPED: xrdcp is not installed; farroot's own client alone was tested");
    }
    clients
}

/// Every person, file and client, through a server and a proxy before it.
#[test]
fn tickets_open_what_rules_name() {
    let Some(bed) = Bed::new() else { return };
    let folder = bed.folder_service();
    let open = Service::start(&bed.realm, &["serve", bed.path("files").to_str().unwrap()]);
    let place = open.root.trim_end_matches('/').to_owned();
    let origin = format!("port = 0\norigin = ['{place}']\n");
    let rules = RULES.replace("PLACE", &format!("{place}/"));
    let site = bed.write("site.toml", &format!("{origin}{}{rules}", bed.kerberos()));
    let proxy = Service::start(&bed.realm, &["proxy", "--config", &site]);
    let of_folder = |name: &str| format!("{}/{name}/f", folder.root);
    let of_proxy = |name: &str| format!("{}/{place}//{name}/f", proxy.root);
    let mut count = 0;
    // Twice: the second time the proxy's cache has the files.
    for (pass, program) in clients().iter().flat_map(|program| [(1, program), (2, program)]) {
        for person in &PEOPLE {
            for name in FOLDERS {
                for url in [of_folder(name), of_proxy(name)] {
                    let case = format!("{program} {} {url}, pass {pass}", person.name);
                    match bed.copied(program, person, &url) {
                        Ok(bytes) => {
                            assert!(person.may.contains(&name), "{case}: was let in");
                            assert!(bytes == name.repeat(1000).into_bytes(), "{case}");
                        }
                        Err(said) => {
                            assert!(!person.may.contains(&name), "{case}: {said}");
                        }
                    }
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 60, "{count}");
}

/// Over HTTP nothing can be proved by a ticket: the answer says where it can.
#[test]
fn http_names_the_way_for_tickets() {
    let Some(bed) = Bed::new() else { return };
    let service = bed.folder_service();
    let get = |name: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-o", "-", "-w", "%{http_code}", &format!("{}{name}/f", service.http)]);
        String::from_utf8(curl.output().unwrap().stdout).unwrap()
    };
    assert!(get("open").ends_with("200"));
    assert_eq!(get("ada"), "to be read by root://, with a ticket\n403");
}

/// A ticket for other keys, a service without keys, and a keytab that is replaced while the server
/// runs.
#[test]
fn only_tickets_for_the_keys_of_the_service_count() {
    let Some(bed) = Bed::new() else { return };
    let service = bed.folder_service();
    let ada = &PEOPLE[0];
    let url = format!("{}/ada/f", service.root);
    let farroot = env!("CARGO_BIN_EXE_farroot");
    assert!(bed.copied(farroot, ada, &url).is_ok());
    let keys = fs::read(&bed.keytab).unwrap();
    let other = bed.realm.add("xrootd/elsewhere");
    fs::copy(&other, &bed.keytab).unwrap();
    let said = bed.copied(farroot, ada, &url).unwrap_err();
    assert!(said.contains("ticket"), "{said}");
    fs::write(&bed.keytab, keys).unwrap();
    assert!(bed.copied(farroot, ada, &url).is_ok());
    let rules = RULES.replace("PLACE", "");
    let kerberos = bed.kerberos().replace("xrootd/localhost", "xrootd/missing");
    for (text, why) in [
        (format!("{kerberos}{rules}"), "has no key of xrootd/missing@TEST.REALM"),
        (rules, "no table [kerberos]"),
    ] {
        let access = bed.write("other.toml", &text);
        let mut command = bed.realm.command(farroot);
        let files = bed.path("files");
        command.arg("serve").arg(files).args(["--access", &access, "--port", "0"]);
        let done = command.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(why), "{said}");
    }
}
