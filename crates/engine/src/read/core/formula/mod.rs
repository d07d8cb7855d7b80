//! Cuts as text: a part of Python's language, so that a cut means the same wherever it is written.
//!
//! ```text
//! cut       = either [ ( < | <= | > | >= | == | != ) either ]
//! either    = both { '|' both }
//! both      = sum { '&' sum }
//! sum       = product { ( + | - ) product }
//! product   = unary { ( * | / ) unary }
//! unary     = ( + | - | ~ ) unary | atom
//! atom      = number | name | get("name") | abs( cut ) | ( cut )
//! ```
//!
//! As in Python `&` and `|` bind closer than comparisons, which therefore stand in parentheses:
//! `(nMuon > 1) & (MET_pt > 50)`. A name is a column with one number an entry. Numbers of 32 bits
//! stay so beside constants, as in NumPy; integers do not wrap around, but end the read. What the
//! text may not contain here is refused, never understood in another way.

mod parse;
mod value;

use std::ops::Range;
use std::sync::Arc;

use rootfile::Array;

use super::columns::Batch;
use super::cut::{Cut, Predicate};
use remote::{Error, ErrorKind, Result};
use value::Value;

/// An expression over columns.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Int(i64),
    Float(f64),
    /// The column with this number among the names.
    Column(usize),
    Unary(Unary, Box<Node>),
    Binary(Binary, Box<Node>, Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unary {
    Minus,
    Plus,
    Not,
    Abs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    And,
    Or,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

/// A cut as it was written.
#[derive(Debug)]
struct Formula {
    text: String,
    root: Node,
}

impl Cut {
    /// Reads a cut, such as `(nMuon > 1) & (MET_pt > 50)`. Whether its columns are there is
    /// found out when it is used.
    ///
    /// # Errors
    /// `InvalidArgument` saying what cannot be understood.
    pub fn parse(text: &str) -> Result<Cut> {
        let (root, columns) = parse::parse(text)?;
        if columns.is_empty() {
            return Err(wrong(text, "names no column"));
        }
        Ok(Cut::new(columns, Formula { text: text.to_owned(), root }))
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
        let formula = Formula { text: name.to_owned(), root: Node::Column(0) };
        Expression { columns: vec![name.to_owned()], formula: Arc::new(formula) }
    }

    /// Reads an expression.
    ///
    /// # Errors
    /// As [`Cut::parse`]; an expression may be a constant.
    pub fn parse(text: &str) -> Result<Expression> {
        let (root, columns) = parse::parse(text)?;
        Ok(Expression { columns, formula: Arc::new(Formula { text: text.to_owned(), root }) })
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
            Node::Int(value) => Ok(Value::Int(*value)),
            Node::Float(value) => Ok(Value::Float(*value)),
            Node::Column(at) => match columns.columns.get(*at) {
                Some((_, Array::Numbers { numbers, shape })) if shape.is_empty() => {
                    Value::of(numbers)
                }
                Some((name, _)) => Err(format!("needs one number an entry, and {name} has others")),
                None => Err("lacks a column".to_owned()),
            },
            Node::Unary(operation, of) => self.value(of, columns)?.unary(*operation),
            Node::Binary(operation, left, right) => {
                let (left, right) = (self.value(left, columns)?, self.value(right, columns)?);
                Value::binary(*operation, left, right)
            }
        };
        value.map_err(|why| wrong(&self.text, &why))
    }
}

fn wrong(text: &str, why: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the cut {text:?} {why}"))
}

#[cfg(test)]
mod tests {
    use rootfile::Numbers;

    use super::*;
    use crate::read::core::request::Chosen;

    fn decide(text: &str, columns: &[(&str, Numbers)]) -> Result<Vec<bool>> {
        let cut = Cut::parse(text)?;
        let chosen = cut.columns.iter().map(|Chosen { name, .. }| {
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
            let named = |Chosen { name, .. }: &Chosen| {
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
            ("n ** 2 > 1", "\"*\""),
            ("sin(n) > 1", "a function sin"),
            ("n[0] > 1", "\"[\""),
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
