//! Lists beside each other in ROOT's grammar.
//!
//! `TTreeFormula` determines from all columns of a formula how many items of each entry it
//! computes: as many as the shortest list has, but a list of one item in front of longer ones does
//! not count. Values of items that a list lacks are NaN, whatever the formula does with them. Lists
//! within lists have such a rule of their own. (Source: `TTree::Draw` of ROOT 6.40.)

use std::ops::Range;

use rootfile::{Array, Numbers};

use super::broadcast::{Lists, Value, listed, plain, taken};
use super::node::Node;
use super::numbers::{Cast, Computed, Side};
use super::rows::ItemRows;

/// The NaN of an item that is not there: one that no computation gives.
const MISSING: f64 = f64::from_bits(0x7ff8_6661_7272_6f74);

pub(super) fn is_missing(x: f64) -> bool {
    x.to_bits() == MISSING.to_bits()
}

/// A column of a formula, or items of one, and its values.
pub(super) struct AlignedColumn<'a> {
    pub node: &'a Node,
    pub rows: ItemRows,
}

/// Computes a part of a formula by itself.
pub(super) type Alone<'a> = &'a dyn Fn(&Node) -> Computed<ItemRows>;

/// The columns of a formula, or of the arguments of a reduction such as `Sum$`, with lists as long
/// as each other.
pub(super) fn aligned_columns<'a>(
    formulas: &[&'a Node],
    alone: Alone<'_>,
) -> Computed<Vec<AlignedColumn<'a>>> {
    let mut parts = Vec::new();
    for formula in formulas {
        gather(formula, alone, &mut parts)?;
    }
    refuse_items_of_other_dimensions(&parts, alone)?;
    align(&mut parts)?;
    Ok(parts)
}

/// The columns that determine how many values a formula has.
fn gather<'a>(
    node: &'a Node,
    alone: Alone<'_>,
    parts: &mut Vec<AlignedColumn<'a>>,
) -> Computed<()> {
    match node {
        Node::Apply("@double" | "@[]" | "@sizes", _) => {
            parts.push(AlignedColumn { node, rows: alone(node)? });
        }
        Node::Apply("@Sum$" | "@Length$" | "@Min$" | "@Max$" | "@MinIf$" | "@MaxIf$", _) => {}
        Node::Apply("@Alt$" | "@size", _) => {}
        Node::Apply(_, arguments) => {
            for argument in arguments {
                gather(argument, alone, parts)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// # Errors
/// For `m[1]` beside the whole of `m`: ROOT numbers the items of `m[1]` by those of `m`, and so
/// reads behind its end.
fn refuse_items_of_other_dimensions(parts: &[AlignedColumn<'_>], alone: Alone<'_>) -> Computed<()> {
    let most = parts.iter().map(|part| part.rows.rank()).max().unwrap_or(0);
    for part in parts.iter().filter(|part| (1..most).contains(&part.rows.rank())) {
        let Some(first) = first_item(part.node) else { continue };
        if alone(first)?.value.is_constant() {
            return Err("has an item of an array, which is a list, beside an array of more \
                        dimensions: ROOT pairs them by other indices than those of the list"
                .to_owned());
        }
    }
    Ok(())
}

/// The index of the first dimension, where one item of it is taken.
fn first_item(part: &Node) -> Option<&Node> {
    match part {
        Node::Apply("@[]", arguments) => arguments.get(1).filter(|one| **one != Node::Nothing),
        _ => None,
    }
}

/// Lists of a part of a formula.
struct AlignedLists {
    array: Array,
    /// Whether it is one item of each entry, which is a list.
    is_item: bool,
    /// Whether the lists in its lists have the one item that an index names, or none.
    is_named: bool,
    /// Which of the computed items its lists have.
    has: Vec<bool>,
}

/// Gives the lists of an entry as many items.
fn align(parts: &mut [AlignedColumn<'_>]) -> Computed<()> {
    if parts.iter().filter(|part| part.rows.rank() > 0).count() < 2 {
        return Ok(());
    }
    let mut places = Vec::new();
    let mut lists = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let Value::Array(array) = &part.rows.value else { continue };
        let array = opened(array)?;
        if length(&array).is_some() {
            places.push(at);
            let is_item = matches!(first_item(part.node), Some(Node::Float(_)));
            let is_named = part.rows.named.contains(&2);
            lists.push(AlignedLists { array, is_item, is_named, has: Vec::new() });
        }
    }
    if lists.len() < 2 {
        return Ok(());
    }
    for (at, part) in places.into_iter().zip(aligned(lists)?) {
        parts[at].rows.value = Value::Array(part.array);
    }
    Ok(())
}

/// The array with its lists in sight, also those of which some are missing.
fn opened(array: &Array) -> Computed<Array> {
    Ok(match listed(array.clone())? {
        Array::Option { index, content } => {
            Array::Option { index, content: Box::new(listed(*content)?) }
        }
        array => array,
    })
}

/// How many items the lists of an array have: a number for all of them, or each its own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Fixed(usize),
    Own,
}

/// `None` of an array without lists.
fn length(array: &Array) -> Option<Length> {
    match array {
        Array::Option { content, .. } => Lists::of(content).map(|_| Length::Own),
        array => Lists::of(array).map(|lists| lists.fixed.map_or(Length::Own, Length::Fixed)),
    }
}

/// The items of one list in the content; none of a list that is missing.
fn items(array: &Array, entry: usize) -> Range<usize> {
    match array {
        Array::Option { index, content } => {
            usize::try_from(index[entry]).map_or(0..0, |at| items(content, at))
        }
        array => Lists::of(array).map_or(0..0, |lists| lists.at(entry)),
    }
}

/// How many items are computed of lists of which one has `least` and the next `count`.
fn fewer(least: usize, count: usize) -> usize {
    if least == 1 { count } else { least.min(count) }
}

/// The items that are computed of arrays of fixed lengths; 1 without any.
fn fixed_length<'a>(arrays: impl Iterator<Item = &'a Array>) -> usize {
    let fixed = arrays.filter_map(|array| match length(array) {
        Some(Length::Fixed(length)) => Some(length),
        _ => None,
    });
    fixed.fold(1, fewer)
}

/// Lists of the same entries, made as long as each other.
fn aligned(mut parts: Vec<AlignedLists>) -> Computed<Vec<AlignedLists>> {
    let fixed = fixed_length(parts.iter().map(|part| &part.array));
    let of_entry = |entry: usize| {
        let own = parts.iter().filter(|part| length(&part.array) == Some(Length::Own));
        own.fold(fixed, |least, part| match items(&part.array, entry).len() {
            1 if part.is_item => least,
            count => fewer(least, count),
        })
    };
    let counts: Vec<usize> = (0..parts[0].array.len()).map(of_entry).collect();
    let has_deeper = deeper(&parts)?;
    let is_short = |part: &AlignedLists| {
        counts.iter().enumerate().any(|(entry, count)| items(&part.array, entry).len() < *count)
    };
    if !has_deeper && !parts.iter().any(is_short) {
        return Ok(parts);
    }
    let is_fixed = !parts.iter().any(|part| length(&part.array) == Some(Length::Own));
    let length = is_fixed.then_some(fixed);
    for part in &mut parts {
        let own = |entry: usize| items(&part.array, entry).len();
        let has = counts.iter().enumerate().flat_map(|(entry, count)| {
            let own = own(entry);
            (0..*count).map(move |at| at < own)
        });
        part.has = if has_deeper { has.collect() } else { Vec::new() };
        let array = std::mem::replace(&mut part.array, plain(Numbers::F64(Vec::new())));
        part.array = resized(array, &counts, length, false)?;
    }
    if has_deeper {
        align_deeper(&mut parts)?;
    }
    Ok(parts)
}

/// The lists within the lists of an array.
fn inner(array: &Array) -> Computed<Option<Array>> {
    let Some(lists) = Lists::of(array) else { return Ok(None) };
    let content = listed(lists.content.clone())?;
    Ok(Lists::of(&content).is_some().then_some(content))
}

/// Whether several have lists in their lists whose lengths may differ.
///
/// # Errors
/// For a fixed dimension of one item beside another: ROOT reads the next row instead.
fn deeper(parts: &[AlignedLists]) -> Computed<bool> {
    let mut lengths = Vec::new();
    for part in parts {
        lengths.extend(inner(&part.array)?.as_ref().and_then(length));
    }
    let fixed = |length: &Length| matches!(length, Length::Fixed(_));
    let is_one = |length: &Length| *length == Length::Fixed(1);
    let is_other = |length: &Length| fixed(length) && !is_one(length);
    if lengths.iter().any(is_one) && lengths.iter().any(is_other) {
        return Err("has an array whose second dimension has one item beside one of more: ROOT \
                    reads items of the next row for those that are not there"
            .to_owned());
    }
    Ok(lengths.len() > 1 && !lengths.iter().all(fixed))
}

/// As [`aligned`], for the lists in lists that have the same items.
fn align_deeper(parts: &mut [AlignedLists]) -> Computed<()> {
    let mut places = Vec::new();
    let mut inside = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if let Some(content) = inner(&part.array)? {
            places.push(at);
            inside.push(content);
        }
    }
    let fixed = fixed_length(inside.iter());
    let has_fixed = inside.iter().any(|array| length(array) != Some(Length::Own));
    let of_list = |at: usize| {
        let all = inside.iter().zip(&places).filter(|(_, place)| parts[**place].has[at]);
        let own = all.filter(|(array, _)| length(array) == Some(Length::Own));
        let least = own.fold(0, |least, (array, _)| match (least, items(array, at).len()) {
            (0, count) => count,
            (least, count) => least.min(count),
        });
        match (has_fixed, least) {
            (false, least) => least,
            (true, 1) => fixed,
            (true, least) => least.min(fixed),
        }
    };
    let counts: Vec<usize> = (0..inside[0].len()).map(of_list).collect();
    for (at, content) in places.into_iter().zip(inside) {
        let content = resized(content, &counts, None, parts[at].is_named)?;
        if let Array::List { content: old, .. } | Array::Regular { content: old, .. } =
            &mut parts[at].array
        {
            **old = content;
        }
    }
    Ok(())
}

/// Lists with as many items as `counts` says, all of them `length` where that is given: cut off, or
/// continued with NaN, or with the one item that is there if it `repeats`.
fn resized(
    array: Array,
    counts: &[usize],
    length: Option<usize>,
    repeats: bool,
) -> Computed<Array> {
    if let Array::Option { index, content } = array {
        let there = || index.iter().zip(counts).filter(|(at, _)| **at >= 0);
        let present = taken(&content, there().map(|(at, _)| *at as usize));
        let counts: Vec<usize> = there().map(|(_, count)| *count).collect();
        let mut numbers = 0..;
        let index = index.iter().map(|at| if *at < 0 { -1 } else { numbers.next().unwrap_or(-1) });
        let index = index.collect();
        let content = Box::new(resized(present, &counts, length, repeats)?);
        return Ok(Array::Option { index, content });
    }
    let Some(lists) = Lists::of(&array) else { return Ok(array) };
    let beyond = lists.content.len();
    let mut offsets = vec![0i64];
    let mut places = Vec::new();
    let mut is_short = false;
    for (entry, count) in counts.iter().enumerate() {
        let items = lists.at(entry);
        let here = items.len().min(*count);
        places.extend(items.start..items.start + here);
        let is_repeated = repeats && here == 1;
        let rest = if is_repeated { items.start } else { beyond };
        places.extend(std::iter::repeat_n(rest, count - here));
        is_short |= here < *count && !is_repeated;
        offsets.push(places.len() as i64);
    }
    let content = Box::new(match is_short {
        true => taken(&continued(lists.content.clone(), 1)?, places.into_iter()),
        false => taken(lists.content, places.into_iter()),
    });
    Ok(match length {
        Some(length) => Array::Regular { length, entries: counts.len(), content },
        None => Array::List { offsets: offsets.into(), content },
    })
}

/// The array with rows of NaN behind it.
fn continued(array: Array, rows: usize) -> Computed<Array> {
    Ok(match array {
        Array::Numbers { numbers, shape } => {
            let mut numbers = f64::cast(Side::All(&numbers)).map(|one| one);
            let width: usize = shape.iter().product();
            numbers.extend(std::iter::repeat_n(MISSING, rows * width));
            Array::Numbers { numbers: Numbers::F64(numbers), shape }
        }
        Array::Regular { length, entries, content } => {
            let content = Box::new(continued(*content, rows * length)?);
            Array::Regular { length, entries: entries + rows, content }
        }
        Array::List { offsets, content } => {
            let mut offsets = offsets.to_vec();
            let end = offsets.last().copied().unwrap_or(0);
            offsets.extend(std::iter::repeat_n(end, rows));
            Array::List { offsets: offsets.into(), content }
        }
        Array::Option { mut index, content } => {
            let first = content.len() as i64;
            index.extend((0..rows as i64).map(|row| first + row));
            Array::Option { index, content: Box::new(continued(*content, rows)?) }
        }
        Array::WithParameter { parameter, content } => {
            continued(*content, rows)?.with_parameter(parameter)
        }
        _ => return Err("has lists of other lengths beside lists of texts".to_owned()),
    })
}
