//! HTTP within TLS: the servers that are trusted, the credentials that each gets, and the errors of
//! a refusal.

use std::sync::Arc;

use credentials::Choice;
use farroot_remote::fetch::{Urgency, Want};
use farroot_remote::source::FileEnd;
use farroot_remote::{Config, Error, ErrorKind, Remote};
use futures::StreamExt;
use mutex::Mutex;

use super::conformance;
use super::http::server;
use super::http_server::{Good, LinkOptions, PLAIN, Ranges, Say, scripted_within};
use super::over_tcp;
use super::secrets::search_error;
use super::secured::{Authority, basic, token};
use super::talk::{Talk, file};
use super::uploads::OVER;

async fn conforms(options: LinkOptions) {
    let authority = Authority::new();
    let good = Good::start_within(Some(authority.server()), options).await;
    let config = authority.with_token("marker-of-a-secret.token");
    conformance::check(server(&good.origin, &config), |name| good.url(name)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn https_keeps_the_rules() {
    conforms(PLAIN).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn https_that_closes_keeps_the_rules() {
    conforms(LinkOptions { close: true, ..PLAIN }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn https_without_ranges_keeps_the_rules() {
    conforms(LinkOptions { ranges: Ranges::None, chunked: true, ..PLAIN }).await;
}

// ---- credentials that each server gets ---------------------------------------------------------

/// Requests to servers: host, path, and `Authorization` or nothing.
type Log = Arc<Mutex<Vec<(&'static str, String, Option<String>)>>>;

const CONTENT: &str = "0123456789";

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then_some(value)
    })
}

fn path(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

fn found() -> Say {
    let length = CONTENT.len();
    Say::Stay(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{CONTENT}"))
}

fn sent_to(location: &str) -> Say {
    Say::Stay(format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    ))
}

/// A server that notes the requests that it gets, and sends on from `/to/ADDRESS`; `~` in an
/// address stands for `/`.
async fn noting(name: &'static str, tls: Option<tokio_rustls::TlsAcceptor>, log: &Log) -> url::Url {
    let log = log.clone();
    scripted_within(tls, move |_, _, head| {
        let path = path(head);
        log.lock().push((name, path.to_owned(), header(head, "authorization").map(str::to_owned)));
        match path.strip_prefix("/to/") {
            Some(to) => {
                let (to, rest) = to.split_once('/').map_or((to, ""), |(to, rest)| (to, rest));
                let slash = if rest.is_empty() { "" } else { "/" };
                sent_to(&format!("{}{slash}{rest}", to.replace('~', "/")))
            }
            None => found(),
        }
    })
    .await
}

async fn read(config: Config, url: &str) -> Result<Vec<u8>, Error> {
    read_by(&over_tcp(config), url).await
}

async fn read_by(remote: &Remote, url: &str) -> Result<Vec<u8>, Error> {
    let file = remote.open_bytes(url).await.inspect_err(search_error)?;
    let want = Want { range: 0..10, cost: 10, urgency: Urgency::Demand, order: 0 };
    let delivery = file.want(vec![want]).next().await.expect("one want")?;
    Ok(delivery.bytes.to_vec())
}

/// Redirections that other clients have sent a token along with to where it was not for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_stays_with_its_origin() {
    let authority = Authority::new();
    let log = Log::default();
    let a = noting("a", Some(authority.server()), &log).await;
    let b = noting("b", Some(authority.server()), &log).await;
    let c = noting("c", Some(authority.server()), &log).await;
    let plain = noting("plain", None, &log).await;
    let to =
        |url: &url::Url| format!("to/{}", url.as_str().trim_end_matches('/').replace('/', "~"));
    let by_name = format!("https://LocalHost:{}", a.port().unwrap());
    for (way, expected) in [
        // (the path after the first origin, the servers asked and whether with the token)
        ("f".to_owned(), "a+"),
        ("to/~g".to_owned(), "a+ a+"),
        (format!("{}/f", to(&a)), "a+ a+"),
        (format!("{}/f", to(&b)), "a+ b-"),
        (format!("{}/{}/f", to(&b), to(&c)), "a+ b- c-"),
        (format!("{}/{}/f", to(&b), to(&a)), "a+ b- a+"),
        (format!("{}/{}/{}/f", to(&b), to(&c), to(&a)), "a+ b- c- a+"),
        (format!("{}/f", to(&plain)), "a+ plain-"),
        (format!("{}/{}/f", to(&plain), to(&a)), "a+ plain- a+"),
        (format!("to/{}/f", by_name.replace('/', "~")), "a+ a-"),
        (format!("to/~~127.0.0.1:{}/f", b.port().unwrap()), "a+ b-"),
        (format!("to/https:~~me:pw@127.0.0.1:{}/f", b.port().unwrap()), "a+ b?"),
    ] {
        log.lock().clear();
        let url = a.join(&way).unwrap();
        let bytes = read(authority.with_token("marker-of-a-secret.token"), url.as_str()).await;
        assert_eq!(bytes.expect(&way), CONTENT.as_bytes(), "{way}");
        let mut asked: Vec<String> = Vec::new();
        for (name, _, shown) in log.lock().iter() {
            let sign = match shown.as_deref() {
                Some("Bearer marker-of-a-secret.token") => "+",
                None => "-",
                Some(other) => {
                    assert_eq!(other, basic("me:pw"));
                    "?"
                }
            };
            let entry = format!("{name}{sign}");
            // The two ends of the file are asked for at the same time.
            if !asked.contains(&entry) || way.starts_with("to/") && asked.last() != Some(&entry) {
                asked.push(entry);
            }
        }
        for (at, entry) in expected.split(' ').enumerate() {
            assert!(asked.contains(&entry.to_owned()), "{way}: {at} {entry} not in {asked:?}");
        }
        for entry in asked {
            assert!(expected.contains(&entry), "{way}: {entry} was not expected");
        }
    }
    // http first: nothing is shown, and not to where it leads either.
    log.lock().clear();
    let url = plain.join(&format!("{}/f", to(&a))).unwrap();
    read(authority.with_token("marker-of-a-secret.token"), url.as_str()).await.unwrap();
    assert!(log.lock().iter().all(|(_, _, shown)| shown.is_none()), "{:?}", log.lock());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_follows_to_hosts_of_the_list_within_tls() {
    let authority = Authority::new();
    let log = Log::default();
    let a = noting("a", Some(authority.server()), &log).await;
    let b = noting("b", Some(authority.server()), &log).await;
    let plain = noting("plain", None, &log).await;
    let host = b.host_str().unwrap().to_owned();
    for (list, target, shown) in [
        (vec![host.clone()], &b, Some("Bearer marker-of-a-secret.token")),
        (vec!["other.example".to_owned()], &b, None),
        (vec![], &b, None),
        (vec![host], &plain, None),
    ] {
        log.lock().clear();
        let config = Config {
            redirect_credentials: list.clone(),
            ..authority.with_token("marker-of-a-secret.token")
        };
        let there = target.as_str().trim_end_matches('/').replace('/', "~");
        let url = a.join(&format!("to/{there}/f")).unwrap();
        assert_eq!(read(config, url.as_str()).await.unwrap(), CONTENT.as_bytes());
        let asked: Vec<_> = log.lock().iter().filter(|(name, ..)| *name != "a").cloned().collect();
        assert!(!asked.is_empty());
        for (name, _, given) in asked {
            assert_eq!(given.as_deref(), shown, "{name} {list:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_leads_out_of_tls_where_the_setting_says_so() {
    let authority = Authority::new();
    let log = Log::default();
    let a = noting("a", Some(authority.server()), &log).await;
    let b = noting("b", Some(authority.server()), &log).await;
    let plain = noting("plain", None, &log).await;
    let config = || Config { plain_redirects: false, ..authority.config(Choice::default()) };
    let to =
        |url: &url::Url| format!("to/{}", url.as_str().trim_end_matches('/').replace('/', "~"));
    for way in [format!("{}/f", to(&plain)), format!("{}/{}/f", to(&b), to(&plain))] {
        let error = read(config(), a.join(&way).unwrap().as_str()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        let said = format!("{error}");
        assert!(said.contains("without the encryption of https://"), "{said}");
        assert!(said.contains("plain_redirects"), "{said}");
    }
    assert!(log.lock().iter().all(|(name, ..)| *name != "plain"), "{:?}", log.lock());
    // A read that begins without TLS may go on so, and one that stays within may be sent anywhere.
    let there = plain.join(&format!("{}/f", to(&plain))).unwrap();
    assert_eq!(read(config(), there.as_str()).await.unwrap(), CONTENT.as_bytes());
    let there = a.join(&format!("{}/f", to(&b))).unwrap();
    assert_eq!(read(config(), there.as_str()).await.unwrap(), CONTENT.as_bytes());
}

#[tokio::test]
async fn one_credential_is_shown_and_the_address_has_the_first_word() {
    let authority = Authority::new();
    let log = Log::default();
    let a = noting("a", Some(authority.server()), &log).await;
    let host = a.as_str().trim_start_matches("https://").trim_end_matches('/');
    for (url, expected) in [
        (format!("davs://{host}/f"), Some("Bearer marker-of-a-secret.token".to_owned())),
        (format!("https://{host}/f?x=1"), Some("Bearer marker-of-a-secret.token".to_owned())),
        (format!("https://{host}/f?authz=Bearer%20abc"), None),
        (format!("https://{host}/f?X-Amz-Signature=abc"), None),
        (format!("https://me:pw@{host}/f"), Some(basic("me:pw"))),
    ] {
        let mut talk = Talk::with(server(&url, &authority.with_token("marker-of-a-secret.token")));
        let there = file(1, &url);
        assert_eq!(talk.open(&there, FileEnd::Head(10)).await.bytes(), CONTENT.as_bytes(), "{url}");
        assert_eq!(log.lock().pop().unwrap().2, expected, "{url}");
    }
    // A file is read again for each connection: tools renew it in place.
    let path = authority.secret("token", " first \n");
    let choice =
        || Choice { token: Some(credentials::TokenFrom::File(path.clone())), ..Choice::default() };
    let config = authority.config(choice());
    for word in ["first", "second"] {
        authority.secret("token", word);
        let mut talk = Talk::with(server(&a, &config));
        talk.open(&file(1, &a.join("f").unwrap()), FileEnd::Head(10)).await.bytes();
        assert_eq!(log.lock().pop().unwrap().2, Some(format!("Bearer {word}")));
    }
}

/// Takes uploads, and sends on from `/to/ADDRESS` as `noting` does.
async fn taking(name: &'static str, tls: Option<tokio_rustls::TlsAcceptor>, log: &Log) -> url::Url {
    let log = log.clone();
    scripted_within(tls, move |_, _, head| {
        let method = head.split(' ').next().unwrap();
        let path = path(head);
        log.lock().push((
            name,
            method.to_owned(),
            header(head, "authorization").map(str::to_owned),
        ));
        match (path.strip_prefix("/to/").and_then(|to| to.split_once('/')), method) {
            (Some((to, rest)), _) => sent_to(&format!("{}/{rest}", to.replace('~', "/"))),
            (None, "PUT" | "MOVE" | "DELETE") => {
                Say::Stay("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n".to_owned())
            }
            (None, _) => Say::Stay("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned()),
        }
    })
    .await
}

/// The settings for reads hold for writes: where the token goes, and that nothing leaves TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_written_follows_redirections_as_the_settings_say() {
    let authority = Authority::new();
    let log = Log::default();
    let a = taking("a", Some(authority.server()), &log).await;
    let b = taking("b", Some(authority.server()), &log).await;
    let plain = taking("plain", None, &log).await;
    let host = b.host_str().unwrap().to_owned();
    let shown = Some("Bearer marker-of-a-secret.token");
    for (list, plain_redirects, target, expected) in [
        (vec![host.clone()], true, &b, Ok(shown)),
        (vec![], true, &b, Ok(None)),
        (vec![], false, &b, Ok(None)),
        (vec![host.clone()], true, &plain, Ok(None)),
        (vec![host], false, &plain, Err("plain_redirects is off")),
    ] {
        log.lock().clear();
        let config = Config {
            redirect_credentials: list,
            plain_redirects,
            ..authority.with_token("marker-of-a-secret.token")
        };
        let there = target.as_str().trim_end_matches('/').replace('/', "~");
        let url = a.join(&format!("to/{there}/f")).unwrap();
        let remote = over_tcp(config);
        let written = async { remote.create(url.as_str(), OVER).await?.finish().await };
        match (written.await, expected) {
            (Ok(_), Ok(_)) => {}
            (Err(error), Err(words)) => {
                search_error(&error);
                assert!(error.to_string().contains(words), "{error}");
            }
            (written, expected) => panic!("{written:?}, and not {expected:?}"),
        }
        let asked = log.lock().clone();
        assert!(asked.iter().any(|(name, method, _)| *name == "a" && method == "PUT"), "{asked:?}");
        let put = asked.iter().any(|(name, method, _)| *name != "a" && method == "PUT");
        assert_eq!(put, expected.is_ok(), "{asked:?}");
        for (name, _, given) in asked {
            let of_a = (name == "a").then_some(shown);
            assert_eq!(given.as_deref(), of_a.unwrap_or(expected.unwrap_or(None)), "{name}");
        }
    }
}

// ---- refusals ----------------------------------------------------------------------------------

/// An error without the parts that change from run to run.
fn plain(error: &Error, authority: &Authority) -> String {
    let text = error.to_string().replace(authority.path().to_str().unwrap(), "DIR");
    let mut parts = text.split("127.0.0.1:");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        plain.push_str("HOST");
        plain.push_str(part.trim_start_matches(|letter: char| letter.is_ascii_digit()));
    }
    plain
}

async fn refused(authority: &Authority, status: &'static str, config: Config) -> String {
    let url = scripted_within(Some(authority.server()), move |_, _, _| {
        Say::Stay(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
    })
    .await;
    let error = read(config, url.join("store/f").unwrap().as_str()).await.unwrap_err();
    assert!(!error.is_retryable());
    plain(&error, authority)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_what_was_shown_and_in_which_state_it_is() {
    let authority = Authority::new();
    let rest = "; in https://HOST/store/f; from https://HOST";
    let nothing = || authority.config(Choice::default());
    assert_eq!(
        refused(&authority, "403 Forbidden", nothing()).await,
        format!(
            "the server answers 403 Forbidden; nothing was shown: no token and no proxy were \
             found{rest}; voms-proxy-init -voms YOUR_VO -rfc -valid 192:00; or fetch a new token, \
             for example with htgettoken or oidc-token"
        )
    );
    let said = refused(
        &authority,
        "401 Unauthorized\r\nWWW-Authenticate: Bearer realm=\"x\"\r\nWWW-Authenticate: Basic",
        nothing(),
    );
    assert!(said.await.starts_with(
        "the server answers 401 Unauthorized (it wants Bearer or Basic); nothing was shown"
    ));
    let shows = |claims: &str| authority.with_token(&token(claims));
    let claims = r#"{"iss":"https://iss","aud":"me","scope":"storage.read:/cms","exp":4102444800}"#;
    let said = refused(&authority, "403 Forbidden", shows(claims)).await;
    assert!(
        said.starts_with(
            "the server answers 403 Forbidden; it was shown the token in the argument of the call \
             from https://iss for me, valid for "
        ) && said.ends_with(
            "it allows storage.read:/cms, and the path is /store/f: fetch one with the scope, \
             audience or issuer that the site wants: htgettoken --scopes=storage.read:/store"
        ),
        "{said}"
    );
    let said = refused(&authority, "403 Forbidden", shows(r#"{"nbf":4102444800}"#)).await;
    assert!(said.contains("which is valid in ") && said.contains("clock"), "{said}");
    let config = || authority.with_token("macaroon");
    assert!(refused(&authority, "401 No", config()).await.contains("only the server can read"));
}

/// A useless credential in the usual places does not keep public files from being read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_token_is_named_only_where_one_is_wanted() {
    let authority = Authority::new();
    let user = credentials::Environment::of_process().user_id;
    authority.secret(&format!("bt_u{user}"), &token(r#"{"exp":1000000000}"#));
    let log = Log::default();
    let a = noting("a", Some(authority.server()), &log).await;
    let config = || authority.config(Choice::default());
    assert_eq!(read(config(), a.join("f").unwrap().as_str()).await.unwrap(), CONTENT.as_bytes());
    assert!(log.lock().iter().all(|(_, _, shown)| shown.is_none()));
    let said = refused(&authority, "403 Forbidden", config()).await;
    assert!(said.contains("nothing was shown: the token in DIR/bt_u"), "{said}");
    assert!(said.contains("expired"), "{said}");
    // Given for this call it is an error before anything is asked.
    let error = read(authority.with_token(&token(r#"{"exp":1000000000}"#)), a.as_str()).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert!(error.to_string().contains("expired"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_is_shown_and_a_refused_one_is_not_tried_again() {
    let authority = Authority::new();
    let strangers = Authority::named("Other CA");
    let asking = |users: &Authority| Some(authority.asking(users));
    let good = Good::start_within(asking(&authority), PLAIN).await;
    let proxy = |path| Choice { proxy: Some(path), ..Choice::default() };
    let url = good.url("large.bin");
    let bytes = read(authority.config(proxy(authority.user())), url.as_str()).await.unwrap();
    assert_eq!(bytes.len(), 10);
    let requests = good.requests();
    for (choice, expected) in [
        (proxy(strangers.user()), "refuses the certificate of \"/CN=Ada Lovelace\""),
        (Choice::default(), "wants a certificate of the user, and there was none to show"),
    ] {
        let error = read(authority.config(choice), url.as_str()).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unauthenticated, false));
    }
    assert_eq!(good.requests(), requests);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_no_known_authority_is_not_asked() {
    let authority = Authority::new();
    let strangers = Authority::named("Other CA");
    let log = Log::default();
    let a = noting("a", Some(authority.server()), &log).await;
    let url = a.join("f").unwrap();
    let error =
        read(strangers.with_token("marker-of-a-secret.token"), url.as_str()).await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, false));
    let said = plain(&error, &strangers);
    assert!(said.contains("is from an authority that is not trusted: /CN=Test CA"), "{said}");
    assert!(said.contains("the 1 authorities of DIR/ca.pem"), "{said}");
    assert!(!said.contains("marker"), "{said}");
    assert!(log.lock().is_empty());
    let insecure = Config { insecure: true, ..strangers.config(Choice::default()) };
    let remote = over_tcp(insecure);
    assert_eq!(read_by(&remote, url.as_str()).await.unwrap(), CONTENT.as_bytes());
    let said = remote.report().to_string();
    assert!(said.contains("any certificate is believed"), "{said}");
}

// ---- addresses for one connection --------------------------------------------------------------

/// A door and a pool as dCache has them: the pool serves an address on the connection on which it
/// was first used, so many times, and sends other connections back to the door.
async fn dcache(
    authority: &Authority,
    within: bool,
    uses: usize,
) -> (url::Url, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let door = Arc::<Mutex<Option<url::Url>>>::default();
    let back = door.clone();
    let used = Mutex::new(std::collections::BTreeMap::new());
    let tls = within.then(|| authority.server());
    let log = asked.clone();
    let content =
        conformance::files().into_iter().find(|(name, _)| *name == "large.bin").unwrap().1;
    let pool = scripted_within(tls, move |connection, _, head| {
        assert!(header(head, "authorization").is_none(), "{head}");
        log.lock().push(format!("pool {connection}"));
        let key = path(head).split("dcache-http-uuid=").nth(1).unwrap().to_owned();
        let mut used = used.lock();
        let (first, count) = used.entry(key).or_insert((connection, 0));
        *count += 1;
        if *first != connection || *count > uses {
            let door = back.lock().clone().unwrap();
            return sent_to(door.join("large.bin?dcache-http-ref=pool").unwrap().as_str());
        }
        let range = header(head, "range").unwrap().strip_prefix("bytes=").unwrap();
        let size = content.len();
        let part = |range: &str| {
            let (first, last) = range.split_once('-').unwrap();
            let range = match first.parse::<usize>() {
                Ok(first) => first..last.parse::<usize>().unwrap().min(size - 1) + 1,
                Err(_) => size - last.parse::<usize>().unwrap()..size,
            };
            let place = format!("bytes {}-{}/{size}", range.start, range.end - 1);
            // A text can carry letters.
            let letters = content[range].iter().map(|byte| char::from(byte % 26 + b'a'));
            (place, letters.collect::<String>())
        };
        let parts: Vec<_> = range.split(',').map(part).collect();
        let (kind, body) = match &parts[..] {
            [(place, body)] => (format!("Content-Range: {place}"), body.clone()),
            parts => {
                let part = |(place, body): &(String, String)| {
                    format!("\r\n--sep\r\nContent-Range: {place}\r\n\r\n{body}")
                };
                let body: String = parts.iter().map(part).collect();
                let kind = "Content-Type: multipart/byteranges; boundary=sep".to_owned();
                (kind, format!("{body}\r\n--sep--\r\n"))
            }
        };
        let length = body.len();
        Say::Stay(format!(
            "HTTP/1.1 206 Partial Content\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    })
    .await;
    let log = asked.clone();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let origin = scripted_within(Some(authority.server()), move |_, _, head| {
        assert_eq!(header(head, "authorization"), Some("Bearer marker-of-a-secret.token"));
        log.lock().push("door".into());
        let key = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        sent_to(pool.join(&format!("f?dcache-http-uuid={key}")).unwrap().as_str())
    })
    .await;
    *door.lock() = Some(origin.clone());
    (origin, asked)
}

/// uproot's reads in parallel failed at dCache's doors: the second connection used an address that
/// the first had used up (dCache 8078).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_connection_asks_a_door_for_its_own_pool() {
    let content =
        conformance::files().into_iter().find(|(name, _)| *name == "large.bin").unwrap().1;
    let content: Vec<u8> = content.iter().map(|byte| byte % 26 + b'a').collect();
    let authority = Authority::new();
    for (within, uses) in [(true, usize::MAX), (false, usize::MAX), (true, 1)] {
        let (door, asked) = dcache(&authority, within, uses).await;
        let config =
            Config { connections_initial: 8, ..authority.with_token("marker-of-a-secret.token") };
        let remote = over_tcp(config);
        let file = remote.open_bytes(door.join("large.bin").unwrap().as_str()).await.unwrap();
        let parts: Vec<_> = (0..200u64).map(|at| at * 14_000..at * 14_000 + 9_000).collect();
        let want = |range: &std::ops::Range<u64>| Want {
            range: range.clone(),
            cost: 9_000,
            urgency: Urgency::Demand,
            order: 0,
        };
        let mut wants = file.want(parts.iter().map(want).collect());
        let mut come = 0;
        while let Some(delivery) = wants.next().await {
            let delivery = delivery.unwrap();
            let range = parts[delivery.index].clone();
            assert!(delivery.bytes[..] == content[range.start as usize..range.end as usize]);
            come += 1;
        }
        assert_eq!(come, 200);
        let asked = asked.lock().clone();
        let doors = asked.iter().filter(|entry| *entry == "door").count();
        let pools: std::collections::BTreeSet<_> =
            asked.iter().filter(|entry| *entry != "door").collect();
        assert!(pools.len() > 1, "{pools:?}");
        assert_eq!(doors, pools.len(), "each connection asks for its own address, once");
        let refusals = asked.len() - doors - pools.len();
        assert!(uses > 1 || refusals > 0, "no address was used up");
        let report = remote.report();
        assert_eq!(report.requests as usize, asked.len(), "{report}");
    }
}
