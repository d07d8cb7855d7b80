//! The ROOT file format: bytes to structures, without I/O.

pub mod array;
pub mod block;
pub mod codec;
pub mod cursor;
pub mod directory;
pub mod error;
pub mod file;
pub mod header;
pub mod key;
pub mod known;
pub mod object;
pub mod streamer;
pub mod tree;

pub use array::{Array, Numbers};
pub use codec::Codecs;
pub use error::{Error, ErrorKind, Result};
pub use file::File;
pub use known::{Known, Needs, Progress};
