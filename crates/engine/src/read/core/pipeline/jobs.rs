//! Items that are here, handed to the decoding threads.

use std::sync::Arc;

use bytes::Bytes;
use rootfile::Codecs;

use super::run::{Pipeline, Work};
use super::share::Share;
use super::slot::{Counts, State};
use super::{Arrived, Decoded, Decoder, Source};
use crate::read::core::fill::slots::Destination;
use crate::read::core::unpacking::Unpacking;
use crate::read::threads::decoders::caught;
use remote::{Error, ErrorKind, Result};

/// Stored bytes of small items that one job decodes, at most: to hand over a job costs as much as
/// to decode some kilobytes.
const JOB_BYTES: u64 = 128 << 10;
/// The same where the threads have little to do, at least.
const JOB_BYTES_MIN: u64 = 16 << 10;

/// An item that is here, with all that decoding it takes.
pub(super) struct DueItem {
    item: usize,
    stored: u64,
    /// Its turn among all work of the threads.
    turn: u64,
    decode: Decoder,
    arrived: Arrived,
    may_leave_out: bool,
    shares: Vec<Share>,
    unpacking: Option<Unpacking>,
}

/// An item that a thread is done with.
pub(super) struct DecodedItem {
    pub item: usize,
    pub outcome: ItemOutcome,
    pub shares: Vec<Share>,
}

pub(super) enum ItemOutcome {
    Decoded(Decoded),
    /// This version cannot read it, and its column may be left out.
    Refused(Error),
    Failed(Error),
}

impl DueItem {
    fn decode(self, url: &str, codecs: &mut Codecs) -> DecodedItem {
        let DueItem { item, decode, arrived, may_leave_out, shares, unpacking, .. } = self;
        let decode = |codecs: &mut Codecs| decode(arrived, codecs);
        let decode = || Unpacking::around(unpacking, codecs, decode);
        let decoded: Result<Decoded> = caught("a thread that decodes", decode);
        let outcome = match decoded {
            Ok(decoded) => ItemOutcome::Decoded(decoded),
            Err(error) if may_leave_out && error.kind() == ErrorKind::Unsupported => {
                ItemOutcome::Refused(error.with_url(url))
            }
            Err(error) => ItemOutcome::Failed(error.with_url(url)),
        };
        DecodedItem { item, outcome, shares }
    }
}

impl<S: Source> Pipeline<S> {
    /// An item is due to be decoded, if the counts that it needs are here.
    pub(super) fn arrive(&mut self, at: usize, bytes: Vec<Bytes>, shares: Vec<Share>) {
        let Some(counts) = self.counts_of(at) else {
            self.slots[at].state = State::Parked(bytes, shares);
            return;
        };
        self.slots[at].state = State::Decoding;
        let places = self.places(at);
        let item = &mut self.plan.items[at];
        let stored = item.stored();
        self.wants.decoding(stored);
        let ranges = item.pieces.iter().map(|piece| &piece.range);
        let unpacking = Unpacking::of(&self.job.remote, ranges, &bytes);
        let decode = self.source.decoder(item);
        self.due.push(DueItem {
            item: at,
            stored,
            turn: self.job.rank.place(item.entries.start),
            decode,
            arrived: Arrived { bytes, counts, places },
            may_leave_out: self.source.may_leave_out(item.column),
            shares,
            unpacking,
        });
    }

    /// Gives the decoding threads the items that are due: small ones together, but some to each
    /// thread.
    pub(super) fn decode_due(&mut self) {
        let stored: u64 = self.due.iter().map(|due| due.stored).sum();
        let threads = self.job.decoders.threads().max(1) as u64;
        let most = (stored / threads).clamp(JOB_BYTES_MIN, JOB_BYTES);
        let mut job = Vec::new();
        let mut bytes = 0;
        for due in std::mem::take(&mut self.due) {
            if bytes + due.stored > most && !job.is_empty() {
                self.decode(std::mem::take(&mut job));
                bytes = 0;
            }
            bytes += due.stored;
            job.push(due);
        }
        self.decode(job);
    }

    fn decode(&self, job: Vec<DueItem>) {
        let Some(turn) = job.iter().map(|due| due.turn).min() else { return };
        let done = self.done.clone();
        let remote = self.job.remote.clone();
        self.job.decoders.run(self.job.remote.tag(), turn, move |codecs| {
            let decoded = job.into_iter().map(|due| due.decode(remote.url(), codecs)).collect();
            let _ = done.send(Work::Decoded(decoded));
        });
    }

    /// Where an item goes, if nothing is to be decided about its entries.
    fn places(&mut self, at: usize) -> Option<Vec<Destination>> {
        let item = &self.plan.items[at];
        let certain = self.undecided.is_none() && item.column < self.job.shown;
        (certain || item.survivors.is_some())
            .then(|| self.assembly.places(&self.plan, &self.source, self.job.shown, item))
    }

    /// The counts that decoding an item takes; `None` while they are not all here.
    pub(super) fn counts_of(&self, at: usize) -> Option<Vec<Counts>> {
        let held = |counts: &usize| match &self.slots[*counts].state {
            State::Held(array, _) => {
                Some((self.plan.items[*counts].entries.clone(), Arc::clone(array)))
            }
            _ => None,
        };
        self.slots[at].counts.iter().map(held).collect()
    }
}
