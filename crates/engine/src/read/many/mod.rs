//! Several trees or RNTuples read as one, one after the other.

mod ahead;
pub mod chain;
pub(crate) mod opener;
pub mod request;
pub mod scan;
