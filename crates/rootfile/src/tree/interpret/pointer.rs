//! Pointers: which classes they may lead to, and what is read of objects of these.

use std::sync::Arc;

use super::class::{Compiler, Fields, special};
use super::layout::{Pointer, Version};
use super::{Layout, Part, Record};
use crate::error::{Error, Result};
use crate::streamer::StreamerInfo;

impl Compiler<'_> {
    /// A pointer to an object of a class, or of any that derives from it.
    pub(super) fn pointer(&mut self, class: &str) -> Result<Layout> {
        if special(class).is_some() {
            return Ok(Layout::Any);
        }
        if !self.describes(class) {
            return Ok(Layout::Pointer(Arc::new(Pointer { classes: Vec::new() })));
        }
        let base = self.record(class, None, None)?;
        let mut known = vec![(class.to_owned(), base.clone())];
        let classes = self.classes;
        for name in classes.heirs(class) {
            if let Ok(record) = self.seen_as(name, &base) {
                known.push((name.to_owned(), record));
            }
        }
        Ok(Layout::Pointer(Arc::new(Pointer { classes: known })))
    }

    /// A class with the fields of one that it derives from, the only ones that are read.
    fn seen_as(&mut self, class: &str, base: &Arc<Record>) -> Result<Arc<Record>> {
        self.enter(class)?;
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

    /// What is written of a class up to the base class that is, or derives from, this one.
    fn parts_up_to(&mut self, info: &StreamerInfo, to: &Arc<Record>) -> Result<Vec<Part>> {
        let wanted = to.class.as_deref().unwrap_or_default();
        let nothing = Record { names: Vec::new(), versions: Vec::new(), ..(**to).clone() };
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
