//! The anchor of an RNTuple, and the places of its columns' pages.

use engine::RNTuple;
use pyo3::prelude::*;

use crate::error::exception;
use crate::runtime::{engine, wait};

/// The pages of a column in a cluster.
#[pyclass(frozen, get_all, module = "farroot._core")]
pub struct ColumnPages {
    /// For each page: elements, whether a checksum follows, offset, stored bytes with checksum.
    pages: Vec<(u32, bool, u64, u64)>,
    /// Number of the column's elements in all earlier clusters.
    first_element: u64,
    /// Whether another column of the field has the values in this cluster.
    is_suppressed: bool,
    /// Compression of the pages as ROOT's number: algorithm * 100 + level.
    compression: u32,
}

/// The members of the anchor, by ROOT's names (`ROOT::RNTuple`).
pub fn anchor(ntuple: &RNTuple) -> Vec<(&'static str, u64)> {
    let anchor = &ntuple.metadata().anchor;
    let [epoch, major, minor, patch] = anchor.version.map(u64::from);
    let header = &anchor.header;
    let footer = &anchor.footer;
    vec![
        ("fVersionEpoch", epoch),
        ("fVersionMajor", major),
        ("fVersionMinor", minor),
        ("fVersionPatch", patch),
        ("fSeekHeader", header.range.start),
        ("fNBytesHeader", header.range.end - header.range.start),
        ("fLenHeader", header.length),
        ("fSeekFooter", footer.range.start),
        ("fNBytesFooter", footer.range.end - footer.range.start),
        ("fLenFooter", footer.length),
        ("fMaxKeySize", anchor.max_key_size),
    ]
}

/// The pages of each column, cluster by cluster.
pub fn page_lists(py: Python<'_>, ntuple: &RNTuple) -> PyResult<Vec<Vec<ColumnPages>>> {
    let all = 0..ntuple.num_entries();
    let clusters = wait(py, &engine(py)?, ntuple.clusters(&all))?;
    let clusters = clusters.map_err(|error| exception(py, &error))?;
    let listed = clusters.iter().map(|cluster| {
        let columns = cluster.columns.iter().map(|column| ColumnPages {
            pages: column
                .pages
                .iter()
                .map(|page| (page.elements, page.checksum, page.range.start, page.stored()))
                .collect(),
            first_element: column.first_element,
            is_suppressed: column.suppressed,
            compression: column.compression,
        });
        columns.collect()
    });
    Ok(listed.collect())
}
