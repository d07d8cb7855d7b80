//! The XRootD protocol, client side and served side, without I/O.
//!
//! [`client::Client`] is one outgoing connection, [`server::Server`] one served one. Neither knows
//! a socket, a clock or a thread: bytes and the time come in, bytes and events come out. The
//! run-loop law, the same for both: after every command and every `handle_*`, call the `poll_*`
//! until they return nothing; then sleep until `poll_timeout`.
//!
//! ```
//! use std::time::Duration;
//! use farroot_xrootd::client::{Client, ClientConfig, Event};
//! use farroot_xrootd::message::login::SessionId;
//! use farroot_xrootd::message::open::OpenOptions;
//! use farroot_xrootd::profile::{Profile, Start};
//! use farroot_xrootd::server::{Served, Server, ServerConfig};
//!
//! let now = Duration::ZERO; // since an epoch of our choosing
//! let config = ClientConfig::new("me", "example", 1);
//! let mut client = Client::new(config, Profile::default(), Start::Burst);
//! let mut server = Server::new(ServerConfig::data_server(SessionId([1; 16])));
//!
//! // One flight there: handshake, login, the open and a read of it.
//! let (file, _) = client.open(now, "/store/f.root", OpenOptions::FOR_READING);
//! let read = client.read(now, file, 0..5);
//! while let Some(bytes) = client.poll_transmit(now) {
//!     server.handle_bytes(now, bytes)?;
//! }
//! // The served side hands up requests that it does not answer itself.
//! while let Some(event) = server.poll_event() {
//!     if let Served::Request { tag, request } = event {
//!         match request {
//!             farroot_xrootd::message::Request::Open(_) => {
//!                 server.answer_open(tag, Default::default(), None)
//!             }
//!             _ => server.answer_data(tag, "hello".into(), false),
//!         }
//!     }
//! }
//! // And one flight back.
//! while let Some(bytes) = server.poll_transmit() {
//!     client.handle_bytes(now, bytes)?;
//! }
//! let mut events = std::iter::from_fn(|| client.poll_event());
//! assert!(events.any(|event| event == Event::Done { request: read }));
//! # Ok::<(), farroot_xrootd::error::ProtocolError>(())
//! ```
//!
//! Modules: [`message`] has one file per request; [`pages`] data with their checksums; [`response`]
//! the answers that belong to no request; [`states`] the order of messages; [`profile`] the
//! remembered facts about a server; [`auth`] the authentication protocols; [`url`] addresses.
//! Numbers and layouts follow the specification ("XRootD Protocol Version 5.2.0") and were checked
//! against xrootd 5.5.3, from which the sample frames in `samples/` were recorded.
//!
//! This crate must not touch the outside world, know of ROOT files, or decide which bytes to read.

pub mod auth;
pub mod client;
pub mod codec;
pub mod error;
mod frame;
pub mod header;
pub mod message;
pub mod pages;
pub mod profile;
pub mod response;
pub mod server;
pub mod states;
pub mod url;

/// A moment: the time since an epoch of the caller's choosing. It never goes back.
pub type Time = std::time::Duration;
