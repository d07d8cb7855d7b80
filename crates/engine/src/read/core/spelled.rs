//! Formulas as they are written, to be computed elsewhere.

use serde::{Deserialize, Serialize};

/// A formula, and the meanings of its names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpelledFormula {
    pub text: String,
    /// In the grammar of files: ROOT's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_root: bool,
    /// For each name, in the order in which they are first named.
    pub meanings: Vec<SpelledMeaning>,
}

/// The meaning of a name in a formula.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SpelledMeaning {
    /// The column with this number among those that are given.
    Column(usize),
    Formula(Box<SpelledFormula>),
}
