//! Every option, with its default and the reason for it. None is needed for good speed.
//!
//! The only reader of the environment: a field that a `FARROOT_*` variable changes is a setting of
//! [`crate::settings`]. Programs in Rust, and tests, can change the others, too.

use std::path::PathBuf;
use std::time::Duration;

use credentials::CredentialStore;
use etcetera::BaseStrategy;
use scheduler::LinkModel;

use crate::cache::CacheConfig;
use crate::error::{Error, ErrorKind, Result};
use crate::proxies::Proxies;
use crate::selecting::Near;
use crate::{runtime, settings, user};

/// Configuration of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Bytes held at one time, in flight, waiting or decoded and not yet handed out
    /// (`FARROOT_MEMORY`, e.g. `500 MB`). Arrays in the caller's hands are the caller's.
    pub memory_bytes_max: u64,
    /// Threads that decompress and decode; 0 decodes on the caller's own task
    /// (`FARROOT_DECODE_THREADS`; default: one a core).
    pub decode_threads: usize,
    /// Connections begun at the first moment, since each starts slowly.
    pub connections_initial: u32,
    /// Connections to one server at the most: a polite limit (`FARROOT_CONNECTIONS`).
    pub connections_max: u32,
    /// The same while small requests of many files wait for answers, where each takes a connection
    /// for a round trip, as over HTTP. The setting of `connections_max` sets this, too.
    pub connections_for_requests_max: u32,
    /// Most connections to one server from all processes of the user on this machine; where there
    /// are more processes they take turns; 0: no limit (`FARROOT_CONNECTIONS_SHARED`). Without it,
    /// 64 jobs on a batch node would have 16 each.
    pub connections_shared: u32,
    /// Folder, private to the user, for the locks with which processes count those connections;
    /// `None`, the default without [`Config::from_env`], sets no limit.
    pub runtime_folder: Option<PathBuf>,
    /// Whether neighbouring ranges of a file are requested together. If not, each basket is a
    /// request, to measure the cost.
    pub coalescing: bool,
    /// Files being opened at one time, by those who read many. Their opens share the connections:
    /// this is sixteen on each of sixteen, which hides the distance, and little for a server.
    pub opens_max: usize,
    /// Where metadata of files is remembered from one process to the next; `None`, as by default
    /// without the environment, remembers nothing (`FARROOT_STORE_FOLDER`; default: `farroot` in
    /// the platform's cache folder).
    pub store_folder: Option<PathBuf>,
    /// Bytes of the store at the most; 0 remembers nothing (`FARROOT_STORE`, e.g. `100 MB`).
    pub store_bytes_max: u64,
    /// Which parts of read files are cached on a disk of this machine.
    pub cache: CacheConfig,
    /// How long to wait for a TCP connection (`FARROOT_CONNECT_TIMEOUT`, seconds).
    pub connect_timeout: Duration,
    /// How long bytes that the servers of a file owe are waited for in all, whether nothing of them
    /// comes or less than `least_rate` makes of this time: from the first request to its answer,
    /// login and open included, or since enough last came, requests sent again and other sources
    /// included (`FARROOT_READ_TIMEOUT`, seconds). Pauses that a server requests come on top, up
    /// to ten minutes; a server that takes no connections any more has `retry_timeout`.
    pub read_timeout: Duration,
    /// Bytes per second that the servers of a file have to bring together while they owe more
    /// (0: a byte in each `read_timeout` will do). A modem's line is seven times as fast.
    pub least_rate: u64,
    /// How long a server that owes data may stay silent before its work goes to another source, or
    /// another connection shows whether it still answers.
    pub stall_timeout: Duration,
    /// How long a server that has answered before may be unreachable before its files are given
    /// up (`FARROOT_RETRY_TIMEOUT`, seconds). A restart takes seconds.
    pub retry_timeout: Duration,
    /// Sources of one file that are read from at the same time, unless there is much to read.
    pub sources_active: u32,
    /// Whether redirectors are asked for other locations of a file (`FARROOT_DISCOVERY`; 0: never).
    pub discovery: bool,
    /// A redirector is first asked when a read has lasted this long, or a server fails.
    pub discovery_after: Duration,
    /// How long after other servers were found it is asked again.
    pub discovery_again: Duration,
    /// How long after none were.
    pub discovery_pause: Duration,
    /// Whether bytes are read with checksums where servers offer them (`FARROOT_CHECKSUMS`: `auto`,
    /// `always`, `never`).
    pub checksums: Checksums,
    /// The name sent at login, by which servers that trust names know the user, unless the address
    /// has one (`root://user@host`). With the environment: that of the user who runs the process.
    pub user: String,
    /// Speak HTTP/2 without TLS from the first byte to `http` servers.
    pub http2: bool,
    /// Whether `https` servers may send on to where nothing is encrypted, as XRootD's and pools of
    /// dCache do (`FARROOT_PLAIN_REDIRECTS`; 0: never).
    pub plain_redirects: bool,
    /// Hosts that get a token or a certificate within TLS when others send there, as if the caller
    /// had named them; with a dot in front, all in a domain (`FARROOT_REDIRECT_CREDENTIALS`).
    pub redirect_credentials: Vec<String>,
    /// Proxies of HTTP on the way to servers: `FARROOT_HTTP_PROXY`, else the variables
    /// `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`. None by default without the
    /// environment.
    pub proxies: Proxies,
    /// The user's credentials: where they are searched for, not their secrets. By default none,
    /// without the environment.
    pub credential_store: CredentialStore,
    /// Where entries of remote files are selected (`FARROOT_NEAR`).
    pub near: Near,
    /// Trust any server without verification: for one call that requests it, never from the
    /// environment.
    pub insecure: bool,
}

/// Whether bytes come with a checksum of every page (kXR_pgread), so that bytes that were damaged
/// on the way are noticed and requested again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksums {
    /// Files whose bytes are not decoded, as copies, where the server offers it. Decoded bytes
    /// mostly have checksums of their own, and the vectored reads that collect them have none.
    #[default]
    Auto,
    /// Everything, each range by a request of its own; nothing is read where that cannot be.
    Always,
    /// Nothing.
    Never,
}

impl Checksums {
    /// `auto`, `always` or `never`.
    pub fn named(text: &str) -> Option<Self> {
        [Checksums::Auto, Checksums::Always, Checksums::Never]
            .into_iter()
            .find(|checksums| checksums.name() == text)
    }

    /// As [`Checksums::named`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Checksums::Auto => "auto",
            Checksums::Always => "always",
            Checksums::Never => "never",
        }
    }
}

/// How often in a row a server may request as much time as the timeout for its bytes.
const WAITS_MAX: u32 = 20;

impl Config {
    /// How much time a server may request, all together: by default as long as a tape takes.
    pub(crate) fn wait_max(&self) -> Duration {
        self.read_timeout.saturating_mul(WAITS_MAX)
    }

    /// Whether a credential may follow to a host that the caller has not named.
    pub(crate) fn may_follow(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.redirect_credentials.iter().any(|listed| match listed.starts_with('.') {
            true => host.ends_with(&**listed) && host.len() > listed.len(),
            false => host == *listed,
        })
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            memory_bytes_max: 1 << 30,
            decode_threads: std::thread::available_parallelism().map_or(1, usize::from),
            connections_initial: LinkModel::USUAL.connections,
            connections_max: 16,
            connections_for_requests_max: 48,
            connections_shared: 64,
            runtime_folder: None,
            coalescing: true,
            opens_max: 256,
            store_folder: None,
            store_bytes_max: 100_000_000,
            cache: CacheConfig::default(),
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(30),
            least_rate: 1000,
            stall_timeout: Duration::from_millis(1500),
            retry_timeout: Duration::from_secs(60),
            sources_active: 2,
            discovery: true,
            discovery_after: Duration::from_secs(1),
            discovery_again: Duration::from_secs(60),
            discovery_pause: Duration::from_secs(120),
            checksums: Checksums::Auto,
            user: "farroot".into(),
            http2: false,
            plain_redirects: true,
            redirect_credentials: Vec::new(),
            proxies: Proxies::default(),
            credential_store: CredentialStore::empty(),
            near: Near::Never,
            insecure: false,
        }
    }
}

impl Config {
    /// The defaults, as the environment changes them. Variables that are empty count as not set.
    ///
    /// # Errors
    /// `InvalidArgument` naming the variable that cannot be understood.
    pub fn from_env() -> Result<Self> {
        let credential_store = CredentialStore::of_process();
        let cache = CacheConfig { folder: cache_folder(), ..CacheConfig::default() };
        let mut config = Config {
            store_folder: cache_folder(),
            runtime_folder: Some(runtime::folder()),
            cache,
            credential_store,
            proxies: Proxies::of_variables(|name| std::env::var(name).ok()),
            ..Config::default()
        };
        if let Some(user) = user::name() {
            config.user = user;
        }
        settings::apply(&mut config, std::env::vars_os())?;
        Ok(config)
    }
}

/// Where this platform wants things that can be made again; `None` for users without a home.
fn cache_folder() -> Option<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().ok()?;
    let folder = strategy.cache_dir().join("farroot");
    // Of an empty HOME: it would be wherever the program starts.
    folder.is_absolute().then_some(folder)
}

/// Reads `100 MB`, `1GiB`, `4096`: decimal units are powers of 1000, those with an `i` of 1024.
///
/// # Errors
/// `InvalidArgument` for anything else.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let wrong =
        || Error::new(ErrorKind::InvalidArgument, format!("{text:?} is not a number of bytes"));
    let text_trimmed = text.trim();
    let digits =
        text_trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text_trimmed.len());
    let number: f64 = text_trimmed[..digits].parse().map_err(|_| wrong())?;
    let scale = match text_trimmed[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let bytes = number * scale;
    if bytes.is_finite() && bytes < 1e18 { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_names() {
        for checksums in [Checksums::Auto, Checksums::Always, Checksums::Never] {
            assert_eq!(Checksums::named(checksums.name()), Some(checksums));
        }
        assert_eq!(Checksums::named("sometimes"), None);
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        assert_eq!(parse_bytes("100 MB").unwrap(), 100_000_000);
        assert_eq!(parse_bytes("1.5kB").unwrap(), 1500);
        assert_eq!(parse_bytes("1 GiB").unwrap(), 1 << 30);
        assert_eq!(parse_bytes("4096").unwrap(), 4096);
        for wrong in ["", "MB", "-1", "1 parsec", "1e99 GB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong:?}");
        }
    }
}
