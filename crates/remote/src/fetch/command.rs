//! Commands of handles to the driver, and its answers.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use scheduler::OpenEnds;
use tokio::sync::{mpsc, oneshot};

use super::activity::Activity;
use super::cached::CacheOpen;
use crate::address::FileLocations;
use crate::cache::{CacheEntry, UnpackedPart};
use crate::config::Config;
use crate::error::Result;
use crate::origin::Exposure;
use crate::source::FileInfo;
use crate::source::network::Network;

/// The urgency of a want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// A caller waits for the bytes.
    Demand,
    /// A caller will wait for the bytes, unless it stops early.
    Hint,
}

impl From<Urgency> for scheduler::Urgency {
    fn from(urgency: Urgency) -> Self {
        match urgency {
            Urgency::Demand => scheduler::Urgency::Demand,
            Urgency::Hint => scheduler::Urgency::Hint,
        }
    }
}

/// With which codec the bytes of wants may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedForm {
    /// They are the bytes of the file.
    AsInFile,
    /// Each want is a basket or a page, which the cache may have with another codec.
    AnyCodec,
}

/// One wanted range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    /// Half open, in the file.
    pub range: Range<u64>,
    /// Bytes of memory that this want holds from its request until its reservation is dropped: the
    /// bytes that arrive and the decoded values.
    pub cost: u64,
    /// Every demand goes before every hint.
    pub urgency: Urgency,
    /// Lower comes first.
    pub order: u64,
}

impl Want {
    /// Ranges that a caller waits for, in this order.
    pub fn demands(ranges: &[Range<u64>]) -> Vec<Want> {
        let demand = |(order, range): (usize, &Range<u64>)| Want {
            cost: range.end.saturating_sub(range.start),
            range: range.clone(),
            urgency: Urgency::Demand,
            order: order as u64,
        };
        ranges.iter().enumerate().map(demand).collect()
    }
}

/// Commands from handles to the driver.
pub enum DriverCommand {
    Open {
        locations: FileLocations,
        ends: OpenEnds,
        activity: Activity,
        /// A caller that goes on before the answer is notified as soon as it may add wants.
        early: Option<oneshot::Sender<Begun>>,
        /// The cache's part in it, where there is a cache.
        cached: Option<Box<CacheOpen>>,
        reply: oneshot::Sender<Result<Opened>>,
    },
    Want {
        file: FileTag,
        group: u64,
        wants: Vec<Want>,
        form: WantedForm,
        sink: mpsc::UnboundedSender<WantResult>,
    },
    Promote {
        group: u64,
        indices: Range<usize>,
    },
    /// These are not wanted any more, unless they have come.
    GiveUp {
        group: u64,
        indices: Range<usize>,
    },
    Abandon {
        group: u64,
    },
    /// A decoder has decompressed a part of a file: it may be cached with another codec.
    Unpacked {
        file: FileTag,
        part: UnpackedPart,
    },
    /// Bytes of a file that were remembered and have been found to be its: they may be cached as if
    /// they had been fetched.
    Remembered {
        file: FileTag,
        pieces: Vec<(u64, Bytes)>,
    },
    Resize {
        group: u64,
        index: usize,
        cost: u64,
    },
    Release {
        group: u64,
        index: usize,
    },
    HandOver {
        group: u64,
        index: usize,
    },
    HandOut {
        bytes: u64,
    },
    TakeBack {
        bytes: u64,
    },
    Close {
        file: FileTag,
    },
    Configure {
        config: Box<Config>,
        network: Arc<dyn Network>,
    },
}

pub type FileTag = scheduler::FileId;
/// The position of a want in its group, its bytes and where they were.
pub type WantResult = (usize, Result<(Bytes, CameFrom)>);

/// Where the bytes of a want were when it was answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CameFrom {
    /// All in the cache on the disk.
    pub is_cached: bool,
    /// Number of bytes that were fetched from a server for another want.
    pub joined: u64,
}

#[derive(Debug)]
pub struct Opened {
    pub file: FileTag,
    pub info: FileInfo,
    pub delivered: Vec<(u64, Bytes)>,
    pub source: String,
    pub kept: Option<KeptEntry>,
    pub exposure: Exposure,
}

/// The cache's entry of an opened file.
#[derive(Debug)]
pub struct KeptEntry {
    pub entry: CacheEntry,
    /// The entry had bytes before this open.
    pub had_bytes: bool,
}

/// A file that is being opened.
#[derive(Debug)]
pub struct Begun {
    pub file: FileTag,
    pub source: String,
    pub exposure: Exposure,
}
