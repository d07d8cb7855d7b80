//! What a user has to show to servers, found where the tools of the field leave it: bearer tokens,
//! X.509 proxies and certificates, Kerberos tickets, keys of S3; and the authorities whose
//! certificates of servers are believed.
//!
//! This crate reads the environment and files, and calls the Kerberos library. It opens no
//! connection and decides nothing about servers: `remote` does. Nothing secret has a `Debug` or
//! `Display` that shows it.

#![warn(missing_docs)]

mod surroundings;

pub use surroundings::Surroundings;
