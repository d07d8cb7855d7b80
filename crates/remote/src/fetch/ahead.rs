//! The distance of the prefetch from a disk of this machine ahead of the decoding.
//!
//! A link has to be kept full, and its round-trip times show when it is. A disk brings a file long
//! before it is decoded, into fresh memory that the kernel has to clear and that has left the cache
//! when it is needed. So no more is requested than keeps disk and decoders busy, and buffers are
//! used again.

use std::collections::VecDeque;
use std::ops::Range;

use super::command::{Urgency, Want};

/// Bytes on their way from the disk, or waiting for a decoder, at the most: some long requests on
/// each connection, and some baskets for each thread.
const BYTES_MAX: u64 = 16 << 20;
/// Bytes that are requested together where there are as many, so that neighbours are read together.
const BYTES_TOGETHER: u64 = 4 << 20;

/// Wants of one read, which are sent for one after the other.
#[derive(Debug, Default)]
pub struct Ahead {
    /// By position: bytes that have been sent for and have not come.
    sent: Vec<u64>,
    /// Those that follow.
    later: VecDeque<Want>,
    flying: u64,
    /// Bytes that have come and are not decoded. Bytes that wait for others to arrive are not
    /// counted: they hold up nothing.
    decoding: u64,
}

impl Ahead {
    /// Wants that have not been sent for.
    pub fn waiting(&self) -> usize {
        self.later.len()
    }

    pub fn push(&mut self, wants: Vec<Want>) {
        self.later.extend(wants);
    }

    /// The wants whose turn it is to be sent for.
    pub fn due(&mut self) -> Vec<Want> {
        let room = BYTES_MAX.saturating_sub(self.flying + self.decoding);
        if room < BYTES_TOGETHER {
            return Vec::new();
        }
        let mut taken = 0;
        let fits = |want: &&Want| {
            let fits = taken < room;
            taken += bytes(want);
            fits
        };
        let count = self.later.iter().take_while(fits).count();
        let due: Vec<Want> = self.later.drain(..count).collect();
        self.sent.extend(due.iter().map(bytes));
        self.flying += due.iter().map(bytes).sum::<u64>();
        due
    }

    /// All that was sent for has come, and there is more to be sent for.
    pub fn rests(&self) -> bool {
        self.flying == 0 && !self.later.is_empty()
    }

    /// One has come, or will not.
    pub fn landed(&mut self, position: usize) {
        if let Some(bytes) = self.sent.get_mut(position) {
            self.flying -= std::mem::take(bytes);
        }
    }

    /// So many bytes wait for a decoder now, or are being decoded.
    pub fn decoding(&mut self, bytes: u64) {
        self.decoding += bytes;
    }

    /// So many of them have been decoded.
    pub fn decoded(&mut self, bytes: u64) {
        self.decoding = self.decoding.saturating_sub(bytes);
    }

    /// A caller waits for these wants now.
    pub fn promote(&mut self, positions: &Range<usize>) {
        self.those_of(positions).for_each(|want| want.urgency = Urgency::Demand);
    }

    /// These wants are withdrawn.
    pub fn give_up(&mut self, positions: &Range<usize>) {
        positions.clone().for_each(|position| self.landed(position));
        self.those_of(positions).for_each(|want| {
            // Nothing of it comes at once, in its turn.
            want.range.end = want.range.start;
            want.cost = 0;
        });
    }

    fn those_of(&mut self, positions: &Range<usize>) -> impl Iterator<Item = &mut Want> {
        let sent = self.sent.len();
        let waiting = self.later.len();
        let from = positions.start.saturating_sub(sent).min(waiting);
        let to = positions.end.saturating_sub(sent).clamp(from, waiting);
        self.later.range_mut(from..to)
    }
}

fn bytes(want: &Want) -> u64 {
    want.range.end - want.range.start
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures::{FutureExt, StreamExt};

    use super::*;
    use crate::address::{Address, FileLocations};
    use crate::config::Config;
    use crate::fetch::activity::Activity;
    use crate::fetch::ledger::Phase;
    use crate::fetch::{Fetcher, RemoteFile};
    use crate::source::network::Tcp;

    fn wants(count: usize, bytes: u64) -> Vec<Want> {
        vec![Want { range: 5..5 + bytes, cost: bytes, urgency: Urgency::Hint, order: 0 }; count]
    }

    #[test]
    fn no_more_is_sent_for_than_is_decoded() {
        let mut ahead = Ahead::default();
        ahead.push(wants(100, 1 << 20));
        assert_eq!(ahead.due().len(), 16);
        assert_eq!(ahead.due().len(), 0, "as much as may be is on its way");
        (0..8).for_each(|position| ahead.landed(position));
        ahead.decoding(8 << 20);
        assert_eq!(ahead.due().len(), 0, "what has come waits for decoders");
        ahead.decoded(3 << 20);
        assert_eq!(ahead.due().len(), 0, "not worth a request");
        ahead.decoded(1 << 20);
        assert_eq!(ahead.due().len(), 4);
        assert_eq!(ahead.waiting(), 80);
    }

    #[test]
    fn one_that_is_larger_than_all_that_may_be_ahead_is_sent_for() {
        let mut ahead = Ahead::default();
        ahead.push([wants(1, 1 << 30), wants(1, 1)].concat());
        assert_eq!(ahead.due().len(), 1);
        ahead.landed(0);
        ahead.landed(0);
        assert_eq!(ahead.due().len(), 1);
    }

    #[test]
    fn what_is_waited_for_is_a_demand_wherever_it_stands() {
        let mut ahead = Ahead::default();
        ahead.push(wants(10, 0));
        ahead.due();
        ahead.push(wants(4, 1));
        ahead.promote(&(8..12));
        ahead.promote(&(0..10));
        ahead.promote(&(14..20));
        let urgencies: Vec<Urgency> = ahead.due().iter().map(|want| want.urgency).collect();
        use Urgency::{Demand, Hint};
        assert_eq!(urgencies, [Demand, Demand, Hint, Hint]);
    }

    #[test]
    fn what_is_given_up_makes_room_and_brings_nothing() {
        let mut ahead = Ahead::default();
        ahead.push(wants(20, 1 << 20));
        assert_eq!(ahead.due().len(), 16);
        ahead.give_up(&(12..18));
        let due: Vec<u64> = ahead.due().iter().map(bytes).collect();
        assert_eq!(due, [0, 0, 1 << 20, 1 << 20]);
        (0..20).for_each(|position| ahead.landed(position));
        assert_eq!(ahead.flying, 0, "what came although it was given up counts once");
    }

    /// A file of so many bytes, open.
    async fn opened(bytes: u64) -> (tempfile::NamedTempFile, RemoteFile) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        let url = Address::local(file.path()).unwrap();
        let locations = FileLocations::from(vec![url]);
        let network = Arc::new(Tcp::new(Duration::from_secs(5)));
        let fetcher = Fetcher::start(&Config::default(), network);
        let activity = Activity::begin(fetcher.trace(), Phase::Opening, None);
        let remote = fetcher.open(locations, 0, 0, &activity).await.unwrap();
        (file, remote)
    }

    /// Pieces of 1 MB, one behind the other.
    fn pieces(count: u64) -> Vec<Want> {
        let want = |at: u64| Want { range: at << 20..(at + 1) << 20, ..wants(1, 0).remove(0) };
        (0..count).map(want).collect()
    }

    #[tokio::test]
    async fn a_disk_waits_for_decoders() {
        let (_file, remote) = opened(40 << 20).await;
        let mut asked = remote.want_in_order(pieces(40));
        let mut come = Vec::new();
        for _ in 0..16 {
            let delivery = asked.next().await.unwrap().unwrap();
            asked.decoding(delivery.bytes.len() as u64);
            come.push(delivery.index);
        }
        assert!(asked.next().now_or_never().is_none(), "nothing has been decoded");
        for _ in 0..16 {
            asked.decoded(1 << 20);
        }
        while let Some(delivery) = asked.next().await {
            come.push(delivery.unwrap().index);
        }
        come.sort_unstable();
        assert_eq!(come, (0..40).collect::<Vec<_>>());
    }

    /// The driver kept the bytes until the reservation was gone: all of a file was in memory beside
    /// its decoded arrays, and no buffer was used twice.
    #[tokio::test]
    async fn what_has_come_is_kept_by_its_taker_alone() {
        let (_file, remote) = opened(1 << 20).await;
        let mut asked = remote.want_in_order(wants(1, 1000));
        let delivery = asked.next().await.unwrap().unwrap();
        // The driver goes on after it has sent the event.
        tokio::task::yield_now().await;
        assert!(delivery.bytes.is_unique());
        drop(delivery.reservation);
    }

    #[tokio::test]
    async fn what_is_given_up_holds_up_nothing() {
        let (_file, remote) = opened(60 << 20).await;
        let mut asked = remote.want_in_order(pieces(60));
        asked.give_up(0..40);
        let mut come = Vec::new();
        while let Some(delivery) = asked.next().await {
            let delivery = delivery.unwrap();
            if !delivery.bytes.is_empty() {
                come.push(delivery.index);
            }
        }
        // Bytes that had been requested before they were given up may arrive all the same.
        come.retain(|index| *index >= 16);
        come.sort_unstable();
        assert_eq!(come, (40..60).collect::<Vec<_>>());
    }
}
