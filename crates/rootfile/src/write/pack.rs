//! Baskets and pages of slow codecs, packed again with a fast one.
//!
//! The result is an ordinary basket or page: any decoder reads it in place of the original one,
//! since its blocks say their codec. Only its length differs, which a basket's key says.

use twox_hash::XxHash3_64;

use super::compression::{Compression, CompressionAlgorithm, Encoders};
use crate::codec::{Effort, Unpacked};
use crate::error::{Error, Result};

/// The codec that is decompressed fastest.
const FASTEST: Compression = Compression::new(CompressionAlgorithm::Lz4, 1);
/// For content of which the fastest one makes more than 1.6 times the bytes of the slow one: three
/// times as slow as that, but twenty times as fast as LZMA.
const SHORTER: Compression = Compression {
    exact: Some(Effort::Level(1)),
    ..Compression::new(CompressionAlgorithm::Zstd, 1)
};

impl Unpacked {
    /// The basket or page with the same content, compressed with a fast codec.
    ///
    /// # Errors
    /// `Limit` where there is no memory, or the basket becomes too long for its key.
    pub fn pack(mut self, encoders: &mut Encoders) -> Result<Vec<u8>> {
        let key_len = self.key.len();
        let mut packed = std::mem::take(&mut self.key);
        encoders.compress(FASTEST, &self.content, &mut packed)?;
        if packed.len() - key_len > self.stored / 10 * 16 {
            packed.truncate(key_len);
            encoders.compress(SHORTER, &self.content, &mut packed)?;
        }
        if key_len > 0 {
            let record_len = i32::try_from(packed.len());
            let record_len = record_len.map_err(|_| Error::limit("a basket of 2 GiB"))?;
            // `fNbytes` comes first.
            packed[..4].copy_from_slice(&record_len.to_be_bytes());
        }
        if self.has_checksum {
            packed.extend(XxHash3_64::oneshot(&packed).to_le_bytes());
        }
        Ok(packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block;
    use crate::codec::Codecs;

    fn compressed(content: &[u8], algorithm: CompressionAlgorithm) -> Vec<u8> {
        let mut payload = Vec::new();
        let compression = Compression::new(algorithm, 7);
        Encoders::default().compress(compression, content, &mut payload).unwrap();
        payload
    }

    /// As the decoders of baskets and of pages keep contents.
    fn keep(codecs: &mut Codecs, key: &[u8], payload: &[u8], content: &[u8]) {
        assert!(block::is_slow(payload));
        codecs.unpacked.add(key.len() + content.len(), || Unpacked {
            at: 7,
            key: key.to_vec(),
            content: content.to_vec(),
            stored: payload.len(),
            has_checksum: key.is_empty(),
        });
    }

    fn packed(content: &[u8], key: &[u8]) -> Vec<u8> {
        let payload = compressed(content, CompressionAlgorithm::Lzma);
        let mut codecs = Codecs::new();
        codecs.keep_unpacked(1 << 20);
        keep(&mut codecs, key, &payload, content);
        let [unpacked] = &codecs.take_unpacked()[..] else { panic!("one is kept") };
        assert_eq!((unpacked.at, unpacked.nbytes()), (7, key.len() + content.len()));
        unpacked.clone().pack(&mut Encoders::default()).unwrap()
    }

    /// Repetitions, reals of which LZ4 makes nothing shorter, and what no codec makes shorter.
    fn contents() -> [Vec<u8>; 3] {
        let noise = |n: u32| XxHash3_64::oneshot(&n.to_le_bytes());
        let reals = (0..5000).flat_map(|n| ((noise(n) & 0xfff) as f32).to_be_bytes());
        let random = (0..5000).flat_map(|n| noise(n).to_le_bytes());
        [vec![5; 20_000], reals.collect(), random.collect()]
    }

    #[test]
    fn a_basket_is_one_of_a_fast_codec() {
        let key = [9; 80];
        for content in contents().iter().take(2) {
            let basket = packed(content, &key);
            assert_eq!(basket[..4], (basket.len() as u32).to_be_bytes());
            assert_eq!(basket[4..80], key[4..]);
            let payload = &basket[80..];
            let algorithm = block::BlockHeader::read(payload).unwrap().algorithm;
            assert!(!algorithm.is_slow());
            let back = block::decompress(&mut Codecs::new(), payload, content.len()).unwrap();
            assert!(back == *content);
            let original = compressed(content, CompressionAlgorithm::Lzma).len();
            assert!(payload.len() < 17 * original / 10, "{} of {original}", payload.len());
        }
    }

    #[test]
    fn a_page_has_the_checksum_of_its_new_bytes() {
        let [content, ..] = contents();
        let page = packed(&content, &[]);
        let (payload, sum) = page.split_last_chunk::<8>().unwrap();
        assert_eq!(XxHash3_64::oneshot(payload), u64::from_le_bytes(*sum));
        let back = block::decompress(&mut Codecs::new(), payload, content.len()).unwrap();
        assert!(back == content);
    }

    #[test]
    fn only_what_is_slow_and_has_room_is_kept() {
        let [content, ..] = contents();
        for fast in [CompressionAlgorithm::Lz4, CompressionAlgorithm::Zstd] {
            assert!(!block::is_slow(&compressed(&content, fast)));
        }
        assert!(!block::is_slow(&content) && !block::is_slow(&[]));
        let mut codecs = Codecs::new();
        let lzma = compressed(&content, CompressionAlgorithm::Lzma);
        keep(&mut codecs, &[], &lzma, &content);
        assert!(codecs.take_unpacked().is_empty(), "nobody has asked");
        codecs.keep_unpacked(content.len() + 1);
        keep(&mut codecs, &[], &lzma, &content);
        keep(&mut codecs, &[], &lzma, &content);
        assert_eq!(codecs.take_unpacked().len(), 1);
        keep(&mut codecs, &[], &lzma, &content);
        assert!(codecs.take_unpacked().is_empty());
    }
}
