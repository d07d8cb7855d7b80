//! The streamer infos that a file carries, so that readers know the members of its classes.
//!
//! Those of ROOT's own classes come from a table, with ROOT's checksums: a reader that has the
//! class compiled in compares them. Those of other classes are copied from the files that their
//! objects come from. (Source: `TStreamerInfo::Streamer`, `TStreamerElement::Streamer`, and classes
//! derived from it.)

mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::buffer::{BITS, Buffer};
use crate::error::{Error, Result};
use crate::streamer::{StreamerElement, StreamerInfo};
use crate::types::code;
use crate::types::special::Special;

/// Versions of the classes that streamer infos consist of (ROOT 6.40).
const INFO_VERSION: u16 = 10;
const LIST_VERSION: u16 = 5;
const ARRAY_VERSION: u16 = 3;
const ELEMENT_VERSION: u16 = 4;
/// Bit of a streamer info that ROOT has compiled, which is how it writes them (`kIsCompiled`).
const IS_COMPILED: u32 = 1 << 16;

/// The classes that a file needs to describe.
#[derive(Debug, Default)]
pub struct Infos {
    /// By class and version.
    infos: BTreeMap<(String, i32), Origin>,
}

/// A streamer info, and where it comes from.
#[derive(Debug)]
struct Origin {
    info: Arc<StreamerInfo>,
    /// The file; `None` for the table.
    file: Option<String>,
}

impl Infos {
    /// Adds a class of ROOT, its bases and its members' classes. Classes that the table does not
    /// have are left: their descriptions are copied from their files.
    pub fn need(&mut self, class: &str) {
        let mut classes = vec![class.to_owned()];
        while let Some(class) = classes.pop() {
            let Some(info) = table::info(&class) else { continue };
            let key = (class, info.version);
            if self.infos.get(&key).is_some_and(|known| known.file.is_none()) {
                continue;
            }
            classes.extend(info.elements.iter().flat_map(classes_of));
            self.infos.insert(key, Origin { info: info.clone(), file: None });
        }
    }

    /// Adds the streamer infos of a file as they are.
    ///
    /// # Errors
    /// `Unsupported` where one lists other members than an earlier one, or the table, for the same
    /// version of its class. Both files are named, and nothing is added.
    pub fn copy<'a>(
        &mut self,
        infos: impl IntoIterator<Item = &'a StreamerInfo>,
        file: &str,
    ) -> Result<()> {
        let mut new = Vec::new();
        for info in infos {
            let key = (info.class.clone(), info.version);
            let builtin = table::info(&info.class).filter(|known| known.version == info.version);
            let known = self.infos.get(&key);
            if let Some(other) = known.map(|known| &known.info).or(builtin)
                && !are_alike(info, other)
            {
                let origin = known.and_then(|known| known.file.as_deref());
                return Err(conflict(info, file, other, origin));
            }
            if known.is_none() {
                let info = builtin.cloned().unwrap_or_else(|| Arc::new(info.clone()));
                new.push((key, Origin { info, file: Some(file.to_owned()) }));
            }
        }
        self.infos.extend(new);
        Ok(())
    }

    /// Whether a version of the class is described.
    pub fn has(&self, class: &str) -> bool {
        let first = (class.to_owned(), i32::MIN);
        self.infos.range(first..).next().is_some_and(|((known, _), _)| known == class)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.infos.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.infos.is_empty()
    }

    /// Appends the list of all (ROOT: `TList` of `TStreamerInfo`).
    pub fn write(&self, to: &mut Buffer) {
        let count = to.begin(LIST_VERSION);
        to.tobject(BITS);
        to.string("");
        to.i32(self.infos.len() as i32);
        for Origin { info, .. } in self.infos.values() {
            to.pointed("TStreamerInfo", |to| write_info(to, info));
            // Each object of a list has an option, which is empty.
            to.u8(0);
        }
        to.end(count);
    }
}

/// Names of the classes that a member is made of, or points to.
fn classes_of(element: &StreamerElement) -> Vec<String> {
    match &*element.class {
        "TStreamerBase" => vec![element.name.clone()],
        "TStreamerSTL" => {
            let items = element.type_name.split_once('<').and_then(|(_, items)| {
                let items = items.trim_end_matches(['*', ' ']).strip_suffix('>')?;
                Some(items.trim_end().to_owned())
            });
            items.into_iter().collect()
        }
        _ => vec![element.type_name.trim_end_matches('*').to_owned()],
    }
}

/// Whether two streamer infos say the same about bytes. Checksums of one class may differ between
/// ROOT's releases and between writers where its members do not.
fn are_alike(a: &StreamerInfo, b: &StreamerInfo) -> bool {
    let same = |(a, b): (&StreamerElement, &StreamerElement)| {
        let name = |element: &StreamerElement| (element.name.clone(), element.count_name.clone());
        name(a) == name(b)
            && stored_code(a) == stored_code(b)
            && (a.array_len, &a.dimensions) == (b.array_len, &b.dimensions)
    };
    // Classes that ROOT reads by hand have one layout, whatever a streamer info says; of its own
    // classes of version 0 there are no objects.
    let is_by_hand = Special::of(&a.class).is_some();
    let is_abstract = a.version == 0 && table::info(&a.class).is_some();
    a.checksum == b.checksum
        || is_by_hand
        || is_abstract
        || a.elements.len() == b.elements.len() && a.elements.iter().zip(&b.elements).all(same)
}

/// A type code, the same for types that are stored alike.
fn stored_code(element: &StreamerElement) -> i32 {
    let (basic, form) = match element.type_code {
        numbers @ 0..60 => (numbers % code::ARRAY, numbers - numbers % code::ARRAY),
        other => (other, 0),
    };
    let is_bool = matches!(&*element.type_name, "bool" | "Bool_t");
    form + match basic {
        code::COUNTER => code::INT,
        code::LONG => code::LONG64,
        code::ULONG => code::ULONG64,
        code::UCHAR if is_bool => code::BOOL,
        code::TOBJECT | code::TNAMED => code::BASE,
        code::OBJECT | code::OBJECT_HELD | code::ANY_HELD => code::ANY,
        code::STREAMER if element.class == "TStreamerSTL" => code::STL,
        other => other,
    }
}

fn conflict(new: &StreamerInfo, file: &str, old: &StreamerInfo, origin: Option<&str>) -> Error {
    let origin = origin.unwrap_or("ROOT 6.40");
    Error::unsupported(format!(
        "class {} has version {} with other members in {file} (checksum {:08x}) than in {origin} \
         (checksum {:08x}): objects of both cannot be in one file",
        new.class, new.version, new.checksum, old.checksum
    ))
}

fn write_info(to: &mut Buffer, info: &StreamerInfo) {
    let count = to.begin(INFO_VERSION);
    to.tnamed(BITS | IS_COMPILED, &info.class, "");
    to.u32(info.checksum);
    to.i32(info.version.saturating_abs());
    let written = info.elements.iter().filter(|element| element.type_code != code::ARTIFICIAL);
    to.pointed("TObjArray", |to| {
        let count = to.begin(ARRAY_VERSION);
        to.tobject(BITS);
        to.string("");
        to.i32(written.clone().count() as i32);
        to.i32(0);
        for element in written {
            to.pointed(&element.class, |to| write_element(to, element));
        }
        to.end(count);
    });
    to.end(count);
}

/// An element of whichever class (ROOT: `TStreamerElement` and classes derived from it).
fn write_element(to: &mut Buffer, element: &StreamerElement) {
    let rest = &element.rest;
    let version = match &*element.class {
        "TStreamerBase" | "TStreamerSTL" => 3,
        "TStreamerObjectAnyPointer" => 1,
        _ => 2,
    };
    let outer = to.begin(version);
    // A string of the standard library is a collection first.
    let inner = (element.class == "TStreamerSTLstring").then(|| to.begin(3));
    write_common(to, element);
    match &*element.class {
        "TStreamerBase" => to.i32(element.base_version),
        "TStreamerBasicPointer" | "TStreamerLoop" => {
            to.i32(rest.count_version);
            to.string(&element.count_name);
            to.string(&element.count_class);
        }
        "TStreamerSTL" | "TStreamerSTLstring" => {
            to.i32(rest.collection);
            to.i32(element.item_code);
        }
        _ => {}
    }
    if let Some(inner) = inner {
        to.end(inner);
    }
    to.end(outer);
}

/// Writes the members that all elements have.
fn write_common(to: &mut Buffer, element: &StreamerElement) {
    let rest = &element.rest;
    let count = to.begin(ELEMENT_VERSION);
    to.tnamed(BITS | rest.bits, &element.name, &element.title);
    to.i32(element.type_code);
    to.i32(rest.size);
    to.i32(element.array_len as i32);
    to.i32(element.dimensions.len() as i32);
    let mut dimensions = [0; 5];
    dimensions.iter_mut().zip(&element.dimensions).for_each(|(to, from)| *to = *from);
    if element.class == "TStreamerBase" {
        dimensions[1] = rest.base_checksum;
    }
    dimensions.into_iter().for_each(|dimension| to.u32(dimension));
    to.string(&element.type_name);
    to.end(count);
}
