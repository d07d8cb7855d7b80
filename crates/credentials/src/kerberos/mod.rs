//! Kerberos tickets, by the library of the system, which is looked for when it is needed: it knows
//! all kinds of caches (files, KCM, the kernel's keyring, macOS's API), and farroot runs where
//! there is none.

mod library;
mod name;
mod service;

use std::time::Duration;

use secrecy::SecretSlice;
use zeroize::Zeroizing;

use crate::{Choice, Environment, Kind, Place, Reason, Unusable};
use library::Library;
pub use service::{KerberosClient, KerberosService};

/// The library's ticket for its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// Whose tickets they are: `user@REALM`.
    pub owner: String,
    /// How long the ticket to get others with still lives.
    pub left: Duration,
}

/// The cache that is named.
pub(crate) fn cache<'a>(environment: &'a Environment, choice: &'a Choice) -> Option<&'a str> {
    choice.ccache.as_deref().or_else(|| environment.variable("KRB5CCNAME"))
}

fn unusable(environment: &Environment, choice: &Choice, reason: Reason) -> Unusable {
    let place = Place::Cache(cache(environment, choice).unwrap_or_default().to_owned());
    Unusable { kind: Kind::Kerberos, name: "the Kerberos ticket", place, reason }
}

/// A fresh AP-REQ for a service.
pub(crate) fn ticket(
    environment: &Environment,
    choice: &Choice,
    principal: &str,
) -> Result<SecretSlice<u8>, Unusable> {
    let fail = |reason| unusable(environment, choice, reason);
    let principal = name::service(principal).map_err(|fault| fail(Reason::Malformed(fault)))?;
    let library = Library::load().map_err(fail)?;
    let token = library.initial_token(principal, cache(environment, choice));
    let token = token.map_err(|reason| fail(with_realm(reason, principal)))?;
    let request = name::application_request(&token).map(|request| request.to_vec());
    let lacking = || fail(Reason::Kerberos("the library made no Kerberos message".to_owned()));
    request.map(SecretSlice::from).ok_or_else(lacking)
}

/// With the realm in which a ticket is lacking.
fn with_realm(reason: Reason, principal: &str) -> Reason {
    match (reason, principal.rsplit_once('@')) {
        (Reason::Kerberos(why), Some((_, realm))) => Reason::NoTicket(why, realm.to_owned()),
        (reason, _) => reason,
    }
}

/// The library's ticket; asks no server.
pub(crate) fn look(environment: &Environment, choice: &Choice) -> Result<Ticket, Unusable> {
    let fail = |reason| unusable(environment, choice, reason);
    let library = Library::load().map_err(fail)?;
    let (owner, left) = library.owner(cache(environment, choice)).map_err(fail)?;
    match left.is_zero() {
        true => Err(fail(Reason::Kerberos(format!("the ticket of {owner} has expired")))),
        false => Ok(Ticket { owner, left }),
    }
}

/// Bytes that the library made, which are as good as a key for some minutes.
type Secret = Zeroizing<Vec<u8>>;
