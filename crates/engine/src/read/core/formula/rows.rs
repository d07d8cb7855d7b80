//! Items that an index takes of each row, beside other columns of the same rows.
//!
//! `vv[][0]` is the first item of each inner list. While a formula is computed, it stays in the
//! inner lists, each of which then has this item or none: so the other columns of the formula are
//! taken at the rows that have the item. Afterwards the items are one list.
//! (Source: `TTreeFormulaManager` of ROOT 6.40.)

use rootfile::Array;

use super::broadcast::{Lists, Value};
use super::instances::AlignedColumn;
use super::items::dimensions;

/// A value whose lists may have the one item that an index names, or none.
#[derive(Debug, Clone)]
pub(super) struct ItemRows {
    pub value: Value,
    /// The dimensions of these lists: those of the entries' lists are 1.
    pub named: Vec<usize>,
}

impl ItemRows {
    /// A value without such lists.
    pub fn plain(value: Value) -> ItemRows {
        ItemRows { value, named: Vec::new() }
    }

    /// What is computed of columns: it has the lists in which all of its columns have such items.
    pub fn of(value: Value, columns: &[AlignedColumn<'_>]) -> ItemRows {
        let most = columns.iter().map(|column| column.rows.rank()).max().unwrap_or(0);
        let is_named = |dimension: &usize| {
            let mut deep = columns.iter().filter(|column| column.rows.rank() >= *dimension);
            deep.all(|column| column.rows.named.contains(dimension))
        };
        ItemRows { value, named: (2..=most).filter(is_named).collect() }
    }

    /// How many lists are within each other.
    pub fn rank(&self) -> usize {
        match &self.value {
            Value::Array(array) => dimensions(array) - 1,
            _ => 0,
        }
    }

    /// The value with the items in the lists around those that an index has named.
    pub fn joined(self) -> Value {
        match self.value {
            Value::Array(array) => {
                let inwards = self.named.iter().rev();
                Value::Array(inwards.fold(array, |array, at| without_dimension(array, *at)))
            }
            value => value,
        }
    }
}

/// The array with the items of its lists of one dimension in those around them.
fn without_dimension(array: Array, dimension: usize) -> Array {
    if let Array::Option { index, content } = array {
        let content = Box::new(without_dimension(*content, dimension));
        return Array::Option { index, content };
    }
    let Some(lists) = Lists::of(&array) else { return array };
    if dimension > 2 {
        return match array {
            Array::List { offsets, content } => {
                let content = Box::new(without_dimension(*content, dimension - 1));
                Array::List { offsets, content }
            }
            Array::Regular { length, entries, content } => {
                let content = Box::new(without_dimension(*content, dimension - 1));
                Array::Regular { length, entries, content }
            }
            array => array,
        };
    }
    let Some(inner) = Lists::of(lists.content) else { return array };
    let end = |entry: usize| match lists.at(entry).end.checked_sub(1) {
        Some(last) => inner.at(last).end as i64,
        None => 0,
    };
    let offsets: Vec<i64> = std::iter::once(0).chain((0..array.len()).map(end)).collect();
    Array::List { offsets: offsets.into(), content: Box::new(inner.content.clone()) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rootfile::Numbers;

    use super::super::broadcast::plain;
    use super::super::reduced::Flat;
    use super::super::{Formula, Grammar, Operand, Program};
    use super::*;
    use crate::read::core::columns::Batch;
    use remote::Result;

    fn numbers(all: &[f64]) -> Array {
        plain(Numbers::F64(all.to_vec()))
    }

    fn lists(counts: &[i64], content: Array) -> Array {
        let mut offsets = vec![0];
        counts.iter().for_each(|count| offsets.push(offsets[offsets.len() - 1] + count));
        Array::List { offsets: offsets.into(), content: Box::new(content) }
    }

    fn of_root(text: &str) -> Arc<Formula> {
        Arc::new(Formula::parse_in(text, Grammar::Root).unwrap())
    }

    fn computed(program: &Program, columns: &[(&str, Array)]) -> Result<Array> {
        let columns = columns.iter().map(|(name, array)| ((*name).to_owned(), array.clone()));
        let columns = columns.collect();
        let batch = Batch { entries: 0..2, survivors: None, columns, left_out: Vec::new() };
        program.array(&batch, None)
    }

    /// Two entries: `[[], [3, 5], [7, 11], []]` and `[[2], [], [3, 4]]`.
    fn deep() -> Array {
        let inner = lists(&[0, 2, 2, 0, 1, 0, 2], numbers(&[3., 5., 7., 11., 2., 3., 4.]));
        lists(&[4, 3], inner)
    }

    fn flat() -> Array {
        lists(&[4, 3], numbers(&[100., 200., 300., 400., 100., 200., 300.]))
    }

    fn of_entries(array: &Array) -> [Vec<f64>; 2] {
        let flat = Flat::of(array).unwrap();
        [flat.of_entry(0).to_vec(), flat.of_entry(1).to_vec()]
    }

    /// Regression: items that are there stood beside those of other rows. (Drawn by ROOT 6.40.)
    #[test]
    fn items_stay_in_their_rows() {
        let columns = [("d", deep()), ("v", flat())];
        for (text, rank, expected) in [
            ("d[][0]+0*v", 1, [vec![3., 7.], vec![2., 3.]]),
            ("d[][0]*v", 1, [vec![600., 2100.], vec![200., 900.]]),
            ("d[][0]-d[][1]+0*v", 1, [vec![-2., -4.], vec![-1.]]),
            ("d*d[][0]+0*v", 2, [vec![9., 49.], vec![4., 9.]]),
            ("Iteration$+0*d[][0]*v", 1, [vec![0., 1.], vec![0., 1.]]),
            ("Sum$(d[][0]*v)", 0, [vec![2700.], vec![1100.]]),
            ("MaxIf$(v,d[][0]>2)+0*Sum$(d)", 0, [vec![300.], vec![300.]]),
            ("Alt$(d[1][0],9)+0*v", 1, [vec![3., 9., 9., 9.], vec![9., 9., 9.]]),
        ] {
            let formula = of_root(text);
            let named = formula.columns.iter().map(|name| {
                let column = columns.iter().find(|(column, _)| column == name).unwrap();
                column.clone()
            });
            let named: Vec<_> = named.collect();
            let array = computed(&Program::of(formula), &named).unwrap();
            assert_eq!(of_entries(&array), expected, "{text}");
            assert_eq!(dimensions(&array) - 1, rank, "{text}");
        }
    }

    #[test]
    fn an_alias_stays_in_its_rows() {
        let of_alias = |text: &str| {
            let alias = Program::new(of_root("d[][0]"), vec![Operand::Column(0)]).unwrap();
            let meanings = vec![Operand::Formula(Arc::new(alias)), Operand::Column(1)];
            let program = Program::new(of_root(text), meanings).unwrap();
            computed(&program, &[("d", deep()), ("v", flat())])
        };
        let array = of_alias("alias*v").unwrap();
        assert_eq!(of_entries(&array), [vec![600., 2100.], vec![200., 900.]]);
        let error = of_alias("alias[0]*v").unwrap_err().to_string();
        assert!(error.contains("write the index in the alias"), "{error}");
    }

    /// Regression: it was 0, which passes cuts.
    #[test]
    fn what_a_friend_lacks_has_no_sum() {
        let content = Box::new(lists(&[1], numbers(&[3.])));
        let lacking = Array::Option { index: vec![-1, 0], content };
        for text in ["Sum$(x)", "Length$(x)", "Max$(x)+1", "@x.size()", "Sum$(x[0])"] {
            let array = computed(&Program::of(of_root(text)), &[("x", lacking.clone())]).unwrap();
            assert!(matches!(&array, Array::Option { index, .. } if *index == [-1, 0]), "{text}");
        }
        let program = Program::of(of_root("Alt$(x[0],5)+Sum$(Alt$(x[0],7))"));
        let array = computed(&program, &[("x", lacking)]).unwrap();
        assert_eq!(array, numbers(&[12., 6.]));
        let short = [("x", lists(&[0, 1], numbers(&[3.])))];
        let array = computed(&Program::of(of_root("Sum$(x[0])")), &short).unwrap();
        assert_eq!(array, numbers(&[0., 3.]));
    }
}
