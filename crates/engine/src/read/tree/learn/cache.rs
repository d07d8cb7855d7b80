//! Baskets that are fetched and decoded in the background, and kept while a handle of them lives.
//!
//! One task for each cache receives baskets and has them decoded while the reader works.

use std::ops::Range;
use std::slice::from_ref;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::{FutureExt, Shared};
use mutex::Mutex;
use rootfile::{Array, Codecs};
use tokio::sync::{mpsc, oneshot};

use crate::located::Located;
use crate::read::core::columns::Column;
use crate::read::core::pipeline::slot::Counts;
use crate::read::core::unpacking::Unpacking;
use crate::read::threads::decoders::{AT_ONCE, caught};
use crate::read::tree::Tree;
use crate::read::tree::baskets::OneBasket;
use remote::fetch::activity::Activity;
use remote::fetch::ledger::Phase;
use remote::fetch::{MemoryReservation, Urgency, Want, Wants};
use remote::{Error, ErrorKind, Result};

/// One basket of a branch.
#[derive(Clone)]
pub struct Basket {
    pub column: Arc<Column>,
    /// Position in the branch's baskets.
    pub basket: usize,
    pub entries: Range<u64>,
}

/// How a basket is to be had.
pub enum Order {
    Fetch {
        basket: Basket,
        want: Want,
    },
    /// Its bytes are in the tree's own record.
    Decode {
        basket: Basket,
        bytes: Bytes,
    },
}

/// Commands to the task.
enum Command {
    Ask(Vec<(Order, oneshot::Sender<Result<Held>>)>),
    Promote(usize),
    GiveUp(usize),
}

/// Result of decoding.
enum Outcome {
    Array(Arc<Array>),
    /// The basket leaves its entry offsets to be computed from counts.
    LacksCounts(Bytes),
}

/// A basket that has come, with its share of the memory budget.
#[derive(Clone)]
struct Held {
    outcome: Arc<Mutex<Outcome>>,
    reservation: Arc<Mutex<Option<MemoryReservation>>>,
}

/// A basket that was asked for; dropping the handle frees it once it has come.
pub struct BasketHandle {
    basket: Basket,
    /// Its number among the wants; `None` where nothing is fetched.
    want: Option<usize>,
    coming: Shared<oneshot::Receiver<Result<Held>>>,
    urgency: Urgency,
    /// Stored bytes, until touched.
    bytes: u64,
}

impl BasketHandle {
    /// Stored bytes, as long as the reader has not used it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The reader uses it; returns the stored bytes that were untouched before.
    pub fn touch(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }

    pub fn is_here(&self) -> bool {
        self.coming.peek().is_some()
    }
}

/// Asks for baskets of one tree.
pub struct BasketCache {
    tree: Tree,
    commands: mpsc::UnboundedSender<Command>,
    /// The task, before the reader waits for the first time: then there is a runtime to run it.
    task: Option<(Task, mpsc::UnboundedReceiver<Command>)>,
    /// Wants ever asked for.
    wants: usize,
    activity: Activity,
}

impl BasketCache {
    pub fn new(tree: &Tree) -> Self {
        let (commands, receiver) = mpsc::unbounded_channel();
        let remote = tree.file().remote();
        let activity = Activity::begin(remote.trace(), Phase::Bytes, Some(remote.tag()));
        let wants = remote.want(Vec::new()).with_any_codec();
        let task = Task { tree: tree.clone(), wants, asked: Vec::new() };
        BasketCache {
            tree: tree.clone(),
            commands,
            task: Some((task, receiver)),
            wants: 0,
            activity,
        }
    }

    /// Asks for all of these together.
    pub fn ask(&mut self, orders: Vec<Order>, urgency: Urgency) -> Vec<BasketHandle> {
        let mut handles = Vec::with_capacity(orders.len());
        let mut commands = Vec::with_capacity(orders.len());
        for order in orders {
            let (sender, coming) = oneshot::channel();
            let (basket, want, bytes) = match &order {
                Order::Fetch { basket, want } => {
                    self.wants += 1;
                    (basket, Some(self.wants - 1), want.range.end - want.range.start)
                }
                Order::Decode { basket, .. } => (basket, None, 0),
            };
            let basket = basket.clone();
            let coming = coming.shared();
            handles.push(BasketHandle { basket, want, coming, urgency, bytes });
            commands.push((order, sender));
        }
        if !commands.is_empty() {
            let _ = self.commands.send(Command::Ask(commands));
        }
        handles
    }

    /// The reader waits for it; returns whether it was only a hint before and has not come.
    pub fn promote(&self, handle: &mut BasketHandle) -> bool {
        let late = handle.want.filter(|_| handle.urgency == Urgency::Hint && !handle.is_here());
        if let Some(want) = late {
            handle.urgency = Urgency::Demand;
            let _ = self.commands.send(Command::Promote(want));
        }
        late.is_some()
    }

    /// The reader will not use it.
    pub fn give_up(&self, handle: &BasketHandle) {
        if let Some(want) = handle.want.filter(|_| !handle.is_here()) {
            let _ = self.commands.send(Command::GiveUp(want));
        }
    }

    /// Waits for a basket; `None` where it cannot be decoded without counts. A basket that has been
    /// waited for belongs to the reader, and is no part of the memory budget.
    pub async fn wait(&mut self, handle: &BasketHandle) -> Result<Option<Arc<Array>>> {
        if let Some((task, commands)) = self.task.take() {
            tokio::spawn(task.run(commands));
        }
        let held = match handle.coming.peek() {
            Some(held) => held.clone(),
            None => {
                let _waiting = self.activity.waiting();
                handle.coming.clone().await
            }
        };
        let held = held.map_err(|_| Error::new(ErrorKind::Cancelled, "the reader was ended"))??;
        *held.reservation.lock() = None;
        Ok(match &*held.outcome.lock() {
            Outcome::Array(array) => Some(array.clone()),
            Outcome::LacksCounts(_) => None,
        })
    }

    /// Decodes a basket that has come, with counts.
    pub fn decode_with(&self, handle: &BasketHandle, counts: Vec<Counts>) -> Result<Arc<Array>> {
        let Some(Ok(Ok(held))) = handle.coming.peek() else {
            return Err(Error::new(ErrorKind::Cancelled, "the basket has not come"));
        };
        let mut outcome = held.outcome.lock();
        if let Outcome::LacksCounts(bytes) = &*outcome {
            let bytes = bytes.clone();
            *outcome = decode(&self.tree, &handle.basket, &bytes, &counts, &mut Codecs::new())?;
        }
        match &*outcome {
            Outcome::Array(array) => Ok(array.clone()),
            Outcome::LacksCounts(_) => {
                Err(Error::new(ErrorKind::Corrupt, "a basket's counts are not in the file"))
            }
        }
    }
}

fn decode(
    tree: &Tree,
    basket: &Basket,
    bytes: &Bytes,
    counts: &[Counts],
    codecs: &mut Codecs,
) -> Result<Outcome> {
    let Basket { column, basket, entries } = basket;
    let one = OneBasket { tree: tree.metadata(), column, basket: *basket, entries };
    let decoded = one.decode(bytes, counts, codecs);
    decoded
        .map(|array| match array {
            Some(array) => Outcome::Array(Arc::new(array)),
            None => Outcome::LacksCounts(bytes.clone()),
        })
        .map_err(|error| error.within(tree.path()).located(tree.file().url()))
}

/// A basket on its way.
struct Asked {
    basket: Basket,
    /// Where it is in the file.
    range: Range<u64>,
    /// Where the decoded basket goes.
    sender: oneshot::Sender<Result<Held>>,
}

/// A basket that is here, to be decoded.
struct DueBasket {
    basket: Basket,
    bytes: Bytes,
    reservation: Option<MemoryReservation>,
    unpacking: Option<Unpacking>,
}

struct Task {
    tree: Tree,
    wants: Wants,
    /// By want.
    asked: Vec<Option<Asked>>,
}

impl Task {
    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        let mut open = 0;
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    None => return,
                    Some(Command::Ask(orders)) => open += self.ask(orders),
                    Some(Command::Promote(want)) => self.wants.promote(want..want + 1),
                    Some(Command::GiveUp(want)) => {
                        self.wants.give_up(want..want + 1);
                        self.asked[want] = None;
                    }
                },
                delivery = self.wants.next(), if open > 0 => match delivery {
                    None => open = 0,
                    Some(Ok(delivery)) => {
                        open -= 1;
                        if let Some(asked) = self.asked[delivery.index].take() {
                            self.arrive(asked, delivery.bytes, delivery.reservation);
                        }
                    }
                    Some(Err(error)) => {
                        open -= 1;
                        self.fail(&error);
                    }
                },
            }
        }
    }

    /// Ends the waits for the range that an error names; where it names none, all of them.
    fn fail(&mut self, error: &Error) {
        for asked in &mut self.asked {
            let concerned =
                |asked: &mut Asked| error.range().is_none_or(|failed| failed == asked.range);
            if let Some(asked) = asked.take_if(concerned) {
                let _ = asked.sender.send(Err(error.clone()));
            }
        }
    }

    fn ask(&mut self, orders: Vec<(Order, oneshot::Sender<Result<Held>>)>) -> usize {
        let mut wants = Vec::with_capacity(orders.len());
        for (order, sender) in orders {
            match order {
                Order::Fetch { basket, want } => {
                    let range = want.range.clone();
                    self.asked.push(Some(Asked { basket, range, sender }));
                    wants.push(want);
                }
                Order::Decode { basket, bytes } => {
                    let due = DueBasket { basket, bytes, reservation: None, unpacking: None };
                    self.decode(due, sender);
                }
            }
        }
        self.wants.add(wants).len()
    }

    /// A basket is here.
    fn arrive(&self, asked: Asked, bytes: Bytes, reservation: MemoryReservation) {
        let Asked { basket, range, sender } = asked;
        let remote = self.tree.file().remote();
        let unpacking = Unpacking::of(remote, std::iter::once(&range), from_ref(&bytes));
        let reservation = Some(reservation);
        self.decode(DueBasket { basket, bytes, reservation, unpacking }, sender);
    }

    fn decode(&self, due: DueBasket, sender: oneshot::Sender<Result<Held>>) {
        let DueBasket { basket, bytes, reservation, unpacking } = due;
        let tree = self.tree.clone();
        self.tree.file().decoders().run(self.tree.file().remote().tag(), AT_ONCE, move |codecs| {
            let decode = |codecs: &mut Codecs| decode(&tree, &basket, &bytes, &[], codecs);
            let decode = || Unpacking::around(unpacking, codecs, decode);
            let outcome = caught("a thread that decodes", decode);
            let _ = sender.send(outcome.map(|outcome| {
                if let (Outcome::Array(array), Some(reservation)) = (&outcome, &reservation) {
                    reservation.resize(array.nbytes() as u64);
                }
                Held {
                    outcome: Arc::new(Mutex::new(outcome)),
                    reservation: Arc::new(Mutex::new(reservation)),
                }
            }));
        });
    }
}
