//! kXR_open: a file by its path. Specification: "kXR_open Request".

use bytes::Bytes;

use super::Message;
use super::stat::StatInfo;
use crate::codec::{Fields, exact_text, flags};
use crate::error::DecodeError;
use crate::header::Handle;

flags! {
    /// How to open.
    OpenOptions: u16 {
        DELETE = 0x0002,
        /// Even if others have the file open in a way that excludes this one.
        FORCE = 0x0004,
        NEW = 0x0008,
        READ = 0x0010,
        UPDATE = 0x0020,
        /// Reads may be served side by side; without it caches serve one after another.
        ASYNC = 0x0040,
        /// Look again: do not trust cached facts about the file.
        REFRESH = 0x0080,
        MAKE_PATH = 0x0100,
        APPEND = 0x0200,
        /// Say size and times in the answer.
        RETSTAT = 0x0400,
        PERSIST_ON_CLOSE = 0x1000,
        NO_WAIT = 0x2000,
        SEQUENTIAL = 0x4000,
        WRITE_ONLY = 0x8000,
    }
}

impl OpenOptions {
    /// Options of a reader.
    pub const FOR_READING: OpenOptions =
        OpenOptions(Self::READ.0 | Self::ASYNC.0 | Self::RETSTAT.0);

    /// Whether the file could be changed.
    pub fn writes(self) -> bool {
        self.intersects(
            Self::DELETE | Self::NEW | Self::UPDATE | Self::APPEND | Self::WRITE_ONLY,
        )
    }
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// Permissions of a new file.
    pub mode: u16,
    pub options: OpenOptions,
    pub options_2: u16,
    /// The file of which this one is a sibling, in some write requests.
    pub template: Handle,
    /// With its opaque part, as in `/store/f.root?tried=a`.
    pub path: String,
}

impl Open {
    /// Opens for reading.
    pub fn reading(path: &str, options: OpenOptions) -> Open {
        Open { mode: 0, options, options_2: 0, template: Handle::default(), path: path.to_owned() }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAnswer {
    pub handle: Handle,
    /// Page size and type of server-side compression, where the answer has them; not used today.
    pub compression: Option<(u32, [u8; 4])>,
    pub stat: Option<StatInfo>,
}

impl Message for Open {
    const CODE: u16 = 3010;
    const NAME: &'static str = "kXR_open";
    type Answer = OpenAnswer;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let mode = fields.u16()?;
        let options = OpenOptions(fields.u16()?);
        let options_2 = fields.u16()?;
        fields.skip::<6>()?;
        let template = Handle(fields.array()?);
        Ok(Open { mode, options, options_2, template, path: exact_text(Self::NAME, body)? })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..2].copy_from_slice(&self.mode.to_be_bytes());
        parameters[2..4].copy_from_slice(&self.options.0.to_be_bytes());
        parameters[4..6].copy_from_slice(&self.options_2.to_be_bytes());
        parameters[12..16].copy_from_slice(&self.template.0);
        body.extend_from_slice(self.path.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<OpenAnswer, DecodeError> {
        let mut fields = Fields::new("kXR_open answer", body);
        let handle = Handle(fields.array()?);
        let compression =
            if fields.is_empty() { None } else { Some((fields.u32()?, fields.array()?)) };
        let stat = match fields.rest() {
            [] => None,
            text => Some(StatInfo::decode(text)?),
        };
        Ok(OpenAnswer { handle, compression, stat })
    }

    fn encode_answer(answer: &OpenAnswer) -> Vec<u8> {
        let mut body = answer.handle.0.to_vec();
        // The stat text comes after the compression, so it is never without it.
        let compression = answer.compression.or(answer.stat.as_ref().map(|_| (0, [0; 4])));
        if let Some((size, kind)) = compression {
            body.extend_from_slice(&size.to_be_bytes());
            body.extend_from_slice(&kind);
        }
        if let Some(stat) = &answer.stat {
            crate::codec::put_text(&mut body, &stat.to_string());
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_be_only_a_handle() {
        let body = Bytes::from_static(&[3, 0, 0, 0]);
        let answer = Open::decode_answer(&body).unwrap();
        assert_eq!(answer.handle, Handle::from_slot(3));
        assert_eq!((answer.compression, &answer.stat), (None, &None));
        assert_eq!(Open::encode_answer(&answer), body);
    }

    #[test]
    fn an_answer_cut_inside_its_handle_or_its_compression_is_short() {
        for length in [0, 1, 3, 5, 11] {
            let body = Bytes::from(vec![0; length]);
            assert!(Open::decode_answer(&body).is_err(), "{length}");
        }
    }

    #[test]
    fn what_could_change_a_file_counts_as_writing() {
        assert!(!OpenOptions::FOR_READING.writes());
        assert!(!OpenOptions(0).writes(), "no flag at all means reading");
        assert!((OpenOptions::READ | OpenOptions::UPDATE).writes());
    }
}
