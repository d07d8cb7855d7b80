//! Baskets and pages that go through the threads: compressed anew, joined, and placed in order.
//!
//! Where only some entries of a basket are taken, a thread does that first. Baskets of a tree are
//! held until there are enough of them, to the end of a cluster: a cut. Threads compress and join
//! those of each branch as they arrive. Results are placed at the next cut, or when there are too
//! many pages: both depend on the inputs alone, so the threads' speed does not change the file.
//! Where nothing else is written, results are placed as soon as they are there, in the same order.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use remote::{Error, ErrorKind, Result};
use rootfile::write::copy::{
    BlockNumbers, BranchRemake, HeldBasket, JoinedFields, NTuplePart, PageContent, Remake,
    TakenField,
};
use rootfile::write::{Compression, Encoders};
use rootfile::{Codecs, Error as FormatError};
use tokio::sync::oneshot;

use super::branch_queue::{BranchQueue, Made};
use super::table::{MadeBlocks, PlaceBlocks};
use super::taken_entries::{ArrivedPage, OpenClusters, TakenFields, WholeFields};
use crate::located::Located;
use crate::read::threads::decoders::Decoders;
use crate::write::encoders::run_on;

/// Stored bytes of a tree that are held for one round of jobs, about.
pub const HELD_BYTES: u64 = 32 << 20;
/// Maximum stored bytes of baskets that threads take entries from, and of pages not placed yet.
const JOBS_BYTES: usize = 48 << 20;
/// Maximum bytes of the decoded entries that threads take from pages not placed yet.
const DECODED_BYTES: u64 = 64 << 20;

/// Baskets and pages that are held, and those that the threads have.
pub struct Recompressor {
    remake: Remake,
    /// Nothing else is written meanwhile: whether baskets are placed sooner or later, they get the
    /// same places.
    is_alone: bool,
    decoders: Decoders,
    /// By output and branch.
    held: BTreeMap<(usize, usize), BranchQueue>,
    /// Baskets that are to be held, and cuts, in their order.
    waiting: VecDeque<Item>,
    /// Baskets behind the next cut, which arrived before it.
    ahead: Vec<Item>,
    /// Stored bytes of baskets that threads take entries from.
    taking_bytes: usize,
    /// How many cuts there were, and how many of them have been given to the threads.
    cuts: usize,
    cuts_begun: usize,
    /// Branches whose baskets up to a cut are not placed yet.
    baskets: VecDeque<CutBranch>,
    pages: VecDeque<Job<MadePages>>,
    pages_bytes: usize,
    decoded_bytes: u64,
    /// Pages of RNTuples that have been read, by output; entries that were taken, by output and
    /// cluster of the output.
    open: BTreeMap<usize, OpenClusters>,
    taken: BTreeMap<(usize, usize), TakenFields>,
}

/// A basket on its way to the threads.
pub struct TakenBasket {
    pub branch: usize,
    pub basket: HeldBasket,
    /// The entries that are taken; `None` for all.
    pub kept: Option<Box<[Range<u32>]>>,
    pub rules: BranchRules,
}

/// How the baskets of a branch may be made anew.
#[derive(Debug, Clone, Copy)]
pub struct BranchRules {
    pub may_join: bool,
    /// How the branch says that they are compressed.
    pub compression: Compression,
}

/// Work that is done in turn.
enum Item {
    Take(Job<Vec<TakenBasket>>),
    /// Baskets that are held from now on.
    Hold(usize, Vec<TakenBasket>),
    /// The baskets of an output that are held are made anew.
    Cut(usize),
}

/// A page of an RNTuple.
pub struct Page {
    pub place: BlockNumbers,
    pub bytes: Vec<u8>,
    pub content: PageContent,
}

/// The result that a thread makes of `bytes` stored bytes.
struct Job<T> {
    output: usize,
    bytes: usize,
    made: oneshot::Receiver<rootfile::Result<T>>,
}

/// The baskets of a branch up to the cut number `cut`, since the cut before.
struct CutBranch {
    cut: usize,
    branch: (usize, usize),
    made: Made,
}

/// Results that threads make of pages.
enum MadePages {
    Pages(Vec<Page>),
    /// Entries for the output's cluster `group`; `cluster` counts the clusters of all inputs.
    Fields {
        group: usize,
        cluster: usize,
        fields: Vec<TakenField>,
        decoded_bytes: u64,
        part: Arc<NTuplePart>,
        is_last: bool,
    },
    Joined {
        group: usize,
        fields: JoinedFields,
    },
}

impl Recompressor {
    /// `is_alone` where nothing else is written while baskets are made anew.
    pub fn new(remake: Remake, is_alone: bool, decoders: Decoders) -> Self {
        Recompressor {
            remake,
            is_alone,
            decoders,
            held: BTreeMap::new(),
            waiting: VecDeque::new(),
            ahead: Vec::new(),
            taking_bytes: 0,
            cuts: 0,
            cuts_begun: 0,
            baskets: VecDeque::new(),
            pages: VecDeque::new(),
            pages_bytes: 0,
            decoded_bytes: 0,
            open: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    /// Takes baskets of an output; where only some entries are kept, threads take these out.
    /// `is_ahead` if the baskets are behind the next cut.
    pub fn hold(&mut self, output: usize, baskets: Vec<TakenBasket>, is_ahead: bool) {
        let item = self.item(output, baskets);
        match is_ahead {
            true => self.ahead.push(item),
            false => self.waiting.push_back(item),
        }
    }

    fn item(&mut self, output: usize, baskets: Vec<TakenBasket>) -> Item {
        if baskets.iter().all(|basket| basket.kept.is_none()) {
            return Item::Hold(output, baskets);
        }
        let bytes = baskets.iter().map(|taken| taken.basket.record.len()).sum();
        let job = self.give(output, bytes, move |codecs, _| {
            let take = |taken: TakenBasket| {
                let basket = match taken.kept {
                    Some(kept) => taken.basket.take(&kept, codecs)?,
                    None => taken.basket,
                };
                Ok(TakenBasket { basket, kept: None, ..taken })
            };
            baskets.into_iter().map(take).collect()
        });
        self.taking_bytes += bytes;
        Item::Take(job)
    }

    /// The baskets of an output that are held are made anew, when it is their turn.
    pub fn cut(&mut self, output: usize) {
        self.cuts += 1;
        self.waiting.push_back(Item::Cut(output));
        self.waiting.extend(self.ahead.drain(..));
    }

    /// Gives pages to the threads.
    pub fn compress(&mut self, output: usize, pages: Vec<Page>) {
        let bytes = pages.iter().map(|page| page.bytes.len()).sum();
        let remake = self.remake;
        let job = self.give(output, bytes, move |codecs, encoders| {
            let mut made = Vec::with_capacity(pages.len());
            for Page { place, bytes, content } in pages {
                let bytes = remake.page(&bytes, content, codecs, encoders)?;
                made.push(Page { place, bytes, content });
            }
            Ok(MadePages::Pages(made))
        });
        self.pages_bytes += bytes;
        self.pages.push_back(job);
    }

    /// Adds pages of clusters of which some entries are taken: threads take the entries of each
    /// field that has all its pages.
    pub fn take(&mut self, output: usize, part: &Arc<NTuplePart>, pages: Vec<ArrivedPage>) {
        let whole = self.open.entry(output).or_default().add(part, pages);
        for WholeFields { cluster, fields, pages, decoded_bytes, group, is_last } in whole {
            let bytes = pages.values().map(Bytes::len).sum();
            let part = part.clone();
            let job = self.give(output, bytes, move |codecs, _| {
                let take = |field| part.take(cluster, field, &pages, codecs);
                let fields = fields.into_iter().map(take).collect::<rootfile::Result<_>>()?;
                let cluster = part.number(cluster);
                Ok(MadePages::Fields { group, cluster, fields, decoded_bytes, part, is_last })
            });
            self.pages_bytes += bytes;
            self.decoded_bytes = self.decoded_bytes.saturating_add(decoded_bytes);
            self.pages.push_back(job);
        }
    }

    /// Places all pages of an RNTuple, except those of entries for the cluster `open`, which waits
    /// for entries of further inputs.
    pub async fn place_taken(
        &mut self,
        plan: &mut dyn PlaceBlocks,
        output: usize,
        open: Option<usize>,
        url: &str,
    ) -> Result<()> {
        self.place_all(plan, url).await?;
        let groups = self.taken.range((output, 0)..(output + 1, 0)).map(|((_, group), _)| *group);
        let ended: Vec<usize> = groups.filter(|group| Some(*group) != open).collect();
        ended.into_iter().for_each(|group| self.join(output, group));
        self.place_all(plan, url).await
    }

    /// Gives the entries taken for a cluster of an output to the threads, to encode them.
    fn join(&mut self, output: usize, group: usize) {
        let Some(taken) = self.taken.remove(&(output, group)) else { return };
        let Remake { compression, joined, .. } = self.remake;
        let compression = compression.or(joined).unwrap_or(Compression::NONE);
        let part = taken.part.clone();
        for (fields, bytes) in taken.parts() {
            let part = part.clone();
            let job = self.give(output, bytes, move |_, encoders| {
                let fields = part.join(fields, compression, encoders)?;
                Ok(MadePages::Joined { group, fields })
            });
            self.pages_bytes += bytes;
            self.pages.push_back(job);
        }
    }

    /// Drops the counts of an RNTuple's clusters, after the end of an input.
    ///
    /// # Errors
    /// `Corrupt` where a cluster lacks pages, and so entries of it were not taken.
    pub fn end_ntuple(&mut self, output: usize) -> rootfile::Result<()> {
        match self.open.remove(&output).and_then(|open| open.incomplete()) {
            None => Ok(()),
            Some(cluster) => {
                let message = format!("cluster {cluster}: some of its pages were not read");
                Err(FormatError::corrupt(message))
            }
        }
    }

    fn give<T: Send + 'static>(
        &self,
        output: usize,
        bytes: usize,
        work: impl FnOnce(&mut Codecs, &mut Encoders) -> rootfile::Result<T> + Send + 'static,
    ) -> Job<T> {
        let (done, made) = oneshot::channel();
        run_on(&self.decoders, move |codecs, encoders| {
            // A receiver that is gone has given the merge up.
            let _ = done.send(work(codecs, encoders));
        });
        Job { output, bytes, made }
    }

    /// Gives all work that is due to the threads; places all cuts but the last one, and pages
    /// above [`JOBS_BYTES`] and [`DECODED_BYTES`]. Waits until the threads have room for more.
    pub async fn place_some(&mut self, plan: &mut dyn PlaceBlocks, url: &str) -> Result<()> {
        let last = self.cuts.saturating_sub(1);
        while self.cuts_begun < last {
            poll_fn(|context| self.poll_advance(plan, url, context)).await?;
        }
        while let Some(next) = self.baskets.pop_front_if(|next| next.cut < last) {
            place_made(plan, next.branch, done(next.made).await?, url)?;
        }
        while self.taking_bytes > JOBS_BYTES
            && poll_fn(|context| self.poll_advance(plan, url, context)).await?
        {}
        poll_fn(|context| Poll::Ready(self.poll_ready(plan, url, context))).await?;
        self.place_pages(JOBS_BYTES, plan, url).await
    }

    /// Places all that the threads have.
    pub async fn place_all(&mut self, plan: &mut dyn PlaceBlocks, url: &str) -> Result<()> {
        while self.place_next(plan, url).await? {}
        Ok(())
    }

    /// Places the next of all that the threads have: the baskets of a branch, or all pages; `false`
    /// once nothing is left.
    pub async fn place_next(&mut self, plan: &mut dyn PlaceBlocks, url: &str) -> Result<bool> {
        while poll_fn(|context| self.poll_advance(plan, url, context)).await? {}
        if let Some(next) = self.baskets.pop_front() {
            place_made(plan, next.branch, done(next.made).await?, url)?;
            return Ok(true);
        }
        self.place_pages(0, plan, url).await?;
        Ok(false)
    }

    /// Does the work that needs no waiting: passes baskets on whose entries have been taken, and
    /// where nothing else is written places those that are made.
    pub fn poll_ready(
        &mut self,
        plan: &mut dyn PlaceBlocks,
        url: &str,
        context: &mut Context<'_>,
    ) -> Result<()> {
        while let Poll::Ready(true) = self.poll_advance(plan, url, context)? {}
        while self.is_alone
            && let Some(next) = self.baskets.front_mut()
            && let Poll::Ready(made) = next.made.poll_unpin(context)
        {
            let branch = next.branch;
            let made = made.map_err(|_| thread_failed())?;
            self.baskets.pop_front();
            place_made(plan, branch, made, url)?;
        }
        Ok(())
    }

    /// Does the next of the waiting items; `false` where there is none. A plan may change threads,
    /// but not be shared by them: so `plan` is unique.
    fn poll_advance(
        &mut self,
        plan: &mut dyn PlaceBlocks,
        url: &str,
        context: &mut Context<'_>,
    ) -> Poll<Result<bool>> {
        match self.waiting.front_mut() {
            None => return Poll::Ready(Ok(false)),
            Some(Item::Take(job)) => {
                let made = ready!(job.made.poll_unpin(context)).map_err(|_| thread_failed())?;
                let output = job.output;
                let bytes = job.bytes;
                self.taking_bytes -= bytes;
                let baskets = made.map_err(|error| located(error, output, plan, url))?;
                self.held_now(output, baskets);
            }
            Some(Item::Hold(output, baskets)) => {
                let output = *output;
                let baskets = std::mem::take(baskets);
                self.held_now(output, baskets);
            }
            Some(Item::Cut(output)) => {
                let output = *output;
                self.begin_cut(output);
            }
        }
        self.waiting.pop_front();
        Poll::Ready(Ok(true))
    }

    /// Lets the threads make the baskets of an output that are held.
    fn begin_cut(&mut self, output: usize) {
        let branches = self.held.range_mut((output, 0)..(output + 1, 0));
        for (branch, queue) in branches {
            let Some(made) = queue.cut(&self.decoders) else { continue };
            let cut = self.cuts_begun;
            let branch = *branch;
            self.baskets.push_back(CutBranch { cut, branch, made });
        }
        self.cuts_begun += 1;
    }

    /// Adds baskets to the queues of their branches.
    fn held_now(&mut self, output: usize, baskets: Vec<TakenBasket>) {
        for TakenBasket { branch, basket, rules, .. } in baskets {
            let new = || {
                let BranchRules { may_join, compression } = rules;
                BranchQueue::new(BranchRemake::new(self.remake, may_join, compression))
            };
            let queue = self.held.entry((output, branch)).or_insert_with(new);
            queue.add(basket, &self.decoders);
        }
    }

    /// Places pages until at most `most` stored bytes of pages are not placed.
    async fn place_pages(
        &mut self,
        most: usize,
        plan: &mut dyn PlaceBlocks,
        url: &str,
    ) -> Result<()> {
        while (self.pages_bytes > most || self.decoded_bytes > DECODED_BYTES || most == 0)
            && let Some(job) = self.pages.pop_front()
        {
            self.pages_bytes -= job.bytes;
            let output = job.output;
            let placed = match job.done().await? {
                Ok(MadePages::Pages(pages)) => plan.place(output, MadeBlocks::Pages(pages)),
                Ok(MadePages::Fields { group, cluster, fields, decoded_bytes, part, is_last }) => {
                    self.decoded_bytes = self.decoded_bytes.saturating_sub(decoded_bytes);
                    let new = || TakenFields::new(part);
                    self.taken.entry((output, group)).or_insert_with(new).add(cluster, fields);
                    if is_last {
                        self.join(output, group);
                    }
                    Ok(())
                }
                Ok(MadePages::Joined { group, fields }) => {
                    plan.place(output, MadeBlocks::Joined(group, fields))
                }
                Err(error) => Err(error),
            };
            placed.map_err(|error| located(error, output, plan, url))?;
        }
        Ok(())
    }
}

impl<T> Job<T> {
    /// Waits for the result of the thread.
    async fn done(self) -> Result<rootfile::Result<T>> {
        done(self.made).await
    }
}

/// Waits for the result of a thread.
async fn done<T>(made: oneshot::Receiver<rootfile::Result<T>>) -> Result<rootfile::Result<T>> {
    made.await.map_err(|_| thread_failed())
}

fn thread_failed() -> Error {
    let text = "a thread that compresses has failed";
    Error::new(ErrorKind::Io, text).with_advice("please report it")
}

/// Places the baskets that a thread has made of a branch's baskets.
fn place_made(
    plan: &mut dyn PlaceBlocks,
    of: (usize, usize),
    made: rootfile::Result<Vec<HeldBasket>>,
    url: &str,
) -> Result<()> {
    let (output, branch) = of;
    let place = |basket| plan.place(output, MadeBlocks::Basket(branch, basket));
    let placed = made.and_then(|baskets| baskets.into_iter().try_for_each(place));
    placed.map_err(|error| located(error, output, plan, url))
}

fn located(error: FormatError, output: usize, plan: &dyn PlaceBlocks, url: &str) -> Error {
    error.within(plan.path(output)).located(url)
}
