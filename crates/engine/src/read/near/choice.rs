//! Whether entries are selected at the server or here: the one that is expected to take less time.

use std::fmt;
use std::time::Duration;

use remote::LinkModel;

/// Bytes of columns a second that one reader evaluates, of which nothing has been measured.
const PACE_GUESS: u64 = 200_000_000;
/// Bytes a second that a link may have of which nothing has been measured: 1 Mbit/s and 1 Gbit/s.
const BANDWIDTHS: [u64; 2] = [125_000, 125_000_000];
/// Bytes of an answer for each byte of the columns as they are stored, in eighths: zstd compresses
/// entries that are scattered a little less than ROOT compresses neighbours.
const ANSWER_EIGHTHS: u64 = 9;
/// Bytes of an answer beside its entries.
const ANSWER_BYTES: u64 = 2 << 10;
/// Shares of entries that a cut may leave, of which nothing is known.
const SHARES: [f64; 2] = [0.005, 1.0];
/// The one that needs less time has to save this part of it (one in so many) before a read that is
/// under way goes there.
const CHANGE_SAVES: u32 = 3;

/// What metadata say of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReadSize {
    /// Stored bytes of the columns that decide.
    pub deciding: u64,
    /// Of the others that are wanted.
    pub others: u64,
    /// Of all that are wanted.
    pub wanted: u64,
    /// Entries, and pieces (baskets, pages) of the others.
    pub entries: u64,
    pub pieces: u64,
    /// Bytes of the answer where it does not depend on the entries: a histogram.
    pub answer: Option<u64>,
}

/// What is known of the way to the server, and of its speed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WayThere {
    pub rtt: Duration,
    /// Bytes a second; `None` while unknown.
    pub bandwidth: Option<u64>,
    /// Connections over which the file is read.
    pub connections: u32,
    /// Bytes of the last answer on a connection that waits for a request; `None` without one.
    pub answered: Option<u64>,
    /// Bytes of columns a second that the server has lately evaluated.
    pub pace: Option<u64>,
    /// Time that it has lately taken until an answer began.
    pub delay: Duration,
}

/// The expected times of both ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedTimes {
    pub there: Duration,
    pub here: Duration,
}

/// Where entries are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionSite {
    Here,
    There,
}

/// A choice and its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SiteChoice {
    pub site: SelectionSite,
    /// For the share that is known, or for a small one, and a link that is known, or a fast one.
    pub times: ExpectedTimes,
    pub share: Option<f64>,
}

impl ReadSize {
    /// The rest of the read, where some of its entries have come.
    #[must_use]
    pub fn rest(self, entries: u64) -> ReadSize {
        let part = |bytes: u64| {
            let part = u128::from(bytes) * u128::from(entries) / u128::from(self.entries.max(1));
            u64::try_from(part).unwrap_or(u64::MAX)
        };
        ReadSize {
            deciding: part(self.deciding),
            others: part(self.others),
            wanted: part(self.wanted),
            entries,
            pieces: part(self.pieces),
            answer: self.answer,
        }
    }

    /// Bytes that are fetched and decoded where the entries are selected: of the columns that do
    /// not decide only pieces in which an entry is left.
    pub fn evaluated(self, share: f64) -> u64 {
        let entries_a_piece = self.entries as f64 / self.pieces.max(1) as f64;
        let needed = 1.0 - (1.0 - share).powf(entries_a_piece.max(1.0));
        self.deciding.saturating_add((self.others as f64 * needed) as u64)
    }

    /// Bytes of the server's answer.
    pub fn answer(self, share: f64) -> u64 {
        let entries = (self.wanted as f64 * share) as u64;
        let bytes = self.answer.unwrap_or((entries / 8).saturating_mul(ANSWER_EIGHTHS));
        bytes.saturating_add(ANSWER_BYTES)
    }
}

impl WayThere {
    /// The expected times of a read of which this share of the entries is left.
    pub fn times(&self, size: ReadSize, share: f64, bandwidth: u64) -> ExpectedTimes {
        let evaluated = size.evaluated(share);
        let link =
            |bytes, connections| LinkModel::USUAL.time(bytes, self.rtt, bandwidth, connections);
        let work = |pace: u64| Duration::from_secs_f64(evaluated as f64 / pace.max(1) as f64);
        // The columns that decide come first, and the others when they have.
        let decided = if size.others > 0 { self.rtt } else { Duration::ZERO };
        // Decoding goes on while bytes come.
        let fetched = link(evaluated, self.connections);
        let here = decided.saturating_add(fetched.max(work(PACE_GUESS)));
        let connecting = if self.answered.is_some() { Duration::ZERO } else { self.rtt };
        // The last round trip of an answer brought about half of it: the next one begins so.
        let windows = self.answered.unwrap_or_default() / 2 / LinkModel::USUAL.window();
        let windows = u32::try_from(windows).unwrap_or(u32::MAX);
        let answer = link(size.answer(share), windows.max(1));
        let work = self.rtt.saturating_add(work(self.pace.unwrap_or(PACE_GUESS)));
        let there = connecting.saturating_add(self.delay).saturating_add(answer.max(work));
        ExpectedTimes { there, here }
    }

    /// Where a read begins. Of a share or a bandwidth that is unknown: where less can be lost, by
    /// those that turn out to be the worst for this place.
    pub fn choice(&self, size: ReadSize, share: Option<f64>) -> SiteChoice {
        let shares = share.map_or(SHARES, |share| [share; 2]);
        let bandwidths = self.bandwidth.map_or(BANDWIDTHS, |bandwidth| [bandwidth; 2]);
        let mut lost_there = 0.0f64;
        let mut lost_here = 0.0f64;
        for share in shares {
            for bandwidth in bandwidths {
                let ExpectedTimes { there, here } = self.times(size, share, bandwidth);
                lost_there = lost_there.max(ratio(there, here));
                lost_here = lost_here.max(ratio(here, there));
            }
        }
        // Of two equal ones the one of fewer bytes.
        let site = match lost_there <= lost_here {
            true => SelectionSite::There,
            false => SelectionSite::Here,
        };
        SiteChoice { site, times: self.times(size, shares[0], bandwidths[1]), share }
    }

    /// Whether a read that is under way there goes on here, where these entries are left to read;
    /// of those that have come this share was left. Without a measured bandwidth nothing shows that
    /// the server is slow rather than the link.
    pub fn goes_home(&self, size: ReadSize, left: u64, share: f64) -> bool {
        let Some(bandwidth) = self.bandwidth else { return false };
        let way = WayThere { answered: Some(0), delay: Duration::ZERO, ..*self };
        let ExpectedTimes { there, here } = way.times(size.rest(left), share, bandwidth);
        // It has been asked for already, and has begun to come.
        let there = there.saturating_sub(self.rtt);
        here.saturating_add(here / CHANGE_SAVES) < there && there.saturating_sub(here) > self.rtt
    }
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::MIN_POSITIVE)
}

impl fmt::Display for SiteChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpectedTimes { there, here } = self.times;
        let share = match self.share {
            Some(share) => format!("{}% of the entries are left", rounded(share * 100.0)),
            None => "a cut may leave few entries".to_owned(),
        };
        let there = rounded(there.as_secs_f64());
        let here = rounded(here.as_secs_f64());
        write!(f, "{share}: {there} s are expected there, and {here} s here")
    }
}

/// A number with one digit that counts, so that alike notes are equal.
fn rounded(number: f64) -> f64 {
    if number <= 0.0 {
        return 0.0;
    }
    let unit = 10f64.powf(number.log10().floor());
    let digits = (number / unit).round();
    format!("{:.3}", digits * unit).parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A tenth of the bytes decides.
    fn size(bytes: u64) -> ReadSize {
        ReadSize {
            deciding: bytes / 10,
            others: bytes / 10 * 9,
            wanted: bytes / 10 * 9,
            entries: bytes / 100,
            pieces: (bytes / 16_000).max(1),
            answer: None,
        }
    }

    fn way(rtt: Duration, bandwidth: u64) -> WayThere {
        WayThere {
            rtt,
            bandwidth: Some(bandwidth),
            connections: 16,
            answered: Some(0),
            pace: None,
            delay: Duration::ZERO,
        }
    }

    #[test]
    fn few_entries_of_a_far_file_are_selected_there() {
        let far = way(100 * MS, 125_000_000);
        let choice = far.choice(size(110_000_000), Some(0.01));
        assert_eq!(choice.site, SelectionSite::There);
        assert!(choice.times.here > 3 * choice.times.there / 2, "{choice:?}");
        assert_eq!(far.choice(size(110_000_000), Some(1.0)).site, SelectionSite::Here);
        let unknown = far.choice(size(110_000_000), None);
        assert_eq!((unknown.site, unknown.share), (SelectionSite::There, None));
    }

    #[test]
    fn files_of_busy_servers_are_read_here() {
        let busy = WayThere { pace: Some(5_000_000), ..way(100 * MS, 125_000_000) };
        for share in [Some(0.01), None] {
            assert_eq!(busy.choice(size(110_000_000), share).site, SelectionSite::Here);
        }
        let full = WayThere { delay: 2_000 * MS, ..way(100 * MS, 125_000_000) };
        assert_eq!(full.choice(size(110_000_000), Some(0.01)).site, SelectionSite::Here);
    }

    #[test]
    fn the_bins_of_a_histogram_cross_a_slow_link_sooner_than_its_columns() {
        let histogram = ReadSize { answer: Some(1_000), ..size(10_000_000) };
        let slow = way(20 * MS, 1_250_000);
        assert_eq!(slow.choice(histogram, Some(1.0)).site, SelectionSite::There);
    }

    #[test]
    fn a_read_goes_home_where_most_of_it_is_left_and_nearly_all_entries_stay() {
        let far = way(50 * MS, 12_500_000);
        let size = size(100_000_000);
        assert!(!far.goes_home(size, size.entries, 0.02));
        let slow = WayThere { pace: Some(1_000_000), ..far };
        assert!(slow.goes_home(size, size.entries / 2, 0.5));
        assert!(!slow.goes_home(size, size.entries / 2_000, 0.5), "the rest comes soon");
    }

    #[test]
    fn any_numbers_have_times() {
        let huge = ReadSize {
            deciding: u64::MAX,
            others: u64::MAX,
            wanted: u64::MAX,
            entries: 0,
            pieces: 0,
            answer: None,
        };
        let none =
            ReadSize { deciding: 0, others: 0, wanted: 0, entries: 0, pieces: 0, answer: None };
        for way in [WayThere::default(), way(Duration::MAX / 1_000_000, 0)] {
            for size in [huge, none, huge.rest(u64::MAX)] {
                for share in [Some(0.0), Some(1.0), None] {
                    assert!(!way.choice(size, share).to_string().is_empty());
                }
            }
        }
    }

    #[test]
    fn alike_choices_read_alike() {
        let numbers = [0.0, 0.0123, 0.37, 0.96, 1.44, 23.7].map(rounded);
        assert_eq!(numbers, [0.0, 0.01, 0.4, 1.0, 1.0, 20.0]);
    }
}
