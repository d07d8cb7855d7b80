//! Events of connections, taken in by the driver.

use std::ops::Range;

use bytes::Bytes;
use scheduler::{COMPARED_BYTES, ConnectionId, Failure, FileId, RequestId, ServerId, SourceId};

use super::{Driver, scheduler_traits};
use crate::address::Address;
use crate::error::{Error, ErrorKind};
use crate::fetch::files::Led;
use crate::fetch::ledger::Phase;
use crate::source::{ConnectionEvent, ConnectionTag, FileInfo, FileLocation, Role, ServerTraits};

/// Redirections of one open, as many as XRootD's own client allows.
const REDIRECTS_MAX: u32 = 16;

/// Bytes of a page, which has a checksum of its own.
const PAGE_BYTES: u64 = 4096;

impl Driver {
    pub(super) fn take_connection_event(
        &mut self,
        connection: ConnectionTag,
        event: ConnectionEvent,
    ) {
        let now = self.clock.now();
        let id = ConnectionId(connection.0);
        match event {
            ConnectionEvent::Sent { request } => self.trace.asked(request.0),
            ConnectionEvent::Reached => self.scheduler.handle_reached(now, id),
            ConnectionEvent::Progress { request, bytes } => {
                self.scheduler.handle_progress(now, RequestId(request.0), bytes);
            }
            ConnectionEvent::Connected => {
                self.trace.connected(connection.0);
                self.take_slot_late(id);
                self.mark_opening(id);
                self.scheduler.handle_connected(now, id);
            }
            ConnectionEvent::Seen { file, info } => self.seen(SourceId(file), info),
            ConnectionEvent::Opened { request, info } => self.opened(RequestId(request.0), info),
            ConnectionEvent::Data { request, offset, bytes } => {
                self.take_data(RequestId(request.0), offset, bytes);
            }
            ConnectionEvent::Damaged { request, range } => {
                self.damaged(RequestId(request.0), id, range)
            }
            ConnectionEvent::Done { request } => {
                self.trace.ended(request.0, false);
                let request = RequestId(request.0);
                self.end_join(request);
                self.requests.remove(&request);
                self.scheduler.handle_done(now, request);
            }
            ConnectionEvent::Failed { request, error } => {
                self.failed(RequestId(request.0), id, error)
            }
            ConnectionEvent::Redirected { request, url } => {
                self.redirected(RequestId(request.0), id, &url)
            }
            ConnectionEvent::Traits(traits) => self.learn_traits(id, &traits),
            ConnectionEvent::Located { request, locations } => {
                if let Some(state) = self.requests.get(&RequestId(request.0)) {
                    self.named(state.file, state.source, locations);
                }
            }
            ConnectionEvent::Checksum { request, checksum } => {
                if let Some(state) = self.requests.get(&RequestId(request.0)) {
                    self.take_checksum(state.file, state.source, checksum);
                }
            }
            // Such requests are made beside the driver.
            ConnectionEvent::Listed { .. } | ConnectionEvent::Clock { .. } => {}
            ConnectionEvent::Wait(time) => {
                if let Some(source) = self.source_of(id) {
                    tracing::info!("{source}: asks to wait for {:.0} s", time.as_secs_f64());
                }
                self.scheduler.handle_wait(now, id, time);
            }
            ConnectionEvent::Note(text) => self.trace.note(None, text),
            ConnectionEvent::Disconnected { error } => self.disconnected(id, error),
        }
    }

    /// Bytes that a request has brought.
    fn take_data(&mut self, request: RequestId, offset: u64, bytes: Bytes) {
        self.trace.received(request.0, bytes.len() as u64);
        let Some(state) = self.requests.get(&request) else { return };
        let Some(file) = self.files.get_mut(&state.file) else { return };
        let range = offset..offset + bytes.len() as u64;
        let mut is_of_open = false;
        // The open of a file that is copied requests the minimum, where the caller wants none yet:
        // one byte, or those that its sources are compared by.
        let length = bytes.len() as u64;
        let least = if file.sources.len() > 1 { COMPARED_BYTES } else { 1 };
        let is_wanted = !file.file_use.is_opaque() || length > least;
        if state.is_open && file.opening.is_some() && !state.joins && is_wanted {
            // The open alone requests the ends of the file.
            self.trace.wanted(state.file.0, length, length, true);
            is_of_open = true;
        }
        if file.rejected.contains(&state.source) {
            return;
        }
        if let Some(led) = file.led.get_mut(&state.source) {
            led.has_served = true;
        }
        match state.joins {
            true => self.take_head(request, offset, &bytes),
            false => {
                file.store.insert(offset, bytes.clone());
                if is_of_open {
                    file.store.count(&range);
                }
                if offset < COMPARED_BYTES {
                    let id = state.file;
                    self.take_own_head(id, offset, &bytes);
                }
            }
        }
        let before = self.scheduler.hedge_won_bytes();
        self.scheduler.handle_data(self.clock.now(), request, range);
        let won = self.scheduler.hedge_won_bytes() - before;
        if won > 0 {
            self.trace.hedge(request.0, 0, won);
        }
    }

    /// The name of the server of a connection.
    fn source_of(&self, connection: ConnectionId) -> Option<&str> {
        self.connections.get(&connection).map(|there| &*there.source)
    }

    /// Learns the limits of a server.
    fn learn_traits(&mut self, connection: ConnectionId, traits: &ServerTraits) {
        let Some(there) = self.connections.get(&connection) else { return };
        if traits.one_range {
            self.trace.one_range(there.source.clone());
        }
        if traits.selects {
            self.near.offered(&there.source);
        }
        let now = self.clock.now();
        self.scheduler.update_server(now, there.server, scheduler_traits(traits));
    }

    pub(super) fn server_of(&self, connection: ConnectionId) -> Option<ServerId> {
        self.connections.get(&connection).map(|there| there.server)
    }

    /// Opens that waited for a connection now wait for their answers.
    fn mark_opening(&self, connection: ConnectionId) {
        let Some(server) = self.server_of(connection) else { return };
        for file in self.files.values() {
            if file.sources.values().any(|(of, _)| *of == server) {
                file.with_activity(|activity| activity.enter(Phase::Opening));
            }
        }
    }

    fn seen(&mut self, source: SourceId, info: FileInfo) {
        if let Some(file) = self.sources.get(&source) {
            self.recognise(*file, source, info);
        }
    }

    fn opened(&mut self, request: RequestId, info: FileInfo) {
        let Some(state) = self.requests.get(&request) else { return };
        let file = state.file;
        let source = state.source;
        let size = info.size;
        let joins = state.joins;
        if !self.recognise(file, source, info) {
            return;
        }
        if joins {
            return self.begin_join(request, size);
        }
        self.settle(file, source);
        self.scheduler.handle_opened(self.clock.now(), request, size);
    }

    /// Bytes have come damaged: they count as not having come, and against who brought them.
    fn damaged(&mut self, request: RequestId, connection: ConnectionId, range: Range<u64>) {
        let Some(state) = self.requests.get(&request) else { return };
        let pages = range.end.div_ceil(PAGE_BYTES) - range.start / PAGE_BYTES;
        self.trace.damaged(request.0, pages);
        let text = format!("{pages} pages came damaged and are asked for again");
        if let Some(source) = self.source_of(connection) {
            tracing::warn!("{source}: {text}");
        }
        let error = Error::new(ErrorKind::Corrupt, "what came is not what its checksums say")
            .retryable(true)
            .with_range(range.clone())
            .with_advice(
                "something on the way damages data: read another replica, and tell the site",
            );
        self.remember(state.file, connection, error);
        self.scheduler.handle_damaged(self.clock.now(), request, range);
    }

    fn failed(&mut self, request: RequestId, connection: ConnectionId, error: Error) {
        self.trace.ended(request.0, true);
        if let Some(source) = self.source_of(connection) {
            tracing::info!("{source}: a request failed: {error}");
        }
        let Some(state) = self.requests.remove(&request) else { return };
        // A source that another request's failure has replaced says nothing about the present one.
        if !self.has_source(state.file, state.source)
            || self.renew(state.file, state.source, &error)
        {
            self.scheduler.handle_done(self.clock.now(), request);
            return;
        }
        let mut failure = failure_of(&error);
        if !failure.retryable && self.is_worth_asking(state.file, state.source, &error) {
            failure = Failure::LATER;
        }
        self.remember(state.file, connection, error);
        self.scheduler.handle_failed(self.clock.now(), request, failure);
    }

    fn has_source(&self, file: FileId, source: SourceId) -> bool {
        self.files.get(&file).is_some_and(|file| file.sources.contains_key(&source))
    }

    fn remember(&mut self, file: FileId, connection: ConnectionId, error: Error) {
        let Some(there) = self.connections.get(&connection) else { return };
        let Some(file) = self.files.get_mut(&file) else { return };
        // The error that it has another file explains more than failures there afterwards.
        if !file.has_rejected(there.server) {
            file.remember(&there.source, error);
        }
    }

    fn redirected(&mut self, request: RequestId, connection: ConnectionId, url: &Address) {
        self.trace.ended(request.0, false);
        let Some(state) = self.requests.remove(&request) else { return };
        let Some(file) = self.files.get_mut(&state.file) else { return };
        if !file.sources.contains_key(&state.source) {
            // Another request there has been redirected before, perhaps elsewhere.
            let place = FileLocation { url: url.clone(), role: Role::Server };
            if let Some(search) = file.search.as_mut() {
                search.name(place);
            }
            self.scheduler.handle_done(self.clock.now(), request);
            return;
        }
        file.redirects += 1;
        let server = if file.redirects > REDIRECTS_MAX {
            Err(Error::new(ErrorKind::LimitReached, "redirected in circles")
                .with_advice("the servers' configuration is at fault; try another address"))
        } else {
            self.server_for(url)
        };
        match server {
            Ok(server) => {
                self.trace.note(Some(state.file.0), format!("redirected to {url}"));
                // Where another server has identified the file, this one has to have the same.
                let is_known = self.files.get(&state.file).is_some_and(|f| f.first.is_some());
                let replica = is_known || self.is_replica(state.file, state.source);
                let from = self.files.get(&state.file).and_then(|f| f.file_ref(state.source));
                if let Some(from) = from.map(|file| file.url.clone()) {
                    self.sent_on(state.file, &from, url);
                }
                let led = self.led(state.file, state.source);
                let source = self.add_source(state.file, server, url.clone(), replica);
                if let (Some(file), Some(led)) = (self.files.get_mut(&state.file), led) {
                    file.led.insert(source, led);
                }
                self.remove_source(state.file, state.source);
                self.scheduler.handle_done(self.clock.now(), request);
            }
            Err(error) => {
                self.remember(state.file, connection, error);
                self.scheduler.handle_failed(self.clock.now(), request, Failure::NEVER);
            }
        }
    }

    /// How the next source was found, which this one sends to.
    fn led(&self, file: FileId, source: SourceId) -> Option<Led> {
        let state = self.files.get(&file)?;
        let before = state.led.get(&source).map(|led| led.named.clone());
        let named = before.or_else(|| Some(state.file_ref(source)?.url.as_ref().clone()))?;
        Some(Led { named, has_served: false })
    }

    /// Addresses to which others send may be good for a time only (signed ones, those with a
    /// macaroon, pools). A refusal there, after bytes have arrived from there, counts for nothing
    /// before another request to the first address; returns whether one is made.
    fn renew(&mut self, file: FileId, source: SourceId, error: &Error) -> bool {
        let led = self.files.get_mut(&file).and_then(|state| state.led.get(&source).cloned());
        let may_pass = matches!(
            error.kind(),
            ErrorKind::NotFound
                | ErrorKind::PermissionDenied
                | ErrorKind::Unauthenticated
                | ErrorKind::Io
        );
        let Some(led) = led.filter(|led| led.has_served && may_pass && !error.is_retryable())
        else {
            return false;
        };
        let Ok(server) = self.server_for(&led.named) else { return false };
        self.trace.note(Some(file.0), format!("{} is asked once more: {error}", led.named));
        if let Some(state) = self.files.get_mut(&file) {
            state.redirects = 0;
        }
        self.add_source(file, server, led.named, true);
        self.remove_source(file, source);
        true
    }

    fn is_replica(&self, file: FileId, source: SourceId) -> bool {
        self.files.get(&file).is_some_and(|file| file.replicas.contains(&source))
    }

    /// Requests on a lost connection get no answer; the scheduler requests their bytes again.
    pub(super) fn lose_requests(&mut self, connection: ConnectionId) {
        let lost: Vec<RequestId> = self
            .requests
            .iter()
            .filter(|(_, state)| state.connection == connection)
            .map(|(request, _)| *request)
            .collect();
        for request in lost {
            self.trace.ended(request.0, true);
            self.requests.remove(&request);
        }
    }

    fn disconnected(&mut self, connection: ConnectionId, error: Option<Error>) {
        let Some(there) = self.connections.get(&connection) else { return };
        let server = there.server;
        let failure = error.as_ref().map_or(Failure::LATER, failure_of);
        let is_last = self.connections.values().filter(|there| there.server == server).count() < 2;
        if let Some(error) = error {
            tracing::info!("{}: a connection broke: {error}", there.source);
            let concerned: Vec<FileId> = self
                .files
                .iter()
                .filter(|(_, file)| {
                    file.touched.contains(&connection)
                        || file.sources.values().any(|(other, _)| *other == server)
                })
                .map(|(id, _)| *id)
                .collect();
            for file in concerned {
                self.remember(file, connection, error.clone());
                if is_last {
                    self.search_soon(file, server);
                }
            }
        }
        self.connections.remove(&connection);
        self.leave_slot(connection);
        self.trace.disconnected(connection.0);
        self.lose_requests(connection);
        self.scheduler.handle_disconnected(self.clock.now(), connection, failure);
    }
}

fn failure_of(error: &Error) -> Failure {
    let retryable = error.is_retryable();
    let after = error.retry_after();
    Failure { retryable, after, busy: error.is_busy() }
}
