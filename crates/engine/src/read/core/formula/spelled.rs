//! Programs as they are written, and back.

use std::sync::Arc;

use super::node::wrong;
use super::{Formula, Grammar, Operand, Program};
use crate::read::core::spelled::{SpelledFormula, SpelledMeaning};
use remote::Result;

/// Formulas in one program. One that several others have in it is written as often.
const FORMULAS_MAX: usize = 1000;
/// Formulas within each other, of a program from another process.
const DEPTH_MAX: usize = 50;

impl Program {
    /// The program as it is written; `None` for one that has too many formulas in it, counts the
    /// entries of a table here, or means more than its text.
    pub fn spelled(&self) -> Option<SpelledFormula> {
        let mut left = FORMULAS_MAX;
        self.spelled_within(&mut left)
    }

    fn spelled_within(&self, left: &mut usize) -> Option<SpelledFormula> {
        if self.total.is_some() || !self.formula.is_as_written {
            return None;
        }
        *left = left.checked_sub(1)?;
        let mut meanings = Vec::with_capacity(self.meanings.len());
        for meaning in &self.meanings {
            meanings.push(match meaning {
                Operand::Column(at) => SpelledMeaning::Column(*at),
                Operand::Formula(program) => {
                    SpelledMeaning::Formula(Box::new(program.spelled_within(left)?))
                }
            });
        }
        let of_root = self.formula.grammar == Grammar::Root;
        Some(SpelledFormula { text: self.text().to_owned(), of_root, meanings })
    }

    /// The program of a formula that another process has written, over so many columns.
    ///
    /// # Errors
    /// `InvalidArgument` for a formula that cannot be read, and for other meanings than names.
    pub fn of_spelled(spelled: &SpelledFormula, columns: usize) -> Result<Program> {
        Program::of_spelled_at(spelled, columns, DEPTH_MAX)
    }

    fn of_spelled_at(spelled: &SpelledFormula, columns: usize, depth: usize) -> Result<Program> {
        let grammar = if spelled.of_root { Grammar::Root } else { Grammar::Python };
        let formula = Formula::parse_in(&spelled.text, grammar)?;
        if formula.columns.len() != spelled.meanings.len() {
            let count = formula.columns.len();
            let why = format!("has {count} names, and {} meanings", spelled.meanings.len());
            return Err(wrong(&spelled.text, &why));
        }
        let mut operands = Vec::with_capacity(spelled.meanings.len());
        for meaning in &spelled.meanings {
            operands.push(match meaning {
                SpelledMeaning::Column(at) if *at < columns => Operand::Column(*at),
                SpelledMeaning::Column(at) => {
                    let why = format!("names column {at} of {columns}");
                    return Err(wrong(&spelled.text, &why));
                }
                SpelledMeaning::Formula(inner) => {
                    let depth = depth.checked_sub(1);
                    let depth = depth.ok_or_else(|| wrong(&inner.text, "is in too many others"))?;
                    Operand::Formula(Arc::new(Program::of_spelled_at(inner, columns, depth)?))
                }
            });
        }
        Program::new(Arc::new(formula), operands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_same_in_another_process() {
        let inner = Arc::new(Formula::parse_in("a + b", Grammar::Root).unwrap());
        let inner = Program::new(inner, vec![Operand::Column(1), Operand::Column(0)]).unwrap();
        let outer = Arc::new(Formula::parse("(twice > 3) & (c < 1)").unwrap());
        let meanings = vec![Operand::Formula(Arc::new(inner)), Operand::Column(2)];
        let program = Program::new(outer, meanings).unwrap();
        let spelled = program.spelled().unwrap();
        assert_eq!(spelled.meanings.len(), 2);
        let again = Program::of_spelled(&spelled, 3).unwrap();
        assert_eq!(again.spelled().unwrap(), spelled);
        let error = Program::of_spelled(&spelled, 2).unwrap_err().to_string();
        assert!(error.contains("column 2 of 2"), "{error}");
        let short = SpelledFormula { meanings: Vec::new(), ..spelled };
        assert!(Program::of_spelled(&short, 3).is_err());
    }

    #[test]
    fn what_grows_beyond_bounds_is_not_written() {
        let formula = Arc::new(Formula::parse("x + y").unwrap());
        let mut program = Program::new(formula.clone(), vec![Operand::Column(0); 2]).unwrap();
        for _ in 0..40 {
            let inner = Operand::Formula(Arc::new(program));
            program = Program::new(formula.clone(), vec![inner; 2]).unwrap();
        }
        assert!(program.spelled().is_none());
    }
}
