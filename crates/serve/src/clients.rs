//! Clients that are connected: counted in all and by address, each with its transfers. Decides who
//! goes when the server is full, and ends connections that only take up a place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mutex::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::limits::Limits;
use super::memory::{Common, Reservation, Room};

/// Bytes of answers by which a client shows that it reads.
const PROGRESS_BYTES: usize = 16 << 10;
/// A client that has connected, or has its answers, since less than this may be about to ask.
const MOMENT: Duration = Duration::from_secs(1);
/// A client at work with no more open files than this keeps them.
const AT_WORK_FILES: usize = 10;
/// In this time a connection that has to end has closed its files.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// How often connections are looked at while the server ends.
const DRAIN_LOOK: Duration = Duration::from_millis(50);
/// How often connections are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// All connections of a server.
#[derive(Debug)]
pub struct Clients {
    limits: Limits,
    memory: Memory,
    files: Arc<Semaphore>,
    long_writes: Arc<Semaphore>,
    slow_writes: Arc<Semaphore>,
    state: Mutex<State>,
    is_draining: AtomicBool,
}

/// Room in memory that connections share: those of one address, or all.
#[derive(Debug, Clone)]
struct Memory {
    answers: Common,
    far: Common,
    far_long: Common,
}

impl Memory {
    /// The server's limits, divided by `parts`.
    fn new(limits: &Limits, parts: usize) -> Self {
        Memory {
            answers: Common::new(limits.shared_bytes / parts),
            far: Common::new(limits.far_bytes_shared / parts),
            far_long: Common::new(limits.far_bytes_long / parts),
        }
    }

    /// Whether a client has found no room since the last call.
    fn take_shortage(&self) -> bool {
        let Memory { answers, far, far_long } = self;
        [answers, far, far_long].map(Common::take_shortage).contains(&true)
    }
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    connections: BTreeMap<u64, Connected>,
    addresses: BTreeMap<IpAddr, Address>,
}

#[derive(Debug)]
struct Connected {
    address: IpAddr,
    activity: Arc<Activity>,
}

/// The resources that the connections from one address have together.
#[derive(Debug)]
struct Address {
    connections: usize,
    memory: Memory,
    files: Arc<Semaphore>,
}

/// One connection's place, free again when dropped.
#[derive(Debug)]
pub struct Client {
    id: u64,
    address: IpAddr,
    clients: Arc<Clients>,
    activity: Arc<Activity>,
    room: Room,
    far: Room,
    files: [Arc<Semaphore>; 2],
}

/// The right to keep one file open.
#[derive(Debug)]
pub struct FilePlace {
    _places: [OwnedSemaphorePermit; 2],
    activity: Arc<Activity>,
}

impl Drop for FilePlace {
    fn drop(&mut self) {
        self.activity.files.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Not logged in, or no request complete.
    Opening,
    /// No request is under way.
    Idle,
    /// A request has arrived in part.
    Asking,
    /// Has answers waiting that it does not take.
    Stalled,
    /// Requests are under way.
    Working,
}

#[derive(Debug)]
struct Activity {
    now: Mutex<Doing>,
    /// The client takes bytes again.
    moves: Notify,
    close: Notify,
    /// Open files.
    files: AtomicUsize,
}

#[derive(Debug)]
struct Doing {
    phase: Phase,
    since: Instant,
    /// Bytes taken since then.
    taken: usize,
    /// The client's end takes nothing at present.
    blocked: bool,
}

impl Doing {
    fn enter(&mut self, phase: Phase) {
        *self = Doing { phase, since: Instant::now(), taken: 0, blocked: self.blocked };
    }
}

impl Clients {
    pub fn new(limits: Limits) -> Arc<Self> {
        let memory = Memory::new(&limits, 1);
        let files = Arc::new(Semaphore::new(limits.files));
        let long_writes = Arc::new(Semaphore::new(limits.long_writes));
        let slow_writes = Arc::new(Semaphore::new(limits.slow_writes));
        let state = Mutex::default();
        let is_draining = AtomicBool::new(false);
        Arc::new(Clients { limits, memory, files, long_writes, slow_writes, state, is_draining })
    }

    /// Connections at present.
    pub fn count(&self) -> usize {
        self.state.lock().connections.len()
    }

    /// Whether the server ends.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }

    /// The server says that it takes no more clients. Connections without a request end, also those
    /// over which others ask it whether it does.
    pub fn begin_draining(&self) {
        self.is_draining.store(true, Ordering::Relaxed);
        self.end_idle();
    }

    /// Ends each connection as soon as it is idle and has no file open, and after `most` all
    /// others. Returns how many these were.
    pub async fn drain(&self, most: Duration) -> usize {
        self.begin_draining();
        let until = Instant::now() + most;
        while self.end_idle() > 0 && Instant::now() < until {
            tokio::time::sleep(DRAIN_LOOK).await;
        }
        let mut state = self.state.lock();
        let rest: Vec<u64> = state.connections.keys().copied().collect();
        rest.iter().for_each(|id| state.remove(*id));
        rest.len()
    }

    /// Ends connections without a request and without an open file; returns how many stay.
    fn end_idle(&self) -> usize {
        let mut state = self.state.lock();
        let is_idle = |client: &Connected| {
            let now = client.activity.now.lock();
            let has_none = client.activity.files.load(Ordering::Relaxed) == 0;
            match now.phase {
                Phase::Idle => has_none,
                Phase::Opening => now.since.elapsed() >= MOMENT,
                _ => false,
            }
        };
        let idle = state.connections.iter().filter(|(_, client)| is_idle(client));
        let idle: Vec<u64> = idle.map(|(id, _)| *id).collect();
        idle.into_iter().for_each(|id| state.remove(id));
        state.connections.len()
    }

    /// A place for a new connection, that of another if need be; `None` where all are at work.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Client> {
        let address = network_of(address);
        let mut state = self.state.lock();
        let from_there = state.addresses.get(&address).map_or(0, |there| there.connections);
        let must_go = if from_there >= self.limits.connections_per_address {
            Some(self.dispensable(&state, address)?)
        } else if state.connections.len() >= self.limits.connections {
            let most = state.addresses.iter().max_by_key(|(_, there)| there.connections);
            Some(self.dispensable(&state, *most?.0)?)
        } else {
            None
        };
        if let Some(id) = must_go {
            state.remove(id);
        }
        let phase = Phase::Opening;
        let since = Instant::now();
        let activity = Arc::new(Activity {
            now: Mutex::new(Doing { phase, since, taken: 0, blocked: false }),
            moves: Notify::new(),
            close: Notify::new(),
            files: AtomicUsize::new(0),
        });
        let id = state.next;
        state.next += 1;
        state.connections.insert(id, Connected { address, activity: activity.clone() });
        let there = state.addresses.entry(address).or_insert_with(|| Address {
            connections: 0,
            memory: Memory::new(&self.limits, 2),
            files: Arc::new(Semaphore::new(self.limits.files / 2)),
        });
        there.connections += 1;
        let memories = [there.memory.clone(), self.memory.clone()];
        let of = |of: fn(&Memory) -> &Common| memories.each_ref().map(|memory| of(memory).clone());
        let far = of(|memory| &memory.far);
        let far_long = of(|memory| &memory.far_long);
        Some(Client {
            id,
            address,
            clients: self.clone(),
            activity,
            room: Room::new(&self.limits, of(|memory| &memory.answers)),
            far: Room::for_far(&self.limits, far, far_long),
            files: [there.files.clone(), self.files.clone()],
        })
    }

    /// The connection from `address` that is missed least, the oldest of its kind: one that has not
    /// logged in before one that is idle, both before one that has been so for a moment only, all
    /// before one that takes nothing.
    fn dispensable(&self, state: &State, address: IpAddr) -> Option<u64> {
        let from_there = state.connections.iter().filter(|(_, client)| client.address == address);
        let ranked = from_there.filter_map(|(id, client)| {
            let now = client.activity.now.lock();
            let age = now.since.elapsed();
            let rank = match now.phase {
                Phase::Opening | Phase::Asking | Phase::Idle if age < MOMENT => 2,
                Phase::Opening | Phase::Asking => 0,
                Phase::Idle => 1,
                Phase::Stalled if age >= self.limits.stalled_when_full => 3,
                Phase::Stalled | Phase::Working => return None,
            };
            Some((rank, now.since, *id))
        });
        ranked.min().map(|(_, _, id)| id)
    }

    /// Ends one idle connection of the address that has most, so that its descriptor is free.
    pub fn make_room(&self) {
        let mut state = self.state.lock();
        let most = state.addresses.iter().max_by_key(|(_, there)| there.connections);
        let found = most.and_then(|(address, _)| self.dispensable(&state, *address));
        if let Some(id) = found {
            state.remove(id);
        }
    }

    /// Ends the connection that has most files open, of one address or of all, so that one with
    /// `own` files has a place; whether there is one. An idle one has more, one at work more than
    /// twice as many.
    fn give_up_files(&self, address: Option<IpAddr>, own: usize) -> bool {
        let mut state = self.state.lock();
        let here = state.connections.iter();
        let here = here.filter(|(_, client)| address.is_none_or(|there| client.address == there));
        let may_go = here.filter_map(|(id, client)| {
            let files = client.activity.files.load(Ordering::Relaxed);
            let now = client.activity.now.lock();
            let is_idle = now.phase == Phase::Idle;
            let has_more = if is_idle { files > own } else { files > 2 * own + AT_WORK_FILES };
            has_more.then_some((is_idle, files, Reverse(now.since), *id))
        });
        let Some((.., id)) = may_go.max() else { return false };
        state.remove(id);
        true
    }

    /// Ends connections that are over their time, for as long as the server lives.
    pub async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.end_late();
        }
    }

    fn end_late(&self) {
        let mut state = self.state.lock();
        let Limits { opening, idle, stalled, stalled_when_full, .. } = self.limits;
        let is_full = self.memory.take_shortage();
        let full_address = |(address, there): (&IpAddr, &Address)| {
            (there.memory.take_shortage() || is_full).then_some(*address)
        };
        let full: BTreeSet<IpAddr> = state.addresses.iter().filter_map(full_address).collect();
        let is_late = |client: &Connected| {
            let now = client.activity.now.lock();
            let limit = match now.phase {
                Phase::Opening | Phase::Asking => opening,
                Phase::Idle => idle,
                Phase::Stalled if full.contains(&client.address) => stalled_when_full,
                Phase::Stalled => stalled,
                Phase::Working => return false,
            };
            now.since.elapsed() >= limit
        };
        let late = state.connections.iter().filter(|(_, client)| is_late(client));
        let late: Vec<u64> = late.map(|(id, _)| *id).collect();
        late.into_iter().for_each(|id| state.remove(id));
    }
}

impl State {
    /// Takes a connection out of the count and has it end. Nothing happens where it is out already.
    fn remove(&mut self, id: u64) {
        let Some(client) = self.connections.remove(&id) else { return };
        client.activity.close.notify_one();
        if let Some(there) = self.addresses.get_mut(&client.address) {
            there.connections -= 1;
            if there.connections == 0 {
                self.addresses.remove(&client.address);
            }
        }
    }
}

impl Client {
    /// The address, or network, for which it counts.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    pub fn limits(&self) -> &Limits {
        &self.clients.limits
    }

    /// All connections of the server.
    pub fn all(&self) -> &Clients {
        &self.clients
    }

    /// Waits until the connection shall end.
    pub async fn closed(&self) {
        self.activity.close.notified().await;
    }

    /// Room in memory for answers: see [`Room::reserve`].
    pub async fn reserve(&self, wanted: usize) -> Reservation {
        self.room.reserve(wanted).await
    }

    /// Room for bytes of far files, from their request on.
    pub fn far_room(&self) -> Room {
        self.far.clone()
    }

    /// The right to have one long write in memory, in turn.
    pub async fn write_room(&self) -> Option<OwnedSemaphorePermit> {
        // Never closed, so never refused.
        self.clients.long_writes.clone().acquire_owned().await.ok()
    }

    /// The right to have one that arrives slowly in memory; `None` where there are enough.
    pub fn slow_write_room(&self) -> Option<OwnedSemaphorePermit> {
        self.clients.slow_writes.clone().try_acquire_owned().ok()
    }

    /// The right to keep one more file open. Where there is none left, the connection with most
    /// files ends, an idle one first, of this address if that has its half already; `None` where
    /// all have as few as this one.
    pub async fn file_place(&self) -> Option<FilePlace> {
        let [there, all] = &self.files;
        let is_full = [there, all].map(|files| files.available_permits() == 0);
        if is_full != [false, false] {
            let of_address = is_full[0].then_some(self.address);
            let own = self.activity.files.load(Ordering::Relaxed);
            if !self.clients.give_up_files(of_address, own) {
                return None;
            }
        }
        let places = async {
            Some([
                there.clone().acquire_owned().await.ok()?,
                all.clone().acquire_owned().await.ok()?,
            ])
        };
        let _places = tokio::time::timeout(CLOSE_TIME, places).await.ok()??;
        self.activity.files.fetch_add(1, Ordering::Relaxed);
        Some(FilePlace { _places, activity: self.activity.clone() })
    }

    /// Bytes have arrived: an idle client has begun a request.
    pub fn asks(&self) {
        let mut now = self.activity.now.lock();
        if now.phase == Phase::Idle {
            now.enter(Phase::Asking);
        }
    }

    /// The client has taken all answers and sent a part of the next request.
    pub fn goes_on_asking(&self) {
        let mut now = self.activity.now.lock();
        if !matches!(now.phase, Phase::Asking | Phase::Opening) {
            now.enter(Phase::Asking);
        }
    }

    /// A request has come. Before it the client counts as one that has not logged in.
    pub fn works(&self) {
        let mut now = self.activity.now.lock();
        if !matches!(now.phase, Phase::Working | Phase::Stalled) {
            now.enter(Phase::Working);
        }
    }

    /// No request is under way, and all answers are taken.
    pub fn rests(&self) {
        let mut now = self.activity.now.lock();
        if !matches!(now.phase, Phase::Idle | Phase::Opening) {
            now.enter(Phase::Idle);
        }
    }

    /// The client takes no bytes at present, although there are some for it.
    pub fn stalls(&self) {
        let mut now = self.activity.now.lock();
        now.blocked = true;
        if now.phase == Phase::Working {
            now.enter(Phase::Stalled);
        }
    }

    /// The client has taken bytes.
    pub fn takes(&self, count: usize) {
        let mut now = self.activity.now.lock();
        now.blocked = false;
        now.taken = now.taken.saturating_add(count);
        if now.phase == Phase::Stalled && now.taken >= PROGRESS_BYTES {
            now.enter(Phase::Working);
        }
        drop(now);
        self.activity.moves.notify_waiters();
    }

    /// All that was to be sent has been taken.
    pub fn has_all(&self) {
        let mut now = self.activity.now.lock();
        if now.phase == Phase::Stalled {
            now.enter(Phase::Working);
        }
    }

    /// Waits while the client takes no bytes of its answers.
    pub async fn moves(&self) {
        let moves = self.activity.moves.notified();
        let blocked = self.activity.now.lock().blocked;
        if blocked {
            moves.await;
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.clients.state.lock().remove(self.id);
    }
}

/// One client has a whole network of 64 bits in IPv6.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn clients() -> Arc<Clients> {
        Clients::new(Limits { connections: 5, connections_per_address: 3, ..Limits::default() })
    }

    async fn is_closed(client: &Client) -> bool {
        tokio::select! {
            biased;
            () = client.closed() => true,
            () = std::future::ready(()) => false,
        }
    }

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_address_gives_up_its_own_oldest_idle_connection() {
        let clients = clients();
        let other = clients.admit(B).unwrap();
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(clients.admit(A).unwrap());
            pass(1).await;
        }
        held[0].works();
        held[1].works();
        held[1].rests();
        // The third has not logged in: it goes before the idle one, which is older.
        let fourth = clients.admit(A).unwrap();
        assert!(is_closed(&held[2]).await && !is_closed(&held[1]).await);
        fourth.works();
        let fifth = clients.admit(A).unwrap();
        assert!(is_closed(&held[1]).await && !is_closed(&held[0]).await);
        fifth.works();
        assert!(clients.admit(A).is_none(), "three are at work");
        assert!(!is_closed(&other).await, "another address pays for none of this");
        drop(fifth);
        assert!(clients.admit(A).is_some());
    }

    /// A client that came with two connections lost the first to the second, because idle ones had
    /// logged in.
    #[tokio::test(start_paused = true)]
    async fn a_new_connection_is_not_the_first_to_go() {
        let clients = clients();
        let idle: Vec<Client> = (0..3).map(|_| clients.admit(A).unwrap()).collect();
        for client in &idle {
            client.works();
            client.rests();
        }
        pass(2).await;
        let [first, second] = [(); 2].map(|()| clients.admit(A).unwrap());
        assert!(!is_closed(&first).await && !is_closed(&second).await);
        assert!(is_closed(&idle[0]).await && is_closed(&idle[1]).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_server_takes_the_place_from_the_address_with_most_connections() {
        let clients = clients();
        let modest = [clients.admit(B).unwrap(), clients.admit(B).unwrap()];
        pass(1).await;
        let many: Vec<Client> = (0..3).map(|_| clients.admit(A).unwrap()).collect();
        let third = clients.admit([10, 0, 0, 3].into()).unwrap();
        assert!(is_closed(&many[0]).await && !is_closed(&modest[0]).await);
        drop((modest, many, third));
        assert!(clients.state.lock().addresses.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn of_ten_thousand_clients_as_many_stay_as_there_are_places() {
        let limits = Limits::default();
        let most = limits.connections;
        let each = limits.connections_per_address;
        let clients = Clients::new(limits);
        let address = |number: usize| IpAddr::from([10, 1, 0, (number % 4) as u8]);
        let admitted: Vec<Client> = (0..10_000)
            .filter_map(|number| {
                let client = clients.admit(address(number))?;
                // Half of the clients have a request under way.
                if number % 8 < 4 {
                    client.works();
                }
                Some(client)
            })
            .collect();
        {
            let state = clients.state.lock();
            assert_eq!(state.connections.len(), most);
            assert!(state.addresses.values().all(|there| there.connections <= each));
        }
        drop(admitted);
        let state = clients.state.lock();
        assert!(state.connections.is_empty() && state.addresses.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_its_answers_slowly_stays_and_one_that_takes_none_goes() {
        let clients = clients();
        let slow = clients.admit(A).unwrap();
        let none = clients.admit(B).unwrap();
        for client in [&slow, &none] {
            client.works();
            client.stalls();
        }
        // 1 kB/s for ten minutes.
        for _ in 0..600 {
            pass(1).await;
            slow.takes(1000);
            slow.stalls();
            clients.end_late();
        }
        assert!(is_closed(&none).await && !is_closed(&slow).await);
    }

    /// Regression: for five minutes four clients that took nothing held all shared memory of their
    /// address, and its other clients had one piece at a time.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_goes_sooner_where_others_wait_for_its_memory() {
        let limits = Limits { far_bytes_shared: 1000, far_bytes: 500, ..Limits::default() };
        let clients = Clients::new(limits);
        let [none, slow] = [(); 2].map(|()| clients.admit(A).unwrap());
        let [elsewhere, waits] = [B, A].map(|address| clients.admit(address).unwrap());
        let held = [&none, &slow, &elsewhere].map(|client| {
            client.works();
            client.stalls();
            client.far_room().try_reserve(250).unwrap()
        });
        for _ in 0..60 {
            pass(1).await;
            slow.takes(16_000);
            slow.stalls();
            clients.end_late();
        }
        assert!(!is_closed(&none).await, "no client waits for its memory");
        assert!(waits.far_room().try_reserve(10).is_none());
        slow.takes(PROGRESS_BYTES);
        slow.stalls();
        clients.end_late();
        assert!(is_closed(&none).await && !is_closed(&slow).await && !is_closed(&elsewhere).await);
        drop(held);
    }

    /// Regression: half a request kept a connection for an hour.
    #[tokio::test(start_paused = true)]
    async fn a_request_that_does_not_come_to_its_end_ends_the_connection() {
        let clients = clients();
        let [idle, asking, asked] = [(); 3].map(|()| clients.admit(A).unwrap());
        for client in [&idle, &asking, &asked] {
            client.works();
            client.rests();
        }
        pass(100).await;
        asking.asks();
        asked.asks();
        for _ in 0..29 {
            pass(1).await;
            asking.goes_on_asking();
            clients.end_late();
        }
        asked.works();
        assert!(!is_closed(&asking).await);
        pass(1).await;
        clients.end_late();
        assert!(is_closed(&asking).await && !is_closed(&asked).await && !is_closed(&idle).await);
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_never_log_in_and_idle_ones_go_in_time() {
        let clients = clients();
        let opening = clients.admit(A).unwrap();
        let idle = clients.admit(A).unwrap();
        let working = clients.admit(A).unwrap();
        idle.works();
        idle.rests();
        working.works();
        pass(31).await;
        clients.end_late();
        assert!(is_closed(&opening).await && !is_closed(&idle).await);
        pass(3600).await;
        clients.end_late();
        assert!(is_closed(&idle).await && !is_closed(&working).await, "a checksum takes its time");
    }

    /// Two sessions with a thousand files each left none for any other from their address.
    #[tokio::test(start_paused = true)]
    async fn the_connection_with_most_files_gives_them_up() {
        let clients = Clients::new(Limits { files: 100, ..Limits::default() });
        let [many, few, asks] = [(); 3].map(|()| clients.admit(A).unwrap());
        let mut files = Vec::new();
        for (client, count) in [(&few, 10), (&many, 40)] {
            client.works();
            for _ in 0..count {
                files.push(client.file_place().await.unwrap());
            }
        }
        assert!(many.file_place().await.is_none(), "no other has more");
        let (place, ()) = tokio::join!(few.file_place(), async {
            many.closed().await;
            files.truncate(10);
        });
        assert!(place.is_some(), "of the one that has four times as many");
        drop(place);
        let other = clients.admit(B).unwrap();
        assert!(other.file_place().await.is_some(), "the other half");
        for _ in 0..40 {
            files.push(asks.file_place().await.unwrap());
        }
        few.rests();
        let third = clients.admit(A).unwrap();
        let (place, ()) = tokio::join!(third.file_place(), async {
            few.closed().await;
            files.drain(..10);
        });
        assert!(place.is_some() && !is_closed(&asks).await, "an idle one goes first");
    }

    #[test]
    fn a_network_of_64_bits_is_one_client() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:10.0.0.1"), A);
    }
}
