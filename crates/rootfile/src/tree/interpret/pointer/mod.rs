//! Pointers: the classes that they may lead to, and the members that are read of their objects.

use std::sync::Arc;

use super::class::{Compiler, Fields, SIZE_MAX, is_special, regular};
use super::fields::FieldNames;
use super::layout::{Layout, Part, Pointer, Record, Version};
use crate::error::{Error, Result};
use crate::streamer::{StreamerElement, StreamerInfo};
use crate::types::cpp;

/// Maximum numbers, strings and lists in the object that one pointer leads to.
const POINTED_SIZE_MAX: usize = 1 << 12;

impl Compiler<'_> {
    /// Members that point to objects: each is nothing or an object of the class. Those that cannot
    /// be followed are left out, and nothing else with them.
    pub(super) fn pointers(
        &mut self,
        element: &StreamerElement,
        fields: &mut Fields<'_>,
    ) -> Result<Part> {
        let left_out = Part::Pointers(element.array_len.max(1) as usize);
        let is_wanted = |wanted: &Record| fields.is_in(wanted, &element.name);
        if !self.follows || !fields.wanted.is_none_or(is_wanted) {
            return Ok(left_out);
        }
        let layout = self.followed(&element.type_name);
        let fits = |layout: &Layout| fields.size.saturating_add(layout.size()) <= SIZE_MAX;
        let Some(layout) = layout.filter(fits) else {
            return fields.leave_out(&element.name, left_out);
        };
        let layout = match element.array_len {
            0 => layout,
            _ => regular(element, false, layout)?,
        };
        fields.part(&element.name, layout)
    }

    /// A pointer of that type, unless its class is not described, leads back to a class that it is
    /// in or to too much.
    fn followed(&mut self, type_name: &str) -> Option<Layout> {
        let class = match cpp::parse(type_name) {
            cpp::Type::Pointer(target) => match *target {
                cpp::Type::Class(class) => class,
                cpp::Type::Text(class) => class.to_owned(),
                _ => return None,
            },
            _ => return None,
        };
        if !is_special(&class) && !self.describes(&class) {
            return None;
        }
        self.pointer(&class).ok().filter(|layout| layout.size() <= POINTED_SIZE_MAX)
    }

    /// A pointer to an object of a class, or of any that derives from it.
    pub(super) fn pointer(&mut self, class: &str) -> Result<Layout> {
        if is_special(class) {
            return Ok(Layout::Any);
        }
        if !self.describes(class) {
            return Ok(Layout::Pointer(Arc::new(Pointer { classes: Vec::new() })));
        }
        let base = self.record(class, None, None)?;
        let classes = self.classes;
        let mut known = vec![(class.to_owned(), base.clone())];
        // Templates have several spellings.
        let other = classes.id(class).map(|id| &*classes.class(id).name);
        known.extend(
            other.filter(|other| *other != class).map(|name| (name.to_owned(), base.clone())),
        );
        for name in classes.heirs(class) {
            if let Ok(record) = self.seen_as(name, &base) {
                known.push((name.to_owned(), record));
            }
        }
        Ok(Layout::Pointer(Arc::new(Pointer { classes: known })))
    }

    /// A class with the fields of one that it derives from, the only ones that are read.
    fn seen_as(&mut self, class: &str, base: &Arc<Record>) -> Result<Arc<Record>> {
        // It may well be within itself: none of its own members is read.
        self.enter(&format!("{class} as another"))?;
        let classes = self.classes;
        let versions = classes.versions(class).map(|info| {
            let parts = self.parts_up_to(info, base)?;
            Ok(Version::new(info.version, info.checksum, parts))
        });
        let versions = versions.collect::<Result<Vec<_>>>();
        self.within.pop();
        let class = Some(class.to_owned());
        Ok(Arc::new(Record { class, versions: versions?, ..(**base).clone() }))
    }

    /// The stored parts of a class up to the base class that is, or derives from, this one.
    fn parts_up_to(&mut self, info: &StreamerInfo, to: &Arc<Record>) -> Result<Vec<Part>> {
        let wanted = to.class.as_deref().unwrap_or_default();
        let nothing =
            Record { names: FieldNames::default(), versions: Vec::new(), ..(**to).clone() };
        let mut fields = Fields { wanted: Some(&nothing), ..Fields::default() };
        let mut parts = Vec::new();
        for element in &info.elements {
            let is_base = element.class == "TStreamerBase";
            if is_base && self.classes.inherits(&element.name, wanted) {
                let record = match element.name == wanted {
                    true => to.clone(),
                    false => self.seen_as(&element.name, to)?,
                };
                let version = element.base_version;
                parts.push(Part::Base { at: Some(0), version, record, is_object: false });
                parts.push(Part::Rest);
                return Ok(parts);
            }
            parts.extend(self.part(element, &mut fields)?);
        }
        let class = &info.class;
        Err(Error::unsupported(format!("class {class}, a version of which is no {wanted}")))
    }
}

#[cfg(test)]
mod tests;
