//! A task that carries bytes to the output while the next ones are read.

use remote::sink::{Upload, Written};
use remote::{Error, ErrorKind, Result};
use rootfile::write::{FileWriter, Write};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::located::Located;

/// Writes on their way, of up to a few megabytes each.
const WRITES_MAX: usize = 8;

enum Message {
    Write(Write),
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
        let (messages, receiver) = mpsc::channel(WRITES_MAX);
        Carrier { url, messages, task: tokio::spawn(carry(upload, receiver)) }
    }

    /// Hands over all that the file has to write.
    pub async fn drain(&mut self, file: &mut FileWriter) -> Result<()> {
        while let Some(write) = file.poll_write().located(&*self.url)? {
            self.send(Message::Write(write)).await?;
        }
        Ok(())
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
            Message::Write(write) => {
                upload.write(write.offset, write.bytes, write.is_replaced).await?;
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
