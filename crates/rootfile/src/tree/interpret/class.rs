//! Classes whose objects are streamed whole, from their streamer infos.

use super::element::{Basic, shaped};
use super::{Layout, Part, Record, cpp};
use crate::error::{Error, Result};
use crate::streamer::{Element, StreamerInfo, Streamers, code};

/// Classes within classes within classes: more than any sane one.
const DEPTH_MAX: usize = 32;

/// The streamer info of that version, or else that checksum, where they are given; the newest
/// where they are not.
pub(super) fn find<'a>(
    name: &str,
    version: Option<i32>,
    checksum: Option<u32>,
    classes: &'a Streamers,
) -> Option<&'a StreamerInfo> {
    if version.is_none() && checksum.is_none() {
        return classes.info(name, None);
    }
    let by_checksum = checksum.and_then(|checksum| classes.info_by_checksum(name, checksum));
    by_checksum.or_else(|| version.and_then(|version| classes.info(name, Some(version))))
}

/// The members of a class whose objects are streamed whole.
///
/// # Errors
/// `Unsupported` where there is no streamer info or a member is not simple.
pub(super) fn record(
    name: &str,
    version: Option<i32>,
    checksum: Option<u32>,
    classes: &Streamers,
) -> Result<Record> {
    nested(name, version, checksum, classes, 0)
}

fn nested(
    name: &str,
    version: Option<i32>,
    checksum: Option<u32>,
    classes: &Streamers,
    depth: usize,
) -> Result<Record> {
    if depth > DEPTH_MAX {
        return Err(Error::limit(format!("class {name} is nested too deeply")));
    }
    let class = find(name, version, checksum, classes)
        .ok_or_else(|| Error::unsupported(format!("class {name}, which has no streamer info")))?;
    let mut parts = Vec::with_capacity(class.elements.len());
    for element in &class.elements {
        let part = part(element, classes, depth)
            .map_err(|e| e.within(&format!("{name}::{}", element.name)))?;
        parts.push(part);
    }
    Ok(Record { class: Some(class.class.clone()), version: Some(class.version), parts })
}

fn part(element: &Element, classes: &Streamers, depth: usize) -> Result<Part> {
    let member = |layout| Part::Member(element.name.clone(), layout);
    let shape: Vec<usize> = element.dimensions.iter().map(|len| *len as usize).collect();
    let numbers =
        element.dimensions.iter().try_fold(1u32, |product, len| product.checked_mul(*len));
    if numbers.is_none_or(|numbers| numbers == 0) {
        return Err(Error::corrupt(format!("array of dimensions {shape:?}")));
    }
    match Basic::of(element.type_code, &element.title)? {
        Some(basic) if !basic.pointer => return Ok(member(shaped(basic.scalar, &shape))),
        _ => {}
    }
    match element.type_code {
        code::TOBJECT => Ok(Part::TObject),
        code::BASE if element.name == "TObject" => Ok(Part::TObject),
        code::BASE => {
            // Classes without a version say -1.
            let version = Some(element.base_version).filter(|version| *version >= 0);
            let base = nested(&element.name, version, None, classes, depth + 1)?;
            Ok(Part::Base(base))
        }
        code::OBJECT | code::ANY => {
            let class = element.type_name.trim_end_matches('*');
            Ok(member(Layout::Record(nested(class, None, None, classes, depth + 1)?)))
        }
        code::STRING => Ok(member(Layout::Text)),
        code => {
            let kind = match code {
                code::TNAMED => "TNamed".into(),
                _ => cpp::spelled(&element.type_name),
            };
            Err(Error::unsupported(format!("member of type {kind} (streamer type {code})")))
        }
    }
}
