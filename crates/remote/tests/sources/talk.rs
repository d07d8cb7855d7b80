//! A driver of few words: commands in, everything that comes of them out.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use farroot_remote::Error;
use farroot_remote::address::{Address, FileUse};
use farroot_remote::source::{
    Command, ConnectionEvent, ConnectionTag, DriverLink, FileEnd, FileInfo, FileRef, RequestTag,
    Server, ServerTraits,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How a request ended.
#[derive(Debug)]
pub enum End {
    Done,
    Failed(Error),
    Redirected(Box<Address>),
    /// The connection ended before.
    Disconnected(Option<Error>),
}

/// All events of one request.
#[derive(Debug)]
pub struct Answer {
    pub info: Option<FileInfo>,
    /// In the order of its offsets.
    pub data: Vec<(u64, Vec<u8>)>,
    pub traits: Option<ServerTraits>,
    pub notes: Vec<String>,
    pub end: End,
}

impl Answer {
    /// The bytes delivered, one after the other.
    pub fn bytes(&self) -> Vec<u8> {
        assert!(matches!(self.end, End::Done), "{:?}", self.end);
        self.data.iter().flat_map(|(_, bytes)| bytes.clone()).collect()
    }

    pub fn error(self) -> Error {
        match self.end {
            End::Failed(error) | End::Disconnected(Some(error)) => error,
            other => panic!("not an error: {other:?}"),
        }
    }
}

pub struct Talk {
    commands: UnboundedSender<Command>,
    events: UnboundedReceiver<(ConnectionTag, ConnectionEvent)>,
    requests: u64,
}

impl Talk {
    pub fn with(server: Arc<dyn Server>) -> Self {
        let (commands, receiver) = unbounded_channel();
        let (sender, events) = unbounded_channel();
        let link = DriverLink { connection: ConnectionTag(0), commands: receiver, events: sender };
        tokio::spawn(server.run(link));
        Talk { commands, events, requests: 0 }
    }

    pub async fn open(&mut self, file: &FileRef, part: FileEnd) -> Answer {
        let request = self.next();
        self.commands.send(Command::Open { request, file: file.clone(), part }).unwrap();
        self.answer(request).await
    }

    pub async fn fetch(&mut self, file: &FileRef, segments: &[Range<u64>]) -> Answer {
        let request = self.next();
        let segments = segments.to_vec();
        let _ = self.commands.send(Command::Fetch { request, file: file.clone(), segments });
        self.answer(request).await
    }

    fn next(&mut self) -> RequestTag {
        self.requests += 1;
        RequestTag(self.requests)
    }

    async fn answer(&mut self, expected: RequestTag) -> Answer {
        let mut answer = Answer {
            info: None,
            data: Vec::new(),
            traits: None,
            notes: Vec::new(),
            end: End::Disconnected(None),
        };
        let end = async {
            while let Some((_, event)) = self.events.recv().await {
                match event {
                    ConnectionEvent::Reached
                    | ConnectionEvent::Connected
                    | ConnectionEvent::Seen { .. } => {}
                    ConnectionEvent::Sent { .. } | ConnectionEvent::Progress { .. } => {}
                    ConnectionEvent::Opened { info, .. } => answer.info = Some(info),
                    ConnectionEvent::Data { offset, bytes, .. } => {
                        answer.data.push((offset, bytes.to_vec()));
                    }
                    ConnectionEvent::Traits(traits) => answer.traits = Some(traits),
                    ConnectionEvent::Note(text) => answer.notes.push(text),
                    ConnectionEvent::Done { request } if request == expected => return End::Done,
                    ConnectionEvent::Failed { request, error } if request == expected => {
                        return End::Failed(error);
                    }
                    ConnectionEvent::Redirected { url, .. } => {
                        return End::Redirected(Box::new(url));
                    }
                    ConnectionEvent::Disconnected { error } => return End::Disconnected(error),
                    other => panic!("unexpected {other:?}"),
                }
            }
            End::Disconnected(None)
        };
        let limit = Duration::from_secs(20);
        let ended = tokio::time::timeout(limit, end).await.expect("an answer within 20 s");
        answer.end = ended;
        answer.data.sort();
        answer
    }
}

/// A file under a tag.
pub fn file(tag: u32, url: &impl ToString) -> FileRef {
    FileRef {
        tag,
        url: Arc::new(Address::parse(&url.to_string()).unwrap()),
        file_use: FileUse::Decoded,
    }
}
