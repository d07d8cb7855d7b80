//! Slots: the number of connections to a server that this process may have, beside the user's other
//! processes.
//!
//! A connection takes a slot. If no slot is free, the driver does not connect; a process with fewer
//! slots than its share then waits, and the other processes close connections beyond their shares
//! once those are idle. While no process waits, a process may exceed its share. Where there are
//! more processes than slots they take turns: a process that has had its slots for [`TURN`] sends
//! no further requests, closes its connections after the pending answers, and joins the end of the
//! queue. A process without a connection connects without a slot after [`WAIT_MAX`].

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use scheduler::{ConnectionId, ServerId, Time};

use super::Driver;
use crate::slots::{LOOK_AFTER, Slot, Slots, WAIT_MAX, Waits};

/// How long a process keeps its slots where there are more processes than slots. Each turn costs
/// new connections, with their round trips.
const TURN: Duration = Duration::from_secs(2);
/// Longest pause before a process with its full share tries for more: each pause doubles.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(2);

/// The right to make one connection. Holds the connection's slot until the connection closes.
#[derive(Debug, Default)]
pub struct Permit {
    slot: Option<Slot>,
}

/// The slots of one server, as the driver uses them.
#[derive(Debug)]
pub struct ServerSlots {
    slots: Arc<Slots>,
    /// With the slots of those that were made before the server's host was known.
    connections: BTreeMap<ConnectionId, Option<Slot>>,
    /// Since when there is at least one.
    connected_since: Time,
    /// The turn of this process is over: no connection gets a further request.
    is_leaving: bool,
    /// Since when a wanted connection lacks a slot.
    short_since: Option<Time>,
    /// A connection has lacked a slot since the last look.
    is_wanted: bool,
    look_at: Time,
    /// When to try again for a slot beyond the share, and the pause after that.
    retry_at: Time,
    pause: Duration,
}

impl ServerSlots {
    fn new(slots: Arc<Slots>, now: Time) -> Self {
        ServerSlots {
            slots,
            connections: BTreeMap::new(),
            connected_since: now,
            is_leaving: false,
            short_since: None,
            is_wanted: false,
            look_at: now + LOOK_AFTER,
            retry_at: now,
            pause: LOOK_AFTER,
        }
    }

    /// Takes a slot for a connection; `None` if the connection may not be made.
    fn let_connect(&mut self, connection: ConnectionId, now: Time) -> Option<Permit> {
        let slot = if self.is_leaving { None } else { self.slots.take(now) };
        let has_waited = |since: Time| now.saturating_sub(since) >= WAIT_MAX;
        let is_first = self.connections.is_empty();
        let is_due = is_first && self.short_since.is_some_and(has_waited);
        if slot.is_none() && !is_due {
            self.short_since.get_or_insert(now);
            self.is_wanted = true;
            if is_first {
                self.slots.set_waiting(Waits::ForFirst);
            }
            return None;
        }
        if is_first {
            self.connected_since = now;
            self.slots.set_waiting(Waits::No);
        }
        self.connections.insert(connection, None);
        self.short_since = None;
        Some(Permit { slot })
    }

    /// Counts a connection that there is already, and takes a slot for it if one is free.
    fn add(&mut self, connection: ConnectionId, now: Time) {
        if self.connections.is_empty() {
            self.connected_since = now;
        }
        let slot = self.slots.take(now);
        self.connections.insert(connection, slot);
    }

    /// Most connections until the next look; `None`: no limit. If another process waits, an idle
    /// process may have none, and neither may one whose turn is over.
    fn review(&mut self, now: Time, is_idle: bool) -> Option<u32> {
        self.is_leaving |= self.is_turn_over(now);
        if self.is_leaving {
            self.look_at = now + LOOK_AFTER;
            if !self.connections.is_empty() {
                return Some(0);
            }
            self.is_leaving = false;
            self.is_wanted = true;
            self.short_since = Some(now);
            self.slots.set_waiting(Waits::ForFirst);
            return None;
        }
        if !std::mem::take(&mut self.is_wanted) && now >= self.retry_at {
            self.short_since = None;
        }
        let is_short = self.short_since.is_some();
        let is_another_waiting = self.slots.is_another_waiting();
        let has = self.connections.len() as u32;
        let share = if is_short || is_another_waiting { self.slots.share() } else { u32::MAX };
        self.slots.set_waiting(match (is_short, has) {
            (true, 0) => Waits::ForFirst,
            (true, has) if has < share => Waits::ForMore,
            _ => Waits::No,
        });
        let allowed = match (is_another_waiting, is_idle && !is_short) {
            (false, _) => u32::MAX,
            (true, true) => 0,
            (true, false) => share,
        };
        self.look_at = now + LOOK_AFTER;
        if !is_short || has < share {
            self.pause = LOOK_AFTER;
        } else if now < self.retry_at {
            return Some(allowed.min(has));
        } else {
            self.retry_at = now + self.pause;
            self.pause = (self.pause * 2).min(RETRY_AFTER_MAX);
        }
        (allowed < u32::MAX).then_some(allowed)
    }

    fn is_turn_over(&self, now: Time) -> bool {
        let is_long = now.saturating_sub(self.connected_since) >= TURN;
        let may_leave = is_long && !self.connections.is_empty();
        may_leave && self.slots.is_another_waiting() && self.slots.is_crowded()
    }
}

impl Driver {
    /// Permits a connection, or withdraws it from the scheduler and returns `None`.
    pub(super) fn let_connect(
        &mut self,
        connection: ConnectionId,
        server: ServerId,
    ) -> Option<Permit> {
        let now = self.clock.now();
        let most = self.config.connections_shared;
        let slots = match self.slots_of(server) {
            Ok(Some(slots)) => slots,
            Ok(None) => return Some(Permit::default()),
            Err(error) => {
                if error.kind() != ErrorKind::Unsupported {
                    let text = "warning: connections are not counted across processes";
                    self.trace.note(None, format!("{text}: {error}"));
                }
                return Some(Permit::default());
            }
        };
        if let Some(permit) = slots.let_connect(connection, now) {
            if permit.slot.is_none() {
                let name = &self.servers[&server].name;
                let waited = WAIT_MAX.as_secs();
                let text = format!(
                    "warning: other processes of this user have had all {most} connections to \
                     {name} for {waited} s (connections_shared): one more was made"
                );
                self.trace.note(None, text);
            }
            return Some(permit);
        }
        let has = slots.connections.len() as u32;
        self.scheduler.withhold_connection(now, connection);
        self.scheduler.allow_connections(now, server, Some(has));
        None
    }

    /// Takes a slot for a connection to a host that was not known before: its server has asked
    /// another host for it.
    pub(super) fn take_slot_late(&mut self, connection: ConnectionId) {
        let now = self.clock.now();
        let Some(there) = self.connections.get(&connection) else { return };
        // Where slots cannot be shared, the first attempt has logged why.
        let Ok(Some(slots)) = self.slots_of(there.server) else { return };
        if !slots.connections.contains_key(&connection) {
            slots.add(connection, now);
        }
    }

    /// The slots of a server; `None` where its connections are not counted, and where its host is
    /// not known yet.
    ///
    /// # Errors
    /// As [`Slots::open`].
    fn slots_of(&mut self, server: ServerId) -> io::Result<Option<&mut ServerSlots>> {
        let most = self.config.connections_shared;
        let folder = self.config.runtime_folder.as_ref().filter(|_| most > 0);
        let endpoint = self.servers[&server].server.endpoint();
        let Some((folder, (host, port))) = folder.zip(endpoint) else { return Ok(None) };
        let slots = match self.slots.entry(server) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                let slots = Slots::open(folder, (&host, port), most)?;
                place.insert(ServerSlots::new(slots, self.clock.now()))
            }
        };
        Ok(Some(slots))
    }

    /// Forgets a connection that has ended.
    pub(super) fn leave_slot(&mut self, connection: ConnectionId) {
        for slots in self.slots.values_mut() {
            slots.connections.remove(&connection);
        }
        self.drop_slots();
    }

    /// When to look next whether other processes wait.
    pub(super) fn next_review(&self) -> Option<Time> {
        self.slots.values().map(|slots| slots.look_at).min()
    }

    /// Gives up slots for which other processes wait, and tries again for slots they had in use.
    pub(super) fn review_slots(&mut self) {
        let now = self.clock.now();
        let due = self.slots.iter().filter(|(_, slots)| slots.look_at <= now);
        let due: Vec<ServerId> = due.map(|(server, _)| *server).collect();
        for server in due {
            let is_here = |connection: &ConnectionId| {
                self.connections.get(connection).is_some_and(|there| there.server == server)
            };
            let is_idle = !self.requests.values().any(|request| is_here(&request.connection));
            let Some(slots) = self.slots.get_mut(&server) else { continue };
            let allowed = slots.review(now, is_idle);
            let is_leaving = slots.is_leaving;
            self.scheduler.allow_connections(now, server, allowed);
            if allowed == Some(0) && !is_leaving {
                // The idle connections are closed by now; later requests may open new ones.
                self.scheduler.allow_connections(now, server, None);
            }
        }
        self.drop_slots();
    }

    /// Leaves the slots of servers to which no connection is open or wanted.
    fn drop_slots(&mut self) {
        self.slots.retain(|_, slots| {
            !slots.connections.is_empty() || slots.short_since.is_some() || slots.is_leaving
        });
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::OnceLock;

    use futures::future::BoxFuture;

    use super::*;
    use crate::clock::Clock;
    use crate::config::Config;
    use crate::fetch::driver::scheduler_traits;
    use crate::fetch::files::ServerState;
    use crate::fetch::trace::Trace;
    use crate::near::memory::NearMemory;
    use crate::source::local::LocalServer;
    use crate::source::network::Tcp;
    use crate::source::{DriverLink, Server, ServerTraits};

    const SECOND: Time = Time::from_secs(1);

    fn process(folder: &tempfile::TempDir, most: u32) -> ServerSlots {
        let slots = Slots::open(&folder.path().join("farroot"), ("h", 1), most);
        ServerSlots::new(slots.unwrap(), Time::ZERO)
    }

    /// Three processes that read without a pause, and two slots.
    #[test]
    fn processes_take_turns_where_there_are_more_than_slots() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = [(); 3].map(|()| process(&folder, 2));
        let mut permits: [Option<Permit>; 3] = Default::default();
        let mut now = SECOND;
        let mut turns = [0; 3];
        let mut most = 0;
        for _ in 0..400 {
            for (number, process) in processes.iter_mut().enumerate() {
                let allowed = process.review(now, false);
                if permits[number].is_some() && process.is_leaving {
                    assert_eq!(allowed, Some(0), "no more requests");
                    // The pending requests have been answered.
                    process.connections.clear();
                    permits[number] = None;
                } else if permits[number].is_none() && allowed != Some(0) {
                    permits[number] = process.let_connect(ConnectionId(number as u32), now);
                    turns[number] += u32::from(permits[number].is_some());
                }
                let held = permits.iter().flatten();
                assert!(held.clone().all(|permit| permit.slot.is_some()), "none waits for long");
                most = most.max(held.count());
            }
            now += LOOK_AFTER;
        }
        assert_eq!(most, 2);
        // Turns of 2 s on two slots are 40 turns in 40 s, for three processes.
        assert!(turns.iter().all(|turns| (8..=20).contains(turns)), "{turns:?}");
    }

    /// A stopped process has the only slot.
    #[test]
    fn a_process_connects_without_a_slot_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let mut stopped = process(&folder, 1);
        let mut waiting = process(&folder, 1);
        let held = stopped.let_connect(ConnectionId(1), SECOND).unwrap();
        assert!(held.slot.is_some());
        assert!(waiting.let_connect(ConnectionId(2), SECOND).is_none());
        let mut now = SECOND;
        while now < SECOND + WAIT_MAX {
            waiting.review(now, false);
            assert!(waiting.let_connect(ConnectionId(2), now).is_none());
            now += LOOK_AFTER;
        }
        waiting.review(now, false);
        let permit = waiting.let_connect(ConnectionId(2), now).expect("a read goes on");
        assert!(permit.slot.is_none());
    }

    #[test]
    fn a_process_alone_keeps_its_connections() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = process(&folder, 1);
        let _permit = process.let_connect(ConnectionId(1), SECOND).unwrap();
        assert_eq!(process.review(100 * SECOND, false), None);
    }

    /// A server whose host another host names.
    #[derive(Default)]
    struct Named(OnceLock<(String, u16)>);

    impl Server for Named {
        fn name(&self) -> &str {
            "federation"
        }

        fn endpoint(&self) -> Option<(String, u16)> {
            self.0.get().cloned()
        }

        fn traits(&self) -> ServerTraits {
            LocalServer::new().traits()
        }

        fn run(self: Arc<Self>, _: DriverLink) -> BoxFuture<'static, ()> {
            Box::pin(std::future::pending())
        }
    }

    /// Regression: connections to the director of a federation had slots of the host that names it.
    #[tokio::test]
    async fn a_connection_gets_a_slot_of_the_host_that_is_found_while_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let runtime_folder = Some(folder.path().join("farroot"));
        let config = Config { runtime_folder, connections_shared: 1, ..Config::default() };
        let clock = Clock::start();
        let network = Arc::new(Tcp::new(SECOND));
        let trace = Trace::new(clock);
        let near = Arc::new(NearMemory::new(&config, clock));
        let mut driver = Driver::new(config, network, clock, trace, Arc::default(), near);
        let named = Arc::new(Named::default());
        let traits = scheduler_traits(&named.traits());
        let server = driver.scheduler.add_server(clock.now(), traits);
        let state =
            ServerState { server: named.clone(), name: "federation".into(), is_lent: false };
        driver.servers.insert(server, state);
        let connection = ConnectionId(1);
        driver.connect(connection, server);
        let other = Slots::open(&folder.path().join("farroot"), ("director", 443), 1).unwrap();
        assert!(other.take(SECOND).is_some(), "it is not known which host is asked");
        named.0.set(("director".to_owned(), 443)).unwrap();
        driver.take_slot_late(connection);
        driver.take_slot_late(connection);
        assert!(other.take(SECOND).is_none());
        assert_eq!(driver.slots[&server].connections.len(), 1);
        driver.leave_slot(connection);
        assert!(other.take(SECOND).is_some());
    }
}
