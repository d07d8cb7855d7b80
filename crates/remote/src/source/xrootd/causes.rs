//! Causes of refusals for which servers have few words, and advice: servers call expired a
//! credential that is not valid yet, and do not name a right that is lacking.

use std::time::SystemTime;

use credentials::x509::Certificate;
use credentials::{CredentialStore, Identity, Span, Token, Validity, advice};
use xrootd::auth::Skipped;

/// Why, and the command to type.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    pub why: String,
    pub advice: String,
}

impl Cause {
    fn new(why: String, advice: impl Into<String>) -> Self {
        Cause { why, advice: advice.into() }
    }
}

/// Of a credential that a server has refused. A credential that was skipped here has its reason
/// already.
pub fn of_login(
    credential_store: &CredentialStore,
    refused: &Skipped,
    now: SystemTime,
) -> Option<Cause> {
    match &*refused.name {
        _ if !refused.by_server => None,
        "gsi" => Some(of_identity(&credential_store.identity().ok()??, &refused.why, now)),
        "ztn" => Some(of_token(&credential_store.token().ok()??, &refused.why, now)),
        "krb5" => Some(of_ticket(&refused.why)),
        _ => None,
    }
}

fn of_identity(identity: &Identity, words: &str, now: SystemTime) -> Cause {
    let Identity { subject, place, not_before, .. } = identity;
    if let Ok(wait) = not_before.duration_since(now) {
        let why = format!(
            "the certificate in {place} is not valid yet, but in {}: the clock may be wrong here, \
             or where it was made",
            Span(wait)
        );
        return Cause::new(why, advice::SET_CLOCK);
    }
    if words.contains("unknown CA") {
        let last = identity.chain.last().and_then(|der| Certificate::parse(der).ok());
        let issuer = last.map_or("that".to_owned(), |last| last.issuer);
        let why = format!(
            "the server does not know the authority {issuer} that has signed the certificate of \
             {subject} in {place}"
        );
        let advice = "name a proxy of an authority that it knows in X509_USER_PROXY, or ask the \
                      site to add this one";
        return Cause::new(why, advice);
    }
    let voms =
        if identity.voms { "" } else { " has no VOMS attributes, which sites may want, and" };
    let left = identity.not_after.duration_since(now).unwrap_or_default();
    let why = format!("the certificate of {subject} in {place}{voms} is valid for {}", Span(left));
    Cause::new(why, advice::MAKE_PROXY)
}

fn of_token(token: &Token, words: &str, now: SystemTime) -> Cause {
    let place = &token.place;
    let Some(claims) = &token.claims else {
        let why = format!("the token in {place} is one that only servers can read");
        return Cause::new(why, advice::FETCH_TOKEN);
    };
    let words = words.to_ascii_lowercase();
    let issuer = claims.issuer.as_deref();
    let left = match claims.validity(now) {
        Validity::Early(wait) => {
            let why = format!(
                "the token in {place} is not valid yet by this machine's clock, but in {}",
                Span(wait)
            );
            return Cause::new(why, advice::SET_CLOCK);
        }
        Validity::Over(ago) => {
            let why = format!("the token in {place} expired {} ago", Span(ago));
            return Cause::new(why, advice::FETCH_TOKEN);
        }
        Validity::Good(left) => left.map_or("without an end".to_owned(), |left| {
            format!("for {} more by this machine's clock", Span(left))
        }),
    };
    if words.contains("expired") || words.contains("not yet valid") {
        let why = format!("the token in {place} is valid {left}, so one of the clocks is wrong");
        return Cause::new(why, advice::SET_CLOCK);
    }
    let issuer = issuer.unwrap_or("no one");
    let why = match (words.contains("issuer"), words.contains("audience")) {
        (true, _) => format!("the token in {place} is from {issuer}, which the site does not know"),
        (false, true) => format!(
            "the token in {place} is for {}, and not for this server",
            claims.audience.join(" and ")
        ),
        (false, false) => format!("the token in {place} from {issuer} is valid {left}"),
    };
    let another = "ask the site which issuers and audiences it takes, and fetch such a token: \
                   htgettoken --issuer=ISSUER --audience=AUDIENCE";
    Cause::new(why, another)
}

fn of_ticket(words: &str) -> Cause {
    let words = words.to_ascii_lowercase();
    if words.contains("skew") {
        return Cause::new("the clocks differ by more than five minutes".into(), advice::SET_CLOCK);
    }
    if words.contains("replay") {
        let why = "each connection shows a message of its own, so something has sent this one \
                   twice, or the clock was set back";
        return Cause::new(why.into(), format!("try again; then {}", advice::SET_CLOCK));
    }
    let why = "the ticket was made here for this server; its keys may be newer than the ticket";
    Cause::new(why.into(), format!("kdestroy, then {}", advice::get_ticket(None)))
}

/// A hint for a user who was logged in and refused, by the protocol of the login.
pub fn of_denial(credential_store: &CredentialStore, by: &str, path: &str) -> Option<String> {
    match by {
        "ztn" => {
            let claims = credential_store.token().ok()??.claims?;
            Some(advice::another_token(&claims.scope, path))
        }
        "gsi" => {
            let identity = credential_store.identity().ok()??;
            (!identity.voms)
                .then(|| format!("the proxy has no VOMS attributes: {}", advice::MAKE_PROXY))
        }
        "unix" | "host" => Some(format!(
            "the server has a user name without proof: {}; {}; or {}",
            advice::get_ticket(None),
            advice::MAKE_PROXY,
            advice::FETCH_TOKEN
        )),
        _ => None,
    }
}

/// The meaning of dCache's words for a right that is lacking.
pub fn in_plain_words(refusal: &str) -> Option<&'static str> {
    let restricted = refusal.contains("Restriction") || refusal.contains("FullyRestricted");
    restricted.then_some("so dCache says that the credential does not allow this path")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tickets that a server refuses are made by a KDC; its words alone are not.
    #[test]
    fn words_about_tickets_have_their_advice() {
        let credential_store = CredentialStore::empty();
        let of = |name: &str, why: &str, by_server| {
            let name = name.to_owned();
            let why = why.to_owned();
            of_login(&credential_store, &Skipped { name, why, by_server }, SystemTime::UNIX_EPOCH)
        };
        for (words, advice) in [
            ("Seckrb5: Unable to authenticate credentials; Request is a replay", "try again"),
            ("Seckrb5: Unable to authenticate credentials; Clock skew too great", "timedatectl"),
            (
                "Seckrb5: Unable to authenticate credentials; Wrong principal",
                "kdestroy, then kinit",
            ),
        ] {
            let cause = of("krb5", words, true).unwrap();
            assert!(cause.advice.contains(advice), "{words}: {cause:?}");
        }
        // Reasons of this side, and of names that prove nothing, are complete.
        assert_eq!(of("krb5", "the Kerberos ticket is not there", false), None);
        assert_eq!(of("unix", "no such user", true), None);
        assert_eq!(of("gsi", "no proxy", true), None);
    }

    #[test]
    fn restrictions_of_dcache_are_put_plainly() {
        assert!(in_plain_words("Restriction MultiTargetedRestriction[...] denied").is_some());
        assert!(in_plain_words("FullyRestricted").is_some());
        assert_eq!(in_plain_words("Unable to open /a; permission denied"), None);
    }
}
