//! A federation: its document, a director that redirects, and two caches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use credentials::Choice;
use farroot_remote::address::Address;
use farroot_remote::{Config, ErrorKind};
use mutex::Mutex;
use url::Url;

use super::http_server::{Say, scripted_within};
use super::over_tcp;
use super::secrets::Searched;
use super::secured::Authority;

const TOKEN: &str = "marker-of-a-secret.token";
const SIZE: usize = 3_000_000;

/// The servers that were asked, the paths and the `Authorization` of the requests.
type Log = Arc<Mutex<Vec<(&'static str, String, Option<String>)>>>;

/// Behaviour of the director.
#[derive(Debug, Clone, Copy, Default)]
struct Manner {
    requires_token: bool,
    /// The director itself wants one, too.
    director_asks: bool,
    /// Caches are named without TLS.
    is_plain: bool,
}

struct Federation {
    authority: Authority,
    origin: Url,
    log: Log,
    /// The first cache ends every connection from now on.
    first_is_dead: Arc<AtomicBool>,
    documents: Arc<AtomicUsize>,
}

fn content() -> Vec<u8> {
    (0..SIZE as u32).map(|at| b'a' + (at.wrapping_mul(2_654_435_761) >> 28) as u8).collect()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then_some(value)
    })
}

fn note(log: &Log, who: &'static str, head: &str) {
    let path = head.split(' ').nth(1).unwrap().to_owned();
    log.lock().push((who, path, header(head, "Authorization").map(str::to_owned)));
}

fn say(status: &str, lines: &[&str], body: &str) -> Say {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    Say::Stay(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{lines}\r\n{body}", body.len()))
}

/// One range of the file, where a token is required only with it.
fn served(head: &str, content: &str, requires_token: bool) -> Say {
    let bearer = format!("Bearer {TOKEN}");
    if requires_token && header(head, "Authorization") != Some(&bearer) {
        return say("403 Forbidden", &[], "");
    }
    let range = header(head, "Range").unwrap().strip_prefix("bytes=").unwrap();
    if range.contains(',') {
        return say("501 Not Implemented", &[], "");
    }
    let (first, last) = match range.split_once('-').unwrap() {
        ("", count) => (SIZE - count.parse::<usize>().unwrap().min(SIZE), SIZE - 1),
        (first, last) => (first.parse().unwrap(), last.parse::<usize>().unwrap().min(SIZE - 1)),
    };
    let place = format!("Content-Range: bytes {first}-{last}/{SIZE}");
    say("206 Partial Content", &[&place, "ETag: \"1\""], &content[first..=last])
}

impl Federation {
    async fn start(manner: Manner) -> Self {
        let authority = Authority::new();
        let log = Log::default();
        let content = Arc::new(String::from_utf8(content()).unwrap());
        let first_is_dead = Arc::new(AtomicBool::new(false));
        let mut caches = Vec::new();
        for who in ["first", "second"] {
            let log = log.clone();
            let content = content.clone();
            let dead = first_is_dead.clone();
            let serve = move |_, _, head: &str| {
                note(&log, who, head);
                match who == "first" && dead.load(Ordering::Relaxed) {
                    true => Say::Close(String::new()),
                    false => served(head, &content, manner.requires_token),
                }
            };
            let tls = (!manner.is_plain).then(|| authority.server());
            caches.push(scripted_within(tls, serve).await);
        }
        let inner = log.clone();
        let director = scripted_within(Some(authority.server()), move |_, _, head| {
            note(&inner, "director", head);
            let path = head.split(' ').nth(1).unwrap();
            if manner.director_asks && header(head, "Authorization").is_none() {
                return say("401 Unauthorized", &["WWW-Authenticate: Bearer"], "");
            }
            if !path.starts_with("/d/") {
                return say("404 Not Found", &[], r#"{"status":"error","msg":"no such file"}"#);
            }
            let link = |(at, cache): (usize, &Url)| {
                format!("<{cache}{}>; rel=\"duplicate\"; pri={}; depth=1", &path[1..], at + 1)
            };
            let links: Vec<String> = caches.iter().enumerate().map(link).collect();
            let namespace = format!(
                "X-Pelican-Namespace: namespace=/d, require-token={}",
                manner.requires_token
            );
            say(
                "307 Temporary Redirect",
                &[
                    &format!("Location: {}{}", caches[0], &path[1..]),
                    &format!("Link: {}", links.join(", ")),
                    &namespace,
                ],
                "",
            )
        })
        .await;
        let inner = log.clone();
        let documents = Arc::new(AtomicUsize::new(0));
        let asked = documents.clone();
        let origin = scripted_within(Some(authority.server()), move |_, _, head| {
            note(&inner, "federation", head);
            asked.fetch_add(1, Ordering::Relaxed);
            let document = format!(r#"{{"director_endpoint": "{}"}}"#, director.as_str());
            let all = document.len() - 1;
            let size = document.len();
            let place = format!("Content-Range: bytes 0-{all}/{size}");
            say("206 Partial Content", &[&place], &document)
        })
        .await;
        Federation { authority, origin, log, first_is_dead, documents }
    }

    fn url(&self, path: &str) -> String {
        format!(
            "pelican://{}/{path}",
            &self.origin[url::Position::BeforeHost..url::Position::AfterPort]
        )
    }

    fn remote(&self, config: Config) -> Searched {
        over_tcp(config)
    }

    fn shown_to(&self, who: &str) -> Vec<Option<String>> {
        let log = self.log.lock();
        log.iter().filter(|(asked, ..)| *asked == who).map(|(_, _, shown)| shown.clone()).collect()
    }
}

/// The document is read once in a process; the bytes come from a cache.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_public_file_is_read_from_a_cache_and_no_token_is_shown() {
    let federation = Federation::start(Manner::default()).await;
    for _ in 0..2 {
        let remote = federation.remote(federation.authority.with_token(TOKEN));
        let file = remote.open_bytes(&federation.url("d/f.bin")).await.unwrap();
        assert_eq!(file.info().size, SIZE as u64);
        let fetched = file.fetch(&[5..100, 2_000_000..2_100_000]).await.unwrap();
        assert_eq!(fetched[0].1, content()[5..100]);
        assert_eq!(fetched[1].1, content()[2_000_000..2_100_000]);
    }
    assert_eq!(federation.documents.load(Ordering::Relaxed), 1);
    assert!(!federation.shown_to("first").is_empty());
    for who in ["federation", "director", "first", "second"] {
        assert!(federation.shown_to(who).iter().all(Option::is_none), "{who} was shown a token");
    }
}

/// Caches that want a token are shown it; director and federation are not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn caches_are_shown_the_token_that_the_director_says_they_want() {
    let manner = Manner { requires_token: true, ..Manner::default() };
    let federation = Federation::start(manner).await;
    let remote = federation.remote(federation.authority.with_token(TOKEN));
    let file = remote.open_bytes(&federation.url("d/f.bin")).await.unwrap();
    assert_eq!(file.fetch(&[7..9]).await.unwrap()[0].1, content()[7..9]);
    let bearer = Some(format!("Bearer {TOKEN}"));
    assert!(federation.shown_to("first").contains(&bearer));
    for who in ["federation", "director"] {
        assert!(federation.shown_to(who).iter().all(Option::is_none), "{who} was shown a token");
    }
    let said = format!("{}{:?}", remote.report(), file);
    assert!(!said.contains("marker"), "{said}");
    // Without one, the refusal says so.
    let remote = federation.remote(federation.authority.config(Choice::default()));
    let error = remote.open_bytes(&federation.url("d/f.bin")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("no token"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_director_that_asks_is_shown_the_token() {
    let manner = Manner { requires_token: true, director_asks: true, ..Manner::default() };
    let federation = Federation::start(manner).await;
    let remote = federation.remote(federation.authority.with_token(TOKEN));
    remote.open_bytes(&federation.url("d/f.bin")).await.unwrap();
    let shown = federation.shown_to("director");
    assert!(shown[0].is_none(), "before it was asked for");
    assert_eq!(shown.last().unwrap().as_deref(), Some(&*format!("Bearer {TOKEN}")));
    let remote = federation.remote(federation.authority.config(Choice::default()));
    let error = remote.open_bytes(&federation.url("d/f.bin")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_that_dies_is_replaced_by_the_other() {
    let federation = Federation::start(Manner { requires_token: true, ..Manner::default() }).await;
    let remote = federation.remote(federation.authority.with_token(TOKEN));
    let file = remote.open_bytes(&federation.url("d/f.bin")).await.unwrap();
    assert_eq!(file.fetch(&[0..1000]).await.unwrap()[0].1, content()[..1000]);
    federation.first_is_dead.store(true, Ordering::Relaxed);
    let fetched = file.fetch(&[1000..SIZE as u64]).await.unwrap();
    assert!(fetched[0].1 == content()[1000..], "{}", remote.report());
    let bearer = Some(format!("Bearer {TOKEN}"));
    let shown = federation.shown_to("second");
    assert!(!shown.is_empty() && shown.iter().all(|shown| *shown == bearer), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_wrong_in_a_federation_names_it() {
    let federation = Federation::start(Manner::default()).await;
    let remote = federation.remote(federation.authority.with_token(TOKEN));
    let error = remote.open_bytes(&federation.url("elsewhere/f.bin")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("no server of the federation"), "{error}");
    let plain = Federation::start(Manner { is_plain: true, ..Manner::default() }).await;
    let remote = plain.remote(plain.authority.with_token(TOKEN));
    let error = remote.open_bytes(&plain.url("d/f.bin")).await.unwrap_err();
    assert!(error.to_string().contains("without the encryption"), "{error}");
    // A server of the web that is no federation.
    let web =
        scripted_within(Some(plain.authority.server()), |_, _, _| say("404 Not Found", &[], ""));
    let address = format!("pelican://localhost:{}/f.bin", web.await.port().unwrap());
    let error = remote.open_bytes(&address).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("where its director is"), "{error}");
    assert!(Address::parse(&address).is_ok_and(|url| url.is_named()));
    let error = remote.list(&plain.url("d/")).await.unwrap_err();
    assert!(error.to_string().contains("without the encryption"), "{error}");
}
