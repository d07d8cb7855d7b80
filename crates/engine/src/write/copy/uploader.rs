//! A task that carries bytes to the output while the next ones are read.

use remote::fetch::MemoryReservation;
use remote::sink::{Upload, Written};
use remote::{Error, ErrorKind, Result};
use rootfile::write::{FileWriter, Write};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::located::Located;
use crate::write::uploader::SyncOrder;

/// Maximum number of queued messages, and bytes with which a message is full: each message wakes a
/// task, and a basket may have only a few hundred bytes.
const MESSAGES_MAX: usize = 8;
const MESSAGE_BYTES: usize = 1 << 20;

/// `T` counts bytes against the memory budget.
enum Message<T> {
    /// Writes, and values to drop once the output has taken them.
    Write(Vec<Write>, Vec<T>),
    Finish,
}

/// The output. Dropped without [`Uploader::finish`], nothing of it is kept.
pub struct Uploader {
    url: String,
    messages: mpsc::Sender<Message<MemoryReservation>>,
    /// `None` once it has said how it ended.
    task: Option<JoinHandle<Result<Written>>>,
}

impl Uploader {
    /// `is_update` for a file that grows: new records are synced before fields that lead to them.
    pub fn start(upload: Upload, is_update: bool) -> Self {
        let url = upload.address().to_owned();
        let (messages, receiver) = mpsc::channel(MESSAGES_MAX);
        Uploader { url, messages, task: Some(tokio::spawn(carry(upload, is_update, receiver))) }
    }

    /// Hands over all that the file has to write. The reservations are dropped once the place has
    /// taken all of it: a single slice holds the memory of a whole chunk.
    pub async fn drain(
        &mut self,
        file: &mut FileWriter,
        reservations: Vec<MemoryReservation>,
    ) -> Result<()> {
        let mut writes = Vec::new();
        let mut bytes = 0;
        while let Some(write) = file.poll_write().located(&*self.url)? {
            bytes += write.bytes.len();
            writes.push(write);
            if bytes >= MESSAGE_BYTES {
                bytes = 0;
                let some = std::mem::take(&mut writes);
                self.send(Message::Write(some, Vec::new())).await?;
            }
        }
        match writes.is_empty() && reservations.is_empty() {
            true => Ok(()),
            false => self.send(Message::Write(writes, reservations)).await,
        }
    }

    /// Waits until all is safe, and the file has its name.
    pub async fn finish(mut self) -> Result<Written> {
        self.send(Message::Finish).await?;
        self.outcome().await
    }

    /// Gives the output up, and waits until nothing of it is left.
    pub async fn abandon(self) {
        let Uploader { messages, task, .. } = self;
        drop(messages);
        if let Some(task) = task {
            // It ends with the error that says so.
            let _ = task.await;
        }
    }

    async fn send(&mut self, message: Message<MemoryReservation>) -> Result<()> {
        match self.messages.send(message).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.outcome().await.err().unwrap_or_else(given_up)),
        }
    }

    async fn outcome(&mut self) -> Result<Written> {
        let Some(task) = self.task.take() else { return Err(given_up()) };
        task.await.map_err(|_| given_up())?
    }
}

async fn carry<T>(
    mut upload: Upload,
    is_update: bool,
    mut messages: mpsc::Receiver<Message<T>>,
) -> Result<Written> {
    let mut order = SyncOrder::new(is_update, false);
    while let Some(message) = messages.recv().await {
        match message {
            Message::Write(writes, _counted) => {
                for Write { offset, bytes, is_replaced } in writes {
                    if order.needs_sync(offset, upload.len()) {
                        upload.sync().await?;
                    }
                    upload.write(offset, bytes, is_replaced).await?;
                }
            }
            Message::Finish => return upload.finish().await,
        }
    }
    upload.abandon().await;
    Err(given_up())
}

fn given_up() -> Error {
    Error::new(ErrorKind::Cancelled, "the file was given up")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use futures::FutureExt;
    use futures::future::BoxFuture;
    use remote::sink::{Content, Sink};
    use tokio::sync::Semaphore;

    use super::*;

    /// A place that takes one write for each permit; without permits a disk that is full.
    struct Place(Option<Arc<Semaphore>>);

    impl Sink for Place {
        fn write(&mut self, _: u64, _: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
            async {
                let full = || Error::new(ErrorKind::Io, "the disk is full");
                self.0.as_ref().ok_or_else(full)?.acquire().await.expect("is open").forget();
                Ok(())
            }
            .boxed()
        }

        fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
            async { Ok(()) }.boxed()
        }

        fn finish(self: Box<Self>, _: Content) -> BoxFuture<'static, Result<Written>> {
            async { Err(given_up()) }.boxed()
        }

        fn abandon(self: Box<Self>) -> BoxFuture<'static, ()> {
            async {}.boxed()
        }
    }

    /// Regression: after a write had failed, giving the output up waited for the task once more,
    /// and panicked.
    #[tokio::test]
    async fn what_could_not_be_written_is_given_up_after_its_error() {
        let mut uploader =
            Uploader::start(Upload::new("place".into(), Box::new(Place(None)), 0), false);
        let error = loop {
            let write = Write { offset: 0, bytes: vec![1; 5].into(), is_replaced: false };
            if let Err(error) = uploader.send(Message::Write(vec![write], Vec::new())).await {
                break error;
            }
        };
        assert_eq!(error.message(), "the disk is full");
        uploader.send(Message::Finish).await.unwrap_err();
        uploader.abandon().await;
    }

    /// Regression: bytes that waited for their place did not count against the memory budget.
    #[tokio::test]
    async fn bytes_count_until_the_place_has_taken_them() {
        let permits = Arc::new(Semaphore::new(0));
        let upload = Upload::new("place".into(), Box::new(Place(Some(permits.clone()))), 0);
        let (messages, receiver) = mpsc::channel(MESSAGES_MAX);
        let task = tokio::spawn(carry(upload, false, receiver));
        let (counted, mut dropped) = mpsc::channel::<()>(1);
        let write = |offset| Write { offset, bytes: vec![1; 5].into(), is_replaced: false };
        let message = Message::Write(vec![write(0), write(5)], vec![counted]);
        assert!(messages.send(message).await.is_ok());
        permits.add_permits(1);
        while permits.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(dropped.try_recv(), Err(mpsc::error::TryRecvError::Empty));
        permits.add_permits(1);
        assert_eq!(dropped.recv().await, None);
        drop(messages);
        task.await.unwrap().unwrap_err();
    }
}
