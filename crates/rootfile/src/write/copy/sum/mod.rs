//! Objects of several files as one: their sum.

mod histogram;

pub use histogram::HistogramSum;
