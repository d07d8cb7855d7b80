//! Objects as plain data: values by the names that the streamer info gives.

mod branches;
mod collection;
mod counted;
mod deferred;
pub(crate) mod marks;
mod memberwise;
mod numbers;
mod pointer;
mod queue;
mod reader;
mod special;

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::streamer::{ClassLayout, MemberKind};
use crate::types::special::Special;

pub(crate) use branches::read_tree_object;
pub(crate) use reader::{ObjectHeader, read_object_with_marks};
pub use reader::{read_object, read_object_at};

/// Position of an object in [`Objects`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId(u32);

/// A member's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A null pointer.
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// A string in whatever encoding was written.
    Text(Bytes),
    Numbers(Numbers),
    List(Vec<Value>),
    /// Numbers or strings, none of them twice, and the value of each.
    Map(Vec<(Value, Value)>),
    /// Keys of any kind, and the value of each.
    Pairs(Vec<(Value, Value)>),
    /// A base class, an object in place, or one that is pointed to.
    Object(ObjectId),
    /// A pointer to an object inside of one that could not be read.
    Lost,
}

/// An object of some class.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub class: Arc<str>,
    /// Version of the class, as the object says.
    pub version: i32,
    layout: Arc<ClassLayout>,
    /// One for each member of the layout.
    values: Vec<Value>,
    /// Boxed, as trees have tens of thousands of objects, of which few are unread.
    unread: Option<Box<Unread>>,
}

impl Object {
    /// Makes pointers to objects that were never read pointers to nothing that is known. `lost`
    /// ascends.
    fn lose(&mut self, lost: &[ObjectId]) {
        let mut values: Vec<&mut Value> = self.values.iter_mut().collect();
        while let Some(value) = values.pop() {
            match value {
                Value::Object(id) if lost.binary_search(id).is_ok() => *value = Value::Lost,
                Value::List(items) => values.extend(items),
                Value::Map(pairs) | Value::Pairs(pairs) => {
                    values.extend(pairs.iter_mut().flat_map(|(key, mapped)| [key, mapped]));
                }
                _ => {}
            }
        }
    }
}

/// Classes whose objects are left as bytes, whatever is known of them.
pub type Opaque = BTreeSet<String>;

/// An object that is skipped because nothing says how to read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unread {
    /// All of it, from its header (byte count and version) on where its class has one.
    pub bytes: Bytes,
    pub why: Error,
}

/// All objects of one record. Pointers are [`ObjectId`]s, so shared objects and cycles are
/// nothing special.
#[derive(Debug, Clone, PartialEq)]
pub struct Objects {
    objects: Vec<Object>,
    links: Vec<u32>,
}

impl ObjectId {
    /// How many objects come before it.
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

impl Objects {
    /// The object that the record is about.
    pub fn root(&self) -> ObjectRef<'_> {
        ObjectRef { objects: self, id: ObjectId(0) }
    }

    /// All objects whose bytes were skipped because nothing says how to read them.
    pub fn unread_objects(&self) -> impl Iterator<Item = ObjectRef<'_>> {
        self.iter().filter(|object| object.unread().is_some())
    }

    /// Where in the content classes and objects are referred to by their places, four bytes each:
    /// these numbers grow with the key in front.
    pub fn links(&self) -> &[u32] {
        &self.links
    }

    /// All objects, the record's own first.
    pub fn iter(&self) -> impl Iterator<Item = ObjectRef<'_>> {
        (0..self.objects.len() as u32).map(|id| self.get(ObjectId(id)))
    }

    pub fn get(&self, id: ObjectId) -> ObjectRef<'_> {
        ObjectRef { objects: self, id }
    }

    /// The members of an object, as [`ObjectRef::members`] names them: it has none then.
    pub fn take_members(&mut self, id: ObjectId) -> Vec<(Arc<str>, Value)> {
        let object = &mut self.objects[id.position()];
        let values = std::mem::take(&mut object.values);
        object.layout.members.iter().map(|member| member.name.clone()).zip(values).collect()
    }

    /// Takes the value of one of its members, at a place that [`ObjectRef::place`] has found: the
    /// member is null then.
    pub fn take_value(&mut self, id: ObjectId, member: usize) -> Value {
        let value = self.objects[id.position()].values.get_mut(member);
        value.map_or(Value::Null, |value| std::mem::replace(value, Value::Null))
    }

    /// Gives an object back the members that were taken from it.
    pub fn put_members(&mut self, id: ObjectId, members: Vec<(Arc<str>, Value)>) {
        self.objects[id.position()].values = members.into_iter().map(|(_, value)| value).collect();
    }

    /// Gives a member of an object, or of its base classes, another value.
    pub(crate) fn set(&mut self, id: ObjectId, name: &str, value: Value) {
        if let Some((owner, member)) = self.get(id).position(name) {
            self.objects[owner.position()].values[member] = value;
        }
    }

    /// Notes why the members of an object, and of its base classes, are not those that it has.
    pub(crate) fn set_unread(&mut self, id: ObjectId, why: Error) {
        let unread = Unread { bytes: Bytes::new(), why };
        self.objects[id.position()].unread = Some(Box::new(unread));
    }

    /// Whether any of them is referred to more than once, or the record's own by another.
    pub fn are_shared(&self) -> bool {
        let mut seen = vec![false; self.objects.len()];
        seen[0] = true;
        let mut values: Vec<&Value> = self.objects.iter().flat_map(|one| &one.values).collect();
        while let Some(value) = values.pop() {
            match value {
                Value::Object(id) if std::mem::replace(&mut seen[id.position()], true) => {
                    return true;
                }
                Value::List(items) => values.extend(items),
                Value::Map(pairs) | Value::Pairs(pairs) => {
                    values.extend(pairs.iter().flat_map(|(key, mapped)| [key, mapped]));
                }
                _ => {}
            }
        }
        false
    }
}

/// One object among others.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRef<'a> {
    objects: &'a Objects,
    pub id: ObjectId,
}

impl<'a> ObjectRef<'a> {
    /// A member of its own class or of a base class: the object that has it, and its position
    /// there.
    pub(crate) fn position(self, name: &str) -> Option<(ObjectId, usize)> {
        let object = self.object();
        let own = object.layout.members.iter().position(|member| *member.name == *name);
        let is_base = |at: &usize| matches!(object.layout.members[*at].kind, MemberKind::Base(..));
        match own.filter(|at| !is_base(at)) {
            Some(at) => Some((self.id, at)),
            None => self.bases().find_map(|base| self.objects.get(base).position(name)),
        }
    }

    /// Which object has a base class, at any depth, and its position there.
    pub(crate) fn base_position(self, class: &str) -> Option<(ObjectId, usize)> {
        let members = &self.object().layout.members;
        let is_it = |at: &usize| {
            *members[*at].name == *class && matches!(members[*at].kind, MemberKind::Base(..))
        };
        match (0..members.len()).find(is_it) {
            Some(at) => Some((self.id, at)),
            None => self.bases().find_map(|base| self.objects.get(base).base_position(class)),
        }
    }

    /// The place of a member, its own or that of a base class: the object that has it, and its
    /// position there. `None` also where that cannot be said without an object that was not read,
    /// or whose members have been taken.
    pub fn place(self, name: &str) -> Option<(ObjectId, usize)> {
        self.place_or_end(name).ok().flatten()
    }

    fn place_or_end(self, name: &str) -> std::result::Result<Option<(ObjectId, usize)>, ()> {
        let object = self.object();
        if object.unread.is_some() || object.values.len() != object.layout.members.len() {
            return Err(());
        }
        let mut members = object.layout.members.iter().zip(&object.values);
        let own = members.rposition(|(member, value)| {
            let is_base = matches!((&member.kind, value), (MemberKind::Base(..), Value::Object(_)));
            *member.name == *name && !is_base
        });
        if let Some(at) = own {
            return Ok(Some((self.id, at)));
        }
        for base in self.bases() {
            if let Some(found) = self.objects.get(base).place_or_end(name)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The value at such a place.
    pub fn value_at(self, member: usize) -> &'a Value {
        self.object().values.get(member).unwrap_or(&Value::Null)
    }

    /// Another object of the same record.
    pub(crate) fn of(self, id: ObjectId) -> ObjectRef<'a> {
        self.objects.get(id)
    }

    /// The stored form of a member.
    pub(crate) fn kind(self, member: usize) -> &'a MemberKind {
        &self.object().layout.members[member].kind
    }

    fn object(self) -> &'a Object {
        &self.objects.objects[self.id.0 as usize]
    }

    pub fn class(self) -> &'a str {
        &self.object().class
    }

    pub fn version(self) -> i32 {
        self.object().version
    }

    /// Its bytes, where nothing says how to read it.
    pub fn unread(self) -> Option<&'a Unread> {
        self.object().unread.as_deref()
    }

    /// The base classes, in order.
    pub fn bases(self) -> impl Iterator<Item = ObjectId> {
        let object = self.object();
        let members = object.layout.members.iter().zip(&object.values);
        members.filter_map(|(member, value)| match (&member.kind, value) {
            (MemberKind::Base(..), Value::Object(base)) => Some(*base),
            _ => None,
        })
    }

    /// Its own members, base classes included, by name and in order.
    pub fn members(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let object = self.object();
        let names = object.layout.members.iter().map(|member| &*member.name);
        names.zip(&object.values)
    }

    /// A member of the object or of any of its base classes.
    pub fn member(self, name: &str) -> Option<&'a Value> {
        let object = self.object();
        let mut members = object.layout.members.iter().zip(&object.values);
        let own = members.find(|(member, value)| {
            let is_base =
                || matches!((&member.kind, value), (MemberKind::Base(..), Value::Object(_)));
            *member.name == *name && !is_base()
        });
        match own {
            Some((_, value)) => Some(value),
            None => self.bases().find_map(|base| self.objects.get(base).member(name)),
        }
    }

    /// The base class part of that name, at any depth; the object itself for its own class.
    pub fn base(self, class: &str) -> Option<ObjectRef<'a>> {
        if self.class() == class {
            return Some(self);
        }
        let object = self.object();
        let members = object.layout.members.iter().zip(&object.values);
        members
            .filter_map(|(member, value)| match (&member.kind, value) {
                (MemberKind::Base(..), Value::Object(base)) => Some(self.objects.get(*base)),
                _ => None,
            })
            .find_map(|base| base.base(class))
    }

    /// A whole number, also one written as floating point.
    ///
    /// # Errors
    /// `Corrupt` where there is no such member or it is something else.
    pub fn int(self, name: &str) -> Result<i64> {
        let whole = match self.required(name)? {
            Value::Bool(value) => Some(i64::from(*value)),
            Value::Int(value) => Some(*value),
            Value::Uint(value) => i64::try_from(*value).ok(),
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                Some(*value as i64)
            }
            _ => None,
        };
        whole.ok_or_else(|| self.unlike(name, "a whole number"))
    }

    /// A string; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// As [`ObjectRef::int`].
    pub fn string(self, name: &str) -> Result<String> {
        match self.required(name)? {
            Value::Text(text) => Ok(String::from_utf8_lossy(text).into_owned()),
            _ => Err(self.unlike(name, "a string")),
        }
    }

    /// An array of whole numbers; empty for a null pointer.
    ///
    /// # Errors
    /// As [`ObjectRef::int`].
    pub fn ints(self, name: &str) -> Result<Vec<i64>> {
        match self.required(name)? {
            Value::Null => Ok(Vec::new()),
            Value::Numbers(Numbers::I32(all)) => Ok(all.iter().map(|n| i64::from(*n)).collect()),
            Value::Numbers(Numbers::I64(all)) => Ok(all.clone()),
            _ => Err(self.unlike(name, "an array of whole numbers")),
        }
    }

    /// The object that a member is or points to; `None` for a null pointer.
    ///
    /// # Errors
    /// As [`ObjectRef::int`], and for an object inside of one that could not be read.
    pub fn pointed(self, name: &str) -> Result<Option<ObjectRef<'a>>> {
        self.target(name, self.required(name)?)
    }

    /// The objects in a collection's member, which is or points to a `TObjArray` or `TList`.
    ///
    /// # Errors
    /// As [`ObjectRef::pointed`], for the collection and for each of its objects.
    pub fn objects(self, name: &str) -> Result<Vec<Option<ObjectRef<'a>>>> {
        // A branch read for its metadata alone has the objects in place of the collection.
        if let Value::List(items) = self.required(name)? {
            return items.iter().map(|item| self.target(name, item)).collect();
        }
        let Some(collection) = self.pointed(name)? else { return Ok(Vec::new()) };
        match collection.required(Special::ITEMS)? {
            Value::List(items) => items.iter().map(|item| self.target(name, item)).collect(),
            _ => Err(self.unlike(name, "a collection of objects")),
        }
    }

    fn target(self, name: &str, value: &Value) -> Result<Option<ObjectRef<'a>>> {
        match value {
            Value::Null => Ok(None),
            Value::Object(id) => Ok(Some(self.objects.get(*id))),
            Value::Lost => Err(Error::unsupported(format!(
                "member {name} of {} points into an object that could not be read",
                self.class()
            ))),
            _ => Err(self.unlike(name, "an object")),
        }
    }

    fn required(self, name: &str) -> Result<&'a Value> {
        if let Some(unread) = self.unread() {
            return Err(unread.why.clone().within(self.class()));
        }
        self.member(name)
            .ok_or_else(|| Error::corrupt(format!("{} without member {name}", self.class())))
    }

    fn unlike(self, name: &str, expected: &str) -> Error {
        Error::corrupt(format!("member {name} of {} is not {expected}", self.class()))
    }
}

#[cfg(test)]
mod tests;
