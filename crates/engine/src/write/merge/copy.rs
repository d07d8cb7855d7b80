//! Baskets from the inputs to the output: ranges are read ahead, and written in order. Baskets that
//! are compressed or joined again go to the threads in the order in which they arrive.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use futures::StreamExt;
use remote::fetch::{Delivery, KeptBytes, MemoryReservation, RemoteFile, Urgency, Want, Wants};
use remote::{Error, ErrorKind, Remote, Result};
use rootfile::write::Encoders;
use rootfile::write::copy::{
    BasketPart, CopiedNTuple, Counts, FilledBasket, HeldBasket, Remake, TreePart, basket,
};
use tokio::task::JoinHandle;

use super::carrier::Carrier;
use super::counts;
use super::finish;
use super::ntuples;
use super::options::{MergeProgress, MergeReport};
use super::plan::{CopiedPart, MergePlan, Output, OutputContent, PlannedInput};
use super::reads::{Reads, none_read};
use super::remake::{HELD_BYTES, Page, Remaking, Taken, place_basket};
use super::taking::ArrivedPage;
use crate::located::Located;
use crate::read::file::session::Session;

/// What is read and written in one go.
const CHUNK_BYTES: u64 = 4 << 20;
/// Bytes between two baskets that are rather read than skipped.
const GAP_BYTES: u64 = 4 << 10;
/// Asked for and not yet written, at the most: of files far away for the round trips, of those here
/// as little as the processor's caches keep until it is written.
const WINDOW_BYTES: u64 = 128 << 20;
const WINDOW_BYTES_HERE: u64 = 8 << 20;
const CHUNK_BYTES_HERE: u64 = 1 << 20;
/// Maximum number of inputs that are opened ahead: of small remote files, about as many as a link
/// transfers in one round trip.
const FILES_OPEN: usize = 64;

/// Position of a table among the outputs, and the two numbers of [`CopiedPart::ranges`].
type Place = (usize, usize, usize);

/// A basket or a page of an input's file.
struct Piece {
    range: Range<u64>,
    place: Place,
}

/// Baskets that lie near each other.
struct Chunk {
    range: Range<u64>,
    pieces: Vec<Piece>,
    /// Its baskets are placed at a cut, and go to the threads in any order before it.
    is_taken: bool,
}

/// A chunk that has been asked for.
struct Asked {
    wants: Wants,
    chunk: Chunk,
    /// The ranges that `wants` fetches: all but those in `kept`, which are in memory.
    parts: Vec<Range<u64>>,
    kept: Vec<KeptBytes>,
    arrived: Vec<Delivery>,
    /// It is behind a cut that still waits for other chunks.
    is_ahead: bool,
    /// Of which input, and its file, which stays open until the chunk has come.
    input: usize,
    file: Arc<RemoteFile>,
}

/// What is to be done of an input.
enum Task {
    Copy(Chunk),
    /// New columns: output, branch and basket of each.
    Add(Vec<Place>),
    /// Baskets of an output that are held are made anew, those up to an entry of the input.
    Cut(usize, u64),
    /// The input ends, with baskets that it has in its trees' records.
    End,
}

/// What is done next, in the order of the output.
enum Step {
    /// The next input begins.
    Begin(usize),
    Copy(Box<Asked>),
    Add(usize, Vec<Place>),
    Cut(usize, u64),
    End(usize),
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
    let remaking = plan.remake().map(|remake| Remaking::new(remake, session.decoders().clone()));
    let mut target = Target { encoders: Encoders::default(), records: 0, processes: 0, remaking };
    while let Some(step) = source.next(&mut plan).await? {
        match step {
            Step::Begin(input) => {
                let input = plan.inputs[input].clone();
                let coding = (&mut target.remaking, &mut target.encoders);
                ntuples::end_open_clusters(&mut plan, (Some(&input), url), coding).await?;
                plan.begin_outputs(&input, &mut target.encoders).located(url)?;
                target.begin(&mut plan, &input);
                (now.read, now.total_bytes) = (now.read.max(plan.inputs.len()), plan.total_bytes());
            }
            Step::Copy(mut asked) => {
                // The reservations are held until the bytes are written.
                let (bytes, _reservations) = asked.bytes();
                let Asked { chunk, is_ahead, input, file, .. } = *asked;
                let input = plan.inputs[input].clone();
                let copied = match &target.remaking {
                    Some(_) => target.take(&plan, &input, (&chunk, is_ahead), &bytes),
                    None => target.copy(&mut plan, &chunk, &bytes),
                };
                copied.located(file.url())?;
                source.pending_bytes -= chunk.range.end - chunk.range.start;
                now.copied_bytes += chunk.pieces.iter().map(Piece::len).sum::<u64>();
                progress(*now);
            }
            Step::Add(input, places) => {
                let input = plan.inputs[input].clone();
                target.add(&mut plan, &input, &places).located(url)?;
            }
            Step::Cut(output, entry) => target.cut(&mut plan, output, entry),
            Step::End(input) => {
                let input = plan.inputs[input].clone();
                target.end(&mut plan, &input).located(&*input.url)?;
                fill(session, &mut plan, &input, &mut target).await?;
                let coding = (&mut target.remaking, &mut target.encoders);
                ntuples::end_input(&mut plan, (&input, url), coding).await?;
            }
        }
        if let Some(remaking) = &mut target.remaking {
            remaking.place_some(&mut plan, url).await?;
        }
        carrier.drain(&mut plan.writer).await?;
    }
    if let Some(remaking) = &mut target.remaking {
        (0..plan.outputs.len()).for_each(|output| remaking.cut(output));
        remaking.place_all(&mut plan, url).await?;
    }
    let coding = (&mut target.remaking, &mut target.encoders);
    ntuples::end_open_clusters(&mut plan, (None, url), coding).await?;
    if plan.inputs.is_empty() {
        return Err(none_read(&plan.notes));
    }
    let report = finish::run(session, plan, carrier, url).await?;
    Ok(MergeReport { records: target.records, copied_bytes: now.copied_bytes, ..report })
}

/// Fills the branches that an input lacks. Where these have items that one of its own branches
/// counts, that one is read.
async fn fill(
    session: &Session,
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
        for basket in tree.filled(part, &counts).map_err(located)? {
            let made = target.fill(plan, *output, &basket, (part, &counts));
            made.map_err(located)?;
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
    tasks: VecDeque<Task>,
    /// Where baskets are made anew, of each output how many bytes are held.
    held: Option<BTreeMap<usize, u64>>,
    steps: VecDeque<Step>,
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

impl Asked {
    /// Collects the deliveries; ready once the whole chunk has arrived.
    fn poll_arrived(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while let Some(delivery) = ready!(self.wants.poll_next_unpin(context)) {
            self.arrived.push(delivery?);
        }
        Poll::Ready(match self.arrived.len() < self.parts.len() {
            true => Err(Error::new(ErrorKind::Cancelled, "the engine has been shut down")),
            false => Ok(()),
        })
    }

    /// The bytes of a chunk that has arrived, and their reservations from the memory budget.
    fn bytes(&mut self) -> (Bytes, Vec<MemoryReservation>) {
        let (mut arrived, mut reservations) = (Vec::new(), Vec::new());
        for Delivery { index, bytes, reservation, .. } in self.arrived.drain(..) {
            arrived.push((self.parts[index].start, bytes));
            reservations.push(reservation);
        }
        if let ([], [(_, only)]) = (&self.kept[..], &mut arrived[..]) {
            return (std::mem::take(only), reservations);
        }
        let Range { start, end } = self.chunk.range;
        let mut all = vec![0; (end - start) as usize];
        let kept = self.kept.iter().map(|kept| (kept.start, &kept.bytes));
        for (at, bytes) in arrived.iter().map(|(at, bytes)| (*at, bytes)).chain(kept) {
            let at = (at - start) as usize;
            all[at..at + bytes.len()].copy_from_slice(bytes);
        }
        (all.into(), reservations)
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

    /// The next step; the chunk of a [`Step::Copy`] has arrived. Before it waits, it requests bytes
    /// until the window is full.
    async fn next(&mut self, plan: &mut MergePlan) -> Result<Option<Step>> {
        while self.steps.is_empty() || self.pending_bytes < self.window {
            if !self.next_task() && !self.next_input(plan).await? {
                break;
            }
        }
        poll_fn(|context| self.poll_step(context)).await
    }

    /// The first step, or a later chunk that has arrived already and does not depend on the steps
    /// before it.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Step>>> {
        let mut cuts = 0;
        for at in 0..self.steps.len() {
            match &mut self.steps[at] {
                Step::Copy(asked) if at == 0 || asked.chunk.is_taken => {
                    if let Poll::Ready(arrived) = asked.poll_arrived(context) {
                        asked.is_ahead = cuts > 0;
                        return Poll::Ready(arrived.map(|()| self.steps.remove(at)));
                    }
                    if !asked.chunk.is_taken {
                        return Poll::Pending;
                    }
                }
                _ if at == 0 => return Poll::Ready(Ok(self.steps.pop_front())),
                // No chunks behind a second cut: the baskets in memory would have no limit.
                Step::Cut(..) if cuts == 0 => cuts += 1,
                Step::Add(..) => {}
                _ => return Poll::Pending,
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
        match task {
            Task::Copy(chunk) => self.ask(chunk),
            Task::Add(places) => self.steps.push_back(Step::Add(self.input - 1, places)),
            Task::Cut(output, entry) => self.steps.push_back(Step::Cut(output, entry)),
            Task::End => {
                self.file.take().iter().for_each(|file| file.keep_no_more());
                self.steps.push_back(Step::End(self.input - 1));
            }
        }
        true
    }

    fn ask(&mut self, chunk: Chunk) {
        let Some(file) = &self.file else { return };
        let cost = chunk.range.end - chunk.range.start;
        let kept: Vec<KeptBytes> =
            chunk.pieces.iter().filter_map(|piece| file.take_kept(&piece.range)).collect();
        let parts = if kept.is_empty() { vec![chunk.range.clone()] } else { chunk.without(&kept) };
        let want = |range: &Range<u64>| Want {
            range: range.clone(),
            cost: range.end - range.start,
            urgency: Urgency::Demand,
            order: self.order,
        };
        let wants = file.want(parts.iter().map(want).collect());
        self.order += 1;
        self.pending_bytes += cost;
        let (file, input) = (file.clone(), self.input - 1);
        let (arrived, is_ahead) = (Vec::new(), false);
        let asked = Asked { wants, chunk, parts, kept, arrived, is_ahead, input, file };
        self.steps.push_back(Step::Copy(Box::new(asked)));
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
            let Some(input) = self.reads.next(&mut plan.notes).await? else { return Ok(false) };
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
        self.steps.push_back(Step::Begin(self.input));
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

/// Tasks for all baskets and pages in the order of the file, then for the new columns.
fn tasks(input: &PlannedInput) -> Vec<Task> {
    let copied = chunks(pieces(input), chunk_bytes(input), false).into_iter().map(Task::Copy);
    let added =
        input.tables.iter().map(|(output, part)| Task::Add(part.beside(*output, 0..u64::MAX)));
    copied.chain(added).chain([Task::End]).collect()
}

/// The baskets and pages of an input.
fn pieces(input: &PlannedInput) -> Vec<Piece> {
    let tables = input.tables.iter();
    let pieces = tables.flat_map(|(output, part)| {
        let ranges = part.ranges().into_iter();
        ranges.map(|(first, second, range)| Piece { range, place: (*output, first, second) })
    });
    pieces.collect()
}

/// Table by table, and of a tree what is held together before what follows it.
fn tasks_in_order(input: &PlannedInput, held: &mut BTreeMap<usize, u64>) -> Vec<Task> {
    let (mut tasks, mut at_end) = (Vec::new(), Vec::new());
    let most = chunk_bytes(input);
    for (output, all) in &input.tables {
        let mut pieces: Vec<Piece> = pieces(input);
        pieces.retain(|piece| piece.place.0 == *output);
        if let CopiedPart::Tree(part) = all {
            let mut begin = 0;
            for cut in part.cuts(held.entry(*output).or_default(), HELD_BYTES) {
                let is_before = |piece: &Piece| {
                    let (_, branch, basket) = piece.place;
                    part.basket(branch, basket).first_entry < cut
                };
                let (before, behind) = pieces.into_iter().partition(is_before);
                pieces = behind;
                tasks.extend(chunks(before, most, true).into_iter().map(Task::Copy));
                tasks.push(Task::Add(all.beside(*output, begin..cut)));
                begin = cut;
                // What the tree's record has of the input comes with its end.
                let list = if cut < part.entries { &mut tasks } else { &mut at_end };
                list.push(Task::Cut(*output, cut));
            }
            let rest = all.beside(*output, begin..u64::MAX);
            tasks.extend(
                chunks(std::mem::take(&mut pieces), most, true).into_iter().map(Task::Copy),
            );
            tasks.push(Task::Add(rest));
        }
        tasks.extend(chunks(pieces, most, false).into_iter().map(Task::Copy));
    }
    tasks.push(Task::End);
    tasks.append(&mut at_end);
    tasks
}

fn chunk_bytes(input: &PlannedInput) -> u64 {
    if input.is_local() { CHUNK_BYTES_HERE } else { CHUNK_BYTES }
}

/// Pieces in the order in which they lie in their file, up to so many bytes together.
fn chunks(mut pieces: Vec<Piece>, most: u64, is_taken: bool) -> Vec<Chunk> {
    pieces.sort_by_key(|piece| piece.range.start);
    let mut chunks: Vec<Chunk> = Vec::new();
    for piece in pieces {
        match chunks.last_mut() {
            Some(Chunk { range, pieces, .. })
                if piece.range.start >= range.end
                    && piece.range.start - range.end <= GAP_BYTES
                    && piece.range.end - range.start <= most =>
            {
                range.end = piece.range.end;
                pieces.push(piece);
            }
            _ => chunks.push(Chunk { range: piece.range.clone(), pieces: vec![piece], is_taken }),
        }
    }
    chunks
}

impl Chunk {
    /// The ranges of pieces that have not been kept; neighbours are one range.
    fn without(&self, kept: &[KeptBytes]) -> Vec<Range<u64>> {
        let is_kept = |piece: &Piece| kept.iter().any(|kept| kept.start == piece.range.start);
        let mut parts: Vec<Range<u64>> = Vec::new();
        let mut goes_on = false;
        for piece in &self.pieces {
            match parts.last_mut() {
                _ if is_kept(piece) => goes_on = false,
                Some(last) if goes_on => last.end = piece.range.end,
                _ => {
                    parts.push(piece.range.clone());
                    goes_on = true;
                }
            }
        }
        parts
    }
}

impl Piece {
    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// Gives baskets their places.
struct Target {
    encoders: Encoders,
    records: u64,
    /// What is added to the numbers of processes in the present input's baskets.
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
    fn copy(&mut self, plan: &mut MergePlan, chunk: &Chunk, bytes: &Bytes) -> rootfile::Result<()> {
        let are_neighbours = |one: &Piece, next: &Piece| {
            one.place.0 == next.place.0 && one.range.end == next.range.start
        };
        for run in chunk.pieces.chunk_by(are_neighbours) {
            let start = (run[0].range.start - chunk.range.start) as usize;
            let len: u64 = run.iter().map(Piece::len).sum();
            self.copy_run(plan, run, bytes.slice(start..start + len as usize))?;
        }
        Ok(())
    }

    /// Copies neighbours of one table: baskets, whose keys get new first bytes, or pages, which
    /// become one record.
    fn copy_run(
        &mut self,
        plan: &mut MergePlan,
        run: &[Piece],
        stored: Bytes,
    ) -> rootfile::Result<()> {
        let Output { directory, content, .. } = &mut plan.outputs[run[0].place.0];
        let place = plan.writer.place(*directory)?;
        self.records += run.len() as u64;
        match content {
            OutputContent::Tree(tree) => {
                let mut rest = stored;
                let mut to = place;
                for Piece { range, place: (_, branch, basket) } in run {
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

    /// Gives the baskets and pages of a chunk to the threads; `is_ahead` if its baskets are behind
    /// the next cut.
    fn take(
        &mut self,
        plan: &MergePlan,
        input: &Arc<PlannedInput>,
        (chunk, is_ahead): (&Chunk, bool),
        bytes: &[u8],
    ) -> rootfile::Result<()> {
        let Some(remaking) = &mut self.remaking else { return Ok(()) };
        let mut pages: BTreeMap<usize, Vec<Page>> = BTreeMap::new();
        let mut arrived: BTreeMap<usize, Vec<ArrivedPage>> = BTreeMap::new();
        let mut baskets: BTreeMap<usize, Vec<Taken>> = BTreeMap::new();
        for piece in &chunk.pieces {
            let start = (piece.range.start - chunk.range.start) as usize;
            let stored = &bytes[start..start + piece.len() as usize];
            let (output, first, second) = piece.place;
            self.records += 1;
            let part = input.tables.iter().find(|(at, _)| *at == output).map(|(_, part)| part);
            match (&plan.outputs[output].content, part) {
                (OutputContent::Tree(tree), Some(CopiedPart::Tree(part))) => {
                    let planned = part.basket(first, second);
                    let entry = tree.entries_before() + planned.first_entry;
                    let processes = tree.process_shift(first, self.processes);
                    let (record, from) = (stored.to_vec(), piece.range.start);
                    let basket = HeldBasket::new(entry, record, from, processes)?;
                    let (branch, kept) = ((output, first), planned.kept.clone());
                    baskets.entry(output).or_default().push(Taken { branch, basket, kept });
                }
                (OutputContent::NTuple(_), Some(CopiedPart::NTuple(part))) => {
                    let place = (first, second);
                    if part.group(first).is_some() {
                        let bytes = Bytes::copy_from_slice(stored);
                        arrived.entry(output).or_default().push(ArrivedPage { place, bytes });
                        continue;
                    }
                    let (bytes, content) = (stored.to_vec(), part.content(place));
                    pages.entry(output).or_default().push(Page { place, bytes, content });
                }
                _ => {}
            }
        }
        let hold = |(output, baskets)| remaking.hold(output, baskets, is_ahead);
        baskets.into_iter().for_each(hold);
        pages.into_iter().for_each(|(output, pages)| remaking.pages(output, pages));
        arrived.into_iter().try_for_each(|(output, pages)| remaking.take(output, input, pages))
    }

    /// Writes baskets of new columns, or holds them where baskets are made anew.
    fn add(
        &mut self,
        plan: &mut MergePlan,
        input: &PlannedInput,
        places: &[Place],
    ) -> rootfile::Result<()> {
        for (output, branch, at) in places {
            let part = input.tables.iter().find(|(table, _)| table == output).map(|(_, part)| part);
            let Output { directory, content, .. } = &mut plan.outputs[*output];
            let (OutputContent::Tree(tree), Some(CopiedPart::Tree(part))) = (content, part) else {
                continue;
            };
            let planned = part.basket(*branch, *at);
            let BasketPart::Beside { record, from } = &planned.part else { continue };
            let mut record = record.to_vec();
            if let Some(remaking) = &mut self.remaking {
                let entry = tree.entries_before() + planned.first_entry;
                let basket = HeldBasket::new(entry, record, *from, 0)?;
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

    /// Makes anew what is held of a tree, up to an entry of the present input.
    fn cut(&mut self, plan: &mut MergePlan, output: usize, entry: u64) {
        if let Some(remaking) = &mut self.remaking {
            remaking.cut(output);
        }
        if let OutputContent::Tree(tree) = &mut plan.outputs[output].content {
            tree.cut(tree.entries_before() + entry);
        }
    }

    /// Adds a basket of a branch that the present input lacks.
    fn fill(
        &mut self,
        plan: &mut MergePlan,
        output: usize,
        basket: &FilledBasket,
        of: (&TreePart, &Counts),
    ) -> rootfile::Result<()> {
        let Output { directory, content, .. } = &mut plan.outputs[output];
        let OutputContent::Tree(tree) = content else { return Ok(()) };
        let place = plan.writer.place(*directory)?;
        let made = tree.fill(basket, of, place.datime, &mut self.encoders)?;
        match &mut self.remaking {
            Some(remaking) => {
                let branch = (output, basket.branch);
                remaking.hold(output, vec![Taken { branch, basket: made, kept: None }], false);
            }
            None => place_basket(plan, (output, basket.branch), made)?,
        }
        Ok(())
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
                    let entry = tree.entries_before() + planned.first_entry;
                    let basket = HeldBasket::new(entry, record, 0, processes)?;
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
