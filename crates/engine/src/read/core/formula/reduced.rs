//! Numbers of ROOT's grammar that come of all items of an entry.

use rootfile::{Array, Numbers};

use super::broadcast::{Leaf, Lengths, Lists, Value, combine, listed, taken};
use super::evaluate::Entries;
use super::instances::AlignedColumn;
use super::node::{Node, Operator};
use super::numbers::{Cast, Computed, Side};
use super::of_root::doubles;

/// The items of each entry, whatever lists they are in.
pub(super) struct Flat {
    offsets: Vec<usize>,
    numbers: Vec<f64>,
}

impl Flat {
    pub fn of(array: &Array) -> Computed<Flat> {
        let array = listed(array.clone())?;
        if let Array::Option { index, content } = &array {
            let inner = Flat::of(content)?;
            let mut flat = Flat { offsets: vec![0], numbers: Vec::new() };
            for at in index {
                if let Ok(at) = usize::try_from(*at) {
                    flat.numbers.extend(inner.of_entry(at));
                }
                flat.offsets.push(flat.numbers.len());
            }
            return Ok(flat);
        }
        if let Some(lists) = Lists::of(&array) {
            let inner = Flat::of(lists.content)?;
            let mut offsets = vec![0];
            offsets.extend((0..array.len()).map(|entry| inner.offsets[lists.at(entry).end]));
            return Ok(Flat { offsets, numbers: inner.numbers });
        }
        let numbers = match &array {
            Array::Numbers { numbers, .. } => f64::cast(Side::All(numbers)).map(|one| one),
            Array::Strings { .. } => vec![f64::NAN; array.len()],
            _ => return Err("computes with what is no number".to_owned()),
        };
        Ok(Flat { offsets: (0..=array.len()).collect(), numbers })
    }

    pub fn of_entry(&self, entry: usize) -> &[f64] {
        &self.numbers[self.offsets[entry]..self.offsets[entry + 1]]
    }

    /// One number an entry.
    fn each(&self, of: impl Fn(&[f64]) -> f64) -> Array {
        let entries = self.offsets.len() - 1;
        doubles((0..entries).map(|entry| of(self.of_entry(entry))).collect())
    }
}

/// `Sum$` and its like: missing where a friend lacks the entry.
pub(super) fn value(of: &Entries<'_>, operator: Operator, arguments: &[Node]) -> Computed<Value> {
    let lacking = arguments.iter().filter_map(|argument| of.lacking(argument));
    let lacking: Vec<_> = lacking.collect();
    let array = of_all(of, operator, arguments)?;
    if lacking.is_empty() {
        return Ok(Value::Array(array));
    }
    let is_there = |entry: &usize| !lacking.iter().any(|each| each[*entry]);
    let content = taken(&array, (0..of.count).filter(is_there));
    let mut places = 0..;
    let index = (0..of.count).map(|entry| match is_there(&entry) {
        true => places.next().unwrap_or(-1),
        false => -1,
    });
    Ok(Value::Array(Array::Option { index: index.collect(), content: Box::new(content) }))
}

fn of_all(of: &Entries<'_>, operator: Operator, arguments: &[Node]) -> Computed<Array> {
    let Some((first, others)) = arguments.split_first() else {
        return Err("has a sum of nothing".to_owned());
    };
    let Some(condition) = others.first() else {
        let array = of.of_formula(first)?.into_array(of.count)?;
        let array = if operator == "@Length$" { without_objects(array) } else { array };
        let flat = Flat::of(&array)?;
        let of_all: fn(&[f64]) -> f64 = match operator {
            "@Sum$" => |all| all.iter().fold(0.0, |sum, one| sum + one),
            "@Length$" => |all| all.len() as f64,
            "@Min$" => |all| least(all.iter().copied()),
            _ => |all| greatest(all.iter().copied()),
        };
        return Ok(flat.each(of_all));
    };
    let parts = of.aligned(&[first, condition])?;
    let beside = Entries { parts: Some(&parts), ..*of };
    let array = beside.value(first)?.into_array(of.count)?;
    let both = [Value::Array(array), beside.value(condition)?];
    let side = |at: usize| {
        combine(&both, Lengths::Shortest, &move |leaves: &[Leaf<'_>]| {
            let [Leaf::Numbers(one), Leaf::Numbers(condition)] = leaves else {
                return Err("has a text as a condition".to_owned());
            };
            let pick = |a: f64, b: f64| if at == 0 { a } else { b };
            Ok(Numbers::F64(f64::cast(*one).zip(&f64::cast(*condition), pick)))
        })
    };
    let numbers = Flat::of(&side(0)?)?;
    let conditions = Flat::of(&side(1)?)?;
    let chosen = |entry: usize| {
        let all = numbers.of_entry(entry).iter().zip(conditions.of_entry(entry));
        let all = all.filter(|(_, condition)| **condition != 0.0).map(|(number, _)| *number);
        if operator == "@MinIf$" { least(all) } else { greatest(all) }
    };
    Ok(doubles((0..of.count).map(chosen).collect()))
}

/// The same with a number for each object, where these are only counted.
fn without_objects(array: Array) -> Array {
    match array {
        Array::Record { entries, .. } => doubles(vec![0.0; entries]),
        Array::List { offsets, content } => {
            Array::List { offsets, content: Box::new(without_objects(*content)) }
        }
        Array::Regular { length, entries, content } => {
            Array::Regular { length, entries, content: Box::new(without_objects(*content)) }
        }
        array => array,
    }
}

fn least(all: impl Iterator<Item = f64>) -> f64 {
    all.reduce(|least, one| if one < least { one } else { least }).unwrap_or(0.0)
}

fn greatest(all: impl Iterator<Item = f64>) -> f64 {
    all.reduce(|most, one| if one > most { one } else { most }).unwrap_or(0.0)
}

/// `Length$` and `Iteration$`: how many values the formula has in each entry, and which one it is.
pub(super) fn of_instances(of: &Entries<'_>, operator: Operator) -> Computed<Value> {
    let parts = of.parts.ok_or("has Length$ or Iteration$ within an index")?;
    let Some(shape) = instances(parts)? else {
        return Ok(Value::Float(if operator == "@Iteration$" { 0.0 } else { 1.0 }));
    };
    let flat = Flat::of(&shape)?;
    if operator == "@Instances$" {
        return Ok(Value::Array(flat.each(|all| all.len() as f64)));
    }
    let numbers = flat.offsets.windows(2).flat_map(|ends| 0..ends[1] - ends[0]);
    let numbers = numbers.map(|at| at as f64).collect();
    Ok(Value::Array(numbered(shape, numbers)))
}

/// A zero for each value that a formula of these columns has; `None` without columns.
pub(super) fn instances(columns: &[AlignedColumn<'_>]) -> Computed<Option<Array>> {
    let values = columns.iter().map(|column| column.rows.value.clone());
    let values: Vec<Value> = values.filter(|value| !value.is_constant()).collect();
    if values.is_empty() {
        return Ok(None);
    }
    let zeros = |leaves: &[Leaf<'_>]| {
        let length = |leaf: &Leaf<'_>| match leaf {
            Leaf::Numbers(side) => side.len(),
            Leaf::Strings(offsets, _) => Some(offsets.len() - 1),
            Leaf::Text(_) => None,
        };
        Ok(Numbers::F64(vec![0.0; leaves.iter().find_map(length).unwrap_or(1)]))
    };
    combine(&values, Lengths::Shortest, &zeros).map(Some)
}

/// The same lists with other numbers in them.
pub(super) fn numbered(array: Array, numbers: Vec<f64>) -> Array {
    match array {
        Array::List { offsets, content } => {
            Array::List { offsets, content: Box::new(numbered(*content, numbers)) }
        }
        Array::Regular { length, entries, content } => {
            Array::Regular { length, entries, content: Box::new(numbered(*content, numbers)) }
        }
        Array::Option { index, content } => {
            Array::Option { index, content: Box::new(numbered(*content, numbers)) }
        }
        _ => doubles(numbers),
    }
}
