//! What a server allowed the last time, so that the first connections of the next process begin
//! as those of this one would now.
//!
//! Only of servers that ask no client to authenticate: what others want may change with who asks.
//! What is remembered is tried, not believed: every guess is checked against the answers.

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;
use xrootd::message::protocol::ServerFlags;
use xrootd::profile::{Authentication, HandleOrder, Profile, ReadvLimits};

use crate::store::Notes;

/// One server's place among what is remembered.
pub struct Remembered {
    notes: Notes,
    number: u64,
}

/// A server that takes everything in one burst, and how it names files.
#[derive(Serialize, Deserialize, PartialEq)]
struct Note {
    handles: Handles,
    segments_max: u32,
    segment_bytes_max: u64,
    /// It offers checksums of what it sends; notes of older versions do not say.
    #[serde(default)]
    checksums: bool,
}

#[derive(Serialize, Deserialize, PartialEq, Clone, Copy)]
enum Handles {
    Unknown,
    LittleEndian,
    BigEndian,
    Unpredictable,
}

impl Remembered {
    /// `name`: the server's scheme, host and port, and who asks.
    pub fn new(notes: Notes, name: &str) -> Self {
        Remembered { notes, number: XxHash64::oneshot(0, name.as_bytes()) }
    }

    /// The profile to begin with.
    pub fn profile(&self) -> Profile {
        let Some(note) = self.notes.load::<Note>(self.number) else { return Profile::default() };
        let Note { segments_max, segment_bytes_max, handles, checksums } = note;
        Profile {
            authentication: Authentication::NotNeeded,
            burst: Some(true),
            handles: match handles {
                Handles::Unknown => HandleOrder::Unknown,
                Handles::LittleEndian => HandleOrder::LittleEndian,
                Handles::BigEndian => HandleOrder::BigEndian,
                Handles::Unpredictable => HandleOrder::Unpredictable,
            },
            readv: ReadvLimits { segments_max, segment_bytes_max },
            flags: checksums.then_some(ServerFlags::IS_SERVER | ServerFlags::CHECKSUMMED_PAGES),
            ..Profile::default()
        }
    }

    /// Remembers what has been learnt, if it is worth it and new: `before` is what was known.
    pub fn learn(&self, before: &Profile, now: &Profile) {
        let note = note(now);
        if note.is_some() && note != self::note(before) {
            self.notes.save(self.number, &note);
        }
    }
}

fn note(profile: &Profile) -> Option<Note> {
    let welcome =
        profile.authentication == Authentication::NotNeeded && profile.burst == Some(true);
    let ReadvLimits { segments_max, segment_bytes_max } = profile.readv;
    let handles = match profile.handles {
        HandleOrder::Unknown => Handles::Unknown,
        HandleOrder::LittleEndian => Handles::LittleEndian,
        HandleOrder::BigEndian => Handles::BigEndian,
        HandleOrder::Unpredictable => Handles::Unpredictable,
    };
    let checksums = super::pages::offers(profile.flags);
    welcome.then_some(Note { handles, segments_max, segment_bytes_max, checksums })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servers_that_take_a_burst_without_authentication_are_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let server = |name| Remembered::new(Notes::new(Some(folder.path()), "servers"), name);
        let unknown = Profile::default();
        let refuses = Profile { burst: Some(false), ..Profile::default() };
        server("a").learn(&unknown, &refuses);
        assert_eq!(server("a").profile(), unknown);
        let welcomes = Profile {
            authentication: Authentication::NotNeeded,
            burst: Some(true),
            handles: HandleOrder::BigEndian,
            readv: ReadvLimits { segments_max: 16, segment_bytes_max: 4096 },
            flags: Some(ServerFlags::IS_SERVER | ServerFlags::CHECKSUMMED_PAGES),
            ..Profile::default()
        };
        server("a").learn(&unknown, &welcomes);
        assert_eq!(server("a").profile(), welcomes);
        assert_eq!(server("b").profile(), unknown);
        std::fs::write(folder.path().join("farroot-servers").join("x"), "{").unwrap();
        assert_eq!(server("a").profile(), welcomes);
    }
}
