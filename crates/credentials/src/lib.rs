//! Credentials of a user, found where the tools of the field leave them: bearer tokens, X.509
//! proxies and certificates, Kerberos tickets, keys of S3; and the authorities whose certificates
//! of servers are believed.
//!
//! This crate reads the environment and files, and calls the Kerberos library. It opens no
//! connection and decides nothing about servers: `remote` does. Nothing secret has a `Debug` or
//! `Display` that shows it. A [`CredentialStore`] looks anew at each call, because the tools of the
//! field renew their files in place.

#![warn(missing_docs)]

pub mod advice;
mod authorities;
mod candidates;
mod choice;
mod environment;
mod files;
mod kerberos;
mod place;
pub mod s3;
mod store;
mod token;
mod unusable;
pub mod x509;

pub use authorities::Authorities;
pub use candidates::{Candidate, State};
pub use choice::{Choice, Kind, TokenFrom};
pub use environment::Environment;
pub use kerberos::{KerberosClient, KerberosService};
pub use place::Place;
pub use s3::{S3Keys, S3Settings};
pub use store::CredentialStore;
pub use token::{Claims, Token, TokenUse, Validity, choose};
pub use unusable::{Reason, Span, Unusable};
pub use x509::Identity;
