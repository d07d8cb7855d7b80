//! Stream ids: which are in use, for whom, and whether an answer is due.
//!
//! An id is free again only when its last answer has come. An id whose request was given
//! up stays reserved until then: its late answer must not be taken for another's.

use std::collections::{BTreeMap, BTreeSet};

use super::event::RequestId;
use crate::Time;
use crate::error::ProtocolError;
use crate::frame::Body;
use crate::header::{ResponseHeader, Status, StreamId};

/// Largest control answer, bytes.
pub(super) const CONTROL_BYTES_MAX: u64 = 1 << 20;
/// Largest directory listing and attention message, bytes.
const LISTING_BYTES_MAX: u64 = 16 << 20;

/// For whom an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Protocol,
    Login,
    Auth,
    Keepalive,
    Request(RequestId),
    /// The request was given up.
    None,
    /// The request was given up, but the file it opens in this slot must be closed.
    AbandonedOpen {
        slot: Option<u32>,
    },
}

/// Kinds of bodies of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    Control,
    Listing,
    Data,
}

/// When an answer is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// In turn.
    Now,
    /// The server has put it off until then.
    Until(Time),
    /// It is not expected at any time.
    Whenever,
}

#[derive(Debug)]
struct Stream {
    owner: Owner,
    kind: BodyKind,
    due: Due,
    /// The parts of a control answer so far.
    gathered: Vec<u8>,
}

/// The table of stream ids.
#[derive(Debug)]
pub struct Streams {
    table: BTreeMap<StreamId, Stream>,
    deferred: BTreeSet<(Time, StreamId)>,
    /// How many answers are due now.
    due_now: usize,
    next: u16,
}

impl Streams {
    pub fn new() -> Self {
        Streams { table: BTreeMap::new(), deferred: BTreeSet::new(), due_now: 0, next: 1 }
    }

    /// A free id; none if all are in use.
    pub fn allocate(&mut self, owner: Owner, kind: BodyKind) -> Option<StreamId> {
        // Id 0 belongs to the handshake and to attention messages.
        if self.table.len() >= usize::from(u16::MAX) {
            return None;
        }
        while self.next == 0 || self.table.contains_key(&StreamId(self.next)) {
            self.next = self.next.wrapping_add(1);
        }
        let id = StreamId(self.next);
        self.next = self.next.wrapping_add(1);
        self.table.insert(id, Stream { owner, kind, due: Due::Now, gathered: Vec::new() });
        self.due_now += 1;
        Some(id)
    }

    pub fn owner(&self, id: StreamId) -> Result<Owner, ProtocolError> {
        self.table.get(&id).map(|stream| stream.owner).ok_or(ProtocolError::UnknownStream(id))
    }

    /// Whether an id is waiting for an answer that has been put off.
    pub fn is_deferred(&self, id: StreamId) -> bool {
        self.table.get(&id).is_some_and(|stream| stream.due != Due::Now)
    }

    /// How the body behind this header is to be taken.
    pub fn body_of(&self, head: &ResponseHeader) -> Result<Body, ProtocolError> {
        let whole = |subject, limit| Ok(Body::Whole { subject, limit });
        if head.stream == StreamId::NONE {
            return whole("an attention message", LISTING_BYTES_MAX);
        }
        let stream =
            self.table.get(&head.stream).ok_or(ProtocolError::UnknownStream(head.stream))?;
        let is_part = matches!(head.status, Status::Ok | Status::OkSoFar);
        match (stream.owner, stream.kind) {
            _ if !is_part => whole("an answer", CONTROL_BYTES_MAX),
            (Owner::None, _) | (_, BodyKind::Data) => Ok(Body::AsItComes),
            (_, BodyKind::Control) => whole("an answer", CONTROL_BYTES_MAX - stream.held()),
            (_, BodyKind::Listing) => {
                whole("a directory listing", LISTING_BYTES_MAX - stream.held())
            }
        }
    }

    /// Keeps a part of a control answer.
    pub fn gather(&mut self, id: StreamId, part: &[u8]) {
        if let Some(stream) = self.table.get_mut(&id) {
            stream.gathered.extend_from_slice(part);
        }
    }

    /// The last answer has come: the id is free. Gives the parts gathered before.
    pub fn release(&mut self, id: StreamId) -> Vec<u8> {
        match self.table.remove(&id) {
            Some(stream) => {
                self.undue(id, stream.due);
                stream.gathered
            }
            None => Vec::new(),
        }
    }

    /// Gives up the request: its answer will be dropped.
    pub fn abandon(&mut self, id: StreamId, owner: Owner) {
        if let Some(stream) = self.table.get_mut(&id) {
            stream.owner = owner;
            if owner == Owner::None {
                stream.gathered = Vec::new();
            }
            if let Due::Until(_) = stream.due {
                let due = std::mem::replace(&mut stream.due, Due::Whenever);
                self.undue(id, due);
            }
        }
    }

    /// The server has put the answer off.
    pub fn defer(&mut self, id: StreamId, until: Time) {
        let Some(stream) = self.table.get_mut(&id) else { return };
        let wanted = !matches!(stream.owner, Owner::None | Owner::AbandonedOpen { .. });
        let later = if wanted { Due::Until(until) } else { Due::Whenever };
        let before = std::mem::replace(&mut stream.due, later);
        self.undue(id, before);
        if wanted {
            self.deferred.insert((until, id));
        }
    }

    fn undue(&mut self, id: StreamId, due: Due) {
        match due {
            Due::Now => self.due_now -= 1,
            Due::Until(time) => {
                self.deferred.remove(&(time, id));
            }
            Due::Whenever => {}
        }
    }

    /// Whether the server owes an answer.
    pub fn any_due(&self) -> bool {
        self.due_now > 0
    }

    /// When the first answer that was put off is overdue.
    pub fn first_deadline(&self) -> Option<Time> {
        self.deferred.first().map(|&(time, _)| time)
    }

    /// An id whose answer was put off and is overdue, and for whom it was.
    pub fn overdue(&self, now: Time) -> Option<(StreamId, Owner)> {
        let &(_, id) = self.deferred.first().filter(|&&(time, _)| time <= now)?;
        self.table.get(&id).map(|stream| (id, stream.owner))
    }
}

impl Stream {
    fn held(&self) -> u64 {
        self.gathered.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Owner = Owner::Request(RequestId(1));

    #[test]
    fn an_id_is_not_given_twice_while_its_answer_may_still_come() {
        let mut streams = Streams::new();
        let first = streams.allocate(REQUEST, BodyKind::Control).unwrap();
        streams.abandon(first, Owner::None);
        let mut all = std::collections::BTreeSet::from([first]);
        while let Some(id) = streams.allocate(REQUEST, BodyKind::Control) {
            assert!(all.insert(id) && id != StreamId::NONE);
        }
        assert_eq!(all.len(), usize::from(u16::MAX));
        streams.release(StreamId(77));
        assert_eq!(streams.allocate(REQUEST, BodyKind::Control), Some(StreamId(77)));
    }

    #[test]
    fn what_is_put_off_is_not_due_until_its_time() {
        let mut streams = Streams::new();
        let id = streams.allocate(REQUEST, BodyKind::Control).unwrap();
        assert!(streams.any_due());
        streams.defer(id, Time::from_secs(5));
        assert!(!streams.any_due());
        assert_eq!(streams.first_deadline(), Some(Time::from_secs(5)));
        assert_eq!(streams.overdue(Time::from_secs(4)), None);
        assert_eq!(streams.overdue(Time::from_secs(5)), Some((id, REQUEST)));
        streams.abandon(id, Owner::None);
        assert_eq!(streams.overdue(Time::from_secs(5)), None);
        assert!(streams.owner(id).is_ok(), "its answer may still come");
        streams.release(id);
        assert!(streams.owner(id).is_err() && !streams.any_due());
    }

    #[test]
    fn the_parts_of_an_answer_are_bounded_together() {
        let mut streams = Streams::new();
        let id = streams.allocate(REQUEST, BodyKind::Control).unwrap();
        streams.gather(id, &[0; 100]);
        let head = ResponseHeader { stream: id, status: Status::OkSoFar, length: 1 };
        let limit = CONTROL_BYTES_MAX - 100;
        assert_eq!(streams.body_of(&head), Ok(Body::Whole { subject: "an answer", limit }));
        assert_eq!(streams.release(id).len(), 100);
    }
}
