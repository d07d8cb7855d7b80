//! Columns that are filled basket by basket, or page by page, as the bytes arrive.

pub(crate) mod filling;
pub(crate) mod prefault;
pub(crate) mod slots;
