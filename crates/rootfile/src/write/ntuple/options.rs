//! Options of an RNTuple that is written.

use std::collections::BTreeMap;

use crate::write::compression::{Compression, CompressionAlgorithm};

/// How an RNTuple is written.
#[derive(Debug, Clone, PartialEq)]
pub struct RNTupleOptions {
    /// Description in the header, for readers.
    pub description: String,
    pub compression: Compression,
    /// A cluster ends with the entry that brings it to so many bytes, before compression.
    pub cluster_bytes: u64,
    /// Clusters have so many entries instead.
    pub cluster_entries: Option<u64>,
    /// Pages have at most so many bytes, before compression.
    pub page_bytes: usize,
    /// Whether each page ends with its checksum.
    pub checksums: bool,
    /// Longest record; longer payloads are in several.
    pub max_key_size: u64,
    /// Descriptions of fields that are within others, by the names of the fields that lead to them:
    /// `muons._0.pt`.
    pub descriptions: BTreeMap<String, String>,
    /// Name of the field that shows the number of a list's items, if one is to: `n{name}`.
    pub counter_name: Option<String>,
    /// How some reals are stored, by the names that lead to them: `Muon.pt`.
    pub reals: Vec<(String, RealStorage)>,
}

/// Reals with fewer bits in the file than in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RealStorage {
    /// Single precision (`Double32_t`, where they are doubles).
    Single,
    /// Half precision.
    Half,
    /// The highest 10 to 31 bits of single precision.
    Truncated { bits: u32 },
    /// One of the `2^bits` values from `min` to `max` at equal distances; of 1 to 32 bits. Others
    /// are refused.
    Quantised { bits: u32, min: f64, max: f64 },
}

impl RNTupleOptions {
    /// The usual options for a compression. Clusters have about 30 MB in the file: of compressed
    /// ones 64 MB before compression, of others 32 MB.
    pub fn of(compression: Compression) -> Self {
        let usual = RNTupleOptions::default();
        let cluster_bytes = match compression.level {
            0 => usual.cluster_bytes / 2,
            _ => usual.cluster_bytes,
        };
        RNTupleOptions { compression, cluster_bytes, ..usual }
    }
}

impl Default for RNTupleOptions {
    fn default() -> Self {
        RNTupleOptions {
            description: String::new(),
            descriptions: BTreeMap::new(),
            compression: Compression::new(CompressionAlgorithm::Zstd, 5),
            cluster_bytes: 64 << 20,
            cluster_entries: None,
            page_bytes: 1 << 20,
            checksums: true,
            max_key_size: 1 << 30,
            counter_name: None,
            reals: Vec::new(),
        }
    }
}
