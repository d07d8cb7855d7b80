//! A class's streamer info compiled into the steps of reading an object.

use std::sync::Arc;

use super::collection::{Collection, Item};
use super::{ClassId, StreamerElement, StreamerInfo};
use crate::array::Number;
use crate::types::scalar::Scalar;
use crate::types::{code, cpp};

/// How one version of a class is read: its members in the order in which they are written.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassLayout {
    pub class: Arc<str>,
    pub version: i32,
    pub members: Vec<Member>,
}

/// One base class or member.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub name: Arc<str>,
    pub kind: MemberKind,
}

/// Stored forms of a member.
#[derive(Debug, Clone, PartialEq)]
pub enum MemberKind {
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
    /// A value of a special class's streamer, which is written by hand.
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

impl ClassLayout {
    /// A layout that only names the values of a streamer written by hand.
    pub(crate) fn of_names(class: Arc<str>, names: &[&str]) -> ClassLayout {
        let member = |name: &&str| Member { name: Arc::from(*name), kind: MemberKind::Special };
        ClassLayout { class, version: 0, members: names.iter().map(member).collect() }
    }

    /// A `std::pair` of numbers.
    pub(super) fn of_pair(class: Arc<str>, [first, second]: [Number; 2]) -> ClassLayout {
        let member = |name: &str, number| Member {
            name: name.into(),
            kind: MemberKind::Number(Scalar::Number(number)),
        };
        ClassLayout {
            class,
            version: 0,
            members: vec![member("first", first), member("second", second)],
        }
    }

    pub(crate) fn compile(
        info: &StreamerInfo,
        mut class: impl FnMut(&str) -> ClassId,
    ) -> ClassLayout {
        let mut members: Vec<Member> = Vec::with_capacity(info.elements.len());
        for element in &info.elements {
            if element.type_code == code::ARTIFICIAL || element.class == "TStreamerArtificial" {
                continue;
            }
            let kind = kind_of(element, &members, &mut class);
            members.push(Member { name: element.name.as_str().into(), kind });
        }
        ClassLayout { class: info.class.as_str().into(), version: info.version, members }
    }

    /// The base classes, in their order.
    pub fn bases(&self) -> impl Iterator<Item = ClassId> {
        self.members.iter().filter_map(|member| match member.kind {
            MemberKind::Base(class, _) => Some(class),
            _ => None,
        })
    }
}

fn kind_of(
    element: &StreamerElement,
    before: &[Member],
    class: &mut impl FnMut(&str) -> ClassId,
) -> MemberKind {
    if matches!(element.class.as_str(), "TStreamerSTL" | "TStreamerSTLstring") {
        // A pointer to a collection is written as one in place.
        return match Collection::parse(element.type_name.trim_end_matches('*'), class) {
            Ok(collection) => match element.array_len as usize {
                0 => MemberKind::Collection(enumerated(collection, element)),
                count => MemberKind::Collections(collection, count),
            },
            Err(why) => MemberKind::Unsupported(why),
        };
    }
    let array = element.array_len as usize;
    let object_name = element.type_name.trim_end_matches('*').trim_end();
    match element.type_code {
        code::BASE | code::TOBJECT | code::TNAMED => {
            MemberKind::Base(class(&element.name), element.base_version)
        }
        code::OBJECT | code::ANY | code::OBJECT_HELD | code::ANY_HELD => {
            MemberKind::Object(class(object_name))
        }
        code::OBJECT_POINTER | code::ANY_POINTER | code::ANY_POINTER_NO_VIRTUAL => match array {
            0 => MemberKind::Pointer,
            several => MemberKind::Pointers(several),
        },
        code::STRING => MemberKind::Text,
        code::CHAR_STAR => MemberKind::CharStar,
        code::STREAM_LOOP if array == 0 => MemberKind::Loop {
            class: class(object_name),
            pointers: element.type_name.ends_with("**"),
            count: counter(element, before),
        },
        code::BASKET_SEEKS => MemberKind::BasketSeeks(counter(element, before)),
        number @ 1..code::ARRAY => basic_kind(number, None, element),
        number @ code::ARRAY..code::COUNTED => {
            basic_kind(number - code::ARRAY, Some(Count::Fixed(array)), element)
        }
        number @ code::COUNTED..code::OBJECT => {
            let count = counter(element, before);
            match basic_kind(number - code::COUNTED, Some(count), element) {
                MemberKind::Numbers(one, count) if array > 0 => {
                    MemberKind::Times(one, array, count)
                }
                numbers => numbers,
            }
        }
        number @ code::PREFIXED..=-1 => {
            let count =
                if element.count_name == "?" { Count::PrefixedIfThere } else { Count::Prefixed };
            basic_kind(number - code::PREFIXED, Some(count), element)
        }
        code::BARE_STRINGS => MemberKind::CountedTexts(product(element, before)),
        number @ code::BARE..code::BASKET_SEEKS => {
            basic_kind(number - code::BARE, Some(product(element, before)), element)
        }
        number => match number.saturating_sub(code::ARRAY) {
            code::ANY if cpp::is_collection(object_name) => {
                match Collection::parse(object_name, class) {
                    Ok(collection) => MemberKind::BareCollections(collection, array),
                    Err(why) => MemberKind::Unsupported(why),
                }
            }
            code::OBJECT | code::ANY | code::OBJECT_HELD | code::ANY_HELD => {
                MemberKind::Objects(class(object_name), array)
            }
            code::OBJECT_POINTER | code::ANY_POINTER | code::ANY_POINTER_NO_VIRTUAL => {
                MemberKind::Pointers(array)
            }
            code::STRING => MemberKind::Texts(array),
            _ => unsupported(element, "element"),
        },
    }
}

/// A collection of an enumeration's values: it has a name like a class, and the element has a
/// number's code. ROOT writes four bytes each, whatever the enumeration has in memory.
fn enumerated(collection: Collection, element: &StreamerElement) -> Collection {
    match (&collection, element.item_code) {
        (Collection::Sequence(item), 1..code::ARRAY) if matches!(**item, Item::Object(_)) => {
            Collection::Sequence(Box::new(Item::Number(Number::I32)))
        }
        _ => collection,
    }
}

fn unsupported(element: &StreamerElement, kind: &str) -> MemberKind {
    let name = &element.name;
    let type_name = &element.type_name;
    let code = element.type_code;
    MemberKind::Unsupported(format!("{kind} {name} of type {type_name} (code {code})"))
}

fn counter(element: &StreamerElement, before: &[Member]) -> Count {
    counted_by(&element.count_name, before)
}

fn counted_by(name: &str, before: &[Member]) -> Count {
    let position = before.iter().position(|member| *member.name == *name);
    Count::Member(name.into(), position)
}

/// `3*fN` of the builtin table.
fn product(element: &StreamerElement, before: &[Member]) -> Count {
    let factor = |text: &str| match text.parse() {
        Ok(number) => Count::Fixed(number),
        Err(_) => counted_by(text, before),
    };
    Count::Product(element.count_name.split('*').map(factor).collect())
}

/// One number of a basic type, or several.
fn basic_kind(type_code: i32, count: Option<Count>, element: &StreamerElement) -> MemberKind {
    match (Scalar::of_code(type_code, &element.type_name, &element.title), count) {
        (Ok(Some(scalar)), Some(count)) => MemberKind::Numbers(scalar, count),
        (Ok(Some(scalar)), None) => MemberKind::Number(scalar),
        (Ok(None), _) => unsupported(element, "element"),
        (Err(_), _) => unsupported(element, "packed number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(element: StreamerElement) -> MemberKind {
        let info =
            StreamerInfo { class: "A".into(), version: 1, checksum: 1, elements: vec![element] };
        let layout = ClassLayout::compile(&info, |_| {
            crate::streamer::Streamers::default().id("TObject").unwrap()
        });
        layout.members.into_iter().next().map(|member| member.kind).unwrap()
    }

    fn number(number: Number) -> MemberKind {
        MemberKind::Number(Scalar::Number(number))
    }

    fn coded(type_code: i32) -> MemberKind {
        kind(StreamerElement { type_code, array_len: 3, ..StreamerElement::default() })
    }

    #[test]
    fn type_codes() {
        assert_eq!(coded(code::INT), number(Number::I32));
        assert_eq!(
            coded(code::INT + code::ARRAY),
            MemberKind::Numbers(Scalar::Number(Number::I32), Count::Fixed(3))
        );
        let counted = coded(code::INT + code::COUNTED);
        let MemberKind::Times(one, 3, Count::Member(..)) = counted else { panic!("{counted:?}") };
        assert_eq!(one, Scalar::Number(Number::I32));
        assert_eq!(coded(code::STRING + code::ARRAY), MemberKind::Texts(3));
        assert_eq!(coded(code::OBJECT_POINTER + code::ARRAY), MemberKind::Pointers(3));
    }

    #[test]
    fn bool_is_recognised_by_its_name_where_the_code_is_of_bytes() {
        let type_name = "bool".to_owned();
        let element =
            StreamerElement { type_code: code::UCHAR, type_name, ..StreamerElement::default() };
        assert_eq!(kind(element), number(Number::Bool));
    }

    /// The lowest code of all, found by chance in a corrupted file, once overflowed.
    #[test]
    fn codes_that_nobody_knows_are_unsupported() {
        for type_code in [i32::MIN, i32::MAX, -101, -150, -201, 60, 400, 365, 99_999] {
            assert!(matches!(coded(type_code), MemberKind::Unsupported(_)), "{type_code}");
        }
    }
}
