//! How many connections to a server this process may have beside the others of its user.
//!
//! A connection takes one of the places that the processes share. Where none is free it is not
//! made; a process with fewer than its share says so, and the others close what they have beyond
//! theirs as soon as it has nothing left to answer. What none of them needs, any may have. A
//! process that has no connection at all waits a second for one at the most.

use std::collections::BTreeSet;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use scheduler::{ConnectionId, ServerId, Time};

use super::Driver;
use crate::slots::{Slot, Slots};

/// How often a process with connections looks whether another one waits.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// One that has its share tries for more, each time after twice as long, up to this.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(2);
/// One without a connection makes one after this, whether a place is free or not.
const WITHOUT_MAX: Duration = Duration::from_secs(1);

/// One connection may be made, and has its place for as long as this is kept: until it is closed.
#[derive(Debug, Default)]
pub struct Permit {
    _place: Option<Slot>,
}

/// The places of one server, as the driver uses them.
#[derive(Debug)]
pub struct ServerSlots {
    slots: Arc<Slots>,
    connections: BTreeSet<ConnectionId>,
    /// Since when a connection is wanted for which there is no place.
    short_since: Option<Time>,
    /// One has been wanted since the last look.
    is_wanted: bool,
    look_at: Time,
    /// When to try again for a place beyond the share, and how long after that once more.
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

    /// Lets a connection be made, in the place that is taken for it, if there is one.
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

    /// How many connections there may be until the next look. Those of a process that has nothing
    /// to do are the first to go.
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
    /// Lets a connection be made; `None` where it may not, of which the scheduler knows afterwards.
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

    /// A connection has ended.
    pub(super) fn leave_slot(&mut self, connection: ConnectionId) {
        for slots in self.slots.values_mut() {
            slots.connections.remove(&connection);
        }
        self.drop_slots();
    }

    /// When to look next at what others need.
    pub(super) fn next_review(&self) -> Option<Time> {
        self.slots.values().map(|slots| slots.look_at).min()
    }

    /// Gives back what others need, and tries again what they had in use.
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
                // Idle ones are closed; it may have new ones when it has something to do.
                self.scheduler.allow_connections(now, server, None);
            }
        }
        self.drop_slots();
    }

    /// A server to which there is no connection, and none is wanted, is the others'.
    fn drop_slots(&mut self) {
        self.slots.retain(|_, slots| !slots.connections.is_empty() || slots.short_since.is_some());
    }
}
