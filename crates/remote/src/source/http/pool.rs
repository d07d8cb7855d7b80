//! Addresses that are good for one connection.
//!
//! A door of dCache sends its reader on to a pool, with a key (`dcache-http-uuid`) that opens the
//! file once: requests on the connection that used it first are served, and one on another
//! connection is sent back to the door, which wants the credential again. So each connection asks
//! the door for an address of its own, and reads there as long as the connection lasts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{AUTHORIZATION, HOST, LOCATION};
use hyper::{Request, Response};

use super::address::get;
use super::body::RequestBody;
use super::server::HttpServer;
use super::transport::Transport;
use crate::address::Address;
use crate::error::{Error, ErrorKind, Result};
use crate::source::FileRef;

/// In the query of an address that is good for one connection.
const KEY: &str = "dcache-http-uuid=";
/// How often a door and its pools may send to each other for one request.
const TURNS_MAX: usize = 6;
/// Bytes that the body of a redirection may have.
const BODY_BYTES_MAX: u64 = 64 << 10;

/// Where one connection reads one file.
pub struct Pool {
    file: u32,
    url: Address,
    pub(super) transport: Transport,
}

impl Pool {
    fn new(file: &FileRef, url: Address, door: &HttpServer) -> Result<Arc<Self>> {
        let server = HttpServer::new(&url, &door.config, door.network.clone())?;
        let transport = Transport::new(Arc::new(server));
        Ok(Arc::new(Pool { file: file.tag, url, transport }))
    }

    /// The same request to the pool, without the credentials for the door.
    fn request(&self, request: &Request<RequestBody>) -> Result<Request<RequestBody>> {
        let mut there = get(&self.url, None, false)?;
        *there.method_mut() = request.method().clone();
        for (name, value) in request.headers() {
            if ![HOST, AUTHORIZATION].contains(name) {
                there.headers_mut().insert(name, value.clone());
            }
        }
        Ok(there)
    }
}

impl Transport {
    /// Sends a request for a file and waits for the head of its answer, which may come from a pool.
    /// `sent` is called for each request that leaves.
    ///
    /// # Errors
    /// Of the connection: none of its requests will be answered.
    pub async fn send(
        &self,
        request: &Request<RequestBody>,
        file: &FileRef,
        sent: impl Fn(),
    ) -> Result<Response<Incoming>> {
        for _ in 0..TURNS_MAX {
            let pool = self.pool.lock().clone().filter(|pool| pool.file == file.tag);
            self.at_pool.store(pool.is_some(), Ordering::Relaxed);
            let Some(pool) = pool else {
                sent();
                let response = self.send_here(request, &file.url).await?;
                let Some(url) = self.one_use(&response, &file.url) else { return Ok(response) };
                self.pass_over(response, &file.url).await;
                *self.pool.lock() = Some(Pool::new(file, url, &self.server)?);
                continue;
            };
            sent();
            let answer = pool.transport.send_here(&pool.request(request)?, &pool.url).await;
            match answer {
                // The key has been used up: the door has another.
                Ok(response) if response.status().is_redirection() => {}
                answer => return answer,
            }
            *self.pool.lock() = None;
        }
        let text = "the server and the pools that it names send to each other, and none answers";
        Err(Error::new(ErrorKind::Io, text).with_url(file.url.to_string()))
    }

    /// The address that an answer sends to, if it is good for one connection.
    fn one_use(&self, response: &Response<Incoming>, from: &Address) -> Option<Address> {
        // With HTTP/2 one connection serves all there is.
        if !response.status().is_redirection() || self.server.http2 {
            return None;
        }
        let location = response.headers().get(LOCATION)?.to_str().ok()?;
        let url = self.server.led_to(from, location).ok()?;
        let is_for_one = url.query()?.split('&').any(|parameter| parameter.starts_with(KEY));
        is_for_one.then_some(url)
    }

    /// Reads an answer that only sends on to its end, so that its connection can be used again.
    async fn pass_over(&self, mut response: Response<Incoming>, url: &Address) {
        let length = response.body().size_hint().exact();
        if length.is_none_or(|length| length > BODY_BYTES_MAX) {
            return self.abandon(response).await;
        }
        while let Ok(Some(Ok(_))) = self.within_read_timeout(response.body_mut().frame(), url).await
        {
        }
    }
}
