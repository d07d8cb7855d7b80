//! Origins that want a credential: the proxy's own, or that of each client.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farroot_serve::{Config, Origin, OriginCredential, Protection, Server};
use futures::future::BoxFuture;
use remote::Remote;
use remote::address::LentToken;
use remote::source::network::{Network, Stream};
use serde_json::json;

use super::clients::{HttpClient, Session, bearer};
use super::tokens::{changed, claims};
use super::{Site, WLCG, content, rules, write};

const ANSWER_KEPT: Duration = Duration::from_secs(60);

/// An origin that lets those read who know one of these tokens.
pub fn origin(site: &Site, tokens: &[&str]) -> Server {
    let file = site.file("origin-tokens");
    write(&file, &tokens.join("\n"));
    let protection = Protection { tls: site.tls(), tokens: Some(file), ..Protection::default() };
    Server::start(Config { protection, ..Config::new(site.file("files")) }).unwrap()
}

pub fn shown(credential: &OriginCredential) -> Vec<Origin> {
    let origins = ["https://127.0.0.1:*", "roots://127.0.0.1:*"];
    let origin = |text: &str| text.parse::<Origin>().unwrap().with_credential(credential.clone());
    origins.map(|text| origin(text).unwrap()).into()
}

fn is_anywhere_below(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => is_anywhere_below(&path, text),
        path => {
            let bytes = fs::read(path).unwrap_or_default();
            bytes.windows(text.len()).any(|part| part == text.as_bytes())
        }
    })
}

fn until(event: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{event}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Rules of the proxy let ada, bob and nobody read; the origin refuses bob, and nobody.
#[test]
fn an_origin_decides_for_each_token_in_any_order() {
    let site = Site::new();
    let token = |name: &str| site.wlcg.token("w1", &changed(&claims(WLCG), json!({"sub": name})));
    let tokens = [token("ada"), token("bob")];
    let origin = origin(&site, &[&tokens[0]]);
    let people = [Some(&tokens[0]), Some(&tokens[1]), None];
    let statuses = [200, 403, 401];
    let mut protection = site.protection();
    protection.rules = rules(&[("*", "anyone")]);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let cache = tempfile::tempdir().unwrap();
        let origins = shown(&OriginCredential::Passthrough(ANSWER_KEPT));
        let proxy = site.proxy(protection.clone(), origins, cache.path());
        for folder in ["store", "group"] {
            for pass in ["cold", "warm", "again"] {
                for person in order {
                    let token = people[person].map(String::as_str);
                    let case = format!("{order:?} {pass} {folder} {person}");
                    let header = token.map(bearer).unwrap_or_default();
                    let path = format!("/{}{folder}/f", origin.http_url());
                    let mut http = HttpClient::new(&proxy, &site.certificate);
                    let answer = http.ask("GET", &path, &header, "");
                    assert_eq!(answer.status, statuses[person], "{case}: {}", answer.head);
                    let may = person == 0;
                    assert_eq!(answer.body == content(folder), may, "{case}");
                    let only = format!("{header}Cache-Control: only-if-cached\r\n");
                    let cached = http.ask("GET", &path, &only, "");
                    assert!(may || cached.body != content(folder), "{case}");
                    let mut session = Session::new(&proxy, &site.certificate, token);
                    let path = format!("/{}{folder}/f", origin.root_url());
                    let (file, open) = session.open(&path);
                    let read = session.ask(|client, now| client.read(now, file, 0..10));
                    assert_eq!(session.refusal(open).is_none(), may, "{case}");
                    assert_eq!(session.outcome(read).is_ok(), may, "{case}");
                    let stat = session.ask(|client, now| client.stat(now, &path));
                    assert_eq!(session.refusal(stat).is_none(), may, "{case}");
                    let checksum = session.ask(|client, now| client.query_checksum(now, &path));
                    assert_eq!(session.refusal(checksum).is_none(), may, "{case}");
                }
                proxy.flush();
            }
        }
        // The signatures, which alone are secret.
        for token in &tokens {
            let signature = token.rsplit_once('.').unwrap().1;
            assert!(!is_anywhere_below(cache.path(), signature), "a token is stored");
        }
    }
}

/// The origin is asked once for each token and file, and what it has said ends.
#[test]
fn an_answer_counts_for_a_while() {
    let site = Site::new();
    let ada = site.wlcg.token("w1", &claims(WLCG));
    let origin = origin(&site, &[&ada]);
    let mut protection = site.protection();
    protection.rules = rules(&[("*/store", "scope:wlcg")]);
    let cache = tempfile::tempdir().unwrap();
    let origins = shown(&OriginCredential::Passthrough(Duration::from_secs(2)));
    let proxy = site.proxy(protection, origins, cache.path());
    let path = format!("/{}store/f", origin.http_url());
    let mut http = HttpClient::new(&proxy, &site.certificate);
    let mut reads = || http.ask("GET", &path, &bearer(&ada), "").status;
    assert_eq!(reads(), 200);
    proxy.flush();
    let before = proxy.figures().unwrap().origin_opens;
    // The origin takes the right away, which counts from the next time that it is asked.
    write(&site.file("origin-tokens"), "another\n");
    origin.reload().unwrap();
    until("the right ends", || reads() == 403);
    write(&site.file("origin-tokens"), &ada);
    origin.reload().unwrap();
    until("a refusal counts for seconds", || reads() == 200);
    assert!(proxy.figures().unwrap().origin_opens > before);
}

/// The service's own token, which a tool renews in place.
#[test]
fn a_service_has_a_token_of_its_own() {
    let site = Site::new();
    let origin = origin(&site, &["marker-service"]);
    let file = site.file("service-token");
    write(&file, "marker-wrong\n");
    let cache = tempfile::tempdir().unwrap();
    let origins = shown(&OriginCredential::Token(file.clone()));
    let proxy = site.proxy(site.protection(), origins, cache.path());
    let reader = site.wlcg.token("w1", &claims(WLCG));
    let mut http = HttpClient::new(&proxy, &site.certificate);
    let path = format!("/{}store/f", origin.http_url());
    let root = format!("/{}store/f", origin.root_url());
    let opens = |token: Option<&str>| {
        let mut session = Session::new(&proxy, &site.certificate, token);
        let (_, open) = session.open(&root);
        session.refusal(open).is_none()
    };
    assert_eq!(http.ask("GET", &path, &bearer(&reader), "").status, 403);
    assert!(!opens(Some(&reader)));
    write(&file, "marker-service\n");
    until("the new token is used", || {
        http.ask("GET", &path, &bearer(&reader), "").status == 200 && opens(Some(&reader))
    });
    // Nobody reads with it whom no rule lets.
    assert_eq!(http.ask("GET", &path, "", "").status, 401);
    assert_eq!(http.ask("GET", &path, &bearer("marker-listed"), "").status, 403);
    assert!(!opens(None) && !opens(Some("marker-listed")));
    assert!(!is_anywhere_below(cache.path(), "marker-"), "a token is stored");
}

#[test]
fn a_credential_needs_rules() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let far = farroot_serve::Forwarding {
        settings: site.settings(cache.path()),
        origins: shown(&OriginCredential::Token(site.file("tokens"))),
        secret: None,
        access_log: None,
    };
    let content = farroot_serve::Content::Far(Box::new(far));
    let error = Server::start(Config::of(content)).unwrap_err();
    assert!(error.to_string().contains("no rule says who may then read"), "{error}");
}

/// A network without servers.
struct Unreachable;

impl Network for Unreachable {
    fn connect(&self, _: &str, _: u16) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> {
        Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
    }
}

/// Regression: each token of a client left a server with its secret in the reader for good.
#[tokio::test(start_paused = true)]
async fn a_token_that_is_given_back_leaves_no_server_behind() {
    let network: Arc<dyn Network> = Arc::new(Unreachable);
    let remote = Remote::start(remote::Config::default(), network.clone());
    let mut servers = Vec::new();
    for number in 0..20 {
        let lent = LentToken::new(format!("marker-{number}").into());
        remote.open_bytes(&lent.on("https://data.example/f")).await.unwrap_err();
        // Each server has the network.
        servers.push(Arc::strong_count(&network));
    }
    assert!(servers[19] <= servers[4], "{servers:?}");
}
