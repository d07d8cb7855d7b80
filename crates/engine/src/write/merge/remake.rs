//! Baskets and pages that go through the threads: compressed anew, joined, and placed in order.
//!
//! Where only some entries of a basket are taken, a thread does that first. Baskets of a tree are
//! held until there are enough of them, to the end of a cluster; then those of each branch are one
//! job. Jobs are placed in the order in which they were given out, which follows from the inputs
//! alone.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use remote::{Error, ErrorKind, Result};
use rootfile::write::Encoders;
use rootfile::write::copy::{BranchRemake, CopiedNTuple, HeldBasket, Remake, basket};
use rootfile::{Codecs, Error as FormatError};
use tokio::sync::oneshot;

use super::plan::{MergePlan, Output, OutputContent};
use crate::located::Located;
use crate::read::threads::decoders::Decoders;

/// Stored bytes of a tree that are held for one round of jobs, about.
pub const HELD_BYTES: u64 = 32 << 20;
/// Stored bytes that the threads have, or that wait for their place.
const JOBS_BYTES: usize = 48 << 20;

/// What is held, and what the threads have.
pub struct Remaking {
    remake: Remake,
    decoders: Decoders,
    /// By output and branch.
    held: BTreeMap<(usize, usize), Vec<HeldBasket>>,
    /// How branches are compressed, of which that is known.
    known: BTreeMap<(usize, usize), BranchRemake>,
    items: VecDeque<Item>,
    jobs_bytes: usize,
}

/// A basket on its way: its output and branch, and which of its entries are taken.
pub struct Taken {
    pub branch: (usize, usize),
    pub basket: HeldBasket,
    pub kept: Option<Box<[Range<u32>]>>,
}

/// What is done in turn.
enum Item {
    Job(Job),
    /// Baskets that are held from now on.
    Hold(Vec<Taken>),
    /// The baskets of an output that are held are made anew.
    Cut(usize),
}

/// A page of an RNTuple: its cluster and place there, its bytes, and what is in them.
pub struct Page {
    pub place: (usize, usize),
    pub bytes: Vec<u8>,
    pub content: (usize, bool),
}

struct Job {
    bytes: usize,
    made: oneshot::Receiver<rootfile::Result<Made>>,
    output: usize,
}

enum Made {
    Taken(Vec<Taken>),
    Baskets { branch: usize, baskets: Vec<HeldBasket>, how: BranchRemake },
    Pages(Vec<Page>),
}

impl Remaking {
    pub fn new(remake: Remake, decoders: Decoders) -> Self {
        let (held, known) = (BTreeMap::new(), BTreeMap::new());
        let items = VecDeque::new();
        Remaking { remake, decoders, held, known, items, jobs_bytes: 0 }
    }

    /// Takes baskets of an output, whose entries the threads take out where these are not all.
    pub fn hold(&mut self, output: usize, baskets: Vec<Taken>) {
        if baskets.iter().all(|basket| basket.kept.is_none()) {
            return self.items.push_back(Item::Hold(baskets));
        }
        let bytes = baskets.iter().map(|taken| taken.basket.record.len()).sum();
        self.give(output, bytes, move |codecs, _| {
            let take = |Taken { branch, basket, kept }| {
                let basket = match kept {
                    Some(kept) => basket.take(&kept, codecs)?,
                    None => basket,
                };
                Ok(Taken { branch, basket, kept: None })
            };
            Ok(Made::Taken(baskets.into_iter().map(take).collect::<rootfile::Result<_>>()?))
        });
    }

    /// The baskets of an output that are held are made anew, when it is their turn.
    pub fn cut(&mut self, output: usize) {
        self.items.push_back(Item::Cut(output));
    }

    /// Gives the baskets of a tree that are held to the threads.
    fn remake(&mut self, plan: &MergePlan, output: usize) {
        let OutputContent::Tree(tree) = &plan.outputs[output].content else { return };
        let mut held = self.held.split_off(&(output, 0));
        self.held.append(&mut held.split_off(&(output + 1, 0)));
        for ((_, branch), mut baskets) in held {
            baskets.sort_by_key(|basket| basket.first_entry);
            let bytes = baskets.iter().map(|basket| basket.record.len()).sum();
            let new = || {
                let (may_join, usual) = (tree.may_join(branch), tree.compression(branch));
                BranchRemake::new(self.remake, may_join, usual)
            };
            let mut how = self.known.get(&(output, branch)).copied().unwrap_or_else(new);
            self.give(output, bytes, move |codecs, encoders| {
                let baskets = how.baskets(baskets, codecs, encoders)?;
                Ok(Made::Baskets { branch, baskets, how })
            });
        }
    }

    /// Gives pages to the threads.
    pub fn pages(&mut self, output: usize, pages: Vec<Page>) {
        let bytes = pages.iter().map(|page| page.bytes.len()).sum();
        let remake = self.remake;
        self.give(output, bytes, move |codecs, encoders| {
            let mut made = Vec::with_capacity(pages.len());
            for Page { place, bytes, content } in pages {
                let bytes = remake.page(&bytes, content, codecs, encoders)?;
                made.push(Page { place, bytes, content });
            }
            Ok(Made::Pages(made))
        });
    }

    fn give(
        &mut self,
        output: usize,
        bytes: usize,
        work: impl FnOnce(&mut Codecs, &mut Encoders) -> rootfile::Result<Made> + Send + 'static,
    ) {
        let (done, made) = oneshot::channel();
        self.decoders.spawn(move || {
            // A receiver that is gone has given the merge up.
            let _ = done.send(work(&mut Codecs::new(), &mut Encoders::default()));
        });
        self.items.push_back(Item::Job(Job { output, bytes, made }));
        self.jobs_bytes += bytes;
    }

    /// Places what is done, until the threads have room for more.
    pub async fn place_some(&mut self, plan: &mut MergePlan, url: &str) -> Result<()> {
        self.place_down_to(JOBS_BYTES, plan, url).await
    }

    /// Places all that the threads have.
    pub async fn place_all(&mut self, plan: &mut MergePlan, url: &str) -> Result<()> {
        self.place_down_to(0, plan, url).await
    }

    async fn place_down_to(&mut self, most: usize, plan: &mut MergePlan, url: &str) -> Result<()> {
        while let Some(item) = self.items.pop_front() {
            let Job { output, bytes, made } = match item {
                Item::Hold(baskets) => {
                    self.held_now(baskets);
                    continue;
                }
                Item::Cut(output) => {
                    self.remake(plan, output);
                    continue;
                }
                Item::Job(job) if self.jobs_bytes > most || most == 0 => job,
                job => {
                    self.items.push_front(job);
                    break;
                }
            };
            self.jobs_bytes -= bytes;
            let failed = |_| {
                let text = "a thread that compresses has failed";
                Error::new(ErrorKind::Io, text).with_advice("please report it")
            };
            let path = plan.outputs[output].path.clone();
            let located = |error: FormatError| error.within(&path).located(url);
            match made.await.map_err(failed)?.map_err(located)? {
                Made::Taken(baskets) => self.held_now(baskets),
                Made::Baskets { branch, baskets, how } => {
                    self.known.entry((output, branch)).or_insert(how);
                    for basket in &baskets {
                        place_basket(plan, (output, branch), basket).map_err(located)?;
                    }
                }
                Made::Pages(pages) => place_pages(plan, output, pages).map_err(located)?,
            }
        }
        Ok(())
    }

    fn held_now(&mut self, baskets: Vec<Taken>) {
        for Taken { branch, basket, .. } in baskets {
            self.held.entry(branch).or_default().push(basket);
        }
    }
}

/// Places a basket that was in no input as it is.
pub fn place_basket(
    plan: &mut MergePlan,
    (output, branch): (usize, usize),
    made: &HeldBasket,
) -> rootfile::Result<()> {
    let Output { directory, content: OutputContent::Tree(tree), .. } = &mut plan.outputs[output]
    else {
        return Ok(());
    };
    let place = plan.writer.place(*directory)?;
    let cycle = tree.push(branch, made, place);
    let mut record = made.record.to_vec();
    basket::move_record(&mut record, 0, place, (cycle, 0))?;
    plan.writer.append(record.into());
    Ok(())
}

/// Places pages as one record.
fn place_pages(plan: &mut MergePlan, output: usize, pages: Vec<Page>) -> rootfile::Result<()> {
    let Output { directory, content: OutputContent::NTuple(ntuple), .. } =
        &mut plan.outputs[output]
    else {
        return Ok(());
    };
    let place = plan.writer.place(*directory)?;
    let len = pages.iter().map(|page| page.bytes.len()).sum();
    let key = CopiedNTuple::key(place, len)?;
    let mut offset = place.offset + key.len() as u64;
    plan.writer.append(key.into());
    for Page { place, bytes, .. } in pages {
        ntuple.place(place, offset, bytes.len());
        offset += bytes.len() as u64;
        plan.writer.append(bytes.into());
    }
    Ok(())
}
