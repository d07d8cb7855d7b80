//! New names for files, by `MOVE` of WebDAV (RFC 4918), whose `Destination` not every server reads
//! as it is meant: some take its escapes for letters of the name (XRootD 5). The file then gets a
//! wrong name, and the answer does not say so.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, SERVER};
use mutex::Mutex;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_decode_str, percent_encode};
use url::{Position, Url};

use super::put::HttpChanger;
use crate::address::Address;
use crate::error::{Error, ErrorKind, Result};

const DESTINATION: HeaderName = HeaderName::from_static("destination");
const OVERWRITE: HeaderName = HeaderName::from_static("overwrite");
/// Letters of a path beside its slashes and escapes that addresses write as escapes.
const NO_PATH: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'?');
/// Servers, and folders, that are remembered.
const SERVERS_MAX: usize = 1024;

/// How a server reads the path of a `Destination`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DestinationReading {
    /// Without its escapes, as any other path.
    Decoded,
    /// As the name itself.
    Verbatim,
}

impl DestinationReading {
    fn other(self) -> Self {
        match self {
            DestinationReading::Decoded => DestinationReading::Verbatim,
            DestinationReading::Verbatim => DestinationReading::Decoded,
        }
    }
}

/// The facts that the answers of a server have shown.
#[derive(Debug, Clone, Copy, Default)]
struct ShownRenaming {
    /// It is XRootD's: some of its versions read the one way, some the other.
    is_xrootd: bool,
    reading: Option<DestinationReading>,
}

/// How servers rename files. Cheap to clone.
#[derive(Clone, Default)]
pub struct KnownRenaming {
    servers: Arc<Mutex<BTreeMap<String, ShownRenaming>>>,
    /// Whether files can be renamed in a folder: a server may allow it in some of its places only.
    folders: Arc<Mutex<BTreeMap<String, bool>>>,
}

impl KnownRenaming {
    fn of(&self, url: &Address) -> Option<ShownRenaming> {
        self.servers.lock().get(&url.server_key()).copied()
    }

    fn learn(&self, url: &Address, change: impl FnOnce(&mut ShownRenaming)) {
        learn(&mut self.servers.lock(), url.server_key(), change);
    }

    /// Takes what an answer shows.
    pub(super) fn see(&self, url: &Address, headers: &HeaderMap) {
        let name = headers.get(SERVER).map(HeaderValue::as_bytes).unwrap_or_default();
        let is_xrootd = name.to_ascii_lowercase().starts_with(b"xrootd");
        self.learn(url, |shown| shown.is_xrootd |= is_xrootd);
    }
}

impl HttpChanger {
    /// Whether a server knows `MOVE` in a folder: asked once, of two names that are not there.
    pub async fn renames(&self, from: &Address, to: &Address) -> bool {
        let folder = folder_key(from);
        let known = self.renaming.folders.lock().get(&folder).copied();
        if let Some(renames) = known {
            return renames;
        }
        let renames = match self.ask_to_move(from, to, DestinationReading::Decoded, false).await {
            Err(error) if error.kind() == ErrorKind::Unsupported => false,
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            // Who may not ask, or is not answered, has learnt nothing.
            _ => return true,
        };
        learn(&mut self.renaming.folders.lock(), folder, |known| *known = renames);
        renames
    }

    /// Gives a file another name on the same server.
    ///
    /// # Errors
    /// `Unsupported` where the server renames no files, or not to this name: the file then has its
    /// old name; as [`HttpChanger::put`].
    pub async fn rename(&self, from: &Address, to: &Address, overwrite: bool) -> Result<()> {
        let has_escapes = to.path().contains('%');
        if has_escapes && self.renaming.of(to).is_none() {
            // Its answer says which server it is.
            self.is_there(from).await?;
        }
        let shown = self.renaming.of(to).unwrap_or_default();
        let guess = if shown.is_xrootd {
            DestinationReading::Verbatim
        } else {
            DestinationReading::Decoded
        };
        let reading = shown.reading.unwrap_or(guess);
        let misread = match shown.reading {
            None => misread(to, reading),
            Some(_) => None,
        };
        let Some(misread) = misread else {
            return self.ask_to_move(from, to, reading, overwrite).await;
        };
        // A server that reads the name the other way would replace this file.
        if self.is_there(&misread).await? {
            let text = format!("{misread} is there, and the server may take the one name for it");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.ask_to_move(from, to, reading, overwrite).await?;
        if !self.is_there(&misread).await? {
            self.renaming.learn(to, |shown| shown.reading = Some(reading));
            return Ok(());
        }
        let reading = reading.other();
        self.renaming.learn(to, |shown| shown.reading = Some(reading));
        let again = self.ask_to_move(&misread, to, reading, overwrite).await;
        if again.is_ok() && !self.is_there(&misread).await? {
            return Ok(());
        }
        let text = "the server gives files other names than it is asked for";
        match self.ask_to_move(&misread, from, reading, false).await {
            Ok(()) => Err(Error::new(ErrorKind::Unsupported, text)),
            Err(error) => Err(error.and(&format!("{text}: this one is now called {misread}"))),
        }
    }

    async fn ask_to_move(
        &self,
        from: &Address,
        to: &Address,
        reading: DestinationReading,
        overwrite: bool,
    ) -> Result<()> {
        let wrong = || Error::new(ErrorKind::InvalidArgument, "not an http:// address");
        let target = destination(to.to_http().ok_or_else(wrong)?, reading).ok_or_else(wrong)?;
        let answer = self.ask(from, |request, _| {
            *request.method_mut() = Method::from_bytes(b"MOVE").map_err(|_| wrong())?;
            let headers = request.headers_mut();
            headers.insert(DESTINATION, target.clone());
            headers.insert(OVERWRITE, HeaderValue::from_static(if overwrite { "T" } else { "F" }));
            Ok(())
        });
        answer.await.map(drop)
    }
}

fn learn<T: Default>(known: &mut BTreeMap<String, T>, key: String, change: impl FnOnce(&mut T)) {
    if known.len() >= SERVERS_MAX && !known.contains_key(&key) {
        known.clear();
    }
    change(known.entry(key).or_default());
}

/// The folder of an address.
fn folder_key(url: &Address) -> String {
    let path = url.path();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("{} {folder}", url.server_key())
}

/// The new name as a server reads it, with the query, which may say who asks; `None` for a name
/// that cannot be sent.
fn destination(url: &Url, reading: DestinationReading) -> Option<HeaderValue> {
    let mut url = url.clone();
    // The credentials are set elsewhere.
    let _ = (url.set_username(""), url.set_password(None));
    let mut text = url[..Position::BeforePath].as_bytes().to_vec();
    match reading {
        DestinationReading::Decoded => text.extend_from_slice(url.path().as_bytes()),
        DestinationReading::Verbatim => text.extend(percent_decode_str(url.path())),
    }
    text.extend_from_slice(url[Position::AfterPath..].as_bytes());
    // XRootD takes a last letter that is not ASCII for white space. A query is no part of names.
    if reading == DestinationReading::Verbatim
        && text.last().is_some_and(|last| !last.is_ascii_graphic())
    {
        text.extend_from_slice(b"?x=");
    }
    let mut value = HeaderValue::from_bytes(&text).ok()?;
    value.set_sensitive(url.query().is_some());
    Some(value)
}

/// The address of the file that gets the name where a server reads it the other way than it is
/// written for; `None` where both are the same.
fn misread(url: &Address, reading: DestinationReading) -> Option<Address> {
    let path = url.to_http()?.path();
    let other = match reading {
        DestinationReading::Decoded => path.replace('%', "%25"),
        DestinationReading::Verbatim => {
            let decoded = percent_decode_str(path).collect::<Vec<u8>>();
            let has_escapes = percent_decode(&decoded).count() != decoded.len();
            if !has_escapes {
                return None;
            }
            percent_encode(&decoded, NO_PATH).to_string()
        }
    };
    (other != path).then(|| url.with_path(&other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_is_written_as_the_server_reads_it() {
        let of = |text: &str, reading| {
            let url = Address::parse(text).unwrap();
            let there = destination(url.to_http().unwrap(), reading).unwrap();
            let there = String::from_utf8_lossy(there.as_bytes()).into_owned();
            (there, misread(&url, reading).map(|url| url.as_str().to_owned()))
        };
        let some = |text: &str| Some(text.to_owned());
        for (text, reading, sent, other) in [
            (
                "http://u:p@h/a%20b?k=v",
                DestinationReading::Decoded,
                "/a%20b?k=v",
                some("/a%2520b?k=v"),
            ),
            ("http://h/a%20b", DestinationReading::Verbatim, "/a b", None),
            ("http://h/a%2541 b", DestinationReading::Verbatim, "/a%41 b", some("/a%41%20b")),
            ("http://h/ab", DestinationReading::Decoded, "/ab", None),
            ("http://h/%C3%A9", DestinationReading::Verbatim, "/é?x=", None),
        ] {
            let other = other.map(|path| match text.contains('@') {
                true => format!("http://u:p@h{path}"),
                false => format!("http://h{path}"),
            });
            assert_eq!(of(text, reading), (format!("http://h{sent}"), other), "{text}");
        }
    }
}
