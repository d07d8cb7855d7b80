//! Attribute sets of an RNTuple: RNTuples of their own, each of whose entries is about a range of
//! entries of it.

use std::ops::Range;

use rootfile::ntuple;
use rootfile::{Array, Numbers};

use super::RNTuple;
use crate::located::Located;
use crate::read::core::names::no_such;
use remote::{Error, ErrorKind, Result};

/// The known version of the meaning of the fields.
const SCHEMA_MAJOR: u16 = 1;

/// An attribute set, open. Cheap to clone.
#[derive(Clone)]
pub struct AttributeSet {
    ntuple: RNTuple,
    schema_version: [u16; 2],
}

impl RNTuple {
    /// The attribute sets that are linked to it, in the order of the file.
    pub fn attribute_sets(&self) -> &[ntuple::AttributeSet] {
        &self.metadata().attribute_sets
    }

    /// Opens the attribute set of that name. Its path is that of the RNTuple, a slash, and its
    /// name.
    ///
    /// # Errors
    /// `NotInFile` where there is none; `Unsupported` where it is in no file; as
    /// [`File::ntuple`](crate::File::ntuple).
    pub async fn attribute_set(&self, name: &str) -> Result<AttributeSet> {
        let all = self.attribute_sets();
        let Some(set) = all.iter().find(|set| set.name == name) else {
            let names = all.iter().map(|set| (&*set.name, &*set.name));
            return Err(no_such("attribute set", names, name).with_url(self.file().url()));
        };
        set.is_here().located(self.file().url())?;
        let path = format!("{}/{name}", self.inner.place.asked);
        let ntuple = self.file().ntuple(&path).await?;
        Ok(AttributeSet { ntuple, schema_version: set.schema_version })
    }
}

impl AttributeSet {
    /// All of it: the fields `_rangeStart`, `_rangeLen` and, in `_userData`, those that the writer
    /// has filled.
    pub fn ntuple(&self) -> &RNTuple {
        &self.ntuple
    }

    /// Major and minor version of the meaning of its fields.
    pub fn schema_version(&self) -> [u16; 2] {
        self.schema_version
    }

    /// The entries of the main RNTuple that each of its entries is about, which may be none.
    ///
    /// # Errors
    /// `Unsupported` for another version of the schema than 1.x; `Corrupt` where it is not as that
    /// says; those of reading.
    pub async fn ranges(&self) -> Result<Vec<Range<u64>>> {
        let [major, minor] = self.schema_version;
        if major != SCHEMA_MAJOR {
            let message = format!("ranges of an attribute set of schema version {major}.{minor}");
            return Err(self.error(ErrorKind::Unsupported, &message));
        }
        let names = ["_rangeStart", "_rangeLen"];
        if names.iter().any(|name| self.ntuple.find(name).is_none()) {
            return Err(self.error(ErrorKind::Corrupt, "an attribute set without ranges"));
        }
        let columns = self.ntuple.columns(&names.map(String::from))?;
        let read = self.ntuple.read(columns, 0..u64::MAX).await?;
        let numbers = |at: usize| match read.columns.get(at) {
            Some((_, Array::Numbers { numbers: Numbers::U64(numbers), shape })) => {
                shape.is_empty().then_some(numbers)
            }
            _ => None,
        };
        let (Some(starts), Some(lengths)) = (numbers(0), numbers(1)) else {
            let message = "ranges that are no unsigned numbers of 64 bits";
            return Err(self.error(ErrorKind::Corrupt, message));
        };
        let range = |(start, length): (&u64, &u64)| {
            let end = start.checked_add(*length).filter(|end| *end <= i64::MAX as u64);
            let message = || format!("{length} entries from {start} on");
            end.map(|end| *start..end).ok_or_else(|| self.error(ErrorKind::Corrupt, &message()))
        };
        starts.iter().zip(lengths.iter()).map(range).collect()
    }

    fn error(&self, kind: ErrorKind, message: &str) -> Error {
        let text = format!("{}: {message}", self.ntuple.path());
        Error::new(kind, text).with_url(self.ntuple.file().url())
    }
}
