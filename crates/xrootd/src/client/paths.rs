//! Writes whose bytes travel on further connections of a session. Specification: `pathid` in
//! "kXR_write Request".
//!
//! The request leaves on the session's own connection; its bytes and its answer travel on the path.
//! So an upload is as fast as several flows, where a network limits each of them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::binding::Path;
use super::change::{Change, WritePart};
use super::{Client, TaskKind};
use crate::Time;
use crate::error::ProtocolError;
use crate::message::bind::PathId;

/// Fewer bytes travel behind their request: a path costs the server a change of threads.
const PATH_BYTES_MIN: usize = 64 << 10;

impl Client {
    /// Lets bytes of writes travel on a path that a [`Binding`](super::Binding) has added to this
    /// session.
    pub fn add_path(&mut self, path: PathId) {
        self.paths.insert(path, Path::default());
    }

    /// The next bytes to send on a path.
    pub fn poll_path(&mut self, path: PathId) -> Option<Bytes> {
        self.paths.get_mut(&path)?.outbox.take()
    }

    /// Bytes have come on a path, cut anywhere. Errors are those of [`Client::handle_bytes`].
    pub fn handle_path_bytes(
        &mut self,
        now: Time,
        path: PathId,
        bytes: Bytes,
    ) -> Result<(), ProtocolError> {
        self.change_frames(path);
        let taken = self.handle_bytes(now, bytes);
        self.change_frames(path);
        taken
    }

    /// A path has ended. Its session ends with it: the client does not know which bytes the
    /// server has.
    pub fn handle_path_eof(&mut self, now: Time, path: PathId) {
        if self.paths.contains_key(&path) {
            self.handle_eof(now);
        }
    }

    /// Frames are read from this path, or from the session's own again.
    fn change_frames(&mut self, path: PathId) {
        if let Some(path) = self.paths.get_mut(&path) {
            std::mem::swap(&mut self.frames, &mut path.frames);
        }
    }

    /// Writes whose bytes are on their way.
    fn writes_under_way(&self) -> impl Iterator<Item = &WritePart> {
        self.tasks.values().filter(|task| task.stream.is_some()).filter_map(|task| {
            match &task.kind {
                TaskKind::Change { change: Change::Write(piece), .. } => Some(piece),
                _ => None,
            }
        })
    }

    /// Whether bytes are on their way on another path: a request about their file would overtake
    /// them.
    pub(super) fn would_overtake(&self) -> bool {
        !self.paths.is_empty() && self.writes_under_way().any(|piece| piece.path != PathId::OWN)
    }

    /// The path for the bytes of a write: the one with the fewest bytes on it, or the one whose
    /// bytes this write replaces. `None` where these are on several. The session's own carries few,
    /// as requests would wait behind them.
    pub(super) fn path_for(&self, piece: &WritePart) -> Option<PathId> {
        if self.paths.is_empty() {
            return Some(PathId::OWN);
        }
        let mut waiting: BTreeMap<PathId, usize> =
            self.paths.keys().map(|path| (*path, 0)).collect();
        let mut replaced = BTreeSet::new();
        for other in self.writes_under_way() {
            if let Some(bytes) = waiting.get_mut(&other.path) {
                *bytes += other.bytes.len();
            }
            if other.overlaps(piece) {
                replaced.insert(other.path);
            }
        }
        if replaced.len() > 1 {
            return None;
        }
        let alone = self.signing.is_on() || piece.repairs() || piece.bytes.len() < PATH_BYTES_MIN;
        let emptiest = || waiting.iter().min_by_key(|(_, bytes)| **bytes).map(|(path, _)| *path);
        replaced.first().copied().or(if alone { Some(PathId::OWN) } else { emptiest() })
    }
}
