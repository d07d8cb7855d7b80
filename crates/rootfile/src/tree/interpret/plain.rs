//! TBranch: the leaves say everything.

use std::sync::Arc;

use super::layout::{Counted, Counter, Entry, Layout, Prefix, Record, Text};
use super::{Interpretation, fixed_shape, shape_of};
use crate::array::Number;
use crate::error::{Error, Result};
use crate::tree::model::{Branch, BranchId, Leaf, LeafKind};
use crate::types::reduced::{Reduced, Target};
use crate::types::scalar::Scalar;

pub(super) fn interpret(id: BranchId, branch: &Branch) -> Result<Interpretation> {
    match &branch.leaves[..] {
        [] => Err(Error::not_found("a branch without leaves holds nothing")),
        [leaf] => single(branch, leaf),
        _ => leaf_list(id, branch),
    }
}

fn single(branch: &Branch, leaf: &Leaf) -> Result<Interpretation> {
    if leaf.kind == LeafKind::Chars {
        return Ok(Interpretation::new("char*", Layout::Text(Text::Leaf), Entry::Value));
    }
    let LeafNumbers { scalar, shape } = numbers(branch, leaf)?;
    let inner = brackets(&shape);
    let layout = Layout::Scalars { scalar, shape };
    let Some((counter, counter_leaf)) = leaf.count else {
        return Ok(Interpretation::new(
            format!("{}{inner}", scalar.typename()),
            layout,
            Entry::Fixed,
        ));
    };
    let entry = Entry::Items { header: 0, counted: false };
    let mut jagged = Interpretation::new(format!("{}[]{inner}", scalar.typename()), layout, entry);
    (jagged.counter, jagged.counter_leaf) = (Some(counter), counter_leaf as usize);
    Ok(jagged)
}

/// The numbers of a leaf: how each is stored, and their fixed dimensions.
#[derive(Debug, PartialEq)]
pub(crate) struct LeafNumbers {
    scalar: Scalar,
    shape: Vec<usize>,
}

/// Those of a leaf of a `TBranch`.
///
/// # Errors
/// `Unsupported` for a leaf of no numbers.
pub(crate) fn numbers(branch: &Branch, leaf: &Leaf) -> Result<LeafNumbers> {
    let scalar = scalar_of(leaf)?;
    if branch.leaves.len() > 1 {
        return Ok(LeafNumbers { scalar, shape: shape_of(&[&leaf.title], leaf.len)? });
    }
    // Reduced numbers have their range in the leaf's title and their dimensions in the branch's;
    // members of a TBranchClones have them in its name.
    let dimensions = match scalar {
        Scalar::Number(_) if leaf.count.is_some() && fixed_shape(&leaf.title).is_empty() => {
            &branch.name
        }
        Scalar::Number(_) => &leaf.title,
        _ => branch.title.split('/').next().unwrap_or(&branch.title),
    };
    Ok(LeafNumbers { scalar, shape: shape_of(&[dimensions], leaf.len)? })
}

/// Several leaves, one after the other in each entry: a structure of C.
fn leaf_list(id: BranchId, branch: &Branch) -> Result<Interpretation> {
    let leaves = &branch.leaves;
    let mut members = Vec::with_capacity(leaves.len());
    let mut names = Vec::with_capacity(leaves.len());
    let mut counter = None;
    for leaf in leaves {
        let (typename, layout) = member(id, branch, leaf, &mut counter)?;
        names.push(format!("{typename} {};", leaf.name));
        members.push((leaf.name.clone(), layout));
    }
    let fixed = members.iter().all(|(_, layout)| layout.fixed_size().is_some());
    let record = Arc::new(Record::of_members(None, members));
    let layout = Layout::Record { header: false, record };
    let entry = if fixed { Entry::Fixed } else { Entry::Leaves };
    let typename = format!("struct {{{}}}", names.join(" "));
    let mut structure = Interpretation::new(typename, layout, entry);
    if let Some((branch, leaf)) = counter {
        (structure.counter, structure.counter_leaf) = (Some(branch), leaf as usize);
    }
    Ok(structure)
}

/// One of several leaves; `outside` is the counter of its numbers in another branch.
fn member(
    id: BranchId,
    branch: &Branch,
    leaf: &Leaf,
    outside: &mut Option<(BranchId, u32)>,
) -> Result<(String, Layout)> {
    if leaf.kind == LeafKind::Chars {
        return Ok(("char*".into(), Layout::Text(Text::Leaf)));
    }
    let LeafNumbers { scalar, shape } =
        numbers(branch, leaf).map_err(|error| error.within(&leaf.name))?;
    let inner = brackets(&shape);
    let numbers = Layout::Scalars { scalar, shape };
    let by = match leaf.count {
        None => return Ok((format!("{}{inner}", scalar.typename()), numbers)),
        Some((branch, at)) if branch == id => Counter::Field(at as usize),
        Some(other) => match outside.replace(other) {
            Some(before) if before != other => {
                return Err(Error::unsupported("leaves that several other branches count"));
            }
            _ => Counter::Branch,
        },
    };
    let triangle = false;
    let prefix = Prefix::Nothing;
    let item = Box::new(numbers);
    let layout = Layout::Counted(Counted { by, triangle, prefix, item });
    Ok((format!("{}[]{inner}", scalar.typename()), layout))
}

fn scalar_of(leaf: &Leaf) -> Result<Scalar> {
    let number = match (&leaf.kind, leaf.unsigned) {
        (LeafKind::Bool, _) => Number::Bool,
        (LeafKind::I8, false) => Number::I8,
        (LeafKind::I8, true) => Number::U8,
        (LeafKind::I16, false) => Number::I16,
        (LeafKind::I16, true) => Number::U16,
        (LeafKind::I32, false) => Number::I32,
        (LeafKind::I32, true) => Number::U32,
        (LeafKind::I64, false) => Number::I64,
        (LeafKind::I64, true) => Number::U64,
        (LeafKind::F32, _) => Number::F32,
        (LeafKind::F64, _) => Number::F64,
        (LeafKind::Float16, _) => return reduced(leaf, Target::Float16),
        (LeafKind::Double32, _) => return reduced(leaf, Target::Double32),
        (LeafKind::Chars, _) => return Err(Error::unsupported("leaf of class TLeafC here")),
        (LeafKind::Element { .. }, _) => {
            return Err(Error::unsupported("leaf of class TLeafElement in a TBranch"));
        }
        (LeafKind::Object { .. }, _) => {
            return Err(Error::unsupported("leaf of class TLeafObject in a TBranch"));
        }
        (LeafKind::Other(class), _) => {
            return Err(Error::unsupported(format!("leaf of class {class}")));
        }
    };
    Ok(Scalar::Number(number))
}

fn reduced(leaf: &Leaf, target: Target) -> Result<Scalar> {
    Reduced::from_title(target, &leaf.title)
        .ok_or_else(|| Error::unsupported(format!("range of leaf \"{}\"", leaf.title)))
}

/// `[2][3]`
pub(super) fn brackets(shape: &[usize]) -> String {
    shape.iter().map(|len| format!("[{len}]")).collect()
}
