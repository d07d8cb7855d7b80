//! The choice of the place for one read: what metadata, links and earlier reads say of it.

use std::hash::Hasher;
use std::ops::Range;
use std::time::Duration;

use twox_hash::XxHash64;

use super::choice::{ReadSize, SelectionSite, SiteChoice, WayThere};
use super::request::SelectCut;
use crate::read::core::cut::Cut;
use crate::read::core::footprint::ReadFootprint;
use crate::read::core::spec::ColumnSpec;
use crate::read::core::table::Columns;
use remote::fetch::RemoteFile;
use remote::near::NearPlace;
use remote::{LinkModel, Result};

/// An answer's bytes have to arrive in this part of its time (one in so many) for the rest to show
/// the pace of the server.
const SHOWS_PACE: u32 = 4;
/// A shorter time is rather that of opening the file.
const PACE_TIME_MIN: Duration = Duration::from_millis(500);

/// A read whose place is chosen.
pub struct Choosing {
    pub choice: SiteChoice,
    size: ReadSize,
    way: WayThere,
    /// Of this read, and of its likes: the number of what is remembered.
    number: u64,
    started: Duration,
}

/// What has come of an answer.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnswerSoFar {
    /// Entries of which everything is known, those of them that are left, and those to come.
    pub entries: u64,
    pub selected: u64,
    pub left: u64,
    pub bytes: u64,
}

impl Choosing {
    /// Chooses the place for a read of these columns with a cut.
    ///
    /// # Errors
    /// Those of planning.
    pub async fn of(
        columns: &dyn Columns,
        place: &NearPlace,
        cut: &Cut,
        entries: &Range<u64>,
    ) -> Result<Self> {
        let mut choosing = Choosing::of_size(columns, place, Some(cut), entries).await?;
        let near = columns.file().remote().fetcher().near();
        let share = near.share(choosing.number);
        choosing.choice = choosing.way.choice(choosing.size, share);
        Ok(choosing)
    }

    /// Chooses the place for a histogram of these columns, whose answer has so many bytes.
    ///
    /// # Errors
    /// Those of planning.
    pub async fn of_histogram(
        columns: &dyn Columns,
        place: &NearPlace,
        cut: Option<&Cut>,
        entries: &Range<u64>,
        answer: u64,
    ) -> Result<Self> {
        let mut choosing = Choosing::of_size(columns, place, cut, entries).await?;
        choosing.size.answer = Some(answer);
        choosing.choice = choosing.way.choice(choosing.size, Some(1.0));
        Ok(choosing)
    }

    async fn of_size(
        columns: &dyn Columns,
        place: &NearPlace,
        cut: Option<&Cut>,
        entries: &Range<u64>,
    ) -> Result<Self> {
        let remote = columns.file().remote();
        let wanted = columns.footprints(entries.clone()).await?;
        let deciding = match cut {
            None => Vec::new(),
            Some(cut) => {
                let named = ColumnSpec::Requested(cut.columns.clone());
                columns.of().select(&named)?.footprints(entries.clone()).await?
            }
        };
        let size = size_of(&wanted, &deciding, entries.end.saturating_sub(entries.start));
        let way = way(remote, place);
        let number = number(columns, place, cut);
        let choice = way.choice(size, Some(1.0));
        Ok(Choosing { choice, size, way, number, started: remote.trace().now() })
    }

    /// Whether a read that is under way there goes on here.
    pub fn goes_home(&self, so_far: AnswerSoFar, now: Duration) -> bool {
        let share = so_far.share();
        let came = self.size.rest(so_far.entries).evaluated(share);
        let time = now.saturating_sub(self.started).saturating_sub(self.way.rtt);
        let pace = (came as f64 / time.as_secs_f64().max(1e-9)) as u64;
        let way = WayThere { pace: Some(pace), ..self.way };
        way.goes_home(self.size, so_far.left, share)
    }

    /// Remembers the share of entries that was left, for the next reads of this kind.
    pub fn learn_share(&self, remote: &RemoteFile, so_far: AnswerSoFar) {
        if so_far.entries > 0 {
            remote.fetcher().near().learn_share(self.number, so_far.share());
        }
    }

    /// Remembers the pace of a server whose answer has come to its end. The pace of a link whose
    /// bandwidth is unknown could pass for it.
    pub fn learn_pace(&self, remote: &RemoteFile, place: &NearPlace, so_far: AnswerSoFar) {
        let Some(bandwidth) = self.way.bandwidth else { return };
        let is_connected = self.way.answered.is_some();
        let connecting = if is_connected { Duration::ZERO } else { self.way.rtt };
        let time = remote.trace().now().saturating_sub(self.started);
        let time = time.saturating_sub(connecting + self.way.rtt);
        let transfer = LinkModel::USUAL.time(so_far.bytes, self.way.rtt, bandwidth, 1);
        let bytes = self.size.evaluated(so_far.share());
        let is_long = time >= PACE_TIME_MIN;
        if is_long && transfer.saturating_sub(self.way.rtt) * SHOWS_PACE <= time {
            remote.fetcher().near().learn_pace(place, bytes, time);
        }
    }

    /// For the report: the place, and why it was chosen.
    pub fn note(&self, remote: &RemoteFile, place: &NearPlace) {
        let at = match self.choice.site {
            SelectionSite::There => format!("by {}", place.server()),
            SelectionSite::Here => "here".to_owned(),
        };
        let text = format!("entries are selected {at}: {}", self.choice);
        remote.trace().note(Some(remote.tag()), text);
    }
}

impl AnswerSoFar {
    fn share(self) -> f64 {
        match self.entries {
            0 => 1.0,
            entries => (self.selected as f64 / entries as f64).min(1.0),
        }
    }
}

fn size_of(wanted: &[ReadFootprint], deciding: &[ReadFootprint], entries: u64) -> ReadSize {
    let stored = |all: &[ReadFootprint]| all.iter().map(ReadFootprint::stored_bytes).sum::<u64>();
    let columns =
        |all: &[ReadFootprint]| all.iter().flat_map(|one| one.columns.clone()).collect::<Vec<_>>();
    let decide = columns(deciding);
    let is_other = |name: &str| !decide.iter().any(|column| column.name == name);
    let mut others = 0;
    let mut pieces = 0;
    let mut count = 0;
    for column in columns(wanted).iter().filter(|column| is_other(&column.name)) {
        others += column.stored_bytes;
        pieces += column.pieces as u64;
        count += 1;
    }
    ReadSize {
        deciding: stored(deciding),
        others,
        wanted: stored(wanted),
        entries,
        pieces: pieces / u64::max(count, 1),
        answer: None,
    }
}

fn way(remote: &RemoteFile, place: &NearPlace) -> WayThere {
    let near = remote.fetcher().near();
    WayThere {
        rtt: remote.round_trip(),
        bandwidth: remote.bandwidth(),
        connections: LinkModel::USUAL.connections,
        answered: near.answered(place),
        pace: near.pace(place),
        delay: near.delay(place),
    }
}

/// Reads of files of one folder, of one table with one cut, leave alike shares of their entries.
fn number(columns: &dyn Columns, place: &NearPlace, cut: Option<&Cut>) -> u64 {
    let folder = place.file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let cut = cut.and_then(SelectCut::of).and_then(|cut| serde_json::to_string(&cut).ok());
    let mut hasher = XxHash64::with_seed(0);
    for text in [&place.server(), folder, columns.of().asked(), &cut.unwrap_or_default()] {
        hasher.write(text.as_bytes());
        hasher.write_u8(0);
    }
    hasher.finish()
}
