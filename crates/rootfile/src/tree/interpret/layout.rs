//! The type of an entry, and how entries lie in a basket.

use super::Reduced;
use crate::array::{Array, Number, Numbers};

/// How one entry lies in a basket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Always the same number of bytes: no offsets are needed.
    Fixed,
    /// As many items as fit between `header` bytes and the end of the entry: the column is a list
    /// of what [`Layout`] says. A `counted` header ends with the number of items.
    Items { header: usize, counted: bool },
    /// `header` bytes to skip, then one value that knows its own length.
    Framed { header: usize },
}

/// Type of a value that is stored in one go.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// Numbers of a fixed shape; empty for just one.
    Scalars { scalar: Scalar, shape: Vec<usize> },
    /// A count of four bytes, then the items (`std::vector` within something else).
    List(Box<Layout>),
    /// A length of one byte, or 255 and a length of four, then the text.
    Text,
    /// Members one after the other.
    Record(Record),
}

/// Members of an object or of a leaf list.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The class; `None` for leaf lists.
    pub class: Option<String>,
    /// The class's version where objects start with byte count and version; `None` where there is
    /// no such header.
    pub version: Option<i32>,
    pub parts: Vec<Part>,
}

/// A piece of a [`Record`].
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Member(String, Layout),
    /// Its members become members of the record.
    Base(Record),
    /// `TObject`: version, unique id and bits, which are skipped.
    TObject,
}

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    Number(Number),
    /// The bits of a TObject: a `uint32_t`, which a process id follows where the object is
    /// referenced.
    Bits,
    /// Stored as `float`, meant as `double` (`Double32_t` without a range).
    Widened,
    Reduced(Reduced),
}

impl Number {
    /// In uproot's spelling.
    pub fn typename(self) -> &'static str {
        match self {
            Number::Bool => "bool",
            Number::I8 => "int8_t",
            Number::I16 => "int16_t",
            Number::I32 => "int32_t",
            Number::I64 => "int64_t",
            Number::U8 => "uint8_t",
            Number::U16 => "uint16_t",
            Number::U32 => "uint32_t",
            Number::U64 => "uint64_t",
            Number::F32 => "float",
            Number::F64 => "double",
        }
    }
}

impl Scalar {
    /// Bytes in the file.
    pub fn size(self) -> usize {
        match self {
            Scalar::Number(number) => number.size(),
            Scalar::Widened | Scalar::Bits => 4,
            Scalar::Reduced(reduced) => reduced.size(),
        }
    }

    /// In uproot's spelling, which calls a `Double32_t` without a range by what is stored.
    pub fn typename(self) -> &'static str {
        match self {
            Scalar::Number(number) => number.typename(),
            Scalar::Bits => Number::U32.typename(),
            Scalar::Widened => "float",
            Scalar::Reduced(reduced) => reduced.typename(),
        }
    }

    fn empty(self) -> Numbers {
        match self {
            Scalar::Number(number) => number.empty(),
            Scalar::Bits => Numbers::U32(Vec::new()),
            Scalar::Widened => Numbers::F64(Vec::new()),
            Scalar::Reduced(reduced) if reduced.is_double() => Numbers::F64(Vec::new()),
            Scalar::Reduced(_) => Numbers::F32(Vec::new()),
        }
    }
}

impl Layout {
    pub(crate) fn number(number: Number) -> Layout {
        Layout::Scalars { scalar: Scalar::Number(number), shape: Vec::new() }
    }

    /// Bytes in the file where they are always the same, headers of objects included.
    pub(crate) fn fixed_size(&self) -> Option<usize> {
        match self {
            Layout::Scalars { scalar, shape } => {
                shape.iter().try_fold(scalar.size(), |bytes, len| bytes.checked_mul(*len))
            }
            Layout::List(_) | Layout::Text => None,
            Layout::Record(record) => record.fixed_size(),
        }
    }

    /// An array without entries of this type.
    pub(crate) fn empty(&self) -> Array {
        match self {
            Layout::Scalars { scalar, shape } => {
                Array::Numbers { numbers: scalar.empty(), shape: shape.clone() }
            }
            Layout::List(item) => Array::List { offsets: vec![0], content: Box::new(item.empty()) },
            Layout::Text => Array::Strings { offsets: vec![0], bytes: Vec::new() },
            Layout::Record(record) => {
                let mut fields = Vec::new();
                record.empty_fields(&mut fields);
                let class = record.class.as_ref().map(|name| super::cpp::spelled(name).into());
                Array::Record { class, entries: 0, fields }
            }
        }
    }
}

impl Record {
    /// Only leaf lists: an object's TObject and foreign versions make its length vary.
    fn fixed_size(&self) -> Option<usize> {
        if self.version.is_some() {
            return None;
        }
        self.parts.iter().try_fold(0usize, |sum, part| match part {
            Part::Member(_, layout) => sum.checked_add(layout.fixed_size()?),
            Part::Base(_) | Part::TObject => None,
        })
    }

    fn empty_fields(&self, fields: &mut Vec<(String, Array)>) {
        for part in &self.parts {
            match part {
                Part::Member(name, layout) => fields.push((name.clone(), layout.empty())),
                Part::Base(base) => base.empty_fields(fields),
                Part::TObject => {}
            }
        }
    }
}
