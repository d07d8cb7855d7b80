//! No secret is in a text that can be printed.

use std::time::SystemTime;

use farroot_credentials::{Candidate, Choice, Kind, State, TokenFrom};

use crate::grid::Grid;
use crate::home::Home;
use crate::tokens::token;

#[test]
fn debug_and_display_show_no_secret() {
    let grid = Grid::new();
    let proxy = grid.proxy("proxy", 1);
    grid.home.write(&format!("tmp/x509up_u{}", Home::user()), &proxy, 0o600);
    let bearer = token(r#"{"sub":"ada","jti":"marker"}"#);
    let variables = [
        ("BEARER_TOKEN", bearer.as_str()),
        ("AWS_ACCESS_KEY_ID", "NAME"),
        ("AWS_SECRET_ACCESS_KEY", "marker-secret"),
        ("AWS_SESSION_TOKEN", "marker-session"),
    ];
    let secret = Some(TokenFrom::Secret("marker-given".into()));
    let credential_store = grid.home.credential_store(&variables);
    let given = credential_store.with(Choice { token: secret, ..Choice::default() });
    let printed = [
        format!("{credential_store:?} {given:?}"),
        format!("{:?}", credential_store.token().unwrap()),
        format!("{:?}", given.token().unwrap()),
        format!("{:?}", credential_store.identity().unwrap()),
        format!("{:?}", credential_store.s3_keys().unwrap()),
        format!("{:?}", credential_store.candidates(SystemTime::now())),
    ];
    let key = String::from_utf8(grid.file("proxy.key")).unwrap();
    let body: String = key.lines().filter(|line| !line.starts_with('-')).collect();
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, &body).unwrap();
    // The modulus, which is public, comes first, the primes at the end.
    let line = &body[body.len() - 100..body.len() - 60];
    let secret = &bytes[bytes.len() - 40..][..12];
    let listed = format!("{secret:?}");
    let listed = listed.trim_matches(['[', ']']);
    for text in printed {
        for secret in ["marker", &bearer, line, listed] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}

#[test]
fn lists_say_what_would_be_used_and_what_not() {
    let grid = Grid::new();
    let name = format!("tmp/bt_u{}", Home::user());
    grid.home.write(&name, token(r#"{"sub":"ada","scope":"storage.read:/"}"#), 0o600);
    grid.home.write(&format!("tmp/x509up_u{}", Home::user()), grid.proxy("voms", 1), 0o640);
    let listed = |variables: &[(&str, &str)], kind| -> Vec<Candidate> {
        let all = grid.home.credential_store(variables).candidates(SystemTime::now());
        all.into_iter().filter(|candidate| candidate.kind == kind).collect()
    };
    let tokens = listed(&[], Kind::Token);
    assert_eq!(tokens.len(), 1);
    assert_eq!((&tokens[0].state, tokens[0].mode), (&State::Used, Some(0o600)));
    assert_eq!(tokens[0].owner.as_deref(), Some("ada"));
    assert_eq!(tokens[0].notes, ["allows storage.read:/"]);
    let tokens = listed(&[("BEARER_TOKEN", "abc")], Kind::Token);
    assert_eq!((&tokens[0].state, &tokens[1].state), (&State::Used, &State::Second));
    let proxies = listed(&[], Kind::X509);
    assert!(matches!(&proxies[0].state, State::Unusable(why) if why.to_string().contains("chmod")));
    assert_eq!(proxies[0].mode, Some(0o640));
    assert_eq!(proxies[1].state, State::Absent);
    let unwanted = listed(&[("XrdSecPROTOCOL", "gsi")], Kind::Token);
    assert_eq!(unwanted[0].state, State::Unwanted);
}
