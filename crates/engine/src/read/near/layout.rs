//! The layout of a column: what Arrow's types do not say of it.

use serde::{Deserialize, Serialize};

use rootfile::Array;
use rootfile::array::ArrayParameter;

/// The type of a column's entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// Numbers, by NumPy's name of their type, with their fixed inner shape.
    Numbers(String, Vec<usize>),
    List(Box<Layout>),
    Strings,
    /// The class of the objects, if they are of one, and the fields.
    Record(Option<String>, Vec<(String, Layout)>),
    Regular(usize, Box<Layout>),
    Option(Box<Layout>),
    Union(Vec<Layout>),
    /// A meaning beyond the type: Awkward's parameter `__array__`.
    WithParameter(String, Box<Layout>),
}

/// The layouts of an answer, in the metadata of its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layouts {
    pub version: u32,
    pub columns: Vec<Layout>,
}

impl Layout {
    /// The layout of an array.
    pub fn of(array: &Array) -> Layout {
        let boxed = |content: &Array| Box::new(Layout::of(content));
        match array {
            Array::Numbers { numbers, shape } => {
                Layout::Numbers(numbers.dtype().to_owned(), shape.clone())
            }
            Array::List { content, .. } => Layout::List(boxed(content)),
            Array::Strings { .. } => Layout::Strings,
            Array::Record { class, fields, .. } => {
                let field = |(name, field): &(String, Array)| (name.clone(), Layout::of(field));
                let class = class.as_ref().map(|class| class.to_string());
                Layout::Record(class, fields.iter().map(field).collect())
            }
            Array::Regular { length, content, .. } => Layout::Regular(*length, boxed(content)),
            Array::Option { content, .. } => Layout::Option(boxed(content)),
            Array::Union { contents, .. } => {
                Layout::Union(contents.iter().map(Layout::of).collect())
            }
            Array::WithParameter { parameter, content } => {
                Layout::WithParameter(parameter.name().to_owned(), boxed(content))
            }
        }
    }

    /// Whether the type is known without data: of objects of any class it is not.
    pub fn is_certain(array: &Array) -> bool {
        match array {
            Array::WithParameter { parameter: ArrayParameter::Objects, .. } => false,
            Array::Numbers { .. } | Array::Strings { .. } => true,
            Array::List { content, .. }
            | Array::Regular { content, .. }
            | Array::Option { content, .. }
            | Array::WithParameter { content, .. } => Layout::is_certain(content),
            Array::Record { fields, .. } => fields.iter().all(|(_, one)| Layout::is_certain(one)),
            Array::Union { contents, .. } => contents.iter().all(Layout::is_certain),
        }
    }
}
