//! Files served over XRootD: drives the sans-io client over a byte stream.

mod answer;
pub(crate) mod asking;
mod causes;
mod command;
mod converse;
mod errors;
mod gsi;
mod locate;
mod logins;
mod opening;
mod pages;
mod paths;
mod redirect;
mod remembered;
mod session;
mod starts;

use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use credentials::{CredentialStore, TokenUse};
use futures::future::BoxFuture;
use mutex::Mutex;
use xrootd::client::{Client, ClientConfig};
use xrootd::error::SessionError;

use self::errors::Login;
use self::logins::Logins;
use self::pages::Pages;
use self::remembered::Remembered;
use self::starts::Starts;
use super::network::Network;
use super::tls::Peer;
use super::{BothEnds, ConnectionEvent, DriverLink, Server, ServerTraits};
use crate::address::Address;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::selecting::Near;
use crate::store::{Notes, Store};

/// A plain read that is cut no further: large enough to cost little, small enough to share.
const REQUEST_BYTES_MAX: u64 = 4 << 20;
/// The cost of one more request for an xrootd server, measured as the slope over their number.
const REQUEST_OVERHEAD: Duration = Duration::from_micros(50);

/// One XRootD data server or redirector.
pub struct XrootdServer {
    name: String,
    host: String,
    port: u16,
    config: ClientConfig,
    /// Nothing is sent outside TLS.
    is_encrypted: bool,
    /// The address has a token in it, which belongs inside TLS.
    asks_tls: bool,
    /// The caller has named it; otherwise another server has.
    is_named: bool,
    /// So has the caller, with its site or in a list; otherwise a token has to name it.
    is_entrusted: bool,
    insecure: bool,
    credential_store: CredentialStore,
    /// How the latest session was logged in, for errors.
    login: Mutex<Option<Login>>,
    /// Why the latest login was refused, where none was accepted since.
    refused_login: Mutex<Option<SessionError>>,
    /// The server's identity in the latest connection inside TLS.
    encryption: Mutex<Option<Arc<Peer>>>,
    /// The note that the server is not verified has been sent.
    has_warned: AtomicBool,
    network: Arc<dyn Network>,
    /// How connections start, and the server's features, as its connections have learnt them.
    starts: Mutex<Starts>,
    remembered: Remembered,
    pages: Arc<Pages>,
    logins: Logins,
    /// Hashes credentials, to tell one from another.
    hasher: RandomState,
    /// It answers opens without a stat of the file.
    opens_say_nothing: Arc<AtomicBool>,
    /// A session has requested the limits of vectored reads,
    asked_limits: AtomicBool,
    /// and, as a caller wants to know it, whether the server selects entries.
    wants_selects: bool,
    /// It has said that it does.
    selects: AtomicBool,
}

impl XrootdServer {
    pub fn new(url: &Address, config: &Config, network: Arc<dyn Network>) -> Result<Self> {
        let parsed = parts(url)?.clone();
        let user = parsed.user.as_deref().unwrap_or(&config.user);
        let mut client = ClientConfig::new(user, "farroot", std::process::id());
        client.silence_max = config.read_timeout;
        client.wait_max = config.wait_max();
        client.login_token.clone_from(&parsed.login_token);
        (client.authentication, client.excluded) = opening::methods(&config.credential_store, user);
        let is_encrypted = parsed.is_encrypted();
        let name = name(&parsed);
        let remembered = remembered(&parsed, config);
        let profile = remembered.profile();
        let pages = Arc::new(Pages::new(config.checksums));
        pages.learn(profile.flags);
        Ok(XrootdServer {
            name,
            is_encrypted,
            asks_tls: parsed.has_token(),
            is_named: url.is_named(),
            is_entrusted: url.is_of_named_site() || config.may_follow(&parsed.host),
            insecure: config.insecure,
            credential_store: config.credential_store.wanted_for(wanted(url, false)),
            login: Mutex::default(),
            refused_login: Mutex::default(),
            encryption: Mutex::default(),
            has_warned: AtomicBool::new(false),
            host: parsed.host,
            port: parsed.port,
            config: client,
            network,
            starts: Mutex::new(Starts::new(profile)),
            remembered,
            pages,
            logins: Logins::new(),
            hasher: RandomState::new(),
            opens_say_nothing: Arc::default(),
            asked_limits: AtomicBool::new(false),
            wants_selects: leaves_choice(url, config),
            selects: AtomicBool::new(false),
        })
    }

    /// The same for who changes files there: of several tokens another may be for that.
    #[must_use]
    pub fn for_writing(self, url: &Address) -> Self {
        XrootdServer {
            credential_store: self.credential_store.wanted_for(wanted(url, true)),
            ..self
        }
    }

    /// Adds the features that a session has learnt.
    pub(super) fn learn(&self, client: &Client) {
        let mut starts = self.starts.lock();
        let before = starts.learn(client.profile());
        self.pages.learn(starts.profile().flags);
        self.remembered.learn(&before, starts.profile());
    }
}

/// Whether a caller wants entries to be selected wherever that takes less time.
fn leaves_choice(url: &Address, config: &Config) -> bool {
    let chosen = url.access().and_then(|access| access.near.as_ref());
    *chosen.unwrap_or(&config.near) == Near::Auto
}

/// The intended use of a token. A session is for all files of a server: the first one decides.
fn wanted(url: &Address, writes: bool) -> TokenUse {
    let host = url.host().unwrap_or_default().to_owned();
    TokenUse { host, port: url.port().unwrap_or_default(), path: url.path().into_owned(), writes }
}

impl Server for XrootdServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> Option<(String, u16)> {
        Some((self.host.clone(), self.port))
    }

    fn traits(&self) -> ServerTraits {
        let limits = self.starts.lock().profile().readv;
        ServerTraits {
            segments_max: if self.pages.are_demanded() { 1 } else { limits.segments_max },
            segment_bytes_max: limits.segment_bytes_max,
            request_bytes_max: REQUEST_BYTES_MAX,
            pipelined: true,
            suffix: false,
            both_ends: BothEnds::Never,
            request_overhead: REQUEST_OVERHEAD,
            local: false,
            connections_max: None,
            checksums: self.pages.are_offered(),
            one_range: false,
            selects: self.selects.load(Ordering::Relaxed),
        }
    }

    fn introduction(&self) -> Option<String> {
        Some(self.introduced())
    }

    fn shown(&self) -> Option<Arc<Peer>> {
        self.encryption.lock().clone()
    }

    fn run(self: Arc<Self>, mut link: DriverLink) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.starts.lock().opened();
            let error = self.converse(&mut link).await.err();
            self.starts.lock().closed();
            link.send(ConnectionEvent::Disconnected { error });
        })
    }
}

/// Scheme, host and port of the server of an address; `None` for another protocol.
pub(crate) fn server_name(url: &Address) -> Option<String> {
    url.to_xrootd().map(name)
}

fn name(parsed: &xrootd::url::Url) -> String {
    let scheme = if parsed.is_encrypted() { "roots" } else { "root" };
    format!("{scheme}://{}", parsed.address())
}

/// The notes about the server of an address, for its user.
fn remembered(parsed: &xrootd::url::Url, config: &Config) -> Remembered {
    let user = parsed.user.as_deref().unwrap_or(&config.user);
    let store = Store::of(config);
    let notes = Notes::new(store.as_ref().map(Store::parent), "servers");
    Remembered::new(notes, &format!("{user}@{}", name(parsed)))
}

/// The note on the server of an address, as text; `None` if there is none.
pub(crate) fn noted(url: &Address, config: &Config) -> Option<String> {
    remembered(url.to_xrootd()?, config).text()
}

/// Keeps another machine's note on the server of an address, unless there is a note here.
pub(crate) fn adopt_note(url: &Address, config: &Config, text: &str) {
    if let Some(parsed) = url.to_xrootd() {
        remembered(parsed, config).adopt(text);
    }
}

/// The protocol's own parts of an address.
fn parts(url: &Address) -> Result<&xrootd::url::Url> {
    url.to_xrootd().ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "not an address of an XRootD server")
            .with_url(url.to_string())
    })
}
