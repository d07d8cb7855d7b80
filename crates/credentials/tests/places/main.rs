//! Credentials that are found, and where, in folders that each test makes.

mod authorities;
mod grid;
mod home;
mod kerberos;
mod realm;
mod s3;
mod secrets;
mod tokens;
mod x509;
