//! Assumptions about a link before anything has been measured on it.

/// New TCP connections to one server, all made at once.
///
/// Requests for metadata are as long as comes in one round trip anyway: a byte more takes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkModel {
    /// Bytes that one segment carries.
    pub segment: u64,
    /// Segments that are sent before the first acknowledgement (RFC 6928).
    pub segments_initial: u64,
    /// Those of them that the answers to an open and to a question about limits take.
    pub segments_of_answers: u64,
    /// Connections that are made before any has been measured.
    pub connections: u32,
}

impl LinkModel {
    /// Of usual networks, and of servers that are far away.
    pub const USUAL: LinkModel =
        LinkModel { segment: 1448, segments_initial: 10, segments_of_answers: 2, connections: 16 };

    /// Bytes that a new connection brings in its first round trip.
    #[must_use]
    pub const fn window(self) -> u64 {
        self.segments_initial * self.segment
    }

    /// The same behind the answers that come first.
    #[must_use]
    pub const fn free_window(self) -> u64 {
        (self.segments_initial - self.segments_of_answers) * self.segment
    }

    /// Bytes of the beginning of a file to ask for with its open, 4 kB: well below the bytes of the
    /// first round trip.
    #[must_use]
    pub const fn head(self) -> u64 {
        whole_pages(self.free_window() / 2)
    }

    /// Bytes of the end of a file to ask for with its open, 40 kB: the bytes of the first two round
    /// trips of a new connection, the second of which brings twice the first.
    #[must_use]
    pub const fn tail(self) -> u64 {
        whole_pages(3 * self.window())
    }

    /// Bytes to ask for together once all connections are there, 180 kB.
    #[must_use]
    pub const fn flight(self) -> u64 {
        whole_pages(self.connections as u64 * self.free_window())
    }
}

const fn whole_pages(bytes: u64) -> u64 {
    const PAGE: u64 = 4 << 10;
    bytes / PAGE * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_trips_in_bytes() {
        let link = LinkModel::USUAL;
        assert_eq!((link.window(), link.free_window()), (14_480, 11_584));
        assert_eq!((link.head(), link.tail(), link.flight()), (4 << 10, 40 << 10, 180 << 10));
    }
}
