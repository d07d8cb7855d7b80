//! A simulated XRootD data server: the served side of the protocol over simulated links.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use xrootd::error::ErrorCode;
use xrootd::header::Handle;
use xrootd::message::Request;
use xrootd::message::login::SessionId;
use xrootd::message::stat::{StatFlags, StatInfo};
use xrootd::response::Redirect;
use xrootd::server::{Served, Server, ServerConfig, Tag, config_answer};

use crate::Files;
use crate::link::End;

/// What a simulated server does besides serving.
#[derive(Debug, Clone, Default)]
pub struct Behaviour {
    /// Closes every connection after so many answered reads.
    pub dies_after_reads: Option<u32>,
    /// Answers nothing any more after so many answered reads.
    pub hangs_after_reads: Option<u32>,
    /// Closes this many connections as soon as they have said anything.
    pub cuts: u32,
    /// Answers opens without the size, as servers of version 3 and proxies may.
    pub opens_without_stat: bool,
    /// Sends every open elsewhere.
    pub redirects_to: Option<(String, u16)>,
    /// Time to serve one request; requests of one connection are served one after another, as
    /// xrootd does.
    pub service: Duration,
}

/// Serves `files` to every connection that comes, until the world ends.
pub fn serve(mut accepted: mpsc::UnboundedReceiver<End>, files: Files, behaviour: Behaviour) {
    tokio::spawn(async move {
        let mut session = 0u8;
        while let Some(end) = accepted.recv().await {
            session = session.wrapping_add(1);
            if u32::from(session) <= behaviour.cuts {
                tokio::spawn(cut(end));
                continue;
            }
            let connection = Connection {
                server: Server::new(ServerConfig::data_server(SessionId([session; 16]))),
                files: files.clone(),
                behaviour: behaviour.clone(),
                open: BTreeMap::new(),
                reads: 0,
            };
            tokio::spawn(connection.run(end));
        }
    });
}

/// Ends a connection with its first bytes.
async fn cut(mut end: End) {
    let _ = end.read_u8().await;
}

struct Connection {
    server: Server,
    files: Files,
    behaviour: Behaviour,
    open: BTreeMap<Handle, Bytes>,
    reads: u32,
}

impl Connection {
    async fn run(mut self, mut end: End) {
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(64 << 10);
            match end.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let now = Duration::ZERO;
            if self.server.handle_bytes(now, buffer.split().freeze()).is_err() {
                return;
            }
            self.send(&mut end).await;
            while let Some(served) = self.server.poll_event() {
                let Served::Request { tag, request } = served else { continue };
                if !self.behaviour.service.is_zero() {
                    tokio::time::sleep(self.behaviour.service).await;
                }
                if self.behaviour.dies_after_reads.is_some_and(|reads| self.reads >= reads) {
                    return;
                }
                if self.behaviour.hangs_after_reads.is_some_and(|reads| self.reads >= reads) {
                    std::future::pending::<()>().await;
                }
                self.answer(tag, request);
                self.send(&mut end).await;
            }
        }
    }

    async fn send(&mut self, end: &mut End) {
        while let Some(mut bytes) = self.server.poll_transmit() {
            while bytes.has_remaining() {
                let Ok(sent) = end.write(&bytes).await else { return };
                bytes.advance(sent);
            }
        }
    }

    fn answer(&mut self, tag: Tag, request: Request) {
        match request {
            Request::Open(open) => self.answer_open(tag, &open.path),
            Request::Read(read) => {
                self.reads += 1;
                match self.range(read.handle, read.offset, read.length) {
                    Some(bytes) => self.server.answer_data(tag, bytes, false),
                    None => self.refuse(tag, ErrorCode::FILE_NOT_OPEN, "file not open"),
                }
            }
            Request::Readv(readv) => {
                self.reads += 1;
                let record = |segment: &xrootd::message::readv::Segment| {
                    let bytes = self.range(segment.handle, segment.offset, segment.length)?;
                    // A vector read beyond the end fails as a whole, as on a real server.
                    let whole = bytes.len() == segment.length as usize;
                    whole.then_some((segment.handle, segment.offset, bytes))
                };
                let records: Option<Vec<_>> = readv.segments.iter().map(record).collect();
                match records {
                    Some(records) => self.server.answer_readv(tag, &records, false),
                    None => self.refuse(tag, ErrorCode::FS_ERROR, "read beyond the end"),
                }
            }
            Request::Close(close) => {
                self.open.remove(&close.handle);
                self.server.answer_done(tag);
            }
            Request::Query(query) => {
                let text = config_answer(&query.argument, &|key| match key {
                    "readv_iov_max" => Some("1024".into()),
                    "readv_ior_max" => Some("2097136".into()),
                    _ => None,
                });
                self.server.answer_text(tag, &text);
            }
            Request::Stat(stat) => self.answer_stat(tag, &stat.path),
            Request::Ping(_) | Request::Endsess(_) => self.server.answer_done(tag),
            _ => self.refuse(tag, ErrorCode::UNSUPPORTED, "not simulated"),
        }
    }

    fn answer_stat(&mut self, tag: Tag, path: &str) {
        match self.files.get(path.split('?').next().unwrap_or(path)) {
            Some(content) => self.server.answer_stat(tag, &stat_of(content)),
            None => self.refuse(tag, ErrorCode::NOT_FOUND, "no such file"),
        }
    }

    fn answer_open(&mut self, tag: Tag, path: &str) {
        if let Some((host, port)) = &self.behaviour.redirects_to {
            return self.server.answer_redirect(tag, &Redirect::to_host(host, *port, None));
        }
        let name = path.split('?').next().unwrap_or(path);
        let Some(content) = self.files.get(name).cloned() else {
            return self.refuse(tag, ErrorCode::NOT_FOUND, "no such file");
        };
        let free = (0..).map(Handle::from_slot).find(|handle| !self.open.contains_key(handle));
        let handle = free.unwrap_or(Handle::from_slot(0));
        let stat = stat_of(&content);
        self.open.insert(handle, content);
        let stat = Some(&stat).filter(|_| !self.behaviour.opens_without_stat);
        self.server.answer_open(tag, handle, stat);
    }

    fn range(&self, handle: Handle, offset: u64, length: u32) -> Option<Bytes> {
        let content = self.open.get(&handle)?;
        let from = (offset as usize).min(content.len());
        let to = from.saturating_add(length as usize).min(content.len());
        Some(content.slice(from..to))
    }

    fn refuse(&mut self, tag: Tag, code: ErrorCode, text: &str) {
        self.server.answer_error(tag, code, text);
    }
}

fn stat_of(content: &Bytes) -> StatInfo {
    StatInfo {
        id: "1".into(),
        size: content.len() as u64,
        flags: StatFlags::READABLE,
        mtime: 1_700_000_000,
        more: None,
    }
}
