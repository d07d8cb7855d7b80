//! Bearer tokens: found in the order of the WLCG's document on bearer token discovery, and looked
//! at for messages. Their signatures are the server's to check.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::files::{self, Access};
use crate::{Choice, Environment, Kind, Place, Reason, TokenFrom, Unusable};

/// A bearer token.
#[derive(Debug, Clone)]
pub struct Token {
    /// The token, without blanks around it; visible ASCII only.
    pub secret: SecretString,
    /// Where it was found.
    pub place: Place,
    /// The permissions of its file.
    pub mode: Option<u32>,
    /// Its own claims, for messages only: anyone can write such a thing. `None` where it is not a
    /// JSON Web Token.
    pub claims: Option<Claims>,
    /// It lies beside others, of which that for the server and the path is chosen.
    pub is_among_others: bool,
}

/// The intended use of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUse {
    /// Name of the server, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Path of the file, as the server has it.
    pub path: String,
    /// Whether something is to be changed there.
    pub writes: bool,
}

/// The claims of a token (RFC 7519, section 4.1; RFC 9068). For messages only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// Who issued it (`iss`).
    pub issuer: Option<String>,
    /// Whose it is (`sub`).
    pub subject: Option<String>,
    /// Which servers it is for (`aud`).
    pub audience: Vec<String>,
    /// Its rights (`scope`), in words as `storage.read:/cms`.
    pub scope: Vec<String>,
    /// Until when it is valid (`exp`).
    pub expires: Option<SystemTime>,
    /// From when it is valid (`nbf`).
    pub not_before: Option<SystemTime>,
    /// When it was made (`iat`).
    pub issued: Option<SystemTime>,
}

/// Whether a token is valid, by its own words and a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    /// It has expired so long ago.
    Over(Duration),
    /// It is valid only in so much time.
    Early(Duration),
    /// It is valid for so much longer, where it has an end.
    Good(Option<Duration>),
}

/// Files of HTCondor that are looked at.
const CONDOR_FILES_MAX: usize = 100;

/// A place that may have a token.
pub(crate) enum Lookup {
    Text(SecretString, Place),
    File(Place),
    /// One file of several.
    Among(Place),
}

impl Lookup {
    pub(crate) fn place(&self) -> &Place {
        match self {
            Lookup::Text(_, place) | Lookup::File(place) | Lookup::Among(place) => place,
        }
    }
}

/// The places, in the order in which they are looked at.
pub(crate) fn lookups(environment: &Environment, choice: &Choice) -> Vec<Lookup> {
    match &choice.token {
        Some(TokenFrom::Secret(token)) => {
            return vec![Lookup::Text(token.clone(), Place::Argument)];
        }
        Some(TokenFrom::File(path)) => {
            return vec![Lookup::File(Place::named(path, "the argument token"))];
        }
        None => {}
    }
    let mut lookups = Vec::new();
    if let Some(text) = environment.variable("BEARER_TOKEN") {
        lookups.push(Lookup::Text(text.into(), Place::Variable("BEARER_TOKEN")));
    }
    if let Some(path) = environment.variable("BEARER_TOKEN_FILE") {
        lookups.push(Lookup::File(Place::named(path, "BEARER_TOKEN_FILE")));
    }
    let name = format!("bt_u{}", environment.user_id);
    if let Some(folder) = environment.variable("XDG_RUNTIME_DIR") {
        lookups.push(Lookup::File(Place::usual(PathBuf::from(folder).join(&name))));
    }
    lookups.push(Lookup::File(Place::usual(environment.temporary().join(&name))));
    // Not in the WLCG's document: where HTCondor leaves the tokens of a job, one for each service.
    if let Some(folder) = environment.variable("_CONDOR_CREDS") {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "use"));
        paths.sort();
        paths.truncate(CONDOR_FILES_MAX);
        lookups.extend(paths.into_iter().map(|path| Lookup::Among(Place::usual(path))));
    }
    lookups
}

/// The first token that is there, and those beside which others lie. One that cannot be used is an
/// error: the next place is looked at only where nothing is in this one. Of several files some may
/// be unusable, as long as one is not.
pub(crate) fn find(
    environment: &Environment,
    choice: &Choice,
    now: SystemTime,
) -> Result<Vec<Token>, Unusable> {
    let mut tokens = Vec::new();
    let mut unusable = None;
    for lookup in lookups(environment, choice) {
        let is_among_others = matches!(lookup, Lookup::Among(_));
        if !tokens.is_empty() && !is_among_others {
            continue;
        }
        match take(&lookup, environment.user_id, now) {
            Ok(found) => tokens.extend(found),
            Err(why) if is_among_others => unusable = unusable.or(Some(why)),
            Err(why) => return Err(why),
        }
    }
    match unusable {
        Some(why) if tokens.is_empty() => Err(why),
        _ => Ok(tokens),
    }
}

/// The token for a server and a path: the one that was found first, unless it is for another server
/// or for other paths; else that of several which names the server and, by its scope, the path most
/// closely.
pub fn choose<'a>(tokens: &'a [Token], wanted: &TokenUse) -> Option<&'a Token> {
    let fits = |token: &&Token| {
        let fit = Fit::of(token, wanted);
        !fit.is_elsewhere && !fit.is_uncovered
    };
    let first = tokens.first()?;
    if !first.is_among_others && fits(&first) {
        return Some(first);
    }
    tokens.iter().min_by_key(|token| Fit::of(token, wanted))
}

/// How well a token fits, by its own words: the least is the best.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// It names other servers.
    is_elsewhere: bool,
    /// It allows something, and not this.
    is_uncovered: bool,
    /// Letters of the path that its scope names; none where it speaks of no files.
    covered: Reverse<Option<usize>>,
    /// It does not name this server, as most do not.
    is_for_any: bool,
}

impl Fit {
    fn of(token: &Token, wanted: &TokenUse) -> Fit {
        let none = Claims::default();
        let claims = token.claims.as_ref().unwrap_or(&none);
        let is_elsewhere = !claims.is_for(&wanted.host, wanted.port);
        let covered = claims.scope.iter().filter_map(|word| covered(word, wanted)).max();
        let speaks = claims.scope.iter().any(|word| storage_right(word).is_some());
        Fit {
            is_elsewhere,
            is_uncovered: speaks && covered.is_none(),
            covered: Reverse(covered),
            is_for_any: !claims.names(&wanted.host),
        }
    }
}

/// Whether a word of a scope is a right to read or to write files, and below which path
/// (`storage.read:/cms`, `write:/`).
fn storage_right(word: &str) -> Option<(bool, &str)> {
    let (right, path) = word.split_once(':').unwrap_or((word, "/"));
    let writes = match right {
        "storage.read" | "storage.stage" | "read" => false,
        "storage.modify" | "storage.create" | "write" => true,
        _ => return None,
    };
    path.starts_with('/').then_some((writes, path.trim_end_matches('/')))
}

/// Letters of the wanted path that a right is for; `None` where it is for another. Paths of scopes
/// begin where the issuer's part of the server does, which only the server knows.
fn covered(word: &str, wanted: &TokenUse) -> Option<usize> {
    let (writes, path) = storage_right(word)?;
    if writes != wanted.writes {
        return None;
    }
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let path_parts = parts(path);
    let wanted_parts = parts(&wanted.path);
    let begins = (0..=wanted_parts.len()).any(|at| wanted_parts[at..].starts_with(&path_parts));
    begins.then_some(path.len())
}

/// The token of one place; `None` where there is none.
pub(crate) fn take(lookup: &Lookup, user: u32, now: SystemTime) -> Result<Option<Token>, Unusable> {
    let place = lookup.place();
    let fail = |reason| {
        let place = place.clone();
        Unusable { kind: Kind::Token, name: "the token", place, reason }
    };
    let (secret, mode) = match lookup {
        Lookup::Text(text, _) => (trimmed(text.expose_secret().as_bytes()), None),
        Lookup::File(Place::File { path, .. }) | Lookup::Among(Place::File { path, .. }) => {
            let read = files::read(path, user, Access::Secret).map_err(fail)?;
            match read {
                Some((bytes, mode)) => (trimmed(&bytes), Some(mode)),
                None if place.is_named() => return Err(fail(Reason::Missing)),
                None => return Ok(None),
            }
        }
        Lookup::File(_) | Lookup::Among(_) => return Ok(None),
    };
    let Some(secret) = secret.map_err(|fault| fail(Reason::Malformed(fault)))? else {
        return Ok(None);
    };
    let claims = Claims::of(secret.expose_secret());
    let expires = claims.as_ref().and_then(|claims| claims.expires);
    if let Some(ago) = expires.and_then(|until| now.duration_since(until).ok()) {
        return Err(fail(Reason::Expired(ago)));
    }
    let is_among_others = matches!(lookup, Lookup::Among(_));
    Ok(Some(Token { secret, place: place.clone(), mode, claims, is_among_others }))
}

/// Without blanks around it; `None` where nothing is left.
fn trimmed(bytes: &[u8]) -> Result<Option<SecretString>, String> {
    // As isspace of C99, which has the vertical tab that `trim_ascii` lacks.
    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let Some(from) = bytes.iter().position(|byte| !blank(byte)) else { return Ok(None) };
    let until = bytes.iter().rposition(|byte| !blank(byte)).map_or(from, |last| last + 1);
    let token = &bytes[from..until];
    if token.starts_with(b"-----BEGIN") {
        return Err("it begins as a certificate does".to_owned());
    }
    // Characters that a header or a message carries without quoting; macaroons and tokens of EOS
    // have no others, too.
    match token.iter().position(|byte| !byte.is_ascii_graphic()) {
        Some(at) => Err(format!("character {} is not one of a token", at + 1)),
        None => Ok(Some(String::from_utf8_lossy(token).into_owned().into())),
    }
}

/// Audiences of tokens that are for any server (WLCG Common JWT Profiles; SciTokens).
const ANY_AUDIENCE: [&str; 2] = ["https://wlcg.cern.ch/jwt/v1/any", "any"];

impl Token {
    /// Whether it may go to a server of this name and port: not where it names other servers, and
    /// not this one.
    ///
    /// # Errors
    /// Why it may not.
    pub fn for_server(self, host: &str, port: u16) -> Result<Self, Unusable> {
        let Some(claims) = self.claims.as_ref().filter(|claims| !claims.is_for(host, port)) else {
            return Ok(self);
        };
        let reason = Reason::Elsewhere(claims.audience.join(", "));
        Err(Unusable { kind: Kind::Token, name: "the token", place: self.place, reason })
    }

    /// Whether it says itself that it is for this server: to one that its owner has not named, it
    /// goes for that alone.
    pub fn names_server(&self, host: &str, port: u16) -> bool {
        let named = self.audience().iter().filter_map(|one| server_of(one));
        named.into_iter().any(|(named, its_port)| is_server(named, its_port, host, port))
    }

    fn audience(&self) -> &[String] {
        self.claims.as_ref().map_or(&[], |claims| &claims.audience)
    }
}

fn is_server(named: &str, its_port: Option<u16>, host: &str, port: u16) -> bool {
    named.eq_ignore_ascii_case(host) && its_port.is_none_or(|its| its == port)
}

/// The server that an audience names, with its port where it has one.
fn server_of(audience: &str) -> Option<(&str, Option<u16>)> {
    let (is_url, rest) = match audience.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, audience),
    };
    let authority = rest.split(['/', '?']).next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !host.ends_with(':') && port.parse::<u16>().is_ok() => {
            (host, port.parse().ok())
        }
        _ => (authority, None),
    };
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    (!host.is_empty() && (is_url || host.contains('.'))).then_some((host, port))
}

impl Claims {
    /// Whether it may go to a server, by its audience.
    fn is_for(&self, host: &str, port: u16) -> bool {
        let is_fit = |one: &String| match server_of(one) {
            _ if ANY_AUDIENCE.iter().any(|any| any.eq_ignore_ascii_case(one)) => true,
            Some((named, its_port)) => is_server(named, its_port, host, port),
            // A word that a site and its tokens agree on.
            None => true,
        };
        self.audience.is_empty() || self.audience.iter().any(is_fit)
    }

    /// Whether its audience names this server.
    fn names(&self, host: &str) -> bool {
        let named = self.audience.iter().filter_map(|one| server_of(one));
        named.into_iter().any(|(named, _)| named.eq_ignore_ascii_case(host))
    }

    /// Those of a JSON Web Token; `None` where it is another thing.
    pub fn of(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let _header = parts.next()?;
        let payload = parts.next()?;
        let _signature = parts.next()?;
        let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
        let value: Value = serde_json::from_slice(&payload).ok()?;
        let claims = value.as_object()?;
        let text = |name: &str| Some(shown(claims.get(name)?.as_str()?));
        let time = |name: &str| instant(claims.get(name)?);
        Some(Claims {
            issuer: text("iss"),
            subject: text("sub"),
            audience: words(claims.get("aud"), false),
            // SciTokens of the first kind have `scp` and lists.
            scope: words(claims.get("scope").or_else(|| claims.get("scp")), true),
            expires: time("exp"),
            not_before: time("nbf"),
            issued: time("iat"),
        })
    }

    /// Whether it is valid: a server refuses a token made in its future, too.
    pub fn validity(&self, now: SystemTime) -> Validity {
        if let Some(ago) = self.expires.and_then(|until| now.duration_since(until).ok()) {
            return Validity::Over(ago);
        }
        let from = self.not_before.max(self.issued);
        match from.and_then(|from| from.duration_since(now).ok()).filter(|left| !left.is_zero()) {
            Some(left) => Validity::Early(left),
            None => Validity::Good(self.expires.and_then(|until| until.duration_since(now).ok())),
        }
    }
}

/// Without characters that a terminal would act on, and not endless.
fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(400).collect()
}

/// A text or a list of texts.
fn words(value: Option<&Value>, split: bool) -> Vec<String> {
    match value {
        Some(Value::String(text)) if split => text.split_whitespace().map(shown).collect(),
        Some(Value::String(text)) => vec![shown(text)],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(shown).collect(),
        _ => Vec::new(),
    }
}

/// Seconds since 1970, whole or not (`NumericDate`).
fn instant(value: &Value) -> Option<SystemTime> {
    let seconds = value.as_f64().filter(|seconds| (0.0..1e11).contains(seconds))?;
    UNIX_EPOCH.checked_add(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token for one storage went to every https server that an address named.
    #[test]
    fn a_token_goes_where_its_audience_lets_it() {
        let token = |audience: &[&str]| {
            let audience = audience.iter().map(|one| (*one).to_owned()).collect();
            let claims = Some(Claims { audience, ..Claims::default() });
            let secret = "a.b.c".into();
            let place = Place::Argument;
            Token { secret, place, mode: None, claims, is_among_others: false }
        };
        for (audience, is_fit) in [
            (&[][..], true),
            (&["https://wlcg.cern.ch/jwt/v1/any"], true),
            (&["ANY"], true),
            (&["cms"], true),
            (&["eos.example.org"], true),
            (&["https://EOS.example.org"], true),
            (&["roots://eos.example.org:1094/"], true),
            (&["https://other.org", "eos.example.org:1094"], true),
            (&["https://other.org"], false),
            (&["other.org"], false),
            (&["https://there"], false),
            (&["https://eos.example.org:8443"], false),
            (&["https://example.org"], false),
            (&["https://eos.example.org.evil.net"], false),
        ] {
            let fit = token(audience).for_server("eos.example.org", 1094);
            assert_eq!(fit.is_ok(), is_fit, "{audience:?}");
            if let Err(why) = fit {
                assert!(why.to_string().contains("not for this server"), "{why}");
            }
        }
    }

    /// Of the tokens that HTCondor leaves in a job, the one that is called `scitokens` was taken
    /// for every server.
    #[test]
    fn of_several_tokens_that_for_the_server_and_the_path_is_chosen() {
        let token = |name: &'static str, audience: &[&str], scope: &[&str], among: bool| {
            let words = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
            let audience = words(audience);
            let scope = words(scope);
            let claims = Some(Claims { audience, scope, ..Claims::default() });
            let secret = "a.b.c".into();
            let place = Place::Variable(name);
            Token { secret, place, mode: None, claims, is_among_others: among }
        };
        let tokens = [
            token("any", &[], &["compute.read"], true),
            token("cms", &[], &["storage.read:/cms"], true),
            token("user", &[], &["storage.read:/cms/user", "storage.stage:/"], true),
            token("write", &[], &["storage.modify:/cms", "storage.create:/x"], true),
            token("there", &["https://there.org"], &["read:/"], true),
        ];
        let chosen = |tokens: &[Token], host: &str, path: &str, writes| {
            let wanted =
                TokenUse { host: host.to_owned(), port: 443, path: path.to_owned(), writes };
            choose(tokens, &wanted).unwrap().place.clone()
        };
        for (host, path, writes, name) in [
            ("h", "/cms/f", false, "cms"),
            ("h", "//site/cms/user/f", false, "user"),
            ("h", "/cmsx/f", false, "user"),
            ("h", "/cms/f", true, "write"),
            ("h", "/other", true, "any"),
            ("there.org", "/atlas/f", false, "there"),
        ] {
            assert_eq!(chosen(&tokens, host, path, writes), Place::Variable(name), "{host} {path}");
        }
        let mut with_own = tokens.to_vec();
        with_own.insert(0, token("own", &["h.org"], &["storage.read:/"], false));
        assert_eq!(chosen(&with_own, "h.org", "/cms/f", false), Place::Variable("own"));
        assert_eq!(chosen(&with_own, "g.org", "/cms/f", false), Place::Variable("cms"));
    }
}
