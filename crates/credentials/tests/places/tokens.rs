//! Tokens in each place that the WLCG's document has, and files that are refused.

use std::os::unix::fs::{chown, lchown, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use farroot_credentials::{Choice, CredentialStore, Place, Reason, TokenFrom, Unusable};
use secrecy::ExposeSecret;

use crate::home::{Home, set_mode};

/// A token with these claims and no signature worth the name.
pub fn token(claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.{}", part(r#"{"alg":"ES256"}"#), part(claims), part("signature"))
}

fn text(credential_store: &CredentialStore) -> Option<String> {
    let token = credential_store.token().unwrap()?;
    Some(token.secret.expose_secret().to_owned())
}

fn refusal(credential_store: &CredentialStore) -> Unusable {
    credential_store.token().unwrap_err()
}

fn seconds_from_now(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    i64::try_from(now).unwrap() + seconds
}

#[test]
fn places_are_looked_at_in_order() {
    let home = Home::new();
    let name = format!("bt_u{}", Home::user());
    let file = home.write("named", "of-file", 0o600);
    home.write(&format!("run/{name}"), "of-session", 0o600);
    home.write(&format!("tmp/{name}"), "of-tmp", 0o600);
    home.write("condor/scitokens.use", "of-job", 0o600);
    let run = home.path("run");
    let condor = home.path("condor");
    let all = [
        ("BEARER_TOKEN", "of-variable"),
        ("BEARER_TOKEN_FILE", file.to_str().unwrap()),
        ("XDG_RUNTIME_DIR", run.to_str().unwrap()),
        ("_CONDOR_CREDS", condor.to_str().unwrap()),
    ];
    let found = |variables: &[(&str, &str)]| text(&home.credential_store(variables)).unwrap();
    assert_eq!(found(&all), "of-variable");
    assert_eq!(found(&all[1..]), "of-file");
    assert_eq!(found(&all[2..]), "of-session");
    assert_eq!(found(&all[3..]), "of-tmp");
    std::fs::remove_file(home.path(&format!("tmp/{name}"))).unwrap();
    assert_eq!(found(&all[3..]), "of-job");
    assert_eq!(text(&home.credential_store(&[])), None);
}

#[test]
fn a_caller_goes_before_all_places() {
    let home = Home::new();
    let file = home.write("mine", "of-call\n", 0o600);
    let variables = [("BEARER_TOKEN", "of-variable")];
    let credential_store = home.credential_store(&variables);
    let token = Some(TokenFrom::File(file));
    assert_eq!(
        text(&credential_store.with(Choice { token, ..Choice::default() })).unwrap(),
        "of-call"
    );
    let token = Some(TokenFrom::Secret(" given ".into()));
    assert_eq!(
        text(&credential_store.with(Choice { token, ..Choice::default() })).unwrap(),
        "given"
    );
    let token = Some(TokenFrom::File(home.path("nowhere")));
    let refused = refusal(&credential_store.with(Choice { token, ..Choice::default() }));
    assert_eq!(refused.reason, Reason::Missing);
}

#[test]
fn blanks_are_stripped_and_an_empty_place_is_passed() {
    let home = Home::new();
    let empty = home.write("empty", " \n\t\x0b\x0c\r", 0o600);
    home.write(&format!("tmp/bt_u{}", Home::user()), "\x0b abc.def \r\n", 0o600);
    let variables = [("BEARER_TOKEN", "  "), ("BEARER_TOKEN_FILE", empty.to_str().unwrap())];
    assert_eq!(text(&home.credential_store(&variables)).unwrap(), "abc.def");
}

#[test]
fn a_token_that_is_none_stops_the_search() {
    let home = Home::new();
    home.write(&format!("tmp/bt_u{}", Home::user()), "good", 0o600);
    for bad in ["two words", "-----BEGIN CERTIFICATE-----", "gr\u{fc}n"] {
        let refused = refusal(&home.credential_store(&[("BEARER_TOKEN", bad)]));
        assert!(matches!(refused.reason, Reason::Malformed(_)), "{refused}");
        assert!(!refused.to_string().contains("words"), "{refused}");
    }
    let missing = home.credential_store(&[("BEARER_TOKEN_FILE", "/nowhere/token")]);
    assert_eq!(refusal(&missing).reason, Reason::Missing);
}

#[test]
fn files_that_others_can_read_or_made_are_refused() {
    let home = Home::new();
    let path = home.write("token", "abc", 0o640);
    let credential_store = home.credential_store(&[("BEARER_TOKEN_FILE", path.to_str().unwrap())]);
    let refused = refusal(&credential_store);
    assert_eq!(refused.reason, Reason::Mode(0o640));
    let expected = format!(
        "the token in {0} (from BEARER_TOKEN_FILE) is open to other users (mode 640); chmod 600 \
         {0}",
        path.display()
    );
    assert_eq!(refused.to_string(), expected);
    set_mode(&path, 0o400);
    assert_eq!(text(&credential_store).unwrap(), "abc");
    home.write("large", vec![b'a'; (64 << 10) + 1], 0o600);
    let large = home.path("large");
    let credential_store = home.credential_store(&[("BEARER_TOKEN_FILE", large.to_str().unwrap())]);
    assert_eq!(refusal(&credential_store).reason, Reason::TooLarge((64 << 10) + 1));
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let home = Home::new();
    let pipe = home.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero"), &home.path("tmp")] {
        let credential_store =
            home.credential_store(&[("BEARER_TOKEN_FILE", path.to_str().unwrap())]);
        assert_eq!(refusal(&credential_store).reason, Reason::NotAFile, "{}", path.display());
    }
}

#[test]
fn a_link_is_judged_by_what_it_leads_to() {
    let home = Home::new();
    home.write("target", "abc", 0o644);
    let link = home.path(&format!("tmp/bt_u{}", Home::user()));
    symlink(home.path("target"), &link).unwrap();
    assert_eq!(refusal(&home.credential_store(&[])).reason, Reason::Mode(0o644));
    set_mode(&home.path("target"), 0o600);
    assert_eq!(text(&home.credential_store(&[])).unwrap(), "abc");
}

/// A link of another user to a private file: its first line was sent to servers as a token.
#[test]
fn a_link_of_another_user_is_not_followed() {
    let home = Home::new();
    home.write("target", "abc", 0o600);
    let link = home.path(&format!("tmp/bt_u{}", Home::user()));
    symlink(home.path("target"), &link).unwrap();
    if Home::user() != 0 {
        return eprintln!("SKIPPED: only root can give a link to another user");
    }
    lchown(&link, Some(4_000), None).unwrap();
    assert_eq!(refusal(&home.credential_store(&[])).reason, Reason::Owner(4_000));
}

#[test]
fn a_token_that_another_user_left_in_tmp_is_refused() {
    let home = Home::new();
    let path = home.write(&format!("tmp/bt_u{}", Home::user()), "planted", 0o600);
    if Home::user() != 0 {
        return eprintln!("SKIPPED: only root can give a file to another user");
    }
    chown(&path, Some(4_000), None).unwrap();
    let refused = refusal(&home.credential_store(&[]));
    assert_eq!(refused.reason, Reason::Owner(4_000));
    assert!(refused.to_string().contains("remove"), "{refused}");
}

#[test]
fn a_file_is_read_again_at_each_call() {
    let home = Home::new();
    let credential_store = home.credential_store(&[]);
    let name = format!("tmp/bt_u{}", Home::user());
    home.write(&name, "first", 0o600);
    assert_eq!(text(&credential_store).unwrap(), "first");
    home.write(&name, "second", 0o600);
    assert_eq!(text(&credential_store).unwrap(), "second");
}

#[test]
fn claims_are_read_and_an_expired_token_is_not_used() {
    let home = Home::new();
    let claims = format!(
        r#"{{"iss":"https://issuer.example","sub":"ada","aud":["a","b"],"exp":{}.5,"nbf":1,
            "scope":"storage.read:/cms openid"}}"#,
        seconds_from_now(3_600)
    );
    let long = token(&claims);
    let found = home.credential_store(&[("BEARER_TOKEN", &long)]).token().unwrap().unwrap();
    let claims = found.claims.unwrap();
    assert_eq!(claims.issuer.as_deref(), Some("https://issuer.example"));
    assert_eq!(claims.audience, ["a", "b"]);
    assert_eq!(claims.scope, ["storage.read:/cms", "openid"]);
    assert_eq!(claims.not_before, Some(UNIX_EPOCH + Duration::from_secs(1)));
    assert_eq!(found.place, Place::Variable("BEARER_TOKEN"));

    let old = token(&format!(r#"{{"exp":{}}}"#, seconds_from_now(-7_300)));
    let refused = refusal(&home.credential_store(&[("BEARER_TOKEN", &old)])).to_string();
    assert_eq!(
        refused,
        "the token in the variable BEARER_TOKEN expired 2 h 1 min ago; fetch a new token, for \
         example with htgettoken or oidc-token"
    );
}

#[test]
fn tokens_that_are_no_json_web_tokens_are_tokens() {
    let home = Home::new();
    let five = "a".repeat(5_000);
    for opaque in ["zteos64:MDAwMDAwNzR4nONmYGBg=", "MDAxY2xvY2F0aW9u", "a.b.c", &five] {
        let found = home.credential_store(&[("BEARER_TOKEN", opaque)]).token().unwrap().unwrap();
        assert_eq!((found.secret.expose_secret(), found.claims), (opaque, None));
    }
    // Times that no clock shows, and claims of other types.
    let odd = token(r#"{"exp":1e300,"nbf":-4,"iss":7,"aud":{},"scope":[1,"a"]}"#);
    let found = home.credential_store(&[("BEARER_TOKEN", &odd)]).token().unwrap().unwrap();
    let claims = found.claims.unwrap();
    assert_eq!((claims.expires, claims.issuer, claims.scope), (None, None, vec!["a".to_owned()]));
}
