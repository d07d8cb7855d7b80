//! Parts that all kinds of tables share: columns, cuts, batches, the threads that decode.

pub mod alike;
pub mod batches;
pub mod column_set;
pub mod columns;
pub mod cut;
pub mod define;
pub mod expressions;
pub(crate) mod fill;
pub mod footprint;
pub mod formula;
pub mod friends;
pub mod lazy;
pub mod names;
pub(crate) mod pipeline;
pub mod request;
pub mod select;
pub mod skip;
pub mod spec;
pub mod spelled;
pub mod steps;
pub mod table;
pub(crate) mod unpacking;
