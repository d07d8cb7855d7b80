//! The interface between a file and a table that is written into it, and its work for threads.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::buffer::Buffer;
use super::compression::{Compression, Encoders};
use super::ntuple::LinkedSet;
use super::schema::TableColumn;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::streamer::StreamerInfo;

/// A run of entries of one column that is to be turned into compressed bytes.
pub struct Work {
    /// Bytes before compression, about: as many as the caller holds in memory for it.
    pub content_len: usize,
    pub encode: Box<dyn Encode>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("content_len", &self.content_len).finish_non_exhaustive()
    }
}

/// Work of a thread.
pub trait Encode: Send {
    /// # Errors
    /// `Limit` where a record or a count would be too large for the format.
    fn encode(self: Box<Self>, encoders: &mut Encoders) -> Result<Encoded>;
}

/// The result of work.
pub struct Encoded {
    /// The stored bytes: compressed, without a key.
    pub bytes: Vec<u8>,
    /// Bytes before compression (`fObjlen`).
    pub content_len: usize,
    /// Facts that the table which gave out the work keeps about it, in a type of its own.
    pub facts: Box<dyn Any + Send>,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// Where a record goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordPlace {
    /// Of its first byte in the file.
    pub offset: u64,
    /// Of the directory that its table is in (`fSeekPdir`).
    pub directory: u64,
    /// The time in its key (`fDatime`).
    pub datime: u32,
}

/// The last records of a table.
pub struct Finished {
    /// Records that no directory lists, with their keys, from the place on that was given.
    pub records: Vec<u8>,
    /// The object that the directory lists.
    pub object: Arc<dyn WritableObject>,
}

/// An object that a directory can list.
pub trait WritableObject: Send + Sync {
    fn class(&self) -> &str;

    fn title(&self) -> &str;

    /// The classes whose streamer infos a reader needs; those of their bases and members come
    /// along.
    fn classes(&self) -> Vec<&str>;

    /// Appends the object as it is before compression. Of one object it must do the same each
    /// time.
    fn write(&self, to: &mut Buffer);

    /// Descriptions of classes, from the files that parts of it are copied from.
    fn described(&self) -> Vec<&Described> {
        Vec::new()
    }

    /// Whether it may be compressed: an RNTuple's anchor may not.
    fn is_compressible(&self) -> bool {
        true
    }

    /// The bytes of a copied record that are stored behind a key of that length in place of those
    /// that `write` appends. `None` of objects that are written.
    ///
    /// # Errors
    /// Where the record cannot stand behind a key of that length.
    fn stored(&self, _key_len: usize) -> Result<Option<Stored>> {
        Ok(None)
    }
}

/// The streamer infos of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    pub infos: Vec<StreamerInfo>,
    /// Its address.
    pub file: String,
}

/// The content of a record as another file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Compressed where it is shorter than the content.
    pub payload: Bytes,
    /// Bytes before compression (`fObjlen`).
    pub content_len: usize,
}

/// A table that entries are added to: a tree or an RNTuple.
///
/// The bytes that it writes follow from the entries, in their order, alone. It may wait for the
/// results of its earlier work, which come in the order in which the work was given out.
pub trait TableWriter: Send {
    /// Its name in its directory. This call comes before all others.
    fn named(&mut self, name: &str);

    /// Compresses all columns, or one, in another way. It comes before all entries.
    ///
    /// # Errors
    /// `Unsupported` after the first entries, and by tables of which all columns are compressed
    /// alike; for a number that no column has.
    fn set_compression(&mut self, _column: Option<usize>, _compression: Compression) -> Result<()> {
        Err(Error::unsupported("another compression of a table that has been made"))
    }

    /// Takes entries: an array a column, in the columns' order and of equal length. They are held
    /// until they are encoded.
    ///
    /// # Errors
    /// `Unsupported` for arrays of other types or lengths; nothing is then taken.
    fn extend(&mut self, columns: Vec<Arc<Array>>) -> Result<()>;

    /// Adds columns, with values for all entries so far: an array a column, as in
    /// [`TableWriter::extend`], which from then on takes arrays of these, too.
    ///
    /// # Errors
    /// `Unsupported` by tables whose columns are all known from the beginning, for names that are
    /// there, and for arrays of other lengths; nothing is then taken.
    fn add_columns(&mut self, _columns: Vec<TableColumn>, _arrays: Vec<Arc<Array>>) -> Result<()> {
        Err(Error::unsupported("new columns of a table that has been made"))
    }

    /// Ends a cluster behind the first `entries` entries, which are more than the table has so far.
    /// Tables that cannot do this ignore it.
    fn end_cluster(&mut self, _entries: u64) {}

    /// There are no further entries.
    fn close(&mut self);

    /// The next work; `None` where entries or results of earlier work are lacking.
    fn poll_work(&mut self) -> Option<Work>;

    /// Whether it will have work once results of earlier work are there, without further entries.
    fn waits(&self) -> bool {
        true
    }

    /// Takes the result of the oldest work that is out, and gives the bytes that go to the place:
    /// records with their keys, one after the other; none of results that are not stored.
    ///
    /// # Errors
    /// `Limit` where the format cannot hold as much.
    fn place(&mut self, encoded: Encoded, place: RecordPlace) -> Result<Vec<Bytes>>;

    /// The names of the attribute sets that are linked to it; `None` of a table that cannot have
    /// any.
    fn attribute_sets(&self) -> Option<Vec<&str>> {
        None
    }

    /// Links a further attribute set, which has been written, before the last records.
    fn link(&mut self, _set: LinkedSet) {}

    /// The last records, after all work has been placed.
    ///
    /// # Errors
    /// As [`TableWriter::place`].
    fn finish(&mut self, place: RecordPlace, encoders: &mut Encoders) -> Result<Finished>;

    /// Whether the placed parts of all columns end behind the same entry.
    fn is_even(&self) -> bool {
        true
    }

    /// The last records of the table as if its placed parts were all: they follow from these alone.
    /// The table goes on, and [`TableWriter::finish`] gives others in their stead. `None` of a
    /// table that has none before its end.
    ///
    /// # Errors
    /// As [`TableWriter::place`].
    fn interim(
        &mut self,
        _place: RecordPlace,
        _encoders: &mut Encoders,
    ) -> Result<Option<Finished>> {
        Ok(None)
    }

    /// Whether it is as the file has it: nothing is then written.
    fn is_unchanged(&self) -> bool {
        false
    }

    /// Entries that it has taken.
    fn entries(&self) -> u64;

    /// Bytes that it holds: of entries that it has given out no work for, and of results that have
    /// come to their place in the order, but not yet into the file.
    fn held_bytes(&self) -> usize;
}
