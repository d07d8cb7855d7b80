//! Formulas of a member of records, and of the number of objects whose members are columns.

use std::sync::Arc;

use super::members::MEMBER;
use super::node::{Node, wrong};
use super::{Formula, Grammar, Program};
use remote::Result;

impl Formula {
    /// The same, where the column of a name has the number of objects whose members are in other
    /// columns. A formula of these objects is of their number only.
    ///
    /// # Errors
    /// `InvalidArgument` where the name stands for more than `Length$(x)` and `@x.size()`.
    pub fn counting(&self, name: usize) -> Result<Formula> {
        let Some(root) = counted(&self.root, name) else {
            let column = self.columns.get(name).map_or("", |name| name);
            let why = format!(
                "has {column}, whose members are columns: name a member, as in {column}.member; \
                 Length$({column}) and @{column}.size() are their number"
            );
            return Err(wrong(&self.text, &why));
        };
        let columns = self.columns.clone();
        let text = self.text.clone();
        Ok(Formula { text, root, grammar: self.grammar, columns, is_as_written: false })
    }
}

impl Program {
    /// The member of a column of records, as it is written, with the names of members within each
    /// other.
    pub fn member(text: &str, members: &[String]) -> Program {
        let names = members.iter().cloned().map(Node::Text);
        let root = Node::Apply(MEMBER, [Node::Column(0)].into_iter().chain(names).collect());
        let columns = vec![text.to_owned()];
        let grammar = Grammar::Python;
        let text = text.to_owned();
        let formula = Formula { text, root, grammar, columns, is_as_written: false };
        Program::of(Arc::new(formula))
    }
}

/// The expression with the column of a name in place of its length; `None` where the name stands
/// for anything else.
fn counted(node: &Node, name: usize) -> Option<Node> {
    let count = || Some(Node::Apply("@double", vec![Node::Column(name)]));
    match node {
        Node::Column(other) if *other == name => None,
        Node::Apply("@size", of) if of[..] == [Node::Column(name)] => count(),
        Node::Apply("@Length$", of) if count().as_ref() == of.first() => count(),
        Node::Apply(operator, arguments) => {
            let arguments = arguments.iter().map(|argument| counted(argument, name));
            Some(Node::Apply(operator, arguments.collect::<Option<_>>()?))
        }
        other => Some(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: `Length$` of objects whose members are columns was 1.
    #[test]
    fn a_formula_of_counted_objects_is_of_their_number() {
        let of = |text: &str| Formula::parse_in(text, Grammar::Root).unwrap();
        for text in ["Length$(v)", "@v.size() > 1", "Length$(v) * n + sqrt(@v.size())"] {
            assert!(of(text).counting(0).is_ok(), "{text}");
        }
        for text in ["v", "v + Length$(v)", "Length$(v * 2)", "v[0]", "Sum$(v)", "v.size()"] {
            let error = of(text).counting(0).unwrap_err().to_string();
            assert!(error.contains("Length$(v) and @v.size()"), "{error}");
        }
    }
}
