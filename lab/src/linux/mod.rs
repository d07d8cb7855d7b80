//! The part that acts: namespaces, TUN devices, the thread that moves packets, servers and clients.

mod check;
mod cluster;
mod control;
mod error;
mod lab;
mod namespace;
mod pump;
mod server;
mod tun;

pub use check::{Check, check};
pub use control::ask;
pub use error::{Error, Result};
pub use lab::{HostConfig, Lab, LabConfig};
pub use server::Served;

/// True when this process is root only in a user namespace of its own, which `farroot-lab` made.
pub fn is_rootless() -> bool {
    std::env::var_os(ROOTLESS).is_some()
}

/// Set by `farroot-lab` when it starts itself again in a user namespace.
pub const ROOTLESS: &str = "FARLAB_ROOTLESS";
