//! Checks whether a whole file keeps the promises of writers of ROOT files to each other.

use std::ops::Range;

use bytes::Bytes;
use remote::{Error, ErrorKind, Result};
pub use rootfile::write::check::Finding;
use rootfile::write::check::check;

use crate::read::file::session::Session;

/// Bytes of one request, and how many are out at the same time.
const PIECE: u64 = 8 << 20;
const PIECES: usize = 8;

/// Reads all of a file and examines it: [`Engine::check`](crate::Engine::check).
pub async fn check_file(session: &Session, address: &str) -> Result<Vec<Finding>> {
    let file = session.remote().open_bytes(address).await?;
    let size = file.info().size;
    let fits = usize::try_from(size).ok();
    let mut bytes = Vec::new();
    let Some(len) = fits.filter(|len| bytes.try_reserve_exact(*len).is_ok()) else {
        let text = format!("a check holds the whole file in memory, and this one has {size} bytes");
        return Err(Error::new(ErrorKind::Unsupported, text).with_url(file.url()));
    };
    bytes.resize(len, 0);
    let pieces: Vec<Range<u64>> =
        (0..size).step_by(PIECE as usize).map(|start| start..size.min(start + PIECE)).collect();
    for pieces in pieces.chunks(PIECES) {
        for (offset, piece) in file.fetch(pieces).await? {
            let start = offset as usize;
            bytes[start..start + piece.len()].copy_from_slice(&piece);
        }
    }
    let bytes = Bytes::from(bytes);
    // Long for the threads that move bytes.
    let check = tokio::task::spawn_blocking(move || check(&bytes));
    check.await.map_err(|_| Error::new(ErrorKind::Cancelled, "the check was given up"))
}
