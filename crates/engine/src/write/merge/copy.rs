//! Baskets from the inputs to the output: ranges are read ahead, and written in order. Baskets that
//! are compressed or joined again go to the threads in the order in which they arrive.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use remote::fetch::{RemoteFile, Wants};
use remote::{Error, ErrorKind, Remote, Result};
use rootfile::write::Encoders;
use rootfile::write::copy::{
    BasketPart, CopiedNTuple, Counts, FilledBasket, HeldBasket, NTuplePart, Remake, TreePart,
    basket,
};
use tokio::task::JoinHandle;

use super::ahead::AheadBaskets;
use super::carrier::Carrier;
use super::chunks::{Chunk, CopiedPiece, Place, Task, tasks, tasks_in_order};
use super::counts;
use super::finish;
use super::ntuples;
use super::options::{MergeProgress, MergeReport};
use super::plan::{CopiedPart, MergePlan, Output, OutputContent, PlannedInput};
use super::reads::{Reads, none_read};
use super::remake::{Page, Remaking, Taken, place_basket};
use super::requested::{ArrivedPieces, RequestedChunk};
use super::taking::ArrivedPage;
use crate::located::Located;
use crate::read::file::session::Session;

/// Maximum bytes that are requested and not yet written: of remote files for the round trips, of
/// local ones as few as the processor's caches keep until they are written.
const WINDOW_BYTES: u64 = 128 << 20;
const WINDOW_BYTES_HERE: u64 = 8 << 20;
/// Bytes of baskets that are made for branches which an input lacks, before they are handed over.
const FILLED_BYTES: usize = 1 << 20;
/// Maximum number of inputs that are opened ahead: of small remote files, about as many as a link
/// transfers in one round trip.
const FILES_OPEN: usize = 64;

/// Steps, in the order of the output.
enum Step {
    /// The next input begins.
    Begin(usize),
    Copy(Box<ArrivedPieces>),
    Add(usize, Vec<Place>),
    Cut(usize, u64),
    End(usize),
}

/// A step whose turn is after those before it, and a chunk that becomes steps as it arrives.
enum Queued {
    Step(Step),
    Requested(Box<RequestedChunk>),
}

/// Copies all baskets, and writes the rest of the file.
pub async fn run(
    session: &Session,
    (plan, source): (MergePlan, InputFiles),
    carrier: &mut Carrier,
    url: &str,
    now: &mut MergeProgress,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<MergeReport> {
    let (mut plan, mut source) = (plan, source);
    let is_alone = plan.has_one_table();
    let remaking = plan.remake();
    let remaking = remaking.map(|how| Remaking::new(how, is_alone, session.decoders().clone()));
    let mut target = Target { encoders: Encoders::default(), records: 0, processes: 0, remaking };
    while let Some(step) = source.next(&mut plan, (&mut target.remaking, url)).await? {
        // This step's reservations of the memory budget, held until its bytes are written.
        let mut counted = Vec::new();
        match step {
            Step::Begin(input) => {
                let input = plan.inputs[input].clone();
                let coding = (&mut target.remaking, &mut target.encoders);
                ntuples::end_open_clusters(&mut plan, (Some(&input), url), coding).await?;
                plan.begin_outputs(&input, &mut target.encoders).located(url)?;
                target.begin(&mut plan, &input);
                (now.read, now.total_bytes) = (now.read.max(plan.inputs.len()), plan.total_bytes());
            }
            Step::Copy(mut arrived) => {
                counted.append(&mut arrived.reservations);
                let input = plan.inputs[arrived.input].clone();
                let copied = match &target.remaking {
                    Some(_) => target.take(&plan, &input, &arrived),
                    None => target.copy(&mut plan, &arrived),
                };
                copied.located(arrived.file.url())?;
                source.pending_bytes -= arrived.asked_bytes;
                now.copied_bytes += arrived.pieces.iter().map(CopiedPiece::len).sum::<u64>();
                progress(*now);
            }
            Step::Add(input, places) => {
                let input = plan.inputs[input].clone();
                target.add(&mut plan, &input, &places).located(url)?;
            }
            Step::Cut(output, entry) => target.cut(&mut plan, output, entry),
            Step::End(number) => {
                let input = plan.inputs[number].clone();
                target.end(&mut plan, &input).located(&*input.url)?;
                fill((session, carrier), &mut plan, &input, &mut target).await?;
                let coding = (&mut target.remaking, &mut target.encoders);
                ntuples::end_input(&mut plan, (&input, url), coding).await?;
                plan.end_input(number);
            }
        }
        if let Some(remaking) = &mut target.remaking {
            remaking.place_some(&mut plan, url).await?;
        }
        carrier.drain(&mut plan.writer, counted).await?;
    }
    if let Some(remaking) = &mut target.remaking {
        (0..plan.outputs.len()).for_each(|output| remaking.cut(output));
        while remaking.place_next(&mut plan, url).await? {
            carrier.drain(&mut plan.writer, Vec::new()).await?;
        }
    }
    let coding = (&mut target.remaking, &mut target.encoders);
    ntuples::end_open_clusters(&mut plan, (None, url), coding).await?;
    if plan.inputs.is_empty() {
        return Err(none_read(&plan.notes));
    }
    let report = finish::run(session, plan, carrier, url).await?;
    Ok(MergeReport { records: target.records, copied_bytes: now.copied_bytes, ..report })
}

/// Fills the branches that an input lacks; hands over finished baskets now and then, as they may be
/// more than fit into memory. Where these branches have items that one of the input's own branches
/// counts, that one is read.
async fn fill(
    (session, carrier): (&Session, &mut Carrier),
    plan: &mut MergePlan,
    input: &PlannedInput,
    target: &mut Target,
) -> Result<()> {
    for (output, part) in &input.tables {
        let Output { path, content, .. } = &mut plan.outputs[*output];
        let (OutputContent::Tree(tree), CopiedPart::Tree(part)) = (content, part) else { continue };
        let mut counts = Counts::new();
        for counter in tree.counters(part).located(&*input.url)? {
            let numbers = counts::read(session, input, path, &counter).await?;
            counts.insert(counter, numbers);
        }
        let located = |error: rootfile::Error| error.located(&*input.url);
        let mut made_bytes = 0;
        for basket in tree.filled(part, &counts).map_err(located)? {
            let made = target.fill(plan, *output, &basket, (part, &counts));
            made_bytes += made.map_err(located)?;
            if made_bytes >= FILLED_BYTES {
                carrier.drain(&mut plan.writer, Vec::new()).await?;
                made_bytes = 0;
            }
        }
    }
    Ok(())
}

/// Reads the inputs, some bytes ahead.
pub struct InputFiles {
    remote: Remote,
    /// Inputs that are not in the plan yet.
    reads: Reads,
    /// Files of the next inputs, open or being opened, and the first input behind these.
    files: VecDeque<NextFile>,
    next_open: usize,
    /// The input whose chunks are asked for, and those that are not.
    input: usize,
    file: Option<Arc<RemoteFile>>,
    /// Baskets of it that were requested before its cut was decided.
    ahead: Option<Wants>,
    tasks: VecDeque<Task>,
    /// Where baskets are made anew, of each output how many bytes are held.
    held: Option<BTreeMap<usize, u64>>,
    steps: VecDeque<Queued>,
    window: u64,
    pending_bytes: u64,
    order: u64,
}

enum NextFile {
    /// Still open after its metadata were read.
    Open(Arc<RemoteFile>),
    Opening(Opening),
}

/// An open that is given up with its handle.
struct Opening(JoinHandle<Result<RemoteFile>>);

impl Drop for Opening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl InputFiles {
    /// `is_here` is true where all inputs are on disks of this machine.
    pub fn new(session: &Session, (reads, is_here): (Reads, bool), remake: Option<Remake>) -> Self {
        let window = if is_here { WINDOW_BYTES_HERE } else { WINDOW_BYTES };
        InputFiles {
            remote: session.remote().clone(),
            reads,
            files: VecDeque::new(),
            next_open: 0,
            input: 0,
            file: None,
            ahead: None,
            tasks: VecDeque::new(),
            held: remake.map(|_| BTreeMap::new()),
            steps: VecDeque::new(),
            window: window.min(session.config().memory_bytes_max / 2),
            pending_bytes: 0,
            order: 0,
        }
    }

    /// Adds the next input to the plan, and requests bytes of inputs until the window is full.
    /// `false` after the last input.
    ///
    /// # Errors
    /// Those of reading the input, and of [`MergePlan::add`].
    pub async fn plan_next(&mut self, plan: &mut MergePlan) -> Result<bool> {
        let Some(input) = self.reads.next(&mut plan.notes).await? else { return Ok(false) };
        let file = plan.add(input)?;
        if self.next_open + 1 == plan.inputs.len() && self.files.len() < FILES_OPEN {
            self.files.push_back(NextFile::Open(file));
            self.next_open += 1;
        }
        while self.pending_bytes < self.window && (self.next_task() || self.begin_open(plan)) {}
        Ok(true)
    }

    /// The next step. Before it waits, it requests bytes until the window is full; while it waits,
    /// `remaking` goes on as its threads finish.
    async fn next(
        &mut self,
        plan: &mut MergePlan,
        (remaking, url): (&mut Option<Remaking>, &str),
    ) -> Result<Option<Step>> {
        while self.steps.is_empty() || self.pending_bytes < self.window {
            if !self.next_task() && !self.next_input(plan).await? {
                break;
            }
        }
        // The chunks share the requests in flight.
        self.ahead = None;
        poll_fn(|context| {
            if let Some(remaking) = remaking {
                remaking.poll_ready(plan, url, context)?;
            }
            self.poll_step(context)
        })
        .await
    }

    /// The first step, or the arrived part of a later chunk that does not depend on the steps
    /// before it.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Step>>> {
        let mut cuts = 0;
        for at in 0..self.steps.len() {
            match &mut self.steps[at] {
                Queued::Requested(asked) if at == 0 || asked.is_taken() => {
                    if let Poll::Ready(mut arrived) = asked.poll_arrived(context)? {
                        if asked.is_over() {
                            self.steps.remove(at);
                        }
                        arrived.is_ahead = cuts > 0;
                        return Poll::Ready(Ok(Some(Step::Copy(Box::new(arrived)))));
                    }
                    if !asked.is_taken() {
                        return Poll::Pending;
                    }
                }
                Queued::Step(_) if at == 0 => {
                    let Some(Queued::Step(step)) = self.steps.pop_front() else { continue };
                    return Poll::Ready(Ok(Some(step)));
                }
                // No chunks behind a second cut: the baskets in memory would have no limit.
                Queued::Step(Step::Cut(..)) if cuts == 0 => cuts += 1,
                Queued::Step(Step::Add(..)) => {}
                Queued::Step(_) | Queued::Requested(_) => return Poll::Pending,
            }
        }
        match self.steps.is_empty() {
            true => Poll::Ready(Ok(None)),
            false => Poll::Pending,
        }
    }

    /// Turns the next task of the input into a step; `false` if no task is left.
    fn next_task(&mut self) -> bool {
        let Some(task) = self.tasks.pop_front() else { return false };
        let step = match task {
            Task::Copy(chunk) => {
                self.ask(chunk);
                return true;
            }
            Task::Add(places) => Step::Add(self.input - 1, places),
            Task::Cut(output, entry) => Step::Cut(output, entry),
            Task::End => {
                self.file.take().iter().for_each(|file| file.keep_no_more());
                Step::End(self.input - 1)
            }
        };
        self.steps.push_back(Queued::Step(step));
        true
    }

    fn ask(&mut self, chunk: Chunk) {
        let Some(file) = &self.file else { return };
        let asked = RequestedChunk::new(chunk, self.order, (self.input - 1, file));
        self.order += 1;
        self.pending_bytes += asked.bytes();
        self.steps.push_back(Queued::Requested(Box::new(asked)));
    }

    /// Begins the next input; `false` after the last one, and if earlier inputs have steps left
    /// while the next one is still being read or opened.
    async fn next_input(&mut self, plan: &mut MergePlan) -> Result<bool> {
        let at = self.input;
        let file = if at < plan.inputs.len() {
            self.open_ahead(&plan.inputs);
            if !self.steps.is_empty() && !self.is_next_open() {
                return Ok(false);
            }
            self.next_file(&plan.inputs[at]).await?
        } else if !self.steps.is_empty() && !self.reads.is_ready() {
            return Ok(false);
        } else {
            let Some(mut input) = self.reads.next(&mut plan.notes).await? else { return Ok(false) };
            let ahead = input.decided.as_mut().and_then(|decided| decided.ahead.take());
            self.ahead = ahead.map(AheadBaskets::keep_arrived);
            let file = plan.add(input)?;
            plan.complete(at)?;
            file
        };
        self.begin(file, &plan.inputs[at]);
        Ok(true)
    }

    /// Begins the next input if its file is still open; `false` if not.
    fn begin_open(&mut self, plan: &MergePlan) -> bool {
        let is_open = |file: &mut NextFile| matches!(file, NextFile::Open(_));
        let Some(NextFile::Open(file)) = self.files.pop_front_if(is_open) else { return false };
        self.begin(file, &plan.inputs[self.input]);
        true
    }

    fn begin(&mut self, file: Arc<RemoteFile>, input: &PlannedInput) {
        self.steps.push_back(Queued::Step(Step::Begin(self.input)));
        self.input += 1;
        self.file = Some(file);
        self.tasks = match &mut self.held {
            Some(held) => tasks_in_order(input, held).into(),
            None => tasks(input).into(),
        };
    }

    /// Opens the files of the next inputs of a plan.
    fn open_ahead(&mut self, all: &[Arc<PlannedInput>]) {
        while self.next_open < all.len() && self.files.len() < FILES_OPEN {
            let (remote, address) = (self.remote.clone(), all[self.next_open].address.clone());
            let open = async move { remote.open_bytes(&address).await };
            self.files.push_back(NextFile::Opening(Opening(tokio::spawn(open))));
            self.next_open += 1;
        }
    }

    fn is_next_open(&self) -> bool {
        match self.files.front() {
            Some(NextFile::Opening(opening)) => opening.0.is_finished(),
            Some(NextFile::Open(_)) | None => true,
        }
    }

    async fn next_file(&mut self, input: &PlannedInput) -> Result<Arc<RemoteFile>> {
        let given_up = || Error::new(ErrorKind::Cancelled, "given up");
        let file = match self.files.pop_front().ok_or_else(given_up)? {
            NextFile::Open(file) => file,
            NextFile::Opening(mut opening) => {
                Arc::new((&mut opening.0).await.map_err(|_| given_up())??)
            }
        };
        input.check_same(file.info())?;
        Ok(file)
    }
}

/// Gives baskets their places.
struct Target {
    encoders: Encoders,
    records: u64,
    /// The number that is added to those of processes in the present input's baskets.
    processes: u16,
    /// Where baskets and pages are made anew.
    remaking: Option<Remaking>,
}

impl Target {
    fn begin(&mut self, plan: &mut MergePlan, input: &PlannedInput) {
        self.processes = input.processes;
        for (at, part) in &input.tables {
            match (&mut plan.outputs[*at].content, part) {
                (OutputContent::Tree(tree), CopiedPart::Tree(part)) => tree.begin(part),
                (OutputContent::NTuple(ntuple), CopiedPart::NTuple(part)) => ntuple.begin(part),
                _ => {}
            }
        }
    }

    /// Copies baskets and pages; neighbours of one table stay neighbours.
    fn copy(&mut self, plan: &mut MergePlan, arrived: &ArrivedPieces) -> rootfile::Result<()> {
        let are_neighbours = |one: &CopiedPiece, next: &CopiedPiece| {
            one.place.0 == next.place.0 && one.range.end == next.range.start
        };
        for run in arrived.pieces.chunk_by(are_neighbours) {
            let start = (run[0].range.start - arrived.start()) as usize;
            let len: u64 = run.iter().map(CopiedPiece::len).sum();
            self.copy_run(plan, run, arrived.bytes.slice(start..start + len as usize))?;
        }
        Ok(())
    }

    /// Copies neighbours of one table: baskets, whose keys get new first bytes, or pages, which
    /// become one record.
    fn copy_run(
        &mut self,
        plan: &mut MergePlan,
        run: &[CopiedPiece],
        stored: Bytes,
    ) -> rootfile::Result<()> {
        let Output { directory, content, .. } = &mut plan.outputs[run[0].place.0];
        let place = plan.writer.place(*directory)?;
        self.records += run.len() as u64;
        match content {
            OutputContent::Tree(tree) => {
                let mut rest = stored;
                let mut to = place;
                for CopiedPiece { range, place: (_, branch, basket) } in run {
                    let mut record = rest.split_to((range.end - range.start) as usize);
                    let cycle = tree.place((*branch, *basket), record.len(), to);
                    let numbers = (cycle, tree.process_shift(*branch, self.processes));
                    let head = basket::moved_head(&record, range.start, to, numbers)?;
                    to.offset += record.len() as u64;
                    record.advance(head.len());
                    plan.writer.append(head.into());
                    plan.writer.append(record);
                }
            }
            OutputContent::NTuple(ntuple) => {
                let key = CopiedNTuple::key(place, stored.len())?;
                let mut offset = place.offset + key.len() as u64;
                for piece in run {
                    let (_, cluster, at) = piece.place;
                    ntuple.place((cluster, at), offset, piece.len() as usize);
                    offset += piece.len();
                }
                plan.writer.append(key.into());
                plan.writer.append(stored);
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives baskets and pages to the threads.
    fn take(
        &mut self,
        plan: &MergePlan,
        input: &Arc<PlannedInput>,
        arrived: &ArrivedPieces,
    ) -> rootfile::Result<()> {
        let Some(remaking) = &mut self.remaking else { return Ok(()) };
        let mut pages: BTreeMap<usize, Vec<Page>> = BTreeMap::new();
        let mut whole: BTreeMap<usize, Vec<ArrivedPage>> = BTreeMap::new();
        let mut baskets: BTreeMap<usize, Vec<Taken>> = BTreeMap::new();
        for piece in &arrived.pieces {
            let start = (piece.range.start - arrived.start()) as usize;
            let stored = &arrived.bytes[start..start + piece.len() as usize];
            let (output, first, second) = piece.place;
            self.records += 1;
            let part = input.tables.iter().find(|(at, _)| *at == output).map(|(_, part)| part);
            match (&plan.outputs[output].content, part) {
                (OutputContent::Tree(tree), Some(CopiedPart::Tree(part))) => {
                    let planned = part.basket(first, second);
                    let entries = planned.entries_behind(tree.entries_before());
                    let processes = tree.process_shift(first, self.processes);
                    let (record, from) = (stored.to_vec(), piece.range.start);
                    let basket = HeldBasket::new(entries, record, from, processes)?;
                    let (branch, kept) = ((output, first), planned.kept.clone());
                    baskets.entry(output).or_default().push(Taken { branch, basket, kept });
                }
                (OutputContent::NTuple(_), Some(CopiedPart::NTuple(part))) => {
                    let place = (first, second);
                    if part.group(first).is_some() {
                        let bytes = Bytes::copy_from_slice(stored);
                        whole.entry(output).or_default().push(ArrivedPage { place, bytes });
                        continue;
                    }
                    let (bytes, content) = (stored.to_vec(), part.content(place));
                    pages.entry(output).or_default().push(Page { place, bytes, content });
                }
                _ => {}
            }
        }
        let hold = |(output, baskets)| remaking.hold(output, baskets, arrived.is_ahead);
        baskets.into_iter().for_each(hold);
        pages.into_iter().for_each(|(output, pages)| remaking.pages(output, pages));
        whole.into_iter().try_for_each(|(output, pages)| remaking.take(output, input, pages))
    }

    /// Writes baskets and pages of new columns, or holds them where baskets are made anew.
    fn add(
        &mut self,
        plan: &mut MergePlan,
        input: &Arc<PlannedInput>,
        places: &[Place],
    ) -> rootfile::Result<()> {
        for (output, branch, at) in places {
            let part = input.tables.iter().find(|(table, _)| table == output).map(|(_, part)| part);
            if let Some(CopiedPart::NTuple(part)) = part {
                self.add_pages(plan, (*output, input), (part, *branch))?;
                continue;
            }
            let Output { directory, content, .. } = &mut plan.outputs[*output];
            let (OutputContent::Tree(tree), Some(CopiedPart::Tree(part))) = (content, part) else {
                continue;
            };
            let planned = part.basket(*branch, *at);
            let BasketPart::Beside { record, from } = &planned.part else { continue };
            let mut record = record.to_vec();
            if let Some(remaking) = &mut self.remaking {
                let entries = planned.entries_behind(tree.entries_before());
                let basket = HeldBasket::new(entries, record, *from, 0)?;
                let branch = (*output, *branch);
                remaking.hold(*output, vec![Taken { branch, basket, kept: None }], false);
                continue;
            }
            let place = plan.writer.place(*directory)?;
            let cycle = tree.place((*branch, *at), record.len(), place);
            basket::move_record(&mut record, *from, place, (cycle, 0))?;
            plan.writer.append(record.into());
        }
        Ok(())
    }

    /// Writes pages of a cluster's new columns; gives them to the threads where some of its entries
    /// are taken.
    fn add_pages(
        &mut self,
        plan: &mut MergePlan,
        (output, input): (usize, &Arc<PlannedInput>),
        (part, cluster): (&NTuplePart, usize),
    ) -> rootfile::Result<()> {
        if let (Some(_), Some(remaking)) = (part.group(cluster), &mut self.remaking) {
            let pages = part.beside_pages(cluster);
            let page = |(at, bytes)| ArrivedPage { place: (cluster, at), bytes };
            return remaking.take(output, input, pages.map(page).collect());
        }
        let Output { directory, content, .. } = &mut plan.outputs[output];
        let OutputContent::NTuple(ntuple) = content else { return Ok(()) };
        ntuple.place_beside((part, cluster), &mut plan.writer, *directory)
    }

    /// Rewrites the held baskets of a tree, up to an entry of the present input.
    fn cut(&mut self, plan: &mut MergePlan, output: usize, entry: u64) {
        if let Some(remaking) = &mut self.remaking {
            remaking.cut(output);
        }
        if let OutputContent::Tree(tree) = &mut plan.outputs[output].content {
            tree.cut(tree.entries_before() + entry);
        }
    }

    /// Adds a basket of a branch that the present input lacks; returns its bytes.
    fn fill(
        &mut self,
        plan: &mut MergePlan,
        output: usize,
        basket: &FilledBasket,
        of: (&TreePart, &Counts),
    ) -> rootfile::Result<usize> {
        let Output { directory, content, .. } = &mut plan.outputs[output];
        let OutputContent::Tree(tree) = content else { return Ok(0) };
        let place = plan.writer.place(*directory)?;
        let made = tree.fill(basket, of, place.datime, &mut self.encoders)?;
        let bytes = made.record.len();
        match &mut self.remaking {
            Some(remaking) => {
                let branch = (output, basket.branch);
                remaking.hold(output, vec![Taken { branch, basket: made, kept: None }], false);
            }
            None => place_basket(plan, (output, basket.branch), made)?,
        }
        Ok(bytes)
    }

    /// Ends an input: baskets that its trees have in their records become records of their own.
    fn end(&mut self, plan: &mut MergePlan, input: &PlannedInput) -> rootfile::Result<()> {
        for (output, part) in &input.tables {
            let Output { directory, content, .. } = &mut plan.outputs[*output];
            let (OutputContent::Tree(tree), CopiedPart::Tree(part)) = (content, part) else {
                continue;
            };
            for (branch, at, planned) in part.baskets() {
                let BasketPart::Embedded { bytes, entries } = &planned.part else { continue };
                let (compression, encoders) = (tree.compression(branch), &mut self.encoders);
                let mut record = basket::embedded_record(bytes, *entries, compression, encoders)?;
                let processes = tree.process_shift(branch, self.processes);
                if let Some(remaking) = &mut self.remaking {
                    let entries = planned.entries_behind(tree.entries_before());
                    let basket = HeldBasket::new(entries, record, 0, processes)?;
                    let (branch, kept) = ((*output, branch), planned.kept.clone());
                    remaking.hold(*output, vec![Taken { branch, basket, kept }], false);
                    continue;
                }
                let place = plan.writer.place(*directory)?;
                let cycle = tree.place((branch, at), record.len(), place);
                tree.add_bytes(branch, record.len(), bytes.len());
                basket::move_record(&mut record, 0, place, (cycle, processes))?;
                plan.writer.append(record.into());
            }
        }
        Ok(())
    }
}
