//! Requests that a server refuses, and its answers: most servers refuse all that changes files.

use bytes::Bytes;

use crate::codec::Fields;
use crate::error::ErrorCode;
use crate::header::RequestHeader;
use crate::message::readv::Segment;
use crate::message::{Message, Open, Request};

/// Decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Serve,
    Refuse(ErrorCode, &'static str),
    /// Nothing is done, and nothing is lost by saying yes.
    Consent,
    /// Has no answer.
    Ignore,
}

const CHMOD: u16 = 3002;
const MKDIR: u16 = 3008;
const MV: u16 = 3009;
const CHKPOINT: u16 = 3012;
const RM: u16 = 3014;
const RMDIR: u16 = 3015;
const SYNC: u16 = 3016;
const SET: u16 = 3018;
const WRITE: u16 = 3019;
const PGWRITE: u16 = 3026;
const TRUNCATE: u16 = 3028;
const SIGVER: u16 = 3029;
const WRITEV: u16 = 3031;
const CLONE: u16 = 3032;

/// The requests between these numbers exist, whether they are served or not.
const KNOWN: std::ops::RangeInclusive<u16> = 3000..=3032;

pub const READ_ONLY: &str = "this server is read-only";
const REFUSED: Verdict = Verdict::Refuse(ErrorCode::READ_ONLY, READ_ONLY);

/// Whether requests of this code change files.
pub fn is_change(code: u16) -> bool {
    matches!(
        code,
        CHMOD
            | MKDIR
            | MV
            | CHKPOINT
            | RM
            | RMDIR
            | SYNC
            | WRITE
            | PGWRITE
            | TRUNCATE
            | WRITEV
            | CLONE
    )
}

/// Whether requests of this code may name the changed file by a path.
pub fn names_path(code: u16) -> bool {
    matches!(code, Open::CODE | MKDIR | MV | RM | RMDIR | TRUNCATE)
}

/// Whether requests of this code bring bytes for a file, many of them.
pub fn is_write(code: u16) -> bool {
    matches!(code, WRITE | PGWRITE)
}

/// Whether a request changes the content of an open file.
pub fn changes_open_file(head: &RequestHeader) -> bool {
    match head.code {
        // A path follows where no open file is meant.
        TRUNCATE => head.length == 0,
        code => names_one_file(code) || matches!(code, WRITEV | CLONE | CHKPOINT),
    }
}

/// Whether the header of such a request has the open file's handle.
pub fn names_one_file(code: u16) -> bool {
    is_write(code) || code == TRUNCATE
}

/// Whether a body is dropped as it comes: it may be of any size, and nothing here looks at it.
pub fn is_dropped(code: u16, writable: bool) -> bool {
    let is_unknown = !KNOWN.contains(&code) || !Request::is_decoded(code);
    !has_data_behind(code) && (is_unknown || (is_change(code) && !writable))
}

/// Whether bytes follow that the header does not count: the body says how many.
pub fn has_data_behind(code: u16) -> bool {
    code == WRITEV
}

/// How many bytes follow a request beyond those its header counts.
pub fn data_behind(code: u16, body: &Bytes) -> u64 {
    if !has_data_behind(code) {
        return 0;
    }
    let mut fields = Fields::new("kXR_writev", body);
    let mut total: u64 = 0;
    while let Ok(segment) = fields.array::<{ Segment::BYTES }>() {
        total += Segment::decode(&segment).map_or(0, |segment| u64::from(segment.length));
    }
    total
}

/// The decision about a request.
pub fn verdict(request: &Request, writable: bool) -> Verdict {
    match request {
        Request::Open(open) if open.options.writes() && !writable => REFUSED,
        Request::Auth(_) => {
            Verdict::Refuse(ErrorCode::INVALID_REQUEST, "no authentication is wanted")
        }
        Request::Bind(_) => Verdict::Refuse(ErrorCode::UNSUPPORTED, "one path per session"),
        Request::Unknown { code } => match *code {
            // Monitoring information.
            SET => Verdict::Consent,
            // A signature that was not asked for.
            SIGVER => Verdict::Ignore,
            code if KNOWN.contains(&code) => {
                Verdict::Refuse(ErrorCode::UNSUPPORTED, "this request is not supported")
            }
            _ => Verdict::Refuse(ErrorCode::INVALID_REQUEST, "no such request"),
        },
        _ => Verdict::Serve,
    }
}
