//! Clients that are replayed from their requests: each waits for its answer before the next leaves.
//!
//! A log has a line a request, `read` or `readv` with `OFFSET+LENGTH` for each range, and a line
//! with a dot where it has been answered. Those in `testdata/requests` are ROOT 6.40's, as a relay
//! in front of an XRootD server saw them, for four branches of all events of `small_events.root`:
//! with a TTreeCache of 24 kB that was given the branches, with one that had to learn them, and
//! without a cache; and those of uproot 5.7, as its source got them, for the first 100 events of
//! three branches of the same file.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use engine::Watched;
use futures::StreamExt;
use tokio::time::{Instant, sleep};

/// Ranges that a client requests together, before it waits.
pub type Vector = Vec<Range<u64>>;

/// The vectors of a log, in their order.
///
/// # Panics
/// For a line that is no request.
pub fn vectors(log: &str) -> Vec<Vector> {
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let range = |text: &str| {
        let (offset, length) = text.split_once('+').expect("OFFSET+LENGTH");
        number(offset)..number(offset) + number(length)
    };
    let requests = log.lines().filter(|line| line.starts_with("read"));
    requests.map(|line| line.split_ascii_whitespace().skip(1).map(range).collect()).collect()
}

/// How a client has fared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Played {
    /// From its first request to the end of its work.
    pub wall: Duration,
    /// Time of its own work.
    pub work: Duration,
    /// Vectors for which it waited at all.
    pub waits: usize,
}

impl Played {
    /// The part of its time in which it worked.
    pub fn efficiency(&self) -> f64 {
        self.work.as_secs_f64() / self.wall.as_secs_f64()
    }
}

/// Requests one vector after the other, and works for so long after each.
///
/// # Panics
/// Where the delivered bytes are not those of the file.
pub async fn play(
    watched: &Watched,
    content: &Bytes,
    vectors: &[Vector],
    work: Duration,
) -> Played {
    let begun = Instant::now();
    let mut waits = 0;
    for vector in vectors {
        let asked = Instant::now();
        let mut arrivals = watched.read(vector.clone());
        let mut come = 0;
        while let Some(arrival) = arrivals.next().await {
            let arrival = arrival.expect("arrives");
            let Range { start, end } = vector[arrival.index];
            assert_eq!(arrival.bytes, content[start as usize..end as usize], "{start}..{end}");
            come += 1;
        }
        assert_eq!(come, vector.len());
        waits += usize::from(asked.elapsed() > Duration::from_millis(1));
        if !work.is_zero() {
            sleep(work).await;
        }
    }
    Played { wall: begun.elapsed(), work: work * vectors.len() as u32, waits }
}
