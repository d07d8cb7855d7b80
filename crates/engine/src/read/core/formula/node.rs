//! The expression tree of formulas.

use remote::{Error, ErrorKind};

/// An operator as it is written; of items `[]`, with `slice` and `tuple` for its indices. Those of
/// ROOT's grammar begin with `@`.
pub(super) type Operator = &'static str;

/// An expression over columns.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Int(u64),
    Float(f64),
    Imaginary(f64),
    Bool(bool),
    Text(String),
    /// `None` in an index, and the bound of a slice that is left out.
    Nothing,
    /// `...` in an index.
    Ellipsis,
    /// The column with this number among the names.
    Column(usize),
    /// An operator or a function of its arguments.
    Apply(Operator, Vec<Node>),
}

impl Node {
    /// Whether one of its parts, or itself, is so.
    pub fn any(&self, is: &dyn Fn(&Node) -> bool) -> bool {
        match self {
            Node::Apply(_, arguments) if arguments.iter().any(|part| part.any(is)) => true,
            node => is(node),
        }
    }
}

/// The error of a formula.
pub(super) fn wrong(text: &str, why: &str) -> Error {
    let text = shown(text);
    Error::new(ErrorKind::InvalidArgument, format!("the formula {text} {}", cut_short(why)))
}

/// Characters of a formula in an error.
const SHOWN_MAX: usize = 300;

/// A formula as an error shows it: of a long one the beginning, and how long it is.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}... ({} bytes)", &text[..end], text.len()),
    }
}

/// A reason, which may repeat a part of the formula.
fn cut_short(why: &str) -> String {
    match why.char_indices().nth(2 * SHOWN_MAX) {
        None => why.to_owned(),
        Some((end, _)) => format!("{}...", &why[..end]),
    }
}
