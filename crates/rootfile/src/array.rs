//! What decoding gives: columns as plain buffers, ready for NumPy, Awkward and Arrow.
//!
//! An [`Array`] mirrors Awkward's and Arrow's layouts so that no front needs to copy: numbers are
//! in host order, offsets are 64-bit, start at zero and have one element more than there are
//! entries. (Source: Awkward Array's `ListOffsetArray`, Arrow's `LargeList`.)

/// One column, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// `numbers.len() == entries * shape.product()`; `shape` is the fixed inner shape, empty for
    /// one number an entry.
    Numbers { numbers: Numbers, shape: Vec<usize> },
    /// Entry `i` is `content[offsets[i]..offsets[i + 1]]`.
    List { offsets: Vec<i64>, content: Box<Array> },
    /// Entry `i` is `bytes[offsets[i]..offsets[i + 1]]`, in whatever encoding was written.
    Strings { offsets: Vec<i64>, bytes: Vec<u8> },
    /// Fields of equal length.
    Record { entries: usize, fields: Vec<(String, Array)> },
}

/// Numbers of one type, in host byte order.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// One byte each, zero or one.
    Bool(Vec<u8>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}
