//! Wants: ranges of a file that a handle has requested, on their way.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use futures::stream::SelectAll;
use futures::{Stream, StreamExt};
use tokio::sync::mpsc;

use super::ahead::Ahead;
use super::command::{DriverCommand, FileTag, Want, WantResult, WantedForm};
use super::kept::Keeping;
use super::{Delivery, Fetcher, MemoryReservation, RemoteFile, stopped};
use crate::error::Result;

/// Ranges on their way. Dropping it gives up those that have not come.
#[derive(Debug)]
pub struct Wants {
    file: FileTag,
    metadata: bool,
    form: WantedForm,
    /// The first position of each group, and its name.
    groups: Vec<(usize, u64)>,
    /// Wants ever sent for.
    total: usize,
    open: usize,
    given_up: bool,
    /// Where not everything is sent for at once.
    ahead: Option<Ahead>,
    /// Keeps the delivered bytes, after [`RemoteFile::keep`].
    keeping: Option<Keeping>,
    deliveries: SelectAll<GroupDeliveries>,
    fetcher: Fetcher,
    url: Arc<str>,
}

impl RemoteFile {
    /// Requests ranges; they are delivered in the order in which they become complete.
    pub fn want(&self, wants: Vec<Want>) -> Wants {
        self.ask(wants, false)
    }

    /// As [`RemoteFile::want`], for ranges that are decoded in the order in which they are
    /// requested. From a disk they come as they are needed: see [`Wants::decoding`].
    pub fn want_in_order(&self, wants: Vec<Want>) -> Wants {
        let mut asked = self.ask(Vec::new(), false);
        asked.ahead = self.local.then(Ahead::default);
        asked.add(wants);
        asked
    }

    /// As [`RemoteFile::want`], for bytes that are no data of a table.
    pub fn want_metadata(&self, wants: Vec<Want>) -> Wants {
        self.ask(wants, true)
    }

    pub(super) fn ask(&self, wants: Vec<Want>, metadata: bool) -> Wants {
        let mut asked = Wants {
            file: self.file,
            metadata,
            form: WantedForm::AsInFile,
            groups: Vec::new(),
            total: 0,
            open: 0,
            given_up: false,
            ahead: None,
            keeping: if metadata { None } else { self.keeper.keeping() },
            deliveries: SelectAll::new(),
            fetcher: self.fetcher.clone(),
            url: self.url.clone(),
        };
        asked.add(wants);
        asked
    }
}

impl Wants {
    /// The wants that are added from now on are baskets and pages, each whole, which are decoded:
    /// the cache may have them with another codec. Not where the bytes of each want are kept.
    pub fn with_any_codec(mut self) -> Self {
        if !self.are_kept() {
            self.form = WantedForm::AnyCodec;
        }
        self
    }

    /// Requests more; returns their positions.
    pub fn add(&mut self, wants: Vec<Want>) -> Range<usize> {
        let first = self.total + self.ahead.as_ref().map_or(0, Ahead::waiting);
        let positions = first..first + wants.len();
        self.open += wants.len();
        match &mut self.ahead {
            Some(ahead) => {
                ahead.push(wants);
                self.send_ahead();
            }
            None => self.send(wants),
        }
        positions
    }

    /// Whether the bytes of each want are kept for [`RemoteFile::take_kept`].
    pub fn are_kept(&self) -> bool {
        self.keeping.is_some()
    }

    /// Says that so many bytes that have come wait for a decoder now, or are being decoded.
    pub fn decoding(&mut self, bytes: u64) {
        if let Some(ahead) = &mut self.ahead {
            ahead.decoding(bytes);
        }
    }

    /// Says that so many of them have been decoded. More may be sent for: poll again.
    pub fn decoded(&mut self, bytes: u64) {
        if let Some(ahead) = &mut self.ahead {
            ahead.decoded(bytes);
            self.send_ahead();
        }
    }

    fn send_ahead(&mut self) {
        let wants = self.ahead.as_mut().map(Ahead::due).unwrap_or_default();
        self.send(wants);
    }

    fn send(&mut self, wants: Vec<Want>) {
        if wants.is_empty() {
            return;
        }
        let positions = self.total..self.total + wants.len();
        if let Some(keeping) = &mut self.keeping {
            keeping.asked(&wants);
        }
        let group = self.fetcher.groups.fetch_add(1, Ordering::Relaxed);
        self.groups.push((positions.start, group));
        self.total = positions.end;
        let (sink, receiver) = mpsc::unbounded_channel();
        self.deliveries.push(GroupDeliveries { first: positions.start, group, receiver });
        let file = self.file;
        let form = self.form;
        let _ = self.fetcher.commands.send(DriverCommand::Want { file, group, wants, form, sink });
    }

    /// A caller waits for these wants now, by position.
    pub fn promote(&mut self, positions: Range<usize>) {
        if let Some(ahead) = &mut self.ahead {
            ahead.promote(&positions);
        }
        self.each_group(positions, |group, indices| DriverCommand::Promote { group, indices });
    }

    /// Withdraws these wants, except those that have arrived. Withdrawn bytes may still arrive.
    pub fn give_up(&mut self, positions: Range<usize>) {
        self.given_up = true;
        if let Some(ahead) = &mut self.ahead {
            ahead.give_up(&positions);
        }
        self.each_group(positions, |group, indices| DriverCommand::GiveUp { group, indices });
        self.send_ahead();
    }

    fn each_group(
        &self,
        positions: Range<usize>,
        command: impl Fn(u64, Range<usize>) -> DriverCommand,
    ) {
        let first = self.groups.partition_point(|(first, _)| *first <= positions.start);
        for at in first.saturating_sub(1)..self.groups.len() {
            let (start, group) = self.groups[at];
            let end = self.groups.get(at + 1).map_or(self.total, |(next, _)| *next);
            let from = positions.start.max(start);
            let to = positions.end.min(end);
            if from < to {
                let _ = self.fetcher.commands.send(command(group, from - start..to - start));
            }
        }
    }
}

/// Deliveries of the wants of one group; the stream ends with the group, and with the driver.
#[derive(Debug)]
struct GroupDeliveries {
    first: usize,
    group: u64,
    receiver: mpsc::UnboundedReceiver<WantResult>,
}

impl Stream for GroupDeliveries {
    /// The first position of the group, its name, and the delivery.
    type Item = (usize, u64, WantResult);

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        let first = self.first;
        let group = self.group;
        self.receiver.poll_recv(context).map(|delivery| Some((first, group, delivery?)))
    }
}

impl Stream for Wants {
    type Item = Result<Delivery>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        if self.open == 0 {
            return Poll::Ready(None);
        }
        let delivery = self.deliveries.poll_next_unpin(context);
        if matches!(delivery, Poll::Ready(None)) && self.ahead.as_ref().is_some_and(Ahead::rests) {
            // Nothing arrives before more of the arrived bytes have been decoded.
            return Poll::Pending;
        }
        delivery.map(|delivery| {
            let Some((first, group, (index, bytes))) = delivery else {
                self.open = 0;
                return (!self.given_up).then(|| Err(stopped()));
            };
            self.open -= 1;
            let (bytes, from) = match bytes {
                Ok(came) => came,
                Err(error) => return Some(Err(error.with_url(&*self.url))),
            };
            if let Some(ahead) = &mut self.ahead {
                ahead.landed(first + index);
                self.send_ahead();
            }
            if let Some(keeping) = &self.keeping {
                keeping.arrived(first + index, &bytes, &self.fetcher);
            }
            // Not when requested: bytes that are given up before they arrive were of no use.
            let reservation =
                MemoryReservation { group, index, commands: self.fetcher.commands.clone() };
            let delivery = Delivery { index: first + index, bytes, from, reservation };
            let wanted = delivery.bytes.len() as u64;
            self.fetcher.trace.wanted(self.file.0, wanted, delivery.fetched(), self.metadata);
            Some(Ok(delivery))
        })
    }
}

impl Drop for Wants {
    fn drop(&mut self) {
        if self.open > 0 {
            for (_, group) in &self.groups {
                let _ = self.fetcher.commands.send(DriverCommand::Abandon { group: *group });
            }
        }
    }
}
