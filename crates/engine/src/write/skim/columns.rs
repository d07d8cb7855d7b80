//! What is read for a skim that encodes anew, and what is written of it.

use std::sync::Arc;

use remote::Result;

use super::options::SkimOptions;
use crate::read::core::columns::Batch;
use crate::read::core::define::{Computed, cut_of};
use crate::read::core::request::{ColumnRequest, ColumnSpec};
use crate::read::core::skip::OnError;
use crate::read::core::steps::Step;
use crate::read::core::table::Table;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use crate::read::many::scan::ScanRequest;

/// Bytes of arrays that are read and written at a time, about.
const STEP_BYTES: u64 = 32 << 20;

/// The columns that are read: those that are kept, then others that new ones are computed from.
pub struct EncodedColumns {
    wanted: ColumnSpec,
    /// How many others there are, behind those that are kept.
    others: usize,
    /// The new columns, and where each column is that they are computed from.
    computed: Option<(Computed, Vec<Place>)>,
}

/// Where a column is.
enum Place {
    Kept(String),
    Other(usize),
}

impl EncodedColumns {
    pub async fn new(
        session: &Session,
        options: &SkimOptions,
        first: &Arc<dyn Table>,
    ) -> Result<EncodedColumns> {
        let wanted = match &options.columns[..] {
            [] => ColumnSpec::All,
            names => ColumnSpec::Named(names.to_vec()),
        };
        if options.define.is_empty() {
            return Ok(EncodedColumns { wanted, others: 0, computed: None });
        }
        let names = options.define.iter().map(|one| ColumnRequest::named(&*one.name));
        let computed = Computed::new(&options.define, &names.collect::<Vec<_>>());
        let mut requests = session.select(first, &[], &wanted, None).await?.requests();
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
        let (wanted, others) = (ColumnSpec::Requested(requests.clone()), requests.len() - kept);
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

    /// The columns that are written, of a batch of those that are read.
    pub fn computed(&self, mut batch: Batch) -> Result<Batch> {
        let Some((computed, places)) = &self.computed else { return Ok(batch) };
        let others = batch.columns.split_off(batch.columns.len() - self.others);
        let of = |place: &Place| match place {
            Place::Kept(name) => batch.columns.iter().find(|(kept, _)| kept == name).cloned(),
            Place::Other(at) => Some(others[*at].clone()),
        };
        let columns = places.iter().filter_map(of).collect();
        let (entries, survivors) = (batch.entries.clone(), batch.survivors.clone());
        let new = computed.batch(Batch { entries, survivors, columns, left_out: Vec::new() })?;
        batch.columns.extend(new.columns);
        Ok(batch)
    }
}
