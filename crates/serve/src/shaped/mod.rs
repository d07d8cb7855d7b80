//! Emulated distance: a delay line around a byte stream.
//!
//! Bytes of each direction arrive half a round trip after they left, in order, and leave no faster
//! than the link's rate, which all connections share, and the flow's rate, which each has for
//! itself. Pipelining is kept: messages sent together arrive together. A new connection pays one
//! more round trip before its first byte is seen, as TCP's handshake would.
//!
//! Limits: no slow start, no loss, no packets. A connection is at full speed from its first byte,
//! so small reads look about right and large first reads look too fast. Times are good to a
//! millisecond. For the whole truth use the link of `lab/`.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use mutex::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};

/// How far away the server seems.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shape {
    /// Time from request to answer, beyond that of the real link.
    pub rtt: Duration,
    /// Bytes per second in each direction, of all connections together.
    pub rate: Option<u64>,
    /// Bytes per second in each direction, of one connection.
    pub flow_rate: Option<u64>,
}

impl Shape {
    /// Whether there is anything to emulate.
    pub fn is_plain(&self) -> bool {
        *self == Shape::default()
    }

    /// Bytes that leave as one: about a millisecond's worth, so that connections take turns.
    fn piece_bytes(&self) -> usize {
        let rate = self.rate.into_iter().chain(self.flow_rate).min().unwrap_or(u64::MAX);
        usize::try_from(rate / 1000).unwrap_or(usize::MAX).clamp(1460, PIECE_BYTES_MAX)
    }
}

const PIECE_BYTES_MAX: usize = 64 << 10;
/// Bytes under way on all connections and in both directions together up to which each may have as
/// many as it wants, and bytes that they share equally beyond: clients that do not read leave room
/// for the others.
const UNDER_WAY_BYTES: usize = 48 << 20;
/// Bytes under way in one direction of one connection: as many as a well-tuned TCP window holds.
const LINE_BYTES_MAX: usize = 16 << 20;
/// The runtime's timers tick in milliseconds and never fire early; this centres their error.
const HALF_TICK: Duration = Duration::from_micros(500);
/// How far a flow may book the link ahead of the present.
const AHEAD_MAX: Duration = Duration::from_millis(2);

/// The link that all connections share.
#[derive(Debug)]
pub struct Link {
    shape: Shape,
    /// When each direction of the link is free again: towards the server, towards the client.
    free_at: [Mutex<Option<Instant>>; 2],
    lines: AtomicUsize,
    under_way_bytes: AtomicUsize,
}

impl Link {
    pub fn new(shape: Shape) -> Arc<Self> {
        Arc::new(Link {
            shape,
            free_at: [Mutex::new(None), Mutex::new(None)],
            lines: AtomicUsize::new(0),
            under_way_bytes: AtomicUsize::new(0),
        })
    }

    /// Puts the distance before a stream whose connection has just come about.
    pub fn shape<S>(self: &Arc<Self>, stream: S) -> Shaped
    where
        S: AsyncRead + AsyncWrite + Send + 'static,
    {
        let (source, sink) = tokio::io::split(stream);
        let inbound = Line::new(self, 0, Instant::now() + self.shape.rtt);
        let outbound = Line::new(self, 1, Instant::now());
        let pump = tokio::spawn(pump_in(source, inbound.clone()));
        tokio::spawn(pump_out(sink, outbound.clone()));
        Shaped { inbound, outbound, due: Timer::default(), turn: Timer::default(), pump }
    }

    /// Books the link for `count` bytes that are ready at `ready_at`; when the last has left.
    fn book(
        &self,
        direction: usize,
        flow: &mut Option<Instant>,
        ready_at: Instant,
        count: usize,
    ) -> Instant {
        let mut leaves_at = ready_at;
        if let Some(rate) = self.shape.flow_rate {
            let at = flow.map_or(ready_at, |free| free.max(ready_at)) + time_of(count, rate);
            leaves_at = leaves_at.max(at);
        }
        if let Some(rate) = self.shape.rate {
            let mut free_at = self.free_at[direction].lock();
            let at = free_at.map_or(ready_at, |free| free.max(ready_at)) + time_of(count, rate);
            *free_at = Some(at);
            leaves_at = leaves_at.max(at);
        }
        *flow = Some(leaves_at);
        leaves_at
    }

    fn line_bytes_max(&self) -> usize {
        if self.under_way_bytes.load(Ordering::Relaxed) < UNDER_WAY_BYTES {
            return LINE_BYTES_MAX;
        }
        let share = UNDER_WAY_BYTES / self.lines.load(Ordering::Relaxed).max(1);
        share.clamp(PIECE_BYTES_MAX, LINE_BYTES_MAX)
    }
}

fn time_of(count: usize, rate: u64) -> Duration {
    Duration::from_secs_f64(count as f64 / rate.max(1) as f64)
}

/// One direction of one connection: bytes with the times at which they arrive.
#[derive(Debug)]
struct Line {
    link: Arc<Link>,
    direction: usize,
    /// Nothing leaves before.
    opens_at: Instant,
    state: Mutex<LineState>,
}

#[derive(Debug, Default)]
struct LineState {
    under_way: VecDeque<(Instant, Bytes)>,
    bytes: usize,
    /// When the last booked byte leaves.
    flow_free_at: Option<Instant>,
    /// The sender has ended; when the receiver learns it.
    ends_at: Option<Instant>,
    /// The receiver is gone.
    broken: bool,
    sender: Option<Waker>,
    receiver: Option<Waker>,
}

impl Line {
    fn new(link: &Arc<Link>, direction: usize, opens_at: Instant) -> Arc<Self> {
        link.lines.fetch_add(1, Ordering::Relaxed);
        let state = Mutex::new(LineState::default());
        Arc::new(Line { link: link.clone(), direction, opens_at, state })
    }

    /// Waits for the sender's turn: room in the line, and a link not booked too far ahead.
    fn poll_turn(&self, cx: &mut Context<'_>, timer: &mut Timer) -> Poll<io::Result<()>> {
        loop {
            let mut state = self.state.lock();
            if state.broken {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            if state.bytes >= self.link.line_bytes_max() {
                state.sender = Some(cx.waker().clone());
                return Poll::Pending;
            }
            let Some(free_at) = state.flow_free_at else { return Poll::Ready(Ok(())) };
            let turn_at = free_at - AHEAD_MAX.min(free_at.duration_since(self.opens_at));
            if turn_at <= Instant::now() {
                return Poll::Ready(Ok(()));
            }
            drop(state);
            ready!(timer.poll_until(cx, turn_at));
        }
    }

    /// Sends a piece; the caller has its turn.
    fn send(&self, piece: Bytes) {
        let mut state = self.state.lock();
        let ready_at = Instant::now().max(self.opens_at);
        let leaves_at =
            self.link.book(self.direction, &mut state.flow_free_at, ready_at, piece.len());
        state.bytes += piece.len();
        self.link.under_way_bytes.fetch_add(piece.len(), Ordering::Relaxed);
        state.under_way.push_back((leaves_at + self.link.shape.rtt / 2, piece));
        wake(&mut state.receiver);
    }

    fn end(&self) {
        let mut state = self.state.lock();
        let leaves_at = state.flow_free_at.unwrap_or(self.opens_at).max(Instant::now());
        state.ends_at.get_or_insert(leaves_at + self.link.shape.rtt / 2);
        wake(&mut state.receiver);
    }

    fn break_off(&self) {
        let mut state = self.state.lock();
        state.broken = true;
        wake(&mut state.sender);
    }

    /// Waits until something has arrived; `false` at the end.
    fn poll_due(&self, cx: &mut Context<'_>, timer: &mut Timer) -> Poll<bool> {
        loop {
            let mut state = self.state.lock();
            let next = state.under_way.front().map(|(at, _)| (*at, true));
            let Some((at, more)) = next.or(state.ends_at.map(|at| (at, false))) else {
                state.receiver = Some(cx.waker().clone());
                return Poll::Pending;
            };
            if at <= Instant::now() + HALF_TICK {
                return Poll::Ready(more);
            }
            drop(state);
            ready!(timer.poll_until(cx, at - HALF_TICK));
        }
    }

    /// Takes up to `count` of the bytes that [`poll_due`](Self::poll_due) found.
    fn take(&self, count: usize) -> Bytes {
        let mut state = self.state.lock();
        let Some((_, piece)) = state.under_way.front_mut() else { return Bytes::new() };
        let taken = piece.split_to(count.min(piece.len()));
        if piece.is_empty() {
            state.under_way.pop_front();
        }
        state.bytes -= taken.len();
        self.link.under_way_bytes.fetch_sub(taken.len(), Ordering::Relaxed);
        wake(&mut state.sender);
        taken
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.link.lines.fetch_sub(1, Ordering::Relaxed);
        self.link.under_way_bytes.fetch_sub(self.state.get_mut().bytes, Ordering::Relaxed);
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// A sleep that can be set again.
#[derive(Debug, Default)]
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(cx)
    }
}

/// Takes the client's bytes, the moment they are here, and puts them on the line.
async fn pump_in(mut source: impl AsyncRead + Unpin, line: Arc<Line>) {
    let mut timer = Timer::default();
    let mut buffer = BytesMut::new();
    let piece_bytes = line.link.shape.piece_bytes();
    loop {
        if std::future::poll_fn(|cx| line.poll_turn(cx, &mut timer)).await.is_err() {
            return;
        }
        buffer.reserve(piece_bytes);
        match (&mut source).take(piece_bytes as u64).read_buf(&mut buffer).await {
            Ok(0) | Err(_) => return line.end(),
            Ok(_) => line.send(buffer.split().freeze()),
        }
    }
}

/// Hands the bytes that have arrived to the client.
async fn pump_out(mut sink: impl AsyncWrite + Unpin, line: Arc<Line>) {
    let mut timer = Timer::default();
    while std::future::poll_fn(|cx| line.poll_due(cx, &mut timer)).await {
        if sink.write_all(&line.take(PIECE_BYTES_MAX)).await.is_err() {
            return line.break_off();
        }
    }
    // A client that has gone meanwhile needs no farewell.
    let _ = sink.shutdown().await;
}

/// A byte stream from far away.
#[derive(Debug)]
pub struct Shaped {
    inbound: Arc<Line>,
    outbound: Arc<Line>,
    due: Timer,
    turn: Timer,
    pump: JoinHandle<()>,
}

impl Shaped {
    /// The first byte, left where it is; `None` at the end.
    pub async fn peek(&mut self) -> Option<u8> {
        let more = std::future::poll_fn(|cx| self.inbound.poll_due(cx, &mut self.due)).await;
        let state = self.inbound.state.lock();
        state.under_way.front().filter(|_| more).and_then(|(_, piece)| piece.first().copied())
    }
}

impl AsyncRead for Shaped {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if ready!(this.inbound.poll_due(cx, &mut this.due)) {
            buffer.put_slice(&this.inbound.take(buffer.remaining()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Shaped {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.outbound.poll_turn(cx, &mut this.turn))?;
        let count = data.len().min(this.outbound.link.shape.piece_bytes());
        if count > 0 {
            this.outbound.send(Bytes::copy_from_slice(&data[..count]));
        }
        Poll::Ready(Ok(count))
    }

    /// Otherwise a writer copies its slices into one buffer, which then stays with the connection.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outbound.end();
        Poll::Ready(Ok(()))
    }
}

impl Drop for Shaped {
    fn drop(&mut self) {
        // Bytes under way still arrive.
        self.outbound.end();
        self.inbound.break_off();
        self.pump.abort();
    }
}

#[cfg(test)]
mod tests;
