//! Certificates of clients: who is believed, for which files, and why others are not.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use farroot_serve::{Config, OriginCredential, Protection, Server};
use xrootd::error::ErrorCode;

use super::clients::{HttpClient, Session, bearer};
use super::der::with_name;
use super::grid::{
    ADA, Grid, INHERIT_ALL, Identity, LIMITED, OF_BOB, PROXY_INFO, Party, VALID, proxy_info,
};
use super::matrix::{Cell, Person, pass};
use super::tokens::claims;
use super::voms::Attributes;
use super::{CERTIFICATE_FOLDERS, Site, WLCG, content, rules, write};

pub const OF_ADA: &[&str] = &["pub", "dn"];

/// The rules of the other tests, and some for certificates.
pub fn protection(site: &Site, grid: &Grid) -> Protection {
    let more = rules(&[
        ("*/dn", &format!("dn:{ADA}")),
        ("*/cms", "voms:/cms"),
        ("*/production", "voms:/cms/Role=production/Capability=NULL"),
        ("*/bob", "dn:/O=Farroot/CN=Bob"),
    ]);
    let before = site.protection();
    let rules = [before.rules, more].concat();
    Protection { x509: Some(grid.settings()), rules, ..before }
}

/// Certificates that count, and the folders whose files they are for.
pub fn accepted(grid: &Grid) -> Vec<(&'static str, Identity, &'static [&'static str])> {
    let Grid { ada, .. } = grid;
    let proxy = ada.proxy(|_| ());
    let second = proxy.proxy(|_| ());
    let limited = |proxy: &mut super::der::ProxyFields| {
        proxy.extensions[0].2 = proxy_info(LIMITED, Some(0));
    };
    let member = grid.attributes(&["/cms/Role=NULL/Capability=NULL", "/cms/uscms"]);
    let producer = grid.attributes(&["/cms/Role=production/Capability=NULL", "/cms"]);
    let other = grid.attributes(&["/cms/uscms", "/cms/Role=productions", "/cms/x/Role=production"]);
    let of_proxy = ada.voms_proxy(&[member.signed(&grid.server)]);
    vec![
        ("the user's own", ada.with(&[]), OF_ADA),
        ("a proxy", proxy.with(&[ada]), OF_ADA),
        ("a proxy of a proxy", second.with(&[&proxy, ada]), OF_ADA),
        ("not in order", second.with(&[ada, &grid.authority, &proxy]), OF_ADA),
        ("limited", second.proxy(limited).with(&[&second, &proxy, ada]), OF_ADA),
        ("a member", grid.voms_proxy(&member), &["pub", "dn", "cms"]),
        ("a producer", grid.voms_proxy(&producer), &["pub", "dn", "cms", "production"]),
        ("of other groups", grid.voms_proxy(&other), OF_ADA),
        (
            "a proxy of a member's",
            of_proxy.proxy(|_| ()).with(&[&of_proxy, ada]),
            &["pub", "dn", "cms"],
        ),
    ]
}

/// Certificates that prove nothing, and why.
pub fn refused(grid: &Grid) -> Vec<(&'static str, Identity, &'static str)> {
    let Grid { ada, authority, stranger, .. } = grid;
    let proxy = ada.proxy(|_| ());
    let bob = authority.user("Bob", OF_BOB, VALID);
    let eve = authority.user("Eve", 9, VALID);
    let changed = |change: &dyn Fn(&mut super::der::ProxyFields)| ada.proxy(change).with(&[ada]);
    let info = |info: Vec<u8>| changed(&|proxy| proxy.extensions[0].2.clone_from(&info));
    let with = |kind: &'static [u8], critical: bool, value: &'static [u8]| {
        changed(&|proxy| proxy.extensions.push((kind, critical, value.to_vec())))
    };
    let short = ada.proxy(|proxy| proxy.extensions[0].2 = proxy_info(INHERIT_ALL, Some(0)));
    let forged = Party { der: ada.der.clone(), ..authority.user("Ada Lovelace", 10, VALID) };
    let of_user = eve.user("Ada Lovelace", 11, VALID);
    let name = "its name is not its issuer's and one more";
    let policy = "it has not the rights of its issuer";
    vec![
        ("expired", authority.user("Ada Lovelace", 12, 2020..2021).with(&[]), "has expired"),
        ("of tomorrow", authority.user("Ada Lovelace", 13, 2040..2048).with(&[]), "not valid yet"),
        ("an expired proxy", changed(&|proxy| proxy.years = 2020..2021), "has expired"),
        ("a proxy of tomorrow", changed(&|proxy| proxy.years = 2040..2048), "not valid yet"),
        (
            "of a fake authority",
            Party::authority("The CA").user("Ada Lovelace", 7, VALID).with(&[]),
            "no authority",
        ),
        (
            "of a stranger",
            stranger.user("Ada Lovelace", 7, VALID).with(&[stranger]),
            "no authority",
        ),
        ("revoked", bob.with(&[]), "has been revoked"),
        ("a proxy of one revoked", bob.proxy(|_| ()).with(&[&bob]), "has been revoked"),
        ("of another key", forged.proxy(|_| ()).with(&[&forged]), "the signature of the proxy"),
        ("of no authority", of_user.with(&[&eve]), "may not sign"),
        ("a server's", authority.server("Ada Lovelace").with(&[]), "not for clients"),
        ("an authority's", authority.proxy(|_| ()).with(&[authority]), "may not sign"),
        ("alone", proxy.with(&[]), "without the certificate that has signed"),
        ("of another user", proxy.with(&[&eve]), "without the certificate that has signed"),
        (
            "another name",
            changed(&|proxy| proxy.subject = with_name(&eve.link().subject, "1")),
            name,
        ),
        (
            "two names",
            changed(&|proxy| proxy.subject = with_name(&proxy.subject.clone(), "1")),
            name,
        ),
        ("no name", changed(&|proxy| proxy.subject = ada.link().subject), name),
        ("old", changed(&|proxy| proxy.extensions.clear()).with_old_name(ada), "before RFC 3820"),
        ("plain", changed(&|proxy| proxy.extensions[0].1 = false), "is not critical"),
        ("independent", info(proxy_info(&[0x2b, 6, 1, 5, 5, 7, 21, 2], None)), policy),
        ("of a policy", info(proxy_info(&[0x2b, 6, 1, 4, 1, 1], None)), policy),
        ("one too many", short.proxy(|_| ()).with(&[&short, ada]), "more proxies than it may"),
        ("an authority", with(&[0x55, 0x1d, 19], true, &[0x30, 3, 1, 1, 0xff]), "an authority"),
        ("for servers", with(&[0x55, 0x1d, 37], false, SERVER_AUTH), "not for clients"),
        ("of a host", with(&[0x55, 0x1d, 17], false, &[0x30, 3, 0x82, 1, b'h']), "another name"),
        ("unknown", with(&[0x55, 0x1d, 99], true, &[5, 0]), "a critical extension"),
        ("twice", with(PROXY_INFO, true, &[0x30, 0]), "malformed"),
        ("no extension", info(vec![0x30, 1]), "malformed"),
        (
            "of two names",
            authority.user("x/O=Farroot/CN=Ada Lovelace", 14, VALID).with(&[]),
            "taken for another one",
        ),
    ]
}

const SERVER_AUTH: &[u8] = &[0x30, 10, 6, 8, 0x2b, 6, 1, 5, 5, 7, 3, 1];

impl Identity {
    /// A proxy of the kind that there was first.
    fn with_old_name(self, user: &Party) -> Identity {
        let proxy = user.proxy(|proxy| {
            proxy.subject = with_name(&user.link().subject, "proxy");
            proxy.extensions.clear();
        });
        proxy.with(&[user])
    }
}

/// Attributes that do not count, and why: the client stays who it is.
pub fn wrong_attributes(grid: &Grid) -> Vec<(&'static str, Identity, &'static str)> {
    let groups = ["/cms", "/cms/Role=production"];
    let changed = |change: &dyn Fn(&mut Attributes)| {
        let mut attributes = grid.attributes(&groups);
        change(&mut attributes);
        grid.voms_proxy(&attributes)
    };
    let Grid { ada, authority, stranger, .. } = grid;
    let eve = authority.user("Eve", 9, VALID);
    let other = authority.user("voms2.example", 15, VALID);
    let strange = stranger.user("voms.example", 8, VALID);
    let by_other = grid.attributes(&groups).signed(&other);
    let of_other = Attributes {
        issuer: other.link().subject,
        certificates: vec![other.der.clone()],
        ..grid.attributes(&groups)
    };
    let of_strange =
        Attributes { certificates: vec![strange.der.clone()], ..grid.attributes(&groups) };
    // Of an authority that only calls itself so.
    let fake = Party::authority("The CA").server("voms.example");
    let of_fake = Attributes { certificates: vec![fake.der.clone()], ..grid.attributes(&groups) };
    let mixed = grid.attributes(&["/atlas", "/cms"]);
    let broken =
        ada.proxy(|proxy| proxy.extensions.push((super::grid::VOMS, false, vec![0x30, 0])));
    let listed = "a server that is not listed";
    vec![
        ("another holder", changed(&|one| one.holder = eve.link().subject), "another user"),
        ("another number", changed(&|one| one.serial = vec![99]), "another user"),
        ("expired attributes", changed(&|one| one.years = 2020..2021), "have expired"),
        ("attributes of tomorrow", changed(&|one| one.years = 2040..2048), "not valid yet"),
        ("of another server", ada.voms_proxy(&[by_other]).with(&[ada]), "signature of the VOMS"),
        ("of one unlisted", ada.voms_proxy(&[of_other.signed(&other)]).with(&[ada]), listed),
        ("of a strange one", ada.voms_proxy(&[of_strange.signed(&strange)]).with(&[ada]), listed),
        (
            "of a fake one",
            ada.voms_proxy(&[of_fake.signed(&fake)]).with(&[ada]),
            "of the VOMS server",
        ),
        ("wrong host", changed(&|one| one.address = "cms://other.example:1".to_owned()), listed),
        ("wrong VO", changed(&|one| one.address = "atlas://voms.example:1".to_owned()), listed),
        ("a path", changed(&|one| one.address = "../vomsdir/cms://voms.example:1".into()), listed),
        ("a group of others", grid.voms_proxy(&mixed), "another organisation"),
        ("a longer name", changed(&|one| one.groups.push("/cmsx".to_owned())), "another organisa"),
        ("for others", changed(&|one| one.targets = true), "for other servers"),
        ("no certificate", changed(&|one| one.certificates.clear()), "malformed"),
        ("malformed attributes", broken.with(&[ada]), "malformed"),
    ]
}

fn people(site: &Site, grid: &Grid) -> Vec<Person> {
    let person = |name, shown, is_known, may| Person {
        name,
        header: String::new(),
        token: None,
        shown,
        speaks_xrootd: true,
        is_known,
        may,
    };
    let mut people = vec![person("nobody", None, false, &["pub"][..])];
    for (name, shown, may) in accepted(grid) {
        people.push(person(name, Some(shown), true, may));
    }
    // All of them are tried below.
    for (name, shown, _) in refused(grid).into_iter().step_by(6) {
        people.push(person(name, Some(shown), false, &["pub"]));
    }
    for (name, shown, _) in wrong_attributes(grid).into_iter().step_by(5) {
        people.push(person(name, Some(shown), true, OF_ADA));
    }
    let token = site.wlcg.token("w1", &claims(WLCG));
    let both = person("with a token", Some(grid.ada.with(&[])), true, &["pub", "dn", "store"]);
    people.push(Person { header: bearer(&token), token: Some(token), ..both });
    let wrong = person("with a wrong token", Some(grid.ada.with(&[])), true, OF_ADA);
    let token = Some("marker-other".to_owned());
    people.push(Person { header: bearer("marker-other"), token, ..wrong });
    people
}

/// Each order has a proxy and a cache of its own; the second pass finds all files in the cache.
#[test]
fn every_cell_of_certificates_is_the_same_in_any_order_cold_and_warm() {
    let site = Site::new();
    let grid = Grid::new();
    let people = people(&site, &grid);
    let mut cells = Vec::new();
    for folder in ["pub", "store"].into_iter().chain(CERTIFICATE_FOLDERS) {
        let all = (0..people.len()).map(|person| Cell { person, folder, exists: true });
        cells.extend(all);
    }
    cells.extend((0..people.len()).map(|person| Cell { person, folder: "cms", exists: false }));
    for is_reversed in [false, true] {
        let cache = tempfile::tempdir().unwrap();
        let proxy = site.proxy(protection(&site, &grid), Vec::new(), cache.path());
        for _ in ["cold", "warm"] {
            let ordered = cells.iter().copied();
            let count = match is_reversed {
                false => pass(&site, &proxy, &people, ordered),
                true => pass(&site, &proxy, &people, ordered.rev()),
            };
            assert_eq!(count, people.len() * 7 * 13);
            proxy.flush();
        }
    }
}

/// Opens a file over both protocols: the status and code, and the texts of the refusals.
fn tried(site: &Site, proxy: &Server, shown: &Identity, folder: &str) -> (u16, Vec<String>) {
    let mut http = HttpClient::showing(proxy, &site.certificate, Some(shown));
    let path = format!("/{}{folder}/f", site.origin.http_url());
    let answer = http.ask("GET", &path, "", "");
    let mut session = Session::showing(proxy, &site.certificate, None, Some(shown));
    let (_, open) = session.open(&format!("/{}{folder}/f", site.origin.root_url()));
    if session.refusal(open).is_none() {
        assert_eq!((answer.status, answer.body), (200, content(folder)));
        return (200, Vec::new());
    }
    assert_eq!(session.refusal(open), Some(ErrorCode::NOT_AUTHORIZED));
    (answer.status, vec![String::from_utf8(answer.body).unwrap(), session.said(open)])
}

#[test]
fn who_is_not_believed_is_told_why() {
    let site = Site::new();
    let grid = Grid::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(protection(&site, &grid), Vec::new(), cache.path());
    for (name, shown, why) in refused(&grid) {
        let (status, texts) = tried(&site, &proxy, &shown, "dn");
        assert_eq!(status, 401, "{name}: {texts:?}");
        assert!(texts.iter().all(|text| text.contains(why)), "{name}: {texts:?}");
        assert_eq!(tried(&site, &proxy, &shown, "pub").0, 200, "{name}");
    }
    for (name, shown, why) in wrong_attributes(&grid) {
        let (status, texts) = tried(&site, &proxy, &shown, "cms");
        assert_eq!(status, 403, "{name}: {texts:?}");
        assert!(texts.iter().all(|text| text.contains(why)), "{name}: {texts:?}");
        assert_eq!(tried(&site, &proxy, &shown, "dn").0, 200, "{name}");
    }
}

/// A revocation list that comes, and an authority that goes, count for connections that are open.
#[test]
fn authorities_and_lists_are_read_again() {
    let site = Site::new();
    let grid = Grid::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(protection(&site, &grid), Vec::new(), cache.path());
    let shown = grid.ada.proxy(|_| ()).with(&[&grid.ada]);
    let mut http = HttpClient::showing(&proxy, &site.certificate, Some(&shown));
    let mut session = Session::showing(&proxy, &site.certificate, None, Some(&shown));
    let path = format!("/{}dn/f", site.origin.http_url());
    let xrootd = format!("/{}dn/f", site.origin.root_url());
    assert_eq!(http.ask("GET", &path, "", "").status, 200);
    let (_, open) = session.open(&xrootd);
    assert_eq!(session.refusal(open), None);
    grid.revoke(0, &[super::grid::OF_ADA], 2020..2040);
    proxy.reload().unwrap();
    let answer = http.ask("GET", &path, "", "");
    assert_eq!(answer.status, 401);
    assert!(String::from_utf8(answer.body).unwrap().contains("revoked"));
    let (_, open) = session.open(&xrootd);
    assert_eq!(session.refusal(open), Some(ErrorCode::NOT_AUTHORIZED));
    grid.revoke(0, &[], 2020..2040);
    proxy.reload().unwrap();
    assert_eq!(http.ask("GET", &path, "", "").status, 200);
    // A folder without authorities is a fault, and changes nothing.
    fs::rename(grid.path("certificates"), grid.path("away")).unwrap();
    let error = proxy.reload().unwrap_err().to_string();
    assert!(error.contains("certificates has no certificate of an authority"), "{error}");
    assert_eq!(http.ask("GET", &path, "", "").status, 200);
}

/// A connection that is open when the proof ends is nobody's from then on.
#[test]
fn a_proof_ends_with_its_certificate() {
    let site = Site::new();
    let grid = Grid::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(protection(&site, &grid), Vec::new(), cache.path());
    let user = grid.authority.user_for("Ada Lovelace", 4);
    let shown = user.proxy(|_| ()).with(&[&user]);
    let mut http = HttpClient::showing(&proxy, &site.certificate, Some(&shown));
    let mut session = Session::showing(&proxy, &site.certificate, None, Some(&shown));
    let path = format!("/{}dn/f", site.origin.http_url());
    let root = format!("/{}dn/f", site.origin.root_url());
    let (file, open) = session.open(&root);
    assert_eq!(session.refusal(open), None);
    assert_eq!(http.ask("GET", &path, "", "").status, 200);
    let begin = Instant::now();
    while http.ask("GET", &path, "", "").status == 200 {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let answer = http.ask("GET", &path, "", "");
    assert_eq!(answer.status, 401);
    assert!(String::from_utf8(answer.body).unwrap().contains("has expired"));
    let (_, open) = session.open(&root);
    assert_eq!(session.refusal(open), Some(ErrorCode::NOT_AUTHORIZED));
    assert!(session.said(open).contains("has expired"));
    // A file that was open stays so.
    let read = session.ask(|client, now| client.read(now, file, 0..10));
    assert!(session.outcome(read).is_ok());
}

/// A certificate cannot be lent, so an origin that decides by itself is asked by nobody.
#[test]
fn an_origin_that_decides_is_asked_by_nobody() {
    let site = Site::new();
    let grid = Grid::new();
    let reader = site.wlcg.token("w1", &claims(WLCG));
    let origin = super::origins::origin(&site, &[&reader]);
    let cache = tempfile::tempdir().unwrap();
    let passthrough = OriginCredential::Passthrough(Duration::from_secs(60));
    let mut protection = protection(&site, &grid);
    protection.rules = rules(&[("*", "anyone")]);
    let proxy = site.proxy(protection, super::origins::shown(&passthrough), cache.path());
    let shown = grid.ada.with(&[]);
    let path = format!("/{}dn/f", origin.http_url());
    for header in ["", &bearer(&reader), "", "Cache-Control: only-if-cached\r\n"] {
        let mut http = HttpClient::showing(&proxy, &site.certificate, Some(&shown));
        let answer = http.ask("GET", &path, header, "");
        let wanted: &[u16] = match header {
            "" => &[403],
            _ if header.starts_with("Auth") => &[200],
            _ => &[403, 504],
        };
        assert!(wanted.contains(&answer.status), "{header}: {}", answer.head);
        proxy.flush();
    }
}

/// `farroot serve` has the same rules for a folder.
#[test]
fn a_folder_is_read_by_certificates() {
    let site = Site::new();
    let grid = Grid::new();
    let rules = rules(&[("/pub", "anyone"), ("/dn", &format!("dn:{ADA}")), ("/cms", "voms:/cms")]);
    let x509 = Some(grid.settings());
    let protection = Protection { tls: site.tls(), x509, rules, ..Protection::default() };
    let config = Config { protection, ..Config::new(site.file("files")) };
    let server = Server::start(config.clone()).unwrap();
    let member = grid.voms_proxy(&grid.attributes(&["/cms"]));
    for (shown, statuses) in [
        (None, [200, 401, 401]),
        (Some(grid.ada.with(&[])), [200, 200, 403]),
        (Some(member), [200, 200, 200]),
    ] {
        let mut http = HttpClient::showing(&server, &site.certificate, shown.as_ref());
        let paths = ["/pub/f", "/dn/f", "/cms/f"];
        let found = paths.map(|path| http.ask("GET", path, "", "").status);
        assert_eq!(found, statuses);
    }
    // A group that nobody can prove is a fault of the configuration.
    fs::remove_dir_all(grid.path("vomsdir")).unwrap();
    let error = Server::start(config).unwrap_err().to_string();
    assert!(error.contains("voms:/cms") && error.contains("vomsdir"), "{error}");
    let x509 = Some(grid.settings());
    let plain = Protection { x509, ..Protection::default() };
    let config = Config { protection: plain, ..Config::new(site.file("files")) };
    let error = Server::start(config).unwrap_err().to_string();
    assert!(error.contains("within TLS only"), "{error}");
}

/// Connections are opened and used in turns, and TLS sessions are resumed.
#[test]
fn the_certificate_of_a_connection_is_never_that_of_another() {
    let site = Site::new();
    let grid = Grid::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(protection(&site, &grid), Vec::new(), cache.path());
    let ada = grid.ada.proxy(|_| ()).with(&[&grid.ada]);
    let carol = grid.authority.user("Carol", 20, VALID).with(&[]);
    let at = |folder: &str| format!("/{}{folder}/f", site.origin.http_url());
    let clients = [Some(&ada), None, Some(&carol), Some(&ada), None, Some(&carol)];
    let open = |shown: Option<&Identity>| HttpClient::showing(&proxy, &site.certificate, shown);
    let mut open: Vec<_> = clients.iter().map(|shown| open(*shown)).collect();
    for _ in 0..3 {
        for (http, shown) in open.iter_mut().zip(clients) {
            let wanted = match shown {
                Some(shown) if shown.key == ada.key => 200,
                Some(_) => 403,
                None => 401,
            };
            assert_eq!(http.ask("GET", &at("dn"), "", "").status, wanted);
            assert_eq!(http.ask("GET", &at("pub"), "", "").status, 200);
        }
    }
}

/// As users of a grid do it, with another library for TLS.
#[test]
fn curl_shows_a_proxy() {
    let is_there = Command::new("curl").arg("--version").stdout(Stdio::null()).status();
    if is_there.is_err() {
        eprintln!("SKIPPED: curl is not installed; nothing was tested with it");
        return;
    }
    let site = Site::new();
    let grid = Grid::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(protection(&site, &grid), Vec::new(), cache.path());
    let curl = |shown: Option<&Identity>, folder: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-s", "--noproxy", "*", "-w", "%{http_code}", "-o"]).arg(site.file("got"));
        curl.arg("--cacert").arg(site.file("cert.pem"));
        if let Some(shown) = shown {
            write(&site.file("x509up"), &shown.pem());
            curl.arg("--cert").arg(site.file("x509up"));
        }
        let port = proxy.address().port();
        curl.arg(format!("https://localhost:{port}/{}{folder}/f", site.origin.http_url()));
        let said = String::from_utf8(curl.output().unwrap().stdout).unwrap();
        (said, fs::read(site.file("got")).unwrap())
    };
    let member = grid.voms_proxy(&grid.attributes(&["/cms"]));
    assert_eq!(curl(Some(&member), "cms"), ("200".to_owned(), content("cms")));
    assert_eq!(curl(Some(&grid.ada.with(&[])), "dn"), ("200".to_owned(), content("dn")));
    assert_eq!(curl(Some(&grid.ada.with(&[])), "cms").0, "403");
    assert_eq!(curl(None, "cms").0, "401");
    let expired = grid.ada.proxy(|proxy| proxy.years = 2020..2021).with(&[&grid.ada]);
    let (status, text) = curl(Some(&expired), "dn");
    assert_eq!(status, "401");
    assert!(String::from_utf8(text).unwrap().contains("has expired"));
    assert_eq!(curl(Some(&expired), "pub").0, "200");
}
