//! The progress of a file: callers, threads that encode and the uploader change it under one lock,
//! and each of them, after its change, advances the file as far as it can.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mutex::{Mutex, MutexGuard};
use remote::fetch::trace::Trace;
use remote::{Error, ErrorKind, Result, Written};
use rootfile::write::{Encoders, FileWriter, TableId, Work, Write};
use tokio::sync::Notify;

use super::encoders::with_encoders;
use super::options::{WriteOptions, WriteProgress};
use super::parts::Parts;
use super::report::Counts;
use crate::located::Located;
use crate::read::threads::decoders::{Decoders, caught};

/// Bytes before compression that a thread takes at a time: with thousands of branches a piece of
/// work is so small that the lock would cost as much as its compression.
const WORK_LEN: usize = 32 << 10;

/// A file that is being written, shared by all who write it.
pub struct Flow {
    state: Mutex<FlowState>,
    /// For callers: there is room, another table's turn has come, or the file has ended.
    changed: Notify,
    /// For the uploader: there are bytes, or the file ends.
    to_carry: Notify,
    decoders: Decoders,
    trace: Trace,
    url: String,
    memory_bytes: usize,
    threads: usize,
}

/// The state under the lock.
pub struct FlowState {
    pub file: FileWriter,
    pub parts: Parts,
    pub counts: Counts,
    /// Tables and their paths, in the order in which they were made.
    pub tables: Vec<(TableId, String)>,
    writes: VecDeque<Write>,
    /// Bytes of the writes that the place has not taken, those that the uploader holds included.
    write_bytes: usize,
    /// Bytes, before compression, of the work that threads encode.
    encoding_bytes: usize,
    /// Threads that encode.
    threads: usize,
    stage: Stage,
}

enum Stage {
    Open,
    /// The caller adds nothing further; the remaining work is encoded and written.
    Closing,
    /// The uploader is to leave nothing behind.
    Broken(Error),
    Ended(Result<Written>),
}

/// The uploader's next step.
pub enum Next {
    Write(VecDeque<Write>),
    Finish,
    GiveUp(Error),
    Wait,
}

impl Flow {
    /// Of a file at an address, without secrets.
    pub fn new(
        file: FileWriter,
        url: String,
        decoders: Decoders,
        trace: Trace,
        options: &WriteOptions,
    ) -> Arc<Self> {
        let threads = options.threads.unwrap_or(usize::MAX).clamp(1, decoders.threads().max(1));
        let state = FlowState {
            file,
            parts: Parts::default(),
            counts: Counts::begin(trace.now()),
            tables: Vec::new(),
            writes: VecDeque::new(),
            write_bytes: 0,
            encoding_bytes: 0,
            threads: 0,
            stage: Stage::Open,
        };
        let flow = Arc::new(Flow {
            state: Mutex::new(state),
            changed: Notify::new(),
            to_carry: Notify::new(),
            decoders,
            trace,
            url,
            memory_bytes: options.memory(),
            threads,
        });
        flow.go_on(flow.state.lock());
        flow
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Time since the engine started.
    pub fn now(&self) -> Duration {
        self.trace.now()
    }

    /// Waits until something may be done, and does it.
    pub async fn once<T>(
        self: &Arc<Self>,
        may: impl Fn(&FlowState, usize) -> bool,
        act: impl FnOnce(&mut FlowState) -> rootfile::Result<T>,
    ) -> Result<T> {
        let mut waited = None;
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let mut state = self.state.lock();
                state.check(&self.url)?;
                if may(&state, self.memory_bytes) {
                    let since = waited.unwrap_or(self.now());
                    state.counts.for_room += self.now().saturating_sub(since);
                    let result = act(&mut state);
                    self.go_on(state);
                    return result.located(&self.url);
                }
            }
            waited = waited.or(Some(self.now()));
            changed.await;
        }
    }

    /// Does it now; `None` where it would have to wait, or the state is in use.
    pub fn at_once<T>(
        self: &Arc<Self>,
        may: impl Fn(&FlowState, usize) -> bool,
        act: impl FnOnce(&mut FlowState) -> rootfile::Result<T>,
    ) -> Option<Result<T>> {
        let mut state = self.state.try_lock()?;
        if let Err(error) = state.check(&self.url) {
            return Some(Err(error));
        }
        if !may(&state, self.memory_bytes) {
            return None;
        }
        let numbered = state.file.numbered();
        let result = act(&mut state);
        // Only held bytes have changed, which the next change counts.
        if state.file.numbered() > numbered || result.is_err() {
            self.go_on(state);
        }
        Some(result.located(&self.url))
    }

    /// Reads the state, or changes a part that no caller and no task waits for.
    pub fn with<T>(&self, look: impl FnOnce(&mut FlowState) -> T) -> T {
        look(&mut self.state.lock())
    }

    /// There is nothing further to be written.
    pub async fn close(self: &Arc<Self>) -> Result<()> {
        let close = |state: &mut FlowState| {
            state.parts.check_finished(&state.tables)?;
            state.file.close();
            state.stage = Stage::Closing;
            Ok(())
        };
        self.once(|state, _| state.file.is_settled(None), close).await
    }

    /// Waits until the uploader has ended.
    pub async fn ended(&self) -> Result<Written> {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if let Stage::Ended(result) = &self.state.lock().stage {
                return result.clone();
            }
            changed.await;
        }
    }

    /// Ends it with an error, unless it has ended; nothing of the file is kept.
    pub fn break_off(self: &Arc<Self>, error: Error) {
        let mut state = self.state.lock();
        state.break_off(error.with_url(&*self.url));
        self.go_on(state);
    }

    /// Moves work on that can be moved on after a change, and wakes the callers and tasks that wait
    /// for it.
    fn go_on(self: &Arc<Self>, mut state: MutexGuard<'_, FlowState>) {
        if let Err(error) = state.advance() {
            state.break_off(error.located(&*self.url));
        }
        let more = state.threads_wanted(self.memory_bytes, self.threads);
        state.threads += more;
        let held = state.held_bytes();
        let is_busy = state.is_busy();
        state.counts.note(held, is_busy, self.now());
        let can_be_carried = state.can_be_carried();
        drop(state);
        // An entry that fills nothing wakes no task: it would cost more than the entry.
        if can_be_carried {
            self.to_carry.notify_one();
        }
        self.changed.notify_waiters();
        for _ in 0..more {
            let flow = self.clone();
            self.decoders.spawn(move || flow.encode());
        }
    }

    /// A thread's loop, as long as there is work.
    fn encode(self: &Arc<Self>) {
        let encode = |encoders: &mut Encoders| while self.encode_some(encoders) {};
        let done = caught("a thread that encodes", || {
            with_encoders(encode);
            Ok(())
        });
        if let Err(panicked) = done {
            let advice = "this is a fault of farroot: please report it";
            self.break_off(panicked.with_advice(advice));
        }
    }

    /// Encodes the next pieces of work; `false` where there are none.
    fn encode_some(self: &Arc<Self>, encoders: &mut Encoders) -> bool {
        let works = self.next_works();
        if works.is_empty() {
            return false;
        }
        let content_len = content_len(&works);
        let from = self.now();
        let encode = |(number, work): (u64, Work)| (number, work.encode.encode(encoders));
        let results: Vec<_> = works.into_iter().map(encode).collect();
        let mut state = self.state.lock();
        state.counts.encoding += self.now().saturating_sub(from);
        state.encoding_bytes -= content_len;
        for (number, encoded) in results {
            match encoded {
                Ok(encoded) => state.file.complete(number, encoded),
                Err(error) => state.break_off(error.located(&*self.url)),
            }
        }
        self.go_on(state);
        true
    }

    /// The next work: one piece, or several small ones. Where there is none, the thread ends, and
    /// waiting callers are woken.
    fn next_works(self: &Arc<Self>) -> Vec<(u64, Work)> {
        let mut state = self.state.lock();
        let mut works = Vec::new();
        while content_len(&works) < WORK_LEN && state.may_begin(self.memory_bytes) {
            let Some((number, work)) = state.file.poll_work() else { break };
            state.encoding_bytes += work.content_len;
            works.push((number, work));
        }
        if works.is_empty() {
            state.threads -= 1;
            self.go_on(state);
        }
        works
    }
}

fn content_len(works: &[(u64, Work)]) -> usize {
    works.iter().map(|(_, work)| work.content_len).sum()
}

/// For the uploader.
impl Flow {
    /// Waits until there may be something else to be carried away.
    pub async fn to_carry(&self) {
        self.to_carry.notified().await;
    }

    pub fn next_writes(&self) -> Next {
        let mut state = self.state.lock();
        match &state.stage {
            Stage::Broken(error) => Next::GiveUp(error.clone()),
            _ if !state.writes.is_empty() => Next::Write(std::mem::take(&mut state.writes)),
            Stage::Closing if state.file.is_finished() => Next::Finish,
            _ => Next::Wait,
        }
    }

    /// The place has taken bytes, for which the uploader waited so long.
    pub fn carried(self: &Arc<Self>, bytes: usize, waited: Duration) -> WriteProgress {
        let mut state = self.state.lock();
        // Of a file that has broken off nothing is counted any more.
        state.write_bytes = state.write_bytes.saturating_sub(bytes);
        state.counts.carried += bytes as u64;
        state.counts.carrying += waited;
        let entries = state.counts.entries;
        let bytes = state.counts.carried;
        self.go_on(state);
        WriteProgress { entries, bytes }
    }

    /// The file has its name, or nothing of it is kept.
    pub fn end(self: &Arc<Self>, result: Result<Written>) {
        let mut state = self.state.lock();
        if !matches!(state.stage, Stage::Ended(_)) {
            state.forget();
            state.stage = Stage::Ended(result);
        }
        self.go_on(state);
    }
}

impl FlowState {
    /// Whether the file may hold `more` bytes: they fit into the memory, or no thread or write is
    /// about to free any. A quarter of the memory is room enough for any number of bytes: threads
    /// would run out of work during a wait for room for all of them.
    pub fn has_room(&self, memory_bytes: usize, more: usize) -> bool {
        self.held_bytes() + more.min(memory_bytes / 4) <= memory_bytes || !self.is_busy()
    }

    /// Bytes held for the file.
    pub fn held_bytes(&self) -> usize {
        self.file.held_bytes() + self.parts.bytes() + self.under_way()
    }

    /// Bytes from their encoding until the place has them.
    fn under_way(&self) -> usize {
        self.encoding_bytes + self.file.waiting_bytes() + self.write_bytes
    }

    /// Whether the uploader has something to do, or has ended.
    fn can_be_carried(&self) -> bool {
        !self.writes.is_empty() || !matches!(self.stage, Stage::Open)
    }

    /// Whether bytes will become less by themselves.
    fn is_busy(&self) -> bool {
        self.threads > 0 || self.write_bytes > 0
    }

    fn is_alive(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Closing)
    }

    /// Whether a thread may take work: half of the memory is for work in threads and its results.
    fn may_begin(&self, memory_bytes: usize) -> bool {
        let under_way = self.under_way();
        self.is_alive() && (under_way == 0 || under_way < memory_bytes / 2)
    }

    fn threads_wanted(&self, memory_bytes: usize, most: usize) -> usize {
        match self.may_begin(memory_bytes) {
            true => self.file.ready_work().min(most.saturating_sub(self.threads)),
            false => 0,
        }
    }

    /// # Errors
    /// Why nothing can be written any more.
    fn check(&self, url: &str) -> Result<()> {
        match &self.stage {
            Stage::Open => Ok(()),
            Stage::Broken(error) | Stage::Ended(Err(error)) => Err(error.clone()),
            Stage::Closing | Stage::Ended(Ok(_)) => {
                let text = "the file has been closed";
                Err(Error::new(ErrorKind::InvalidArgument, text).with_url(url))
            }
        }
    }

    /// Gives finished work its places, in the order of the file.
    fn advance(&mut self) -> rootfile::Result<()> {
        while self.is_alive() {
            while let Some(write) = self.file.poll_write()? {
                self.write_bytes += write.bytes.len();
                self.writes.push_back(write);
            }
            let FlowState { parts, file, counts, .. } = self;
            if !parts.advance(file, counts)? {
                break;
            }
        }
        Ok(())
    }

    fn break_off(&mut self, error: Error) {
        if self.is_alive() {
            self.forget();
            self.stage = Stage::Broken(error);
        }
    }

    fn forget(&mut self) {
        self.writes.clear();
        self.write_bytes = 0;
        self.parts = Parts::default();
    }
}
