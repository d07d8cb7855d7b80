//! Reads the columns of an input that the cut and the new columns need, before it is copied.
//! Baskets and pages of these that are copied are not fetched again: see
//! [`RemoteFile::keep`](remote::fetch::RemoteFile::keep).

use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use remote::{Error, ErrorKind, Result};
use rootfile::Array;
use rootfile::tree::BranchId;
use rootfile::write::copy::{
    BesideNTuple, BesideNTupleWriter, BesideTree, BesideWriter, NewColumns, Survivors, Taken,
    TakenEntries, ends_of_clusters,
};
use rootfile::write::{Compression, Encoders};
use tokio::sync::oneshot;

use super::ahead::AheadBaskets;
use super::options::Only;
use crate::located::unlocated;
use crate::read::core::columns::Batch;
use crate::read::core::cut;
use crate::read::core::define::{Computed, cut_of};
use crate::read::core::request::{ColumnRequest, ColumnSpec};
use crate::read::core::select::Names;
use crate::read::core::skip::OnError;
use crate::read::core::steps::Step;
use crate::read::core::table::Table;
use crate::read::file::File;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use crate::read::many::scan::{ScanBatches, ScanRequest, TableLocation};
use crate::read::ntuple::RNTuple;
use crate::read::threads::decoders::Decoders;
use crate::read::tree::Tree;
use crate::write::encoders::with_encoders;

/// Bytes of columns that are read at a time.
const STEP_BYTES: u64 = 32 << 20;
/// Baskets read of an input are kept until it is copied, in an eighth of the memory budget.
const KEPT_PART: u64 = 8;

/// Which entries of an input's table are copied, and its new columns.
pub struct Decided {
    /// Entries that pass the cut; `None` without a cut.
    pub survivors: Option<Survivors>,
    /// New columns of these entries.
    pub beside: Option<Beside>,
    /// Baskets that were requested before the cut was decided.
    pub ahead: Option<AheadBaskets>,
}

/// New columns of an input, for the kind of its table.
pub enum Beside {
    Tree(BesideTree),
    NTuple(BesideNTuple),
}

impl Decided {
    /// The entries and new columns of a tree to copy. New columns without entries are left out:
    /// their types are for [`MergePlan::finish`](super::plan::MergePlan::finish).
    pub fn taken(&self) -> Taken<'_> {
        let beside = self.beside.as_ref().and_then(Beside::tree);
        let beside = beside.filter(|beside| beside.tree.tree.entries > 0);
        Taken { survivors: self.survivors.as_ref(), beside }
    }

    /// The same of an RNTuple, whose header needs the types.
    pub fn taken_entries(&self) -> TakenEntries<'_> {
        let beside = match &self.beside {
            Some(Beside::NTuple(beside)) => Some(beside),
            Some(Beside::Tree(_)) | None => None,
        };
        TakenEntries { survivors: self.survivors.as_ref(), beside }
    }
}

impl Beside {
    pub fn tree(&self) -> Option<&BesideTree> {
        match self {
            Beside::Tree(tree) => Some(tree),
            Beside::NTuple(_) => None,
        }
    }

    /// The new columns of a tree, where no entries of it are copied.
    pub fn without_entries(self) -> Option<BesideTree> {
        match self {
            Beside::Tree(tree) if tree.tree.tree.entries == 0 => Some(tree),
            Beside::Tree(_) | Beside::NTuple(_) => None,
        }
    }
}

/// Applies the cut to a table of a file, and computes its new columns. `is_cold` if the connections
/// to the file's server are new.
pub async fn decide(
    session: &Session,
    (file, is_cold): (&File, bool),
    only: &Only,
    compression: Compression,
) -> Result<Decided> {
    let url = file.url().to_owned();
    let table = session.table_of(file, &url, Some(&only.table)).await?;
    let kept_bytes = session.config().memory_bytes_max / KEPT_PART;
    file.remote().keep(kept_bytes);
    let names: Vec<_> = only.define.iter().map(|one| ColumnRequest::named(&*one.name)).collect();
    let computed = Computed::new(&only.define, &names);
    let cut = only.cut.as_ref().map(|cut| cut_of(&only.define, cut));
    let mut wanted = computed.reads.clone();
    if let (true, Some(cut)) = (wanted.is_empty(), &cut) {
        // A batch needs a column: this one is read for the cut anyway.
        wanted.extend(cut.columns.first().cloned());
    }
    let ahead = table.downcast_ref::<Tree>().filter(|_| is_cold).and_then(|tree| {
        let reads = wanted.iter().chain(cut.iter().flat_map(|cut| &cut.columns));
        // The other half is for the columns of the cut.
        request_ahead((file, tree), &only.columns, reads, kept_bytes / 2)
    });
    let place = TableLocation { url: url.clone(), open: Some(table.clone()), ..Default::default() };
    let request = ScanRequest {
        wanted: ColumnSpec::Requested(wanted.clone()),
        entries: 0..u64::MAX,
        step: Step::Bytes(STEP_BYTES),
        cut: cut.clone(),
        on_error: OnError::Raise,
    };
    let located = |error: Error| error.with_url(&*url);
    let mut batches = ScanBatches::new(session.clone(), vec![place], request);
    let (mut runs, mut new) = (Vec::new(), None);
    if !only.define.is_empty() {
        new = Some(Box::new(Computing::new(&*table, only, compression).await?));
    }
    while let Some(batch) = batches.next().await {
        let batch = batch?.batch;
        let left = batch.survivors.iter().flatten().cloned();
        left.for_each(|run| cut::add(&mut runs, run));
        if let Some(computing) = new.take() {
            let take = move |computing: Box<Computing>| computing.take(batch);
            new = Some(on_thread(session.decoders(), computing, take).await.map_err(located)?);
        }
    }
    let survivors = cut.map(|_| Survivors::new(runs));
    let beside = match new {
        None => None,
        Some(computing) => {
            let wanted = ColumnSpec::Requested(wanted);
            let columns = session.select(&table, &[], &wanted, None).await?.empty();
            let nothing = Batch::empty(0..0, None, columns.into_iter());
            let finish = move |computing: Box<Computing>| computing.finish(nothing);
            on_thread(session.decoders(), computing, finish).await.map_err(located)?
        }
    };
    Ok(Decided { survivors, beside, ahead })
}

/// Requests baskets of the columns to copy, behind those of the columns that `reads` names.
fn request_ahead<'a>(
    (file, tree): (&File, &Tree),
    columns: &[String],
    reads: impl Iterator<Item = &'a ColumnRequest>,
    bytes_max: u64,
) -> Option<AheadBaskets> {
    let tree = tree.metadata();
    let names = Names::new(tree);
    let reads: Vec<BranchId> = reads.filter_map(|read| names.require(&read.name).ok()).collect();
    let branches = match columns {
        [] => (0..tree.branches.len() as u32).map(BranchId).collect(),
        columns => names.select(columns).ok()?,
    };
    AheadBaskets::request(file.remote(), tree, (&branches, &reads), bytes_max)
}

/// New columns of one input, while they are computed.
struct Computing {
    computed: Computed,
    writer: Writer,
    /// Ends of the input's clusters that are not in the batches so far.
    ends: Peekable<IntoIter<u64>>,
    /// The end of the last cluster before these, and how many entries before it pass the cut.
    ended: (u64, u64),
    /// Entries so far that pass the cut.
    entries: u64,
}

/// Encodes new columns for the kind of the input's table.
enum Writer {
    Tree(BesideWriter),
    NTuple(BesideNTupleWriter),
}

impl Writer {
    /// `is_whole` if all entries of the cluster pass the cut.
    fn end_cluster(&mut self, entries: u64, is_whole: bool) {
        match self {
            Writer::Tree(writer) => writer.end_cluster(entries),
            Writer::NTuple(writer) => writer.end_cluster(entries, is_whole),
        }
    }

    fn extend(&mut self, arrays: Vec<Arc<Array>>, encoders: &mut Encoders) -> rootfile::Result<()> {
        match self {
            Writer::Tree(writer) => writer.extend(arrays, encoders),
            Writer::NTuple(writer) => writer.extend(arrays, encoders),
        }
    }

    fn finish(self, encoders: &mut Encoders) -> rootfile::Result<Option<Beside>> {
        Ok(match self {
            Writer::Tree(writer) => writer.finish(encoders)?.map(Beside::Tree),
            Writer::NTuple(writer) => writer.finish(encoders)?.map(Beside::NTuple),
        })
    }
}

impl Computing {
    async fn new(table: &dyn Table, only: &Only, compression: Compression) -> Result<Computing> {
        let names: Vec<String> = only.define.iter().map(|one| one.name.clone()).collect();
        let requests: Vec<_> = names.iter().map(ColumnRequest::named).collect();
        let tree = table.path().rsplit('/').next().unwrap_or_default().to_owned();
        let columns = NewColumns { tree, names, compression };
        let (writer, ends) = match table.downcast_ref::<RNTuple>() {
            Some(ntuple) => {
                let clusters = ntuple.clusters(&(0..ntuple.num_entries())).await?;
                let ends = clusters.iter().map(|cluster| cluster.entries.end).collect();
                (Writer::NTuple(BesideNTupleWriter::new(columns)), ends)
            }
            None => {
                let tree = table.downcast_ref::<Tree>();
                let ends = tree.map(|tree| ends_of_clusters(tree.metadata()));
                (Writer::Tree(BesideWriter::new(columns)), ends.unwrap_or_default())
            }
        };
        Ok(Computing {
            computed: Computed::new(&only.define, &requests),
            writer,
            ends: ends.into_iter().peekable(),
            ended: (0, 0),
            entries: 0,
        })
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
            self.writer.end_cluster(kept, kept - kept_before == end - before);
        }
        if !batch.is_empty() {
            self.entries += batch.len();
            self.write(batch)?;
        }
        Ok(self)
    }

    /// The new columns; if no entry passes the cut, computed of `nothing`, for their types.
    fn finish(mut self: Box<Self>, nothing: Batch) -> Result<Option<Beside>> {
        if self.entries == 0 {
            self.write(nothing)?;
        }
        let Computing { writer, .. } = *self;
        with_encoders(|encoders| writer.finish(encoders)).map_err(unlocated)
    }

    fn write(&mut self, batch: Batch) -> Result<()> {
        let columns = self.computed.batch(batch)?.columns;
        let arrays = columns.into_iter().map(|(_, array)| Arc::new(array)).collect();
        with_encoders(|encoders| self.writer.extend(arrays, encoders)).map_err(unlocated)
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
