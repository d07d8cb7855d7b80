//! Histograms: their bins and the sums that they keep (ROOT: `TH1` and classes derived from it).

pub(crate) mod axis;
pub(crate) mod buffer;
pub(crate) mod cells;
pub(crate) mod common;
pub(crate) mod extend;
pub(crate) mod filled;
mod limits;
pub(crate) mod members;
pub(crate) mod moments;
#[cfg(test)]
mod tests;
