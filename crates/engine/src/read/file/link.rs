//! Sizes of requests for metadata, before their length is known.

use bytes::Bytes;
use remote::LinkModel;
use rootfile::header::{HEADER_LEN, Header};
use rootfile::{Known, RequestSizes};

/// The assumed link: with the open comes the beginning of the file (the header and the top
/// directory's record need about 400 bytes), and its end where the server can answer that before
/// its size is known (the key list, the streamer information and most trees' records).
pub const LINK: LinkModel = LinkModel::USUAL;

/// The number of a file that only copies of it share (`fUUID`), from its first bytes.
pub fn identify(head: &[u8]) -> Option<u128> {
    let header = Header::read(&Bytes::copy_from_slice(head.get(..HEADER_LEN as usize)?)).ok()?;
    header.uuid.filter(|uuid| *uuid != 0)
}

/// A file of so many bytes, of which none is here.
pub fn known_of(size: u64) -> Known {
    let sizes = RequestSizes { head: LINK.head(), flight: LINK.flight() };
    Known::new(Some(size)).asking_for(sizes)
}
