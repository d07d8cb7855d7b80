//! A class's streamer info compiled into what reading an object has to do.

use std::sync::Arc;

use super::collection::{Collection, Item};
use super::{ClassId, Element, StreamerInfo};
use crate::array::Number;
use crate::types::scalar::Scalar;
use crate::types::{code, cpp};

/// How one version of a class is read: its members in the order in which they are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    pub class: Arc<str>,
    pub version: i32,
    pub members: Vec<Member>,
}

/// One base class or member.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub name: Arc<str>,
    pub kind: Kind,
}

/// What is written for a member.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Its class, and the version that is meant where it does not say.
    Base(ClassId, i32),
    Number(Scalar),
    Numbers(Scalar, Count),
    /// ROOT: `TString`.
    Text,
    Texts(usize),
    /// As many strings as another member says or has, without a header.
    CountedTexts(Count),
    /// ROOT: `char*`.
    CharStar,
    Object(ClassId),
    Objects(ClassId, usize),
    Pointer,
    Pointers(usize),
    Collection(Collection),
    /// Several collections in a row.
    Collections(Collection, usize),
    /// The same where each is written as a class's object, which gives collections no header.
    BareCollections(Collection, usize),
    /// Several arrays of numbers, all of one length: pointers in a fixed array.
    Times(Scalar, usize, Count),
    /// Objects, or pointers to them, that another member counts.
    Loop {
        class: ClassId,
        pointers: bool,
        count: Count,
    },
    /// Offsets of a branch's baskets in versions of `TBranch` up to 9.
    BasketSeeks(Count),
    /// What a special class's streamer gives, which is written by hand.
    Special,
    /// Why it can't be read.
    Unsupported(String),
}

/// How many numbers an array has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Count {
    Fixed(usize),
    /// As another member says, at this position of the same object, or in one of its bases.
    Member(Arc<str>, Option<usize>),
    /// As the four bytes in front say.
    Prefixed,
    /// The same, and no numbers where the object ends before these bytes.
    PrefixedIfThere,
    /// As many as these together make, with nothing in front of them.
    Product(Vec<Count>),
}

impl Layout {
    /// A layout that only names what a streamer written by hand gives.
    pub(crate) fn of_names(class: Arc<str>, names: &[&str]) -> Layout {
        let member = |name: &&str| Member { name: Arc::from(*name), kind: Kind::Special };
        Layout { class, version: 0, members: names.iter().map(member).collect() }
    }

    /// A `std::pair` of numbers.
    pub(super) fn of_pair(class: Arc<str>, [first, second]: [Number; 2]) -> Layout {
        let member = |name: &str, number| Member {
            name: name.into(),
            kind: Kind::Number(Scalar::Number(number)),
        };
        Layout {
            class,
            version: 0,
            members: vec![member("first", first), member("second", second)],
        }
    }

    pub(crate) fn compile(info: &StreamerInfo, mut class: impl FnMut(&str) -> ClassId) -> Layout {
        let mut members: Vec<Member> = Vec::with_capacity(info.elements.len());
        for element in &info.elements {
            if element.type_code == code::ARTIFICIAL || element.class == "TStreamerArtificial" {
                continue;
            }
            let kind = kind_of(element, &members, &mut class);
            members.push(Member { name: element.name.as_str().into(), kind });
        }
        Layout { class: info.class.as_str().into(), version: info.version, members }
    }

    /// The base classes, in their order.
    pub fn bases(&self) -> impl Iterator<Item = ClassId> {
        self.members.iter().filter_map(|member| match member.kind {
            Kind::Base(class, _) => Some(class),
            _ => None,
        })
    }
}

fn kind_of(element: &Element, before: &[Member], class: &mut impl FnMut(&str) -> ClassId) -> Kind {
    if matches!(element.class.as_str(), "TStreamerSTL" | "TStreamerSTLstring") {
        // A pointer to a collection is written as one in place.
        return match Collection::parse(element.type_name.trim_end_matches('*'), class) {
            Ok(collection) => match element.array_len as usize {
                0 => Kind::Collection(enumerated(collection, element)),
                count => Kind::Collections(collection, count),
            },
            Err(why) => Kind::Unsupported(why),
        };
    }
    let array = element.array_len as usize;
    let object_name = element.type_name.trim_end_matches('*').trim_end();
    match element.type_code {
        code::BASE | code::TOBJECT | code::TNAMED => {
            Kind::Base(class(&element.name), element.base_version)
        }
        code::OBJECT | code::ANY | code::OBJECT_HELD | code::ANY_HELD => {
            Kind::Object(class(object_name))
        }
        code::OBJECT_POINTER | code::ANY_POINTER | code::ANY_POINTER_NO_VIRTUAL => match array {
            0 => Kind::Pointer,
            several => Kind::Pointers(several),
        },
        code::STRING => Kind::Text,
        code::CHAR_STAR => Kind::CharStar,
        code::STREAM_LOOP if array == 0 => Kind::Loop {
            class: class(object_name),
            pointers: element.type_name.ends_with("**"),
            count: counter(element, before),
        },
        code::BASKET_SEEKS => Kind::BasketSeeks(counter(element, before)),
        number @ 1..code::ARRAY => basic_kind(number, None, element),
        number @ code::ARRAY..code::COUNTED => {
            basic_kind(number - code::ARRAY, Some(Count::Fixed(array)), element)
        }
        number @ code::COUNTED..code::OBJECT => {
            let count = counter(element, before);
            match basic_kind(number - code::COUNTED, Some(count), element) {
                Kind::Numbers(one, count) if array > 0 => Kind::Times(one, array, count),
                numbers => numbers,
            }
        }
        number @ code::PREFIXED..=-1 => {
            let count =
                if element.count_name == "?" { Count::PrefixedIfThere } else { Count::Prefixed };
            basic_kind(number - code::PREFIXED, Some(count), element)
        }
        code::BARE_STRINGS => Kind::CountedTexts(product(element, before)),
        number @ code::BARE..code::BASKET_SEEKS => {
            basic_kind(number - code::BARE, Some(product(element, before)), element)
        }
        number => match number.saturating_sub(code::ARRAY) {
            code::ANY if cpp::is_collection(object_name) => {
                match Collection::parse(object_name, class) {
                    Ok(collection) => Kind::BareCollections(collection, array),
                    Err(why) => Kind::Unsupported(why),
                }
            }
            code::OBJECT | code::ANY | code::OBJECT_HELD | code::ANY_HELD => {
                Kind::Objects(class(object_name), array)
            }
            code::OBJECT_POINTER | code::ANY_POINTER | code::ANY_POINTER_NO_VIRTUAL => {
                Kind::Pointers(array)
            }
            code::STRING => Kind::Texts(array),
            _ => unsupported(element, "element"),
        },
    }
}

/// A collection of an enumeration's values: it has a name like a class, and the element has a
/// number's code. ROOT writes four bytes each, whatever the enumeration has in memory.
fn enumerated(collection: Collection, element: &Element) -> Collection {
    match (&collection, element.item_code) {
        (Collection::Sequence(item), 1..code::ARRAY) if matches!(**item, Item::Object(_)) => {
            Collection::Sequence(Box::new(Item::Number(Number::I32)))
        }
        _ => collection,
    }
}

fn unsupported(element: &Element, what: &str) -> Kind {
    let (name, type_name, code) = (&element.name, &element.type_name, element.type_code);
    Kind::Unsupported(format!("{what} {name} of type {type_name} (code {code})"))
}

fn counter(element: &Element, before: &[Member]) -> Count {
    counted_by(&element.count_name, before)
}

fn counted_by(name: &str, before: &[Member]) -> Count {
    let position = before.iter().position(|member| *member.name == *name);
    Count::Member(name.into(), position)
}

/// `3*fN` of the builtin table.
fn product(element: &Element, before: &[Member]) -> Count {
    let factor = |text: &str| match text.parse() {
        Ok(number) => Count::Fixed(number),
        Err(_) => counted_by(text, before),
    };
    Count::Product(element.count_name.split('*').map(factor).collect())
}

/// One number of a basic type, or several.
fn basic_kind(type_code: i32, count: Option<Count>, element: &Element) -> Kind {
    match (Scalar::of_code(type_code, &element.type_name, &element.title), count) {
        (Ok(Some(scalar)), Some(count)) => Kind::Numbers(scalar, count),
        (Ok(Some(scalar)), None) => Kind::Number(scalar),
        (Ok(None), _) => unsupported(element, "element"),
        (Err(_), _) => unsupported(element, "packed number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(element: Element) -> Kind {
        let info =
            StreamerInfo { class: "A".into(), version: 1, checksum: 1, elements: vec![element] };
        let layout = Layout::compile(&info, |_| {
            crate::streamer::Streamers::default().id("TObject").unwrap()
        });
        layout.members.into_iter().next().map(|member| member.kind).unwrap()
    }

    fn number(number: Number) -> Kind {
        Kind::Number(Scalar::Number(number))
    }

    fn coded(type_code: i32) -> Kind {
        kind(Element { type_code, array_len: 3, ..Element::default() })
    }

    #[test]
    fn type_codes() {
        assert_eq!(coded(code::INT), number(Number::I32));
        assert_eq!(
            coded(code::INT + code::ARRAY),
            Kind::Numbers(Scalar::Number(Number::I32), Count::Fixed(3))
        );
        let counted = coded(code::INT + code::COUNTED);
        let Kind::Times(one, 3, Count::Member(..)) = counted else { panic!("{counted:?}") };
        assert_eq!(one, Scalar::Number(Number::I32));
        assert_eq!(coded(code::STRING + code::ARRAY), Kind::Texts(3));
        assert_eq!(coded(code::OBJECT_POINTER + code::ARRAY), Kind::Pointers(3));
    }

    #[test]
    fn bool_is_recognised_by_its_name_where_the_code_is_of_bytes() {
        let type_name = "bool".to_owned();
        let element = Element { type_code: code::UCHAR, type_name, ..Element::default() };
        assert_eq!(kind(element), number(Number::Bool));
    }

    /// The lowest code of all, found by chance in a corrupted file, once overflowed.
    #[test]
    fn codes_that_nobody_knows_are_unsupported() {
        for type_code in [i32::MIN, i32::MAX, -101, -150, -201, 60, 400, 365, 99_999] {
            assert!(matches!(coded(type_code), Kind::Unsupported(_)), "{type_code}");
        }
    }
}
