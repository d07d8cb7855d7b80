//! Baskets from the inputs to the output: ranges are read ahead, and written in order. Baskets that
//! are compressed or joined again go to the threads in the order in which they arrive.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use remote::fetch::{RemoteFile, Wants};
use remote::{Error, ErrorKind, Remote, Result};
use rootfile::write::copy::{Counts, Remake};
use tokio::task::JoinHandle;

use super::blocks::{BlockId, CopiedPiece};
use super::chunks::{Chunk, Task, tasks, tasks_in_order};
use super::counts;
use super::ending;
use super::finish;
use super::options::{MergeProgress, MergeReport};
use super::plan::{MergePlan, PlannedInput};
use super::reads::{Reads, none_read};
use super::recompressor::Recompressor;
use super::requested::{ArrivedPieces, RequestedChunk};
use super::target::Target;
use super::uploader::Uploader;
use crate::located::Located;
use crate::read::file::session::Session;

/// Maximum bytes that are requested and not yet written: of remote files for the round trips, of
/// local ones as few as the processor's caches keep until they are written.
const WINDOW_BYTES: u64 = 128 << 20;
const WINDOW_BYTES_HERE: u64 = 8 << 20;
/// Maximum number of inputs that are opened ahead: of small remote files, about as many as a link
/// transfers in one round trip.
const FILES_OPEN: usize = 64;

/// Steps, in the order of the output.
enum Step {
    /// The next input begins.
    Begin(usize),
    Copy(Box<ArrivedPieces>),
    Add(Vec<BlockId>),
    Cut(usize, u64),
    End(usize),
}

/// A step whose turn is after those before it, and a chunk that becomes steps as it arrives.
enum Queued {
    Step(Step),
    Requested(Box<RequestedChunk>),
}

/// The session, and the output's address for errors.
#[derive(Clone, Copy)]
pub struct CopyContext<'a> {
    pub session: &'a Session,
    pub url: &'a str,
}

/// Copies all baskets, and writes the rest of the file.
pub async fn run(
    context: CopyContext<'_>,
    mut plan: MergePlan,
    mut source: InputFiles,
    uploader: &mut Uploader,
    now: &mut MergeProgress,
    progress: &(dyn Fn(MergeProgress) + Sync),
) -> Result<MergeReport> {
    let CopyContext { session, url } = context;
    let mut target = Target::new(session, &plan);
    while let Some(step) = source.next(&mut plan, &mut target.recompressor, url).await? {
        // The memory that this step takes out of the budget until its bytes are written.
        let mut counted = Vec::new();
        match step {
            Step::Begin(input) => {
                let input = plan.inputs[input].clone();
                ending::end_open_clusters(&mut plan, Some(&input), url, &mut target).await?;
                plan.begin_outputs(&input, &mut target.encoders).located(url)?;
                for output in &input.tables {
                    let is_set = plan.outputs[*output].set_of.is_some();
                    let stays = plan.stays(input.number) && !is_set;
                    if let Some((table, _)) = plan.table(*output) {
                        table.begin_input(input.number, input.processes);
                        if stays {
                            table.keep_in_place();
                        }
                    }
                }
                now.read = now.read.max(plan.inputs.len());
                now.total_bytes = plan.total_bytes();
            }
            Step::Copy(mut arrived) => {
                counted.append(&mut arrived.reservations);
                target.copy(&mut plan, &arrived).located(arrived.file.url())?;
                source.pending_bytes -= arrived.asked_bytes;
                now.copied_bytes += arrived.pieces.iter().map(CopiedPiece::len).sum::<u64>();
                progress(*now);
            }
            Step::Add(blocks) => target.add(&mut plan, blocks).located(url)?,
            Step::Cut(output, entry) => target.cut(&mut plan, output, entry),
            Step::End(number) => {
                let input = plan.inputs[number].clone();
                target.write_embedded(&mut plan, &input).located(&*input.url)?;
                fill(session, uploader, &mut plan, &input, &mut target).await?;
                ending::end_input(&mut plan, &input, url, &mut target).await?;
            }
        }
        if let Some(recompressor) = &mut target.recompressor {
            recompressor.place_some(&mut plan, url).await?;
        }
        uploader.drain(&mut plan.writer, counted).await?;
    }
    if let Some(recompressor) = &mut target.recompressor {
        (0..plan.outputs.len()).for_each(|output| recompressor.cut(output));
        while recompressor.place_next(&mut plan, url).await? {
            uploader.drain(&mut plan.writer, Vec::new()).await?;
        }
    }
    ending::end_open_clusters(&mut plan, None, url, &mut target).await?;
    if plan.inputs.is_empty() {
        return Err(none_read(&plan.notes));
    }
    let report = finish::run(session, plan, uploader, url).await?;
    Ok(MergeReport { records: target.records, copied_bytes: now.copied_bytes, ..report })
}

/// Fills the columns that an input lacks; hands over the blocks made now and then, as they may be
/// more than fit into memory. Where these columns have items that one of the input's own columns
/// counts, that one is read.
async fn fill(
    session: &Session,
    uploader: &mut Uploader,
    plan: &mut MergePlan,
    input: &PlannedInput,
    target: &mut Target,
) -> Result<()> {
    let located = |error: rootfile::Error| error.located(&*input.url);
    for output in input.tables.iter().copied() {
        let mut counts = Counts::new();
        let path = plan.asked(output).to_owned();
        let Some((table, _)) = plan.table(output) else { continue };
        for counter in table.counters().map_err(located)? {
            let numbers = counts::read(session, input, &path, &counter).await?;
            counts.insert(counter, numbers);
        }
        table.begin_filling(counts).map_err(located)?;
        while target.fill_some(plan, output).map_err(located)? {
            uploader.drain(&mut plan.writer, Vec::new()).await?;
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
    pub fn new(session: &Session, reads: Reads, is_here: bool, remake: Option<Remake>) -> Self {
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
    /// the threads' results are placed as they finish.
    async fn next(
        &mut self,
        plan: &mut MergePlan,
        recompressor: &mut Option<Recompressor>,
        url: &str,
    ) -> Result<Option<Step>> {
        while self.steps.is_empty() || self.pending_bytes < self.window {
            if !self.next_task() && !self.next_input(plan).await? {
                break;
            }
        }
        // The chunks share the requests in flight.
        self.ahead = None;
        poll_fn(|context| {
            if let Some(recompressor) = recompressor {
                recompressor.poll_ready(plan, url, context)?;
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
            Task::Add(blocks) => Step::Add(blocks),
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
        let asked = RequestedChunk::new(chunk, self.order, file);
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
            self.ahead = input.ahead.take().map(|keep| keep());
            let file = plan.add(input)?;
            plan.complete(at)?;
            file
        };
        self.begin(file, plan);
        Ok(true)
    }

    /// Begins the next input if its file is still open; `false` if not.
    fn begin_open(&mut self, plan: &MergePlan) -> bool {
        let is_open = |file: &mut NextFile| matches!(file, NextFile::Open(_));
        let Some(NextFile::Open(file)) = self.files.pop_front_if(is_open) else { return false };
        self.begin(file, plan);
        true
    }

    fn begin(&mut self, file: Arc<RemoteFile>, plan: &MergePlan) {
        let input = &plan.inputs[self.input];
        self.steps.push_back(Queued::Step(Step::Begin(self.input)));
        self.input += 1;
        self.file = Some(file);
        self.tasks = match &mut self.held {
            Some(held) => tasks_in_order(plan, input, held).into(),
            None => tasks(plan, input).into(),
        };
    }

    /// Opens the files of the next inputs of a plan.
    fn open_ahead(&mut self, all: &[Arc<PlannedInput>]) {
        while self.next_open < all.len() && self.files.len() < FILES_OPEN {
            let remote = self.remote.clone();
            let address = all[self.next_open].address.clone();
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
