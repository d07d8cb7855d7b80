//! kXR_stat: the status of a path or an open file. Specification: "kXR_stat Request".

use std::fmt;

use bytes::Bytes;

use super::Message;
use crate::codec::{Fields, exact_text, flags, text};
use crate::error::DecodeError;
use crate::header::Handle;

flags! {
    /// Type and state of a path.
    StatFlags: u32 {
        EXECUTABLE = 1,
        DIRECTORY = 2,
        OTHER = 4,
        /// Known, but has to be fetched from tape or elsewhere first.
        OFFLINE = 8,
        READABLE = 16,
        WRITABLE = 32,
        /// A file that is to stay only once it is closed, and is not yet.
        PERSIST_PENDING = 64,
        /// A cache answered, and has the file.
        CACHED = 512,
    }
}

/// A server's status of a file: `id size flags mtime`, and from newer servers `ctime atime mode
/// owner group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatInfo {
    /// Opaque; differs between files of one server.
    pub id: String,
    /// Bytes.
    pub size: u64,
    pub flags: StatFlags,
    /// Last change of the contents, seconds since 1970.
    pub mtime: i64,
    /// Fields that newer servers add, as text.
    pub more: Option<String>,
}

impl StatInfo {
    /// Reads the text; bytes behind a NUL are ignored.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let invalid = |why| DecodeError::Invalid { subject: "stat text", why };
        let text = text(bytes);
        let mut words = text.splitn(5, ' ');
        let mut word = || words.next().ok_or(DecodeError::Short { subject: "stat text" });
        Ok(StatInfo {
            id: word()?.to_owned(),
            size: word()?.parse().map_err(|_| invalid("a size that is no number"))?,
            flags: StatFlags(word()?.parse().map_err(|_| invalid("flags that are no number"))?),
            mtime: word()?.parse().map_err(|_| invalid("a time that is no number"))?,
            more: words.next().map(str::to_owned),
        })
    }
}

impl fmt::Display for StatInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.id, self.size, self.flags.0, self.mtime)?;
        match &self.more {
            Some(more) => write!(f, " {more}"),
            None => Ok(()),
        }
    }
}

flags! {
    /// Facts to report.
    StatOptions: u8 {
        /// The file system's space instead of the file.
        SPACE = 1,
    }
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    pub options: StatOptions,
    pub wants: u32,
    /// Used where the path is empty.
    pub handle: Handle,
    pub path: String,
}

impl Stat {
    /// Asks for the status of a path.
    pub fn of(path: &str) -> Stat {
        Stat {
            options: StatOptions(0),
            wants: 0,
            handle: Handle::default(),
            path: path.to_owned(),
        }
    }

    /// Asks for the status of an open file.
    pub fn of_open(handle: Handle) -> Stat {
        Stat { handle, ..Stat::of("") }
    }
}

/// The answer: a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatAnswer(pub StatInfo);

impl Message for Stat {
    const CODE: u16 = 3017;
    const NAME: &'static str = "kXR_stat";
    type Answer = StatAnswer;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let options = StatOptions(fields.u8()?);
        fields.skip::<7>()?;
        Ok(Stat {
            options,
            wants: fields.u32()?,
            handle: Handle(fields.array()?),
            path: exact_text(Self::NAME, body)?,
        })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0] = self.options.0;
        parameters[8..12].copy_from_slice(&self.wants.to_be_bytes());
        parameters[12..16].copy_from_slice(&self.handle.0);
        body.extend_from_slice(self.path.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<StatAnswer, DecodeError> {
        StatInfo::decode(body).map(StatAnswer)
    }

    fn encode_answer(answer: &StatAnswer) -> Vec<u8> {
        let mut body = Vec::new();
        crate::codec::put_text(&mut body, &answer.0.to_string());
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_old_server_has_four_words() {
        let info = StatInfo::decode(b"43313 10000 48 1795179268\0").unwrap();
        assert_eq!((info.id.as_str(), info.size, info.mtime), ("43313", 10_000, 1_795_179_268));
        assert_eq!(info.flags, StatFlags::READABLE | StatFlags::WRITABLE);
        assert_eq!(info.more, None);
        assert_eq!(info.to_string(), "43313 10000 48 1795179268");
    }

    #[test]
    fn words_that_are_missing_negative_or_no_numbers_are_invalid() {
        for text in ["", "1", "1 2 3", "1 -2 3 4", "1 x 3 4", "1 2 3 99999999999999999999"] {
            assert!(StatInfo::decode(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
