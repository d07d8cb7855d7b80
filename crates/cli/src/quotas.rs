//! Quotas of a proxy's cache: tables of its TOML file.

use std::fmt;

use ::serve::{quota_of_files, quota_of_reader};
use remote::cache::{CacheQuota, QuotaTotals};
use remote::display::shown;
use remote::parse_bytes;
use remote::report::size;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// A part of the cache's room, and whose it is.
#[derive(Debug, Deserialize)]
#[serde(try_from = "QuotaWords")]
pub struct QuotaTable {
    of: QuotaOf,
    bytes: u64,
}

#[derive(Debug)]
enum QuotaOf {
    Path(String),
    User(String),
    Group(String),
    Subject(String),
    Principal(String),
    /// The name of a certificate.
    Dn(String),
    /// A group or role of VOMS.
    Voms(String),
}

/// The table as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaWords {
    path: Option<String>,
    user: Option<String>,
    group: Option<String>,
    subject: Option<String>,
    principal: Option<String>,
    dn: Option<String>,
    voms: Option<String>,
    #[serde(deserialize_with = "bytes")]
    bytes: u64,
}

impl TryFrom<QuotaWords> for QuotaTable {
    type Error = &'static str;

    fn try_from(words: QuotaWords) -> Result<Self, &'static str> {
        let QuotaWords { path, user, group, subject, principal, dn, voms, bytes } = words;
        let words = [
            path.map(QuotaOf::Path),
            user.map(QuotaOf::User),
            group.map(QuotaOf::Group),
            subject.map(QuotaOf::Subject),
            principal.map(QuotaOf::Principal),
            dn.map(QuotaOf::Dn),
            voms.map(QuotaOf::Voms),
        ];
        let mut words = words.into_iter().flatten();
        let first = words.next();
        let Some(of) = first.filter(|_| words.next().is_none()) else {
            return Err(
                "a quota has one of `path`, `user`, `group`, `subject`, `principal`, `dn` \
                        and `voms`",
            );
        };
        Ok(QuotaTable { of, bytes })
    }
}

impl QuotaTable {
    /// The quota, where the issuers have these names.
    ///
    /// # Errors
    /// A text that names the key and its fault.
    pub fn quota(&self, issuers: &[&str]) -> Result<CacheQuota, String> {
        let QuotaTable { of, bytes } = self;
        match of {
            QuotaOf::Path(path) => quota_of_files(path, *bytes),
            QuotaOf::User(name) => Ok(quota_of_reader(&format!("user:{name}"), *bytes)),
            QuotaOf::Principal(name) => Ok(quota_of_reader(&format!("principal:{name}"), *bytes)),
            QuotaOf::Dn(name) => Ok(quota_of_reader(&format!("dn:{name}"), *bytes)),
            QuotaOf::Voms(name) => Ok(quota_of_reader(&format!("voms:{name}"), *bytes)),
            QuotaOf::Subject(name) => Ok(quota_of_reader(&format!("subject:{name}"), *bytes)),
            QuotaOf::Group(group) if group.starts_with('/') => match issuers {
                [only] => Ok(quota_of_reader(&format!("group:{only}:{group}"), *bytes)),
                _ => Err(format!(
                    "the group of a quota: {group:?} says not of which issuer: write ISSUER:{group}"
                )),
            },
            QuotaOf::Group(group) => Ok(quota_of_reader(&format!("group:{group}"), *bytes)),
        }
    }
}

/// A line about how much of a quota is used.
pub fn described(quota: &QuotaTotals) -> String {
    let QuotaTotals { name, bytes_max, disk_bytes, refused_bytes } = quota;
    let [used, most, refused] = [*disk_bytes, *bytes_max, *refused_bytes].map(size);
    format!("quota {}: {used} of {most}; {refused} were refused", shown(name))
}

/// A number of bytes, or a text as `500 GB`.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a size as \"500 GB\", or a number of bytes")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            parse_bytes(text)
                .map_err(|_| E::custom(format!("bytes: {text:?} is not a size as \"500 GB\"")))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
            let wrong = || E::custom(format!("bytes: {number} is not a number of bytes"));
            u64::try_from(number).map_err(|_| wrong())
        }
    }
    deserializer.deserialize_any(Bytes)
}
