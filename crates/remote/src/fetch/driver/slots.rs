//! How many connections to a server this process may have, beside the user's other processes.
//!
//! A connection takes a slot. If no slot is free, the driver does not connect; a process with fewer
//! slots than its share then waits, and the other processes close connections beyond their shares
//! once those are idle. While no process waits, a process may exceed its share. A process without
//! any connection makes one after a second, slot or not.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use scheduler::{ConnectionId, ServerId, Time};

use super::Driver;
use crate::slots::{Slot, Slots};

/// Pause between two looks whether another process waits.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// Longest pause before a process with its full share tries for more: each pause doubles.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(2);
/// Wait after which a process without a connection makes one, whether a slot is free or not.
const WITHOUT_MAX: Duration = Duration::from_secs(1);

/// The right to make one connection. Holds the connection's slot until the connection closes.
#[derive(Debug, Default)]
pub struct Permit {
    _place: Option<Slot>,
}

/// The slots of one server, as the driver uses them.
#[derive(Debug)]
pub struct ServerSlots {
    slots: Arc<Slots>,
    connections: BTreeSet<ConnectionId>,
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
            connections: BTreeSet::new(),
            short_since: None,
            is_wanted: false,
            look_at: now + LOOK_AFTER,
            retry_at: now,
            pause: LOOK_AFTER,
        }
    }

    /// Takes a slot for a connection; `None` if the connection may not be made.
    fn let_connect(&mut self, connection: ConnectionId, now: Time) -> Option<Permit> {
        let place = self.slots.take();
        let has_waited = |since: Time| now.saturating_sub(since) >= WITHOUT_MAX;
        let is_due = self.connections.is_empty() && self.short_since.is_some_and(has_waited);
        if place.is_none() && !is_due {
            self.short_since.get_or_insert(now);
            self.is_wanted = true;
            return None;
        }
        self.connections.insert(connection);
        self.short_since = None;
        Some(Permit { _place: place })
    }

    /// Most connections until the next look; `None`: no limit. If another process waits, an idle
    /// process may have none.
    fn review(&mut self, now: Time, is_idle: bool) -> Option<u32> {
        if !std::mem::take(&mut self.is_wanted) && now >= self.retry_at {
            self.short_since = None;
        }
        let is_short = self.short_since.is_some();
        let is_another_waiting = self.slots.is_another_waiting();
        let has = self.connections.len() as u32;
        let share = if is_short || is_another_waiting { self.slots.share() } else { u32::MAX };
        self.slots.set_waiting(is_short && has < share);
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
        let Some(folder) = self.config.runtime_folder.as_ref().filter(|_| most > 0) else {
            return Some(Permit::default());
        };
        let state = &self.servers[&server];
        if state.server.traits().local {
            return Some(Permit::default());
        }
        let slots = match self.slots.entry(server) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => match Slots::open(folder, &state.name, most) {
                Some(slots) => place.insert(ServerSlots::new(slots, now)),
                None => return Some(Permit::default()),
            },
        };
        if let Some(permit) = slots.let_connect(connection, now) {
            return Some(permit);
        }
        let has = slots.connections.len() as u32;
        self.scheduler.withhold_connection(now, connection);
        self.scheduler.allow_connections(now, server, Some(has));
        None
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
            self.scheduler.allow_connections(now, server, allowed);
            if allowed == Some(0) {
                // The idle connections are closed by now; later requests may open new ones.
                self.scheduler.allow_connections(now, server, None);
            }
        }
        self.drop_slots();
    }

    /// Leaves the slots of servers to which no connection is open or wanted.
    fn drop_slots(&mut self) {
        self.slots.retain(|_, slots| !slots.connections.is_empty() || slots.short_since.is_some());
    }
}
