//! Identities, paths and operations: every cell is allowed or denied by the rule alone, whoever
//! came first, and whether or not the proxy has the file.

use farroot_serve::{Config, Content, Server};
use serde_json::json;
use xrootd::error::ErrorCode;
use xrootd::message::dirlist::DirlistOptions;
use xrootd::message::locate::LocateOptions;

use super::clients::{HttpClient, Session, bearer};
use super::grid::Identity;
use super::tokens::{changed, claims, now};
use super::{FOLDERS, SCI, Site, WLCG, content};

/// A client, and the folders whose files it may read.
pub struct Person {
    pub name: &'static str,
    pub header: String,
    /// Its token for XRootD; `None` as nobody.
    pub token: Option<String>,
    /// Its certificates.
    pub shown: Option<Identity>,
    pub speaks_xrootd: bool,
    /// It has proved who it is.
    pub is_known: bool,
    pub may: &'static [&'static str],
}

fn people(site: &Site) -> Vec<Person> {
    let of_token = |name, token: String, is_known, may| Person {
        name,
        header: bearer(&token),
        token: Some(token),
        shown: None,
        speaks_xrootd: true,
        is_known,
        may,
    };
    let wlcg = claims(WLCG);
    let sci = claims(SCI);
    let signed = |other| site.wlcg.token("w1", &changed(&wlcg, other));
    let sci_signed = |other| site.sci.token("s1", &changed(&sci, other));
    let groups = json!({"scope": null, "wlcg.groups": ["/cms", "/cms/uscms"]});
    let deep = json!({"scope": "openid read:/deep storage.read:/store"});
    let carol = json!({"sub": "carol", "scope": "write:/ storage.modify:/"});
    let other_groups =
        json!({"scope": "storage.read", "wlcg.groups": ["/cms/uscmsx", "cms/uscms"]});
    vec![
        Person {
            name: "nobody",
            header: String::new(),
            token: None,
            shown: None,
            speaks_xrootd: true,
            is_known: false,
            may: &["pub"],
        },
        of_token("reader", signed(json!({})), true, &["pub", "store", "store/deep"]),
        of_token(
            "reader of a part",
            signed(json!({"scope": "storage.read:/store/deep/"})),
            true,
            &["pub", "store/deep"],
        ),
        of_token(
            "reader of all",
            signed(json!({"scope": "storage.read:/"})),
            true,
            &["pub", "store", "store/deep"],
        ),
        of_token("another issuer's", sci_signed(deep), true, &["pub", "storefront/deep"]),
        of_token("a group", signed(groups), true, &["pub", "group"]),
        of_token("other groups", signed(other_groups), true, &["pub"]),
        of_token("carol", sci_signed(carol), true, &["pub", "subject"]),
        of_token("listed", "marker-listed".to_owned(), true, &["pub", "listed"]),
        of_token("unlisted", "marker-other".to_owned(), false, &["pub"]),
        of_token("expired", signed(json!({"exp": now() - 1})), false, &["pub"]),
        Person {
            name: "ada",
            // ada:marker-password
            header: "Authorization: Basic YWRhOm1hcmtlci1wYXNzd29yZA==\r\n".to_owned(),
            token: None,
            shown: None,
            speaks_xrootd: false,
            is_known: true,
            may: &["pub", "users"],
        },
    ]
}

/// One cell: a client, a file, and whether it is there.
#[derive(Clone, Copy)]
pub struct Cell {
    pub person: usize,
    pub folder: &'static str,
    pub exists: bool,
}

impl Cell {
    fn path(self, origin: &str) -> String {
        let name = if self.exists { "f" } else { "missing" };
        format!("/{origin}{}/{name}", self.folder)
    }
}

/// Every operation of HTTP on one file.
fn over_http(
    site: &Site,
    client: &mut HttpClient<impl std::io::Read + std::io::Write>,
    cell: Cell,
    person: &Person,
) -> usize {
    let may = person.may.contains(&cell.folder);
    let denied = if person.is_known { 403 } else { 401 };
    let found = if cell.exists { 200 } else { 404 };
    let partial = if cell.exists { 206 } else { 404 };
    let path = cell.path(&site.origin.http_url());
    let select = json!({"files": [path]}).to_string();
    let operations: [(&str, &str, &str, &str, &[u16]); 6] = [
        ("GET", &path, "", "", &[found]),
        ("HEAD", &path, "", "", &[found]),
        ("GET", &path, "Range: bytes=3-9\r\n", "", &[partial]),
        ("GET", &path, "Cache-Control: only-if-cached\r\n", "", &[200, 504]),
        ("PUT", &path, "Content-Length: 0\r\n", "", &[307]),
        // The files are none of ROOT's.
        ("POST", "/select", "", &select, &[404, 422]),
    ];
    for (method, path, headers, body, allowed) in operations {
        let answer = client.ask(method, path, &format!("{}{headers}", person.header), body);
        let case = format!("{} {method} {path} {headers}: {}", person.name, answer.head);
        if may {
            assert!(allowed.contains(&answer.status), "{case}");
            if answer.status == 200 && method == "GET" {
                assert!(answer.body == content(cell.folder), "{case}");
            }
            continue;
        }
        assert_eq!(answer.status, denied, "{case}");
        assert_eq!(answer.head.contains("www-authenticate: bearer"), denied == 401, "{case}");
        // It says nothing of the file.
        for header in ["etag", "cache-status", "age:", "last-modified", "location"] {
            assert!(!answer.head.contains(header), "{case}");
        }
        let text = String::from_utf8(answer.body).unwrap();
        assert!(!text.contains("missing") && !text.contains("127.0.0.1"), "{case} {text}");
    }
    operations.len()
}

/// Every operation of XRootD on one file.
fn over_xrootd(site: &Site, session: &mut Session, cell: Cell, person: &Person) -> usize {
    let may = person.may.contains(&cell.folder);
    let path = cell.path(&site.origin.root_url());
    let found = (!cell.exists).then_some(ErrorCode::NOT_FOUND);
    let case = format!("{} {path}", person.name);
    let (file, open) = session.open(&path);
    let read = session.ask(|client, now| client.read(now, file, 0..10));
    let vector = session.ask(|client, now| client.readv(now, &[(file, 0..5), (file, 20..30)]));
    let stat = session.ask(|client, now| client.stat(now, &path));
    let locate = session.ask(|client, now| client.locate(now, &path, LocateOptions(0)));
    let checksum = session.ask(|client, now| client.query_checksum(now, &path));
    let list = session.ask(|client, now| client.dirlist(now, &path, DirlistOptions(0)));
    let denied = Some(ErrorCode::NOT_AUTHORIZED);
    for (operation, request, allowed) in [
        ("open", open, found),
        ("stat", stat, found),
        ("locate", locate, None),
        ("checksum", checksum, found),
    ] {
        let wanted = if may { allowed } else { denied };
        assert_eq!(session.refusal(request), wanted, "{case} {operation}");
    }
    let listed = session.refusal(list);
    assert_eq!(listed == denied, !may, "{case}: {listed:?}");
    for request in [read, vector] {
        let is_read = session.outcome(request).is_ok();
        assert_eq!(is_read, may && cell.exists, "{case}");
        assert_eq!(session.bytes(request).is_empty(), !is_read, "{case}");
    }
    if may && cell.exists {
        assert_eq!(session.bytes(read), &content(cell.folder)[..10]);
        session.ask(|client, now| client.close(now, file));
    }
    7
}

/// Every operation of these cells. Each client has one connection of each protocol.
pub fn pass(
    site: &Site,
    proxy: &Server,
    people: &[Person],
    cells: impl Iterator<Item = Cell>,
) -> usize {
    let mut over = Vec::new();
    for person in people {
        let shown = person.shown.as_ref();
        let http = HttpClient::showing(proxy, &site.certificate, shown);
        let token = person.token.as_deref();
        let session =
            person.speaks_xrootd.then(|| Session::showing(proxy, &site.certificate, token, shown));
        over.push((http, session));
    }
    let mut count = 0;
    for cell in cells {
        let person = &people[cell.person];
        let (http, session) = &mut over[cell.person];
        count += over_http(site, http, cell, person);
        if let Some(session) = session {
            count += over_xrootd(site, session, cell, person);
        }
    }
    count
}

/// Each order has a proxy and a cache of its own; the second pass finds all files in the cache.
#[test]
fn every_cell_is_the_same_in_any_order_cold_and_warm() {
    let site = Site::new();
    let people = people(&site);
    let mut cells = Vec::new();
    for folder in FOLDERS {
        for exists in [true, false] {
            cells.extend((0..people.len()).map(|person| Cell { person, folder, exists }));
        }
    }
    let mut counts = Vec::new();
    for is_reversed in [false, true] {
        let cache = tempfile::tempdir().unwrap();
        let proxy = site.proxy(site.protection(), Vec::new(), cache.path());
        for _ in ["cold", "warm"] {
            let ordered = cells.iter().copied();
            counts.push(match is_reversed {
                false => pass(&site, &proxy, &people, ordered),
                true => pass(&site, &proxy, &people, ordered.rev()),
            });
            proxy.flush();
        }
    }
    // 12 clients, 11 of which speak XRootD too; 10 folders with a file that exists and one that
    // does not.
    assert_eq!(counts, [(12 * 6 + 11 * 7) * 20; 4]);
}

/// Without TLS nobody proves anything, and public files are read.
#[test]
fn without_tls_a_client_is_nobody() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(site.protection(), Vec::new(), cache.path());
    let token = site.wlcg.token("w1", &claims(WLCG));
    let mut http = HttpClient::plain(&proxy);
    let mut session = Session::plain(&proxy);
    let at = |folder: &str| format!("/{}{folder}/f", site.origin.http_url());
    for (folder, header, status) in [
        ("pub", String::new(), 200),
        ("pub", bearer(&token), 200),
        ("store", String::new(), 403),
        ("store", bearer(&token), 403),
        ("users", "Authorization: Basic YWRhOm1hcmtlci1wYXNzd29yZA==\r\n".to_owned(), 403),
    ] {
        let answer = http.ask("GET", &at(folder), &header, "");
        assert_eq!(answer.status, status, "{folder} {}", answer.head);
        assert!(!answer.head.contains("www-authenticate"), "it would be sent unencrypted");
    }
    let at = |folder: &str, query: &str| format!("/{}{folder}/f{query}", site.origin.root_url());
    let query = format!("?authz=Bearer%20{token}");
    for (path, wanted) in [
        (at("pub", ""), None),
        (at("pub", &query), None),
        (at("store", ""), Some(ErrorCode::NOT_AUTHORIZED)),
        (at("store", &query), Some(ErrorCode::NOT_AUTHORIZED)),
    ] {
        let (_, open) = session.open(&path);
        assert_eq!(session.refusal(open), wanted, "{path}");
    }
    let (_, open) = session.open(&at("store", &query));
    assert!(session.said(open).contains("within TLS only"));
}

/// A token in the query of a path is for that request, and counts instead of the login's.
#[test]
fn a_token_may_come_with_a_path() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(site.protection(), Vec::new(), cache.path());
    let reader = site.wlcg.token("w1", &claims(WLCG));
    let nothing = site.wlcg.token("w1", &changed(&claims(WLCG), json!({"scope": "openid"})));
    let denied = Some(ErrorCode::NOT_AUTHORIZED);
    for login in [None, Some(&reader), Some(&nothing)] {
        let mut session = Session::new(&proxy, &site.certificate, login.map(String::as_str));
        for (query, may) in [
            (format!("?authz=Bearer%20{reader}"), true),
            (format!("?authz={reader}&xrd.x=1"), true),
            (format!("?authz=Bearer%20{nothing}"), false),
            ("?authz=marker-other".to_owned(), false),
            (String::new(), login == Some(&reader)),
        ] {
            let path = format!("/{}store/f{query}", site.origin.root_url());
            let (_, open) = session.open(&path);
            assert_eq!(session.refusal(open), if may { None } else { denied }, "{path}");
            let stat = session.ask(|client, now| client.stat(now, &path));
            assert_eq!(session.refusal(stat), if may { None } else { denied }, "{path}");
        }
    }
}

/// The figures name no file, and are for those whom a rule lets read them.
#[test]
fn figures_have_a_rule_of_their_own() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let mut protection = site.protection();
    let proxy = site.proxy(protection.clone(), Vec::new(), cache.path());
    let mut http = HttpClient::new(&proxy, &site.certificate);
    assert_eq!(http.ask("GET", "/metrics", "", "").status, 401);
    assert_eq!(http.ask("GET", "/metrics", &bearer("marker-listed"), "").status, 403);
    assert_eq!(http.ask("GET", "/healthz", "", "").status, 200);
    protection.rules.extend(super::rules(&[("/metrics", "token")]));
    proxy.reload_as(Some(&protection)).unwrap();
    assert_eq!(http.ask("GET", "/metrics", &bearer("marker-listed"), "").status, 200);
    assert_eq!(http.ask("GET", "/metrics", "", "").status, 401);
}

/// New rules count from the next request on.
#[test]
fn rules_are_read_again() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(site.protection(), Vec::new(), cache.path());
    let mut http = HttpClient::new(&proxy, &site.certificate);
    let path = format!("/{}pub/f", site.origin.http_url());
    assert_eq!(http.ask("GET", &path, "", "").status, 200);
    let mut protection = site.protection();
    protection.rules[0].read = vec!["token".to_owned()];
    proxy.reload_as(Some(&protection)).unwrap();
    assert_eq!(http.ask("GET", &path, "", "").status, 401);
    assert_eq!(http.ask("GET", &path, &bearer("marker-listed"), "").status, 200);
    // Malformed ones change nothing.
    protection.rules[0].read = vec!["everybody".to_owned()];
    let error = proxy.reload_as(Some(&protection)).unwrap_err().to_string();
    assert!(error.contains("everybody") && error.contains("*/pub"), "{error}");
    assert_eq!(http.ask("GET", &path, "", "").status, 401);
}

/// A folder has the same rules, and its listings only the names that a client may read.
#[test]
fn a_folder_has_rules_too() {
    let site = Site::new();
    let mut protection = site.protection();
    protection.issuers[0].base = vec!["/".to_owned()];
    protection.issuers[1].base = Vec::new();
    protection.rules = super::rules(&[
        ("/pub", "anyone"),
        ("/store", "scope:wlcg"),
        ("/group/f", "user:ada"),
        ("/", "token"),
    ]);
    let of_folder = Config { protection: protection.clone(), ..Config::new(site.file("files")) };
    let server = Server::start(of_folder).unwrap();
    let reader = site.wlcg.token("w1", &claims(WLCG));
    let listed = "marker-listed";
    let mut http = HttpClient::new(&server, &site.certificate);
    for (path, token, status) in [
        ("/pub/f", None, 200),
        ("/pub/missing", None, 404),
        ("/store/f", None, 401),
        ("/store/missing", None, 401),
        ("/store/f", Some(&*reader), 200),
        ("/store/missing", Some(&reader), 404),
        ("/storefront/f", Some(&reader), 403),
        ("/store/../group/f", Some(&reader), 403),
        ("/store/%2e%2e/group/f", Some(&reader), 403),
        ("/%73tore/f", Some(listed), 403),
        ("/group/f", Some(listed), 403),
        ("/listed/f", Some(listed), 200),
        ("/listed/f", None, 401),
        ("/", None, 401),
        ("/", Some(&reader), 403),
    ] {
        let header = token.map(bearer).unwrap_or_default();
        let answer = http.ask("GET", path, &header, "");
        assert_eq!(answer.status, status, "{path} {token:?}: {}", answer.head);
        let mut session = Session::new(&server, &site.certificate, token);
        let (_, open) = session.open(path);
        let denied = Some(ErrorCode::NOT_AUTHORIZED);
        if path.contains('%') {
            continue;
        }
        assert_eq!(session.refusal(open) == denied, matches!(status, 401 | 403), "{path}");
    }
    let page = http.ask("GET", "/", &bearer(listed), "").body;
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("/pub/") && page.contains("/listed/"), "{page}");
    assert!(!page.contains("/store/"), "{page}");
    let group = http.ask("GET", "/group", &bearer(listed), "").body;
    assert!(!String::from_utf8(group).unwrap().contains("/group/f"));
    let mut session = Session::new(&server, &site.certificate, Some(listed));
    let list = session.ask(|client, now| client.dirlist(now, "/", DirlistOptions(0)));
    let names = format!("{:?}", session.outcome(list).unwrap());
    assert!(names.contains("listed") && !names.contains("\"store\""), "{names}");
    // Nobody has a right to write.
    let content = Content::Folder { path: site.file("files"), hidden: false, writable: true };
    let error = Server::start(Config { protection, ..Config::of(content) }).unwrap_err();
    assert!(error.to_string().contains("without --writable"), "{error}");
}
