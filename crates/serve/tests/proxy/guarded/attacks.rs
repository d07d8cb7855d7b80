//! Tokens that prove nothing, paths that mean another file, and issuers that misbehave.

use std::time::{Duration, Instant};

use farroot_serve::{IssuerSettings, Protection, Server};
use serde_json::{Value, json};
use xrootd::error::ErrorCode;

use super::clients::{HttpClient, Session, bearer};
use super::issuer::{FakeIssuer, Reply};
use super::tokens::{AUDIENCE, Signer, changed, claims, now, unsigned, with_public_key};
use super::{SCI, Site, WLCG, content, rules};

/// A token reads nothing of `store`, over both protocols, for this reason.
fn refused(site: &Site, proxy: &Server, token: &str, why: &str) {
    let mut http = HttpClient::new(proxy, &site.certificate);
    let path = format!("/{}store/f", site.origin.http_url());
    let answer = http.ask("GET", &path, &bearer(token), "");
    assert_eq!(answer.status, 401, "{why}: {}", answer.head);
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains(why), "{why}: {text}");
    let challenge = "www-authenticate: bearer realm=\"farroot\", error=\"invalid_token\"";
    assert!(answer.head.contains(challenge), "{}", answer.head);
    let public = format!("/{}pub/f", site.origin.http_url());
    assert_eq!(http.ask("GET", &public, &bearer(token), "").status, 200, "{why}");
    // `ztn` takes no longer ones.
    if token.len() > 60_000 {
        return;
    }
    let mut session = Session::new(proxy, &site.certificate, Some(token));
    let path = format!("/{}store/f", site.origin.root_url());
    let (_, open) = session.open(&path);
    assert_eq!(session.refusal(open), Some(ErrorCode::NOT_AUTHORIZED), "{why}");
    assert!(session.said(open).contains(why), "{why}: {}", session.said(open));
}

/// Tokens with the claims of a good one that the issuer has not signed so, and why they are
/// refused.
fn wrongly_signed(site: &Site) -> Vec<(String, &'static str)> {
    let good = claims(WLCG);
    let Signer::Rsa(key) = &site.wlcg else { panic!("RSA") };
    let public = rsa::traits::PublicKeyParts::n(*key).to_bytes_be();
    let jwk = site.wlcg.public("w1").to_string();
    let stranger = Signer::p256();
    let head = |alg: &str| json!({"alg": alg, "typ": "JWT", "kid": "w1"});
    let with_key = json!({"alg": "ES256", "kid": "w1", "jwk": stranger.public("w1")});
    let with_place = json!({"alg": "ES256", "kid": "w1", "jku": "https://127.0.0.1/keys"});
    let critical = json!({"alg": "RS256", "kid": "w1", "crit": ["exp"]});
    let algorithm = "not signed by RS256 or ES256";
    let wrong = "the signature of the token is wrong";
    let no_key = "no such key";
    vec![
        (unsigned(&head("none"), &good), algorithm),
        (unsigned(&head("None"), &good), algorithm),
        (unsigned(&head("RS256"), &good), wrong),
        (with_public_key(&public, &head("HS256"), &good), algorithm),
        (with_public_key(jwk.as_bytes(), &head("HS256"), &good), algorithm),
        (with_public_key(&public, &head("RS256"), &good), wrong),
        (site.wlcg.signed(&head("RS512"), &good), algorithm),
        (site.wlcg.signed(&head("PS256"), &good), algorithm),
        // Keys of others, under the name of this issuer's key.
        (stranger.token("w1", &good), no_key),
        (stranger.signed(&head("RS256"), &good), wrong),
        (site.sci.token("s1", &good), no_key),
        (site.wlcg.token("s1", &good), no_key),
        (site.wlcg.token("w1", &changed(&good, json!({"iss": SCI}))), no_key),
        (site.sci.signed(&json!({"alg": "RS256", "kid": "s1"}), &claims(SCI)), no_key),
        (stranger.signed(&with_key, &good), no_key),
        (stranger.signed(&with_place, &good), no_key),
        (site.wlcg.signed(&critical, &good), "malformed"),
    ]
}

/// Parts of tokens, and texts that are none.
fn malformed(site: &Site) -> Vec<(String, &'static str)> {
    let good = claims(WLCG);
    let valid = site.wlcg.token("w1", &good);
    let (body, signature) = valid.rsplit_once('.').unwrap();
    let other = site.wlcg.token("w1", &changed(&good, json!({"scope": "storage.read:/"})));
    let other_body = other.rsplit_once('.').unwrap().0;
    let wrong = "the signature of the token is wrong";
    let padding = changed(&good, json!({"padding": "x".repeat(20_000)}));
    vec![
        (format!("{other_body}.{signature}"), wrong),
        (format!("{body}."), wrong),
        (format!("{body}.{}", &signature[..340]), wrong),
        (format!("{body}.***"), "malformed"),
        ("a.b.c".to_owned(), "malformed"),
        ("..".to_owned(), "malformed"),
        ("no token at all".to_owned(), "not known here"),
        (format!("{valid}.{signature}"), "malformed"),
        (site.wlcg.token("w1", &padding), "too long"),
        ("x".repeat(9000), "too long"),
    ]
}

/// Other values of claims, which the issuer has signed, and why such a token is refused.
fn wrong_claims() -> Vec<(Value, &'static str)> {
    let issuer = "issuer of the token is not accepted";
    let audience = "for other servers";
    let early = now() + 3600;
    vec![
        (json!({"iss": "https://evil.example"}), issuer),
        (json!({"iss": "https://wlcg.example"}), issuer),
        (json!({"iss": "https://wlcg.example/x"}), issuer),
        (json!({"iss": null}), "malformed"),
        (json!({"iss": [WLCG]}), "malformed"),
        (json!({"aud": "https://other.example"}), audience),
        (json!({"aud": format!("{AUDIENCE}/")}), audience),
        (json!({"aud": []}), audience),
        (json!({"aud": null}), audience),
        (json!({"aud": {"x": AUDIENCE}}), "malformed"),
        (json!({"aud": "https://wlcg.cern.ch/jwt/v1/any"}), audience),
        (json!({"exp": now() - 1}), "expired"),
        (json!({"exp": 0}), "expired"),
        (json!({"exp": -1}), "malformed"),
        (json!({"exp": null}), "malformed"),
        (json!({"exp": early.to_string()}), "malformed"),
        (json!({"exp": 1e300}), "malformed"),
        (json!({"nbf": early}), "not valid yet"),
        (json!({"nbf": "tomorrow"}), "malformed"),
        (json!({"nbf": 1e300}), "malformed"),
        (json!({"scope": ["storage.read:/store"]}), "malformed"),
    ]
}

#[test]
fn a_token_that_proves_nothing_reads_nothing() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(site.protection(), Vec::new(), cache.path());
    let good = claims(WLCG);
    let token = |other: Value| site.wlcg.token("w1", &changed(&good, other));
    let of_claims = wrong_claims().into_iter().map(|(other, why)| (token(other), why));
    let all = wrongly_signed(&site).into_iter().chain(malformed(&site)).chain(of_claims);
    for (token, why) in all {
        refused(&site, &proxy, &token, why);
    }
    // The same, right: it is not the server that refuses all.
    let mut http = HttpClient::new(&proxy, &site.certificate);
    let path = format!("/{}store/f", site.origin.http_url());
    for other in [
        json!({}),
        json!({"aud": ["https://other.example", AUDIENCE]}),
        json!({"nbf": null}),
        json!({"nbf": now() + 30}),
        json!({"exp": (now() + 60) as f64 + 0.5}),
    ] {
        let answer = http.ask("GET", &path, &bearer(&token(other)), "");
        assert_eq!(answer.status, 200, "{}", answer.head);
        assert!(answer.body == content("store"));
    }
    // A key need not be named where there is one.
    let unnamed = site.wlcg.signed(&json!({"alg": "RS256"}), &good);
    assert_eq!(http.ask("GET", &path, &bearer(&unnamed), "").status, 200);
    // Two headers are one too many.
    let twice = format!("{}{}", bearer("marker-other"), bearer(&token(json!({}))));
    assert_eq!(http.ask("GET", &path, &twice, "").status, 401);
}

#[test]
fn no_scope_reaches_beyond_its_folder() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(site.protection(), Vec::new(), cache.path());
    let mut http = HttpClient::new(&proxy, &site.certificate);
    let path = format!("/{}store/f", site.origin.http_url());
    for (scope, status) in [
        ("storage.read:/store", 200),
        ("openid  storage.read:/store  profile", 200),
        ("storage.read://store//", 200),
        ("storage.read:/%73tore", 200),
        ("read:/store", 200),
        ("storage.read:/", 200),
        ("storage.read:/sto", 403),
        ("storage.read:/storefront", 403),
        ("storage.read:/STORE", 403),
        ("storage.read:/store/f/g", 403),
        ("storage.read:store", 403),
        ("storage.read:", 403),
        ("storage.read", 403),
        ("storage.modify:/store storage.create:/store storage.stage:/store write:/store", 403),
        ("storage.read:/other/../store", 403),
        ("storage.read:/other/%2e%2e/store", 403),
        ("storage.read:/./store", 403),
        ("storage.read:/%2573tore", 403),
        ("storage.read:/store%00", 403),
        ("Storage.Read:/store", 403),
        ("storage.read:/a\tstorage.read:/store", 403),
        ("", 403),
    ] {
        let token = site.wlcg.token("w1", &changed(&claims(WLCG), json!({"scope": scope})));
        let answer = http.ask("GET", &path, &bearer(&token), "");
        assert_eq!(answer.status, status, "{scope:?}: {}", answer.head);
    }
}

#[test]
fn no_path_means_another_file() {
    let site = Site::new();
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(site.protection(), Vec::new(), cache.path());
    let token = site.wlcg.token("w1", &claims(WLCG));
    let mut http = HttpClient::new(&proxy, &site.certificate);
    for (path, statuses) in [
        ("store/f", &[200][..]),
        ("store//f", &[200]),
        ("%73tore/f", &[200]),
        ("store%2Ff", &[200]),
        ("storefront/f", &[403]),
        ("Store/f", &[403]),
        ("store/../group/f", &[400]),
        ("store/%2e%2e/group/f", &[400]),
        ("store/%252e%252e/group/f", &[400]),
        ("store%2f..%2fgroup/f", &[400]),
        ("store/..%5cgroup/f", &[400]),
        ("group%2Ff", &[403]),
        ("%67roup/f", &[403]),
        ("%2567roup/f", &[403]),
        ("store%5Cf", &[403]),
        ("store%255Cf", &[403]),
        ("group/f?x=/store/", &[403]),
        ("group/f?authz=1", &[403]),
        ("group/f%3F/store/f", &[403]),
    ] {
        let path = format!("/{}{path}", site.origin.http_url());
        let answer = http.ask("GET", &path, &bearer(&token), "");
        assert!(statuses.contains(&answer.status), "{path}: {}", answer.head);
        if answer.status == 200 {
            assert!(answer.body == content("store"), "{path}");
        }
    }
    let mut session = Session::new(&proxy, &site.certificate, Some(&token));
    for (path, wanted) in [
        ("store/f", None),
        ("/store//f", None),
        ("storefront/f", Some(ErrorCode::NOT_AUTHORIZED)),
        ("%67roup/f", Some(ErrorCode::NOT_AUTHORIZED)),
        ("%73tore/f", Some(ErrorCode::NOT_AUTHORIZED)),
        ("store/../group/f", Some(ErrorCode::ARG_INVALID)),
        ("store/%2e%2e/group/f", Some(ErrorCode::ARG_INVALID)),
    ] {
        let path = format!("/{}{path}", site.origin.root_url());
        let (_, open) = session.open(&path);
        assert_eq!(session.refusal(open), wanted, "{path}");
    }
}

/// A proxy with one issuer for each way in which an issuer of this server behaves.
fn of_issuers(site: &Site, issuer: &FakeIssuer, names: &[&str]) -> Protection {
    let settings = |name: &&str| IssuerSettings {
        name: (*name).to_owned(),
        url: issuer.url(name),
        audience: vec![AUDIENCE.to_owned()],
        base: vec!["*".to_owned()],
        keys: None,
    };
    let read = names.iter().map(|name| format!("scope:{name}")).collect();
    let mut rules = rules(&[("*/pub", "anyone"), ("*/store", "anyone")]);
    rules[1].read = read;
    let issuers = names.iter().map(settings).collect();
    Protection { tls: site.tls(), issuers, rules, ..Protection::default() }
}

fn reads(
    site: &Site,
    http: &mut HttpClient<impl std::io::Read + std::io::Write>,
    token: &str,
) -> u16 {
    http.ask("GET", &format!("/{}store/f", site.origin.http_url()), &bearer(token), "").status
}

#[test]
fn keys_are_fetched_once_and_again_for_a_new_name() {
    let site = Site::new();
    let issuer = FakeIssuer::start(&site);
    let first = Signer::p256();
    let second = Signer::p256();
    issuer.describe("a", &issuer.url("a"), &issuer.place("a/keys"));
    issuer.reply("a/keys", Reply::Json(json!({"keys": [first.public("one")]})));
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(of_issuers(&site, &issuer, &["a"]), Vec::new(), cache.path());
    let mut http = HttpClient::new(&proxy, &site.certificate);
    let claims = claims(&issuer.url("a"));
    for _ in 0..3 {
        assert_eq!(reads(&site, &mut http, &first.token("one", &claims)), 200);
    }
    assert_eq!(issuer.requests("a/keys"), 1);
    // The issuer has changed its key.
    issuer.reply("a/keys", Reply::Json(json!({"keys": [second.public("two")]})));
    assert_eq!(reads(&site, &mut http, &second.token("two", &claims)), 200);
    assert_eq!(issuer.requests("a/keys"), 2);
    assert_eq!(reads(&site, &mut http, &first.token("one", &claims)), 401);
    // Names that clients invent cause no further requests.
    for number in 0..20 {
        let token = first.token(&format!("invented-{number}"), &claims);
        assert_eq!(reads(&site, &mut http, &token), 401);
    }
    assert_eq!(issuer.requests("a/keys"), 2);
    // A reload fetches them again, and the old ones count meanwhile.
    issuer.reply("a/keys", Reply::Json(json!({"keys": [first.public("three")]})));
    proxy.reload().unwrap();
    assert_eq!(reads(&site, &mut http, &first.token("three", &claims)), 200);
    assert_eq!(issuer.requests("a/keys"), 3);
    issuer.reply("a/keys", Reply::Status(500));
    proxy.reload().unwrap();
    assert_eq!(reads(&site, &mut http, &first.token("three", &claims)), 200);
    assert_eq!(issuer.requests("a/keys"), 4);
}

#[test]
fn an_issuer_that_misbehaves_proves_nothing_and_holds_nobody_up() {
    let site = Site::new();
    let issuer = FakeIssuer::start(&site);
    let signer = Signer::p256();
    let keys = || Reply::Json(json!({"keys": [signer.public("k")]}));
    let names =
        ["good", "hangs", "huge", "moved", "keys-moved", "plain", "other", "no-keys", "hmac"];
    issuer.reply("keys", keys());
    for name in ["good", "other", "keys-moved"] {
        issuer.describe(name, &issuer.url(name), &issuer.place("keys"));
    }
    issuer.describe("other", &issuer.url("good"), &issuer.place("keys"));
    issuer.describe("keys-moved", &issuer.url("keys-moved"), &issuer.place("keys-moved/keys"));
    issuer.reply("keys-moved/keys", Reply::Moved(issuer.place("keys")));
    issuer.describe("plain", &issuer.url("plain"), "http://127.0.0.1:9/keys");
    issuer.describe("no-keys", &issuer.url("no-keys"), &issuer.place("no-keys/keys"));
    issuer.reply("no-keys/keys", Reply::Json(json!({"keys": []})));
    issuer.describe("hmac", &issuer.url("hmac"), &issuer.place("hmac/keys"));
    let shared = json!({"keys": [{"kty": "oct", "kid": "k", "k": "c2VjcmV0"}]});
    issuer.reply("hmac/keys", Reply::Json(shared));
    issuer.description("hangs", Reply::Hangs);
    issuer.description("huge", Reply::Huge);
    issuer.description("moved", Reply::Moved(issuer.description_of("good")));
    let cache = tempfile::tempdir().unwrap();
    let proxy = site.proxy(of_issuers(&site, &issuer, &names), Vec::new(), cache.path());
    let token = |name: &str| signer.token("k", &claims(&issuer.url(name)));
    let mut http = HttpClient::new(&proxy, &site.certificate);
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| {
            let mut http = HttpClient::new(&proxy, &site.certificate);
            reads(&site, &mut http, &token("hangs"))
        });
        let begin = Instant::now();
        while issuer.requests(&issuer.description_path("hangs")) == 0 {
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        // Others are served meanwhile.
        assert_eq!(reads(&site, &mut http, &token("good")), 200);
        let path = format!("/{}pub/f", site.origin.http_url());
        assert_eq!(http.ask("GET", &path, &bearer(&token("good")), "").status, 200);
        assert_eq!(hanging.join().unwrap(), 401);
    });
    for name in &names[1..] {
        let before = issuer.requests("keys");
        refused(&site, &proxy, &token(name), "keys of the token's issuer cannot be fetched");
        assert_eq!(issuer.requests("keys"), before, "{name}: nothing is fetched elsewhere");
    }
    // It is not tried again and again.
    assert_eq!(issuer.requests(&issuer.description_path("huge")), 1);
    assert_eq!(issuer.requests(&issuer.description_path("hangs")), 1);
}

/// A server that is not verified gives no keys.
#[test]
fn an_issuer_has_to_have_a_certificate() {
    let site = Site::new();
    let other = Site::new();
    let issuer = FakeIssuer::start(&other);
    let signer = Signer::p256();
    issuer.describe("a", &issuer.url("a"), &issuer.place("keys"));
    issuer.reply("keys", Reply::Json(json!({"keys": [signer.public("k")]})));
    let cache = tempfile::tempdir().unwrap();
    let protection = of_issuers(&site, &issuer, &["a"]);
    let proxy = site.proxy(protection.clone(), Vec::new(), cache.path());
    let token = signer.token("k", &claims(&issuer.url("a")));
    refused(&site, &proxy, &token, "keys of the token's issuer cannot be fetched");
    assert_eq!(issuer.requests("keys"), 0);
    let trusting =
        other.proxy(Protection { tls: other.tls(), ..protection }, Vec::new(), cache.path());
    let mut http = HttpClient::new(&trusting, &other.certificate);
    assert_eq!(reads(&site, &mut http, &token), 200);
}
