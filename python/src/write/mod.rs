//! Writing: columns from Python to the engine, and files, trees and RNTuples that are written.

mod array;
mod file;
mod object;
mod options;
mod plain;

pub use array::{Array, whole};
pub use file::{FileOutput, TableOutput};
pub use object::{CopiedObject, WritableObject};
pub use options::{FileOptions, NumberAndLevel, compression_of};
