//! Columns that are read and written by a skim that encodes entries anew.

use std::sync::Arc;

use remote::Result;

use super::first::First;
use super::options::SkimOptions;
use crate::read::core::columns::Batch;
use crate::read::core::define::{Computed, cut_of};
use crate::read::core::request::ColumnRequest;
use crate::read::core::skip::OnError;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::steps::Step;
use crate::read::core::table::Table;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use crate::read::many::scan::ScanRequest;

/// Approximate bytes of arrays that are read and written at a time.
const STEP_BYTES: u64 = 32 << 20;

/// The columns to read: those that are kept, then others that new ones are computed from.
pub struct EncodedColumns {
    wanted: ColumnSpec,
    /// Number of columns behind the kept ones, which only new columns are computed from.
    others: usize,
    /// The new columns, and for each of [`Computed::reads`] where a batch has it.
    computed: Option<(Computed, Vec<Place>)>,
}

/// Where a batch has a column: among the kept ones, by name, or behind them, by position.
enum Place {
    Kept(String),
    Other(usize),
}

impl EncodedColumns {
    pub async fn new(
        session: &Session,
        options: &SkimOptions,
        first: &First,
    ) -> Result<EncodedColumns> {
        let First { table: first, keeps_none, .. } = first;
        let wanted = match &options.columns[..] {
            [] if *keeps_none => ColumnSpec::Requested(Vec::new()),
            [] => ColumnSpec::All,
            names => ColumnSpec::Named(names.to_vec()),
        };
        // The first table decides which columns these are; the others have to have each of them.
        let mut requests = session.select(first, &[], &wanted, None).await?.requests();
        if options.define.is_empty() {
            let wanted = ColumnSpec::Requested(requests);
            return Ok(EncodedColumns { wanted, others: 0, computed: None });
        }
        let names = options.define.iter().map(|one| ColumnRequest::named(&*one.name));
        let computed = Computed::new(&options.define, &names.collect::<Vec<_>>());
        let kept = requests.len();
        let mut places = Vec::with_capacity(computed.reads.len());
        for read in &computed.reads {
            let found = first.require(&read.name).ok();
            let name = found.map_or(read.name.clone(), |found| found.names()[0].to_owned());
            if requests[..kept].iter().any(|kept| kept.name == name && !kept.as_bytes) {
                places.push(Place::Kept(name));
            } else {
                places.push(Place::Other(requests.len() - kept));
                requests.push(read.clone());
            }
        }
        let wanted = ColumnSpec::Requested(requests.clone());
        let others = requests.len() - kept;
        Ok(EncodedColumns { wanted, others, computed: Some((computed, places)) })
    }

    pub fn request(&self, options: &SkimOptions) -> ScanRequest {
        ScanRequest {
            wanted: self.wanted.clone(),
            entries: 0..u64::MAX,
            step: Step::Bytes(STEP_BYTES),
            cut: options.cut.as_ref().map(|cut| cut_of(&options.define, cut)),
            on_error: OnError::Raise,
        }
    }

    /// Number of new columns, which are behind the kept ones.
    pub fn new_columns(&self) -> usize {
        self.computed.as_ref().map_or(0, |(computed, _)| computed.wanted_columns())
    }

    /// The columns to write of a table, without entries, for their types.
    pub async fn nothing(&self, session: &Session, table: &Arc<dyn Table>) -> Result<Batch> {
        let columns = session.select(table, &[], &self.wanted, None).await?.empty();
        self.computed(Batch::empty(0..0, None, columns.into_iter()))
    }

    /// The columns to write: the kept ones of a batch, then the new ones computed from it.
    pub fn computed(&self, mut batch: Batch) -> Result<Batch> {
        let Some((computed, places)) = &self.computed else { return Ok(batch) };
        let others = batch.columns.split_off(batch.columns.len() - self.others);
        let of = |place: &Place| match place {
            Place::Kept(name) => batch.columns.iter().find(|(kept, _)| kept == name).cloned(),
            Place::Other(at) => Some(others[*at].clone()),
        };
        let columns = places.iter().filter_map(of).collect();
        let entries = batch.entries.clone();
        let survivors = batch.survivors.clone();
        let new = computed.batch(Batch { entries, survivors, columns, left_out: Vec::new() })?;
        batch.columns.extend(new.columns);
        Ok(batch)
    }
}
