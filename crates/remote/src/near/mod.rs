//! Servers that select entries where the files are: which one is asked about a file, and by which
//! name the file goes there.

mod idle;
pub(crate) mod memory;
mod metadata;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use mutex::{Mutex, RwLock};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::address::{Address, Scheme};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::fetch::RemoteFile;
use crate::fetch::trace::Trace;
use crate::proofs::told_apart;
use crate::selecting::Near;
use crate::source::http::selected::{self, SelectConnection};
use crate::source::network::Network;
use idle::IdleConnections;
use memory::NearMemory;

pub use crate::source::http::headers;
pub use idle::CONNECTIONS_MAX;
pub use metadata::{FileMetadata, PART_BYTES, PARTS};

/// Time to connect from which on a server is far away.
const FAR: Duration = Duration::from_millis(10);

/// Characters that a path of a request does not have.
const PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`');

/// The servers, and the way to them. Cheap to clone.
#[derive(Clone)]
pub struct NearServers(Arc<NearInner>);

struct NearInner {
    way: RwLock<WayToServers>,
    /// Addresses of those that do not select.
    without: Mutex<BTreeSet<String>>,
    memory: Arc<NearMemory>,
    idle: IdleConnections,
    /// Held while the metadata of a file are asked for.
    asking: Arc<tokio::sync::Mutex<()>>,
}

struct WayToServers {
    config: Config,
    network: Arc<dyn Network>,
}

/// The answer to a request; dropping it ends the connection, and with it the work of the server.
pub struct SelectedBytes {
    /// `None` behind the end.
    bytes: Option<selected::SelectAnswer>,
    counting: AnswerCount,
    /// Bytes that have come.
    count: u64,
    /// Where the connection goes at the end.
    idle: IdleConnections,
    place: NearPlace,
    memory: Arc<NearMemory>,
}

/// The bytes of an answer, for the report.
struct AnswerCount {
    trace: Trace,
    file: u32,
    server: Arc<str>,
}

impl AnswerCount {
    fn begin(file: &RemoteFile, server: Arc<str>) -> Self {
        let trace = file.trace().clone();
        let file = file.tag();
        trace.selecting(file, &server);
        AnswerCount { trace, file, server }
    }
}

impl Drop for AnswerCount {
    fn drop(&mut self) {
        self.trace.selected_all(self.file, &self.server);
    }
}

impl SelectedBytes {
    /// Whether the bytes are compressed as a whole, by zstd.
    pub fn is_coded(&self) -> bool {
        self.bytes.as_ref().is_some_and(selected::SelectAnswer::is_coded)
    }

    /// The next bytes; `None` behind the last.
    ///
    /// # Errors
    /// `TimedOut` where none arrive; the end of the connection.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let Some(answer) = &mut self.bytes else { return Ok(None) };
        let bytes = answer.next().await?;
        if bytes.is_none() {
            answer.delay().into_iter().for_each(|delay| {
                self.memory.learn_delay(&self.place.endpoint(), delay);
            });
            let connection = self.bytes.take().map(selected::SelectAnswer::into_connection);
            if let Some(connection) = connection {
                self.idle.put(self.place.key(), connection, self.count);
            }
        }
        let count = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        self.count += count;
        self.counting.trace.selected(self.counting.file, &self.counting.server, count);
        Ok(bytes)
    }
}

/// The server that is asked about a file.
#[derive(Debug, Clone)]
pub struct NearPlace {
    /// The address of requests.
    pub url: Address,
    /// The name of the file there, as a `GET` has it.
    pub file: String,
    /// Whether the caller leaves the choice between this server and here to the reader.
    pub is_choice: bool,
    /// Whether it is the file's own server.
    is_own: bool,
}

impl NearServers {
    pub(crate) fn new(config: &Config, network: Arc<dyn Network>, memory: Arc<NearMemory>) -> Self {
        let way = RwLock::new(WayToServers { config: config.clone(), network });
        NearServers(Arc::new(NearInner {
            way,
            without: Mutex::default(),
            memory,
            idle: IdleConnections::default(),
            asking: Arc::default(),
        }))
    }

    pub(crate) fn configure(&self, config: &Config, network: &Arc<dyn Network>) {
        *self.0.way.write() = WayToServers { config: config.clone(), network: network.clone() };
        self.0.without.lock().clear();
        self.0.idle.clear();
    }

    /// Where entries of the file are selected, as its caller or the settings want it; `None` where
    /// that is here, for a server that is known not to select and, where the caller leaves the
    /// choice, for one that is not known to select, or has just been too busy.
    pub fn place(&self, file: &Address) -> Option<NearPlace> {
        let place = file.near(&self.near(file))?;
        if self.0.without.lock().contains(place.url.as_str()) {
            return None;
        }
        let is_known = || {
            let endpoint = place.endpoint();
            self.0.memory.offers(&endpoint) && !self.0.memory.is_busy(&endpoint)
        };
        (!place.is_choice || is_known()).then_some(place)
    }

    /// Whether the choice is left to the reader of a file, which is far away.
    pub fn leaves_choice(&self, file: &Address) -> bool {
        file.near(&self.near(file)).is_some_and(|place| place.is_choice)
    }

    /// Why entries of a file are not selected elsewhere, though its caller or the settings allow
    /// that, for reports; `None` where they do not, and where [`NearServers::place`] has a server.
    pub fn not_asked(&self, file: &Address) -> Option<String> {
        let place = file.near(&self.near(file))?;
        let endpoint = place.endpoint();
        let server = place.server();
        if self.0.without.lock().contains(place.url.as_str()) {
            Some(format!("entries are selected here: {server} does not select"))
        } else if place.is_choice && self.0.memory.is_busy(&endpoint) {
            Some(format!("entries are selected here: {server} was too busy a moment ago"))
        } else if place.is_choice && !self.0.memory.offers(&endpoint) {
            Some("entries are selected here: no server has said that it selects".to_owned())
        } else {
            None
        }
    }

    /// As the caller of a file or the settings want it.
    fn near(&self, file: &Address) -> Near {
        let near = file.access().and_then(|access| access.near.clone());
        near.unwrap_or_else(|| self.0.way.read().config.near.clone())
    }

    /// Connects to the server of a file that is being opened, so that requests need not wait for
    /// that.
    pub(crate) fn prepare(&self, file: &Address) {
        if let Some(place) = self.place(file) {
            // Where the choice is the reader's, there may be no request.
            let wanted = if place.is_choice { 1 } else { CONNECTIONS_MAX };
            self.connect(&place, wanted, !place.is_choice);
        }
    }

    /// Makes connections until there are so many. A server that is far away then sends a few bytes
    /// of the file at once, if it is to: TCP sends twice as many from the beginning of the next
    /// answer on, which otherwise waits a round trip longer.
    fn connect(&self, place: &NearPlace, wanted: usize, is_to_send: bool) {
        for _ in 0..self.0.idle.missing(&place.key(), wanted) {
            let connection = self.connection(place);
            let idle = self.0.idle.clone();
            let place = place.clone();
            tokio::spawn(async move {
                let made = match connection {
                    Ok(connection) => ready(connection, &place, is_to_send).await,
                    Err(_) => None,
                };
                idle.made(place.key(), made);
            });
        }
    }

    /// The metadata of a file that is about to be opened, from its own server, if that is to select
    /// entries and is far away. They are some of its bytes, not yet compared with anything.
    pub fn metadata(&self, file: &Address) -> Option<BoxFuture<'static, Option<FileMetadata>>> {
        let place = self.place(file).filter(|place| place.is_own && !place.is_choice)?;
        // Of files that are opened side by side the connections suffice for one.
        let asking = self.0.asking.clone().try_lock_owned().ok()?;
        self.connect(&place, PARTS, false);
        let near = self.clone();
        let found = async move {
            let _asking = asking;
            let first = near.0.idle.take(&place.key()).await?;
            if first.distance() < FAR {
                near.0.idle.put(place.key(), first, 0);
                return None;
            }
            let mut connections = vec![first];
            while connections.len() < PARTS {
                connections.push(near.0.idle.take(&place.key()).await?);
            }
            let part = |(index, connection)| near.metadata_part(&place, index, connection);
            let parts = join_all(connections.into_iter().enumerate().map(part)).await;
            FileMetadata::joined(&parts.into_iter().collect::<Option<Vec<_>>>()?)
        };
        Some(found.boxed())
    }

    /// Counts the bytes of metadata that the server has sent beside the open of a file.
    pub fn count_metadata(&self, file: &RemoteFile) {
        let Some(place) = file.urls().first().and_then(|url| self.place(url)) else { return };
        let counting = AnswerCount::begin(file, place.server().into());
        let bytes = (PARTS * PART_BYTES) as u64;
        counting.trace.selected(counting.file, &counting.server, bytes);
    }

    async fn metadata_part(
        &self,
        place: &NearPlace,
        index: usize,
        connection: SelectConnection,
    ) -> Option<Vec<u8>> {
        let name = utf8_percent_encode(&place.file, NON_ALPHANUMERIC);
        let url = place.at_server(&format!("/select?metadata={name}&part={index}"))?;
        let (part, connection) = selected::part(connection, &url, PART_BYTES).await.ok()?;
        self.0.idle.put(place.key(), connection, part.len() as u64);
        Some(part)
    }

    /// Bytes of the last answer on a connection that waits for a request; `None` where there is no
    /// such connection.
    pub fn answered(&self, place: &NearPlace) -> Option<u64> {
        self.0.idle.answered(&place.key())
    }

    fn connection(&self, place: &NearPlace) -> Result<SelectConnection> {
        let way = self.0.way.read();
        SelectConnection::new(&place.url, &way.config, way.network.clone())
    }

    /// The part of the entries that earlier reads have left, by the number of what they read.
    pub fn share(&self, read: u64) -> Option<f64> {
        self.0.memory.share(read)
    }

    /// A read has left this part of its entries.
    pub fn learn_share(&self, read: u64, share: f64) {
        self.0.memory.learn_share(read, share);
    }

    /// Bytes of columns a second that the server has lately evaluated for this process; `None`
    /// where that is not known.
    pub fn pace(&self, place: &NearPlace) -> Option<u64> {
        self.0.memory.pace(&place.endpoint())
    }

    /// Time that the server has lately taken until an answer began: while requests of others come
    /// first, it has that of theirs.
    pub fn delay(&self, place: &NearPlace) -> Duration {
        self.0.memory.delay(&place.endpoint()).unwrap_or_default()
    }

    /// The server has evaluated so many bytes of columns in this time.
    pub fn learn_pace(&self, place: &NearPlace, bytes: u64, time: Duration) {
        self.0.memory.learn_pace(&place.endpoint(), bytes, time);
    }

    /// Sends a request about an open file, and waits for the head of the answer.
    ///
    /// # Errors
    /// The server's refusal; the end of the connection.
    pub async fn ask(
        &self,
        place: &NearPlace,
        request: Bytes,
        file: &RemoteFile,
    ) -> Result<SelectedBytes> {
        let counting = AnswerCount::begin(file, place.server().into());
        let connection = match self.0.idle.take(&place.key()).await {
            Some(connection) => connection,
            None => {
                let connection = self.connection(place)?;
                connection.connect().await?;
                connection
            }
        };
        let answer = selected::ask(connection, &place.url, request).await;
        match &answer {
            Ok(answer) => answer.delay().into_iter().for_each(|delay| {
                self.0.memory.learn_delay(&place.endpoint(), delay);
            }),
            Err(error) => self.learn_refusal(place, error),
        }
        let bytes = Some(answer?);
        let idle = self.0.idle.clone();
        let memory = self.0.memory.clone();
        Ok(SelectedBytes { bytes, counting, count: 0, idle, place: place.clone(), memory })
    }

    /// A server that does not select, or not now, is not asked at once again.
    fn learn_refusal(&self, place: &NearPlace, error: &Error) {
        let endpoint = place.endpoint();
        if error.message() == selected::NOT_OFFERED {
            self.0.without.lock().insert(place.url.as_str().to_owned());
            self.0.memory.offers_no_more(&endpoint);
        } else if error.is_busy() {
            self.0.memory.is_busy_now(&endpoint);
        }
    }
}

/// Connects; the server sends a few bytes of the file, if it is to and is far away.
async fn ready(
    connection: SelectConnection,
    place: &NearPlace,
    is_to_send: bool,
) -> Option<SelectConnection> {
    connection.connect().await.ok()?;
    let is_far = connection.distance() >= FAR;
    if let Some(file) = place.file_url().filter(|_| is_to_send && is_far) {
        // The answer to a request will say what is wrong.
        let _ = connection.widen(&file).await;
    }
    Some(connection)
}

impl NearPlace {
    /// The file at the server.
    fn file_url(&self) -> Option<Address> {
        self.at_server(&self.file)
    }

    /// Another path and query of the server, in the same caller's name.
    fn at_server(&self, path: &str) -> Option<Address> {
        // Without the parameters of farroot's own, which the text of an address has, too.
        let server = self.url.to_http()?.as_str().strip_suffix("/select")?;
        Some(Address::parse(&format!("{server}{path}")).ok()?.under(&self.url.shared_access()))
    }

    /// Whether it is the file's own server.
    pub fn is_own(&self) -> bool {
        self.is_own
    }

    /// The server, for reports.
    pub fn server(&self) -> String {
        let host = self.url.host().unwrap_or_default();
        let port = self.url.port().unwrap_or_default();
        format!("{}://{host}:{port}", self.url.scheme().name())
    }

    fn endpoint(&self) -> String {
        let server = self.server();
        server.split_once("://").map_or(&*server, |(_, endpoint)| endpoint).to_owned()
    }

    /// Tells its connections from others.
    fn key(&self) -> String {
        format!("{} {}", self.url.as_str(), self.url.access_key())
    }
}

impl fmt::Debug for NearServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NearServers(without: {:?})", self.0.without.lock())
    }
}

impl Address {
    /// Where entries of this file are selected; `None` where that is here. A name with a secret in
    /// it goes to no other server than the file's own.
    fn near(&self, near: &Near) -> Option<NearPlace> {
        let encoded = |text: &str| utf8_percent_encode(text, PATH).to_string();
        let query = self.query().filter(|query| !query.is_empty());
        let query_text = query.map(|query| format!("?{query}")).unwrap_or_default();
        let scheme = self.scheme();
        let (server, file) = match (near, scheme) {
            (Near::Never, _) | (_, Scheme::Local | Scheme::S3 | Scheme::Pelican) => return None,
            // A server that another file names is not shown the caller's credentials.
            (Near::AtServer | Near::Auto, _) if !self.is_named() => return None,
            (Near::AtServer | Near::Auto, Scheme::Root | Scheme::Roots) => {
                let encryption = if scheme == Scheme::Roots { "https" } else { "http" };
                let server = format!("{encryption}://{}:{}", self.host()?, self.port()?);
                (server, format!("{}{query_text}", encoded(&self.path())))
            }
            (Near::AtServer | Near::Auto, _) => {
                // With the user that the address names.
                let mut server = self.to_http()?.clone();
                server.set_path("");
                server.set_query(None);
                let server = server.as_str().trim_end_matches('/').to_owned();
                (server, format!("{}{query_text}", self.path()))
            }
            (Near::At(proxy), _) => {
                let has_secret = query.is_some_and(|query| !told_apart(query).1.is_empty())
                    || self.as_str().split('/').nth(2).is_some_and(|host| host.contains('@'));
                if has_secret {
                    return None;
                }
                let path = match scheme {
                    Scheme::Root | Scheme::Roots => encoded(&self.path()),
                    _ => self.path().into_owned(),
                };
                let at = format!("{}://{}:{}", scheme.name(), self.host()?, self.port()?);
                let slash = if path.starts_with('/') { "" } else { "/" };
                (proxy.clone(), format!("/{at}{slash}{path}{query_text}"))
            }
        };
        let url = Address::parse(&format!("{server}/select")).ok()?;
        // The credentials of the caller's word are for the file's own server.
        let is_own = matches!(near, Near::AtServer | Near::Auto);
        let access = if is_own { self.shared_access() } else { None };
        let is_choice = matches!(near, Near::Auto);
        Some(NearPlace { url: url.under(&access), file, is_choice, is_own })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(address: &str, near: &str) -> Option<(String, String)> {
        let near = Near::named(near).unwrap();
        let place = Address::parse(address).unwrap().near(&near)?;
        Some((place.url.to_string(), place.file))
    }

    #[test]
    fn a_file_goes_by_the_name_of_a_get() {
        for (address, near, url, file) in [
            ("root://h:1094//d/f.root", "on", "http://h:1094/select", "/d/f.root"),
            ("roots://h//d/a b.root?x=1", "on", "https://h:1094/select", "/d/a%20b.root?x=1"),
            ("http://h/d/a%20b.root?x=1", "on", "http://h/select", "/d/a%20b.root?x=1"),
            ("https://h:8443/f.root", "on", "https://h:8443/select", "/f.root"),
            (
                "root://h//d/f.root",
                "https://p:1094",
                "https://p:1094/select",
                "/root://h:1094//d/f.root",
            ),
            ("https://h/f.root", "http://p/", "http://p/select", "/https://h:443/f.root"),
        ] {
            let found = found(address, near).unwrap();
            assert_eq!(found.1.replace("//d", "/d"), file.replace("//d", "/d"), "{address}");
            assert_eq!(found.0.replace(":80/", "/"), url, "{address}");
        }
    }

    /// Regression: the address of a call with `near=True` has a parameter of farroot's own. With it
    /// the server was asked for neither metadata nor the bytes by which connections grow.
    #[test]
    fn the_addresses_of_a_server_have_no_parameters_of_farroot_s_own() {
        for (address, file, metadata) in [
            (
                "http://h:1094//f.root?farroot.near=on",
                "http://h:1094//f.root",
                "/select?metadata=f",
            ),
            ("http://h/f.root?a=1&farroot.near=on", "http://h/f.root?a=1", "/select?metadata=f"),
            ("root://h:1094//d/f.root", "http://h:1094/d/f.root", "/select?metadata=f"),
        ] {
            let address = Address::parse(address).unwrap();
            let place = address.near(&Near::AtServer).unwrap();
            let shown = |url: Option<Address>| url.unwrap().to_http().unwrap().to_string();
            assert_eq!(shown(place.file_url()), file);
            let url = place.at_server(metadata).unwrap();
            assert_eq!(url.access_key(), address.access_key());
            assert!(shown(Some(url)).ends_with(metadata));
        }
        let proxied = Address::parse("root://h//d/f.root").unwrap();
        let place = proxied.near(&Near::At("http://p:1".to_owned())).unwrap();
        let url = place.file_url().unwrap();
        assert_eq!(url.to_http().unwrap().as_str(), "http://p:1/root://h:1094/d/f.root");
    }

    #[test]
    fn secrets_go_to_no_other_server() {
        for address in [
            "https://h/f?authz=Bearer%20secret",
            "https://user:secret@h/f",
            "/local/f.root",
            "s3://bucket/f.root",
        ] {
            assert_eq!(found(address, "https://p:1094"), None, "{address}");
        }
        assert_eq!(found("root://h//f", "off"), None);
        let named = Address::parse("https://h/f").unwrap();
        let other = named.led_to("https://other/f", crate::address::Way::Mention).unwrap();
        assert!(other.near(&Near::AtServer).is_none());
        let user = Address::parse("https://user:secret@h/f").unwrap();
        let place = user.near(&Near::AtServer).unwrap();
        assert_eq!(place.url.as_str(), "https://user:secret@h/select");
        assert_eq!(place.file, "/f");
        for wrong in ["", "true", "p:1094", "root://p", "https://", "https://p/x", "https://u@p"] {
            assert_eq!(Near::named(wrong), None, "{wrong}");
        }
    }
}
