//! The value of an expression, for all entries at once.

use std::sync::Arc;

use rootfile::{Array, Numbers};

use super::arithmetic::{Binary, Unary, binary, truths, unary};
use super::broadcast::{Leaf, Lengths, Value, combine};
use super::functions::function;
use super::instances::{AlignedColumn, aligned_columns};
use super::items::{self, Axis, WHOLE};
use super::members::{MEMBER, member};
use super::node::{Node, Operator};
use super::numbers::{Computed, Side};
use super::rows::ItemRows;
use super::{constants, of_root};

/// The value of a name in a formula.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub rows: ItemRows,
    /// The entries that a friend lacks, where it lacks some.
    pub lacking: Option<Arc<[bool]>>,
    /// Whether it is a column, or items of one, of which an index takes items.
    pub has_items: bool,
}

impl Known {
    pub fn of_column(array: &Array) -> Known {
        let lacking = match array {
            Array::Option { index, .. } if index.contains(&-1) => {
                Some(index.iter().map(|at| *at < 0).collect())
            }
            _ => None,
        };
        Known { rows: ItemRows::plain(Value::Array(array.clone())), lacking, has_items: true }
    }
}

/// Columns and numbers that an expression is computed from.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    /// In the order of the names.
    pub columns: &'a [Known],
    /// How many there are.
    pub count: usize,
    /// The number of each in its table, where it is known.
    pub numbers: Option<&'a dyn Fn() -> Vec<u64>>,
    /// How many the table has, where it is known.
    pub total: Option<u64>,
    /// Whether integers of ROOT's grammar stay integers.
    pub keeps_integers: bool,
    /// Whether it is a cut, in which comparisons with missing values are false.
    pub decides: bool,
    /// The columns of a formula in ROOT's grammar, with lists as long as each other; `None` within
    /// an index.
    pub parts: Option<&'a [AlignedColumn<'a>]>,
}

impl Entries<'_> {
    pub fn value(&self, node: &Node) -> Computed<Value> {
        Ok(match node {
            Node::Int(one) => Value::Int((*one).into()),
            Node::Float(one) => Value::Float(*one),
            Node::Bool(one) => Value::Bool(*one),
            Node::Text(text) => Value::Text(text.clone()),
            Node::Column(at) => self.named(*at)?.rows.clone().joined(),
            Node::Imaginary(part) => {
                return Err(format!("has {part}j: complex numbers are not computed with"));
            }
            Node::Nothing | Node::Ellipsis => {
                return Err("has None or ... that is no index".to_owned());
            }
            Node::Apply("[]", arguments) => return self.item(arguments),
            Node::Apply(MEMBER, arguments) => return self.member(arguments),
            Node::Apply(operator, arguments) if of_root::is_one(operator) => {
                let parts = self.parts.unwrap_or_default();
                match parts.iter().find(|part| std::ptr::eq(part.node, node)) {
                    Some(part) => part.rows.value.clone(),
                    None => of_root::value(self, operator, arguments)?,
                }
            }
            Node::Apply(operator, arguments) => {
                let values = arguments.iter().map(|argument| self.value(argument));
                return self.applied(operator, &values.collect::<Computed<Vec<_>>>()?);
            }
        })
    }

    /// The value of a formula in ROOT's grammar, or of the argument of a reduction.
    pub fn of_formula(&self, formula: &Node) -> Computed<Value> {
        self.by_rows(formula).map(ItemRows::joined)
    }

    /// The same for another formula, whose other columns are taken at the same rows.
    pub fn by_rows(&self, formula: &Node) -> Computed<ItemRows> {
        if let Node::Column(name) = formula {
            return Ok(self.named(*name)?.rows.clone());
        }
        let parts = self.aligned(&[formula])?;
        let value = Entries { parts: Some(&parts), ..*self }.value(formula)?;
        Ok(ItemRows::of(value, &parts))
    }

    /// The columns of formulas that are computed beside each other.
    pub fn aligned<'n>(&self, formulas: &[&'n Node]) -> Computed<Vec<AlignedColumn<'n>>> {
        let alone = Entries { parts: None, ..*self };
        aligned_columns(formulas, &|node| match node {
            Node::Apply("@[]", arguments) => of_root::indexed(&alone, arguments),
            Node::Apply("@double", arguments) => of_root::column_by_rows(&alone, arguments),
            _ => alone.value(node).map(ItemRows::plain),
        })
    }

    /// The entries that a friend lacks of which the expression needs a value.
    pub fn lacking(&self, node: &Node) -> Option<Arc<[bool]>> {
        let merged = |one: Arc<[bool]>, other: Arc<[bool]>, both: fn(bool, bool) -> bool| {
            one.iter().zip(&*other).map(|(a, b)| both(*a, *b)).collect()
        };
        match node {
            Node::Column(name) => self.named(*name).ok()?.lacking.clone(),
            Node::Apply("@Alt$", arguments) => {
                let [first, other] = &arguments[..] else { return None };
                Some(merged(self.lacking(first)?, self.lacking(other)?, |a, b| a && b))
            }
            Node::Apply(_, arguments) => {
                let all = arguments.iter().filter_map(|argument| self.lacking(argument));
                all.reduce(|one, other| merged(one, other, |a, b| a || b))
            }
            _ => None,
        }
    }

    /// The value of the name with a number.
    pub fn named(&self, name: usize) -> Computed<&Known> {
        self.columns.get(name).ok_or_else(|| "lacks a column".to_owned())
    }

    /// An operator or a function of Python's grammar.
    fn applied(&self, operator: Operator, values: &[Value]) -> Computed<Value> {
        let operation = Binary::of(operator).filter(|_| values.len() == 2);
        let sign = Unary::of(operator).filter(|_| values.len() == 1);
        let is_operator = operator.starts_with(|first: char| !first.is_ascii_alphabetic());
        if is_operator && values.iter().all(Value::is_constant) {
            return constants::value(operator, values);
        }
        let arrays: Vec<Value>;
        let values = match values.iter().all(Value::is_constant) {
            // NumPy's functions give constants a type.
            true => {
                let keep = if operator == "round" { 1 } else { values.len() };
                let all = values.iter().enumerate().map(|(at, value)| match at < keep {
                    true => value.clone().into_array(self.count).map(Value::Array),
                    false => Ok(value.clone()),
                });
                arrays = all.collect::<Computed<_>>()?;
                &arrays[..]
            }
            false => values,
        };
        let kernel = |leaves: &[Leaf<'_>]| match (operation, sign, leaves) {
            (Some(operation), _, [left, right]) => beside(operation, *left, *right),
            (_, Some(sign), [one]) => unary(sign, number(*one)?),
            _ => {
                let sides = leaves.iter().map(|leaf| number(*leaf));
                function(operator, &sides.collect::<Computed<Vec<_>>>()?)
            }
        };
        let array = combine(values, Lengths::Equal, &kernel)?;
        let is_comparison = operation.is_some_and(Binary::compares);
        Ok(Value::Array(if self.decides && is_comparison { false_for_none(array) } else { array }))
    }

    fn member(&self, arguments: &[Node]) -> Computed<Value> {
        let Some((Node::Column(at), names)) = arguments.split_first() else {
            return Err("has a member of no column".to_owned());
        };
        let Value::Array(array) = self.named(*at)?.rows.value.clone() else {
            return Err("has a member of no column".to_owned());
        };
        let names = names.iter().filter_map(|name| match name {
            Node::Text(name) => Some(name),
            _ => None,
        });
        let mut array = array;
        for name in names {
            array = member(array, name)?;
        }
        Ok(Value::Array(array))
    }

    fn item(&self, arguments: &[Node]) -> Computed<Value> {
        let [of, index] = arguments else { return Err("has an index of nothing".to_owned()) };
        let array = match self.value(of)? {
            Value::Array(array) => array,
            _ => return Err("has an index of a constant".to_owned()),
        };
        if !matches!(index, Node::Apply("tuple" | "slice", _) | Node::Ellipsis | Node::Nothing) {
            return match self.value(index)? {
                Value::Array(by) => items::chosen(array, by),
                _ => items::indexed(array, &[Axis::Item(0)]),
            }
            .map(Value::Array);
        }
        let indices = match index {
            Node::Apply("tuple", all) => &all[..],
            one => std::slice::from_ref(one),
        };
        let axes = self.axes(indices, items::dimensions(&array))?;
        items::indexed(array, &axes).map(Value::Array)
    }

    /// The part of each dimension that indices select.
    fn axes(&self, indices: &[Node], dimensions: usize) -> Computed<Vec<Axis>> {
        let mut axes = Vec::new();
        for index in indices {
            match index {
                Node::Ellipsis => {
                    let said = |one: &&Node| !matches!(one, Node::Nothing | Node::Ellipsis);
                    let said = indices.iter().filter(said).count();
                    axes.extend(std::iter::repeat_n(WHOLE, dimensions.saturating_sub(said)));
                }
                Node::Nothing => axes.push(Axis::New),
                Node::Apply("slice", bounds) => {
                    let bounds = bounds.iter().map(|bound| match bound {
                        Node::Nothing => Ok(None),
                        bound => self.constant(bound).map(Some),
                    });
                    match bounds.collect::<Computed<Vec<_>>>()?[..] {
                        [_, _, Some(0)] => return Err("has a slice in steps of 0".to_owned()),
                        [first, last, step] => {
                            axes.push(Axis::Slice(first, last, step.unwrap_or(1)));
                        }
                        _ => return Err("has a slice of other than three bounds".to_owned()),
                    }
                }
                item => axes.push(Axis::Item(self.constant(item)?)),
            }
        }
        if indices.iter().filter(|one| **one == Node::Ellipsis).count() > 1 {
            return Err("has ... twice in an index".to_owned());
        }
        Ok(axes)
    }

    /// A whole number in an index.
    fn constant(&self, node: &Node) -> Computed<i64> {
        match self.value(node)? {
            Value::Int(one) => Ok(one.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
            _ => Err("has an index of several dimensions that is no whole constant".to_owned()),
        }
    }
}

/// Truths, false in place of missing ones.
fn false_for_none(array: Array) -> Array {
    match array {
        Array::Option { index, content } => match *content {
            Array::Numbers { numbers: Numbers::Bool(all), shape } if shape.is_empty() => {
                let one = |at: &i64| usize::try_from(*at).map_or(0, |at| all[at]);
                let numbers = Numbers::Bool(index.iter().map(one).collect());
                Array::Numbers { numbers, shape }
            }
            content => Array::Option { index, content: Box::new(false_for_none(content)) },
        },
        Array::List { offsets, content } => {
            Array::List { offsets, content: Box::new(false_for_none(*content)) }
        }
        Array::Regular { length, entries, content } => {
            Array::Regular { length, entries, content: Box::new(false_for_none(*content)) }
        }
        array => array,
    }
}

fn number<'a>(leaf: Leaf<'a>) -> Computed<Side<'a>> {
    match leaf {
        Leaf::Numbers(side) => Ok(side),
        Leaf::Text(_) | Leaf::Strings(..) => {
            Err("computes with texts, which can only be compared by == and !=".to_owned())
        }
    }
}

/// Numbers or texts beside each other.
pub(super) fn beside(operation: Binary, left: Leaf<'_>, right: Leaf<'_>) -> Computed<Numbers> {
    if !matches!(operation, Binary::Equal | Binary::NotEqual) {
        return binary(operation, number(left)?, number(right)?);
    }
    let is_equal = operation == Binary::Equal;
    Ok(match (left, right) {
        (Leaf::Strings(offsets, bytes), Leaf::Text(text))
        | (Leaf::Text(text), Leaf::Strings(offsets, bytes)) => {
            let each = texts(offsets, bytes).map(|one| (one == text.as_bytes()) == is_equal);
            truths(each.collect())
        }
        (Leaf::Strings(offsets, bytes), Leaf::Strings(others, more)) => {
            let pairs = texts(offsets, bytes).zip(texts(others, more));
            truths(pairs.map(|(one, other)| (one == other) == is_equal).collect())
        }
        (Leaf::Numbers(left), Leaf::Numbers(right)) => binary(operation, left, right)?,
        _ => return Err("compares texts with numbers".to_owned()),
    })
}

fn texts<'a>(offsets: &'a [i64], bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    offsets.windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize])
}
