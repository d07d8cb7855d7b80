//! The baskets of one branch that are compressed or joined again. One thread at a time does this,
//! in the order of the entries, while further baskets arrive: at a cut only the last few are left.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mutex::Mutex;
use rootfile::Codecs;
use rootfile::write::Encoders;
use rootfile::write::copy::{BranchRemake, HeldBasket};
use tokio::sync::oneshot;

use crate::read::threads::decoders::Decoders;
use crate::write::encoders::run_on;

/// Bytes of waiting baskets, before compression, with which a thread begins before the next cut:
/// about the size of one basket of the output.
const WAITING_BYTES: usize = 256 << 10;

/// Receives the baskets that a thread has made between two cuts.
pub type Made = oneshot::Receiver<rootfile::Result<Vec<HeldBasket>>>;

/// The baskets of a branch, which may arrive in any order between two cuts.
pub struct BranchQueue {
    line: Arc<Mutex<Line>>,
    /// Baskets that arrived before earlier ones: by first entry, entries and order of arrival.
    early: BTreeMap<(u64, u32, u64), HeldBasket>,
    /// The first entry of the next basket to add to the line.
    next: u64,
    /// Number of baskets added since the last cut, and in total.
    since_cut: u64,
    count: u64,
}

/// Steps that wait for a thread.
struct Line {
    steps: VecDeque<Step>,
    bytes: usize,
    state: LineState,
}

/// Where the state of a branch is.
enum LineState {
    /// No thread works on the branch.
    Idle(Box<State>),
    /// A thread has the state.
    Working,
    /// A thread panicked: all further cuts fail.
    Lost,
}

/// A thread at work on a branch. Dropped in a panic, it gives up the waiting steps.
struct Working<'a>(&'a Mutex<Line>);

enum Step {
    Add(HeldBasket),
    Cut(oneshot::Sender<rootfile::Result<Vec<HeldBasket>>>),
}

struct State {
    remake: BranchRemake,
    /// The first error since the last cut.
    failed: Option<rootfile::Error>,
}

impl BranchQueue {
    pub fn new(remake: BranchRemake) -> Self {
        let state = LineState::Idle(Box::new(State { remake, failed: None }));
        let line = Line { steps: VecDeque::new(), bytes: 0, state };
        BranchQueue {
            line: Arc::new(Mutex::new(line)),
            early: BTreeMap::new(),
            next: 0,
            since_cut: 0,
            count: 0,
        }
    }

    /// Adds a basket.
    pub fn add(&mut self, basket: HeldBasket, decoders: &Decoders) {
        let place = (basket.first_entry, basket.entries, self.count);
        self.early.insert(place, basket);
        (self.count, self.since_cut) = (self.count + 1, self.since_cut + 1);
        while let Some(first) = self.early.first_entry()
            && first.key().0 <= self.next
        {
            let basket = first.remove();
            self.push(basket);
        }
        if self.line.lock().is_due() {
            self.begin(decoders);
        }
    }

    /// Ends a cut; `None` where no basket was added since the last one.
    pub fn cut(&mut self, decoders: &Decoders) -> Option<Made> {
        if std::mem::take(&mut self.since_cut) == 0 {
            return None;
        }
        // No input's plan has gaps between baskets; a basket behind one would be lost.
        while let Some((_, basket)) = self.early.pop_first() {
            self.push(basket);
        }
        let (done, made) = oneshot::channel();
        self.line.lock().push(Step::Cut(done));
        self.begin(decoders);
        Some(made)
    }

    fn push(&mut self, basket: HeldBasket) {
        let end = basket.first_entry.saturating_add(u64::from(basket.entries));
        self.next = self.next.max(end);
        let mut line = self.line.lock();
        line.bytes += basket.content_len;
        line.push(Step::Add(basket));
    }

    fn begin(&self, decoders: &Decoders) {
        let line = self.line.clone();
        run_on(decoders, move |codecs, encoders| Line::run(&line, codecs, encoders));
    }
}

impl Line {
    /// Whether a thread should begin before the next cut.
    fn is_due(&self) -> bool {
        matches!(self.state, LineState::Idle(_)) && self.bytes >= WAITING_BYTES
    }

    /// Adds a step. After a panic it is dropped, and with it the sender of a cut: the receiver then
    /// gets an error instead of waiting.
    fn push(&mut self, step: Step) {
        if !matches!(self.state, LineState::Lost) {
            self.steps.push_back(step);
        }
    }

    fn run(line: &Mutex<Line>, codecs: &mut Codecs, encoders: &mut Encoders) {
        Self::work(line, |state, step| state.step(step, codecs, encoders));
    }

    /// Does all waiting steps; if another thread is at work on the branch, that one does them.
    fn work(line: &Mutex<Line>, mut act: impl FnMut(&mut State, Step)) {
        let Some(mut state) = line.lock().begin() else { return };
        let _working = Working(line);
        loop {
            let steps = {
                let mut line = line.lock();
                line.bytes = 0;
                if line.steps.is_empty() {
                    line.state = LineState::Idle(state);
                    return;
                }
                std::mem::take(&mut line.steps)
            };
            steps.into_iter().for_each(|step| act(&mut state, step));
        }
    }

    /// The state, for a thread; `None` where another thread has it or had it when it panicked.
    fn begin(&mut self) -> Option<Box<State>> {
        match std::mem::replace(&mut self.state, LineState::Working) {
            LineState::Idle(state) => Some(state),
            other => {
                self.state = other;
                None
            }
        }
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut line = self.0.lock();
        if matches!(line.state, LineState::Working) {
            line.state = LineState::Lost;
            line.steps.clear();
        }
    }
}

impl State {
    fn step(&mut self, step: Step, codecs: &mut Codecs, encoders: &mut Encoders) {
        match step {
            Step::Add(_) if self.failed.is_some() => {}
            Step::Add(basket) => self.failed = self.remake.add(basket, codecs, encoders).err(),
            Step::Cut(done) => {
                let made = match self.failed.take() {
                    Some(error) => Err(error),
                    None => self.remake.cut(encoders),
                };
                let in_order = |mut made: Vec<HeldBasket>| {
                    made.sort_by_key(|basket| basket.first_entry);
                    made
                };
                // The receiver is gone if the merge was given up.
                let _ = done.send(made.map(in_order));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use remote::clock::Clock;
    use remote::fetch::trace::Trace;
    use rootfile::write::Compression;
    use rootfile::write::copy::Remake;
    use tokio::sync::oneshot::error::TryRecvError;

    use super::*;

    /// A basket as it is stored in a file; each byte of `data` is one entry.
    fn basket(first_entry: u64, data: &[u8]) -> HeldBasket {
        let (key_len, len) = (60u16, data.len() as u32);
        let mut record = Vec::new();
        for number in [u32::from(key_len) + len, 4 << 16 | len >> 16, len << 16, 0] {
            record.extend_from_slice(&number.to_be_bytes());
        }
        record.truncate(14);
        record.extend_from_slice(&key_len.to_be_bytes());
        // The cycle, and the places of the record and of its directory.
        record.extend_from_slice(&[0; 10]);
        record.extend_from_slice(b"\x07TBasket\x01b\x04tree");
        record.extend_from_slice(&3u16.to_be_bytes());
        for number in [u32::from(key_len) + len, 0, len, u32::from(key_len) + len] {
            record.extend_from_slice(&number.to_be_bytes());
        }
        record.push(0);
        assert_eq!(record.len(), usize::from(key_len));
        record.extend_from_slice(data);
        HeldBasket::new(first_entry..first_entry + data.len() as u64, record, 0, 0).unwrap()
    }

    /// The baskets made for two cuts of three baskets each, which arrive in `order`.
    fn made(threads: usize, order: [usize; 6]) -> Vec<Vec<HeldBasket>> {
        let decoders = Decoders::start(threads, Trace::new(Clock::start())).unwrap();
        let (compression, joined) = (None, Some(Compression::NONE));
        let remake = Remake { compression, joined, basket_bytes: 8, alone_bytes: 8 };
        let mut queue = BranchQueue::new(BranchRemake::new(remake, true, Compression::NONE));
        let all = [(0, &b"abc"[..]), (3, b"de"), (5, b"fghi"), (9, b"j"), (10, b"kl"), (12, b"m")];
        let cuts = order.chunks(3).map(|cut| {
            let baskets = cut.iter().map(|at| basket(all[*at].0, all[*at].1));
            baskets.for_each(|basket| queue.add(basket, &decoders));
            queue.cut(&decoders).unwrap().blocking_recv().unwrap().unwrap()
        });
        cuts.collect()
    }

    #[test]
    fn the_order_in_which_baskets_come_changes_nothing() {
        let expected = [vec![basket(0, b"abcde"), basket(5, b"fghi")], vec![basket(9, b"jklm")]];
        for threads in [0, 1, 2] {
            for order in [[0, 1, 2, 3, 4, 5], [2, 0, 1, 5, 4, 3], [1, 2, 0, 4, 3, 5]] {
                assert_eq!(made(threads, order), expected, "{threads} {order:?}");
            }
        }
    }

    /// A queue without baskets, and no threads.
    fn empty() -> (BranchQueue, Decoders) {
        let decoders = Decoders::start(0, Trace::new(Clock::start())).unwrap();
        let (compression, joined) = (None, None);
        let remake = Remake { compression, joined, basket_bytes: 8, alone_bytes: 8 };
        (BranchQueue::new(BranchRemake::new(remake, true, Compression::NONE)), decoders)
    }

    #[test]
    fn a_cut_without_baskets_has_nothing() {
        let (mut queue, decoders) = empty();
        assert!(queue.cut(&decoders).is_none());
    }

    /// Regression: after a panic of the thread that made a branch's baskets, the merge waited for
    /// the next cut without end.
    #[test]
    fn after_a_panic_cuts_fail() {
        let (mut queue, decoders) = empty();
        queue.add(basket(0, b"ab"), &decoders);
        let (done, mut waiting) = oneshot::channel();
        queue.line.lock().push(Step::Cut(done));
        let panics = || Line::work(&queue.line, |_, _| panic!("meant: a test of panics"));
        catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(waiting.try_recv().unwrap_err(), TryRecvError::Closed);
        for at in 1..3 {
            queue.add(basket(2 * at, b"cd"), &decoders);
            let mut made = queue.cut(&decoders).unwrap();
            assert_eq!(made.try_recv().unwrap_err(), TryRecvError::Closed);
        }
    }
}
