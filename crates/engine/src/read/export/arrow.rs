//! Columns as Arrow's arrays.
//!
//! Numbers, offsets and texts keep the memory that they were decoded into. Bits and values that may
//! be missing are laid out differently in Arrow: copies. Only values that may be missing are
//! nullable.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{
    Array as _, ArrayRef, BooleanArray, FixedSizeListArray, Int64Array, LargeListArray,
    LargeStringArray, NullArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    RecordBatchReader, StructArray, UnionArray, types,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, UnionFields};
use bytes::Bytes;
use rootfile::array::{ArrayParameter, Offsets};
use rootfile::{Array, Numbers};

use crate::Engine;
use crate::read::core::batches::Batches;
use crate::read::core::columns::Batch;
use crate::read::core::cut::Cut;
use crate::read::core::steps::Step;
use crate::read::core::table::Columns;
use remote::{Error, ErrorKind, Result};

/// The bytes of a text that a message shows.
const SHOWN_BYTES: usize = 40;

/// Record batches as they come: with `arrow_array::ffi_stream::FFI_ArrowArrayStream`, the C stream
/// interface, by which other libraries and languages take them over without copying.
pub struct ArrowReader {
    engine: Engine,
    schema: SchemaRef,
    /// The batch that has decided which columns there are, until it is taken.
    first: Option<RecordBatch>,
    batches: Batches,
}

impl ArrowReader {
    /// Starts reading columns in steps, of those entries only that survive a cut, if there is one,
    /// and waits for the first batch.
    ///
    /// # Errors
    /// As [`Columns::start`], and those of the first batch; `Unsupported` for a column that Arrow
    /// has no type for.
    ///
    /// # Panics
    /// As [`Engine::block_on`], also of the reader.
    pub fn start(
        engine: &Engine,
        columns: &dyn Columns,
        entries: Range<u64>,
        step: Step,
        cut: Option<&Cut>,
    ) -> Result<ArrowReader> {
        engine.block_on(async {
            let mut batches = columns.batches(entries, step, cut).await?;
            let first = match batches.next().await {
                Some(batch) => Some(batch?.into_arrow()?),
                None => None,
            };
            let schema = match &first {
                Some(first) => first.schema(),
                None => columns.arrow_schema()?,
            };
            Ok(ArrowReader { engine: engine.clone(), schema, first, batches })
        })
    }
}

impl Iterator for ArrowReader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let batch = self.engine.block_on(self.batches.next())?;
        let record = batch.and_then(|batch| batch.into_arrow_as(&self.schema));
        Some(record.map_err(|error| ArrowError::ExternalError(Box::new(error))))
    }
}

impl RecordBatchReader for ArrowReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl dyn Columns {
    /// The types of the columns in Arrow: of all, also of those that a read may leave out.
    ///
    /// # Errors
    /// `Unsupported` for a column that Arrow has no type for.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        Ok(record_batch(self.empty(), Some(0))?.schema())
    }
}

impl Batch {
    /// The columns as a record batch; the same types in each batch of a read.
    ///
    /// # Errors
    /// `Unsupported` for a column that Arrow cannot hold, naming it.
    pub fn into_arrow(self) -> Result<RecordBatch> {
        let rows = usize::try_from(self.len()).ok();
        record_batch(self.columns, rows)
    }

    /// As [`Batch::into_arrow`], with the types of the batches before.
    ///
    /// # Errors
    /// As there; `Unsupported` for objects of other classes than before: a container may hold any,
    /// and streams and files have one type for a column.
    pub fn into_arrow_as(self, schema: &SchemaRef) -> Result<RecordBatch> {
        let record = self.into_arrow()?;
        let found = record.schema();
        let mut pairs = schema.fields().iter().zip(found.fields());
        let Some((_, field)) = pairs.find(|(known, found)| known != found) else {
            return Ok(record);
        };
        let message = format!(
            "{} holds objects of other classes than before: a column of Arrow or Parquet has one type",
            field.name()
        );
        Err(Error::new(ErrorKind::Unsupported, message).with_advice(
            "read larger batches, so that the first has every class, or leave out the column",
        ))
    }
}

/// Columns as a record batch of so many entries.
///
/// # Errors
/// As [`Batch::into_arrow`].
pub(crate) fn record_batch(
    columns: Vec<(String, Array)>,
    rows: Option<usize>,
) -> Result<RecordBatch> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (name, array) in columns {
        let nullable = is_nullable(&array);
        let array = arrow(array).map_err(|error| of_column(&name, &error))?;
        fields.push(Field::new(name, array.data_type().clone(), nullable));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(rows);
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| Error::new(ErrorKind::Unsupported, error.to_string()))
}

fn of_column(name: &str, error: &ArrowError) -> Error {
    let message = format!("{name} as an array of Arrow: {error}");
    Error::new(ErrorKind::Unsupported, message).with_advice("the other columns can be read")
}

/// An array as Arrow's, with the types of Python's `library="arrow"`.
fn arrow(array: Array) -> std::result::Result<ArrayRef, ArrowError> {
    Ok(match array.simplified() {
        Array::Numbers { numbers, shape } => shaped(arrow_numbers(numbers), &shape)?,
        Array::List { offsets, content } => {
            let field = item(&content);
            let content = arrow(*content)?;
            let field = field(content.data_type());
            Arc::new(LargeListArray::try_new(field, ends(offsets), content, None)?)
        }
        Array::Strings { offsets, bytes } => texts(offsets, bytes)?,
        Array::Record { entries, fields, .. } => record(entries, fields)?,
        Array::Regular { length, entries, content } => {
            let field = item(&content);
            let content = arrow(*content)?;
            let field = field(content.data_type());
            fixed(field, length, entries, content)?
        }
        Array::Option { index, content } => {
            let there: NullBuffer = index.iter().map(|at| *at >= 0).collect();
            let index = Int64Array::try_new(index.into(), Some(there))?;
            arrow_select::take::take(&arrow(*content)?, &index, None)?
        }
        Array::Union { tags, index, contents } => union(&tags, &index, contents)?,
        Array::WithParameter { content, .. } => arrow(*content)?,
    })
}

/// Whether an entry may be missing.
fn is_nullable(array: &Array) -> bool {
    match array {
        Array::Option { .. } | Array::Union { .. } => true,
        // Whether there are null pointers may differ from batch to batch.
        Array::WithParameter { parameter: ArrayParameter::Objects, .. } => true,
        Array::WithParameter { content, .. } => is_nullable(content),
        _ => false,
    }
}

/// The field of a list's items, once their type is known.
fn item(content: &Array) -> impl FnOnce(&DataType) -> FieldRef + use<> {
    let nullable = is_nullable(content);
    move |kind| Arc::new(Field::new("item", kind.clone(), nullable))
}

/// Offsets in the memory where they are, also those that columns share.
fn ends(offsets: Offsets) -> OffsetBuffer<i64> {
    struct Shared(Arc<Vec<i64>>);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            self.0.to_byte_slice()
        }
    }
    OffsetBuffer::new(match offsets.shared().cloned() {
        Some(shared) => {
            let count = shared.len();
            ScalarBuffer::new(Bytes::from_owner(Shared(shared)).into(), 0, count)
        }
        None => ScalarBuffer::from(offsets.into_vec()),
    })
}

fn arrow_numbers(numbers: Numbers) -> ArrayRef {
    fn of<T: ArrowPrimitiveType>(all: Vec<T::Native>) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(all), None))
    }
    match numbers {
        Numbers::Bool(all) => {
            let mut bits = BooleanBufferBuilder::new(all.len());
            all.iter().for_each(|bit| bits.append(*bit != 0));
            Arc::new(BooleanArray::new(bits.finish(), None))
        }
        Numbers::I8(all) => of::<types::Int8Type>(all),
        Numbers::I16(all) => of::<types::Int16Type>(all),
        Numbers::I32(all) => of::<types::Int32Type>(all),
        Numbers::I64(all) => of::<types::Int64Type>(all),
        Numbers::U8(all) => of::<types::UInt8Type>(all),
        Numbers::U16(all) => of::<types::UInt16Type>(all),
        Numbers::U32(all) => of::<types::UInt32Type>(all),
        Numbers::U64(all) => of::<types::UInt64Type>(all),
        Numbers::F32(all) => of::<types::Float32Type>(all),
        Numbers::F64(all) => of::<types::Float64Type>(all),
    }
}

/// Inner dimensions are lists of fixed length.
fn shaped(numbers: ArrayRef, shape: &[usize]) -> std::result::Result<ArrayRef, ArrowError> {
    let mut array = numbers;
    for length in shape.iter().rev() {
        let entries = array.len().checked_div(*length).unwrap_or_default();
        let field = Arc::new(Field::new("item", array.data_type().clone(), false));
        array = fixed(field, *length, entries, array)?;
    }
    Ok(array)
}

fn fixed(
    field: FieldRef,
    length: usize,
    entries: usize,
    content: ArrayRef,
) -> std::result::Result<ArrayRef, ArrowError> {
    let length = i32::try_from(length)
        .map_err(|_| ArrowError::InvalidArgumentError(format!("lists of {length} items each")))?;
    let list = FixedSizeListArray::try_new_with_length(field, length, content, None, entries)?;
    Ok(Arc::new(list))
}

/// Texts, which Arrow has in UTF-8 only.
fn texts(offsets: Vec<i64>, bytes: Vec<u8>) -> std::result::Result<ArrayRef, ArrowError> {
    let text = |span: &[i64]| &bytes[span[0] as usize..span[1] as usize];
    let wrong = offsets.windows(2).map(text).find(|text| std::str::from_utf8(text).is_err());
    if let Some(wrong) = wrong {
        let shown = wrong[..wrong.len().min(SHOWN_BYTES)].escape_ascii();
        return Err(ArrowError::InvalidArgumentError(format!("the text \"{shown}\" is not UTF-8")));
    }
    Ok(Arc::new(LargeStringArray::try_new(ends(offsets.into()), Buffer::from(bytes), None)?))
}

fn record(
    entries: usize,
    fields: Vec<(String, Array)>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let mut described = Vec::with_capacity(fields.len());
    let mut arrays = Vec::with_capacity(fields.len());
    for (name, field) in fields {
        let nullable = is_nullable(&field);
        let array = arrow(field)?;
        described.push(Field::new(name, array.data_type().clone(), nullable));
        arrays.push(array);
    }
    let fields = Fields::from(described);
    Ok(Arc::new(StructArray::try_new_with_length(fields, arrays, None, entries)?))
}

/// The first alternative is to have no value.
fn union(
    tags: &[i8],
    index: &[i64],
    contents: Vec<Array>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let too_many = || ArrowError::InvalidArgumentError("a variant of 2^31 entries".into());
    let offsets = tags.iter().zip(index).map(|(tag, at)| match *tag {
        ..0 => Ok(0),
        _ => i32::try_from(*at).map_err(|_| too_many()),
    });
    let offsets = offsets.collect::<std::result::Result<Vec<i32>, _>>()?;
    let mut fields = vec![(0, Arc::new(Field::new("0", DataType::Null, true)))];
    let mut children: Vec<ArrayRef> = vec![Arc::new(NullArray::new(1))];
    for (number, content) in contents.into_iter().enumerate() {
        let nullable = is_nullable(&content);
        let child = arrow(content)?;
        let id = i8::try_from(number + 1).map_err(|_| too_many())?;
        let name = (number + 1).to_string();
        fields.push((id, Arc::new(Field::new(name, child.data_type().clone(), nullable))));
        children.push(child);
    }
    let fields: UnionFields = fields.into_iter().collect();
    let tags = tags.iter().map(|tag| tag + 1).collect::<Vec<i8>>().into();
    Ok(Arc::new(UnionArray::try_new(fields, tags, Some(offsets.into()), children)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    fn floats(values: &[f32]) -> Array {
        Array::Numbers { numbers: Numbers::F32(values.to_vec()), shape: Vec::new() }
    }

    #[test]
    fn numbers_keep_their_memory() {
        let values = vec![1.0, 2.0, 3.0];
        let at = values.as_ptr();
        let list = Array::List {
            offsets: vec![0, 1, 3].into(),
            content: Box::new(Array::Numbers { numbers: Numbers::F64(values), shape: Vec::new() }),
        };
        let list = arrow(list).expect("a list");
        let content = list.as_list::<i64>().values().as_primitive::<types::Float64Type>();
        assert_eq!((content.values().as_ptr(), content.values().len()), (at, 3));
        assert_eq!(list.data_type().to_string(), "LargeList(non-null Float64)");
    }

    #[test]
    fn lists_that_share_offsets_go_on_sharing_them() {
        let shared = Arc::new(vec![0, 1, 3]);
        let lists = [1.0, 2.0].map(|first| {
            let content = Box::new(floats(&[first, 0.5, 0.25]));
            arrow(Array::List { offsets: shared.clone().into(), content }).expect("a list")
        });
        for list in lists {
            let offsets = list.as_list::<i64>().offsets();
            assert_eq!(offsets.as_ptr(), shared.as_ptr());
            assert_eq!(&offsets[..], [0, 1, 3]);
        }
        assert_eq!(Arc::strong_count(&shared), 1, "nothing else holds it any more");
    }

    #[test]
    fn what_may_be_missing_is_nullable_and_nothing_else() {
        let option =
            Array::Option { index: vec![1, -1, 0], content: Box::new(floats(&[1.5, 2.5])) };
        let fields = vec![("x".into(), floats(&[1., 2., 3.])), ("y".into(), option)];
        let record = arrow(Array::Record { class: None, entries: 3, fields }).expect("a record");
        let record = record.as_struct();
        let nullable: Vec<bool> = record.fields().iter().map(|field| field.is_nullable()).collect();
        assert_eq!(nullable, [false, true]);
        let optional = record.column(1).as_primitive::<types::Float32Type>();
        assert_eq!(optional.iter().collect::<Vec<_>>(), [Some(2.5), None, Some(1.5)]);
    }

    #[test]
    fn texts_that_are_no_utf_8_are_an_error() {
        // The middle of a character that two entries share is none in either of them.
        for (bytes, offsets, shown) in
            [(&b"ab\xff"[..], [0, 2, 3], "\\xff"), ("aä".as_bytes(), [0, 2, 3], "a\\xc3")]
        {
            let error = texts(offsets.to_vec(), bytes.to_vec()).expect_err("no texts");
            assert!(error.to_string().contains(&format!("\"{shown}\" is not UTF-8")), "{error}");
        }
        let array = texts(vec![0, 1, 3], "aä".into()).expect("texts");
        assert_eq!(array.as_string::<i64>().iter().flatten().collect::<Vec<_>>(), ["a", "ä"]);
    }

    #[test]
    fn variants_begin_with_having_no_value() {
        let union = Array::Union {
            tags: vec![1, -1, 0, 1],
            index: vec![0, 0, 0, 1],
            contents: vec![floats(&[7.]), floats(&[8., 9.])],
        };
        let union = arrow(union).expect("a union");
        let union = union.as_union();
        assert_eq!(union.type_ids(), &[2, 0, 1, 2]);
        assert_eq!(union.value(3).as_primitive::<types::Float32Type>().value(0), 9.0);
        assert!(union.value(1).logical_nulls().is_some());
    }
}
