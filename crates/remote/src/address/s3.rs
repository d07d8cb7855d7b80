//! `s3://bucket/key`: an object in a bucket, wherever the configured endpoint has it.

use super::{Address, Target, wrong};
use crate::error::Result;

/// Begins the one parameter that an address of S3 may have.
const VERSION: &str = "?versionId=";

/// An object of S3, or with an empty key a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name, of Ceph with the tenant before a colon.
    pub bucket: String,
    /// As it is, nothing of it encoded: `?`, `#` and `%` are letters like others.
    pub key: String,
    /// `versionId` of the one version that is meant.
    pub version: Option<String>,
}

impl Object {
    /// Parses the text after `s3://`.
    pub(super) fn parse(text: &str, rest: &str) -> Result<Self> {
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains('@') {
            let error = wrong(text, "an address of S3 has no user and no password");
            return Err(error.with_advice(
                "put keys into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or into \
                 ~/.aws/credentials",
            ));
        }
        // A colon is between a tenant of Ceph and its bucket.
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(is_known) || matches!(bucket, "." | "..") {
            return Err(wrong(text, "not the name of a bucket of S3").with_advice(
                "write s3://bucket/key, and where the server is into AWS_ENDPOINT_URL",
            ));
        }
        let (key, version) = match key.rsplit_once(VERSION) {
            Some((key, version)) => (key, Some(version.to_owned())),
            None => (key, None),
        };
        Ok(Object { bucket: bucket.to_owned(), key: key.to_owned(), version })
    }

    /// The same bucket with another key, of which no version is meant.
    pub(super) fn with_key(&self, key: String) -> Self {
        Object { bucket: self.bucket.clone(), key, version: None }
    }

    /// The key up to its last slash, with it.
    pub(super) fn folder(&self) -> &str {
        self.key.rfind('/').map_or("", |at| &self.key[..=at])
    }
}

impl Address {
    pub(super) fn s3(object: Object) -> Self {
        let mut text = format!("s3://{}/{}", object.bucket, object.key);
        if let Some(version) = &object.version {
            text.push_str(VERSION);
            text.push_str(version);
        }
        Address::of(text, Target::S3(object))
    }

    /// The bucket and the key of an address of S3.
    pub fn to_s3(&self) -> Option<&Object> {
        match &self.target {
            Target::S3(object) => Some(object),
            _ => None,
        }
    }
}
