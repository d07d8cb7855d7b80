//! A read whose entries a server selects where the file is. Whatever the server cannot do, or no
//! longer does, is read here: from the last entry that has come on.

use std::ops::Range;

use bytes::Bytes;
use rootfile::Array;

use crate::located::unlocated;
use crate::read::core::batches::{BatchSender, Batches};
use crate::read::core::columns::Batch;
use crate::read::core::cut::{Cut, within};
use crate::read::core::request::ColumnRequest;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::{ReadPriority, Step};
use crate::read::core::table::Columns;
use crate::read::near;
use crate::read::near::answers::{NearAnswers, NearRead, PartRequest, parts_of};
use crate::read::near::choice::SelectionSite;
use crate::read::near::choosing::{AnswerSoFar, Choosing};
use crate::read::near::layout::Layout;
use crate::read::near::request::{
    BufferCompression, KnownFile, SelectColumn, SelectCut, SelectFile, SelectRequest,
};
use crate::read::ntuple::columns::RNTupleColumns;
use crate::read::tree::columns::TreeColumns;
use remote::fetch::ledger::Phase;
use remote::near::NearPlace;
use remote::{Error, Result};

/// Bytes of an array for each byte of the baskets that it is made of, and beyond that.
const DECODED_RATIO: u64 = 8;
const DECODED_MIN: u64 = 16 << 20;
/// Decoded bytes for each byte of an RNTuple's file.
const COMPRESSION_MAX: u64 = 8;
/// A request begins and ends where one of so many steps for each does.
const STEPS_PER_PART: u64 = 4;

/// Entries to read.
pub(super) struct WantedEntries<'a> {
    pub cut: Option<&'a Cut>,
    pub entries: Range<u64>,
    pub step: Step,
    pub rank: ReadPriority,
}

/// A read of one table.
struct Elsewhere {
    columns: Box<dyn Columns>,
    cut: Option<Cut>,
    step: Step,
    rank: ReadPriority,
    place: NearPlace,
    /// The requests, each for a part of the entries.
    parts: Vec<PartRequest>,
    /// Decoded bytes that an answer may have.
    decoded_max: u64,
    /// Where the caller leaves the choice to the reader.
    choosing: Option<Choosing>,
    /// First entries of the batches and, last, the end.
    borders: Vec<u64>,
}

/// Where entries come from.
enum EntrySource {
    Server(Box<NearAnswers>),
    Here(Batches),
    /// All have come.
    Nowhere,
}

/// Entries in the order in which they come, to be divided into batches.
struct NearPieces {
    read: Elsewhere,
    origin: EntrySource,
    /// Entries that have come and belong to the next batch.
    held: Option<Batch>,
    /// Nothing is unknown of the entries before this one.
    known: u64,
}

/// Starts the read; `None` where the caller wants to read here, or a server cannot be told what is
/// wanted.
///
/// # Errors
/// Those of planning.
pub(super) async fn start(
    columns: &dyn Columns,
    wanted: WantedEntries<'_>,
) -> Result<Option<Batches>> {
    let WantedEntries { cut, entries, step, rank } = wanted;
    let Some(place) = place(columns, cut) else { return Ok(None) };
    let Some(request) = request(columns, &place, cut, &entries) else { return Ok(None) };
    let choosing = match cut.filter(|_| place.is_choice) {
        Some(cut) => Some(Choosing::of(columns, &place, cut, &entries).await?),
        // All entries are fewer bytes as they are stored.
        None if place.is_choice => return Ok(None),
        None => None,
    };
    let borders = match step {
        Step::Whole => vec![entries.start, entries.end],
        _ => stepped(columns, cut)?.steps(entries.clone(), step).await?,
    };
    let steps = borders.len().saturating_sub(1);
    let size = answer_size(columns, &entries).await?;
    let parts = parts(columns, cut, &request, &size).await?;
    let decoded_max = size.decoded_max;
    let cut = cut.cloned();
    let columns = columns.boxed();
    let remote = columns.file().remote().clone();
    let read = Elsewhere { columns, cut, step, rank, place, parts, decoded_max, choosing, borders };
    Ok(Some(Batches::start(&remote, |output| read.run(output)).in_steps(steps)))
}

/// Bytes of the columns of some entries.
struct AnswerSize {
    entries: Range<u64>,
    /// Stored and decoded, where both are known without a request.
    columns: Option<(u64, u64)>,
    /// As Arrow's arrays, at most.
    decoded_max: u64,
}

/// Bytes of these entries. As Arrow's arrays they are a few times as many as a tree's metadata say,
/// which has shorter offsets of lists. Page lists, which have this of an RNTuple, are not fetched
/// for it: its bound follows from the file's size. Entries beyond the bound are read here.
async fn answer_size(columns: &dyn Columns, entries: &Range<u64>) -> Result<AnswerSize> {
    let known = match columns.downcast_ref::<TreeColumns>() {
        None => None,
        Some(_) => {
            let footprint = columns.footprint(entries.clone()).await?;
            let decoded = footprint.columns.iter().map(|column| column.decoded_bytes);
            Some((footprint.stored_bytes(), decoded.fold(0, u64::saturating_add)))
        }
    };
    let unknown = || columns.file().size().saturating_mul(COMPRESSION_MAX);
    let decoded = known.map_or_else(unknown, |(_, decoded)| decoded);
    let offsets = (entries.end - entries.start).saturating_mul(8 * (1 + columns.len() as u64));
    let most = decoded.saturating_mul(DECODED_RATIO);
    let decoded_max = most.saturating_add(offsets).saturating_add(DECODED_MIN);
    Ok(AnswerSize { entries: entries.clone(), columns: known, decoded_max })
}

/// The requests of a read, divided where the table's own steps end.
async fn parts(
    columns: &dyn Columns,
    cut: Option<&Cut>,
    request: &SelectRequest,
    size: &AnswerSize,
) -> Result<Vec<PartRequest>> {
    let AnswerSize { entries, columns: known, .. } = size;
    let (stored, decoded) = known.unwrap_or_default();
    let count = parts_of(stored, columns.file().remote().round_trip());
    let borders = match count {
        1 => vec![entries.start, entries.end],
        _ => {
            let step = Step::Bytes(decoded.div_ceil(count * STEPS_PER_PART));
            let steps = stepped(columns, cut)?.steps(entries.clone(), step).await?;
            evenly(&steps, count as usize)
        }
    };
    let part = |pair: &[u64]| {
        let part = SelectRequest { entries: Some([pair[0], pair[1]]), ..request.clone() };
        Ok(PartRequest { entries: pair[0]..pair[1], text: Bytes::from(part.written()?) })
    };
    borders.windows(2).map(part).collect()
}

/// The borders of so many parts, each of about as many steps.
fn evenly(steps: &[u64], count: usize) -> Vec<u64> {
    let last = steps.len().saturating_sub(1);
    let border = |part: usize| steps.get(part * last / count.max(1)).copied();
    let mut borders: Vec<u64> = (0..=count).filter_map(border).collect();
    borders.dedup();
    borders
}

/// The columns by which the steps of a read are planned: a tree decides within its own steps.
fn stepped(columns: &dyn Columns, cut: Option<&Cut>) -> Result<Box<dyn Columns>> {
    let mut all = columns.boxed();
    let is_tree = columns.downcast_ref::<TreeColumns>().is_some();
    for deciding in cut.iter().filter(|_| is_tree).flat_map(|cut| &cut.columns) {
        let one = columns.of().select(&ColumnSpec::Requested(vec![deciding.clone()]))?;
        for at in 0..one.len() {
            all.add(&*one, at)?;
        }
    }
    Ok(all)
}

/// The server of the file, where the caller wants it to select. Otherwise the report says why it is
/// not asked.
fn place(columns: &dyn Columns, cut: Option<&Cut>) -> Option<NearPlace> {
    // Other columns are of several tables, which may be known to this program only.
    let is_of_one_table = columns.downcast_ref::<TreeColumns>().is_some()
        || columns.downcast_ref::<RNTupleColumns>().is_some();
    let place = near::place(columns.file());
    let remote = columns.file().remote();
    match &place {
        Some(place) if !columns.friends().is_empty() => {
            let text = format!("{} is not asked: columns of friends are read here", place.server());
            remote.trace().note(Some(remote.tag()), text);
        }
        // Without a cut there is no choice.
        None if is_of_one_table && (cut.is_some() || !near::leaves_choice(columns.file())) => {
            near::note_not_asked(columns.file());
        }
        _ => {}
    }
    place.filter(|_| is_of_one_table)
}

fn request(
    columns: &dyn Columns,
    place: &NearPlace,
    cut: Option<&Cut>,
    entries: &Range<u64>,
) -> Option<SelectRequest> {
    let empty = columns.empty();
    if empty.is_empty()
        || entries.is_empty()
        || !empty.iter().all(|(_, one)| Layout::is_certain(one))
    {
        return None;
    }
    let file = KnownFile::opened(place, columns.of());
    let requests = columns.requests();
    if !are_found(columns, &requests) {
        let remote = columns.file().remote();
        let text = format!("{} is not asked: it would find other columns", place.server());
        remote.trace().note(Some(remote.tag()), text);
        return None;
    }
    let exact = requests.into_iter().map(|one| SelectColumn::Exact(one.into()));
    let cut = match cut {
        None => None,
        Some(cut) => Some(SelectCut::of(cut)?),
    };
    Some(SelectRequest {
        columns: Some(exact.collect()),
        skipped: cut.is_some(),
        cut,
        entries: Some([entries.start, entries.end]),
        // The answer is compressed as a whole.
        compression: Some(BufferCompression::None),
        ..SelectRequest::arrays(vec![SelectFile::Known(file)])
    })
}

/// Whether the requests for columns lead to these and no others: a branch may have the path, or the
/// number behind the path, of another one.
fn are_found(columns: &dyn Columns, requests: &[ColumnRequest]) -> bool {
    let found = columns.of().select(&ColumnSpec::Requested(requests.to_vec()));
    let is_it = |found: &dyn Columns, at: usize| found.pick(&[at]).position(columns, at) == Some(0);
    found.is_ok_and(|found| {
        found.len() == columns.len() && (0..columns.len()).all(|at| is_it(&*found, at))
    })
}

impl Elsewhere {
    async fn run(self, output: BatchSender) -> Result<()> {
        let closed = output.sender.clone();
        tokio::select! {
            done = self.hand_out(output) => done,
            () = closed.closed() => Ok(()),
        }
    }

    async fn hand_out(self, mut output: BatchSender) -> Result<()> {
        output.waits_for(Phase::Bytes);
        let Some(first) = self.borders.first() else { return Ok(()) };
        let Some(end) = self.borders.last() else { return Ok(()) };
        let entries = *first..*end;
        let site = match &self.choosing {
            None => SelectionSite::There,
            Some(choosing) => {
                choosing.note(self.columns.file().remote(), &self.place);
                choosing.choice.site
            }
        };
        match site {
            SelectionSite::Here => self.here(&entries, output).await,
            SelectionSite::There => match self.ask().await {
                Ok(answer) => {
                    let known = entries.start;
                    let origin = EntrySource::Server(Box::new(answer));
                    let pieces = NearPieces { read: self, origin, held: None, known };
                    pieces.hand_out(output).await
                }
                Err(error) => {
                    self.note(&error, entries.start);
                    self.here(&entries, output).await
                }
            },
        }
    }

    async fn batches(&self, entries: Range<u64>) -> Result<Batches> {
        let Elsewhere { columns, cut, step, rank, .. } = self;
        columns.start_planned(cut.as_ref(), entries, *step, *rank).await
    }

    /// Reads all of it here, and remembers the share of its entries that is left.
    async fn here(self, entries: &Range<u64>, mut output: BatchSender) -> Result<()> {
        let mut batches = self.batches(entries.clone()).await?;
        let mut so_far = AnswerSoFar::default();
        while let Some(batch) = batches.next_unreported().await {
            let batch = batch?;
            so_far.entries += batch.entries.end - batch.entries.start;
            so_far.selected += batch.len();
            if !output.hand_over(batch).await {
                return Ok(());
            }
        }
        let remote = self.columns.file().remote();
        if let Some(choosing) = &self.choosing {
            choosing.learn_share(remote, so_far);
        }
        Ok(())
    }

    /// Remembers what an answer that has come to its end has shown.
    fn learn(&self, answer: &NearAnswers) {
        let remote = self.columns.file().remote();
        if let Some(choosing) = &self.choosing {
            choosing.learn_share(remote, answer.so_far());
            choosing.learn_pace(remote, &self.place, answer.so_far());
        }
    }

    async fn ask(&self) -> Result<NearAnswers> {
        let read = NearRead {
            place: self.place.clone(),
            remote: self.columns.file().remote().clone(),
            parts: self.parts.clone(),
            columns: self.columns.empty(),
            has_cut: self.cut.is_some(),
            decoded_max: self.decoded_max,
        };
        NearAnswers::begin(read).await
    }

    /// For the report.
    fn note(&self, error: &Error, entry: u64) {
        let remote = self.columns.file().remote();
        let text = format!(
            "{} does not select: entries from {entry} on are read here: {}",
            self.place.server(),
            error.message()
        );
        remote.trace().note(Some(remote.tag()), text);
    }
}

impl NearPieces {
    async fn hand_out(mut self, mut output: BatchSender) -> Result<()> {
        let borders = self.read.borders.clone();
        if let Some(error) = self.first().await? {
            let NearPieces { read, origin, known, .. } = self;
            drop(origin);
            read.note(&error, known);
            // From the first entry on, columns whose data cannot be read may be left out.
            let end = borders.last().copied().unwrap_or(known);
            return read.here(&(known..end), output).await;
        }
        for pair in borders.windows(2) {
            let batch = self.batch(&(pair[0]..pair[1])).await?;
            if !output.hand_over(batch).await {
                return Ok(());
            }
            output.waits_for(Phase::Bytes);
        }
        // The end of the answer has no entries.
        if let EntrySource::Server(answers) = &mut self.origin
            && let Ok(None) = answers.next().await
        {
            self.read.learn(answers);
        }
        Ok(())
    }

    /// Waits for the first entries of an answer; gives the error that comes in their place.
    async fn first(&mut self) -> Result<Option<Error>> {
        let EntrySource::Server(answers) = &mut self.origin else { return Ok(None) };
        match answers.next().await {
            Ok(Some(piece)) => {
                self.known = piece.entries.end;
                self.held = Some(piece);
                self.reconsider().await?;
            }
            Ok(None) => {
                self.read.learn(answers);
                self.origin = EntrySource::Nowhere;
            }
            Err(error) => return Ok(Some(error)),
        }
        Ok(None)
    }

    /// The entries of one batch.
    async fn batch(&mut self, entries: &Range<u64>) -> Result<Batch> {
        let mut parts = Vec::new();
        if let Some(piece) = self.held.take() {
            parts.push(self.cut_off(piece, entries.end));
        }
        while self.known < entries.end {
            match self.next().await? {
                Some(piece) => {
                    self.known = piece.entries.end;
                    parts.push(self.cut_off(piece, entries.end));
                }
                None => self.known = u64::MAX,
            }
        }
        let has_cut = self.read.cut.is_some();
        joined(parts, self.read.columns.empty(), entries.clone(), has_cut)
    }

    /// The part of a piece that lies before a border; the rest is held back.
    fn cut_off(&mut self, piece: Batch, border: u64) -> Batch {
        if piece.entries.end <= border {
            return piece;
        }
        let (before, behind) = split(piece, border);
        self.held = Some(behind);
        before
    }

    /// The next entries, from wherever they come.
    async fn next(&mut self) -> Result<Option<Batch>> {
        match &mut self.origin {
            EntrySource::Nowhere => Ok(None),
            EntrySource::Here(batches) => {
                let batch = batches.next_unreported().await.transpose()?;
                match batch.as_ref().and_then(|batch| batch.left_out.first()) {
                    Some(skipped) => Err(skipped.error.clone()),
                    None => Ok(batch),
                }
            }
            EntrySource::Server(answers) => match answers.next().await {
                Ok(Some(batch)) => {
                    self.reconsider().await?;
                    Ok(Some(batch))
                }
                Ok(None) => {
                    self.read.learn(answers);
                    self.origin = EntrySource::Nowhere;
                    Ok(None)
                }
                Err(error) => {
                    let left = answers.left();
                    self.read.note(&error, left.start);
                    self.origin = EntrySource::Here(self.read.batches(left).await?);
                    Box::pin(self.next()).await
                }
            },
        }
    }

    /// Goes on here where the server turns out to take much longer.
    async fn reconsider(&mut self) -> Result<()> {
        let EntrySource::Server(answers) = &self.origin else { return Ok(()) };
        let Some(choosing) = &self.read.choosing else { return Ok(()) };
        let remote = self.read.columns.file().remote();
        let left = answers.left();
        if !left.is_empty() && choosing.goes_home(answers.so_far(), remote.trace().now()) {
            let server = self.read.place.server();
            let text = format!("{server} is slow: entries from {} on are read here", left.start);
            remote.trace().note(Some(remote.tag()), text);
            self.read.learn(answers);
            self.origin = EntrySource::Here(self.read.batches(left).await?);
        }
        Ok(())
    }
}

/// A piece in two, at a border within it.
fn split(piece: Batch, border: u64) -> (Batch, Batch) {
    let Batch { entries, survivors, columns, .. } = piece;
    let before = entries.start..border;
    let behind = border..entries.end;
    let runs = |part: &Range<u64>| {
        let runs = survivors.as_ref()?;
        Some(within(runs, part).collect::<Vec<_>>())
    };
    let of = |part: &Range<u64>| Batch {
        entries: part.clone(),
        survivors: runs(part),
        columns: Vec::new(),
        left_out: Vec::new(),
    };
    let mut first = of(&before);
    let mut second = of(&behind);
    let count = first.len() as usize;
    for (name, array) in columns {
        first.columns.push((name.clone(), array.slice(0..count)));
        second.columns.push((name, array.slice(count..array.len())));
    }
    (first, second)
}

/// NearPieces of some entries as one batch.
fn joined(
    parts: Vec<Batch>,
    empty: Vec<(String, Array)>,
    entries: Range<u64>,
    has_cut: bool,
) -> Result<Batch> {
    let mut survivors: Vec<Range<u64>> = Vec::new();
    let mut arrays: Vec<Vec<Array>> = empty.iter().map(|_| Vec::new()).collect();
    for part in parts {
        for run in part.survivors.into_iter().flatten() {
            match survivors.last_mut() {
                Some(last) if last.end == run.start => last.end = run.end,
                _ => survivors.push(run),
            }
        }
        for (all, (_, array)) in arrays.iter_mut().zip(part.columns) {
            all.push(array);
        }
    }
    let mut columns = Vec::with_capacity(empty.len());
    for ((name, nothing), parts) in empty.into_iter().zip(arrays) {
        let array = Array::concat(parts).map_err(unlocated)?;
        columns.push((name, array.unwrap_or(nothing)));
    }
    let survivors = has_cut.then_some(survivors);
    Ok(Batch { entries, survivors, columns, left_out: Vec::new() })
}

#[cfg(test)]
mod tests {
    use rootfile::Numbers;

    use super::*;

    fn piece(entries: Range<u64>, survivors: Option<Vec<Range<u64>>>) -> Batch {
        let runs = survivors.clone().unwrap_or_else(|| vec![entries.clone()]);
        let numbers = Numbers::U64(runs.into_iter().flatten().collect());
        let columns = vec![("x".to_owned(), Array::Numbers { numbers, shape: Vec::new() })];
        Batch { entries, survivors, columns, left_out: Vec::new() }
    }

    #[test]
    fn parts_are_about_equal_and_no_more_than_wanted() {
        assert_eq!(evenly(&[0, 3, 6, 9, 12, 13], 2), [0, 6, 13]);
        assert_eq!(evenly(&[5, 9], 4), [5, 9]);
        assert_eq!(evenly(&(0..=17).collect::<Vec<_>>(), 4), [0, 4, 8, 12, 17]);
    }

    #[test]
    fn pieces_are_divided_at_any_entry_and_put_together_again() {
        for survivors in [None, Some(vec![3..5, 7..8, 11..12]), Some(Vec::new())] {
            let whole = piece(2..12, survivors);
            for border in 3..12 {
                let (before, behind) = split(whole.clone(), border);
                assert_eq!(before, piece(2..border, before.survivors.clone()));
                let empty = vec![("x".to_owned(), whole.columns[0].1.empty_like())];
                let has_cut = whole.survivors.is_some();
                let again = joined(vec![before, behind], empty, 2..12, has_cut).unwrap();
                assert_eq!(again, whole, "{border}");
            }
        }
    }
}
