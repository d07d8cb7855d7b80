//! Objects of objects (ROOT: `TList`, `TObjArray`, `TMap`).

use std::sync::Arc;

use crate::write::buffer::{BITS, Buffer};
use crate::write::table::{Described, WritableObject};

/// Objects in an order.
#[derive(Clone)]
pub struct ObjectList {
    pub name: String,
    pub kind: ListKind,
    pub items: Vec<Arc<dyn WritableObject>>,
}

/// In which class they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// `TList`
    List,
    /// `TObjArray`
    Array,
}

impl WritableObject for ObjectList {
    fn class(&self) -> &'static str {
        match self.kind {
            ListKind::List => "TList",
            ListKind::Array => "TObjArray",
        }
    }

    fn title(&self) -> &'static str {
        match self.kind {
            ListKind::List => "Doubly linked list",
            ListKind::Array => "An array of objects",
        }
    }

    fn classes(&self) -> Vec<&str> {
        let items = self.items.iter().flat_map(|item| item.classes());
        [self.class()].into_iter().chain(items).collect()
    }

    fn described(&self) -> Vec<&Described> {
        self.items.iter().flat_map(|item| item.described()).collect()
    }

    fn write(&self, to: &mut Buffer) {
        let count = to.begin(if self.kind == ListKind::List { 5 } else { 3 });
        to.tobject(BITS);
        to.string(&self.name);
        to.u32(self.items.len() as u32);
        if self.kind == ListKind::Array {
            // The index of the first.
            to.i32(0);
        }
        for item in &self.items {
            to.pointed(item.class(), |to| item.write(to));
            if self.kind == ListKind::List {
                // How it is drawn.
                to.string("");
            }
        }
        to.end(count);
    }
}

/// Objects by objects.
#[derive(Clone)]
pub struct ObjectMap {
    pub name: String,
    pub items: Vec<(Arc<dyn WritableObject>, Arc<dyn WritableObject>)>,
}

impl WritableObject for ObjectMap {
    fn class(&self) -> &'static str {
        "TMap"
    }

    fn title(&self) -> &'static str {
        "A (key,value) map"
    }

    fn classes(&self) -> Vec<&str> {
        let items = self.items.iter().flat_map(|(key, value)| [key.classes(), value.classes()]);
        ["TMap"].into_iter().chain(items.flatten()).collect()
    }

    fn described(&self) -> Vec<&Described> {
        let items = self.items.iter().flat_map(|(key, value)| [key.described(), value.described()]);
        items.flatten().collect()
    }

    fn write(&self, to: &mut Buffer) {
        let count = to.begin(3);
        to.tobject(BITS);
        to.string(&self.name);
        to.u32(self.items.len() as u32);
        for (key, value) in &self.items {
            to.pointed(key.class(), |to| key.write(to));
            to.pointed(value.class(), |to| value.write(to));
        }
        to.end(count);
    }
}
