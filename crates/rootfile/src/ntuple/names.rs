//! Names of fields, as in uproot.
//!
//! Fields that only hold a structure together have no name: items of collections, arrays and
//! variants, values of atomics and enums, and base classes, whose members stand among those of the
//! class. Members of tuples are numbers. Where a class and its bases have members of one name,
//! those of the bases get the base's name in front, as `Base::x`.

use super::schema::{Role, Schema};
use crate::types::names::told_apart;

/// A field that can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedField {
    pub field: u32,
    pub name: String,
    /// Names from the top to here, with dots between.
    pub path: String,
    /// Position of the one above.
    pub parent: Option<usize>,
}

/// Fields by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    named: Vec<NamedField>,
    /// By field.
    names: Vec<String>,
}

impl Names {
    pub fn new(schema: &Schema) -> Names {
        let names = (0..schema.fields.len() as u32).map(|field| plain_name(schema, field));
        let mut names = Names { names: names.collect(), named: Vec::new() };
        for field in schema.top() {
            names.add(schema, field, None);
        }
        names
    }

    /// All fields with a name, each followed by those in it.
    pub fn all(&self) -> &[NamedField] {
        &self.named
    }

    /// The name of a field in its record.
    pub fn of(&self, field: u32) -> &str {
        self.names.get(field as usize).map_or("", String::as_str)
    }

    fn add(&mut self, schema: &Schema, field: u32, parent: Option<usize>) {
        let name = self.names[field as usize].clone();
        let path = match parent {
            Some(parent) => format!("{}.{name}", self.named[parent].path),
            None => name.clone(),
        };
        let number = self.named.len();
        self.named.push(NamedField { field, name, path, parent });
        if schema.fields[field as usize].role == Role::Variant {
            return;
        }
        let below = named_below(schema, field);
        self.tell_apart(schema, field, &below);
        for field in below {
            self.add(schema, field, Some(number));
        }
    }

    /// Puts names of bases in front until no two members have the same name.
    fn tell_apart(&mut self, schema: &Schema, parent: u32, members: &[u32]) {
        let bases: Vec<Vec<String>> = members
            .iter()
            .map(|member| {
                let above = schema.ancestors(*member).skip(1);
                let above = above.take_while(|field| *field != parent);
                let typename = |field| schema.fields[field as usize].typename.clone();
                let mut above: Vec<String> = above.map(typename).collect();
                above.reverse();
                above
            })
            .collect();
        let named = members.iter().zip(&bases);
        let named: Vec<(&str, &[String])> =
            named.map(|(member, bases)| (&*self.names[*member as usize], &bases[..])).collect();
        for (at, name) in told_apart(&named) {
            self.names[members[at] as usize] = name;
        }
    }
}

/// The fields that a reader sees directly in `field`.
fn named_below(schema: &Schema, field: u32) -> Vec<u32> {
    let mut below = Vec::new();
    for child in &schema.fields[field as usize].children {
        if is_anonymous(schema, *child) {
            if schema.fields[*child as usize].role != Role::Variant {
                below.extend(named_below(schema, *child));
            }
        } else {
            below.push(*child);
        }
    }
    below
}

/// Whether a field only holds its parent's structure together.
pub(super) fn is_anonymous(schema: &Schema, field: u32) -> bool {
    let field = &schema.fields[field as usize];
    let Some(parent) = field.parent.map(|parent| &schema.fields[parent as usize]) else {
        return false;
    };
    match parent.role {
        Role::Collection | Role::Variant => true,
        _ if parent.array_size.is_some() => true,
        Role::Leaf => field.name == "_0",
        Role::Record => numbered(&field.name, ":_"),
        Role::Streamer | Role::Unknown(_) => false,
    }
}

/// Whether a name is the prefix and a number.
fn numbered(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn plain_name(schema: &Schema, field: u32) -> String {
    let field = &schema.fields[field as usize];
    let in_record =
        field.parent.is_some_and(|parent| schema.fields[parent as usize].role == Role::Record);
    match field.name.strip_prefix('_') {
        Some(number) if in_record && numbered(&field.name, "_") => number.to_owned(),
        _ => field.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::Field;
    use super::*;

    /// Fields of a name, a role and a parent; each of the type of its name in capitals.
    fn schema(fields: &[(&str, Role, Option<u32>)]) -> Schema {
        let mut schema = Schema::default();
        for (id, (name, role, parent)) in fields.iter().enumerate() {
            schema.fields.push(Field {
                name: (*name).to_owned(),
                typename: format!("T{id}"),
                type_alias: String::new(),
                description: String::new(),
                field_version: 0,
                type_version: 0,
                parent: *parent,
                role: *role,
                array_size: None,
                source: None,
                checksum: None,
                children: Vec::new(),
                columns: Vec::new(),
            });
            if let Some(parent) = parent {
                schema.fields[*parent as usize].children.push(id as u32);
            }
        }
        schema
    }

    fn paths(schema: &Schema) -> Vec<String> {
        Names::new(schema).all().iter().map(|named| named.path.clone()).collect()
    }

    #[test]
    fn items_and_bases_have_no_names() {
        use Role::{Collection, Leaf, Record, Variant};
        let schema = schema(&[
            ("v", Collection, None),
            ("_0", Record, Some(0)),
            (":_0", Record, Some(1)),
            ("x", Leaf, Some(2)),
            ("_1", Leaf, Some(1)),
            ("u", Variant, None),
            ("_0", Record, Some(5)),
            ("hidden", Leaf, Some(6)),
        ]);
        assert_eq!(paths(&schema), ["v", "v.x", "v.1", "u"]);
    }

    #[test]
    fn members_of_one_name_are_told_apart_by_their_bases() {
        use Role::{Leaf, Record};
        let schema = schema(&[
            ("r", Record, None),
            (":_0", Record, Some(0)),
            (":_0", Record, Some(1)),
            ("x", Leaf, Some(2)),
            (":_1", Record, Some(1)),
            ("x", Leaf, Some(4)),
            ("y", Leaf, Some(4)),
        ]);
        assert_eq!(paths(&schema), ["r", "r.T2::x", "r.T4::x", "r.y"]);
    }
}
