//! Names of the fields of objects, those of base classes included.

use crate::types::names::told_apart_from_first;

/// Names of the fields of a record, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldNames(Vec<FieldName>);

/// A member, and where it is from.
#[derive(Debug, Clone, PartialEq)]
struct FieldName {
    /// As the class that has it calls it.
    member: String,
    /// The base classes that it came through, the nearest first; none for a member of the class
    /// itself.
    bases: Vec<String>,
    /// As it is handed out, where that is another name than the member's.
    told_apart: Option<String>,
}

impl FieldNames {
    /// Names of members of one class.
    pub(crate) fn of_members<N: Into<String>>(names: impl IntoIterator<Item = N>) -> FieldNames {
        let mut fields = FieldNames::default();
        names.into_iter().for_each(|name| fields.push(name));
        fields.tell_apart();
        fields
    }

    /// Adds a member of the class itself.
    pub(super) fn push(&mut self, member: impl Into<String>) {
        self.0.push(FieldName { member: member.into(), bases: Vec::new(), told_apart: None });
    }

    /// Adds the members of a base class.
    pub(super) fn extend(&mut self, class: &str, base: &FieldNames) {
        self.0.extend(base.0.iter().map(|field| FieldName {
            member: field.member.clone(),
            bases: [&[class.to_owned()], &field.bases[..]].concat(),
            told_apart: None,
        }));
    }

    /// Gives members of one name different ones.
    pub(super) fn tell_apart(&mut self) {
        let members = self.0.iter().map(|field| (&*field.member, &field.bases[..]));
        for (at, name) in told_apart_from_first(&members.collect::<Vec<_>>()) {
            self.0[at].told_apart = Some(name);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As fields are handed out.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|field| field.told_apart.as_deref().unwrap_or(&field.member))
    }

    pub(crate) fn get(&self, at: usize) -> Option<&str> {
        self.iter().nth(at)
    }

    /// The member of that name: of the class itself, or of a base class that is none of `except`,
    /// whose members are read where the base class is.
    pub(super) fn find(&self, member: &str, except: &[String]) -> Option<usize> {
        let is_it = |field: &FieldName| field.member == member;
        let own = self.0.iter().position(|field| is_it(field) && field.bases.is_empty());
        own.or_else(|| {
            self.0.iter().position(|field| {
                is_it(field) && field.bases.first().is_some_and(|base| !except.contains(base))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two base classes with a member `x` the values of one could once not be had.
    #[test]
    fn further_members_of_one_name_have_their_base_in_front() {
        let one = FieldNames::of_members(["x", "y"]);
        let mut derived = FieldNames::default();
        derived.extend("B1", &one);
        derived.extend("B2", &FieldNames::of_members(["x"]));
        derived.push("z");
        derived.tell_apart();
        assert_eq!(derived.iter().collect::<Vec<_>>(), ["x", "y", "B2::x", "z"]);
        assert_eq!((derived.find("x", &[]), derived.find("z", &[])), (Some(0), Some(3)));
        assert_eq!(derived.find("x", &["B1".into()]), Some(2));

        let mut further = FieldNames::default();
        further.extend("D", &derived);
        further.push("x");
        further.tell_apart();
        assert_eq!(further.iter().collect::<Vec<_>>(), ["D::B1::x", "y", "D::B2::x", "z", "x"]);
        assert_eq!(further.find("x", &[]), Some(4));
    }

    #[test]
    fn one_class_in_two_bases() {
        let common = FieldNames::of_members(["x"]);
        let mut diamond = FieldNames::default();
        for base in ["B1", "B2"] {
            let mut between = FieldNames::default();
            between.extend("A", &common);
            diamond.extend(base, &between);
        }
        diamond.tell_apart();
        assert_eq!(diamond.iter().collect::<Vec<_>>(), ["x", "B2::x"]);
    }

    #[test]
    fn leaves_of_one_name_are_numbered() {
        let leaves = FieldNames::of_members(["x", "x", "x_2", "x"]);
        assert_eq!(leaves.iter().collect::<Vec<_>>(), ["x", "x_3", "x_2", "x_4"]);
    }
}
