//! Classes as streamer info describes them, seen through the little that is needed here.

use super::element::{Basic, shaped};
use super::{Layout, Part, Record, cpp};
use crate::error::{Error, Result};

/// What streamer info says about classes.
pub trait ClassInfo {
    /// The class of that name; of that version, or else that checksum, where they are given, and
    /// of the newest version where they are not.
    fn class(&self, name: &str, version: Option<i32>, checksum: Option<u32>) -> Option<Class>;
}

/// For trees without objects.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoClasses;

impl ClassInfo for NoClasses {
    fn class(&self, _: &str, _: Option<i32>, _: Option<u32>) -> Option<Class> {
        None
    }
}

/// A `TStreamerInfo`.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    pub name: String,
    /// `fClassVersion`
    pub version: i32,
    pub elements: Vec<Element>,
}

/// A `TStreamerElement`.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    pub name: String,
    /// The comment behind the member, which holds the range of reduced numbers.
    pub title: String,
    /// `fType`: 0 base, 1 to 19 numbers, 20 more for arrays, 40 more for pointers, …
    pub type_code: i32,
    /// `fTypeName`
    pub type_name: String,
    /// `fMaxIndex`, as many as `fArrayDim` says.
    pub shape: Vec<usize>,
    /// `fBaseVersion` of a base class.
    pub base_version: Option<i32>,
}

/// Classes within classes within classes: more than any sane one.
const DEPTH_MAX: usize = 32;

const TYPE_BASE: i32 = 0;
const TYPE_OBJECTS: std::ops::RangeInclusive<i32> = 61..=62;
const TYPE_TSTRING: i32 = 65;
const TYPE_TOBJECT: i32 = 66;
const TYPE_TNAMED: i32 = 67;

/// The members of a class whose objects are streamed whole.
///
/// # Errors
/// `Unsupported` where there is no streamer info or a member is not simple.
pub(super) fn record(
    name: &str,
    version: Option<i32>,
    checksum: Option<u32>,
    classes: &dyn ClassInfo,
) -> Result<Record> {
    nested(name, version, checksum, classes, 0)
}

fn nested(
    name: &str,
    version: Option<i32>,
    checksum: Option<u32>,
    classes: &dyn ClassInfo,
    depth: usize,
) -> Result<Record> {
    if depth > DEPTH_MAX {
        return Err(Error::limit(format!("class {name} is nested too deeply")));
    }
    let class = classes
        .class(name, version, checksum)
        .ok_or_else(|| Error::unsupported(format!("class {name}, which has no streamer info")))?;
    let mut parts = Vec::with_capacity(class.elements.len());
    for element in &class.elements {
        let part = part(element, classes, depth)
            .map_err(|e| e.within(&format!("{name}::{}", element.name)))?;
        parts.push(part);
    }
    Ok(Record { class: Some((class.name, class.version)), parts })
}

fn part(element: &Element, classes: &dyn ClassInfo, depth: usize) -> Result<Part> {
    let member = |layout| Part::Member(element.name.clone(), layout);
    match Basic::of(element.type_code, &element.title)? {
        Some(basic) if !basic.pointer => return Ok(member(shaped(basic.scalar, &element.shape))),
        _ => {}
    }
    match element.type_code {
        TYPE_TOBJECT => Ok(Part::TObject),
        TYPE_BASE if element.name == "TObject" => Ok(Part::TObject),
        TYPE_BASE => {
            let base = nested(&element.name, element.base_version, None, classes, depth + 1)?;
            Ok(Part::Base(base))
        }
        code if TYPE_OBJECTS.contains(&code) => {
            let class = element.type_name.trim_end_matches('*');
            Ok(member(Layout::Record(nested(class, None, None, classes, depth + 1)?)))
        }
        TYPE_TSTRING => Ok(member(Layout::Text)),
        code => {
            let kind = match code {
                TYPE_TNAMED => "TNamed".into(),
                _ => cpp::spelled(&element.type_name),
            };
            Err(Error::unsupported(format!("member of type {kind} (streamer type {code})")))
        }
    }
}
