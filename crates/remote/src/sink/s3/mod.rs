//! Objects of S3, which take bytes only as a whole or in parts, and are there when all is.
//!
//! Up to 8 MiB are one request. Of a longer object each part leaves when it is full, but for those
//! with bytes that are replaced later: they stay here until the end, in memory or beyond that in a
//! temporary file. Memory has those kept (32 MiB at the most), those under way (four, or fewer once
//! they are long), and the one that is being filled: 72 MiB for objects up to 8 GiB, and for longer
//! ones up to 96 MiB or, where a part is longer than 32 MiB, two parts beside those kept.

mod kept;
mod part;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use self::kept::KeptParts;
use self::part::{ObjectPart, PARTS_MAX, part_bytes};
use super::{Content, CreateOptions, Sink, Written};
use crate::address::Address;
use crate::checksum::Algorithm;
use crate::config::Config;
use crate::error::{Error, ErrorKind, Result};
use crate::source::http::s3::{ObjectWriter, PartUpload, SentPart};
use crate::source::network::Network;

/// Parts that are sent at a time: so many, and so many bytes, but one always.
const PARTS_UNDER_WAY_MAX: usize = 4;
const BYTES_UNDER_WAY_MAX: usize = 48 << 20;

/// How long an upload that is given up waits for the answers to its parts.
const ANSWERS_TIMEOUT: Duration = Duration::from_secs(5);

type PartsUnderWay = JoinSet<Result<(u32, SentPart)>>;

/// An object that is being written.
pub struct S3File {
    url: Address,
    options: CreateOptions,
    writer: Arc<ObjectWriter>,
    filling: ObjectPart,
    kept: KeptParts,
    begun: Option<Begun>,
}

/// An upload in parts. Dropped before its end it is aborted, as well as that can be done then.
struct Begun {
    writer: Arc<ObjectWriter>,
    upload: PartUpload,
    under_way: PartsUnderWay,
    sent: BTreeMap<u32, SentPart>,
    is_over: bool,
    runtime: Handle,
}

impl S3File {
    /// Begins an object.
    ///
    /// # Errors
    /// `InvalidArgument` where it is there and may not be replaced; why that cannot be known.
    pub async fn create(
        url: &Address,
        options: CreateOptions,
        config: &Config,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let writer = Arc::new(ObjectWriter::new(url, config, network)?);
        if !options.overwrite && writer.is_there().await? {
            return Err(Error::target_is_there());
        }
        let url = url.clone();
        let filling = ObjectPart::first();
        Ok(S3File { url, options, writer, filling, kept: KeptParts::default(), begun: None })
    }

    async fn take(&mut self, offset: u64, mut bytes: Bytes, is_replaced: bool) -> Result<()> {
        if offset < self.filling.end() {
            let rest = self.kept.replace(offset, bytes).await?;
            return self.filling.replace(rest);
        }
        while !bytes.is_empty() {
            let part_bytes = part_bytes(self.filling.number, self.options.size);
            if self.filling.bytes.len() == part_bytes {
                self.turn().await?;
                continue;
            }
            let now = bytes.split_to(bytes.len().min(part_bytes - self.filling.bytes.len()));
            self.filling.bytes.extend_from_slice(&now);
            self.filling.is_kept |= is_replaced;
        }
        Ok(())
    }

    /// The part that is full leaves, or is kept, and the next one begins.
    async fn turn(&mut self) -> Result<()> {
        if self.filling.number == PARTS_MAX {
            let text = format!("an object has {PARTS_MAX} parts at the most");
            let error = Error::new(ErrorKind::LimitReached, text);
            return Err(error.with_advice("write several files, or copy a file that is ready"));
        }
        let mut next = self.filling.next();
        next.bytes.reserve_exact(part_bytes(next.number, self.options.size));
        let part = std::mem::replace(&mut self.filling, next);
        self.begun().await?;
        match part.is_kept {
            true => self.kept.add(part).await,
            false => self.begun().await?.send(part.number, part.bytes.into()).await,
        }
    }

    async fn begun(&mut self) -> Result<&mut Begun> {
        let begun = match self.begun.take() {
            Some(begun) => begun,
            None => Begun::new(self.writer.clone()).await?,
        };
        Ok(self.begun.insert(begun))
    }

    async fn close(mut self, content: Content) -> Result<Written> {
        let overwrite = self.options.overwrite;
        let last = std::mem::replace(&mut self.filling, ObjectPart::first());
        match &mut self.begun {
            None => self.writer.put(last.bytes.into(), overwrite).await?,
            Some(begun) => {
                let sent = begun.send_rest(&mut self.kept, last).await;
                let whole = match sent {
                    Ok(()) => begun.complete(&content, overwrite).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = whole {
                    begun.abort().await;
                    return Err(error);
                }
            }
        }
        // S3 servers keep CRC-32C and return it on request.
        let checksum = content.checksum(Algorithm::Crc32c);
        Ok(Written::new(self.url.to_string(), content.len(), checksum))
    }
}

impl Begun {
    async fn new(writer: Arc<ObjectWriter>) -> Result<Self> {
        let upload = writer.begin().await?;
        let under_way = JoinSet::new();
        let sent = BTreeMap::new();
        let runtime = Handle::current();
        Ok(Begun { writer, upload, under_way, sent, is_over: false, runtime })
    }

    /// Sends a part as soon as fewer are under way.
    async fn send(&mut self, number: u32, bytes: Bytes) -> Result<()> {
        let parts_max = BYTES_UNDER_WAY_MAX / bytes.len().max(1);
        while self.under_way.len() >= parts_max.clamp(1, PARTS_UNDER_WAY_MAX) {
            self.arrive().await?;
        }
        let writer = self.writer.clone();
        let upload = self.upload.clone();
        self.under_way.spawn(async move {
            let sent = writer.send(&upload, number, bytes).await?;
            Ok((number, sent))
        });
        Ok(())
    }

    /// Waits for one of the parts under way; false where there is none.
    async fn arrive(&mut self) -> Result<bool> {
        let Some(arrived) = self.under_way.join_next().await else { return Ok(false) };
        let lost = |_| Error::new(ErrorKind::Cancelled, "the sending of a part was given up");
        let (number, sent) = arrived.map_err(lost)??;
        self.sent.insert(number, sent);
        Ok(true)
    }

    async fn send_rest(&mut self, kept: &mut KeptParts, last: ObjectPart) -> Result<()> {
        self.send(last.number, last.bytes.into()).await?;
        while let Some((number, bytes)) = kept.pop().await? {
            self.send(number, bytes).await?;
        }
        while self.arrive().await? {}
        Ok(())
    }

    async fn complete(&mut self, content: &Content, overwrite: bool) -> Result<()> {
        let parts: Vec<SentPart> = std::mem::take(&mut self.sent).into_values().collect();
        let checksum = content.checksum(Algorithm::Crc32c);
        self.writer.complete(&self.upload, &parts, checksum.as_ref(), overwrite).await?;
        self.is_over = true;
        Ok(())
    }

    async fn abort(&mut self) {
        self.is_over = true;
        let under_way = std::mem::take(&mut self.under_way);
        abort(&self.writer, &self.upload, under_way).await;
    }
}

/// A part that the server has got whole, and not yet put in its place, would stay: such parts are
/// waited for. Those that are cut off are none.
async fn abort(writer: &ObjectWriter, upload: &PartUpload, mut under_way: PartsUnderWay) {
    let all = async { while under_way.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(ANSWERS_TIMEOUT, all).await;
    under_way.shutdown().await;
    // Nothing more can be done; buckets have rules for parts that are left.
    let _ = writer.abort(upload).await;
}

impl Drop for Begun {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let writer = self.writer.clone();
        let upload = self.upload.clone();
        let under_way = std::mem::take(&mut self.under_way);
        self.runtime.spawn(async move { abort(&writer, &upload, under_way).await });
    }
}

impl Sink for S3File {
    fn write(&mut self, offset: u64, bytes: Bytes, is_replaced: bool) -> BoxFuture<'_, Result<()>> {
        self.take(offset, bytes, is_replaced).boxed()
    }

    /// Nothing is safe before all is there.
    fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }

    fn finish(self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>> {
        self.close(content).boxed()
    }

    fn abandon(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        async move {
            if let Some(begun) = &mut self.begun {
                begun.abort().await;
            }
        }
        .boxed()
    }
}
