//! A bounded number of threads for the file system, given to client addresses in turn: an address
//! with many requests waits longer than one with few.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use mutex::Mutex;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// The threads.
#[derive(Debug)]
pub struct Turns(Mutex<Queues>);

#[derive(Debug)]
struct Queues {
    free: usize,
    waiting: BTreeMap<IpAddr, VecDeque<oneshot::Sender<Turn>>>,
    /// Addresses with requests that wait, the one whose turn it is first.
    order: VecDeque<IpAddr>,
}

/// The right to occupy one thread; given on when dropped.
#[derive(Debug)]
struct Turn(Option<Arc<Turns>>);

impl Turns {
    pub fn new(threads: usize) -> Arc<Self> {
        let waiting = BTreeMap::new();
        let order = VecDeque::new();
        Arc::new(Turns(Mutex::new(Queues { free: threads, waiting, order })))
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

    async fn take(self: &Arc<Self>, address: IpAddr) -> io::Result<Turn> {
        let receiver = {
            let mut queues = self.0.lock();
            if queues.free > 0 {
                queues.free -= 1;
                return Ok(Turn(Some(self.clone())));
            }
            let (sender, receiver) = oneshot::channel();
            queues.push(address, sender);
            receiver
        };
        // Its sender is sent a turn before it is dropped.
        receiver.await.map_err(io::Error::other)
    }

    fn give_on(self: Arc<Self>) {
        loop {
            let next = {
                let mut queues = self.0.lock();
                let next = queues.pop();
                if next.is_none() {
                    queues.free += 1;
                }
                next
            };
            let Some(next) = next else { return };
            match next.send(Turn(Some(self.clone()))) {
                Ok(()) => return,
                // That request is gone: its connection has ended.
                Err(mut turn) => turn.0 = None,
            }
        }
    }
}

impl Queues {
    fn push(&mut self, address: IpAddr, sender: oneshot::Sender<Turn>) {
        let waiting = self.waiting.entry(address).or_default();
        if waiting.is_empty() {
            self.order.push_back(address);
        }
        waiting.push_back(sender);
    }

    fn pop(&mut self) -> Option<oneshot::Sender<Turn>> {
        let address = self.order.pop_front()?;
        let waiting = self.waiting.get_mut(&address)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&address);
        } else {
            self.order.push_back(address);
        }
        next
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.give_on();
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
        while turns.0.lock().waiting.values().map(VecDeque::len).sum::<usize>() < 1001 {
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

    async fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        tokio::select! {
            biased;
            done = future => Some(done),
            () = std::future::ready(()) => None,
        }
    }
}
