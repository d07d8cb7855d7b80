//! Addresses of files: as a caller writes them, as they go over the wire, and as they may be shown.
//!
//! An [`Address`] keeps the text that it was made from, so that reports and errors show the address
//! as the caller wrote it, and beside it the form that its protocol needs: for a disk a path, for
//! XRootD the path exactly as written (the protocol escapes nothing), for HTTP a URL with
//! percent-encoding where it is required. An address is either the caller's own
//! ([`Address::parse`]) or comes from outside ([`Address::led_to`], in [`follow`]), and an address
//! from outside may not lead everywhere.

mod access;
mod follow;
mod identity;
mod pelican;
mod relative;
mod s3;
mod user_info;
mod written;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use url::{ParseError, Url};

pub use access::{CallAccess, LentToken};
pub use follow::Way;
pub use identity::{FileIdentity, is_among};
use relative::joined;
pub use s3::Object;
pub(crate) use written::restored;
pub use written::{FileAndObject, for_others, join, parse, plain, split_object, with_access};

use crate::charges::Charges;
use crate::checksum::Checksum;
use crate::display::{MEANT, shown_address as shown};
use crate::error::{Error, ErrorKind, Result};
use crate::home::expanded;

/// Characters that a file's name may hold and a segment of a URL's path may not (RFC 3986, section
/// 3.3).
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Where a file is, at least one location, and the facts known of it beforehand.
#[derive(Debug, Clone, Default)]
pub struct FileLocations {
    /// The addresses, best first.
    pub urls: Vec<Address>,
    /// Size and checksums of the file, as a Metalink states them.
    pub claims: Claims,
    /// The purpose of the open.
    pub file_use: FileUse,
    /// Finds in its first bytes the number that only copies of it share, where its format has one.
    pub identify: Option<Identify>,
    /// How far a cache may serve this open.
    pub cache_use: CacheUse,
    /// No reader has requested the file: if it cannot be opened, that is not remembered.
    pub is_guess: bool,
    /// The quotas of the cache that bytes for this open are charged to, by who reads them.
    pub charges: Charges,
}

/// The purpose of an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileUse {
    /// The bytes are decoded, which finds damage.
    #[default]
    Decoded,
    /// The bytes are copied: they come with checksums where servers offer them.
    Copied,
    /// The same of a file that this process has open to write: servers that lock files let it be
    /// read all the same.
    Grown,
}

impl FileUse {
    /// Whether nothing but checksums finds damage.
    pub fn is_opaque(self) -> bool {
        self != FileUse::Decoded
    }
}

/// How far a cache may serve one open of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheUse {
    /// As the settings have it.
    #[default]
    Usual,
    /// As the settings have it, but with a request to the file's server even where they trust the
    /// cache, or where an open failed a short time ago.
    Verified,
    /// No request goes to the file's server: without a cache entry that the settings trust, the
    /// open fails with `NotFound`.
    Only,
    /// Nothing: no byte is read from the cache, and none is stored.
    Off,
}

/// Finds in a file's first bytes the number that no other file has; copies have the same one.
pub type Identify = fn(&[u8]) -> Option<u128>;

/// Another server's statements about a file: a source that differs from them is not used.
#[derive(Debug, Clone, Default)]
pub struct Claims {
    /// Bytes.
    pub size: Option<u64>,
    /// Of all its bytes, each of another kind.
    pub checksums: Vec<Checksum>,
    /// Its name, without folders.
    pub name: Option<String>,
}

impl FileLocations {
    /// The first statement of each kind counts.
    pub fn add(&mut self, more: FileLocations) {
        self.urls.extend(more.urls);
        self.claims.size = self.claims.size.or(more.claims.size);
        let known = self.claims.checksums.len();
        for checksum in more.claims.checksums {
            let before = &self.claims.checksums[..known];
            if before.iter().all(|known| known.algorithm() != checksum.algorithm()) {
                self.claims.checksums.push(checksum);
            }
        }
        self.claims.name = self.claims.name.take().or(more.claims.name);
    }
}

impl From<Vec<Address>> for FileLocations {
    fn from(urls: Vec<Address>) -> Self {
        FileLocations { urls, ..FileLocations::default() }
    }
}

/// How a file is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// A disk of this machine: `file://`, or a path without a scheme.
    Local,
    /// `root://`, also written `xroot://`.
    Root,
    /// `roots://`, also written `xroots://`: XRootD within TLS.
    Roots,
    /// `http://`, also written `dav://`.
    Http,
    /// `https://`, also written `davs://`.
    Https,
    /// `s3://bucket/key`: by HTTP from the configured endpoint, signed.
    S3,
    /// `pelican://federation/path`, of the OSDF written `osdf:///path`: by https, from caches.
    Pelican,
}

impl Scheme {
    /// As addresses write it, without `://`.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Local => "file",
            Scheme::Root => "root",
            Scheme::Roots => "roots",
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::S3 => "s3",
            Scheme::Pelican => "pelican",
        }
    }
}

/// The address of one file or directory. Two are equal that lead to the same place, however they
/// are written. Displayed without a password and without the values of its query except of those
/// keys that are known to be no secret: who has a token may read the file.
#[derive(Clone)]
pub struct Address {
    /// As it was written, secrets included.
    text: String,
    target: Target,
    /// Of one that comes from outside: the origin that the caller has named. The caller's
    /// credentials are for that one alone.
    meant: Option<Arc<str>>,
    /// The caller's choice of credentials, and the text with it.
    access: Option<Arc<CallAccess>>,
    whole: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
enum Target {
    /// An absolute path.
    Local(PathBuf),
    Xrootd(xrootd::url::Url),
    /// `http` or `https`, with a host and without a fragment.
    Http(Url),
    S3(Object),
    /// As if the federation served it by https.
    Pelican(Url),
}

impl Address {
    /// Parses a text that a caller has written: a URL, or else a local path.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is neither, `Unsupported` for schemes that are not read.
    pub fn parse(text: &str) -> Result<Self> {
        let split = access::split(text).map_err(|error| error.with_url(shown(text)));
        let (bare, access) = split?;
        let address = Self::read(&bare)?.under(&access);
        let is_http = matches!(address.target, Target::Http(_) | Target::Pelican(_));
        if is_http && text.contains('#') && address.is_named() {
            // Never sent (RFC 9110, section 4.2.4): another file would be read than the one meant.
            let message = "in an http address # begins a fragment, which servers never see";
            let advice = "write %23 for a # that belongs to the file's name";
            return Err(wrong(text, message).with_advice(advice));
        }
        Ok(address)
    }

    fn read(text: &str) -> Result<Self> {
        let Some((scheme, rest)) = text.split_once("://") else {
            let Address { target, .. } = Self::local(&expanded(Path::new(text)))?;
            return Ok(Self::of(text.to_owned(), target));
        };
        let scheme = scheme.to_ascii_lowercase();
        let target = match &*scheme {
            "file" => Target::Local(path_of_url(rest).ok_or_else(|| {
                wrong(text, "not the address of a local file")
                    .with_advice("write it as file:///directory/file")
            })?),
            "root" | "xroot" | "roots" | "xroots" => {
                let url = xrootd::url::Url::parse(&format!("{scheme}://{rest}"));
                Target::Xrootd(url.map_err(|error| wrong(text, &error.to_string()))?)
            }
            "http" | "https" | "dav" | "davs" => {
                // WebDAV reads files by the requests of HTTP; its schemes are how sites write them.
                let https = if scheme.ends_with('s') { "https" } else { "http" };
                let url = Url::parse(&format!("{https}://{rest}"));
                let mut url = url.map_err(|error| no_url(text, error))?;
                let meant = url.fragment().and_then(|own| own.strip_prefix(&MEANT[1..]));
                let meant = meant.map(Arc::from);
                url.set_fragment(None);
                return Ok(Self::of(text.to_owned(), Target::Http(url)).meant_for(meant));
            }
            "s3" => Target::S3(Object::parse(text, rest)?),
            "osdf" | "pelican" => {
                let mut url = pelican::parse(text, &scheme, rest)?;
                url.set_fragment(None);
                Target::Pelican(url)
            }
            _ => {
                let message = format!("addresses that begin with {scheme}:// cannot be read");
                let error = Error::new(ErrorKind::Unsupported, message).with_url(shown(text));
                let advice = "addresses begin with root://, roots://, http://, https://, davs://, s3://, \
                              osdf://, pelican:// or file://, or are local paths";
                return Err(error.with_advice(advice));
            }
        };
        Ok(Self::of(text.to_owned(), target))
    }

    fn of(text: String, target: Target) -> Self {
        Address { text, target, meant: None, access: None, whole: None }
    }

    /// A local path, which is shown as it is given.
    ///
    /// # Errors
    /// `InvalidArgument` for an empty path, or where the current directory is gone.
    pub fn local(path: &Path) -> Result<Self> {
        let text = path.to_string_lossy().into_owned();
        let absolute = std::path::absolute(path)
            .map_err(|error| wrong(&text, &format!("not a path: {error}")))?;
        Ok(Self::of(text, Target::Local(absolute)))
    }

    fn xrootd(url: xrootd::url::Url) -> Self {
        Self::of(url.to_string(), Target::Xrootd(url))
    }

    fn http(url: Url) -> Self {
        Self::of(url.to_string(), Target::Http(url))
    }

    /// As it was written, secrets included: to be opened again, not to be shown.
    pub fn as_str(&self) -> &str {
        self.whole.as_deref().unwrap_or(&self.text)
    }

    /// How the file is requested.
    pub fn scheme(&self) -> Scheme {
        match &self.target {
            Target::Local(_) => Scheme::Local,
            Target::Xrootd(url) if url.is_encrypted() => Scheme::Roots,
            Target::Xrootd(_) => Scheme::Root,
            Target::Http(url) if url.scheme() == "https" => Scheme::Https,
            Target::Http(_) => Scheme::Http,
            Target::S3(_) => Scheme::S3,
            Target::Pelican(_) => Scheme::Pelican,
        }
    }

    /// Whether it is on a disk of this machine.
    pub fn is_local(&self) -> bool {
        self.scheme() == Scheme::Local
    }

    /// Name or address of the host; an IPv6 address of an HTTP server is in brackets. Which host
    /// has a bucket of S3, the configuration says.
    pub fn host(&self) -> Option<&str> {
        match &self.target {
            Target::Local(_) | Target::S3(_) => None,
            Target::Xrootd(url) => Some(&url.host),
            Target::Http(url) | Target::Pelican(url) => url.host_str(),
        }
    }

    /// The port, the usual one where the address names none.
    pub fn port(&self) -> Option<u16> {
        match &self.target {
            Target::Local(_) | Target::S3(_) => None,
            Target::Xrootd(url) => Some(url.port),
            Target::Http(url) | Target::Pelican(url) => url.port_or_known_default(),
        }
    }

    /// The path as its protocol writes it.
    pub fn path(&self) -> Cow<'_, str> {
        match &self.target {
            Target::Local(path) => path.to_string_lossy(),
            Target::Xrootd(url) => Cow::Borrowed(&url.path),
            Target::Http(url) | Target::Pelican(url) => Cow::Borrowed(url.path()),
            Target::S3(object) => Cow::Borrowed(&object.key),
        }
    }

    /// The text after `?`, secrets included.
    pub fn query(&self) -> Option<&str> {
        match &self.target {
            Target::Local(_) => None,
            Target::Xrootd(url) => url.cgi.as_deref(),
            Target::Http(url) | Target::Pelican(url) => url.query(),
            Target::S3(object) => object.version.as_deref(),
        }
    }

    /// The last part of the path, as the file is called on a disk; empty where the path ends with
    /// a slash.
    pub fn file_name(&self) -> OsString {
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        match &self.target {
            Target::Local(path) => path.file_name().unwrap_or_default().to_owned(),
            Target::Xrootd(url) => last(&url.path).into(),
            Target::S3(object) => last(&object.key).into(),
            Target::Http(url) | Target::Pelican(url) => {
                OsString::from_vec(percent_decode_str(&last(url.path())).collect())
            }
        }
    }

    /// The path on a disk of this machine.
    pub fn to_local(&self) -> Option<&Path> {
        match &self.target {
            Target::Local(path) => Some(path),
            _ => None,
        }
    }

    /// The protocol's own parts of an XRootD address.
    pub fn to_xrootd(&self) -> Option<&xrootd::url::Url> {
        match &self.target {
            Target::Xrootd(url) => Some(url),
            _ => None,
        }
    }

    /// The URL of requests to an HTTP server.
    pub fn to_http(&self) -> Option<&Url> {
        match &self.target {
            Target::Http(url) => Some(url),
            _ => None,
        }
    }

    /// The same place with another query, where its protocol has one.
    #[must_use]
    pub fn with_query(&self, query: Option<&str>) -> Self {
        let there = match &self.target {
            Target::Local(_) | Target::S3(_) => self.clone(),
            Target::Xrootd(url) => {
                let cgi = query.filter(|query| !query.is_empty()).map(str::to_owned);
                Self::xrootd(xrootd::url::Url { cgi, ..url.clone() })
            }
            Target::Http(url) => {
                let mut url = url.clone();
                url.set_query(query);
                Self::http(url)
            }
            Target::Pelican(url) => {
                let mut url = url.clone();
                url.set_query(query);
                Self::pelican(url)
            }
        };
        there.meant_for(self.meant.clone()).under(&self.access)
    }

    /// The same server with another path of its URL, escapes and all; else the same place.
    #[must_use]
    pub(crate) fn with_path(&self, path: &str) -> Self {
        let Target::Http(url) = &self.target else { return self.clone() };
        let mut url = url.clone();
        url.set_path(path);
        Self::http(url).meant_for(self.meant.clone()).under(&self.access)
    }

    /// The address without the parts that identify the caller: user, password and query.
    #[must_use]
    pub fn anonymous(&self) -> Self {
        let there = match &self.target {
            // A version is another content, for all who ask.
            Target::Local(_) | Target::S3(_) => Self::of(self.text.clone(), self.target.clone()),
            Target::Pelican(url) => {
                let mut url = url.clone();
                url.set_query(None);
                Self::pelican(url)
            }
            Target::Xrootd(url) => {
                let user = None;
                let cgi = None;
                let login_token = None;
                Self::xrootd(xrootd::url::Url { user, cgi, login_token, ..url.clone() })
            }
            Target::Http(url) => {
                let mut url = url.clone();
                // Both fail only for addresses without a host.
                let _ = url.set_username("");
                let _ = url.set_password(None);
                url.set_query(None);
                Self::http(url)
            }
        };
        there.meant_for(self.meant.clone())
    }

    /// The address of this name in the same directory; the name may have directories of its own,
    /// with slashes between, and lead upwards by `..`. On a disk links decide where that is.
    ///
    /// # Errors
    /// As [`Address::child`].
    pub fn beside(&self, name: &str) -> Result<Self> {
        let there = match &self.target {
            Target::Local(path) => Self::local(&path.with_file_name(name)),
            Target::Xrootd(url) => {
                let folder = url.path.rsplit_once('/').map_or("", |(folder, _)| folder);
                let path = joined(folder, name);
                let beside = xrootd::url::Url { path, cgi: None, ..url.clone() };
                let text = beside.to_string();
                Self::as_written(beside, text)
            }
            Target::S3(object) => {
                let key = match object.folder().strip_suffix('/') {
                    Some(folder) => joined(&format!("/{folder}"), name),
                    None => joined("", name),
                };
                let key = key.strip_prefix('/').unwrap_or(&key);
                Ok(Self::s3(object.with_key(key.to_owned())))
            }
            Target::Http(url) | Target::Pelican(url) => {
                let encode = |part| utf8_percent_encode(part, SEGMENT).to_string();
                let name: Vec<String> = name.split('/').map(encode).collect();
                let folder = url.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                let mut beside = url.clone();
                beside.set_path(&format!("{folder}/{}", name.join("/")));
                beside.set_query(None);
                let is_http = matches!(self.target, Target::Http(_));
                Ok(if is_http { Self::http(beside) } else { Self::pelican(beside) })
            }
        }?;
        Ok(there.meant_for(self.meant.clone()).under(&self.access))
    }

    /// The same place without slashes at the end of its path.
    #[must_use]
    pub fn without_slash(&self) -> Self {
        let cut = |path: &str| path.trim_end_matches('/').to_owned();
        let there = match &self.target {
            Target::Local(_) => return self.clone(),
            Target::Xrootd(url) => {
                Self::xrootd(xrootd::url::Url { path: cut(&url.path), ..url.clone() })
            }
            Target::S3(object) => Self::s3(object.with_key(cut(&object.key))),
            Target::Http(url) | Target::Pelican(url) => {
                let mut url = url.clone();
                url.set_path(&cut(self.path().as_ref()));
                let is_http = matches!(self.target, Target::Http(_));
                if is_http { Self::http(url) } else { Self::pelican(url) }
            }
        };
        there.meant_for(self.meant.clone()).under(&self.access)
    }

    /// The directory above, of an HTTP server; `None` of the topmost one, and of other places.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (Target::Http(url) | Target::Pelican(url)) = &self.target else { return None };
        let (above, _) = url.path().trim_end_matches('/').rsplit_once('/')?;
        let mut parent = url.clone();
        parent.set_path(&format!("{above}/"));
        let is_http = matches!(self.target, Target::Http(_));
        let there = if is_http { Self::http(parent) } else { Self::pelican(parent) };
        Some(there.meant_for(self.meant.clone()).under(&self.access))
    }

    /// The same place with a slash at the end of its path, as directories have it over HTTP.
    #[must_use]
    pub fn with_slash(&self) -> Self {
        let slashed = |url: &Url| {
            let mut url = url.clone();
            if !url.path().ends_with('/') {
                url.set_path(&format!("{}/", url.path()));
            }
            url
        };
        let there = match &self.target {
            Target::Http(url) => Self::http(slashed(url)),
            Target::Pelican(url) => Self::pelican(slashed(url)),
            Target::Local(_) | Target::Xrootd(_) | Target::S3(_) => return self.clone(),
        };
        there.meant_for(self.meant.clone()).under(&self.access)
    }

    /// The address of this name in this directory of a server, or below this prefix of S3, as its
    /// listing has it.
    ///
    /// # Errors
    /// `Unsupported` where the protocol cannot request a file of this name.
    pub fn child(&self, name: &str) -> Result<Self> {
        if let Target::S3(object) = &self.target {
            let slash = if object.key.is_empty() || object.key.ends_with('/') { "" } else { "/" };
            let child = Self::s3(object.with_key(format!("{}{slash}{name}", object.key)));
            return match Self::read(&child.text) {
                Ok(same) if same == child => Ok(child.under(&self.access)),
                _ => {
                    let message = "an address cannot name an object of this key";
                    let error = Error::new(ErrorKind::Unsupported, message).with_url(child.text);
                    Err(error.with_advice("give the object another key"))
                }
            };
        }
        if let Target::Http(url) | Target::Pelican(url) = &self.target {
            let mut below = url.clone();
            let own = utf8_percent_encode(name, SEGMENT).to_string();
            let path = format!("{}/{own}", url.path().trim_end_matches('/'));
            below.set_path(&path);
            if own.is_empty() || below.path() != path {
                let message = format!("{name:?} cannot be the name of a file in an address");
                return Err(Error::new(ErrorKind::Unsupported, message).with_url(self.to_string()));
            }
            let is_http = matches!(self.target, Target::Http(_));
            let there = if is_http { Self::http(below) } else { Self::pelican(below) };
            return Ok(there.meant_for(self.meant.clone()).under(&self.access));
        }
        let Target::Xrootd(url) = &self.target else {
            let error = Error::new(ErrorKind::Unsupported, "directories cannot be listed here");
            return Err(error.with_url(self.to_string()));
        };
        let (folder, query) = match self.text.split_once('?') {
            Some((folder, query)) => (folder, format!("?{query}")),
            None => (&*self.text, String::new()),
        };
        let slash = if folder.ends_with('/') { "" } else { "/" };
        let path = format!("{}/{name}", url.path.trim_end_matches('/'));
        let text = format!("{folder}{slash}{name}{query}");
        let child = Self::as_written(xrootd::url::Url { path, ..url.clone() }, text)?;
        Ok(child.meant_for(self.meant.clone()).under(&self.access))
    }

    /// An XRootD address with a name from outside, which has to be read as it is written.
    fn as_written(url: xrootd::url::Url, text: String) -> Result<Self> {
        match xrootd::url::Url::parse(&text) {
            Ok(same) if same == url => Ok(Self::of(text, Target::Xrootd(url))),
            _ => {
                let message = "a file of this name cannot be asked for over root://, where a ? \
                               ends the name and control characters are not allowed";
                let named = format!("{}://{}/{}", url.scheme, url.address(), url.path);
                // The part of an address after a ? is not shown.
                let name = url.path.rsplit('/').next().unwrap_or_default();
                let error = Error::new(ErrorKind::Unsupported, format!("{name:?}: {message}"));
                let advice = "give the file another name, or read it another way";
                Err(error.with_url(named).with_advice(advice))
            }
        }
    }

    /// A text that is the same for two addresses of one server.
    pub fn server_key(&self) -> String {
        let user = match &self.target {
            Target::Local(_) | Target::Pelican(_) => "",
            Target::Xrootd(url) => url.user.as_deref().unwrap_or_default(),
            Target::Http(url) => url.username(),
            // Each bucket is a server of its own.
            Target::S3(object) => &object.bucket,
        };
        // A server that the caller has not named does not get the caller's credentials.
        let is_shown = self.is_named() || self.scheme() != Scheme::Https;
        let named = if is_shown { "" } else { " by another" };
        let host = self.host().unwrap_or_default();
        let port = self.port().unwrap_or(0);
        // A file that comes with a token is read inside TLS, and others need not be.
        let token = match &self.target {
            Target::Xrootd(url) if url.has_token() => "+token",
            _ => "",
        };
        // Such a login is for those whom a redirection has sent with it.
        let login = match &self.target {
            Target::Xrootd(url) => url.login_token.as_deref().unwrap_or_default(),
            _ => "",
        };
        let login = match login {
            "" => String::new(),
            login => format!("+login{:x}", twox_hash::XxHash64::oneshot(0, login.as_bytes())),
        };
        let scheme = self.scheme().name();
        format!("{scheme}://{user}@{host}:{port}{named}{token}{login}{}", self.access_key())
    }

    /// Scheme, host and port: for whom a credential is (RFC 6454, section 4).
    pub fn origin(&self) -> String {
        let host = self.host().unwrap_or_default().to_ascii_lowercase();
        format!("{}://{host}:{}", self.scheme().name(), self.port().unwrap_or(0))
    }

    /// Whether the caller has named this origin: with this address, or with the one that it was
    /// led to from. It does not matter by how many others.
    pub fn is_named(&self) -> bool {
        self.meant.as_ref().is_none_or(|meant| **meant == *self.origin())
    }

    /// The same address, as if the caller had named it: for one that a server names which may hand
    /// credentials on.
    #[must_use]
    pub fn entrusted(self) -> Self {
        self.meant_for(None)
    }

    /// For another origin. The text has it, too, since addresses in files are opened by their text.
    fn meant_for(self, meant: Option<Arc<str>>) -> Self {
        let access = self.access.clone();
        let mut address = Address { meant, access: None, whole: None, ..self };
        if let Target::Http(_) = address.target {
            let plain = address.text.split(MEANT).next().unwrap_or_default().len();
            address.text.truncate(plain);
            if let Some(meant) = address.meant.as_ref().filter(|_| !address.is_named()) {
                address.text.push_str(MEANT);
                address.text.push_str(meant);
            }
        }
        address.under(&access)
    }
}

impl Address {
    /// The caller's choice of credentials.
    pub fn access(&self) -> Option<&CallAccess> {
        self.access.as_deref()
    }

    /// Whether it is opened with a [`LentToken`].
    pub fn is_lent(&self) -> bool {
        self.access.as_ref().is_some_and(|access| access.lent.is_some())
    }

    /// Says that a pickle has left out the credentials of this address, for the error of a refusal.
    pub(crate) fn left_out(&self) -> Option<String> {
        let names = &self.access.as_ref()?.left_out;
        (!names.is_empty()).then(|| {
            format!(
                "the address comes from another process, where it had a secret ({}) that pickles \
                 leave out: give a token, a proxy or the whole address in this process",
                names.join(", ")
            )
        })
    }

    /// The same address, opened as the caller opens another one.
    pub(crate) fn under(mut self, access: &Option<Arc<CallAccess>>) -> Self {
        if let Some(access) = access {
            self.whole = Some(access.attached(&self.text));
            self.access = Some(access.clone());
        }
        self
    }

    /// The same, to give to another address of the same server.
    pub(crate) fn shared_access(&self) -> Option<Arc<CallAccess>> {
        self.access.clone()
    }

    /// A text that tells this address's connections from those of others to the same server.
    pub(crate) fn access_key(&self) -> String {
        self.access.as_ref().map(|access| access.parameters()).unwrap_or_default()
    }
}

fn wrong(text: &str, why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, why).with_url(shown(text))
}

fn no_url(text: &str, error: ParseError) -> Error {
    let wrong = wrong(text, &format!("not an address: {error}"));
    match error {
        // The tables of Unicode that turn other letters into these are not compiled in.
        ParseError::IdnaError => {
            wrong.with_advice("write a server's name in ASCII: xn--mnchen-3ya.de for münchen.de")
        }
        _ => wrong,
    }
}

/// The path of a `file` URL (RFC 8089): one without a query, so that `?` is a letter as any other.
fn path_of_url(rest: &str) -> Option<PathBuf> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    let is_path = decoded.starts_with(b"/") && !decoded.contains(&0);
    is_path.then(|| PathBuf::from(OsStr::from_bytes(&decoded)))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Target::Local(_) => f.write_str(&self.text),
            _ => f.write_str(&shown(&self.text)),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl PartialEq for Address {
    fn eq(&self, other: &Self) -> bool {
        self.target == other.target && self.access_key() == other.access_key()
    }
}

impl Eq for Address {}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests;
