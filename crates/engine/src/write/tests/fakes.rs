//! A table of numbers whose first work decides about the rest, and a place that obeys the test.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use mutex::Mutex;
use remote::sink::{Content, Sink};
use remote::{Error, ErrorKind, Result, Upload, Written};
use rootfile::write::{
    Buffer, Compression, CompressionAlgorithm, Encode, Encoded, Encoders, Finished, RecordPlace,
    TableWriter, Work, WritableObject,
};
use rootfile::{Array, Numbers};
use tokio::sync::Semaphore;

/// Entries of a cluster.
const CLUSTER: usize = 1000;

/// Text as an object of its own.
pub struct Text(pub String);

impl WritableObject for Text {
    fn class(&self) -> &'static str {
        "TObjString"
    }

    fn title(&self) -> &'static str {
        ""
    }

    fn classes(&self) -> Vec<&str> {
        Vec::new()
    }

    fn write(&self, to: &mut Buffer) {
        to.string(&self.0);
    }
}

/// Columns of doubles. Its first work is a trial that is not stored; until its result is there, no
/// further work is given out. Each cluster names its place, so that a wrong order shows.
#[derive(Default)]
pub struct Plain {
    name: String,
    columns: Vec<Vec<f64>>,
    entries: u64,
    tried: Option<usize>,
    is_tried: bool,
    is_closed: bool,
    ready: VecDeque<Vec<f64>>,
    /// How the work of that number ends.
    bad: Option<(usize, End)>,
    given: usize,
}

struct EncodePlain {
    numbers: Vec<f64>,
    end: End,
}

/// How work ends.
#[derive(Clone, Copy)]
pub enum End {
    Well,
    Error,
    Panic,
}

impl Encode for EncodePlain {
    fn encode(self: Box<Self>, encoders: &mut Encoders) -> rootfile::Result<Encoded> {
        match self.end {
            End::Well => {}
            End::Error => return Err(rootfile::Error::limit("the table's own".to_owned())),
            End::Panic => panic!("boom"),
        }
        let content: Vec<u8> = self.numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        let mut bytes = Vec::new();
        let compression = Compression::new(CompressionAlgorithm::Zstd, 1);
        encoders.compress(compression, &content, &mut bytes)?;
        Ok(Encoded { bytes, content_len: content.len(), facts: Box::new(()) })
    }
}

impl Plain {
    /// The work of that number ends so.
    pub fn ending(given: usize, end: End) -> Box<Self> {
        Box::new(Plain { bad: Some((given, end)), ..Plain::default() })
    }

    fn work(&mut self, numbers: Vec<f64>) -> Work {
        let end = match self.bad {
            Some((given, end)) if given == self.given => end,
            _ => End::Well,
        };
        self.given += 1;
        Work { content_len: numbers.len() * 8, encode: Box::new(EncodePlain { numbers, end }) }
    }

    fn cut(&mut self) {
        while let Some(first) = self.columns.first() {
            let len = if self.is_closed { first.len().min(CLUSTER) } else { CLUSTER };
            if len == 0 || first.len() < len {
                return;
            }
            for column in &mut self.columns {
                self.ready.push_back(column.drain(..len).collect());
            }
        }
    }
}

impl TableWriter for Plain {
    fn named(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    fn extend(&mut self, columns: Vec<Arc<Array>>) -> rootfile::Result<()> {
        self.columns.resize(columns.len(), Vec::new());
        for (column, array) in self.columns.iter_mut().zip(&columns) {
            let Some(numbers) = array.as_primitive::<f64>() else {
                return Err(rootfile::Error::unsupported("entries of another type".to_owned()));
            };
            column.extend_from_slice(numbers);
        }
        self.entries += columns.first().map_or(0, |array| array.len() as u64);
        self.cut();
        Ok(())
    }

    fn close(&mut self) {
        self.is_closed = true;
        self.cut();
    }

    fn poll_work(&mut self) -> Option<Work> {
        if self.tried.is_none() {
            if !self.is_tried && !self.ready.is_empty() {
                self.is_tried = true;
                let numbers = self.ready[0].clone();
                return Some(self.work(numbers));
            }
            return None;
        }
        let numbers = self.ready.pop_front()?;
        Some(self.work(numbers))
    }

    fn waits(&self) -> bool {
        self.tried.is_none()
    }

    fn place(&mut self, encoded: Encoded, place: RecordPlace) -> rootfile::Result<Vec<Bytes>> {
        if self.tried.is_none() {
            self.tried = Some(encoded.bytes.len());
            return Ok(Vec::new());
        }
        let head = format!("{}@{}+{:?}", self.name, place.offset, self.tried);
        Ok(vec![head.into_bytes().into(), encoded.bytes.into()])
    }

    fn finish(&mut self, _: RecordPlace, _: &mut Encoders) -> rootfile::Result<Finished> {
        let object = Arc::new(Text(format!("{} entries", self.entries)));
        Ok(Finished { records: Vec::new(), object })
    }

    fn entries(&self) -> u64 {
        self.entries
    }

    fn held_bytes(&self) -> usize {
        self.columns.iter().chain(&self.ready).map(|column| column.len() * 8).sum()
    }
}

/// An array of doubles.
pub fn doubles(numbers: Vec<f64>) -> Arc<Array> {
    Arc::new(Array::Numbers { numbers: Numbers::F64(numbers), shape: Vec::new() })
}

/// State of a file at a place.
#[derive(Debug, Default)]
pub struct Seen {
    pub bytes: Vec<u8>,
    /// The bytes at the last sync.
    pub safe: Vec<u8>,
    /// The last write after that.
    pub unsafe_write: Option<(usize, Bytes)>,
    pub calls: usize,
    pub is_finished: bool,
    pub is_abandoned: bool,
}

/// A place in memory.
#[derive(Default)]
pub struct Place {
    pub seen: Arc<Mutex<Seen>>,
    fails_at: Option<usize>,
    gate: Option<Arc<Semaphore>>,
}

impl Place {
    /// Fails at the call of that number, from 0.
    pub fn failing(at: usize) -> Self {
        let mut place = Place::default();
        place.fails_at = Some(at);
        place
    }

    /// Each write takes one of the gate's permits.
    pub fn behind(gate: Arc<Semaphore>) -> Self {
        let mut place = Place::default();
        place.gate = Some(gate);
        place
    }

    /// Has a file already.
    pub fn with(self, bytes: &[u8]) -> Self {
        self.seen.lock().bytes = bytes.to_vec();
        self
    }

    pub fn upload(self) -> Upload {
        let before = self.seen.lock().bytes.len() as u64;
        Upload::new("there/f.root".to_owned(), Box::new(self), before)
    }

    fn call(&self) -> Result<()> {
        let mut seen = self.seen.lock();
        let call = seen.calls;
        seen.calls += 1;
        match Some(call) == self.fails_at {
            true => Err(Error::new(ErrorKind::Io, format!("call {call} failed"))),
            false => Ok(()),
        }
    }
}

impl Sink for Place {
    fn write(&mut self, offset: u64, bytes: Bytes, _: bool) -> BoxFuture<'_, Result<()>> {
        async move {
            if let Some(gate) = &self.gate {
                gate.acquire().await.expect("it stays open").forget();
            }
            self.call()?;
            let mut seen = self.seen.lock();
            let (start, all) = (offset as usize, &mut seen.bytes);
            all.resize(all.len().max(start + bytes.len()), 0);
            all[start..start + bytes.len()].copy_from_slice(&bytes);
            seen.unsafe_write = Some((start, bytes));
            Ok(())
        }
        .boxed()
    }

    fn sync(&mut self) -> BoxFuture<'_, Result<()>> {
        async {
            self.call()?;
            let mut seen = self.seen.lock();
            (seen.safe, seen.unsafe_write) = (seen.bytes.clone(), None);
            Ok(())
        }
        .boxed()
    }

    fn finish(self: Box<Self>, content: Content) -> BoxFuture<'static, Result<Written>> {
        async move {
            self.call()?;
            self.seen.lock().is_finished = true;
            Ok(Written::new("there/f.root".into(), content.len(), None))
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, ()> {
        async move { self.seen.lock().is_abandoned = true }.boxed()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut seen = self.seen.lock();
        seen.is_abandoned |= !seen.is_finished;
    }
}
