//! The decision about who may read which files.
//!
//! A [`Visitor`] is who a client has proved to be, a [`ServedPlace`] the file that it asks for, and
//! [`AccessRules::decide`] the one decision about both. No answer depends on another client's
//! requests, or on files: neither on their existence, nor on what a cache has of them.

mod denial;
mod fetch;
mod issuers;
mod keys;
mod place;
mod quotas;
mod rules;
mod token;
mod visitor;
mod x509;

pub use self::denial::{Denial, ProofFault, TokenFault};
pub use self::fetch::DocumentFetch;
pub use self::issuers::{Issuer, IssuerSettings};
pub use self::keys::KeySet;
pub use self::place::{PathParts, ServedPlace};
pub use self::quotas::{QuotaReaders, quota_of_files, quota_of_reader};
pub use self::rules::{AccessRule, AccessRules, ReaderLists};
pub use self::token::{TOKEN_BYTES_MAX, UncheckedToken};
pub use self::visitor::{Bearer, Proved, Visitor};
pub use self::x509::{AskForCertificate, ClientTrust, Judged, ShownChain, X509Settings};
