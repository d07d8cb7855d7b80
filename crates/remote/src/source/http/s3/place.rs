//! The place of a bucket: its host, and the paths of its requests.

use url::{Position, Url};

use super::sign::{encoded, encoded_path};
use crate::address::Object;
use crate::error::{Error, ErrorKind, Result};

/// The region of requests where none is named, as Amazon's tools and other servers have it.
const REGION_USUAL: &str = "us-east-1";
/// No region has a longer name.
const REGION_BYTES_MAX: usize = 40;

/// The service and region from configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct Configured<'a> {
    /// The service's address, where it is not Amazon's.
    pub endpoint: Option<&'a str>,
    pub region: Option<&'a str>,
    /// Whether the bucket is in the path or in the name of the host.
    pub path_style: Option<bool>,
}

/// A bucket at a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub bucket: String,
    /// The region of the signatures.
    pub region: String,
    /// The service, without the bucket; of Amazon's it depends on the region.
    service: Url,
    is_amazon: bool,
    path_style: bool,
}

impl Place {
    /// The place of a bucket.
    ///
    /// # Errors
    /// `InvalidArgument` for an endpoint or a region that cannot be one.
    pub fn of(bucket: &str, configured: Configured<'_>) -> Result<Self> {
        let region = configured.region.unwrap_or(REGION_USUAL);
        if !is_region(region) {
            let text = format!("{region:?} is not the name of a region of S3");
            let error = Error::new(ErrorKind::InvalidArgument, text);
            return Err(error.with_advice("set AWS_REGION to a name like eu-central-1"));
        }
        let (service, is_amazon) = match configured.endpoint {
            Some(endpoint) => (read_endpoint(endpoint)?, false),
            None => (amazon(region)?, true),
        };
        // A name with a dot would be outside of Amazon's certificate, which has one `*`.
        let by_host = is_amazon && is_label(bucket);
        let path_style = configured.path_style.unwrap_or(!by_host);
        let bucket = bucket.to_owned();
        let region = region.to_owned();
        Ok(Place { bucket, region, service, is_amazon, path_style })
    }

    /// The same bucket where a server says that it is; `None` where that is no region.
    pub fn moved_to(&self, region: &str) -> Option<Self> {
        let moved = is_region(region).then(|| region.to_owned())?;
        let service = if self.is_amazon { amazon(region).ok()? } else { self.service.clone() };
        Some(Place { region: moved, service, ..self.clone() })
    }

    pub fn is_encrypted(&self) -> bool {
        self.service.scheme() == "https"
    }

    /// The host of requests: an IPv6 address is in brackets.
    pub fn host(&self) -> String {
        let host = self.service.host_str().unwrap_or_default();
        if self.path_style { host.to_owned() } else { format!("{}.{host}", self.bucket) }
    }

    pub fn port(&self) -> u16 {
        self.service.port_or_known_default().unwrap_or(443)
    }

    /// The value of `Host`, which is signed as it is sent.
    pub fn authority(&self) -> String {
        match self.service.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host(),
        }
    }

    /// Path and query of an object, both encoded as they are signed.
    pub fn path_and_query(&self, object: &Object) -> (String, String) {
        let version = object.version.as_deref().map(|it| format!("versionId={}", encoded(it)));
        (format!("{}{}", self.root(), encoded_path(&object.key)), version.unwrap_or_default())
    }

    /// Path and query that list the keys of a bucket in one "directory", from the token of the page
    /// before on.
    pub fn listing(&self, prefix: &str, token: Option<&str>) -> (String, String) {
        let token = token.map(|token| format!("continuation-token={}&", encoded(token)));
        let query = format!(
            "{}delimiter=%2F&encoding-type=url&list-type=2&prefix={}",
            token.unwrap_or_default(),
            encoded(prefix)
        );
        (self.root(), query)
    }

    /// The bucket's own path, with a slash at its end.
    fn root(&self) -> String {
        let base = self.service.path().trim_end_matches('/');
        match self.path_style {
            true => format!("{base}/{}/", encoded(&self.bucket)),
            false => format!("{base}/"),
        }
    }

    /// The service, as errors name it.
    pub fn service(&self) -> &str {
        &self.service[..Position::AfterPath]
    }
}

fn read_endpoint(text: &str) -> Result<Url> {
    let wrong = |why: String| {
        let text = format!("the endpoint of S3 {why}");
        Error::new(ErrorKind::InvalidArgument, text)
            .with_advice("set AWS_ENDPOINT_URL to an address like https://s3.example.org")
    };
    let url = Url::parse(text).map_err(|error| wrong(format!("is no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong(format!("begins with {}://, and is asked by HTTP", url.scheme())));
    }
    let has_more = !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some();
    if has_more {
        return Err(wrong("has a user, a password or a query, which is none of its parts".into()));
    }
    Ok(url)
}

/// Amazon's service in a region (AWS General Reference, "Amazon S3 endpoints").
fn amazon(region: &str) -> Result<Url> {
    let end = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let url = Url::parse(&format!("https://s3.{region}.{end}/"));
    url.map_err(|error| Error::new(ErrorKind::InvalidArgument, error.to_string()))
}

/// A region becomes a part of a host's name: nothing else may.
fn is_region(text: &str) -> bool {
    text.len() <= REGION_BYTES_MAX && is_label(text)
}

/// One part of a host's name (RFC 1123, section 2.1), in lower case.
fn is_label(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(is_letter)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(bucket: &str, endpoint: Option<&str>, region: Option<&str>) -> Place {
        Place::of(bucket, Configured { endpoint, region, path_style: None }).unwrap()
    }

    fn object(key: &str, version: Option<&str>) -> Object {
        let version = version.map(str::to_owned);
        Object { bucket: "b".into(), key: key.into(), version }
    }

    #[test]
    fn amazons_buckets_have_hosts_and_others_have_paths() {
        for (bucket, endpoint, region, authority, root) in [
            ("b", None, None, "b.s3.us-east-1.amazonaws.com", "/"),
            ("b", None, Some("cn-north-1"), "b.s3.cn-north-1.amazonaws.com.cn", "/"),
            ("b.c", None, Some("eu-west-3"), "s3.eu-west-3.amazonaws.com", "/b.c/"),
            ("a--b", None, None, "a--b.s3.us-east-1.amazonaws.com", "/"),
            ("B_c", None, None, "s3.us-east-1.amazonaws.com", "/B_c/"),
            ("b", Some("http://127.0.0.1:9000"), None, "127.0.0.1:9000", "/b/"),
            ("t:b", Some("https://s3.cern.ch/"), None, "s3.cern.ch", "/t%3Ab/"),
            ("b", Some("https://[::1]:443/gw/s3/"), None, "[::1]", "/gw/s3/b/"),
        ] {
            let place = place(bucket, endpoint, region);
            assert_eq!((&*place.authority(), &*place.root()), (authority, root), "{bucket}");
        }
        let configured = Configured {
            endpoint: Some("https://s3.example.org:8443"),
            path_style: Some(false),
            ..Configured::default()
        };
        let place = Place::of("b", configured).unwrap();
        assert_eq!((&*place.authority(), &*place.root()), ("b.s3.example.org:8443", "/"));
        assert_eq!((&*place.host(), place.port()), ("b.s3.example.org", 8443));
    }

    #[test]
    fn keys_and_prefixes_are_encoded_as_they_are_signed() {
        let place = place("b", Some("http://h"), None);
        let (path, query) = place.path_and_query(&object("d/../a b+%2F.root", Some("x/=")));
        assert_eq!((&*path, &*query), ("/b/d/../a%20b%2B%252F.root", "versionId=x%2F%3D"));
        assert_eq!(place.path_and_query(&object("", None)), ("/b/".into(), String::new()));
        let (path, query) = place.listing("d/", Some("1/+="));
        assert_eq!(path, "/b/");
        assert_eq!(
            query,
            "continuation-token=1%2F%2B%3D&delimiter=%2F&encoding-type=url&list-type=2&prefix=d%2F"
        );
    }

    /// The region that a server names becomes a part of a host's name.
    #[test]
    fn a_bucket_moves_to_regions_only() {
        let here = place("b", None, None);
        let moved = here.moved_to("eu-central-1").unwrap();
        assert_eq!(moved.authority(), "b.s3.eu-central-1.amazonaws.com");
        for wrong in ["", "evil.example/", "a.b", "A", "-a", "a-", &"a".repeat(41), "é"] {
            assert_eq!(here.moved_to(wrong), None, "{wrong}");
        }
        let own = place("b", Some("http://h:1"), None).moved_to("eu-central-1").unwrap();
        assert_eq!((&*own.authority(), &*own.region), ("h:1", "eu-central-1"));
    }

    #[test]
    fn what_is_no_endpoint_is_refused_without_its_secrets() {
        for endpoint in ["s3.cern.ch", "ftp://h", "https://AKIA:marker@h", "https://h?marker", ""] {
            let configured = Configured { endpoint: Some(endpoint), ..Configured::default() };
            let error = Place::of("b", configured).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{endpoint}");
            assert!(!error.to_string().contains("marker"), "{error}");
        }
        let region = Configured { region: Some("Frankfurt"), ..Configured::default() };
        assert!(Place::of("b", region).unwrap_err().to_string().contains("AWS_REGION"));
    }
}
