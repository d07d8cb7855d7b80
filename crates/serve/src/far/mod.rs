//! Files far away, for clients near by: the content of `farroot proxy`.
//!
//! All clients that read one address at the same time share one open at its origin
//! ([`Engine::watch`]), so that ranges which several of them want travel once. The open outlives
//! its last client for a while: programs open a file, close it, and open it again.

mod account;
mod cache_status;
mod credential;
mod failure;
mod fast;
mod log;
mod metrics;
mod mounts;
mod name;
mod origins;
mod passthrough;
mod pieces;
mod reading;
mod service_tokens;
mod written;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::{Arrivals, Engine, Watched, Ways};
use mutex::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use remote::address::{Address, CacheUse, LentToken, Scheme};
use remote::cache::{CacheForm, CacheLocal, Charges, Replica};
use remote::credentials::Choice;
use remote::report::Report;
use remote::source::FileInfo;
use remote::source::network::{Network, Tcp};
use remote::{Algorithm, Checksum, Error, ErrorKind};
use secrecy::SecretString;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::account::Account;
use self::log::AccessLog;
use self::mounts::Mounts;
use self::passthrough::OriginAnswers;
use self::service_tokens::ServiceTokens;
use self::written::WrittenFiles;
use crate::access::ServedPlace;
use crate::clients::{Client, FilePlace};
use crate::cluster::{Cluster, ClusterSettings, Node, SentElsewhere, SentRequest};
use crate::files::Name;
use crate::folder::Stat;
use crate::guest::Guest;
use crate::origin::Origin;
use crate::select::SelectTally;

pub use self::account::Figures;
pub use self::cache_status::{CacheRules, CacheStatus};
pub use self::failure::{failure, known};
pub use self::name::token_of as token_of_name;
use self::origins::ListedOnly;
pub use self::reading::Reading;

/// How long the open at an origin outlives its last client.
const KEPT_OPEN: Duration = Duration::from_secs(10);
/// Most files open without a client; beyond, the least recently used is closed at once. A client
/// that looks at 10,000 files in 10 s would otherwise leave all of them open.
const KEPT_OPEN_MAX: usize = 256;
/// Time for an origin to learn that a file is closed, before a client is sent there to write it:
/// far away, the client's connection takes longer.
const CLOSING: Duration = Duration::from_millis(400);
/// The name under which figures are read over HTTP.
const METRICS: &str = "metrics";
/// The advice to who reads with credentials of their own.
const OWN: &str = "for files of your own start a proxy of your own: farroot run -- COMMAND";
/// How often opens without clients are looked for.
const LOOK: Duration = Duration::from_secs(2);

/// Which files a proxy serves, and to whom.
#[derive(Debug, Clone)]
pub struct Forwarding {
    /// How origins are read from. Its credentials are shown to them only where there is a
    /// secret: otherwise every client would read as the user who runs the proxy.
    pub settings: remote::Config,
    /// Servers whose files may be read. With none, all where the proxy listens on loopback, and
    /// none elsewhere.
    pub origins: Vec<Origin>,
    /// The secret that clients name in front of every path; on loopback only.
    pub secret: Option<SecretString>,
    /// Where a line is written for each file that a client closes; `-` is the standard error.
    pub access_log: Option<PathBuf>,
}

impl Forwarding {
    /// The text that clients write between this proxy and an origin: the secret, as part of a path.
    pub fn prefix(&self) -> String {
        self.secret.as_ref().map(name::secret_prefix).unwrap_or_default()
    }
}

/// The files of all origins. Cheap to clone.
#[derive(Clone)]
pub struct FarFiles(Arc<Inner>);

struct Inner {
    engine: Engine,
    origins: Vec<Origin>,
    mounts: Mounts,
    secret: Option<SecretString>,
    /// Files that stay open for later clients.
    kept: Mutex<BTreeMap<KeptKey, KeptOpen>>,
    /// Files that clients have been sent to their origins for, to write them.
    written: Mutex<WrittenFiles>,
    /// What origins say about clients' own tokens.
    answers: OriginAnswers,
    service_tokens: ServiceTokens,
    /// The proxies that share the files with this one, if there are any.
    cluster: Mutex<Option<Cluster>>,
    account: Account,
    log: Option<AccessLog>,
    /// For the one replica that is made at a time.
    making: Semaphore,
}

/// An address as its origin is asked, for one client.
pub struct AskedAddress {
    pub address: Address,
    /// The token that the origin is shown, as long as the address is used.
    pub lent: Option<Arc<LentToken>>,
    /// The present description of a file of a mount.
    pub now: Option<FileInfo>,
    /// The quotas of the cache that bytes for the client are charged to.
    pub charges: Charges,
}

/// An address with its query, as another token may get another answer, and the quotas that bytes
/// of it are charged to.
type KeptKey = (String, Charges);

/// A file that stays open at its origin for a while when no client has it.
struct KeptOpen {
    file: Arc<OriginFile>,
    /// When a client was last given it.
    used: Instant,
}

/// A file that is open at its origin.
struct OriginFile {
    /// Keeps it open when no client has it.
    watched: Watched,
    stat: Stat,
    /// Without a user or a query.
    shown: String,
    /// Of a replica: as long as it is here, the file is not evicted.
    _replica: Option<Replica>,
}

/// A file as one client has it open. Cheap to clone.
#[derive(Clone)]
pub struct FarFile(Arc<ClientFile>);

struct ClientFile {
    origin: Arc<OriginFile>,
    /// The reads of this client decide its prefetch.
    watched: Watched,
    /// Whether the file was opened anew since its age exceeded this client's `age_max`.
    was_too_old: bool,
    files: FarFiles,
    client: IpAddr,
    opened: Instant,
    /// Its key among the files that are open; `None` of a replica.
    key: Option<KeptKey>,
    read_times: Histogram,
    bytes: AtomicU64,
    _place: FilePlace,
}

impl FarFiles {
    /// Reads from origins by the settings, on the present tokio runtime, and from mounts on so many
    /// threads. `own` is where this proxy listens.
    ///
    /// # Errors
    /// `InvalidInput` where a secret would be sent over a network, and for a mount that is no
    /// directory.
    pub fn start(
        forwarding: &Forwarding,
        own: Vec<SocketAddr>,
        threads: usize,
    ) -> io::Result<Self> {
        let Forwarding { mut settings, mut origins, secret, access_log } = forwarding.clone();
        let is_shared = own.iter().any(|own| !own.ip().is_loopback());
        if is_shared && secret.is_some() {
            let text =
                "a proxy with a secret serves this machine only: its clients send it unencrypted";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if secret.is_none() {
            // Its authorities stay: servers are verified by them.
            let order = Some(Vec::new());
            settings.credential_store =
                settings.credential_store.with(Choice { order, ..Choice::default() });
            // This proxy checks its connections here; another proxy behind it would evade that.
            settings.proxies = remote::Proxies::default();
        }
        let is_listed = !origins.is_empty();
        if !is_listed && !is_shared {
            origins.extend("*".parse::<Origin>().ok());
        }
        let mounts = Mounts::new(&origins, (threads / 4).max(1))?;
        if !mounts.is_empty() {
            // No other files of this machine are read here.
            settings.cache.local = CacheLocal::All;
        }
        if settings.cache.form == CacheForm::Recompressed {
            // Most clients take bytes as they are in the file.
            settings.cache.form = CacheForm::Both;
        }
        let network = |may_be_here: bool| {
            let own = own.clone();
            let refusal = move |address| origins::refusal(address, &own, may_be_here);
            Tcp::new(settings.connect_timeout).refusing(Arc::new(refusal))
        };
        let network: Arc<dyn Network> = match is_shared || is_listed {
            true => {
                // Other users of this machine reach what listens here without the proxy.
                let elsewhere = network(!is_shared);
                let anywhere = network(true);
                Arc::new(ListedOnly { elsewhere, anywhere, origins: origins.clone() })
            }
            false => Arc::new(network(true)),
        };
        let engine = Engine::within(&settings, network).map_err(io::Error::other)?;
        let log = access_log.as_deref().map(AccessLog::start).transpose()?;
        let kept = Mutex::default();
        let account = Account::default();
        let written = Mutex::default();
        let answers = OriginAnswers::default();
        let service_tokens = ServiceTokens::default();
        let cluster = Mutex::default();
        let inner = Inner {
            engine,
            origins,
            mounts,
            secret,
            kept,
            written,
            answers,
            service_tokens,
            cluster,
            account,
            log,
            making: Semaphore::new(1),
        };
        let files = FarFiles(Arc::new(inner));
        tokio::spawn(files.clone().close_unused());
        Ok(files)
    }

    /// Opens a file, at its origin only where no client has it open, or where the rules require
    /// that.
    ///
    /// # Errors
    /// `QuotaExceeded` where the client, or all clients, have too many files open; why no request
    /// goes to the origin; the origin's error. `NotFound` where only the cache may be read, and
    /// lacks the file or has it from longer ago than the rules allow. [`SentElsewhere`] where
    /// another node of the cluster has the file.
    pub async fn open(
        &self,
        guest: &Guest,
        name: Name<'_>,
        rules: CacheRules,
    ) -> io::Result<FarFile> {
        let begin = Instant::now();
        let asked = self.served(guest, name, rules.cache_use).await?;
        let address = &asked.address;
        let place = guest.client.file_place().await.ok_or(io::ErrorKind::QuotaExceeded)?;
        let opened = self.opened_now(&asked, rules.cache_use).await.map_err(failure)?;
        let was_too_old = is_too_old(&opened.1, rules.age_max);
        let (origin, watched) = match was_too_old {
            true => self.opened_anew(&asked, rules.cache_use).await.map_err(failure)?,
            false => opened,
        };
        let is_fast = name::wants_replica(name, self.0.secret.as_ref());
        let (origin, watched) = match is_fast {
            true => self.fast(&asked, (origin, watched)).await?,
            false => (origin, watched),
        };
        let account = &self.0.account;
        account.opened();
        let label = account.label(address);
        let seconds = begin.elapsed().as_secs_f64();
        account.open_times.get_or_create(&label).observe(seconds);
        let client_file = ClientFile {
            origin,
            read_times: account.read_times.get_or_create_owned(&label),
            watched,
            was_too_old,
            files: self.clone(),
            client: guest.client.address(),
            opened: Instant::now(),
            key: (!is_fast).then(|| (address.as_str().to_owned(), asked.charges)),
            bytes: AtomicU64::new(0),
            _place: place,
        };
        Ok(FarFile(Arc::new(client_file)))
    }

    /// The stat of a file, which stays open for a while, as clients mostly open it next; or of a
    /// directory, where the origin says that it is one.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn stat(&self, guest: &Guest, name: Name<'_>) -> io::Result<Stat> {
        let asked = self.served(guest, name, CacheUse::Usual).await?;
        let opened = match self.opened_now(&asked, CacheUse::Usual).await {
            Err(error) if error.is_directory() => return Ok(stat_of_folder(&asked.address)),
            opened => opened.map_err(failure)?,
        };
        match name::wants_replica(name, self.0.secret.as_ref()) {
            true => Ok(self.fast(&asked, opened).await?.0.stat),
            false => Ok(opened.0.stat),
        }
    }

    /// The checksum that the origin keeps of the file.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `Unsupported` where it keeps none.
    pub async fn checksum(
        &self,
        guest: &Guest,
        name: Name<'_>,
        algorithm: Algorithm,
    ) -> io::Result<Checksum> {
        let asked = self.served(guest, name, CacheUse::Usual).await?;
        if name::wants_replica(name, self.0.secret.as_ref()) {
            let (_, watched) = self.opened_now(&asked, CacheUse::Usual).await.map_err(failure)?;
            if let Some(own) = self.fast_checksum(&asked, &watched, algorithm).await? {
                return Ok(own);
            }
        }
        let AskedAddress { address, lent: _lent, .. } = asked;
        if address.is_local() {
            return self.0.mounts.checksum(guest, &address, algorithm).await;
        }
        let remote = self.0.engine.remote();
        remote.checksum(address.as_str(), Some(algorithm)).await.map_err(failure)
    }

    /// The reader of all origins.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// The counts of entries that are selected here.
    pub fn select_tally(&self) -> Arc<SelectTally> {
        self.0.account.select()
    }

    /// Whether a client gets a file from this node. The origin is not asked.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn look(&self, guest: &Guest, name: Name<'_>) -> io::Result<()> {
        self.allowed_here(guest, name).map(drop)
    }

    /// The name of this proxy as a node of a cluster.
    pub fn cluster_node(&self) -> Option<Node> {
        self.0.cluster.lock().as_ref().and_then(Cluster::own_node)
    }

    /// Makes this proxy a node of a cluster, on the present tokio runtime. A cluster that it is a
    /// node of already goes on: it knows which nodes answer.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn set_cluster(&self, settings: Option<&ClusterSettings>) -> io::Result<()> {
        let mut cluster = self.0.cluster.lock();
        if cluster.as_ref().map(Cluster::settings) != settings {
            *cluster = settings.map(Cluster::start).transpose()?;
        }
        Ok(())
    }

    /// This proxy ends: its cluster serves its clients. Returns the time after which no other node
    /// sends one here.
    pub fn leave_cluster(&self) -> Option<Duration> {
        self.0.cluster.lock().as_ref().map(Cluster::leave)
    }

    /// The address of a file that a client may read and gets from this node, with the credential
    /// that its origin is shown.
    async fn served(
        &self,
        guest: &Guest,
        name: Name<'_>,
        cache_use: CacheUse,
    ) -> io::Result<AskedAddress> {
        let address = self.allowed_here(guest, name)?;
        self.asked(guest, address, cache_use).await
    }

    /// The address of a file that a client may read and gets from this node.
    fn allowed_here(&self, guest: &Guest, name: Name<'_>) -> io::Result<Address> {
        let address = self.allowed(guest, name)?;
        let cluster = self.0.cluster.lock().clone();
        let Some(cluster) = cluster else { return Ok(address) };
        let request = SentRequest::of(name.written);
        if request.is_sent {
            return Ok(address);
        }
        let file = address.with_query(None);
        match cluster.elsewhere(file.as_str(), guest.client.address(), &request.tried) {
            Some(node) => Err(SentElsewhere::error(node)),
            None => Ok(address),
        }
    }

    /// The address of a file that a client may read, for a reader in this process.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn address(&self, guest: &Guest, name: Name<'_>) -> io::Result<AskedAddress> {
        let address = self.allowed(guest, name)?;
        self.asked(guest, address, CacheUse::Usual).await
    }

    /// Whether a client may read the file of an address, which another file may have named.
    pub async fn allows(&self, guest: &Guest, address: &Address) -> bool {
        let named = match address.is_local() {
            true => self.0.mounts.named(guest, address).await,
            false => Some(address.clone()),
        };
        let Some(address) = &named else { return false };
        let is_forwarded = self.0.origins.iter().any(|origin| origin.allows(address));
        is_forwarded
            && self.carries(address)
            && guest.may_read(&ServedPlace::of_far(address)).is_ok()
            && self.asked(guest, address.anonymous(), CacheUse::Usual).await.is_ok()
    }

    /// Where the time and the bytes of everything read so far went.
    pub fn report(&self) -> Report {
        self.0.engine.remote().report()
    }

    /// Opens the access log by its name again.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn reopen_log(&self) -> io::Result<()> {
        self.0.log.as_ref().map_or(Ok(()), AccessLog::reopen)
    }

    /// Waits until the received bytes are in the disk cache, if there is one. Blocks.
    pub fn flush(&self) {
        self.0.engine.remote().cache().iter().for_each(remote::cache::Cache::flush);
    }

    /// Requests of clients and the bytes fetched for them, in the format of Prometheus; `None`
    /// where the name is that of something else.
    ///
    /// # Errors
    /// `PermissionDenied` without the secret.
    pub async fn metrics(&self, guest: &Guest, written: &str) -> io::Result<Option<String>> {
        let name = name::behind_secret(written, self.0.secret.as_ref()).map_err(failure)?;
        if name != METRICS {
            return Ok(None);
        }
        guest.may_read(&ServedPlace::Figures)?;
        let clients = guest.client.all();
        let cache = self.0.engine.remote().cache();
        // It looks at each segment on the disk.
        let totals = tokio::task::spawn_blocking(move || cache.map(|cache| cache.totals()));
        let totals = totals.await.ok().flatten().unwrap_or_default();
        let figures = Figures {
            connections: clients.count() as u64,
            is_draining: clients.is_draining(),
            cache_disk_bytes: totals.disk_bytes,
            cache_bytes_max: totals.bytes_max,
            cache_free_bytes: totals.free_bytes,
            cache_disks_left_out: totals.disks_left_out,
            cache_disks_full: totals.full_disks,
            quotas: totals.quotas,
            ..self.figures()
        };
        Ok(Some(metrics::text(&figures, &self.0.account)))
    }

    /// The same as numbers.
    pub fn figures(&self) -> Figures {
        let files_open = self.0.kept.lock().len() as u64;
        let cluster = self.0.cluster.lock().as_ref().map(Cluster::figures).unwrap_or_default();
        Figures { cluster, ..self.0.account.figures(files_open, &self.0.engine) }
    }

    /// The address at which a client itself changes a file: this proxy writes nothing. From now on
    /// each open of the file asks its origin first.
    ///
    /// # Errors
    /// As for [`open`](Self::open), of a name that no client may be sent to.
    pub async fn to_write(&self, guest: &Guest, name: Name<'_>) -> io::Result<Address> {
        let address = self.forwarded(guest, name)?;
        if address.is_local() {
            let text = "this proxy writes nothing, and no server has this file";
            let error = Error::new(ErrorKind::Unsupported, text);
            return Err(failure(error.with_advice("write it on the mount itself")));
        }
        self.0.written.lock().add(&address);
        let is_it = |key: &str| key.split('?').next() == address.as_str().split('?').next();
        let was_open = {
            let mut kept = self.0.kept.lock();
            let before = kept.len();
            kept.retain(|(key, _), _| !is_it(key));
            kept.len() < before
        };
        if was_open {
            // An origin may let no one write a file that is open for reading.
            tokio::time::sleep(CLOSING).await;
        }
        Ok(address)
    }

    /// The address that a name means, of an origin whose files may be read by this proxy.
    fn allowed(&self, guest: &Guest, name: Name<'_>) -> io::Result<Address> {
        let address = self.forwarded(guest, name)?;
        if self.0.secret.is_none() && !address.query().unwrap_or_default().is_empty() {
            let text = "this proxy serves public files only, and carries no query to their origins";
            return Err(failure(Error::new(ErrorKind::PermissionDenied, text).with_advice(OWN)));
        }
        Ok(address)
    }

    /// Whether an address may be forwarded. With the user or password of one client its origin may
    /// send a file that is not for the others who share this proxy.
    fn carries(&self, address: &Address) -> bool {
        self.0.secret.is_some() || !address.has_user()
    }

    /// The address that a name means, of an origin that is not refused, for a client who may read
    /// it: every way to a file begins here.
    fn forwarded(&self, guest: &Guest, name: Name<'_>) -> io::Result<Address> {
        let Inner { origins, secret, .. } = &*self.0;
        let address = name::address_of(name, secret.as_ref()).map_err(failure)?;
        if !self.carries(&address) {
            let text = "this proxy serves public files only, and carries no user names or \
                        passwords to their origins";
            return Err(failure(Error::new(ErrorKind::PermissionDenied, text).with_advice(OWN)));
        }
        // A token in the query is this proxy's, where it asks for one.
        let address = match guest.has_rules() {
            true => name::without_token(&address),
            false => address,
        };
        guest.may_read(&ServedPlace::of_far(&address))?;
        if !origins.iter().any(|origin| origin.allows(&address)) {
            let host = address.host().unwrap_or_default();
            let text =
                format!("this proxy does not forward to {}://{host}", address.scheme().name());
            let advice =
                "read it directly, or have the proxy started with --origin for this server";
            let error = Error::new(ErrorKind::PermissionDenied, text);
            return Err(failure(error.with_advice(advice)));
        }
        Ok(address)
    }

    /// The open file of an address, and a handle for one client more, of these quotas.
    async fn opened(
        &self,
        address: &Address,
        charges: Charges,
        cache_use: CacheUse,
    ) -> remote::Result<(Arc<OriginFile>, Watched)> {
        let cache_use = match cache_use {
            CacheUse::Usual if self.0.written.lock().contains(address) => CacheUse::Verified,
            other => other,
        };
        if matches!(address.scheme(), Scheme::Root | Scheme::Roots) {
            self.close_before_question(address, cache_use);
        }
        let engine = self.0.engine.charged_to(charges);
        let watched = engine.watch_with(address.as_str(), cache_use).await?;
        let mut kept = self.0.kept.lock();
        let used = Instant::now();
        let key = (address.as_str().to_owned(), charges);
        let here = kept.get_mut(&key);
        if let Some(here) = here.filter(|here| here.file.watched.is_same_open(&watched)) {
            here.used = used;
            return Ok((here.file.clone(), watched));
        }
        let file = Arc::new(OriginFile::new(&watched, address));
        if matches!(cache_use, CacheUse::Usual | CacheUse::Verified) {
            kept.insert(key, KeptOpen { file: file.clone(), used });
            close_beyond(&mut kept, KEPT_OPEN_MAX);
        }
        Ok((file, watched))
    }

    /// Closes a file that no client has open, where its server is to be asked about it: xrootd
    /// opens the file that somebody still has open there, also when another has its name now.
    fn close_before_question(&self, address: &Address, cache_use: CacheUse) {
        let mut kept = self.0.kept.lock();
        let first = (address.as_str().to_owned(), Charges::default());
        let of_address = kept.range(first..).take_while(|((url, _), _)| url == address.as_str());
        let idle = of_address.filter(|(_, here)| Arc::strong_count(&here.file) == 1);
        let idle: Vec<_> = idle.map(|(key, here)| (key.clone(), here.file.watched.age())).collect();
        if idle.is_empty() {
            return;
        }
        let counts = self.0.engine.config().cache.check.open_counts();
        let is_aged = |age: Duration| counts.is_some_and(|counts| age >= counts);
        for (key, age) in idle {
            if cache_use == CacheUse::Verified || is_aged(age) {
                kept.remove(&key);
            }
        }
    }

    /// As [`opened`](Self::opened), of a file of a mount as it is now.
    async fn opened_now(
        &self,
        asked: &AskedAddress,
        cache_use: CacheUse,
    ) -> remote::Result<(Arc<OriginFile>, Watched)> {
        let opened = self.opened(&asked.address, asked.charges, cache_use).await?;
        match &asked.now {
            Some(now) if !opened.1.info().keeps_bytes(now) => {
                self.opened(&asked.address, asked.charges, CacheUse::Verified).await
            }
            _ => Ok(opened),
        }
    }

    /// As [`opened`](Self::opened), after a request to the origin: the open file is too old for the
    /// client.
    ///
    /// # Errors
    /// `NotFound` where the client's rules forbid the request.
    async fn opened_anew(
        &self,
        asked: &AskedAddress,
        cache_use: CacheUse,
    ) -> remote::Result<(Arc<OriginFile>, Watched)> {
        if cache_use == CacheUse::Only {
            let text = "its server has to be asked whether it is still so";
            return Err(Error::new(ErrorKind::NotFound, text));
        }
        self.opened(&asked.address, asked.charges, CacheUse::Verified).await
    }

    /// Closes at their origins the files that no client has had open for a while.
    async fn close_unused(self) {
        let inner = Arc::downgrade(&self.0);
        drop(self);
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(inner) = inner.upgrade() else { return };
            inner.kept.lock().retain(|_, here| {
                if Arc::strong_count(&here.file) > 1 {
                    here.used = Instant::now();
                }
                here.used.elapsed() < KEPT_OPEN
            });
        }
    }
}

/// Whether the origin's last description of a file is older than a client allows.
fn is_too_old(watched: &Watched, age_max: Option<u64>) -> bool {
    let is_beyond = |most| watched.age().as_secs() > most;
    !watched.has_asked() && age_max.is_some_and(is_beyond)
}

/// Closes the least recently used files without a client, until `idle_max` of them are left.
fn close_beyond(kept: &mut BTreeMap<KeptKey, KeptOpen>, idle_max: usize) {
    if kept.len() <= idle_max {
        return;
    }
    let idle = kept.iter().filter(|(_, here)| Arc::strong_count(&here.file) == 1);
    let mut idle: Vec<_> = idle.map(|(key, here)| (here.used, key.clone())).collect();
    idle.sort_unstable();
    let beyond = idle.len().saturating_sub(idle_max);
    for (_, key) in idle.into_iter().take(beyond) {
        kept.remove(&key);
    }
}

impl OriginFile {
    fn new(watched: &Watched, address: &Address) -> Self {
        let stat = stat_of(watched);
        let shown = address.anonymous().to_string();
        OriginFile { watched: watched.keeper(), stat, shown, _replica: None }
    }
}

/// The stat of a file for clients. All that distinguishes its versions goes into one number, which
/// is the id of XRootD and part of the entity tag of HTTP; where an origin gives nothing but the
/// size, each open has a number of its own.
fn stat_of(file: &Watched) -> Stat {
    let info = file.info();
    let mut hasher = DefaultHasher::new();
    (file.url(), info.size, info.modified, &info.version, info.status_changed).hash(&mut hasher);
    if info.says_only_size() {
        (std::process::id(), file.opened_before()).hash(&mut hasher);
    }
    let modified = info.modified.and_then(|seconds| u64::try_from(seconds).ok());
    Stat {
        size: info.size,
        modified: Duration::from_secs(modified.unwrap_or_default()),
        is_folder: false,
        inode: hasher.finish(),
    }
}

/// The stat of a directory, of which its origin says no more than that it is one.
fn stat_of_folder(address: &Address) -> Stat {
    let mut hasher = DefaultHasher::new();
    address.anonymous().as_str().hash(&mut hasher);
    Stat { size: 0, modified: Duration::ZERO, is_folder: true, inode: hasher.finish() }
}

impl FarFile {
    pub fn stat(&self) -> Stat {
        self.0.origin.stat
    }

    /// Wants ranges for a client, to be handed out in this order; whole ones, or in pieces.
    pub fn read(&self, client: &Client, ranges: Vec<Range<u64>>, is_whole: bool) -> Reading {
        Reading::new(self.clone(), client.far_room(), ranges, is_whole)
    }

    /// How much of ranges that end within the file the proxy has cached.
    pub fn cache_status(&self, ranges: &[Range<u64>]) -> CacheStatus {
        CacheStatus::of(&self.0.watched, self.0.was_too_old, ranges)
    }

    fn want(&self, ranges: Vec<Range<u64>>) -> Arrivals {
        self.0.watched.read(ranges)
    }

    /// A piece has arrived so long after its request.
    fn arrived(&self, after: Duration) {
        self.0.read_times.observe(after.as_secs_f64());
    }

    fn count(&self, bytes: u64, ways: Ways) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.files.0.account.delivered(bytes, ways);
    }

    /// A read has failed: the next client that opens the file causes a request to its origin.
    fn fail(&self, error: Error) -> Error {
        let ClientFile { origin, files, key, .. } = &*self.0;
        origin.watched.give_up();
        let mut kept = files.0.kept.lock();
        if let Some(key) = key
            && kept.get(key).is_some_and(|here| Arc::ptr_eq(&here.file, origin))
        {
            kept.remove(key);
        }
        error
    }
}

impl Drop for ClientFile {
    fn drop(&mut self) {
        let Some(log) = &self.files.0.log else { return };
        let bytes = *self.bytes.get_mut();
        let seconds = self.opened.elapsed().as_secs_f64();
        let OriginFile { shown, stat, .. } = &*self.origin;
        log.closed(self.client, shown, stat.size, bytes, seconds);
    }
}

impl fmt::Debug for FarFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FarFiles(open: {})", self.0.kept.lock().len())
    }
}

impl fmt::Debug for FarFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FarFile({})", self.0.origin.shown)
    }
}
