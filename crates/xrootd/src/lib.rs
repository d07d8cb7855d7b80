//! The XRootD protocol, client side and served side, without I/O.

pub mod auth;
pub mod client;
pub mod codec;
pub mod error;
mod frame;
pub mod header;
pub mod message;
pub mod profile;
pub mod response;
pub mod states;
pub mod url;

/// A moment: the time since an epoch of the caller's choosing. It never goes back.
pub type Time = std::time::Duration;
