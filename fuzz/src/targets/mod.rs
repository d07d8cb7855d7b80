//! One target per decoder.

pub mod answer;
pub mod block;
pub mod cache;
pub mod credentials;
pub mod file;
pub mod gsi;
pub mod http;
pub mod messages;
pub mod ntuple;
pub mod request;
pub mod s3;
pub mod scheduler;
pub mod token;
pub mod update;
pub mod xrootd_client;
pub mod xrootd_server;

use rootfile::Progress;

/// A cursor that never runs out: zeros follow the input.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}

/// The result, if there is one. All bytes are known, so that only bytes beyond the end of the file
/// can be lacking, which must be an error instead.
pub(crate) fn all_there<T>(read: rootfile::Result<Progress<T>>) -> Option<T> {
    match read.ok()? {
        Progress::Ready(result) => Some(result),
        Progress::NeedsData(needs) => panic!("asks for what there is not: {needs:?}"),
    }
}

/// Where inputs are cut, so that messages end up in pieces of all sizes.
pub(crate) fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    let mut step = 0;
    std::iter::from_fn(move || {
        step += 1;
        let (piece, after) = rest.split_at(rest.len().min([1, 3, 24, 100, 5000][step % 5]));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
