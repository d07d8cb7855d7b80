//! Simulated byte streams: latency and bandwidth in virtual time.
//!
//! A [`Link`] lies between the client and one host. Bytes written on one side come out on the other
//! after the one-way delay, at the pace of the link's rate (shared by its connections) and of each
//! flow's own congestion window: a new connection brings ten segments in its first round trip and
//! twice as many in each further one (RFC 6928, RFC 5681). Time is tokio's; on a paused runtime it
//! is virtual and nothing here takes any.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes};
use mutex::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Bytes of one TCP segment on Ethernet.
pub const SEGMENT_BYTES: u64 = 1448;
/// Initial congestion window (RFC 6928), bytes.
pub const INITIAL_WINDOW_BYTES: u64 = 10 * SEGMENT_BYTES;
/// Bytes a pipe accepts before the writer has to wait, as a socket's send buffer does.
const SEND_BUFFER_BYTES: usize = 4 << 20;
/// Timers wake so much late at the most.
const TICK: Duration = Duration::from_millis(1);

/// The link between the client and one host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Round trip.
    pub rtt: Duration,
    /// Bytes per second in each direction, shared by all connections; `None`: no limit.
    pub rate: Option<u64>,
    /// Whether connections start slowly, as TCP does.
    pub slow_start: bool,
}

/// A host's link as it is now: its faults may change at any time.
#[derive(Debug)]
pub struct Line {
    pub link: Link,
    /// Nothing passes before this; then packets that were sent meanwhile are sent again, when TCP
    /// tries next.
    pub down_until: Option<Instant>,
    /// Of a thousand packets, so many are lost.
    pub lost_per_mille: u64,
    /// Bytes of one flow that are on their way or not acknowledged, at the most: the smaller one
    /// of the sender's and the receiver's buffer. `None`: no acknowledgements, and a sender's
    /// buffer of 4 MiB.
    pub flow_bytes_max: Option<u64>,
    /// Where chance stands; the seed of it.
    pub chance: u64,
}

/// How long TCP waits before it sends again for the first time (RFC 6298: a second at first, then
/// by measurement; 200 ms is the least that Linux takes). Each further time it waits twice as long.
const RETRANSMISSION: Duration = Duration::from_millis(200);

impl Line {
    pub(crate) fn new(link: Link) -> Self {
        Line { link, down_until: None, lost_per_mille: 0, flow_bytes_max: None, chance: 1 }
    }

    /// How long a packet that leaves now is held up on its way.
    fn hold_up(&mut self, now: Instant) -> Duration {
        if let Some(until) = self.down_until.filter(|until| *until > now) {
            return next_try(until - now, RETRANSMISSION);
        }
        // A linear congruential generator (Knuth's constants): its high bits are random enough.
        self.chance =
            self.chance.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        match (self.chance >> 33) % 1000 < self.lost_per_mille {
            true => self.link.rtt.max(RETRANSMISSION),
            false => Duration::ZERO,
        }
    }
}

/// When the first of several tries comes that is not before `at`, each twice as long after the one
/// before as that one was.
pub(crate) fn next_try(at: Duration, first: Duration) -> Duration {
    let mut time = first;
    let mut pause = first;
    while time < at {
        pause *= 2;
        time += pause;
    }
    time
}

impl Link {
    /// Only delay, for counting serial round trips.
    pub fn delay(rtt: Duration) -> Self {
        Link { rtt, rate: None, slow_start: false }
    }
}

/// The shared part of a link, for one direction.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// When it is free again.
    free: Mutex<Option<Instant>>,
    /// Bytes that have been read at its end.
    delivered: AtomicU64,
}

impl Lane {
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    /// When `bytes` that are ready at `now` have passed.
    pub(crate) fn pass(&self, now: Instant, bytes: u64, rate: Option<u64>) -> Instant {
        let Some(rate) = rate else { return now };
        let mut free = self.free.lock();
        let begins = free.map_or(now, |free| free.max(now));
        let ends = begins + Duration::from_secs_f64(bytes as f64 / rate as f64);
        *free = Some(ends);
        ends
    }
}

/// A congestion window that doubles each round trip: which byte of a flow may leave when.
#[derive(Debug)]
struct SlowStart {
    round_ends: Instant,
    window: u64,
    left: u64,
}

impl SlowStart {
    fn new() -> Self {
        let window = INITIAL_WINDOW_BYTES;
        SlowStart { round_ends: Instant::now(), window, left: window }
    }

    /// When more may leave, if not now.
    fn opens(&self, now: Instant) -> Option<Instant> {
        (self.left == 0 && now < self.round_ends).then_some(self.round_ends)
    }

    /// Of `bytes`, how many leave now.
    fn admit(&mut self, now: Instant, rtt: Duration, bytes: u64) -> u64 {
        if self.round_ends <= now {
            // A round widens the window by the bytes that it sent, if they were most of it (as
            // Linux does); an idle flow keeps its window.
            let sent = self.window - self.left;
            self.window += if sent * 2 >= self.window { sent } else { 0 };
            self.left = self.window;
            self.round_ends = now + rtt;
        }
        let length = bytes.min(self.left);
        self.left -= length;
        length
    }
}

/// One direction of one connection.
#[derive(Debug)]
struct Pipe {
    line: Arc<Mutex<Line>>,
    /// Bytes that were sent before arrive before.
    last_arrival: Option<Instant>,
    lane: Arc<Lane>,
    slow_start: SlowStart,
    flying: VecDeque<(Instant, Bytes)>,
    held: usize,
    /// Bytes that were read, and when the sender hears of it.
    acknowledged: VecDeque<(Instant, u64)>,
    /// Bytes that were sent and not acknowledged.
    unacknowledged: u64,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// One end of a simulated connection.
pub struct End {
    incoming: Arc<Mutex<Pipe>>,
    outgoing: Arc<Mutex<Pipe>>,
    arrival: Pin<Box<Sleep>>,
    departure: Pin<Box<Sleep>>,
}

/// Both ends of a new connection: the client's and the host's.
pub(crate) fn connect(line: &Arc<Mutex<Line>>, lanes: &[Arc<Lane>; 2]) -> (End, End) {
    let pipe = |lane: &Arc<Lane>| {
        Arc::new(Mutex::new(Pipe {
            line: line.clone(),
            last_arrival: None,
            lane: lane.clone(),
            slow_start: SlowStart::new(),
            flying: VecDeque::new(),
            held: 0,
            acknowledged: VecDeque::new(),
            unacknowledged: 0,
            closed: false,
            reader: None,
            writer: None,
        }))
    };
    let there = pipe(&lanes[0]);
    let back = pipe(&lanes[1]);
    let end = |incoming: &Arc<Mutex<Pipe>>, outgoing: &Arc<Mutex<Pipe>>| End {
        incoming: incoming.clone(),
        outgoing: outgoing.clone(),
        arrival: Box::pin(tokio::time::sleep(Duration::ZERO)),
        departure: Box::pin(tokio::time::sleep(Duration::ZERO)),
    };
    (end(&back, &there), end(&there, &back))
}

impl Pipe {
    /// Sends the beginning of `bytes`; returns how many.
    fn send(&mut self, bytes: &[u8]) -> usize {
        let now = Instant::now();
        let (link, held_up) = {
            let mut line = self.line.lock();
            (line.link, line.hold_up(now))
        };
        let length = if link.slow_start {
            self.slow_start.admit(now, link.rtt, bytes.len() as u64)
        } else {
            bytes.len() as u64
        };
        let passed = self.lane.pass(now, length, link.rate);
        let sent = Bytes::copy_from_slice(&bytes[..length as usize]);
        self.held += sent.len();
        self.unacknowledged += length;
        let arrives = passed + link.rtt / 2 + held_up;
        let arrives = self.last_arrival.map_or(arrives, |last| last.max(arrives));
        self.last_arrival = Some(arrives);
        self.flying.push_back((arrives, sent));
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
        length as usize
    }

    /// The reader has taken bytes that came at `arrived`.
    fn acknowledge(&mut self, arrived: Instant, now: Instant, bytes: usize) {
        // A reader that waits for bytes has them when they come; its timer is late.
        let taken = if now < arrived + TICK { arrived } else { now };
        let heard = taken + self.line.lock().link.rtt / 2;
        self.acknowledged.push_back((heard, bytes as u64));
    }

    /// Whether the flow may send, or when it may, where that is known.
    fn has_room(&mut self, now: Instant) -> Result<(), Option<Instant>> {
        while let Some((_, bytes)) = self.acknowledged.pop_front_if(|(heard, _)| *heard <= now) {
            self.unacknowledged -= bytes;
        }
        let is_full = match self.line.lock().flow_bytes_max {
            Some(most) => self.unacknowledged >= most,
            None if self.held >= SEND_BUFFER_BYTES => return Err(None),
            None => false,
        };
        if is_full { Err(self.acknowledged.front().map(|(heard, _)| *heard)) } else { Ok(()) }
    }

    fn close(&mut self) {
        self.closed = true;
        for waker in [self.reader.take(), self.writer.take()].into_iter().flatten() {
            waker.wake();
        }
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let incoming = self.incoming.clone();
        let mut pipe = incoming.lock();
        let now = Instant::now();
        let mut taken = 0;
        while let Some((arrives, bytes)) = pipe.flying.front_mut() {
            if *arrives > now || out.remaining() == 0 {
                break;
            }
            let arrived = *arrives;
            let length = bytes.len().min(out.remaining());
            out.put_slice(&bytes[..length]);
            bytes.advance(length);
            taken += length;
            if bytes.is_empty() {
                pipe.flying.pop_front();
            }
            pipe.acknowledge(arrived, now, length);
        }
        if taken > 0 {
            pipe.held -= taken;
            pipe.lane.delivered.fetch_add(taken as u64, Ordering::Relaxed);
            if let Some(writer) = pipe.writer.take() {
                writer.wake();
            }
            return Poll::Ready(Ok(()));
        }
        let next = pipe.flying.front().map(|(arrives, _)| *arrives);
        match next {
            Some(arrives) => {
                pipe.reader = Some(context.waker().clone());
                drop(pipe);
                self.arrival.as_mut().reset(arrives);
                match self.arrival.as_mut().poll(context) {
                    Poll::Ready(()) => {
                        context.waker().wake_by_ref();
                        Poll::Pending
                    }
                    Poll::Pending => Poll::Pending,
                }
            }
            None if pipe.closed => Poll::Ready(Ok(())),
            None => {
                pipe.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for End {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outgoing = self.outgoing.clone();
        let mut pipe = outgoing.lock();
        if pipe.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        while let Err(room) = pipe.has_room(Instant::now()) {
            let Some(heard) = room else {
                pipe.writer = Some(context.waker().clone());
                return Poll::Pending;
            };
            self.departure.as_mut().reset(heard);
            std::task::ready!(self.departure.as_mut().poll(context));
        }
        let starts_slowly = pipe.line.lock().link.slow_start;
        let opens = starts_slowly.then(|| pipe.slow_start.opens(Instant::now())).flatten();
        if let Some(opens) = opens {
            self.departure.as_mut().reset(opens);
            std::task::ready!(self.departure.as_mut().poll(context));
        }
        // Segment by segment, so that a reader sees the beginning of a large write early.
        let length = bytes.len().min(16 * SEGMENT_BYTES as usize);
        Poll::Ready(Ok(pipe.send(&bytes[..length])))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.lock().close();
        Poll::Ready(Ok(()))
    }
}

impl End {
    /// Breaks this connection from outside, as its host's end does.
    pub(crate) fn breaker(&self) -> Breaker {
        Breaker(Arc::downgrade(&self.incoming), Arc::downgrade(&self.outgoing))
    }
}

/// Breaks a connection.
#[derive(Debug, Clone)]
pub(crate) struct Breaker(Weak<Mutex<Pipe>>, Weak<Mutex<Pipe>>);

impl Breaker {
    /// No bytes under way arrive.
    pub(crate) fn break_off(&self) {
        for pipe in [&self.0, &self.1].into_iter().filter_map(Weak::upgrade) {
            let mut pipe = pipe.lock();
            pipe.flying.clear();
            pipe.close();
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.outgoing.lock().close();
        self.incoming.lock().close();
    }
}
