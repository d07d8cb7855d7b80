//! Arrays as the types that a caller knows.

use super::{Array, Numbers};

/// The types of numbers that an array has as they are in memory: integers and reals. (Truth values
/// are bytes there: see [`Array::as_bool`].)
pub trait Primitive: Copy + 'static + sealed::Sealed {
    #[doc(hidden)]
    fn of(numbers: &Numbers) -> Option<&[Self]>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! primitive {
    ($($kind:ident $type:ty),*) => {$(
        impl sealed::Sealed for $type {}

        impl Primitive for $type {
            fn of(numbers: &Numbers) -> Option<&[Self]> {
                match numbers {
                    Numbers::$kind(values) => Some(values),
                    _ => None,
                }
            }
        }
    )*};
}

primitive!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64);

/// A column of lists: where each begins and ends in the content of all.
#[derive(Debug, Clone, Copy)]
pub struct Lists<'a> {
    offsets: &'a [i64],
    content: &'a Array,
}

impl Array {
    /// The numbers of all entries, one entry behind the other; `None` where the column is not of
    /// numbers, or of another type. Of fixed inner shape an entry has several, in C's order.
    pub fn as_primitive<T: Primitive>(&self) -> Option<&[T]> {
        match self.without_parameter() {
            Array::Numbers { numbers, .. } => T::of(numbers),
            _ => None,
        }
    }

    /// The truth values of all entries; `None` where the column is of another type.
    pub fn as_bool(&self) -> Option<impl ExactSizeIterator<Item = bool> + '_> {
        match self.without_parameter() {
            Array::Numbers { numbers: Numbers::Bool(bytes), .. } => {
                Some(bytes.iter().map(|byte| *byte != 0))
            }
            _ => None,
        }
    }

    /// The lists of a column of lists; `None` where it is none.
    pub fn as_list(&self) -> Option<Lists<'_>> {
        match self.without_parameter() {
            Array::List { offsets, content } => Some(Lists { offsets, content }),
            _ => None,
        }
    }

    /// The bytes of each string, in whatever encoding was written; `None` where the column is not
    /// of strings.
    pub fn as_strings(&self) -> Option<impl ExactSizeIterator<Item = &[u8]>> {
        match self.without_parameter() {
            Array::Strings { offsets, bytes } => {
                Some(offsets.windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize]))
            }
            _ => None,
        }
    }

    /// A field of a column of records; `None` where there is none of that name.
    pub fn field(&self, name: &str) -> Option<&Array> {
        match self.without_parameter() {
            Array::Record { fields, .. } => {
                fields.iter().find(|(field, _)| field == name).map(|(_, array)| array)
            }
            _ => None,
        }
    }

    fn without_parameter(&self) -> &Array {
        match self {
            Array::WithParameter { content, .. } => content.without_parameter(),
            array => array,
        }
    }
}

impl<'a> Lists<'a> {
    /// How many lists, one an entry.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// List `i` is `content[offsets[i]..offsets[i + 1]]`; one more than there are lists.
    pub fn offsets(&self) -> &'a [i64] {
        self.offsets
    }

    /// The items of all lists.
    pub fn content(&self) -> &'a Array {
        self.content
    }

    /// The lists as slices of numbers; `None` where items are not single numbers of that type.
    pub fn slices<T: Primitive>(
        &self,
    ) -> Option<impl ExactSizeIterator<Item = &'a [T]> + use<'a, T>> {
        let items = self.content.as_primitive::<T>()?;
        // Of fixed inner shape an item is several numbers.
        if items.len() != self.content.len() {
            return None;
        }
        Some(self.offsets.windows(2).map(move |ends| &items[ends[0] as usize..ends[1] as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ArrayParameter;
    use super::*;

    fn numbers(numbers: Numbers, shape: &[usize]) -> Array {
        Array::Numbers { numbers, shape: shape.to_vec() }
    }

    #[test]
    fn an_array_is_only_what_it_is() {
        let reals = numbers(Numbers::F32(vec![1.5, 2.5]), &[]);
        assert_eq!(reals.as_primitive::<f32>(), Some(&[1.5, 2.5][..]));
        assert_eq!(reals.as_primitive::<f64>(), None);
        assert!(reals.as_list().is_none() && reals.as_bool().is_none());
        assert!(reals.as_strings().is_none() && reals.field("x").is_none());
        let truth = numbers(Numbers::Bool(vec![0, 1]), &[]);
        assert_eq!(truth.as_bool().map(Iterator::collect::<Vec<_>>), Some(vec![false, true]));
        assert_eq!(truth.as_primitive::<u8>(), None);
        let text = Array::Strings { offsets: vec![0, 1, 3], bytes: b"abc".into() };
        assert!(text.as_strings().unwrap().eq([&b"a"[..], b"bc"]));
        let fields = vec![("x".to_owned(), reals)];
        let record = Array::Record { class: None, entries: 2, fields };
        assert!(record.field("x").is_some() && record.field("y").is_none());
    }

    #[test]
    fn lists_are_slices_of_their_numbers() {
        let content = Box::new(numbers(Numbers::I32(vec![1, 2, 3]), &[]));
        let list = Array::List { offsets: vec![0, 2, 2, 3].into(), content };
        let set = list.clone().with_parameter(ArrayParameter::Set);
        let lists = set.as_list().unwrap();
        assert_eq!((lists.len(), lists.is_empty(), lists.content().len()), (3, false, 3));
        assert!(lists.slices::<i32>().unwrap().eq([&[1, 2][..], &[], &[3]]));
        assert!(lists.slices::<u32>().is_none());
        let content = Box::new(numbers(Numbers::I32(vec![1, 2, 3, 4]), &[2]));
        let pairs = Array::List { offsets: vec![0, 2].into(), content };
        assert!(pairs.as_list().unwrap().slices::<i32>().is_none());
    }
}
