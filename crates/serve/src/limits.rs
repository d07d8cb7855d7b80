//! Limits of a server for its clients, all together and each: the one place of these numbers.

use std::time::Duration;

/// The limits of a server. A client at a limit waits or is refused in words; no client gets
/// resources that others cannot do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all. A new one beyond takes the place of the idle one that is oldest, of the
    /// address with the most connections; where none is idle it is refused.
    pub connections: usize,
    /// Connections from one address (IPv6: one network of 64 bits), in the same way.
    pub connections_per_address: usize,
    /// Requests of one connection that wait for their answers. Further ones are not read.
    pub requests: usize,
    /// Bytes of one request, or of the head of an HTTP request. Longer ones are refused.
    pub request_bytes: usize,
    /// Bytes of answers that are in memory for a connection however many others there are.
    pub answer_bytes: usize,
    /// Bytes of answers that all connections share beyond that; one address takes up to half.
    pub shared_bytes: usize,
    /// Bytes of answers that are in memory for one connection at most.
    pub answer_bytes_max: usize,
    /// Bytes of far files that are requested for one connection and that it has not taken.
    pub far_bytes: usize,
    /// The same, of all connections together; one address has up to half.
    pub far_bytes_shared: usize,
    /// Beyond that each connection has one piece. Bytes of those longer than [`PIECE_BYTES`], which
    /// are elements of vectors, of all connections together; one address has up to half.
    pub far_bytes_long: usize,
    /// Bytes of one XRootD write. Longer ones are refused.
    pub write_bytes: usize,
    /// Writes of more than `answer_bytes` in memory at a time, all connections together.
    pub long_writes: usize,
    /// Of those that arrive slowly, as many more. Where there is no room for another one, its
    /// connection ends.
    pub slow_writes: usize,
    /// Files open in all; one address takes up to half. Beyond, the connection with most files
    /// ends.
    pub files: usize,
    /// Files open on one XRootD connection.
    pub files_per_connection: usize,
    /// Those of requests that select entries.
    pub select: SelectLimits,
    /// Threads that wait for the file system. Addresses take turns.
    pub threads: usize,
    /// From a connection's beginning to its login or its first complete HTTP request; from the
    /// first byte of a later request to its last, if it is no long write.
    pub opening: Duration,
    /// Between two requests.
    pub idle: Duration,
    /// A client that has answers waiting takes 16 KiB of them in this time.
    pub stalled: Duration,
    /// The same where the server is full and another client waits for the place, or for room in
    /// memory.
    pub stalled_when_full: Duration,
}

/// The limits of requests that select entries. One beyond is refused in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectLimits {
    /// Requests that are answered at a time.
    pub requests: usize,
    /// Those of one address.
    pub requests_per_address: usize,
    /// Bytes of one request.
    pub request_bytes: usize,
    /// Bytes of one answer.
    pub answer_bytes: u64,
    /// From a request to the end of its answer.
    pub time: Duration,
    /// Time of its steps, each of which has a processor of a server of a folder. A proxy's steps
    /// wait for bytes, too.
    pub step_time: Duration,
    /// Memory for reads of files in a folder; a proxy has that of its settings.
    pub memory_bytes: u64,
    /// Decoded bytes of the entries that are looked at in one step.
    pub step_bytes: u64,
}

impl Default for SelectLimits {
    fn default() -> Self {
        SelectLimits {
            requests: 32,
            requests_per_address: 16,
            request_bytes: 256 << 10,
            answer_bytes: 16 << 30,
            time: Duration::from_secs(1800),
            step_time: Duration::from_secs(600),
            memory_bytes: 1 << 30,
            step_bytes: 8 << 20,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1000,
            connections_per_address: 500,
            requests: 256,
            request_bytes: 32 << 10,
            answer_bytes: 64 << 10,
            shared_bytes: 64 << 20,
            answer_bytes_max: 2 << 20,
            // As much as ROOT wants at a time, for two of its files.
            far_bytes: 64 << 20,
            far_bytes_shared: 512 << 20,
            far_bytes_long: 128 << 20,
            // As much as xrdcp sends at a time, with a checksum for each page.
            write_bytes: (8 << 20) + (16 << 10),
            long_writes: 4,
            slow_writes: 16,
            files: 4000,
            files_per_connection: 1000,
            select: SelectLimits::default(),
            threads: 16,
            opening: Duration::from_secs(30),
            idle: Duration::from_secs(3600),
            stalled: Duration::from_secs(300),
            stalled_when_full: Duration::from_secs(10),
        }
    }
}

/// Fields in the head of an HTTP request. A request with more is refused.
pub const HTTP_FIELDS: usize = 100;
/// A piece of a far file: longer ranges are fetched in pieces that end at multiples of this, which
/// are whole pages.
pub const PIECE_BYTES: usize = 256 << 10;
/// Connections that a proxy takes, however little memory its reads may have.
const CONNECTIONS_LEAST: usize = 16;
/// Descriptors for uses beside clients' connections and the files that they have opened.
const DESCRIPTORS_KEPT: usize = 64;

impl Limits {
    /// These limits, lowered to the memory for reads of far files, in bytes: half of it is shared,
    /// a quarter is for a piece of each connection, and an eighth for longer pieces.
    pub fn within_memory(mut self, bytes: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.far_bytes_shared = self.far_bytes_shared.clamp(1, (bytes / 2).max(1));
        self.far_bytes = self.far_bytes.clamp(1, (self.far_bytes_shared / 2).max(1));
        self.far_bytes_long = self.far_bytes_long.clamp(1, (bytes / 8).max(1));
        let connections = (bytes / 4 / PIECE_BYTES).max(CONNECTIONS_LEAST);
        self.connections = self.connections.min(connections);
        self.connections_per_address = self.connections_per_address.min(connections);
        self
    }

    /// These limits, lowered to those that a process with so many file descriptors can keep.
    pub fn within(mut self, descriptors: usize) -> Self {
        let usable = descriptors.saturating_sub(DESCRIPTORS_KEPT).max(4);
        // A listing has a descriptor too, on top of its connection's.
        self.connections = self.connections.clamp(1, usable / 2);
        self.connections_per_address = self.connections_per_address.clamp(1, self.connections);
        self.files = self.files.clamp(2, usable - self.connections);
        self.files_per_connection = self.files_per_connection.clamp(1, self.files);
        self.threads = self.threads.max(1);
        self
    }
}

/// File descriptors that this process may have, where the system reports it (Linux); otherwise as
/// many as the most modest system gives.
pub fn descriptors() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    match soft {
        Some("unlimited") => usize::MAX,
        Some(number) => number.parse().unwrap_or(DESCRIPTORS_MODEST),
        None => DESCRIPTORS_MODEST,
    }
}

const DESCRIPTORS_MODEST: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_and_files_fit_the_descriptors_of_the_process() {
        for descriptors in [0, 64, 100, 256, 1024, 20_000, usize::MAX] {
            let limits = Limits::default().within(descriptors);
            let together = limits.connections + limits.files;
            assert!(together <= descriptors.saturating_sub(64).max(4), "{descriptors}: {limits:?}");
            assert!(limits.connections_per_address <= limits.connections);
            assert!(limits.connections > 0 && limits.files > 1 && limits.files_per_connection > 0);
        }
        assert_eq!(Limits::default().within(20_000), Limits::default());
        assert_eq!(Limits::default().within_memory(1 << 30), Limits::default());
        let modest = Limits::default().within_memory(100_000_000);
        assert_eq!((modest.far_bytes, modest.far_bytes_shared), (25_000_000, 50_000_000));
        assert_eq!((modest.far_bytes_long, modest.connections), (12_500_000, 95));
        assert!(descriptors() > 3);
    }
}
