//! kXR_dirlist: the entries of a directory. Specification: "kXR_dirlist Request".
//!
//! The answer is one name per line. With [`DirlistOptions::WITH_STAT`] every name is followed by a
//! line of stat text, and a server that does this says so by a first entry `.` of zeros.

use bytes::Bytes;

use super::Message;
use super::stat::StatInfo;
use crate::codec::{exact_text, flags};
use crate::error::DecodeError;

flags! {
    /// Entries to list, and facts about them.
    DirlistOptions: u8 {
        /// Only entries that are on disk.
        ONLINE = 1,
        WITH_STAT = 2,
    }
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirlist {
    pub options: DirlistOptions,
    pub path: String,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub stat: Option<StatInfo>,
}

/// The first entry of a listing with stat texts.
const STAT_LEAD: [&str; 2] = [".", "0 0 0 0"];

/// A part of a listing in its wire form: all entries have a stat if `with_stat`, otherwise none.
/// Parts are joined by the client: every part but the last ends with a line's end.
pub fn encode_part(entries: &[Entry], with_stat: bool, first: bool, more: bool) -> Vec<u8> {
    let mut lines = Vec::new();
    if first && with_stat {
        lines.extend(STAT_LEAD.map(str::to_owned));
    }
    for Entry { name, stat } in entries {
        lines.push(name.clone());
        lines.extend(stat.as_ref().map(StatInfo::to_string));
    }
    let mut body = lines.join("\n").into_bytes();
    match more {
        true if body.is_empty() => {}
        true => body.push(b'\n'),
        false => body.push(0),
    }
    body
}

impl Message for Dirlist {
    const CODE: u16 = 3004;
    const NAME: &'static str = "kXR_dirlist";
    /// Entries with stat either all have it or none.
    type Answer = Vec<Entry>;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let options = DirlistOptions(parameters[15]);
        Ok(Dirlist { options, path: exact_text(Self::NAME, body)? })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[15] = self.options.0;
        body.extend_from_slice(self.path.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<Vec<Entry>, DecodeError> {
        let text = exact_text("kXR_dirlist answer", body)?;
        let mut lines = text.split('\n').filter(|line| !line.is_empty()).peekable();
        let mut with_stat = false;
        if lines.peek() == Some(&STAT_LEAD[0]) {
            lines.next();
            with_stat = lines.next().is_some_and(|line| line.starts_with(STAT_LEAD[1]));
            if !with_stat {
                return Err(DecodeError::Invalid {
                    subject: "kXR_dirlist answer",
                    why: "an entry '.' that does not announce stat texts",
                });
            }
        }
        let mut entries = Vec::new();
        while let Some(name) = lines.next() {
            let stat = if with_stat {
                let line =
                    lines.next().ok_or(DecodeError::Short { subject: "kXR_dirlist answer" })?;
                Some(StatInfo::decode(line.as_bytes())?)
            } else {
                None
            };
            entries.push(Entry { name: name.to_owned(), stat });
        }
        Ok(entries)
    }

    fn encode_answer(answer: &Vec<Entry>) -> Vec<u8> {
        let with_stat = answer.iter().any(|entry| entry.stat.is_some());
        encode_part(answer, with_stat, true, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_one_per_line() {
        let body = Bytes::from_static(b"b c.txt\na.txt\0");
        let entries = Dirlist::decode_answer(&body).unwrap();
        assert_eq!(entries[0], Entry { name: "b c.txt".to_owned(), stat: None });
        assert_eq!(entries[1].name, "a.txt");
        assert_eq!(Dirlist::encode_answer(&entries), body);
    }

    #[test]
    fn parts_are_joined_to_one_listing() {
        let stat = StatInfo::decode(b"7 100 16 1700000000").unwrap();
        let entry = |name: &str| Entry { name: name.to_owned(), stat: Some(stat.clone()) };
        let entries = [entry("a"), entry("b"), entry("c")];
        for with_stat in [true, false] {
            let strip = |entry: &Entry| Entry {
                name: entry.name.clone(),
                stat: entry.stat.clone().filter(|_| with_stat),
            };
            let entries: Vec<Entry> = entries.iter().map(strip).collect();
            let body = [
                encode_part(&entries[..2], with_stat, true, true),
                encode_part(&[], with_stat, false, true),
                encode_part(&entries[2..], with_stat, false, true),
                encode_part(&[], with_stat, false, false),
            ];
            assert_eq!(Dirlist::decode_answer(&body.concat().into()), Ok(entries));
        }
    }

    #[test]
    fn an_empty_directory_has_no_entries_with_and_without_stat() {
        for body in [&b""[..], b"\0", b".\n0 0 0 0\n\0", b".\n0 0 0 0\0"] {
            assert_eq!(Dirlist::decode_answer(&Bytes::from_static(body)), Ok(vec![]));
        }
    }

    #[test]
    fn a_name_without_its_stat_text_is_short() {
        assert!(Dirlist::decode_answer(&Bytes::from_static(b".\n0 0 0 0\na.txt\0")).is_err());
        assert!(Dirlist::decode_answer(&Bytes::from_static(b".\na.txt\0")).is_err());
    }
}
