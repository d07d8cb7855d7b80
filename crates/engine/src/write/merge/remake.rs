//! Baskets and pages that go through the threads: compressed anew, joined, and placed in order.
//!
//! Baskets of a tree are held until there are enough of them, to the end of a cluster; then those
//! of each branch are one job. Jobs are placed in the order in which they were given out, which
//! follows from the inputs alone.

use std::collections::{BTreeMap, VecDeque};

use remote::{Error, ErrorKind, Result};
use rootfile::write::Encoders;
use rootfile::write::copy::{CopiedNTuple, HeldBasket, Remake, basket};
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
    jobs: VecDeque<Job>,
    jobs_bytes: usize,
}

/// A page of an RNTuple: its cluster and place there, its bytes, and what is in them.
pub struct Page {
    pub place: (usize, usize),
    pub bytes: Vec<u8>,
    pub content: (usize, bool),
}

struct Job {
    output: usize,
    bytes: usize,
    made: oneshot::Receiver<rootfile::Result<Made>>,
}

enum Made {
    Baskets { branch: usize, baskets: Vec<HeldBasket> },
    Pages(Vec<Page>),
}

impl Remaking {
    pub fn new(remake: Remake, decoders: Decoders) -> Self {
        let (held, jobs) = (BTreeMap::new(), VecDeque::new());
        Remaking { remake, decoders, held, jobs, jobs_bytes: 0 }
    }

    pub fn hold(&mut self, (output, branch): (usize, usize), basket: HeldBasket) {
        self.held.entry((output, branch)).or_default().push(basket);
    }

    /// Gives the baskets of a tree that are held to the threads.
    pub fn cut(&mut self, plan: &MergePlan, output: usize) {
        let OutputContent::Tree(tree) = &plan.outputs[output].content else { return };
        let mut held = self.held.split_off(&(output, 0));
        self.held.append(&mut held.split_off(&(output + 1, 0)));
        for ((_, branch), mut baskets) in held {
            baskets.sort_by_key(|basket| basket.first_entry);
            let bytes = baskets.iter().map(|basket| basket.record.len()).sum();
            let (remake, how) = (self.remake, (tree.may_join(branch), tree.compression(branch)));
            self.give(output, bytes, move |codecs, encoders| {
                let baskets = remake.baskets(baskets, how, codecs, encoders)?;
                Ok(Made::Baskets { branch, baskets })
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
        self.jobs.push_back(Job { output, bytes, made });
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
        while self.jobs_bytes > most || most == 0 {
            let Some(Job { output, bytes, made }) = self.jobs.pop_front() else { break };
            self.jobs_bytes -= bytes;
            let failed = |_| {
                let text = "a thread that compresses has failed";
                Error::new(ErrorKind::Io, text).with_advice("please report it")
            };
            let path = plan.outputs[output].path.clone();
            let located = |error: FormatError| error.within(&path).located(url);
            match made.await.map_err(failed)?.map_err(located)? {
                Made::Baskets { branch, baskets } => {
                    for basket in &baskets {
                        place_basket(plan, (output, branch), basket).map_err(located)?;
                    }
                }
                Made::Pages(pages) => place_pages(plan, output, pages).map_err(located)?,
            }
        }
        Ok(())
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
