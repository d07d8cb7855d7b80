//! Every limit there is, with its owner and its reason.

use crate::ids::Time;
use crate::link::LinkModel;

/// The limits of one scheduler, over all its files and servers. The default suits a laptop and a
/// polite client; nothing needs tuning for speed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budgets {
    /// Owner: the consumer. Sum of the costs of wants that have been sent for and not released,
    /// bytes. Twice the bytes in flight at 1 Gbit/s and 240 ms are 60 MB: this leaves room for
    /// decoding beside a full pipe.
    pub memory_bytes_max: u64,
    /// Owner: the server. More than this is rude; a rate that 16 do not reach, 32 hardly do. A
    /// silent server gets one more, until a connection answers.
    pub connections_per_server_max: u32,
    /// Owner: the server. The same while requests of many files wait for answers, where each takes
    /// a connection for a round trip: three times as many requests take a third of the time, and
    /// the connections carry little.
    pub connections_for_requests_max: u32,
    /// Connections asked for at the first moment of an open. Each one starts with some 14 kB per
    /// round trip, so sixteen carry typical metadata in one and a first batch in one or two. Those
    /// that come later help no more.
    pub connections_initial: u32,
    /// Owner: the server. Requests unanswered on one pipelined connection: enough to hide a round
    /// trip behind small requests, few enough for a server's queue.
    pub requests_in_flight_per_connection_max: u32,
    /// Bytes of one request. Larger ones save nothing and keep urgent ones waiting.
    pub request_bytes_max: u64,
    /// Owner: readahead. Hinted bytes under way or kept before anyone asked for them, at most.
    pub readahead_bytes_max: u64,
    /// The window while the link is unknown, and the base of a short one, bytes: a few typical
    /// clusters of a few columns.
    pub readahead_bytes_floor: u64,
    /// Owner: the server and the network. Bytes fetched only to bridge gaps, per thousand bytes
    /// wanted.
    pub over_read_per_mille: u64,
    /// Whether neighbouring ranges go into one request. Off: to measure the gain of this.
    pub coalesces: bool,
    /// How often the same bytes are asked for again before the want fails.
    pub attempts_max: u32,
    /// Failures of a server in a row, without a byte between, before its sources have failed.
    pub server_failures_max: u32,
    /// A server that was reached before is given up when it has failed again and again for this
    /// long without a byte: a restart or a cut link takes less.
    pub outage_max: Time,
    /// A server that owes something and has been silent for this long is doubted: its work goes
    /// elsewhere, or another connection shows whether it still answers.
    pub stall_timeout: Time,
    /// Sources of one file that are read from at the same time, unless much is queued.
    pub sources_active: u32,
    /// Owner: the servers and the network. Bytes asked for twice because they were late, per
    /// thousand bytes wanted.
    pub hedge_per_mille: u64,
    /// The first pause after a failure; each further one is twice as long.
    pub backoff_first: Time,
    /// The longest pause.
    pub backoff_max: Time,
    /// A server that was never reached is given up when a connection took at least this long to
    /// fail: TCP itself has tried several times by then.
    pub unreachable_after: Time,
    /// A connection that is not up after this long, login included, has failed. A backstop: the
    /// owner of the sockets knows better which step takes long.
    pub connect_max: Time,
    /// How long bytes that are owed are waited for: a file to which its sources have brought less
    /// meanwhile than `least_rate` makes of it fails its wants, and a connection that has brought
    /// less than its share of that is left. Tape and busy servers take long for a first byte, a
    /// dead one takes for ever.
    pub silence_max: Time,
    /// Bytes per second that sources owing more have to bring, each file's and together. 0: a byte
    /// in `silence_max` will do.
    pub least_rate: u64,
    /// How long a server may ask for patience, beside `silence_max`, without bringing anything.
    pub wait_max: Time,
    /// A connection that has had nothing to do for this long is closed: it costs the server a
    /// thread, and a device on the path may have forgotten it. [`Time::MAX`]: never.
    pub idle_max: Time,
    /// The same of connections beyond `connections_per_server_max`.
    pub idle_extra_max: Time,
}

impl Default for Budgets {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Budgets {
            memory_bytes_max: 256 * MIB,
            connections_per_server_max: 16,
            connections_for_requests_max: 48,
            connections_initial: LinkModel::USUAL.connections,
            requests_in_flight_per_connection_max: 32,
            request_bytes_max: 4 * MIB,
            readahead_bytes_max: 128 * MIB,
            readahead_bytes_floor: 8 * MIB,
            over_read_per_mille: 30,
            coalesces: true,
            attempts_max: 5,
            server_failures_max: 4,
            outage_max: Time::from_secs(60),
            stall_timeout: Time::from_millis(1500),
            sources_active: 2,
            hedge_per_mille: 15,
            backoff_first: Time::from_millis(100),
            backoff_max: Time::from_secs(2),
            unreachable_after: Time::from_secs(4),
            connect_max: Time::from_secs(30),
            silence_max: Time::from_secs(30),
            least_rate: 1000,
            wait_max: Time::from_secs(600),
            idle_max: Time::from_secs(300),
            idle_extra_max: Time::from_secs(5),
        }
    }
}

/// Without any pause a failure that is at once repeated would stop time.
const BACKOFF_MIN: Time = Time::from_millis(1);

impl Budgets {
    /// How long a source is left alone after it has failed for the `count`-th time.
    pub(crate) fn probation(&self, count: u32) -> Time {
        const FIRST: Time = Time::from_secs(2);
        FIRST.saturating_mul(1 << count.saturating_sub(1).min(7))
    }

    /// Tries of a server that has too many requests: as long as an outage is waited out.
    pub(crate) fn busy_attempts_max(&self) -> u32 {
        let pauses = self.outage_max.as_nanos() / self.backoff_max.as_nanos().max(1);
        self.attempts_max.saturating_add(u32::try_from(pauses).unwrap_or(u32::MAX))
    }

    /// The pause after the `count`-th failure in a row; none before the first.
    pub(crate) fn backoff(&self, count: u32) -> Time {
        match count {
            0 => Time::ZERO,
            _ => {
                let first = self.backoff_first.max(BACKOFF_MIN);
                first.saturating_mul(1 << (count - 1).min(16)).min(self.backoff_max.max(first))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let budgets = Budgets::default();
        let pauses: Vec<u128> = (0..9).map(|count| budgets.backoff(count).as_millis()).collect();
        assert_eq!(pauses, [0, 100, 200, 400, 800, 1600, 2000, 2000, 2000]);
        assert_eq!(budgets.backoff(u32::MAX), budgets.backoff_max);
    }
}
