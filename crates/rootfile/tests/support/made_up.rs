//! Tables of seeded types and entries, and the values that a reader finds in the branches that they
//! become.

use std::sync::Arc;

use farroot_rootfile::array::Number;
use farroot_rootfile::write::{EntryType, TableColumn};
use farroot_rootfile::{Array, Numbers};

/// Numbers that follow from a seed.
pub struct Dice(fastrand::Rng);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(fastrand::Rng::with_seed(seed))
    }

    pub fn roll(&mut self, below: usize) -> usize {
        self.0.usize(..below)
    }

    /// The same in a new order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}

/// Columns of seeded types.
pub fn columns(dice: &mut Dice) -> Vec<TableColumn> {
    let count = 1 + dice.roll(7);
    let column = |at| TableColumn {
        name: format!("c{at}"),
        title: if dice.roll(2) == 0 { String::new() } else { format!("title of {at}") },
        entry: entry(dice, 0),
    };
    (0..count).map(column).collect()
}

fn entry(dice: &mut Dice, depth: usize) -> EntryType {
    let number = EntryType::Number(Number::ALL[dice.roll(Number::ALL.len())]);
    let fixed =
        |content: EntryType, length| EntryType::Regular { length, content: Box::new(content) };
    match dice.roll(if depth < 3 { 9 } else { 3 }) {
        0 => number,
        1 => fixed(number, 1 + dice.roll(3)),
        2 => EntryType::String,
        3 => fixed(fixed(number, 2), 3),
        4..=6 => EntryType::List(Box::new(entry(dice, depth + 1))),
        7 if depth == 0 => fixed(EntryType::List(Box::new(number)), 2),
        _ => {
            let members = 1 + dice.roll(3);
            let member = |at| (format!("m{at}"), entry(dice, depth + 1));
            EntryType::Record((0..members).map(member).collect())
        }
    }
}

/// So many entries of a type.
pub fn array(dice: &mut Dice, entry: &EntryType, count: usize) -> Array {
    match entry {
        EntryType::Number(number) => {
            Array::Numbers { numbers: numbers(dice, *number, count), shape: vec![] }
        }
        EntryType::Regular { length, content } => match array(dice, content, count * length) {
            Array::Numbers { numbers, mut shape } => {
                shape.insert(0, *length);
                Array::Numbers { numbers, shape }
            }
            content => {
                Array::Regular { length: *length, entries: count, content: Box::new(content) }
            }
        },
        EntryType::List(content) => {
            let offsets = offsets(dice, count, 4);
            let content = array(dice, content, offsets[count] as usize);
            Array::List { offsets: offsets.into(), content: Box::new(content) }
        }
        EntryType::String => {
            let longest = if dice.roll(8) == 0 { 400 } else { 12 };
            let offsets = offsets(dice, count, longest);
            let bytes = (0..offsets[count]).map(|_| b'a' + dice.roll(26) as u8).collect();
            Array::Strings { offsets, bytes }
        }
        EntryType::Record(members) => {
            let field =
                |(name, member): &(String, EntryType)| (name.clone(), array(dice, member, count));
            let fields = members.iter().map(field).collect();
            Array::Record { class: None, entries: count, fields }
        }
        EntryType::Option(_) | EntryType::Union(_) => unreachable!("columns() makes none"),
    }
}

fn offsets(dice: &mut Dice, count: usize, below: usize) -> Vec<i64> {
    let mut end = 0;
    let mut offsets = vec![0];
    offsets.extend((0..count).map(|_| {
        end += dice.roll(below) as i64;
        end
    }));
    offsets
}

fn numbers(dice: &mut Dice, number: Number, count: usize) -> Numbers {
    let mut roll = |below| (0..count).map(|_| dice.roll(below) as i64 - 40).collect::<Vec<_>>();
    macro_rules! cast {
        ($kind:ident) => {
            Numbers::$kind(roll(1000).into_iter().map(|n| n as _).collect())
        };
    }
    match number {
        Number::Bool => Numbers::Bool(roll(2).into_iter().map(|n| (n + 40) as u8).collect()),
        Number::I8 => cast!(I8),
        Number::I16 => cast!(I16),
        Number::I32 => cast!(I32),
        Number::I64 => cast!(I64),
        Number::U8 => cast!(U8),
        Number::U16 => cast!(U16),
        Number::U32 => cast!(U32),
        Number::U64 => cast!(U64),
        Number::F32 => cast!(F32),
        Number::F64 => cast!(F64),
    }
}

/// The branches of a column, but for counters: their names and entries.
pub fn branches(name: &str, array: &Array) -> Vec<(String, Array)> {
    within(name, array, 0)
}

fn within(name: &str, array: &Array, lists: usize) -> Vec<(String, Array)> {
    let list = |offsets: Vec<i64>, content: &Array| {
        let wrap = |(name, content)| {
            (name, Array::List { offsets: offsets.clone().into(), content: Box::new(content) })
        };
        within(name, content, lists + 1).into_iter().map(wrap).collect()
    };
    let regular = |length: usize, entries: usize, content: &Array| {
        list((0..=entries).map(|n| (n * length) as i64).collect(), content)
    };
    match array {
        Array::Record { fields, .. } => fields
            .iter()
            .flat_map(|(inner, field)| within(&format!("{name}_{inner}"), field, lists))
            .collect(),
        Array::List { offsets, content } => list(offsets.to_vec(), content),
        Array::Regular { length, entries, content } => regular(*length, *entries, content),
        // A vector of vectors has no arrays of fixed length.
        Array::Numbers { numbers, shape } if lists > 1 && !shape.is_empty() => {
            let content = Array::Numbers { numbers: numbers.clone(), shape: shape[1..].to_vec() };
            regular(shape[0], array.len(), &content)
        }
        other => vec![(name.to_owned(), other.clone())],
    }
}

/// Adds entries in pieces of so many.
pub fn pieces(arrays: &[Array], step: usize) -> Vec<Vec<Arc<Array>>> {
    let count = arrays[0].len();
    let piece = |start: usize| {
        let entries = start..(start + step).min(count);
        arrays.iter().map(|array| Arc::new(array.slice(entries.clone()))).collect()
    };
    (0..count).step_by(step.max(1)).map(piece).collect()
}
