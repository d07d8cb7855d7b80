//! A bounded number of threads, given to client addresses in turn: of those that wait, the one that
//! has used the least time comes next. So an address with many requests, or with long ones, waits
//! longer than others.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use mutex::Mutex;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// Time that even the shortest turn counts.
const TURN_MIN: Duration = Duration::from_micros(20);

/// The threads.
#[derive(Debug)]
pub struct Turns(Mutex<Queues>);

#[derive(Debug)]
struct Queues {
    free: usize,
    addresses: BTreeMap<IpAddr, TurnAddress>,
    /// The time that the address had used that came next last: an address that comes anew has no
    /// claim to the turns that it has missed.
    floor: Duration,
}

/// An address with turns, or requests that wait for one.
#[derive(Debug, Default)]
struct TurnAddress {
    waiting: VecDeque<oneshot::Sender<Turn>>,
    /// Turns that it has now.
    present: usize,
    /// Time of all its turns, more than others had when it came.
    used: Duration,
}

/// The right to occupy one thread; given on when dropped.
#[derive(Debug)]
pub struct Turn {
    /// `None` once it has been given on.
    turns: Option<Arc<Turns>>,
    address: IpAddr,
    since: Instant,
}

impl Turns {
    pub fn new(threads: usize) -> Arc<Self> {
        let addresses = BTreeMap::new();
        let floor = Duration::ZERO;
        Arc::new(Turns(Mutex::new(Queues { free: threads, addresses, floor })))
    }

    /// Runs `work`, which may block, on one of the threads when it is the address's turn.
    ///
    /// # Errors
    /// Those of the work.
    pub async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        address: IpAddr,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let turn = self.take(address).await?;
        let done = spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.unwrap_or_else(|fault| Err(io::Error::other(fault)))
    }

    /// Waits for the address's turn.
    ///
    /// # Errors
    /// The server ends.
    pub async fn take(self: &Arc<Self>, address: IpAddr) -> io::Result<Turn> {
        let receiver = {
            let mut queues = self.0.lock();
            let floor = queues.floor;
            let free = queues.free > 0;
            let own = queues.addresses.entry(address).or_default();
            if own.waiting.is_empty() && own.present == 0 {
                own.used = own.used.max(floor);
            }
            if free {
                own.present += 1;
                queues.free -= 1;
                return Ok(self.turn(address));
            }
            let (sender, receiver) = oneshot::channel();
            own.waiting.push_back(sender);
            receiver
        };
        // Its sender is sent a turn before it is dropped.
        receiver.await.map_err(io::Error::other)
    }

    fn turn(self: &Arc<Self>, address: IpAddr) -> Turn {
        Turn { turns: Some(self.clone()), address, since: Instant::now() }
    }

    /// An address has had a thread for so long: the next one gets it.
    fn give_on(self: Arc<Self>, address: IpAddr, used: Duration) {
        self.0.lock().end(address, used.max(TURN_MIN));
        loop {
            let next = {
                let mut queues = self.0.lock();
                let next = queues.pop();
                if next.is_none() {
                    queues.free += 1;
                }
                next
            };
            let Some((address, next)) = next else { return };
            match next.send(self.turn(address)) {
                Ok(()) => return,
                // That request is gone: its connection has ended.
                Err(mut turn) => {
                    turn.turns = None;
                    self.0.lock().end(address, Duration::ZERO);
                }
            }
        }
    }
}

impl Queues {
    /// The turn of an address is over.
    fn end(&mut self, address: IpAddr, used: Duration) {
        let Some(own) = self.addresses.get_mut(&address) else { return };
        own.used = own.used.saturating_add(used);
        own.present -= 1;
        // One that is ahead of the others stays known, or coming again would make it new.
        let floor = self.floor;
        self.addresses
            .retain(|_, one| one.present > 0 || !one.waiting.is_empty() || one.used > floor);
    }

    /// The first request of the address that has used the least time.
    fn pop(&mut self) -> Option<(IpAddr, oneshot::Sender<Turn>)> {
        let waiting = self.addresses.iter_mut().filter(|(_, one)| !one.waiting.is_empty());
        // Of several the one that has fewer turns now.
        let (address, next) = waiting.min_by_key(|(_, one)| (one.used, one.present))?;
        self.floor = self.floor.max(next.used);
        next.present += 1;
        Some((*address, next.waiting.pop_front()?))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.turns.take() {
            turns.give_on(self.address, self.since.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    /// An address with a thousand requests held up all others until they were done.
    #[tokio::test]
    async fn an_address_with_one_request_waits_for_one_of_another_s_thousand() {
        let turns = Turns::new(1);
        let many: IpAddr = [10, 0, 0, 1].into();
        let one: IpAddr = [10, 0, 0, 2].into();
        let first = turns.take(many).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (address, count) in [(many, 1000), (one, 1)] {
            for _ in 0..count {
                let turns = turns.clone();
                let order = order.clone();
                tasks.push(tokio::spawn(async move {
                    let _turn = turns.take(address).await.unwrap();
                    order.lock().push(address);
                }));
            }
        }
        let waiting = || {
            let queues = turns.0.lock();
            queues.addresses.values().map(|one| one.waiting.len()).sum::<usize>()
        };
        while waiting() < 1001 {
            tokio::task::yield_now().await;
        }
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        let place = order.lock().iter().position(|address| *address == one).unwrap();
        assert!(place <= 1, "after {place} of the other address");
        assert_eq!(turns.0.lock().free, 1);
    }

    #[tokio::test]
    async fn a_request_that_is_gone_passes_its_turn_on() {
        let turns = Turns::new(1);
        let address = IpAddr::from([10, 0, 0, 1]);
        let first = turns.take(address).await.unwrap();
        {
            let mut gone = pin!(turns.take(address));
            assert!(futures_poll(gone.as_mut()).await.is_none());
        }
        let next = tokio::spawn({
            let turns = turns.clone();
            async move { turns.run(address, || Ok(7)).await.unwrap() }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert_eq!(next.await.unwrap(), 7);
        assert_eq!(turns.0.lock().free, 1);
    }

    /// Each of 31 clients asks for a step of 10 ms, again and again, beside one with 16 requests of
    /// steps of 200 ms. Times are virtual.
    #[tokio::test(start_paused = true)]
    async fn a_client_with_long_steps_takes_no_more_than_its_share_of_the_time() {
        let alone = slowest(false).await;
        let beside = slowest(true).await;
        assert!(beside <= alone * 2, "{alone:?} alone, {beside:?} beside the other");
    }

    /// The time in which the slowest of 31 clients has had fifty steps.
    async fn slowest(beside: bool) -> Duration {
        let turns = Turns::new(4);
        let greedy = IpAddr::from([10, 0, 1, 0]);
        let mut others = Vec::new();
        for _ in 0..if beside { 16 } else { 0 } {
            let turns = turns.clone();
            others.push(tokio::spawn(async move {
                loop {
                    let _turn = turns.take(greedy).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }));
        }
        let clients = (1..32u8).map(|client| {
            let turns = turns.clone();
            tokio::spawn(async move {
                let begun = Instant::now();
                for _ in 0..50 {
                    let _turn = turns.take([10, 0, 0, client].into()).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                begun.elapsed()
            })
        });
        let clients: Vec<_> = clients.collect();
        let mut slowest = Duration::ZERO;
        for client in clients {
            slowest = slowest.max(client.await.unwrap());
        }
        others.iter().for_each(|other| other.abort());
        slowest
    }

    async fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }
}
