//! Reads the columns of an input that the cut and the new columns need, before it is copied.
//! Baskets and pages of these that are copied are not fetched again: see
//! [`RemoteFile::keep`](remote::fetch::RemoteFile::keep).

use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use futures::FutureExt;
use futures::future::BoxFuture;
use remote::{Error, ErrorKind, Result};
use rootfile::tree::BranchId;
use rootfile::write::Compression;
use rootfile::write::copy::Survivors;
use tokio::sync::oneshot;

use super::ahead::AheadBaskets;
use crate::located::unlocated;
use crate::read::core::columns::Batch;
use crate::read::core::cut::{self, Cut};
use crate::read::core::define::{Computed, Definition, cut_of};
use crate::read::core::request::ColumnRequest;
use crate::read::core::select::Names;
use crate::read::core::skip::OnError;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::Step;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use crate::read::many::scan::{ScanBatches, ScanRequest, TableLocation};
use crate::read::threads::decoders::Decoders;
use crate::read::tree::Tree;
use crate::write::copy::{DecideEntries, DecidedTable, OpenedInput, SourceTable};
use crate::write::encoders::with_encoders;

/// Bytes of columns that are read at a time.
const STEP_BYTES: u64 = 32 << 20;
/// Baskets read of an input are kept until it is copied, in an eighth of the memory budget.
const KEPT_PART: u64 = 8;

/// The cut of a skim, and its new columns.
#[derive(Debug, Clone)]
pub struct CutAndColumns {
    /// Names of the columns that are copied; all if there are none.
    pub columns: Vec<String>,
    pub cut: Option<Cut>,
    pub define: Vec<Definition>,
    /// Compression of the new columns.
    pub compression: Compression,
}

impl DecideEntries for CutAndColumns {
    fn decide<'a>(
        &'a self,
        session: &'a Session,
        opened: OpenedInput<'a>,
        source: Box<dyn SourceTable>,
    ) -> BoxFuture<'a, Result<DecidedTable>> {
        decide(session, opened, source, self).boxed()
    }
}

/// Applies the cut to a table of an input, and computes its new columns.
async fn decide(
    session: &Session,
    opened: OpenedInput<'_>,
    source: Box<dyn SourceTable>,
    only: &CutAndColumns,
) -> Result<DecidedTable> {
    let OpenedInput { file, path, is_cold } = opened;
    let url = file.url().to_owned();
    let located = |error: Error| error.with_url(&*url);
    let table = session.table_of(file, &url, Some(path)).await?;
    let kept_bytes = session.config().memory_bytes_max / KEPT_PART;
    file.remote().keep(kept_bytes);
    let reads = CutReads::of(only);
    let ahead = table.downcast_ref::<Tree>().filter(|_| is_cold).and_then(|tree| {
        // The other half is for the columns of the cut.
        request_ahead(file, tree, only, &reads, kept_bytes / 2)
    });
    let location =
        TableLocation { url: url.clone(), open: Some(table.clone()), ..Default::default() };
    let request = ScanRequest {
        wanted: ColumnSpec::Requested(reads.wanted.clone()),
        entries: 0..u64::MAX,
        step: Step::Bytes(STEP_BYTES),
        cut: reads.cut.clone(),
        on_error: OnError::Raise,
    };
    let mut batches = ScanBatches::new(session.clone(), vec![location], request);
    let mut runs = Vec::new();
    let mut computing = Box::new(Computing::new(source, only));
    while let Some(batch) = batches.next().await {
        let batch = batch?.batch;
        let left = batch.survivors.iter().flatten().cloned();
        left.for_each(|run| cut::add(&mut runs, run));
        if !only.define.is_empty() {
            let take = move |computing: Box<Computing>| computing.take(batch);
            computing = on_thread(session.decoders(), computing, take).await.map_err(located)?;
        }
    }
    if !only.define.is_empty() {
        let wanted = ColumnSpec::Requested(reads.wanted);
        let columns = session.select(&table, &[], &wanted, None).await?.empty();
        let nothing = Batch::empty(0..0, None, columns.into_iter());
        let finish = move |computing: Box<Computing>| computing.finish(nothing);
        computing = on_thread(session.decoders(), computing, finish).await.map_err(located)?;
    }
    let mut table = computing.source;
    if reads.cut.is_some() {
        table.set_survivors(Survivors::new(runs));
    }
    let ahead = ahead.map(|ahead| Box::new(move || ahead.keep_arrived()) as _);
    Ok(DecidedTable { table, ahead })
}

/// The columns that a cut and new columns read.
struct CutReads {
    wanted: Vec<ColumnRequest>,
    cut: Option<Cut>,
}

impl CutReads {
    fn of(only: &CutAndColumns) -> CutReads {
        let names: Vec<_> =
            only.define.iter().map(|one| ColumnRequest::named(&*one.name)).collect();
        let mut wanted = Computed::new(&only.define, &names).reads;
        let cut = only.cut.as_ref().map(|cut| cut_of(&only.define, cut));
        if let (true, Some(cut)) = (wanted.is_empty(), &cut) {
            // A batch needs a column: this one is read for the cut anyway.
            wanted.extend(cut.columns.first().cloned());
        }
        CutReads { wanted, cut }
    }

    fn all(&self) -> impl Iterator<Item = &ColumnRequest> {
        self.wanted.iter().chain(self.cut.iter().flat_map(|cut| &cut.columns))
    }
}

/// Requests baskets of the columns to copy, behind those of the columns that `reads` names.
fn request_ahead(
    file: &File,
    tree: &Tree,
    only: &CutAndColumns,
    reads: &CutReads,
    bytes_max: u64,
) -> Option<AheadBaskets> {
    let tree = tree.metadata();
    let names = Names::new(tree);
    let reads = reads.all().filter_map(|read| names.require(&read.name).ok());
    let reads: Vec<BranchId> = reads.collect();
    let branches = match &only.columns[..] {
        [] => (0..tree.branches.len() as u32).map(BranchId).collect(),
        columns => names.select(columns).ok()?,
    };
    AheadBaskets::request(file.remote(), tree, &branches, &reads, bytes_max)
}

/// New columns of one input, while they are computed.
struct Computing {
    computed: Computed,
    /// The table that gets them.
    source: Box<dyn SourceTable>,
    /// Ends of the input's clusters that are not in the batches so far.
    ends: Peekable<IntoIter<u64>>,
    /// The end of the last cluster before these, and how many entries before it pass the cut.
    ended: (u64, u64),
    /// Entries so far that pass the cut.
    entries: u64,
}

impl Computing {
    fn new(mut source: Box<dyn SourceTable>, only: &CutAndColumns) -> Computing {
        let names: Vec<String> = only.define.iter().map(|one| one.name.clone()).collect();
        let requests: Vec<_> = names.iter().map(ColumnRequest::named).collect();
        if !names.is_empty() {
            source.begin_columns(names, only.compression);
        }
        Computing {
            computed: Computed::new(&only.define, &requests),
            ends: source.ends_of_clusters().into_iter().peekable(),
            source,
            ended: (0, 0),
            entries: 0,
        }
    }

    /// Computes the new columns of a batch, and adds them.
    fn take(mut self: Box<Self>, batch: Batch) -> Result<Box<Self>> {
        let survivors = batch.survivors.clone().map(Survivors::new);
        let rank = |entry: u64| match &survivors {
            Some(survivors) => survivors.rank(entry),
            None => entry - batch.entries.start,
        };
        while let Some(end) = self.ends.next_if(|end| *end <= batch.entries.end) {
            let kept = self.entries + rank(end);
            let (before, kept_before) = std::mem::replace(&mut self.ended, (end, kept));
            self.source.end_cluster(kept, kept - kept_before == end - before);
        }
        if !batch.is_empty() {
            self.entries += batch.len();
            self.write(batch)?;
        }
        Ok(self)
    }

    /// The new columns; if no entry passes the cut, computed of `nothing`, for their types.
    fn finish(mut self: Box<Self>, nothing: Batch) -> Result<Box<Self>> {
        if self.entries == 0 {
            self.write(nothing)?;
        }
        with_encoders(|encoders| self.source.end_columns(encoders)).map_err(unlocated)?;
        Ok(self)
    }

    fn write(&mut self, batch: Batch) -> Result<()> {
        let columns = self.computed.batch(batch)?.columns;
        let arrays = columns.into_iter().map(|(_, array)| Arc::new(array)).collect();
        with_encoders(|encoders| self.source.extend_columns(arrays, encoders)).map_err(unlocated)
    }
}

/// Runs `work` on one of the decoding threads, and returns its result.
async fn on_thread<A: Send + 'static, T: Send + 'static>(
    decoders: &Decoders,
    argument: A,
    work: impl FnOnce(A) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (done, result) = oneshot::channel();
    decoders.spawn(move || {
        // Without a receiver the skim has been cancelled.
        let _ = done.send(work(argument));
    });
    let failed = |_| {
        let text = "a thread that computes new columns has failed";
        Error::new(ErrorKind::Io, text).with_advice("please report it")
    };
    result.await.map_err(failed)?
}
