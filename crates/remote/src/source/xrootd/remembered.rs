//! Features that a server allowed the last time, so that the first connections of the next process
//! begin as those of this one would now.
//!
//! The credential that a server wants may change with the user, so each user has notes of their
//! own. There is no credential in them. Notes are tried, not trusted: every guess is checked
//! against the answers.

use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;
use xrootd::message::protocol::ServerFlags;
use xrootd::profile::{Authentication, HandleOrder, Profile, ReadvLimits, Start};

use crate::store::Notes;

/// One server's place among the notes.
pub struct Remembered {
    notes: Notes,
    number: u64,
}

/// A server that may be sent everything at once, and how it names files.
#[derive(Serialize, Deserialize, PartialEq)]
struct Note {
    handles: Handles,
    segments_max: u32,
    segment_bytes_max: u64,
    /// It offers checksums of the bytes that it sends; notes of older versions do not have it.
    #[serde(default)]
    checksums: bool,
    /// The authentication that it offers, in its words; none where it wants none.
    #[serde(default)]
    offers: Option<String>,
    /// Its protocol version, where it speaks TLS.
    #[serde(default)]
    tls: Option<u32>,
    /// It insists on TLS, of its own accord.
    #[serde(default)]
    insists_on_tls: bool,
    /// Nothing has been sent to it at once yet; in notes of older versions everything has.
    #[serde(default)]
    untried: bool,
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
        let Note { segments_max, segment_bytes_max, handles, checksums, .. } = note;
        let mut flags = ServerFlags::IS_SERVER;
        for (is_set, flag) in [
            (checksums, ServerFlags::CHECKSUMMED_PAGES),
            (note.tls.is_some(), ServerFlags::HAS_TLS),
        ] {
            flags = if is_set { flags | flag } else { flags };
        }
        Profile {
            authentication: match note.offers {
                Some(offers) => Authentication::Needed(offers),
                None => Authentication::NotNeeded,
            },
            burst: (!note.untried).then_some(true),
            handles: match handles {
                Handles::Unknown => HandleOrder::Unknown,
                Handles::LittleEndian => HandleOrder::LittleEndian,
                Handles::BigEndian => HandleOrder::BigEndian,
                Handles::Unpredictable => HandleOrder::Unpredictable,
            },
            readv: ReadvLimits { segments_max, segment_bytes_max },
            version: note.tls,
            flags: (flags != ServerFlags::IS_SERVER).then_some(flags),
            insists_on_tls: note.insists_on_tls,
            ..Profile::default()
        }
    }

    /// The note as text, for another machine; `None` if there is none.
    pub fn text(&self) -> Option<String> {
        serde_json::to_string(&self.notes.load::<Note>(self.number)?).ok()
    }

    /// Keeps another machine's note, unless there is one here; ignores text that is no note.
    pub fn adopt(&self, text: &str) {
        if self.notes.load::<Note>(self.number).is_none()
            && let Ok(note) = serde_json::from_str::<Note>(text)
        {
            self.notes.save(self.number, &note);
        }
    }

    /// Stores the profile that has been learnt, if it is worth it and new: `before` is the known
    /// one.
    pub fn learn(&self, before: &Profile, now: &Profile) {
        let note = note(now);
        if note.is_some() && note != self::note(before) {
            self.notes.save(self.number, &note);
        }
    }
}

fn note(profile: &Profile) -> Option<Note> {
    let offers = match &profile.authentication {
        Authentication::Unknown => return None,
        Authentication::NotNeeded => None,
        Authentication::Needed(offers) => Some(offers.clone()),
    };
    let ReadvLimits { segments_max, segment_bytes_max } = profile.readv;
    let handles = match profile.handles {
        HandleOrder::Unknown => Handles::Unknown,
        HandleOrder::LittleEndian => Handles::LittleEndian,
        HandleOrder::BigEndian => Handles::BigEndian,
        HandleOrder::Unpredictable => Handles::Unpredictable,
    };
    let checksums = super::pages::offers(profile.flags);
    let has_tls = profile.flags.is_some_and(|flags| flags.contains(ServerFlags::HAS_TLS));
    let tls = profile.version.filter(|_| has_tls);
    let insists_on_tls = profile.insists_on_tls;
    let may_be_tried = profile.start() == Start::Burst;
    may_be_tried.then_some(Note {
        handles,
        segments_max,
        segment_bytes_max,
        checksums,
        offers,
        tls,
        insists_on_tls,
        untried: profile.burst.is_none(),
    })
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
        server("b").adopt("no note");
        assert_eq!(server("b").text(), None);
        server("b").adopt(&server("a").text().unwrap());
        assert_eq!(server("b").profile(), welcomes);
        std::fs::write(folder.path().join("farroot-servers").join("x"), "{").unwrap();
        assert_eq!(server("a").profile(), welcomes);
    }
}
