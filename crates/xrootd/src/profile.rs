//! Features that one server allows, as learnt by talking to it. The caller keeps one per
//! `host:port` and gives it to the next connection.

use crate::header::Handle;
use crate::message::protocol::ServerFlags;

/// The first protocol version (5.1.1) of the servers that are known to read no further than
/// kXR_protocol before TLS.
const VERSION_EXACT: u32 = 0x511;

/// How a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Everything leaves at once: handshake, login, and all requests made before the answers. A
    /// server that wants authentication closes the connection on this, unless its profile has its
    /// offers: then the credential leaves in the burst, too.
    Burst,
    /// Nothing is asked before the server has answered the login.
    Careful,
}

/// Whether a server wants authentication.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Authentication {
    #[default]
    Unknown,
    NotNeeded,
    /// With the server's offers, as it sent them.
    Needed(String),
}

/// How a server numbers open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandleOrder {
    #[default]
    Unknown,
    /// The lowest free slot, as xrootd on x86 and ARM writes it.
    LittleEndian,
    /// The lowest free slot, in network order.
    BigEndian,
    /// Not to be guessed.
    Unpredictable,
}

impl HandleOrder {
    /// The handle of the file in a slot, where it can be guessed.
    pub(crate) fn guess(self, slot: u32) -> Option<Handle> {
        match self {
            HandleOrder::Unknown | HandleOrder::LittleEndian => Some(Handle::from_slot(slot)),
            HandleOrder::BigEndian => Some(Handle(slot.to_be_bytes())),
            HandleOrder::Unpredictable => None,
        }
    }

    /// Which slot a handle stands for, where handles are slots.
    pub(crate) fn slot_of(self, handle: Handle) -> Option<u32> {
        match self {
            HandleOrder::Unknown | HandleOrder::LittleEndian => Some(u32::from_le_bytes(handle.0)),
            HandleOrder::BigEndian => Some(u32::from_be_bytes(handle.0)),
            HandleOrder::Unpredictable => None,
        }
    }

    /// The order that a handle shows, if the file is in `slot`.
    pub(crate) fn of(slot: u32, handle: Handle) -> HandleOrder {
        if handle == Handle::from_slot(slot) {
            HandleOrder::LittleEndian
        } else if handle == Handle(slot.to_be_bytes()) {
            HandleOrder::BigEndian
        } else {
            HandleOrder::Unpredictable
        }
    }
}

/// How much one vectored read may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadvLimits {
    pub segments_max: u32,
    /// Bytes.
    pub segment_bytes_max: u64,
}

impl Default for ReadvLimits {
    /// The limits of xrootd unless configured otherwise, and of every server met so far.
    fn default() -> Self {
        ReadvLimits { segments_max: 1024, segment_bytes_max: 2_097_136 }
    }
}

impl ReadvLimits {
    /// More is never used, whatever a server says: a vector has to fit one request.
    const SEGMENTS_BOUND: u32 = 65_536;

    /// Takes in an answer to a configuration query.
    pub(crate) fn learn(&mut self, key: &str, value: Option<&str>) {
        let Some(value) = value.and_then(|value| value.parse::<u32>().ok()).filter(|&v| v > 0)
        else {
            return;
        };
        match key {
            "readv_iov_max" => self.segments_max = value.min(Self::SEGMENTS_BOUND),
            "readv_ior_max" => {
                self.segment_bytes_max = u64::from(value).min(crate::error::READ_BYTES_MAX);
            }
            _ => {}
        }
    }
}

/// Connections that ended amid a burst, before the login was answered. The burst may have been the
/// reason, or a server that was just going down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Cuts {
    #[default]
    None,
    /// The next connection begins with care.
    One,
    /// It did, and came up: a burst is tried once more. If that is cut, too, it is the last.
    OneThenUp,
}

/// Facts about one server. The default is a server of which nothing is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    pub authentication: Authentication,
    /// Whether everything may leave in one burst; none while it has not been tried.
    pub burst: Option<bool>,
    pub cuts: Cuts,
    pub handles: HandleOrder,
    pub readv: ReadvLimits,
    /// The server's protocol version and flags, once it has said them.
    pub version: Option<u32>,
    pub flags: Option<ServerFlags>,
    /// It has refused a login, or a request, because the connection was not encrypted.
    pub insists_on_tls: bool,
}

impl Profile {
    /// How to begin with a server: in a burst unless that is known to fail.
    pub fn start(&self) -> Start {
        let care = self.burst == Some(false) || self.cuts == Cuts::One;
        if care { Start::Careful } else { Start::Burst }
    }

    /// Whether the beginning of TLS may leave right behind kXR_protocol. xrootd reads no further
    /// than that before TLS; dCache, which states version 0x500, loses the bytes that follow.
    pub fn takes_early_hello(&self) -> bool {
        let has_tls = self.flags.is_some_and(|flags| flags.contains(ServerFlags::HAS_TLS));
        has_tls && self.version.is_some_and(|version| version >= VERSION_EXACT)
    }

    /// A connection has ended amid a burst.
    pub(crate) fn burst_cut(&mut self) {
        if self.cuts == Cuts::OneThenUp {
            self.burst = Some(false);
        }
        self.cuts = Cuts::One;
    }

    /// A session has come up, begun in a burst or with care.
    pub(crate) fn up(&mut self, burst: bool) {
        if burst {
            self.burst = Some(true);
            self.cuts = Cuts::None;
        } else if self.cuts == Cuts::One {
            self.cuts = Cuts::OneThenUp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_tried_until_it_is_known_to_fail() {
        let mut profile = Profile::default();
        assert_eq!(profile.start(), Start::Burst);
        profile.burst = Some(true);
        assert_eq!(profile.start(), Start::Burst);
        profile.burst = Some(false);
        assert_eq!(profile.start(), Start::Careful);
    }

    #[test]
    fn tls_begins_early_with_servers_that_are_known_to_read_exactly() {
        let of = |version, flags| Profile { version, flags, ..Profile::default() };
        let tls = Some(ServerFlags::IS_SERVER | ServerFlags::HAS_TLS);
        assert!(of(Some(0x511), tls).takes_early_hello());
        assert!(!of(Some(0x500), tls).takes_early_hello());
        assert!(!of(None, tls).takes_early_hello());
        assert!(!of(Some(0x520), Some(ServerFlags::IS_SERVER)).takes_early_hello());
    }

    #[test]
    fn a_burst_that_is_cut_twice_is_not_tried_again() {
        let mut profile = Profile { burst: Some(true), ..Profile::default() };
        profile.burst_cut();
        assert_eq!(profile.start(), Start::Careful);
        profile.up(false);
        assert_eq!(profile.start(), Start::Burst, "it may have been chance");
        profile.up(true);
        assert_eq!(profile, Profile { burst: Some(true), ..Profile::default() });
        profile.burst_cut();
        profile.up(false);
        profile.burst_cut();
        profile.up(false);
        assert_eq!(profile.start(), Start::Careful);
    }

    #[test]
    fn the_order_of_handles_is_told_by_the_first_that_is_not_zero() {
        assert_eq!(HandleOrder::of(1, Handle([1, 0, 0, 0])), HandleOrder::LittleEndian);
        assert_eq!(HandleOrder::of(1, Handle([0, 0, 0, 1])), HandleOrder::BigEndian);
        assert_eq!(HandleOrder::of(1, Handle([9, 9, 9, 9])), HandleOrder::Unpredictable);
        assert_eq!(HandleOrder::BigEndian.guess(2), Some(Handle([0, 0, 0, 2])));
        assert_eq!(HandleOrder::Unpredictable.guess(0), None);
    }

    #[test]
    fn limits_that_make_no_sense_are_not_learnt() {
        let mut limits = ReadvLimits::default();
        for value in [None, Some("0"), Some("-1"), Some("x")] {
            limits.learn("readv_iov_max", value);
        }
        assert_eq!(limits, ReadvLimits::default());
        limits.learn("readv_iov_max", Some("16"));
        limits.learn("readv_ior_max", Some("4096"));
        assert_eq!(limits, ReadvLimits { segments_max: 16, segment_bytes_max: 4096 });
        limits.learn("readv_iov_max", Some("4000000000"));
        assert_eq!(limits.segments_max, ReadvLimits::SEGMENTS_BOUND);
    }
}
