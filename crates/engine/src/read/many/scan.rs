//! Many files read as one, the next ones opened while the present one is read.

use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{try_join, try_join_all};
use futures::stream::{self, Stream};

use super::ahead::{Ahead, Pace};
use super::opener::Opener;
use crate::read::core::alike::ColumnTypes;
use crate::read::core::batches::Batches;
use crate::read::core::columns::too_late;
use crate::read::core::columns::{Batch, SkippedColumn};
use crate::read::core::cut::Cut;
use crate::read::core::expressions::Expressions;
use crate::read::core::friends::{EntryLookup, Friend};
use crate::read::core::skip::{OnError, Reach, Skipped};
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::ReadPriority;
use crate::read::core::steps::Step;
use crate::read::core::table::Table;
use crate::read::file::Speculation;
use crate::read::file::layout_hints::{MetadataHints, are_over_http};
use crate::read::file::session::Session;
use remote::{Error, ErrorKind, Result};

/// One tree or RNTuple in one file.
#[derive(Clone, Default)]
pub struct TableLocation {
    pub url: String,
    /// Path of the table; `None` takes the only one there is.
    pub path: Option<String>,
    /// The table itself, where it is open already.
    pub open: Option<Arc<dyn Table>>,
    /// Which of its entries, where these are others than the scan's.
    pub entries: Option<Range<u64>>,
    /// How many entries it is said to have; it is an error where it has another number.
    pub count: Option<u64>,
    /// Other tables whose entries belong to its own.
    pub friends: Vec<FriendLocation>,
    /// Of one of several tables that are read as one: its first entry among theirs, and how many
    /// these have. Formulas count entries so.
    pub within: Option<(u64, u64)>,
}

/// A friend beside a table.
#[derive(Clone)]
pub struct FriendLocation {
    /// The name before the dot in `friend.branch`.
    pub name: String,
    pub place: TableLocation,
    /// Number of its entry that belongs to the first of the table.
    pub(crate) entry_offset: i64,
    /// It is one of several that are read one after the other, of which some lack entries.
    pub(crate) lacks: bool,
    pub(crate) lookup: EntryLookup,
}

impl FriendLocation {
    /// A table whose entries belong to those of the one that it is placed beside.
    pub fn new(name: &str, place: TableLocation) -> Self {
        let name = name.to_owned();
        FriendLocation { name, place, entry_offset: 0, lacks: false, lookup: EntryLookup::Own }
    }
}

impl TableLocation {
    fn entries(&self, scan: &ScanRequest) -> Range<u64> {
        self.entries.clone().unwrap_or_else(|| scan.entries.clone())
    }

    pub(crate) async fn open(
        &self,
        session: &Session,
        speculation: Speculation,
    ) -> Result<Arc<dyn Table>> {
        let table = match &self.open {
            Some(table) => table.clone(),
            None => session.open_table(&self.url, self.path.as_deref(), speculation).await?,
        };
        self.expect(&*table)?;
        Ok(table)
    }

    /// Checks that a table is the expected one.
    ///
    /// # Errors
    /// `Corrupt` where it has another number of entries.
    pub(crate) fn expect(&self, table: &dyn Table) -> Result<()> {
        match self.count.filter(|count| *count != table.num_entries()) {
            None => Ok(()),
            Some(count) => {
                let there = table.num_entries();
                let message =
                    format!("{} is said to have {count} entries, and has {there}", table.path());
                let error = Error::new(ErrorKind::Corrupt, message).with_url(&*self.url);
                Err(error.with_advice("the file was made anew, or the count is an old one"))
            }
        }
    }

    /// Opens the table and its friends, all at the same time.
    pub(crate) async fn open_with_friends(
        &self,
        session: &Session,
    ) -> Result<(Arc<dyn Table>, Vec<Friend>)> {
        let speculation = Speculation::Eager;
        let friends = self.open_friends(session, &speculation);
        try_join(self.open(session, speculation.clone()), friends).await
    }

    /// Opens the friends, all at the same time.
    async fn open_friends(
        &self,
        session: &Session,
        speculation: &Speculation,
    ) -> Result<Vec<Friend>> {
        let open = async |placed: &FriendLocation| {
            let table = Box::pin(placed.place.open(session, speculation.clone())).await?;
            let friend = Friend::new(&placed.name, table);
            Ok(Friend {
                entry_offset: placed.entry_offset,
                sometimes_lacks: placed.lacks,
                lookup: placed.lookup,
                ..friend
            })
        };
        try_join_all(self.friends.iter().map(open)).await
    }
}

/// Columns and entries to read of every table.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    pub wanted: ColumnSpec,
    /// Entries of each table.
    pub entries: Range<u64>,
    pub step: Step,
    /// Which of the entries are read; `None` takes all.
    pub cut: Option<Cut>,
    pub on_error: OnError,
}

/// A batch, and which table it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct ScanBatch {
    /// Position of the table's file in the list.
    pub file: usize,
    /// The file's address, as it was given.
    pub url: String,
    /// The columns.
    pub batch: Batch,
}

impl Deref for ScanBatch {
    type Target = Batch;

    fn deref(&self) -> &Batch {
        &self.batch
    }
}

/// Files that are opened together before the first of them has shown where the metadata are.
const OPENS_UNLEARNED: usize = 16;

/// Many tables, opened side by side, in the order of their places.
pub struct OpenAhead {
    session: Session,
    places: VecDeque<TableLocation>,
    opening: Ahead<Arc<dyn Table>>,
    hints: MetadataHints,
    /// Whether there is a single file: its end is then read at once, a round trip earlier.
    is_one: bool,
}

impl OpenAhead {
    pub(crate) fn new(session: Session, places: Vec<TableLocation>) -> Self {
        let hints = MetadataHints::default();
        let is_one = places.len() == 1;
        OpenAhead { session, places: places.into(), opening: Ahead::new(), hints, is_one }
    }

    /// Over HTTP each request takes a connection for a round trip, and a file of which nothing is
    /// known takes three.
    fn waits_for_hints(&self) -> bool {
        let is_over_http = |place: &TableLocation| {
            remote::address::parse(&place.url).is_ok_and(|urls| are_over_http(&urls))
        };
        !self.hints.are_learned() && self.places.front().is_some_and(is_over_http)
    }

    /// The next table; `None` after the last one. Nothing comes after an error.
    pub async fn next(&mut self) -> Option<Result<Arc<dyn Table>>> {
        let opens_max = match self.waits_for_hints() {
            true => OPENS_UNLEARNED,
            false => self.session.config().opens_max,
        };
        while self.opening.len() < opens_max {
            let Some(place) = self.places.pop_front() else { break };
            let session = self.session.clone();
            let hints = self.hints.clone();
            let speculation = match self.is_one {
                true => Speculation::Eager,
                false => Speculation::Learned(hints.clone()),
            };
            let work = async move {
                let table = place.open(&session, speculation).await?;
                table.add_hints(&hints);
                Ok(table)
            };
            self.opening.push(self.session.remote().trace(), work);
        }
        let opened = self.opening.next().await;
        if let Some(Err(_)) = &opened {
            self.places.clear();
            self.opening.clear();
        }
        opened
    }
}

/// Batches of many files, in the order of the files.
pub struct ScanBatches {
    session: Session,
    places: VecDeque<(usize, TableLocation)>,
    scan: ScanRequest,
    opening: Ahead<Begun>,
    present: Option<Started>,
    /// Optional columns that the first batch of all has left out, for all files.
    left_out: Option<Vec<SkippedColumn>>,
    types: ColumnTypes,
    pace: Pace,
    hints: MetadataHints,
}

/// Result of opening a file.
enum Begun {
    Started(Box<Started>),
    /// It cannot be read, and the others are.
    Failed(Skipped),
}

struct Started {
    file: usize,
    url: String,
    source: Expressions,
    /// Entries that have not been handed out.
    left: Range<u64>,
    batches: Batches,
    /// Something among the next entries cannot be read: they are read step by step until it has
    /// been found.
    searching: bool,
    metadata_bytes: u64,
    opening_took: Duration,
    /// When the file's turn came, on the session's clock.
    turn: Duration,
}

impl ScanBatches {
    pub(crate) fn new(session: Session, places: Vec<TableLocation>, scan: ScanRequest) -> Self {
        let hints = MetadataHints::read(places.len());
        let places = places.into_iter().enumerate().collect();
        ScanBatches {
            session,
            places,
            scan,
            opening: Ahead::new(),
            present: None,
            left_out: None,
            types: ColumnTypes::default(),
            pace: Pace::default(),
            hints,
        }
    }

    /// The same, with columns of types that go together; the request names each column.
    #[must_use]
    pub fn with_types(self, types: ColumnTypes) -> Self {
        ScanBatches { types, ..self }
    }

    /// The same as a stream; nothing comes after an error.
    pub fn into_stream(self) -> impl Stream<Item = Result<ScanBatch>> {
        let next = async |mut batches: ScanBatches| Some((batches.next().await?, batches));
        stream::unfold(self, next)
    }

    /// The next batch; `None` after the last one of the last file, and after an error. Nothing is
    /// read before the first call. Dropping this ends the read.
    pub async fn next(&mut self) -> Option<Result<ScanBatch>> {
        self.next_for(true).await
    }

    /// As [`ScanBatches::next`], for a part of another read, whose own consumer may not be waiting.
    pub(crate) async fn next_unreported(&mut self) -> Option<Result<ScanBatch>> {
        self.next_for(false).await
    }

    async fn next_for(&mut self, reported: bool) -> Option<Result<ScanBatch>> {
        loop {
            self.open_ahead();
            if let Some(present) = &mut self.present {
                match present.next(&self.scan, &mut self.left_out, reported).await {
                    Some(Ok(batch)) => {
                        let file = present.file;
                        let url = present.url.clone();
                        return Some(match self.types.convert(batch) {
                            Ok(batch) => Ok(ScanBatch { file, url, batch }),
                            Err(error) => Err(self.give_up(error)),
                        });
                    }
                    Some(Err(error)) => return Some(Err(self.give_up(error))),
                    None => {
                        let now = self.session.remote().trace().now();
                        self.pace.read(now.saturating_sub(present.turn));
                        self.present = None;
                    }
                }
            }
            match self.opening.next().await? {
                Ok(Begun::Failed(skipped)) => self.scan.on_error.report(skipped),
                Ok(Begun::Started(mut started)) => {
                    self.pace.opened(started.opening_took, started.metadata_bytes);
                    if self.types.compare()
                        && let Err(error) =
                            started.source.types().and_then(|types| self.types.begin(&types))
                    {
                        if matches!(self.scan.on_error, OnError::Raise) {
                            return Some(Err(self.give_up(error)));
                        }
                        self.scan.on_error.report(started.skipped(error));
                        continue;
                    }
                    started.turn = self.session.remote().trace().now();
                    self.present = Some(*started);
                }
                Err(error) => return Some(Err(self.give_up(error))),
            }
        }
    }

    fn give_up(&mut self, error: Error) -> Error {
        self.places.clear();
        self.opening.clear();
        self.present = None;
        error
    }

    fn open_ahead(&mut self) {
        let config = self.session.config();
        let ahead = self.pace.files_ahead(config.opens_max, config.memory_bytes_max);
        while self.opening.len() < ahead {
            let Some((file, place)) = self.places.pop_front() else { return };
            let urgent = self.present.is_none() && self.opening.len() == 0;
            let session = self.session.clone();
            let scan = self.scan.clone();
            let hints = self.hints.clone();
            let work = async move { begin(session, file, place, scan, urgent, &hints).await };
            self.opening.push(self.session.remote().trace(), work);
        }
    }
}

impl Started {
    /// The report of a file of which nothing can be read with the other files.
    fn skipped(&self, error: Error) -> Skipped {
        let path = Some(self.source.columns().path().to_owned());
        Skipped { file: self.file, url: self.url.clone(), path, entries: None, error }
    }

    /// The next batch; `None` when the rest of the file has been read or left out.
    async fn next(
        &mut self,
        scan: &ScanRequest,
        left_out: &mut Option<Vec<SkippedColumn>>,
        reported: bool,
    ) -> Option<Result<Batch>> {
        loop {
            let next = match self.searching {
                true => self.next_step(scan).await,
                false if reported => self.batches.next().await,
                false => self.batches.next_unreported().await,
            };
            let next = next?.and_then(|batch| self.source.batch(batch));
            match next.and_then(|batch| without(batch, left_out)) {
                Ok(batch) => {
                    self.left.start = batch.entries.end;
                    return Some(Ok(batch));
                }
                Err(error) => {
                    if let Err(error) = self.leave_out(scan, error).await {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    /// The next step, read by itself.
    async fn next_step(&mut self, scan: &ScanRequest) -> Option<Result<Batch>> {
        loop {
            let step = match self.source.columns().first_step(self.left.clone(), scan.step).await {
                Ok(step) => step?,
                Err(error) => return Some(Err(error)),
            };
            let cut = self.source.cut();
            let end = step.end;
            let columns = self.source.columns();
            match columns.start_where(cut, step, Step::Whole, self.rank()).await {
                Ok(mut batches) => match batches.next().await {
                    // A cut has left nothing.
                    None => self.left.start = end,
                    batch => return batch,
                },
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Leaves out the entries that an error concerns, if the caller wants that.
    ///
    /// # Errors
    /// The error itself where nothing is to be left out.
    async fn leave_out(&mut self, scan: &ScanRequest, error: Error) -> Result<()> {
        let reach = Reach::of(&error);
        if matches!(scan.on_error, OnError::Raise) || reach == Reach::Caller {
            return Err(error);
        }
        if reach == Reach::Place && !std::mem::replace(&mut self.searching, true) {
            // It may be a later step that is prepared already.
            return Ok(());
        }
        let step = match reach {
            // Behind the stored entries there is no step that can be read.
            Reach::Place if self.left.start >= *self.source.columns().entries_stored().start() => {
                Ok(None)
            }
            Reach::Place => self.source.columns().first_step(self.left.clone(), scan.step).await,
            _ => Ok(None),
        };
        let end = step.ok().flatten().map_or(self.left.end, |step| step.end);
        scan.on_error.report(Skipped {
            file: self.file,
            url: self.url.clone(),
            path: Some(self.source.columns().path().to_owned()),
            entries: Some(self.left.start..end),
            error,
        });
        self.left.start = end;
        self.searching = false;
        let left = self.left.clone();
        let rank = self.rank();
        let columns = self.source.columns();
        let cut = self.source.cut();
        match columns.start_where(cut, left, scan.step, rank).await {
            Ok(batches) => self.batches = batches,
            // Found again by the next step.
            Err(_) => self.searching = true,
        }
        Ok(())
    }

    fn rank(&self) -> ReadPriority {
        ReadPriority { order: self.file as u64, ..ReadPriority::of(&self.left) }
    }
}

/// The batch with those columns that the first batch of all files has.
///
/// # Errors
/// That of a column which only this batch lacks.
fn without(mut batch: Batch, left_out: &mut Option<Vec<SkippedColumn>>) -> Result<Batch> {
    let decided = left_out.get_or_insert_with(|| batch.left_out.clone());
    let is_new =
        |column: &&SkippedColumn| decided.iter().all(|other| other.column != column.column);
    if let Some(new) = batch.left_out.iter().find(is_new) {
        return Err(too_late(new.error.clone()));
    }
    batch.columns.retain(|(name, _)| decided.iter().all(|column| column.column != *name));
    batch.left_out.clone_from(decided);
    Ok(batch)
}

async fn begin(
    session: Session,
    file: usize,
    place: TableLocation,
    scan: ScanRequest,
    urgent: bool,
    hints: &MetadataHints,
) -> Result<Begun> {
    let url = place.url.clone();
    let path = place.path.clone();
    let may_leave_out = matches!(scan.on_error, OnError::Report(_));
    match start(session, file, place, scan, urgent, hints).await {
        Ok(started) => Ok(Begun::Started(Box::new(started))),
        Err(error) if may_leave_out && Reach::of(&error) != Reach::Caller => {
            Ok(Begun::Failed(Skipped { file, url, path, entries: None, error }))
        }
        Err(error) => Err(error),
    }
}

async fn start(
    session: Session,
    file: usize,
    place: TableLocation,
    scan: ScanRequest,
    urgent: bool,
    hints: &MetadataHints,
) -> Result<Started> {
    let begun = session.remote().trace().now();
    let speculation = if urgent { Speculation::Eager } else { Speculation::Learned(hints.clone()) };
    let entries = place.entries(&scan);
    let rank = ReadPriority { order: file as u64, urgent, ..ReadPriority::of(&entries) };
    let remembered = match &place.open {
        None if place.friends.is_empty() => {
            start_speculatively(&session, &place, &scan, rank).await?
        }
        _ => None,
    };
    let (source, batches) = match remembered {
        Some(started) => started,
        None => {
            let opened = place.open(&session, speculation.clone());
            let (table, friends) =
                try_join(opened, place.open_friends(&session, &speculation)).await?;
            let begun = read(&session, &table, &friends, &place, &scan, rank).await?;
            table.add_hints(hints);
            begun
        }
    };
    let opening_took = session.remote().trace().now().saturating_sub(begun);
    let metadata_bytes = source.columns().file().metadata_bytes();
    let end = entries.end.min(source.columns().num_entries());
    let left = entries.start.min(end)..end;
    let url = place.url;
    let turn = Duration::ZERO;
    let searching = false;
    Ok(Started { file, url, source, left, batches, searching, metadata_bytes, opening_took, turn })
}

/// Begins to read before the file is open, where its metadata are stored: the ranges needed first
/// are requested together with the open. No batch is handed on unless the file is the one whose
/// metadata were stored.
async fn start_speculatively(
    session: &Session,
    place: &TableLocation,
    scan: &ScanRequest,
    rank: ReadPriority,
) -> Result<Option<(Expressions, Batches)>> {
    let Some(speculative) = session.open_speculatively(&place.url).await? else { return Ok(None) };
    let started = async {
        let table = session.table_of(&speculative.file, &place.url, place.path.as_deref()).await?;
        place.expect(&*table)?;
        read(session, &table, &[], place, scan, rank).await
    };
    // An error may be the other file's.
    let started = started.await;
    if speculative.confirm().await? { started.map(Some) } else { Ok(None) }
}

async fn read(
    session: &Session,
    table: &Arc<dyn Table>,
    friends: &[Friend],
    place: &TableLocation,
    scan: &ScanRequest,
    rank: ReadPriority,
) -> Result<(Expressions, Batches)> {
    let source = session.expressions(table, friends, &scan.wanted, scan.cut.as_ref()).await;
    let source = source.map_err(|error| error.with_url(&*place.url))?.within(place.within);
    let entries = place.entries(scan);
    let columns = source.columns();
    let batches = columns.start_where(source.cut(), entries, scan.step, rank).await?;
    Ok((source, batches))
}
