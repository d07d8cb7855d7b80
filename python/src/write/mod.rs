//! Writing: columns from Python to the engine, and files, trees and RNTuples that are written.

mod array;

pub use array::Array;
