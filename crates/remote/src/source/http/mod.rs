//! Files behind HTTP: ranges by `GET` (RFC 9110, section 14).
//!
//! A connection is one TCP connection, kept alive; with HTTP/1.1 it carries one request at a time,
//! with HTTP/2 many. Servers treat ranges differently, so nothing is trusted:
//!
//! * every `Content-Range` is compared with the request, every body against its announced length,
//!   and every size and version is sent to the driver, as of every source;
//! * a server without multi-range requests, whether it ignores them or refuses them by whatever
//!   status, gets one request a range, one without suffix ranges a request for the end of the file
//!   once its size is known;
//! * from a server without ranges, or that refuses them all, the file is read once as a whole into
//!   a temporary file, which serves all requests (see [`super::temporary_copy`]).
//!
//! Within TLS ([`super::tls`]) the first request leaves with the last message of the handshake.
//! [`access`] chooses the credentials of each connection.
//!
//! The learnt traits are shared by all connections of a server and sent as
//! [`ConnectionEvent::Traits`]. [`connection`] runs the jobs of the driver, [`exchange`] does one
//! job in as many rounds as it needs, [`whole`] those of servers without ranges; [`transport`]
//! sends and receives, [`pool`] follows addresses that are good for one connection, [`answer`]
//! judges the head of an answer, [`range`] and [`multipart`] read ranges.
//!
//! [`ConnectionEvent::Traits`]: super::ConnectionEvent::Traits

mod access;
mod address;
mod answer;
pub(crate) mod body;
mod connection;
mod digest;
mod director;
mod exchange;
pub mod headers;
mod job;
mod link;
#[doc(hidden)]
pub mod multipart;
mod names;
mod pool;
mod proxy;
pub(crate) mod put;
#[doc(hidden)]
pub mod range;
pub(crate) mod renaming;
#[doc(hidden)]
pub mod s3;
pub(crate) mod selected;
mod server;
mod transport;
mod whole;

use std::sync::Arc;

use futures::future::BoxFuture;

use super::{DriverLink, FileRef, Server, ServerTraits};

pub use server::HttpServer;

impl Server for HttpServer {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> Option<(String, u16)> {
        let (host, port, _) = self.peer();
        Some((host, port))
    }

    fn traits(&self) -> ServerTraits {
        self.traits_now()
    }

    fn forget(&self, file: &FileRef) {
        self.forget_file(file);
    }

    fn run(self: Arc<Self>, link: DriverLink) -> BoxFuture<'static, ()> {
        Box::pin(connection::run(self, link))
    }
}
