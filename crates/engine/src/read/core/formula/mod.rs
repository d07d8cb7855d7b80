//! Formulas: one expression tree, one way to compute it, and two grammars.
//!
//! Those that users write are a part of Python's language, with NumPy's rules of types:
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
//! `(nMuon > 1) & (MET_pt > 50)`. A name is a column; a text is only compared. Those that files
//! have, as aliases and in a `TTreeIndex`, are ROOT's (`root`).
//!
//! Every formula gives one value or one list an entry, and needs no other entry for it: the entries
//! may come in any pieces.

mod arithmetic;
mod broadcast;
mod constants;
mod counting;
mod evaluate;
mod functions;
mod instances;
mod items;
pub(crate) mod members;
mod node;
mod numbers;
mod of_root;
mod parse;
mod program;
mod reduced;
mod root;
mod rows;
mod spelled;
mod split;
mod tmath;

use std::sync::Arc;

use rootfile::{Array, Numbers};

use super::columns::{Batch, datashape};
use super::cut::{Cut, Predicate};
use super::define::{Compute, Definition, of_column};
use super::request::ColumnRequest;
use super::spelled::SpelledFormula;
use node::{Node, wrong};
use remote::Result;

pub use program::{Operand, Program};

/// The language of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// Of formulas that users write.
    Python,
    /// Of formulas in files: `TTreeFormula`'s.
    Root,
}

/// A formula as it was written, and the names of its columns.
#[derive(Debug)]
pub struct Formula {
    text: String,
    root: Node,
    grammar: Grammar,
    /// Whether the text says all of it.
    is_as_written: bool,
    /// Each once, in the order in which they are first named.
    pub columns: Vec<String>,
}

impl Formula {
    /// Reads a formula in Python's grammar. Whether its columns are there is found out when it is
    /// used.
    ///
    /// # Errors
    /// `InvalidArgument` naming the part that cannot be understood.
    pub fn parse(text: &str) -> Result<Formula> {
        Formula::parse_in(text, Grammar::Python)
    }

    /// As [`Formula::parse`], in either grammar.
    ///
    /// # Errors
    /// The same.
    pub fn parse_in(text: &str, grammar: Grammar) -> Result<Formula> {
        let (root, columns) = match grammar {
            Grammar::Python => parse::parse(text)?,
            Grammar::Root => root::parse(text)?,
        };
        Ok(Formula { text: text.to_owned(), root, grammar, is_as_written: true, columns })
    }

    /// Names of the functions that formulas of Python's grammar may have.
    pub fn functions() -> impl Iterator<Item = &'static str> {
        functions::FUNCTIONS.iter().map(|(name, ..)| *name)
    }

    /// Whether it is more than the name of a column, or a constant.
    pub fn is_computed(&self) -> bool {
        matches!(self.root, Node::Apply(..)) || self.text.contains('(')
    }

    /// Whether it is in ROOT's grammar.
    pub fn is_of_root(&self) -> bool {
        self.grammar == Grammar::Root
    }

    /// Whether the numbers of entries are in it.
    pub fn counts_entries(&self) -> bool {
        self.root.any(&|node| matches!(node, Node::Apply("@Entry$" | "@Entries$", _)))
    }

    /// Whether the number of all entries is in it.
    pub fn counts_all_entries(&self) -> bool {
        self.root.any(&|node| matches!(node, Node::Apply("@Entries$", _)))
    }

    /// A program that has a column of its own for each name.
    fn of_columns(text: &str) -> Result<Program> {
        let formula = Formula::parse(text)?;
        match formula.columns.is_empty() {
            true => Err(wrong(text, "names no column")),
            false => Ok(Program::of(Arc::new(formula))),
        }
    }
}

impl Cut {
    /// Reads a cut, such as `(nMuon > 1) & (MET_pt > 50)`. Whether its columns are there is
    /// found out when it is used.
    ///
    /// # Errors
    /// `InvalidArgument` naming the part that cannot be understood.
    pub fn parse(text: &str) -> Result<Cut> {
        let program = Formula::of_columns(text)?;
        Ok(Cut::new(program.columns().to_vec(), program))
    }
}

impl Definition {
    /// A new column by a formula such as `Muon_pt_sum / nMuon`, with one value or one list an
    /// entry. A column that the table lacks is an error of the read.
    ///
    /// # Errors
    /// As [`Cut::parse`].
    pub fn parse(name: &str, text: &str) -> Result<Definition> {
        let program = Formula::of_columns(text).map_err(|error| of_column(name, error))?;
        let columns = program.columns().iter().map(ColumnRequest::named).collect();
        Ok(Definition { name: name.to_owned(), columns, compute: Arc::new(program) })
    }
}

impl Compute for Program {
    fn compute(&self, columns: Batch) -> Result<Array> {
        self.array(&columns, None)
    }
}

impl Predicate for Program {
    /// Comparisons with missing values are false, and so is the cut where its value is missing.
    fn decide(&self, columns: Batch) -> Result<Vec<bool>> {
        let found = self.truths(&columns)?;
        let is_true = |numbers: &[u8]| numbers.iter().map(|one| *one != 0).collect::<Vec<_>>();
        let truths = |array: &Array| match array {
            Array::Numbers { numbers: Numbers::Bool(all), shape } if shape.is_empty() => {
                Some(is_true(all))
            }
            _ => None,
        };
        let mask = match &found {
            Array::Option { index, content } => truths(content).map(|all| {
                let one = |at: &i64| usize::try_from(*at).is_ok_and(|at| all[at]);
                index.iter().map(one).collect()
            }),
            array => truths(array),
        };
        mask.ok_or_else(|| {
            let why = format!("gives {}, and a cut gives one bool an entry", datashape(&found));
            wrong(self.text(), &why)
        })
    }

    fn spelled(&self) -> Option<SpelledFormula> {
        Program::spelled(self)
    }
}

/// An expression whose values are whole numbers, in ROOT's grammar.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    /// Names of its columns.
    pub columns: Vec<String>,
    program: Arc<Program>,
}

impl Expression {
    /// The expression that is a column of this name.
    pub fn column(name: &str) -> Expression {
        let text = name.to_owned();
        let columns = vec![name.to_owned()];
        let root = Node::Column(0);
        let grammar = Grammar::Root;
        let formula =
            Formula { text, root, grammar, is_as_written: true, columns: columns.clone() };
        Expression { columns, program: Arc::new(Program::of(Arc::new(formula))) }
    }

    /// Reads an expression.
    ///
    /// # Errors
    /// As [`Cut::parse`]; an expression may be a constant.
    pub fn parse(text: &str) -> Result<Expression> {
        let formula = Formula::parse_in(text, Grammar::Root)?;
        Ok(Expression {
            columns: formula.columns.clone(),
            program: Arc::new(Program::of(Arc::new(formula))),
        })
    }

    /// Its values, truncated to integers, as ROOT does.
    ///
    /// # Errors
    /// `InvalidArgument` where it cannot be computed.
    pub fn integers(&self, columns: &Batch) -> Result<Vec<i64>> {
        self.program.integers(columns)
    }
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
    fn comparisons_with_what_lacks_a_value_are_false() {
        let numbers = Array::Numbers { numbers: Numbers::I32(vec![5, 7]), shape: vec![] };
        let some = Array::Option { index: vec![1, -1, 0, 1], content: numbers.into() };
        let all = Array::Numbers { numbers: Numbers::I32(vec![0, 1, 2, 3]), shape: vec![] };
        for (text, expected) in [
            ("some > 5", [true, false, false, true]),
            ("some != 5", [true, false, false, true]),
            ("~(some > 5)", [false, true, true, false]),
            ("(some > 5) | (all < 3)", [true, true, true, true]),
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
            // Integers wrap around at the ends of their type.
            ("n - 2 > 4294967290", "1100"),
            ("n % 2 == 1", "0101"),
            ("sqrt(n) ** 2 // 1 == 1", "0100"),
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

    /// As Python reads it: which operands an operator takes is all that can differ.
    #[test]
    fn operators_bind_as_in_python() {
        fn append(node: &Node, names: &[String], steps: &mut Vec<String>) {
            let step = match node {
                Node::Int(value) => value.to_string(),
                Node::Float(value) => value.to_string(),
                Node::Imaginary(value) => format!("{value}j"),
                Node::Bool(value) => value.to_string(),
                Node::Text(text) => format!("{text:?}"),
                Node::Nothing => "None".to_owned(),
                Node::Ellipsis => "...".to_owned(),
                Node::Column(column) => names[*column].clone(),
                Node::Apply(operator, arguments) => {
                    arguments.iter().for_each(|argument| append(argument, names, steps));
                    format!("{operator}{}", arguments.len())
                }
            };
            steps.push(step);
        }
        let steps = |text: &str| {
            let formula = Formula::parse(text).expect(text);
            let mut steps = Vec::new();
            append(&formula.root, &formula.columns, &mut steps);
            steps.join(" ")
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
        let columns = [("n", Numbers::I64(vec![i64::MAX])), ("x", Numbers::F32(vec![1.5]))];
        for (text, why) in [
            ("n", "gives int64, and a cut gives one bool an entry"),
            ("n & (n > 1)", "gives int64"),
            ("-(n > 1) > 0", "a sign of true or false"),
            ("(n > 1) - (n > 2)", "subtracts true or false"),
            ("x & 1 == 0", "of float32"),
            ("n[0] > 1", "takes some of the entries"),
            ("n[:, 0] > 1", "more dimensions"),
            ("n == 'a'", "texts with numbers"),
            ("n > 9 ** 9 ** 9 ** 9", "too large"),
            ("n > 1 << 10000000000", "too large"),
            ("n > 1 / 0", "by zero"),
            ("n ** -1 > 0", "to a negative power"),
            ("n + 9223372036854775808 > 0", "cannot hold"),
        ] {
            let error = decide(text, &columns).expect_err(text).to_string();
            assert!(error.contains(why), "{error} lacks {why:?}");
        }
        assert_eq!(decide("n + 1 < 0", &columns).unwrap(), [true], "it wraps around");
        assert_eq!(decide("n < 9223372036854775808", &columns).unwrap(), [true]);
    }
}
