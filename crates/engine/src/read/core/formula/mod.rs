//! Formulas: a part of Python's language, so that one means the same wherever it is written.
//!
//! ```text
//! formula   = either [ ( < | <= | > | >= | == | != ) either ]
//! either    = other { '|' other }
//! other     = both { '^' both }
//! both      = shifted { '&' shifted }
//! shifted   = sum { ( << | >> ) sum }
//! sum       = product { ( + | - ) product }
//! product   = unary { ( * | / | // | % ) unary }
//! unary     = ( + | - | ~ ) unary | power
//! power     = item [ ** unary ]
//! item      = atom { '[' index { ',' index } ']' }
//! index     = formula | [ formula ] ':' [ formula ] [ ':' [ formula ] ] | ... | None
//! atom      = number | True | False | 'text' | name | get('name') | ( formula )
//!           | function '(' formula { ',' formula } ')'
//! ```
//!
//! As in Python `&` and `|` bind closer than comparisons, which therefore stand in parentheses:
//! `(nMuon > 1) & (MET_pt > 50)`. A name is a column; a text is only compared. Here formulas are
//! read, all of them; computed is what a cut of the command line or of `TTreeIndex` needs, with
//! one number an entry. Python's package computes the others, from [`Formula::operations`].

mod parse;
mod value;

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;

use super::columns::Batch;
use super::cut::{Cut, Predicate};
use super::define::{Compute, Definition, of_column};
use super::request::ColumnRequest;
use remote::{Error, ErrorKind, Result};
use value::{Binary, Unary, Value};

/// An operator as it is written; of items `[]`, with `slice` and `tuple` for what is in it.
type Operator = &'static str;

/// An expression over columns.
#[derive(Debug, Clone, PartialEq)]
enum Node {
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

/// A formula as it was written, and the names of its columns.
#[derive(Debug)]
pub struct Formula {
    text: String,
    root: Node,
    /// Each once, in the order in which they are first named.
    pub columns: Vec<String>,
}

/// A step in computing a formula. Values are put on a stack, from whose end operators and functions
/// take theirs, to put there what they give.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    Int(u64),
    Float(f64),
    /// So many times the square root of -1.
    Imaginary(f64),
    Bool(bool),
    Text(String),
    /// Python's `None`, in an index.
    Nothing,
    /// Python's `...`, in an index.
    Ellipsis,
    /// The column with this number.
    Column(usize),
    /// An operator or a function by its name, and how many values it takes.
    Apply(&'static str, usize),
}

impl Formula {
    /// Reads a formula. Whether its columns are there is found out when it is used.
    ///
    /// # Errors
    /// `InvalidArgument` saying what cannot be understood.
    pub fn parse(text: &str) -> Result<Formula> {
        let (root, columns) = parse::parse(text)?;
        Ok(Formula { text: text.to_owned(), root, columns })
    }

    /// Names of the functions that formulas may have.
    pub fn functions() -> impl Iterator<Item = &'static str> {
        parse::FUNCTIONS.iter().map(|(name, ..)| *name)
    }

    /// Whether it is more than the name of a column, or a constant.
    pub fn is_computed(&self) -> bool {
        matches!(self.root, Node::Apply(..)) || self.text.contains('(')
    }

    /// Whether it only compares columns of one number an entry, and joins what comes of it: then it
    /// has the same value here as in NumPy. The types of numbers are not computed with, and none
    /// overflows.
    ///
    /// `are_bools` says of each column whether it holds true and false.
    pub fn only_compares(&self, are_bools: &[bool]) -> bool {
        self.root.compared(are_bools) == Some(Compared::Bools)
    }

    /// How it is computed, step by step.
    pub fn operations(&self) -> Vec<Operation> {
        let mut operations = Vec::new();
        self.root.append_to(&mut operations);
        operations
    }

    /// As [`Formula::parse`], of one that is computed here.
    fn of_numbers(text: &str) -> Result<Formula> {
        let formula = Formula::parse(text)?;
        match formula.root.not_computed() {
            Some(what) => Err(wrong(text, &format!("has {what:?}, which only Python computes"))),
            None => Ok(formula),
        }
    }

    /// As [`Formula::of_numbers`], of one that names a column.
    fn of_columns(text: &str) -> Result<Formula> {
        let formula = Formula::of_numbers(text)?;
        match formula.columns.is_empty() {
            true => Err(wrong(text, "names no column")),
            false => Ok(formula),
        }
    }
}

/// What a node gives that only compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Bools,
    Numbers,
    /// A number that floats of 64 bits have exactly.
    Constant,
}

impl Node {
    /// What it gives, where it only compares.
    fn compared(&self, are_bools: &[bool]) -> Option<Compared> {
        use Compared::{Bools, Constant, Numbers};
        match self {
            Node::Int(value) => (*value <= 1 << f64::MANTISSA_DIGITS).then_some(Constant),
            Node::Float(_) => Some(Constant),
            Node::Column(column) => Some(if *are_bools.get(*column)? { Bools } else { Numbers }),
            Node::Apply(operator, arguments) => {
                let parts = arguments.iter().map(|part| part.compared(are_bools));
                let parts = parts.collect::<Option<Vec<_>>>()?;
                match (*operator, &parts[..]) {
                    ("-" | "+", [Constant]) => Some(Constant),
                    ("~", [Bools]) | ("&" | "|" | "==" | "!=", [Bools, Bools]) => Some(Bools),
                    (
                        "<" | "<=" | ">" | ">=" | "==" | "!=",
                        [Numbers, Numbers | Constant] | [Constant, Numbers],
                    ) => Some(Bools),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn append_to(&self, operations: &mut Vec<Operation>) {
        let operation = match self {
            Node::Int(value) => Operation::Int(*value),
            Node::Float(value) => Operation::Float(*value),
            Node::Imaginary(value) => Operation::Imaginary(*value),
            Node::Bool(value) => Operation::Bool(*value),
            Node::Text(text) => Operation::Text(text.clone()),
            Node::Nothing => Operation::Nothing,
            Node::Ellipsis => Operation::Ellipsis,
            Node::Column(column) => Operation::Column(*column),
            Node::Apply(operator, arguments) => {
                arguments.iter().for_each(|argument| argument.append_to(operations));
                Operation::Apply(operator, arguments.len())
            }
        };
        operations.push(operation);
    }

    /// What in it is not computed here.
    fn not_computed(&self) -> Option<String> {
        match self {
            Node::Int(_) | Node::Float(_) | Node::Bool(_) | Node::Column(_) => None,
            Node::Imaginary(value) => Some(format!("{value}j")),
            Node::Text(text) => Some(text.clone()),
            Node::Nothing | Node::Ellipsis => Some("[]".to_owned()),
            Node::Apply(operator, arguments) => match Unary::of(operator, arguments.len()) {
                None if Binary::of(operator, arguments.len()).is_none() => {
                    Some((*operator).to_owned())
                }
                _ => arguments.iter().find_map(Node::not_computed),
            },
        }
    }
}

impl Cut {
    /// Reads a cut, such as `(nMuon > 1) & (MET_pt > 50)`. Whether its columns are there is
    /// found out when it is used.
    ///
    /// # Errors
    /// `InvalidArgument` saying what cannot be understood.
    pub fn parse(text: &str) -> Result<Cut> {
        let formula = Formula::of_columns(text)?;
        Ok(Cut::new(formula.columns.clone(), formula))
    }
}

impl Definition {
    /// A new column by a formula such as `Muon_pt_sum / nMuon`, with one number an entry. Integer
    /// results have 64 bits. A column that the table lacks is an error of the read.
    ///
    /// # Errors
    /// As [`Cut::parse`].
    pub fn parse(name: &str, text: &str) -> Result<Definition> {
        let formula = Formula::of_columns(text).map_err(|error| of_column(name, error))?;
        let columns = formula.columns.iter().map(ColumnRequest::named).collect();
        Ok(Definition { name: name.to_owned(), columns, compute: Arc::new(formula) })
    }
}

impl Compute for Formula {
    fn compute(&self, columns: Batch) -> Result<Array> {
        let entries = columns.len() as usize;
        Ok(self.value(&self.root, &columns)?.into_array(entries))
    }
}

/// An expression whose values are whole numbers.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    /// Names of its columns.
    pub columns: Vec<String>,
    formula: Arc<Formula>,
}

impl Expression {
    /// The expression that is a column of this name.
    pub fn column(name: &str) -> Expression {
        let (text, columns) = (name.to_owned(), vec![name.to_owned()]);
        let formula = Formula { text, root: Node::Column(0), columns: columns.clone() };
        Expression { columns, formula: Arc::new(formula) }
    }

    /// Reads an expression.
    ///
    /// # Errors
    /// As [`Cut::parse`]; an expression may be a constant.
    pub fn parse(text: &str) -> Result<Expression> {
        let formula = Formula::of_numbers(text)?;
        Ok(Expression { columns: formula.columns.clone(), formula: Arc::new(formula) })
    }

    /// Its values for so many entries; what is behind the point is left out, as ROOT does.
    ///
    /// # Errors
    /// `InvalidArgument` where it cannot be computed.
    pub fn integers(&self, columns: &Batch, entries: usize) -> Result<Vec<i64>> {
        let value = self.formula.value(&self.formula.root, columns)?;
        Some(value.integers(entries))
            .filter(|all| all.len() == entries)
            .ok_or_else(|| wrong(&self.formula.text, "gives another number of values"))
    }
}

impl Predicate for Formula {
    /// Nothing is true of entries that lack a value.
    fn decide(&self, columns: Batch) -> Result<Vec<bool>> {
        let entries = columns.len() as usize;
        let Some(there) = without_missing(&columns) else { return self.mask(&columns) };
        let mut runs: Vec<Range<usize>> = Vec::new();
        for entry in (0..entries).filter(|entry| there[*entry]) {
            match runs.last_mut() {
                Some(last) if last.end == entry => last.end = entry + 1,
                _ => runs.push(entry..entry + 1),
            }
        }
        let full = |(name, array): &(String, Array)| (name.clone(), present(array, &runs));
        let rest = columns.columns.iter().map(full).collect();
        let count = there.iter().filter(|there| **there).count();
        let rest = Batch { entries: 0..count as u64, survivors: None, columns: rest, ..columns };
        let mut mask = self.mask(&rest)?.into_iter();
        Ok(there.into_iter().map(|there| there && mask.next().unwrap_or(false)).collect())
    }
}

/// Which entries have a value in each column; `None` where all have.
fn without_missing(columns: &Batch) -> Option<Vec<bool>> {
    let mut there: Option<Vec<bool>> = None;
    for (_, array) in &columns.columns {
        let Array::Option { index, .. } = array else { continue };
        let there = there.get_or_insert_with(|| vec![true; index.len()]);
        there.iter_mut().zip(index).for_each(|(there, at)| *there &= *at >= 0);
    }
    there
}

/// Runs of entries, none of which is missing.
fn present(array: &Array, runs: &[Range<usize>]) -> Array {
    let Array::Option { index, content } = array else { return array.gather(runs) };
    let at = runs.iter().cloned().flat_map(|run| index[run].iter());
    let places: Vec<Range<usize>> =
        at.filter_map(|at| usize::try_from(*at).ok()).map(|at| at..at + 1).collect();
    content.gather(&places)
}

impl Formula {
    fn mask(&self, columns: &Batch) -> Result<Vec<bool>> {
        let entries = columns.len() as usize;
        match self.value(&self.root, columns)? {
            Value::Bools(mask) if mask.len() == entries => Ok(mask),
            other => {
                let found = format!("gives {} instead of true or false an entry", other.name());
                Err(wrong(&self.text, &found))
            }
        }
    }

    fn value(&self, node: &Node, columns: &Batch) -> Result<Value> {
        let value = match node {
            Node::Int(value) => i64::try_from(*value)
                .map(Value::Int)
                .map_err(|_| format!("has a number that cannot be read: {value}")),
            Node::Float(value) => Ok(Value::Float(*value)),
            Node::Bool(value) => Ok(Value::Bools(vec![*value; columns.len() as usize])),
            Node::Column(at) => match columns.columns.get(*at) {
                Some((_, Array::Numbers { numbers, shape })) if shape.is_empty() => {
                    Value::of(numbers)
                }
                Some((name, _)) => Err(format!("needs one number an entry, and {name} has others")),
                None => Err("lacks a column".to_owned()),
            },
            Node::Apply(operator, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.push(self.value(argument, columns)?);
                }
                applied(operator, values)
            }
            _ => Err("is computed in Python only".to_owned()),
        };
        value.map_err(|why| wrong(&self.text, &why))
    }
}

fn applied(operator: Operator, mut values: Vec<Value>) -> std::result::Result<Value, String> {
    let (unary, binary) = (Unary::of(operator, values.len()), Binary::of(operator, values.len()));
    match (unary, binary, values.pop(), values.pop()) {
        (Some(unary), _, Some(value), _) => value.unary(unary),
        (_, Some(binary), Some(right), Some(left)) => Value::binary(binary, left, right),
        _ => Err(format!("has {operator}, which only Python computes")),
    }
}

fn wrong(text: &str, why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the formula {text:?} {why}"))
}

#[cfg(test)]
mod tests {
    use rootfile::Numbers;

    use super::*;
    use crate::read::core::request::ColumnRequest;

    fn decide(text: &str, columns: &[(&str, Numbers)]) -> Result<Vec<bool>> {
        let cut = Cut::parse(text)?;
        let chosen = cut.columns.iter().map(|ColumnRequest { name, .. }| {
            let (_, numbers) = columns.iter().find(|(other, _)| other == name).expect("is there");
            (name.clone(), Array::Numbers { numbers: numbers.clone(), shape: vec![] })
        });
        let columns: Vec<_> = chosen.collect();
        let entries = 0..columns[0].1.len() as u64;
        cut.predicate.decide(Batch { entries, survivors: None, columns, left_out: Vec::new() })
    }

    fn mask(text: &str) -> String {
        let columns = [
            ("n", Numbers::U32(vec![0, 1, 2, 3])),
            ("x", Numbers::F32(vec![0.1, 0.5, -2.0, f32::NAN])),
            ("a.d", Numbers::F64(vec![0.1, 4.0, 0.0, 1.0])),
            ("ok", Numbers::Bool(vec![1, 0, 1, 0])),
        ];
        let mask = decide(text, &columns).unwrap_or_else(|error| panic!("{error}"));
        mask.iter().map(|stays| if *stays { '1' } else { '0' }).collect()
    }

    #[test]
    fn nothing_is_true_of_what_lacks_a_value() {
        let numbers = Array::Numbers { numbers: Numbers::I32(vec![5, 7]), shape: vec![] };
        let some = Array::Option { index: vec![1, -1, 0, 1], content: numbers.into() };
        let all = Array::Numbers { numbers: Numbers::I32(vec![0, 1, 2, 3]), shape: vec![] };
        for (text, expected) in [
            ("some > 5", [true, false, false, true]),
            ("~(some > 5)", [false, false, true, false]),
            ("(some > 5) | (all < 3)", [true, false, true, true]),
        ] {
            let cut = Cut::parse(text).unwrap();
            let named = |ColumnRequest { name, .. }: &ColumnRequest| {
                (name.clone(), if name == "some" { some.clone() } else { all.clone() })
            };
            let columns = cut.columns.iter().map(named).collect();
            let batch = Batch { entries: 10..14, survivors: None, columns, left_out: Vec::new() };
            assert_eq!(cut.predicate.decide(batch).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn cuts_mean_what_they_mean_in_python() {
        for (text, expected) in [
            ("n > 1", "0011"),
            ("(n > 0) & (x > 0)", "0100"),
            ("(n == 0) | ok", "1010"),
            ("~ok", "0101"),
            ("~(n >= 2) & ~ok", "0100"),
            ("n - 2 < 0", "1100"),
            ("-x * 2 + 1 >= 1", "0010"),
            ("abs(x) == 2", "0010"),
            ("n / 2 == 0.5", "0100"),
            ("1 / n > 1e300", "1000"),
            ("x != x", "0001"),
            ("a.d == 0.1", "1000"),
            ("get(\"a.d\") > 3", "0100"),
            // A float of 32 bits is compared with the nearest one of 32 bits, as NumPy does.
            ("x == 0.1", "1000"),
            ("x == a.d", "0000"),
            ("2 - 1 == n", "0100"),
            ("(n > 0) == ok", "0010"),
        ] {
            assert_eq!(mask(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, why) in [
            ("", "ends too early"),
            ("n >", "ends too early"),
            ("n > 1 & n < 3", "comparisons in a row"),
            ("0 < n < 3", "comparisons in a row"),
            ("n and 1", "\"and\""),
            ("not n", "\"not\""),
            (
                "n > 1 && n < 3",
                "write &, with each comparison in parentheses, as in (a > 1) & (b > 2)",
            ),
            ("(n > 1) || (n < 0)", "write |,"),
            ("n > 1 and n < 3", "write &,"),
            ("!(n > 1)", "write ~,"),
            ("n ** 2 > 1", "\"**\", which only Python computes"),
            ("sin(n) > 1", "\"sin\", which only Python computes"),
            ("n[0] > 1", "\"[]\", which only Python computes"),
            ("n == 'a'", "\"a\", which only Python computes"),
            ("system(n) > 1", "a function \"system\""),
            ("sin(n, 2) > 1", "gives sin 2 arguments"),
            ("n > 'a'", "a text but to compare it"),
            ("n == 'a", "ends too early"),
            ("n == '\\x'", "behind a backslash"),
            ("n[] > 1", "cannot be read at \"]\""),
            ("n[0 > 1", "ends too early"),
            ("None > n", "may not contain None"),
            ("n > 1_0x", "1_0x"),
            ("f'{n}' == n", "cannot be read at \"'\""),
            ("n = 1", "cannot be read at \"=\""),
            ("n if n else n", "cannot be read at \"if\""),
            ("(n > 1", "ends too early"),
            ("n > 1)", "\")\""),
            ("1 + 1", "names no column"),
            (&"n+".repeat(100_000), "too long"),
            ("n > 99999999999999999999", "99999999999999999999"),
            (&"(".repeat(100_000), "nests too deeply"),
            (&"-".repeat(100_000), "nests too deeply"),
        ] {
            let error = Cut::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{error} lacks {why:?}");
        }
    }

    #[test]
    fn what_only_compares_is_told_from_what_computes() {
        for (text, only_compares) in [
            ("(n > 1) & ~(x <= -2.5) | ok", true),
            ("ok", true),
            ("ok != (n == x)", true),
            ("n", false),
            // Of integers it is another number in NumPy, and refused here.
            ("~n > 1", false),
            ("(n & 1) == 1", false),
            ("n + 1 > 2", false),
            ("-n > 2", false),
            ("ok == 1", false),
            ("2 > 1", false),
            ("abs(x) > 1", false),
            ("n > 9007199254740993", false),
        ] {
            let formula = Formula::parse(text).expect(text);
            let are_bools: Vec<bool> = formula.columns.iter().map(|name| name == "ok").collect();
            assert_eq!(formula.only_compares(&are_bools), only_compares, "{text}");
        }
    }

    /// As Python reads it: which operands an operator takes is all that can differ.
    #[test]
    fn operators_bind_as_in_python() {
        let steps = |text: &str| {
            let formula = Formula::parse(text).expect(text);
            let step = |operation: Operation| match operation {
                Operation::Int(value) => value.to_string(),
                Operation::Float(value) => value.to_string(),
                Operation::Imaginary(value) => format!("{value}j"),
                Operation::Bool(value) => value.to_string(),
                Operation::Text(text) => format!("{text:?}"),
                Operation::Nothing => "None".to_owned(),
                Operation::Ellipsis => "...".to_owned(),
                Operation::Column(column) => formula.columns[column].clone(),
                Operation::Apply(operator, count) => format!("{operator}{count}"),
            };
            formula.operations().into_iter().map(step).collect::<Vec<_>>().join(" ")
        };
        for (text, expected) in [
            ("a + b * c - d", "a b c *2 +2 d -2"),
            ("-a ** -b ** 2", "a b 2 **2 -1 **2 -1"),
            ("a | b ^ c & d << 1 + 2", "a b c d 1 2 +2 <<2 &2 ^2 |2"),
            ("a // b % c / d", "a b //2 c %2 d /2"),
            ("a >> 3 & 1 == 1", "a 3 >>2 1 &2 1 ==2"),
            ("a['b'] == 1", ""),
            (
                "m[:, 1, 2:, ::3]",
                "m None None None slice3 1 2 None None slice3 None None 3 slice3 tuple4 []2",
            ),
            ("m[..., None][0,]", "m ... None tuple2 []2 0 tuple1 []2"),
            ("where(a > 1, b.c, get('d/e'))", "a 1 >2 b.c d/e where3"),
            ("t != 'it\\'s' ", "t \"it's\" !=2"),
            ("0x1f + 1_000 + 1e-3 + .5 + 2j", "31 1000 +2 0.001 +2 0.5 +2 2j +2"),
            ("True & ~ok", "true ok ~1 &2"),
        ] {
            if expected.is_empty() {
                assert!(Formula::parse(text).is_err(), "{text}");
            } else {
                assert_eq!(steps(text), expected, "{text}");
            }
        }
    }

    #[test]
    fn what_comes_to_nothing_ends_the_read() {
        let columns = [("n", Numbers::I64(vec![i64::MAX])), ("u", Numbers::U64(vec![u64::MAX]))];
        for (text, why) in [
            ("n + 1 > 0", "overflows"),
            ("u > 0", "overflows"),
            ("n", "integers instead of true or false"),
            ("n & (n > 1)", "between integers"),
            ("~n > 1", "of integers"),
            ("-(n > 1) > 0", "of true or false"),
            ("(1 > 0) & (n > 0)", "compares constants"),
        ] {
            let error = decide(text, &columns).expect_err(text).to_string();
            assert!(error.contains(why), "{error} lacks {why:?}");
        }
    }
}
