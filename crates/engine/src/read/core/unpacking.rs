//! Baskets and pages that a decoder decompresses, offered to the cache.
//!
//! Those of slow codecs are cached with a fast one, so that a second read has less to decompress.
//! A decoder copies what it has decompressed; the cache packs it when a processor has time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use remote::cache::UnpackedPart;
use remote::fetch::RemoteFile;
use rootfile::Codecs;
use rootfile::write::Encoders;

/// The pieces of an item that is decoded, where the cache may have them with another codec.
pub struct Unpacking {
    remote: Arc<RemoteFile>,
    room: u64,
    /// By their offset in the file.
    pieces: BTreeMap<u64, Bytes>,
}

impl Unpacking {
    /// For pieces at these ranges of a file; `None` where the cache takes none now.
    pub fn of<'a>(
        remote: &Arc<RemoteFile>,
        ranges: impl Iterator<Item = &'a Range<u64>>,
        bytes: &[Bytes],
    ) -> Option<Self> {
        let room = remote.unpacked_room();
        // A piece of another length has come with another codec.
        let is_as_in_file =
            |(range, bytes): &(&Range<u64>, &Bytes)| range.end - range.start == bytes.len() as u64;
        let pieces = || ranges.zip(bytes).filter(is_as_in_file);
        let pieces: BTreeMap<u64, Bytes> = match room {
            0 => BTreeMap::new(),
            _ => pieces().map(|(range, bytes)| (range.start, bytes.clone())).collect(),
        };
        (!pieces.is_empty()).then(|| Unpacking { remote: remote.clone(), room, pieces })
    }

    /// Decodes by `decode`, and offers to the cache what that decompresses.
    pub fn around<T, E>(
        unpacking: Option<Self>,
        codecs: &mut Codecs,
        decode: impl FnOnce(&mut Codecs) -> Result<T, E>,
    ) -> Result<T, E> {
        let Some(unpacking) = unpacking else { return decode(codecs) };
        codecs.keep_unpacked(usize::try_from(unpacking.room).unwrap_or(usize::MAX));
        let decoded = decode(codecs);
        let unpacked = codecs.take_unpacked();
        if decoded.is_ok() {
            unpacking.offer(unpacked);
        }
        decoded
    }

    fn offer(mut self, unpacked: Vec<rootfile::Unpacked>) {
        for unpacked in unpacked {
            // Once, where a page is decoded in two parts.
            let Some(original) = self.pieces.remove(&unpacked.at) else { continue };
            let bytes = unpacked.nbytes() as u64;
            let at = unpacked.at;
            let pack = move || unpacked.pack(&mut Encoders::default()).ok();
            self.remote.unpacked(UnpackedPart::new(at, &original, bytes, pack));
        }
    }
}
