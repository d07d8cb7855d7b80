//! A task that carries bytes to the output while the next ones are read.

use remote::sink::{Upload, Written};
use remote::{Error, ErrorKind, Result};
use rootfile::write::{FileWriter, Write};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::located::Located;

/// Maximum number of queued messages, and bytes with which a message is full: each message wakes a
/// task, and a basket may have only a few hundred bytes.
const MESSAGES_MAX: usize = 8;
const MESSAGE_BYTES: usize = 1 << 20;

enum Message {
    Write(Vec<Write>),
    Finish,
}

/// The output. Dropped without [`Carrier::finish`], nothing of it is kept.
pub struct Carrier {
    url: String,
    messages: mpsc::Sender<Message>,
    task: JoinHandle<Result<Written>>,
}

impl Carrier {
    pub fn start(upload: Upload) -> Self {
        let url = upload.address().to_owned();
        let (messages, receiver) = mpsc::channel(MESSAGES_MAX);
        Carrier { url, messages, task: tokio::spawn(carry(upload, receiver)) }
    }

    /// Hands over all that the file has to write.
    pub async fn drain(&mut self, file: &mut FileWriter) -> Result<()> {
        let (mut writes, mut bytes) = (Vec::new(), 0);
        while let Some(write) = file.poll_write().located(&*self.url)? {
            bytes += write.bytes.len();
            writes.push(write);
            if bytes >= MESSAGE_BYTES {
                bytes = 0;
                self.send(Message::Write(std::mem::take(&mut writes))).await?;
            }
        }
        match writes.is_empty() {
            true => Ok(()),
            false => self.send(Message::Write(writes)).await,
        }
    }

    /// Waits until all is safe, and the file has its name.
    pub async fn finish(mut self) -> Result<Written> {
        self.send(Message::Finish).await?;
        self.outcome().await
    }

    /// Gives the output up, and waits until nothing of it is left.
    pub async fn abandon(self) {
        let Carrier { messages, task, .. } = self;
        drop(messages);
        // It ends with the error that says so.
        let _ = task.await;
    }

    async fn send(&mut self, message: Message) -> Result<()> {
        match self.messages.send(message).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.outcome().await.err().unwrap_or_else(given_up)),
        }
    }

    async fn outcome(&mut self) -> Result<Written> {
        (&mut self.task).await.map_err(|_| given_up())?
    }
}

async fn carry(mut upload: Upload, mut messages: mpsc::Receiver<Message>) -> Result<Written> {
    while let Some(message) = messages.recv().await {
        match message {
            Message::Write(writes) => {
                for Write { offset, bytes, is_replaced } in writes {
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
