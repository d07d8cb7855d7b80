//! All credentials of one user, looked for anew at each call.

use std::sync::Arc;
use std::time::SystemTime;

use secrecy::SecretSlice;

use crate::{
    Authorities, Candidate, Choice, Environment, Identity, Kind, S3Keys, S3Settings, Token,
    TokenUse, Unusable, candidates, kerberos, s3, token, x509,
};

/// The credentials of one user. It holds the places to search, and of secrets those only that the
/// caller gave; a copy costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct CredentialStore {
    environment: Arc<Environment>,
    choice: Arc<Choice>,
    /// The intended use of a token, where several are there.
    wanted: Option<Arc<TokenUse>>,
}

impl CredentialStore {
    /// With the credentials that the caller names, and this environment for the rest.
    pub fn new(environment: Environment, choice: Choice) -> Self {
        CredentialStore {
            environment: Arc::new(environment),
            choice: Arc::new(choice),
            wanted: None,
        }
    }

    /// That of this process.
    pub fn of_process() -> Self {
        CredentialStore::new(Environment::of_process(), Choice::default())
    }

    /// One that has nothing and finds nothing: for servers that get no credential.
    pub fn empty() -> Self {
        let choice = Choice { order: Some(Vec::new()), ..Choice::default() };
        CredentialStore::new(Environment::default(), choice)
    }

    /// This environment with the choice of another caller.
    #[must_use]
    pub fn with(&self, choice: Choice) -> Self {
        let environment = self.environment.clone();
        let wanted = self.wanted.clone();
        CredentialStore { environment, choice: Arc::new(choice), wanted }
    }

    /// The same for one server and path: of several tokens, the one for them counts.
    #[must_use]
    pub fn wanted_for(&self, wanted: TokenUse) -> Self {
        CredentialStore { wanted: Some(Arc::new(wanted)), ..self.clone() }
    }

    /// Where this looks.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The credentials that the caller named.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Which kinds may be used, the first one first: the order that the caller gives; else the
    /// kinds of which the caller names a credential, so that no other identity is shown; else the
    /// variable `XrdSecPROTOCOL`, of which names that farroot does not know are left out. `None`:
    /// any, in the order of the server.
    ///
    /// Keys of S3 are for `s3://` only, so nothing but an order that the caller gives forbids them.
    pub fn order(&self) -> Option<Vec<Kind>> {
        let choice = &self.choice;
        if let Some(order) = &choice.order {
            return Some(order.clone());
        }
        let named = [
            (choice.token.is_some(), Kind::Token),
            (choice.proxy.is_some(), Kind::X509),
            (choice.ccache.is_some(), Kind::Kerberos),
        ];
        let mut order: Vec<Kind> =
            named.iter().filter_map(|(named, kind)| named.then_some(*kind)).collect();
        if order.is_empty() {
            let names = self.environment.variable("XrdSecPROTOCOL")?;
            order.extend(names.split([',', ' ']).filter_map(|name| name.parse::<Kind>().ok()));
        } else {
            order.push(Kind::Unix);
        }
        order.push(Kind::S3);
        Some(order)
    }

    /// Whether a kind may be used at all.
    pub fn allows(&self, kind: Kind) -> bool {
        self.order().is_none_or(|order| order.contains(&kind))
    }

    /// The bearer token; `None` where no place has one.
    pub fn token(&self) -> Result<Option<Token>, Unusable> {
        let tokens = self.tokens()?;
        Ok(match &self.wanted {
            Some(wanted) => token::choose(&tokens, wanted).cloned(),
            None => tokens.into_iter().next(),
        })
    }

    /// All bearer tokens that may be shown: several only where a batch system has left several.
    /// [`choose`](crate::choose) takes one of them.
    pub fn tokens(&self) -> Result<Vec<Token>, Unusable> {
        if !self.allows(Kind::Token) {
            return Ok(Vec::new());
        }
        token::find(&self.environment, &self.choice, SystemTime::now())
    }

    /// The proxy, or the certificate with its key; `None` where no place has one.
    pub fn identity(&self) -> Result<Option<Identity>, Unusable> {
        if !self.allows(Kind::X509) {
            return Ok(None);
        }
        x509::find(&self.environment, &self.choice, SystemTime::now())
    }

    /// A fresh AP-REQ (RFC 4120, section 5.5.1) for one connection to a service, which is named as
    /// XRootD's offer names it: `xrootd/eos.example@EXAMPLE.ORG`. May ask the KDC over the network
    /// and so take long: call it on a thread that may wait, and limit the time.
    pub fn ticket(&self, principal: &str) -> Result<SecretSlice<u8>, Unusable> {
        kerberos::ticket(&self.environment, &self.choice, principal)
    }

    /// The access key of S3; `None` where no place has one.
    pub fn s3_keys(&self) -> Result<Option<S3Keys>, Unusable> {
        if !self.allows(Kind::S3) {
            return Ok(None);
        }
        s3::keys(&self.environment, &self.choice)
    }

    /// Where S3 is, by the environment and the profile; also for users without a key.
    pub fn s3_settings(&self) -> Result<S3Settings, Unusable> {
        s3::settings(&self.environment, &self.choice)
    }

    /// Whose certificates of servers are believed.
    pub fn authorities(&self) -> Arc<Authorities> {
        Authorities::load(&self.environment)
    }

    /// All credentials, and those that would be used, for lists. The Kerberos library is asked for
    /// its ticket; no server is asked.
    pub fn candidates(&self, now: SystemTime) -> Vec<Candidate> {
        candidates::all(&self.environment, &self.choice, now)
    }
}

impl Default for CredentialStore {
    fn default() -> Self {
        CredentialStore::of_process()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenFrom;

    fn credential_store(variables: &[(&str, &str)], choice: Choice) -> CredentialStore {
        CredentialStore::new(Environment::new(1, None, variables.iter().copied()), choice)
    }

    #[test]
    fn an_order_is_the_callers_then_what_was_named_then_the_variables() {
        let variables = [("XrdSecPROTOCOL", "gsi,sss krb5")];
        let of_variable = credential_store(&variables, Choice::default()).order();
        assert_eq!(of_variable, Some(vec![Kind::X509, Kind::Kerberos, Kind::S3]));
        let token = Some(TokenFrom::Secret("abc".into()));
        let named = credential_store(&variables, Choice { token, ..Choice::default() });
        assert_eq!(named.order(), Some(vec![Kind::Token, Kind::Unix, Kind::S3]));
        assert!(named.token().unwrap().is_some());
        assert!(named.identity().unwrap().is_none());
        let order = Some(vec![Kind::Kerberos]);
        let ordered = credential_store(&variables, Choice { order, ..Choice::default() });
        assert_eq!(ordered.order(), Some(vec![Kind::Kerberos]));
        assert_eq!(credential_store(&[], Choice::default()).order(), None);
    }

    #[test]
    fn an_empty_store_has_nothing() {
        let credential_store = CredentialStore::empty();
        assert!(credential_store.token().unwrap().is_none());
        assert!(credential_store.identity().unwrap().is_none());
        assert!(credential_store.s3_keys().unwrap().is_none());
        assert!(!credential_store.allows(Kind::Kerberos));
    }
}
