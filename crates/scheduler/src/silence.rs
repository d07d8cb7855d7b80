//! Servers that owe something and say nothing.
//!
//! Where the file can be had elsewhere, it is read there. Where it cannot, one more connection is
//! made to see whether the server still answers at all: after a link has been cut, TCP waits longer
//! and longer before it tries the old connections again. If the new one is answered first, the old
//! ones are given up and the bytes that they owe are requested again. A server that is merely slow
//! keeps them: then the new one is silent as well.

use crate::connection::Phase;
use crate::ids::{ConnectionId, RequestId, ServerId, Time};
use crate::message::{Action, Failure};
use crate::scheduler::Scheduler;

/// A connection that was made to see whether the server lives is made anew after this long: on a
/// cut link the operating system waits too long between its own attempts.
const PROBE_MAX: Time = Time::from_secs(3);

impl Scheduler {
    /// Since when a server has owed something in silence.
    fn silent_since(&self, id: ServerId) -> Option<Time> {
        let server = self.servers.get(&id)?;
        let connections = server.connections.iter().filter_map(|id| self.connections.get(id));
        let owing = connections.filter(|connection| !connection.requests.is_empty());
        let since = owing.map(|connection| connection.heard).min()?;
        Some(since.max(server.alive_at))
    }

    /// When the silence of a server has lasted too long, unless it says something before.
    pub(crate) fn stall_deadline(&self, id: ServerId) -> Option<Time> {
        let since = self.silent_since(id)?;
        let server = self.servers.get(&id)?;
        let stall_timeout = self.budgets.stall_timeout.max(server.rtt_or_guess().saturating_mul(8));
        Some(since.saturating_add(stall_timeout).max(server.excused_until))
    }

    /// Does something about servers that have been silent too long.
    pub(crate) fn review_silence(&mut self) {
        let servers: Vec<ServerId> = self.servers.keys().copied().collect();
        for id in servers {
            if self.stall_deadline(id).is_some_and(|at| at <= self.now) {
                self.doubt(id);
            }
        }
    }

    fn doubt(&mut self, id: ServerId) {
        if let Some(server) = self.servers.get_mut(&id) {
            server.excused_until = self.now.saturating_add(PROBE_MAX);
        }
        if self.leave_server(id, Failure::LATER) {
            // The requests that it still owes are dropped; its connections would only be silent
            // again.
            self.drop_silent(id, None);
            return;
        }
        self.probe(id);
    }

    /// One more connection to a silent server that has been reached before.
    fn probe(&mut self, id: ServerId) {
        let Some(server) = self.servers.get(&id) else { return };
        let allowed = server.traits.max_connections.unwrap_or(u32::MAX);
        if !server.reached || server.retrying || server.connections.len() as u64 >= allowed.into() {
            return;
        }
        if let Some(old) = server.probe {
            match self.connections.get(&old).map(|connection| connection.phase) {
                // It is connected and as silent as the others: the server takes its time.
                Some(Phase::Usable) => return,
                _ => self.disconnect(old),
            }
        }
        let connection = self.start_connection(id);
        if let Some(server) = self.servers.get_mut(&id) {
            server.probe = Some(connection);
        }
    }

    /// The connection that was made to see whether its server lives is usable: it is asked for
    /// something that others owe.
    pub(crate) fn ask_probe(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else { return };
        let server = connection.server;
        if self.servers.get(&server).is_none_or(|server| server.probe != Some(id)) {
            return;
        }
        let owed = self.requests.iter().find(|(_, request)| {
            let on = self.connections.get(&request.connection);
            !request.cancelled && on.is_some_and(|on| on.server == server)
        });
        match owed.map(|(owed, request)| (*owed, request.part.is_some())) {
            Some((owed, true)) => self.abandon(owed),
            Some((owed, false)) => self.ask_also(owed, id),
            None => {}
        }
    }

    /// Something came over a connection. If it is the one that was made to see whether the server
    /// lives, those that are still silent are given up.
    pub(crate) fn heard_on(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else { return };
        let server = connection.server;
        let Some(state) = self.servers.get_mut(&server) else { return };
        state.alive_at = self.now;
        let Some(probe) = state.probe else { return };
        if probe == id {
            self.drop_silent(server, Some(id));
        }
        let Some(state) = self.servers.get_mut(&server) else { return };
        if state.connections.len() > self.budgets.connections_per_server_max as usize {
            // It was one more than is polite, and not needed once another connection answers.
            self.give_up(probe);
        } else {
            state.probe = None;
        }
    }

    /// Closes the connections of a server that owe something in silence, except one.
    fn drop_silent(&mut self, id: ServerId, except: Option<ConnectionId>) {
        let Some(server) = self.servers.get(&id) else { return };
        let stall_timeout = self.budgets.stall_timeout;
        let silent = |id: &ConnectionId| {
            self.connections.get(id).is_some_and(|connection| {
                let since = self.now.saturating_sub(connection.heard);
                !connection.requests.is_empty() && since >= stall_timeout
            })
        };
        let silent: Vec<ConnectionId> = server
            .connections
            .iter()
            .filter(|id| Some(**id) != except && silent(id))
            .copied()
            .collect();
        silent.into_iter().for_each(|connection| self.give_up(connection));
    }

    /// Closes a connection; the bytes that it owes are requested again, which does not count as an
    /// attempt.
    fn give_up(&mut self, id: ConnectionId) {
        let owed = self.connections.get(&id).map(|connection| connection.requests.iter().copied());
        let owed: Vec<RequestId> = owed.into_iter().flatten().collect();
        owed.into_iter().for_each(|request| self.abandon(request));
        self.disconnect(id);
    }

    pub(crate) fn disconnect(&mut self, id: ConnectionId) {
        self.actions.push_back(Action::Disconnect { connection: id });
        self.lose_connection(id, Failure::LATER);
    }
}
