//! Histograms of a table: filled by the server of its file where the caller wants that, else here.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::turn::StepsInTurn;
use super::{Histogram, histogram, plan};
use crate::Engine;
use crate::read::core::friends::Friend;
use crate::read::core::steps::Step;
use crate::read::core::table::Table;
use crate::read::many::chain::Chain;
use crate::read::many::scan::{FriendLocation, ScanRequest, TableLocation};
use crate::read::near::choice::SelectionSite;
use crate::read::near::choosing::Choosing;
use crate::read::near::request::{
    HistogramAxis, KnownFile, Operation, SelectColumn, SelectCut, SelectFile, SelectRequest,
};
use crate::read::near::{note_not_asked, place};
use crate::read::open::meaning::NameScope;
use remote::near::NearPlace;
use remote::{Error, ErrorKind, Result};

/// Bytes of a server's answer.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Bytes that a bin takes in the server's answer, about.
const CELL_BYTES: u64 = 8;
/// Decoded bytes of a step.
const STEP_BYTES: u64 = 32 << 20;

/// A histogram to fill.
#[derive(Debug, Clone)]
pub struct HistogramRequest {
    /// One to three.
    pub axes: Vec<HistogramAxis>,
    /// The column of weights.
    pub weight: Option<String>,
    pub cut: Option<String>,
    pub entries: Range<u64>,
}

impl HistogramRequest {
    fn select(&self, files: Vec<SelectFile>) -> SelectRequest {
        let HistogramRequest { axes, weight, cut, entries } = self.clone();
        SelectRequest {
            operation: Operation::Histogram,
            axes,
            weight: weight.map(SelectColumn::Text),
            cut: cut.map(SelectCut::Text),
            entries: Some([entries.start, entries.end]),
            ..SelectRequest::arrays(files)
        }
    }
}

impl Engine {
    /// Fills a histogram with columns of a table; `friends` are those that a program has added.
    ///
    /// # Errors
    /// `InvalidArgument` for axes that are none and columns of other things than numbers; as
    /// [`Engine::select_expressions`]; those of reading.
    pub async fn histogram(
        &self,
        table: &Arc<dyn Table>,
        friends: &[Friend],
        request: &HistogramRequest,
    ) -> Result<Histogram> {
        let is_one = friends.is_empty() && table.downcast_ref::<Chain>().is_none();
        let place = place(table.file()).filter(|_| is_one);
        if place.is_none() && is_one {
            note_not_asked(table.file());
        }
        if let Some(place) = place {
            let remote = table.file().remote();
            let choosing = match place.is_choice {
                true => Some(self.choosing(&place, table, request).await?),
                false => None,
            };
            choosing.iter().for_each(|choosing| choosing.note(remote, &place));
            let is_here = |one: &Choosing| one.choice.site == SelectionSite::Here;
            if !choosing.as_ref().is_some_and(is_here) {
                match self.histogram_of(&place, table, request).await {
                    Ok(histogram) => return Ok(histogram),
                    Err(error) => {
                        let server = place.server();
                        let text = format!("{server} does not select: {}", error.message());
                        remote.trace().note(Some(remote.tag()), text);
                    }
                }
            }
        }
        let friends = friends
            .iter()
            .map(|friend| FriendLocation::new(&friend.name, TableLocation::opened(&friend.table)));
        let location = TableLocation { friends: friends.collect(), ..TableLocation::opened(table) };
        let select = request.select(Vec::new());
        let (wanted, cut) = plan::wanted(&select)?;
        let entries = request.entries.clone();
        let step = Step::Bytes(STEP_BYTES);
        let scan = ScanRequest { wanted, entries, step, cut, ..ScanRequest::default() };
        let scan = StepsInTurn::new(self, self.scan([location], scan), Duration::MAX);
        let filled = histogram::filled(scan, &request.axes, request.weight.is_some());
        Ok(filled.await?.0)
    }

    /// The choice between the server and here.
    async fn choosing(
        &self,
        place: &NearPlace,
        table: &Arc<dyn Table>,
        request: &HistogramRequest,
    ) -> Result<Choosing> {
        let (wanted, cut) = plan::wanted(&request.select(Vec::new()))?;
        let scope = NameScope::of(table);
        let source = self.select_expressions(scope, &wanted, cut.as_ref()).await?;
        let columns = source.columns();
        let entries = columns.covered(request.entries.clone())?;
        let bins = request.axes.iter().map(HistogramAxis::count);
        let cells = bins.fold(1u64, |cells, count| cells.saturating_mul(count as u64 + 2));
        let answer = cells.saturating_mul(CELL_BYTES);
        Choosing::of_histogram(columns, place, cut.as_ref(), &entries, answer).await
    }

    /// The histogram as the server fills it.
    async fn histogram_of(
        &self,
        place: &NearPlace,
        table: &Arc<dyn Table>,
        request: &HistogramRequest,
    ) -> Result<Histogram> {
        let file = KnownFile::opened(place, &**table);
        let select = request.select(vec![SelectFile::Known(file)]);
        let remote = table.file().remote();
        let near = remote.fetcher().near();
        let mut answer = near.ask(place, Bytes::from(select.written()?), remote).await?;
        let mut text = Vec::new();
        while let Some(bytes) = answer.next().await? {
            text.extend_from_slice(&bytes);
            if text.len() > ANSWER_BYTES_MAX {
                let message = "the server's answer is too long";
                return Err(Error::new(ErrorKind::LimitReached, message));
            }
        }
        Histogram::of_json(&String::from_utf8_lossy(&text), &request.axes, request.weight.is_some())
    }
}
