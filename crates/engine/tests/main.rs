//! The engine over files on the disk.

mod arrow;
mod as_bytes;
mod replaced;
mod select;
