//! Servers and clients of this crate, on loopback.

mod figures;
mod http;
mod protected;
mod stalled;
mod writing;
mod xrootd;
