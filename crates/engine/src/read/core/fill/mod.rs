//! Columns that are filled basket by basket, or page by page, as the bytes arrive.

pub(crate) mod builder;
pub(crate) mod slots;
