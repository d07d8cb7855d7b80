//! All credentials, and those that would be used, for lists: `farroot auth`, `farroot doctor`.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::token::Validity;
use crate::unusable::Span;
use crate::{
    Choice, Environment, Kind, Place, Reason, Unusable, advice, files, kerberos, s3, token, x509,
};

/// One place, and its credential. Nothing secret is in here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Of which kind.
    pub kind: Kind,
    /// Where.
    pub place: Place,
    /// Whether it would be used.
    pub state: State,
    /// Whose it is: a subject, a principal, the end of an access key's name.
    pub owner: Option<String>,
    /// How long it is still valid.
    pub left: Option<Duration>,
    /// The permissions of its file.
    pub mode: Option<u32>,
    /// Other facts, a few words each: its issuer, its scopes, VOMS.
    pub notes: Vec<String>,
}

/// Whether a credential would be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is the one of its kind.
    Used,
    /// It is good, but another place goes before.
    Second,
    /// The caller, or `XrdSecPROTOCOL`, does not want its kind.
    Unwanted,
    /// Nothing is there.
    Absent,
    /// It cannot be used.
    Unusable(Unusable),
}

/// Those of all kinds: the places in the order in which they are looked at.
pub(crate) fn all(environment: &Environment, choice: &Choice, now: SystemTime) -> Vec<Candidate> {
    let mut all = tokens(environment, choice, now);
    all.extend(identities(environment, choice, now));
    all.push(ticket(environment, choice));
    all.extend(s3_keys(environment, choice));
    let credential_store = crate::CredentialStore::new(environment.clone(), choice.clone());
    for candidate in &mut all {
        let good = matches!(candidate.state, State::Used | State::Second);
        if good && !credential_store.allows(candidate.kind) {
            candidate.state = State::Unwanted;
        }
    }
    all
}

impl Candidate {
    /// Whether it is used, in a few words.
    pub fn verdict(&self) -> String {
        match &self.state {
            State::Used => "used".to_owned(),
            State::Second => "not used: another one goes before it".to_owned(),
            State::Unwanted => "not used: its kind is not asked for".to_owned(),
            State::Absent => "nothing there".to_owned(),
            State::Unusable(unusable) => unusable.reason.to_string(),
        }
    }

    /// Whether it is there, or was named, and cannot be used.
    pub fn is_unusable(&self) -> bool {
        matches!(self.state, State::Unusable(_))
    }

    /// The command that makes it usable; empty where it can be used, or no command helps.
    pub fn advice(&self) -> String {
        match &self.state {
            State::Unusable(unusable) => unusable.advice(),
            _ => String::new(),
        }
    }

    /// How long it is still valid, as one reads it.
    pub fn time_left(&self) -> Option<String> {
        self.left.map(|left| Span(left).to_string())
    }

    /// All of it for programs.
    pub fn json(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "where": self.place.to_string(),
            "path": self.place.path().map(|path| path.to_string_lossy()),
            "state": match self.state {
                State::Used => "used",
                State::Second => "second",
                State::Unwanted => "unwanted",
                State::Absent => "absent",
                State::Unusable(_) => "unusable",
            },
            "verdict": self.verdict(),
            "advice": Some(self.advice()).filter(|advice| !advice.is_empty()),
            "owner": self.owner,
            "seconds_left": self.left.map(|left| left.as_secs()),
            "mode": self.mode.map(|mode| format!("{mode:03o}")),
            "notes": self.notes,
        })
    }

    fn new(kind: Kind, place: Place) -> Self {
        let mode = place.path().and_then(files::mode);
        let state = State::Absent;
        let notes = Vec::new();
        Candidate { kind, place, state, owner: None, left: None, mode, notes }
    }
}

/// A credential that is good after another one, or after one that stops the search, is not used.
fn turn(state: State, decided: &mut bool) -> State {
    let state = match state {
        State::Used if *decided => State::Second,
        state => state,
    };
    *decided |= !matches!(state, State::Absent);
    state
}

fn tokens(environment: &Environment, choice: &Choice, now: SystemTime) -> Vec<Candidate> {
    let mut decided = false;
    let mut found = Vec::new();
    for lookup in token::lookups(environment, choice) {
        let mut candidate = Candidate::new(Kind::Token, lookup.place().clone());
        let state = match token::take(&lookup, environment.user_id, now) {
            Ok(None) => State::Absent,
            Err(unusable) => State::Unusable(unusable),
            Ok(Some(token)) => {
                if let Some(claims) = token.claims {
                    let validity = claims.validity(now);
                    candidate.left =
                        claims.expires.and_then(|until| until.duration_since(now).ok());
                    candidate.owner = claims.subject;
                    candidate.notes.extend(claims.issuer.map(|by| format!("issued by {by}")));
                    if !claims.audience.is_empty() {
                        candidate.notes.push(format!("for {}", claims.audience.join(", ")));
                    }
                    if !claims.scope.is_empty() {
                        candidate.notes.push(format!("allows {}", claims.scope.join(" ")));
                    }
                    if let Validity::Early(span) = validity {
                        candidate.notes.push(not_yet(span));
                    }
                }
                State::Used
            }
        };
        let is_free = matches!(lookup, token::Lookup::Among(_)) && !decided;
        candidate.state = match is_free {
            // Each of them is used where it fits.
            true => state,
            false => turn(state, &mut decided),
        };
        if is_free && candidate.state == State::Used {
            candidate.notes.push("for the servers and paths that it names".to_owned());
        }
        found.push(candidate);
    }
    found
}

fn not_yet(span: Duration) -> String {
    let span = Span(span);
    format!("not yet valid for {span} by this machine's clock: {}", advice::SET_CLOCK)
}

fn identities(environment: &Environment, choice: &Choice, now: SystemTime) -> Vec<Candidate> {
    let mut decided = false;
    let mut found = Vec::new();
    for source in x509::sources(environment, choice) {
        let mut candidate = Candidate::new(Kind::X509, source.place().clone());
        candidate.mode = source.key().path().and_then(files::mode).or(candidate.mode);
        let state = match x509::take(&source, environment.user_id, now) {
            Ok(None) => State::Absent,
            Err(unusable) => {
                // An encrypted key in its usual place does not stop the search.
                let passed = unusable.reason == Reason::Encrypted && !unusable.place.is_named();
                candidate.state = State::Unusable(unusable);
                decided |= !passed;
                found.push(candidate);
                continue;
            }
            Ok(Some(identity)) => {
                candidate.left = identity.not_after.duration_since(now).ok();
                candidate.owner = Some(identity.subject);
                candidate.notes.push(match (identity.is_proxy, identity.voms) {
                    (true, true) => "a proxy with VOMS attributes".to_owned(),
                    (true, false) => "a proxy without VOMS attributes".to_owned(),
                    (false, _) => "a certificate with its key".to_owned(),
                });
                let early = identity.not_before.duration_since(now).ok();
                candidate.notes.extend(early.filter(|span| !span.is_zero()).map(not_yet));
                State::Used
            }
        };
        candidate.state = turn(state, &mut decided);
        found.push(candidate);
    }
    found
}

fn ticket(environment: &Environment, choice: &Choice) -> Candidate {
    let cache = kerberos::cache(environment, choice).unwrap_or_default().to_owned();
    let mut candidate = Candidate::new(Kind::Kerberos, Place::Cache(cache));
    match kerberos::look(environment, choice) {
        Ok(ticket) => {
            candidate.owner = Some(ticket.owner);
            candidate.left = Some(ticket.left);
            candidate.state = State::Used;
        }
        // Most users have no tickets: that is nothing to complain about.
        Err(Unusable { reason: Reason::Kerberos(why), .. }) if candidate.place_is_usual() => {
            candidate.notes.push(why);
        }
        Err(Unusable { reason: reason @ Reason::NoLibrary(_), .. })
            if candidate.place_is_usual() =>
        {
            candidate.notes.push(reason.to_string());
        }
        Err(unusable) => candidate.state = State::Unusable(unusable),
    }
    candidate
}

impl Candidate {
    fn place_is_usual(&self) -> bool {
        self.place == Place::Cache(String::new())
    }
}

fn s3_keys(environment: &Environment, choice: &Choice) -> Vec<Candidate> {
    let found = s3::keys(environment, choice);
    let place = match &found {
        Ok(Some(keys)) => keys.place.clone(),
        Err(unusable) => unusable.place.clone(),
        Ok(None) => match &environment.home {
            Some(home) => Place::usual(home.join(".aws/credentials")),
            None => Place::Variable(s3::VARIABLES[0][0]),
        },
    };
    let mut candidate = Candidate::new(Kind::S3, place);
    match found {
        Ok(None) => {}
        Err(unusable) => candidate.state = State::Unusable(unusable),
        Ok(Some(keys)) => {
            candidate.state = State::Used;
            candidate.owner = Some(keys.shown_name());
            if keys.session_token.is_some() {
                candidate.notes.push("for a limited time".to_owned());
            }
            if let Ok(settings) = s3::settings(environment, choice) {
                candidate.notes.extend(settings.endpoint.map(|at| format!("at {at}")));
                candidate.notes.extend(settings.region.map(|region| format!("region {region}")));
            }
        }
    }
    vec![candidate]
}
