//! Compression of a record's payload when it is written (ROOT: `R__zipMultipleAlgorithm`; read in
//! [`crate::block`]).

use crate::block::{self, HEADER_LEN};
use crate::codec::{self, Effort};
use crate::error::{Error, Result};

/// Content that one block can hold on either side.
const BLOCK_LEN_MAX: usize = 0xff_ffff;
/// ROOT does not try to compress less.
const CONTENT_LEN_MIN: usize = 11;

/// Efforts that are tried in place of a level of ZSTD above the number, the fastest first. The
/// levels between are slower than the lower ones, and give no fewer bytes on usual content.
const TRIED: [(i32, Effort); 3] =
    [(1, Effort::Level(1)), (4, Effort::Short), (7, Effort::Level(7))];
/// Bytes of a column that are a large enough sample to find its level.
pub const SAMPLE_LEN: usize = 64 << 10;
/// The most that a lower level may add to the size: one byte of so many.
const EXCESS_MAX: usize = 200;

/// Algorithms of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompressionAlgorithm {
    Zlib,
    Lzma,
    Lz4,
    Zstd,
}

/// Algorithm and level of a file, a table or a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    pub algorithm: CompressionAlgorithm,
    /// ROOT's level, 1 to 9; 0 does not compress.
    pub level: u8,
    /// Level of the codec, in place of the one that ROOT's level maps to. A lower one may be used
    /// if it gives about the same size: see [`Compression::is_class`].
    pub size_level: Option<i32>,
    /// The effort to use, without a trial of lower ones.
    pub exact: Option<Effort>,
}

impl Compression {
    /// No compression.
    pub const NONE: Compression = Compression::new(CompressionAlgorithm::Zstd, 0);

    /// Of ROOT's level, 0 to 9.
    pub const fn new(algorithm: CompressionAlgorithm, level: u8) -> Self {
        Compression { algorithm, level, size_level: None, exact: None }
    }

    /// Of ROOT's number, algorithm * 100 + level: 505 is ZSTD of level 5.
    ///
    /// # Errors
    /// `Unsupported` for numbers that ROOT does not write.
    pub fn of_number(number: u32) -> Result<Self> {
        let algorithm = match number / 100 {
            0 | 1 => CompressionAlgorithm::Zlib,
            2 => CompressionAlgorithm::Lzma,
            4 => CompressionAlgorithm::Lz4,
            5 => CompressionAlgorithm::Zstd,
            _ => return Err(Error::unsupported(format!("compression {number}"))),
        };
        let level = (number % 100) as u8;
        match level {
            0..=9 => Ok(Compression::new(algorithm, level)),
            _ => Err(Error::unsupported(format!("compression {number}: levels go from 0 to 9"))),
        }
    }

    /// ROOT's number (`fCompress`).
    pub fn number(self) -> u32 {
        let algorithm = match self.algorithm {
            _ if self.level == 0 => return 0,
            CompressionAlgorithm::Zlib => 1,
            CompressionAlgorithm::Lzma => 2,
            CompressionAlgorithm::Lz4 => 4,
            CompressionAlgorithm::Zstd => 5,
        };
        algorithm * 100 + u32::from(self.level)
    }

    /// Whether a lower level of the library may be used if it gives about the same size: see
    /// [`Encoders::lowest_level`].
    pub fn is_class(self) -> bool {
        let tried = self.codec_level() > TRIED[0].0;
        self.algorithm == CompressionAlgorithm::Zstd && self.exact.is_none() && tried
    }

    /// How hard the codec searches.
    pub fn effort(self) -> Effort {
        self.exact.unwrap_or(Effort::Level(self.codec_level()))
    }

    /// The level of the codec. ROOT passes twice its own level to ZSTD. Libdeflate's level 1 leaves
    /// 2 % more bytes than zlib's, its level 2 leaves 2 % less.
    fn codec_level(self) -> i32 {
        self.size_level.unwrap_or(match self.algorithm {
            CompressionAlgorithm::Zstd => 2 * i32::from(self.level),
            CompressionAlgorithm::Zlib if self.level == 1 => 2,
            _ => i32::from(self.level),
        })
    }
}

/// State that compression reuses from one block to the next: one per thread, owned by the caller.
#[derive(Default)]
pub struct Encoders {
    zlib: codec::ZlibEncoder,
    zstd: codec::ZstdEncoder,
    /// Where a caller that encodes entries keeps its bytes before they are compressed.
    pub(crate) scratch: Vec<u8>,
}

/// A compression, and the state that a thread compresses with.
#[derive(Debug)]
pub struct Coding<'a> {
    pub compression: Compression,
    pub encoders: &'a mut Encoders,
}

impl Coding<'_> {
    /// The same for one call.
    pub fn again(&mut self) -> Coding<'_> {
        Coding { compression: self.compression, encoders: self.encoders }
    }
}

impl std::fmt::Debug for Encoders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoders").field("scratch_bytes", &self.scratch.capacity()).finish()
    }
}

impl Encoders {
    /// Appends the payload of `content` to `to`: blocks or, where they would not be shorter, the
    /// content itself. Readers tell by the length which it is.
    ///
    /// # Errors
    /// `Limit` where a library fails, which it does for want of memory only.
    pub fn compress(
        &mut self,
        compression: Compression,
        content: &[u8],
        to: &mut Vec<u8>,
    ) -> Result<()> {
        self.compress_planes(compression, content, content.len(), to)
    }

    /// As [`Encoders::compress`], of content in planes of so many bytes, each with statistics of
    /// its own: no block of Zstandard then holds bytes of two.
    ///
    /// # Errors
    /// As [`Encoders::compress`].
    pub fn compress_planes(
        &mut self,
        compression: Compression,
        content: &[u8],
        plane_len: usize,
        to: &mut Vec<u8>,
    ) -> Result<()> {
        let start = to.len();
        if compression.level > 0 && content.len() >= CONTENT_LEN_MIN {
            for part in content.chunks(BLOCK_LEN_MAX) {
                if !self.block(compression, part, plane_len, to)? {
                    to.truncate(start);
                    break;
                }
            }
        }
        if to.len() == start || to.len() - start >= content.len() {
            to.truncate(start);
            to.extend_from_slice(content);
        }
        Ok(())
    }

    /// The lowest level that compresses a column's sample as well as the level of that compression,
    /// up to 0.5 % in size, and the bytes of the sample then: most columns of reals need no high
    /// one. Compressions with an exact level are left as they are.
    ///
    /// # Errors
    /// As [`Encoders::compress`].
    pub fn lowest_level(
        &mut self,
        compression: Compression,
        sample: &[u8],
        plane_len: usize,
    ) -> Result<(Compression, usize)> {
        let mut payload = Vec::new();
        self.compress_planes(compression, sample, plane_len, &mut payload)?;
        if !compression.is_class() {
            return Ok((compression, payload.len()));
        }
        let level = compression.codec_level();
        let len = payload.len();
        for (_, effort) in TRIED.into_iter().filter(|(above, _)| level > *above) {
            let lower = Compression { exact: Some(effort), ..compression };
            payload.clear();
            self.compress_planes(lower, sample, plane_len, &mut payload)?;
            if payload.len() <= len + len / EXCESS_MAX {
                return Ok((lower, payload.len()));
            }
        }
        Ok((Compression { exact: Some(compression.effort()), ..compression }, len))
    }

    /// One block; `false` where it does not fit into one.
    fn block(
        &mut self,
        compression: Compression,
        part: &[u8],
        plane_len: usize,
        to: &mut Vec<u8>,
    ) -> Result<bool> {
        let header = to.len();
        to.resize(header + HEADER_LEN, 0);
        let effort = compression.effort();
        let level = match effort {
            Effort::Level(level) => level,
            Effort::Short => compression.codec_level(),
        };
        let fits = match compression.algorithm {
            CompressionAlgorithm::Zlib => self.zlib.compress(level, part, to)?,
            CompressionAlgorithm::Lzma => codec::compress_lzma(level, part, to)?,
            CompressionAlgorithm::Lz4 => codec::compress_lz4(part, to),
            CompressionAlgorithm::Zstd => self.zstd.compress(effort, part, plane_len, to)?,
        };
        let stored = to.len() - header - HEADER_LEN;
        if !fits || stored > BLOCK_LEN_MAX {
            return Ok(false);
        }
        let written = block::header(compression.algorithm.into(), stored, part.len());
        to[header..header + HEADER_LEN].copy_from_slice(&written);
        Ok(true)
    }
}

impl From<CompressionAlgorithm> for codec::Algorithm {
    fn from(algorithm: CompressionAlgorithm) -> Self {
        match algorithm {
            CompressionAlgorithm::Zlib => codec::Algorithm::Zlib,
            CompressionAlgorithm::Lzma => codec::Algorithm::Lzma,
            CompressionAlgorithm::Lz4 => codec::Algorithm::Lz4,
            CompressionAlgorithm::Zstd => codec::Algorithm::Zstd,
        }
    }
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash64;

    use super::*;
    use crate::codec::Codecs;

    #[test]
    fn what_is_compressed_is_decompressed() {
        let text: Vec<u8> = (0..40_000u32).flat_map(|n| (n / 7).to_be_bytes()).collect();
        let mut encoders = Encoders::default();
        let mut codecs = Codecs::new();
        for number in [0, 101, 109, 207, 401, 404, 501, 505, 509] {
            let compression = Compression::of_number(number).unwrap();
            assert_eq!(compression.number(), number);
            for content in [&text[..], &text[..12], b"", b"short", &[7; 17 << 20]] {
                let mut payload = b"before".to_vec();
                encoders.compress(compression, content, &mut payload).unwrap();
                let payload = &payload[6..];
                assert!(payload.len() <= content.len());
                let smaller = content.len() > 12 && number > 0;
                assert_eq!(payload.len() < content.len(), smaller, "{number}");
                let back = block::decompress(&mut codecs, payload, content.len()).unwrap();
                assert!(back == content, "{number}");
            }
        }
    }

    /// Zstandard's context could not be used again once content had not become shorter.
    #[test]
    fn after_what_does_not_become_shorter_comes_what_does() {
        let noise: Vec<u8> =
            (0..4000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8 ^ n as u8).collect();
        let mut encoders = Encoders::default();
        for number in [101, 207, 401, 505] {
            for exact in [Some(Effort::Level(1)), Some(Effort::Short), None] {
                let compression = Compression { exact, ..Compression::of_number(number).unwrap() };
                for (content, shorter) in [(&noise[..20], false), (&[1; 4000][..], true)] {
                    let mut payload = Vec::new();
                    encoders.compress(compression, content, &mut payload).unwrap();
                    assert_eq!(payload.len() < content.len(), shorter, "{number}");
                }
            }
        }
    }

    #[test]
    fn the_lowest_level_that_is_as_good() {
        let mut encoders = Encoders::default();
        let compression = Compression::of_number(505).unwrap();
        let text: String = (0..20_000u32).map(|n| format!("{} ", n * n % 977)).collect();
        for sample in [text.as_bytes(), &[0; 10_000]] {
            let mut len = |effort| {
                let mut payload = Vec::new();
                let exact = Compression { exact: Some(effort), ..compression };
                encoders.compress(exact, sample, &mut payload).unwrap();
                payload.len()
            };
            let [one, seven, ten] = [1, 7, 10].map(Effort::Level);
            let most = len(ten) * 201 / 200;
            let efforts = [one, Effort::Short, seven, ten];
            let lowest = efforts.into_iter().find(|effort| len(*effort) <= most);
            let (chosen, chosen_len) =
                encoders.lowest_level(compression, sample, sample.len()).unwrap();
            assert_eq!((chosen.exact, chosen.number()), (lowest, 505));
            let mut payload = Vec::new();
            encoders.compress(chosen, sample, &mut payload).unwrap();
            assert_eq!(chosen_len, payload.len());
        }
        // For reals without repetitions, level 1 of the codec gives the size of its level 5.
        let five_at_most = Compression { size_level: Some(5), ..compression };
        let reals: Vec<u8> = (0..20_000u32).flat_map(|n| (n as f32).sqrt().to_be_bytes()).collect();
        let mut five = Vec::new();
        encoders.compress(five_at_most, &reals, &mut five).unwrap();
        let (chosen, len) = encoders.lowest_level(five_at_most, &reals, reals.len()).unwrap();
        assert_eq!((chosen.exact, chosen.number()), (Some(Effort::Level(1)), 505));
        assert!(len <= five.len() + five.len() / EXCESS_MAX);
        let exact = Compression { exact: Some(Effort::Level(9)), ..compression };
        assert_eq!(encoders.lowest_level(exact, text.as_bytes(), 1000).unwrap().0, exact);
    }

    /// Bytes of two kinds in one block of Zstandard cost more than the block's end.
    #[test]
    fn planes_are_decompressed_and_shorter() {
        let noise = |n: u64| XxHash64::oneshot(n, &[]) as u8;
        let plane = |mask: u8| (0..20_000).map(move |n| noise(n) & mask);
        let content: Vec<u8> = plane(0xff).chain(plane(7)).chain(plane(3)).collect();
        let mut encoders = Encoders::default();
        let mut codecs = Codecs::new();
        let compression =
            Compression { exact: Some(Effort::Level(1)), ..Compression::of_number(505).unwrap() };
        let mut of = |plane_len: usize| {
            let mut payload = Vec::new();
            encoders.compress_planes(compression, &content, plane_len, &mut payload).unwrap();
            let back = block::decompress(&mut codecs, &payload, content.len()).unwrap();
            assert!(back == content, "{plane_len}");
            payload.len()
        };
        let whole = of(content.len());
        let apart = of(20_000);
        assert!(apart < whole * 19 / 20, "{apart}, {whole}");
        // Too short to be told apart, and no divisor.
        assert_eq!(of(100), whole);
        of(7001);
        assert_eq!(encoders.lowest_level(compression, &content, 20_000).unwrap().1, apart);
        let mut noise = Vec::new();
        encoders.compress_planes(compression, &content[..20_000], 5000, &mut noise).unwrap();
        assert_eq!(noise.len(), 20_000);
    }

    #[test]
    fn numbers_that_root_does_not_write() {
        for number in [300, 510, 612, 1234] {
            assert!(Compression::of_number(number).is_err(), "{number}");
        }
    }
}
