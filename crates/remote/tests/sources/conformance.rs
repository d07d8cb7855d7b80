//! Duties of every source: the rules of [`farroot_remote::source`], as checks that run against any
//! server.
//!
//! A server under test serves [`files`]; [`check`] then speaks to it as the driver does and panics
//! with the name of the check that fails.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use mutex::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use farroot_remote::address::{Address, FileUse};
use farroot_remote::source::{
    BothEnds, Command, ConnectionEvent, ConnectionTag, DriverLink, FileEnd, FileInfo, FileRef,
    RequestTag, Server, ServerTraits,
};
use farroot_remote::{Error, ErrorKind};

/// No check takes longer; one that does hangs.
const CHECK_SECONDS_MAX: u64 = 30;

/// Names and contents of the files that a server under test must serve.
pub fn files() -> [(&'static str, Vec<u8>); 4] {
    [
        ("large.bin", pattern(1, 3_000_017)),
        ("medium.bin", pattern(2, 100_000)),
        ("small.bin", pattern(3, 100)),
        ("empty.bin", Vec::new()),
    ]
}

/// Bytes without repetition, so that data from a wrong place never passes for the right one.
fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}

/// Runs every check.
///
/// # Panics
/// Where the server breaks a rule.
pub async fn check(server: Arc<dyn Server>, url_of: impl Fn(&str) -> Address) {
    let seen = Arc::default();
    let place = Place { server, files: files().into(), url_of: &url_of, seen };
    within("commands before the connection", commands_before_connected(&place)).await;
    within("head and tail", head_and_tail(&place)).await;
    within("both ends", both_ends(&place)).await;
    within("a file smaller than its head", small_file(&place)).await;
    within("an empty file", empty_file(&place)).await;
    within("fetch without open", fetch_without_open(&place)).await;
    within("a big range", big_range(&place)).await;
    within("many segments", many_segments(&place)).await;
    within("the end of the file", end_of_file(&place)).await;
    within("cancel", cancel(&place)).await;
    within("an unknown file", unknown_file(&place)).await;
    within("close and reopen", close_and_reopen(&place)).await;
    within("two files", two_files(&place)).await;
    within("several connections", several_connections(&place)).await;
    within("an end amid work", end_amid_work(&place)).await;
}

async fn within(name: &str, check: impl Future<Output = ()>) {
    let limit = Duration::from_secs(CHECK_SECONDS_MAX);
    let check = AssertUnwindSafe(check).catch_unwind();
    match tokio::time::timeout(limit, check).await {
        Ok(Ok(())) => {}
        Ok(Err(panic)) => {
            eprintln!("the check that failed: {name}");
            resume_unwind(panic);
        }
        Err(_) => panic!("{name}: no end within {CHECK_SECONDS_MAX} s"),
    }
}

async fn commands_before_connected(place: &Place<'_>) {
    let (mut client, link) = place.disconnected();
    let (file, content) = place.file("medium.bin");
    let open = client.open(&file, FileEnd::Head(1000));
    let fetch = client.fetch(&file, vec![50_000..60_000]);
    client.start(place.server.clone(), link);
    client.wait(open).await.delivers(&content, &[0..1000]);
    client.wait(fetch).await.delivers(&content, &[50_000..60_000]);
    client.end().await;
}

async fn head_and_tail(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("large.bin");
    let size = content.len() as u64;
    let head = client.open(&file, FileEnd::Head(70_000));
    let answer = client.wait(head).await;
    assert_eq!(answer.info.as_ref().expect("Opened").size, size);
    answer.delivers(&content, &[0..70_000]);
    if place.traits().suffix {
        let tail = client.open(&file, FileEnd::Tail(70_000));
        let answer = client.wait(tail).await;
        assert_eq!(answer.info.as_ref().expect("Opened").size, size);
        // A server may turn out not to know suffixes: then it says so, and delivers nothing.
        if !client.suffix_refused {
            answer.delivers(&content, &[size - 70_000..size]);
        }
    }
    client.end().await;
}

async fn both_ends(place: &Place<'_>) {
    if place.traits().both_ends == BothEnds::Never {
        return;
    }
    let mut client = place.connect();
    for name in ["large.bin", "medium.bin", "small.bin", "empty.bin"] {
        let (file, content) = place.file(name);
        let size = content.len() as u64;
        let open = client.open(&file, FileEnd::Both { head: 5_000, tail: 20_000 });
        let answer = client.wait(open).await;
        assert_eq!(answer.info.as_ref().expect("Opened").size, size);
        let head = 0..size.min(5_000);
        // A server may turn out not to know it: then it says so, and delivers the head.
        let delivered: u64 = answer.data.values().map(|bytes| bytes.len() as u64).sum();
        let tail = size.saturating_sub(20_000).max(head.end)..size;
        match client.both_ends_refused && delivered == head.end {
            true => answer.delivers(&content, &[head]),
            false => answer.delivers(&content, &[head, tail]),
        }
    }
    client.end().await;
}

async fn small_file(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("small.bin");
    let size = content.len() as u64;
    for part in place.parts(65_536) {
        let open = client.open(&file, part);
        let answer = client.wait(open).await;
        assert_eq!(answer.info.as_ref().expect("Opened").size, size, "{part:?}");
        answer.delivers(&content, &[0..size]);
    }
    client.end().await;
}

async fn empty_file(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("empty.bin");
    for part in place.parts(1000) {
        let open = client.open(&file, part);
        let answer = client.wait(open).await;
        assert_eq!(answer.info.as_ref().expect("Opened").size, 0, "{part:?}");
        answer.delivers(&content, &[]);
    }
    client.end().await;
}

async fn fetch_without_open(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("medium.bin");
    let fetch = client.fetch(&file, vec![7..11]);
    client.wait(fetch).await.delivers(&content, &[7..11]);
    client.end().await;
}

async fn big_range(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("large.bin");
    let whole = 0..content.len() as u64;
    let fetch = client.fetch(&file, vec![whole.clone()]);
    client.wait(fetch).await.delivers(&content, &[whole]);
    client.end().await;
}

async fn many_segments(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("large.bin");
    // Uneven lengths and gaps; every tenth touches the one before.
    let count = u64::from(place.traits().segments_max.min(250));
    let mut segments: Vec<Range<u64>> = Vec::new();
    for i in 0..count {
        let touching = i % 10 == 9;
        let start = if touching { segments[i as usize - 1].end } else { i * 11_000 + i % 97 };
        segments.push(start..start + 1 + (i * i * 31) % 5000);
    }
    let fetch = client.fetch(&file, segments.clone());
    client.wait(fetch).await.delivers(&content, &segments);
    let two = vec![0..1, 2_999_000..3_000_017];
    let fetch = client.fetch(&file, two.clone());
    client.wait(fetch).await.delivers(&content, &two);
    client.end().await;
}

async fn end_of_file(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("medium.bin");
    let across = client.fetch(&file, vec![99_990..100_050]);
    client.wait(across).await.delivers(&content, &[99_990..100_000]);
    let beyond = client.fetch(&file, vec![100_000..100_001]);
    client.wait(beyond).await.delivers(&content, &[]);
    client.end().await;
}

async fn cancel(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("large.bin");
    client.send(Command::Cancel { request: RequestTag(u64::MAX) });
    let first = client.fetch(&file, vec![0..2_000_000]);
    let second = client.fetch(&file, vec![2_000_000..3_000_000]);
    client.send(Command::Cancel { request: first });
    client.send(Command::Cancel { request: second });
    let third = client.fetch(&file, vec![5..500]);
    for cancelled in [first, second] {
        client.wait(cancelled).await.agrees(&content);
    }
    client.wait(third).await.delivers(&content, &[5..500]);
    client.send(Command::Cancel { request: third });
    let fourth = client.fetch(&file, vec![1000..2000]);
    client.wait(fourth).await.delivers(&content, &[1000..2000]);
    client.end().await;
}

async fn unknown_file(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("medium.bin");
    let unknown = FileRef {
        tag: new_file(),
        url: Arc::new((place.url_of)("no such file.bin")),
        file_use: FileUse::Decoded,
    };
    let missing = client.open(&unknown, FileEnd::Head(100));
    let error = client.wait(missing).await.fails();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(!error.is_retryable(), "{error}");
    let fetch = client.fetch(&file, vec![1..2]);
    client.wait(fetch).await.delivers(&content, &[1..2]);
    client.end().await;
}

async fn close_and_reopen(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, content) = place.file("medium.bin");
    for _ in 0..2 {
        let open = client.open(&file, FileEnd::Head(10));
        client.wait(open).await.delivers(&content, &[0..10]);
        client.send(Command::Close { file: file.clone() });
    }
    let fetch = client.fetch(&file, vec![20..30]);
    client.wait(fetch).await.delivers(&content, &[20..30]);
    client.end().await;
}

async fn two_files(place: &Place<'_>) {
    let mut client = place.connect();
    let (large, large_content) = place.file("large.bin");
    let (medium, medium_content) = place.file("medium.bin");
    let opens = [client.open(&large, FileEnd::Head(300)), client.open(&medium, FileEnd::Head(200))];
    let fetches = [
        client.fetch(&medium, vec![1000..1300, 1400..1500]),
        client.fetch(&large, vec![1000..1300, 1400..1500]),
    ];
    client.wait(opens[0]).await.delivers(&large_content, &[0..300]);
    client.wait(opens[1]).await.delivers(&medium_content, &[0..200]);
    client.wait(fetches[0]).await.delivers(&medium_content, &[1000..1300, 1400..1500]);
    client.send(Command::Close { file: medium });
    client.wait(fetches[1]).await.delivers(&large_content, &[1000..1300, 1400..1500]);
    client.end().await;
}

async fn several_connections(place: &Place<'_>) {
    let (file, content) = place.file("large.bin");
    let mut clients: Vec<Client> = (0..3).map(|_| place.connect()).collect();
    // It may come on another connection, whose events are not waited for here.
    place.seen.lock().insert(file.tag);
    let share = content.len() as u64 / 3;
    let ranges: Vec<Range<u64>> = (0..3).map(|i| i * share..(i + 1) * share).collect();
    let requests: Vec<RequestTag> = clients
        .iter_mut()
        .zip(&ranges)
        .map(|(client, range)| client.fetch(&file, vec![range.clone()]))
        .collect();
    for ((client, range), request) in clients.iter_mut().zip(ranges).zip(requests) {
        client.wait(request).await.delivers(&content, &[range]);
    }
    for client in clients {
        client.end().await;
    }
}

async fn end_amid_work(place: &Place<'_>) {
    let mut client = place.connect();
    let (file, _) = place.file("large.bin");
    client.fetch(&file, vec![0..3_000_000]);
    client.end().await;
}

/// The server under test and the truth about its files.
struct Place<'a> {
    server: Arc<dyn Server>,
    files: Vec<(&'static str, Vec<u8>)>,
    url_of: &'a dyn Fn(&str) -> Address,
    seen: Seen,
}

impl Place<'_> {
    fn traits(&self) -> ServerTraits {
        self.server.traits()
    }

    fn parts(&self, bytes: u64) -> Vec<FileEnd> {
        let mut parts = vec![FileEnd::Head(bytes)];
        if self.traits().suffix {
            parts.push(FileEnd::Tail(bytes));
        }
        parts
    }

    /// A file under a tag of its own, and its content.
    fn file(&self, name: &str) -> (FileRef, Vec<u8>) {
        let content = self.files.iter().find(|(known, _)| *known == name).expect("a known name");
        let url = Arc::new((self.url_of)(name));
        (FileRef { tag: new_file(), url, file_use: FileUse::Decoded }, content.1.clone())
    }

    fn disconnected(&self) -> (Client, DriverLink) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let connection = ConnectionTag(NEXT.fetch_add(1, Ordering::Relaxed));
        let (commands, receiver) = unbounded_channel();
        let (sender, events) = unbounded_channel();
        let client = Client {
            connection,
            commands,
            events,
            task: None,
            connected: false,
            suffix_refused: false,
            both_ends_refused: false,
            answers: BTreeMap::new(),
            seen: self.seen.clone(),
        };
        (client, DriverLink { connection, commands: receiver, events: sender })
    }

    fn connect(&self) -> Client {
        let (mut client, link) = self.disconnected();
        client.start(self.server.clone(), link);
        client
    }
}

fn new_file() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The driver's end of a connection; it checks each event against the rules.
struct Client {
    connection: ConnectionTag,
    commands: UnboundedSender<Command>,
    events: UnboundedReceiver<(ConnectionTag, ConnectionEvent)>,
    task: Option<JoinHandle<()>>,
    connected: bool,
    /// The server has turned out not to deliver the end of a file whose size is not known.
    suffix_refused: bool,
    /// Or not to deliver both ends together.
    both_ends_refused: bool,
    answers: BTreeMap<RequestTag, Answer>,
    seen: Seen,
}

/// Files that `Seen` has described.
type Seen = Arc<Mutex<BTreeSet<u32>>>;

struct Answer {
    file: u32,
    open: Option<FileEnd>,
    asked: Vec<Range<u64>>,
    info: Option<FileInfo>,
    data: BTreeMap<u64, Bytes>,
    end: Option<Result<(), Error>>,
}

impl Client {
    fn start(&mut self, server: Arc<dyn Server>, link: DriverLink) {
        self.task = Some(tokio::spawn(server.run(link)));
    }

    fn send(&self, command: Command) {
        self.commands.send(command).expect("the connection ended by itself");
    }

    fn open(&mut self, file: &FileRef, part: FileEnd) -> RequestTag {
        let asked = match part {
            FileEnd::Head(bytes) => vec![0..bytes],
            FileEnd::Tail(_) | FileEnd::Both { .. } => vec![],
        };
        let request = self.expect(file, Some(part), asked);
        self.send(Command::Open { request, file: file.clone(), part });
        request
    }

    fn fetch(&mut self, file: &FileRef, segments: Vec<Range<u64>>) -> RequestTag {
        let request = self.expect(file, None, segments.clone());
        self.send(Command::Fetch { request, file: file.clone(), segments });
        request
    }

    fn expect(
        &mut self,
        file: &FileRef,
        open: Option<FileEnd>,
        asked: Vec<Range<u64>>,
    ) -> RequestTag {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let request = RequestTag(NEXT.fetch_add(1, Ordering::Relaxed));
        let data = BTreeMap::new();
        let file = file.tag;
        let answer = Answer { file, open, asked, info: None, data, end: None };
        self.answers.insert(request, answer);
        request
    }

    /// Takes in events until the request has been answered.
    async fn wait(&mut self, request: RequestTag) -> Answer {
        while self.answers[&request].end.is_none() {
            let (connection, event) = self.events.recv().await.expect("a last event");
            assert_eq!(connection, self.connection);
            if let ConnectionEvent::Disconnected { error } = event {
                panic!("disconnected before the answer: {error:?}");
            }
            self.take(event);
        }
        let answer = self.answers.remove(&request).expect("just seen");
        // A cancelled request may be answered at any time.
        assert!(self.connected || answer.data.is_empty(), "Data before Connected");
        answer
    }

    fn take(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Connected => {
                assert!(!self.connected, "connected twice");
                self.connected = true;
            }
            ConnectionEvent::Opened { request, info } => {
                let refused = self.suffix_refused;
                let answer = self.unanswered(request);
                assert!(answer.info.is_none() && answer.data.is_empty(), "a late Opened");
                match answer.open.expect("Opened answers an Open") {
                    FileEnd::Head(_) => {}
                    FileEnd::Tail(_) if refused => {}
                    FileEnd::Tail(bytes) => {
                        answer.asked = vec![info.size.saturating_sub(bytes)..info.size];
                    }
                    FileEnd::Both { head, tail } => {
                        let head = head.min(info.size);
                        let tail = info.size.saturating_sub(tail).max(head);
                        answer.asked = vec![0..head, tail..info.size];
                    }
                }
                answer.info = Some(info);
            }
            ConnectionEvent::Seen { file, .. } => drop(self.seen.lock().insert(file)),
            ConnectionEvent::Data { request, offset, bytes } => {
                let file = self.unanswered(request).file;
                assert!(self.seen.lock().contains(&file), "Data before Seen");
                self.unanswered(request).add(offset, bytes);
            }
            ConnectionEvent::Damaged { range, .. } => panic!("{range:?} has come damaged"),
            ConnectionEvent::Done { request } => self.unanswered(request).end = Some(Ok(())),
            ConnectionEvent::Failed { request, error } => {
                self.unanswered(request).end = Some(Err(error))
            }
            ConnectionEvent::Traits(traits) => {
                self.suffix_refused |= !traits.suffix;
                self.both_ends_refused |= traits.both_ends == BothEnds::Never;
            }
            ConnectionEvent::Note(_) | ConnectionEvent::Wait(_) | ConnectionEvent::Reached => {}
            ConnectionEvent::Sent { .. } | ConnectionEvent::Progress { .. } => {}
            ConnectionEvent::Redirected { url, .. } => panic!("redirected to {url}"),
            ConnectionEvent::Listed { .. }
            | ConnectionEvent::Checksum { .. }
            | ConnectionEvent::Clock { .. }
            | ConnectionEvent::Located { .. } => {
                panic!("an answer to no request")
            }
            ConnectionEvent::Disconnected { .. } => {
                panic!("a Disconnected that is not the last event")
            }
        }
    }

    fn unanswered(&mut self, request: RequestTag) -> &mut Answer {
        let answer = self.answers.get_mut(&request);
        answer.filter(|answer| answer.end.is_none()).expect("a event after the answer")
    }

    /// Ends the commands: the connection must end too, with one `Disconnected` without an error.
    async fn end(self) {
        let Client { commands, mut events, task, .. } = self;
        drop(commands);
        let mut last = None;
        while let Some((_, event)) = events.recv().await {
            assert!(
                !matches!(last, Some(ConnectionEvent::Disconnected { .. })),
                "a event after Disconnected: {event:?}"
            );
            last = Some(event);
        }
        assert!(matches!(last, Some(ConnectionEvent::Disconnected { error: None })), "{last:?}");
        task.expect("started").await.expect("the connection's task panicked");
    }
}

impl Answer {
    fn add(&mut self, offset: u64, bytes: Bytes) {
        assert!(self.open.is_none() || self.info.is_some(), "Data before Opened");
        assert!(!bytes.is_empty(), "empty Data");
        let range = offset..offset + bytes.len() as u64;
        // Data may span segments that touch.
        let mut covered = range.start;
        for segment in &self.asked {
            if segment.start <= covered && covered < segment.end {
                covered = segment.end;
            }
        }
        assert!(covered >= range.end, "Data {range:?} was not asked: {:?}", self.asked);
        let before = self.data.range(..range.end).next_back();
        let free = before.is_none_or(|(at, bytes)| at + bytes.len() as u64 <= range.start);
        assert!(free, "Data {range:?} twice");
        self.data.insert(offset, bytes);
    }

    /// All of these ranges of the file, and nothing else, has been delivered.
    fn delivers(&self, content: &[u8], ranges: &[Range<u64>]) {
        if let Some(Err(error)) = &self.end {
            panic!("failed: {error}");
        }
        self.agrees(content);
        let delivered: u64 = self.data.values().map(|bytes| bytes.len() as u64).sum();
        let wanted: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        assert_eq!(delivered, wanted, "bytes delivered of {ranges:?}");
    }

    /// The delivered bytes are those that the file holds there.
    fn agrees(&self, content: &[u8]) {
        for (&offset, bytes) in &self.data {
            let start = offset as usize;
            let truth = content.get(start..start + bytes.len()).expect("Data past the end");
            assert!(truth == &bytes[..], "wrong data at {offset}");
        }
    }

    fn fails(self) -> Error {
        assert!(self.data.is_empty(), "data before a failure that concerns the whole file");
        self.end.expect("answered").expect_err("succeeded")
    }
}
