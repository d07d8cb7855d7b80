//! From a layout to its steps, and to the fills from the spans that these find.

use std::sync::Arc;

use super::fill::Fill;
use crate::array::Number;
use crate::tree::interpret::layout::{Frame, Layout, List, Part, Record, Text};
use crate::types::scalar::Scalar;

/// One thing after the other, as they are written. A slot takes where it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Members of fixed size, `size` bytes an object: of one object one after the other, of several
    /// each for all of them.
    Block {
        slot: usize,
        size: usize,
    },
    /// The base class of most: its identifier and its bits.
    TObject {
        slot: usize,
    },
    Text {
        slot: usize,
        text: Written,
    },
    List {
        slot: usize,
        frame: Frame,
        items: Items,
    },
    /// An object, with a header where one is written.
    Object {
        header: bool,
        members: Members,
    },
    /// A base class: `as_one` where collections that are written member by member have its members
    /// as their own.
    Base {
        as_one: bool,
        members: Members,
    },
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// `TString`, each on its own.
    Root,
    /// `std::string`; in a frame where it is a member.
    Standard { framed: bool },
    /// `char*`: with a length of four bytes.
    Pointed,
}

/// The items of a list.
#[derive(Debug, Clone, PartialEq)]
pub enum Items {
    /// `size` bytes each.
    Fixed {
        size: usize,
    },
    Each(Box<Step>),
    /// Objects, which may be written member by member.
    Objects {
        header: bool,
        members: Members,
    },
}

/// The members of objects, in the first version of their class.
#[derive(Debug, Clone, PartialEq)]
pub struct Members {
    pub record: Arc<Record>,
    pub steps: Vec<Step>,
}

/// The steps of a layout, and the fill from them; `None` where there is none for it.
pub fn layout(layout: &Layout, slots: &mut usize) -> Option<(Step, Fill)> {
    match layout {
        Layout::Scalars { scalar, .. } if *scalar != Scalar::Bits => {
            let slot = next(slots);
            let size = size_of(layout)?;
            let fill = Fill::Numbers { slot, before: 0, size, scalar: *scalar };
            Some((Step::Block { slot, size }, fill))
        }
        Layout::Text(text) => {
            let text = match text {
                Text::Root => Written::Root,
                Text::Standard { framed } => Written::Standard { framed: *framed },
                Text::Pointed => Written::Pointed,
                Text::Leaf | Text::Object { .. } | Text::Whole => return None,
            };
            let slot = next(slots);
            Some((Step::Text { slot, text }, Fill::Texts { slot }))
        }
        Layout::List(written) => list(written, slots),
        Layout::Record { header, record } => {
            let (members, fill) = object(record, slots)?;
            Some((Step::Object { header: *header, members }, fill))
        }
        _ => None,
    }
}

fn list(list: &List, slots: &mut usize) -> Option<(Step, Fill)> {
    let slot = next(slots);
    let (items, content) = match &*list.item {
        item @ Layout::Scalars { scalar, .. } if *scalar != Scalar::Bits => {
            let size = size_of(item)?;
            (Items::Fixed { size }, Fill::Numbers { slot, before: 0, size, scalar: *scalar })
        }
        Layout::Record { header, record } => {
            let (members, fill) = object(record, slots)?;
            (Items::Objects { header: *header, members }, fill)
        }
        item => {
            let (step, fill) = layout(item, slots)?;
            (Items::Each(Box::new(step)), fill)
        }
    };
    let fill = Fill::Lists { slot, content: Box::new(content) };
    Some((Step::List { slot, frame: list.frame, items }, fill))
}

fn object(record: &Arc<Record>, slots: &mut usize) -> Option<(Members, Fill)> {
    if record.is_wrapper {
        return None;
    }
    let mut fields = Vec::new();
    let members = members(record, 0, &mut fields, slots)?;
    let whole = !fields.is_empty() && fields.len() == record.names.len();
    whole.then_some((members, Fill::Objects { fields }))
}

/// The members of a class whose fields begin at `first` of those that are being filled.
fn members(
    record: &Arc<Record>,
    first: usize,
    fields: &mut Vec<(usize, Fill)>,
    slots: &mut usize,
) -> Option<Members> {
    let mut steps = Vec::new();
    for part in &record.versions.first()?.parts {
        match part {
            Part::Member { at, layout: layout @ Layout::Scalars { scalar, .. } }
                if *scalar != Scalar::Bits =>
            {
                let size = size_of(layout)?;
                let (slot, before) = block(&mut steps, size, slots)?;
                let fill = Fill::Numbers { slot, before, size, scalar: *scalar };
                fields.extend(at.map(|at| (first + at, fill)));
            }
            Part::Member { at, layout } => {
                let (step, fill) = self::layout(layout, slots)?;
                steps.push(step);
                fields.extend(at.map(|at| (first + at, fill)));
            }
            Part::Base { at, version, record, is_object } => {
                let mut scratch = Vec::new();
                let fields = if at.is_some() { &mut *fields } else { &mut scratch };
                let members = members(record, first + at.unwrap_or(0), fields, slots)?;
                let found = record.version(*version, 0).or_else(|| record.versions.first());
                // Where collections are written member by member, nothing says which version it is.
                found.filter(|found| members.are_of(found))?;
                steps.push(Step::Base { as_one: !is_object, members });
            }
            Part::TObject { id, bits } => {
                let slot = next(slots);
                for (at, before) in [(id, 0), (bits, 4)] {
                    let scalar = Scalar::Number(Number::U32);
                    let fill = Fill::Numbers { slot, before, size: 4, scalar };
                    fields.extend(at.map(|at| (first + at, fill)));
                }
                steps.push(Step::TObject { slot });
            }
            Part::Skip(size) => drop(block(&mut steps, *size, slots)?),
            Part::Converted { .. } | Part::Pointers(_) | Part::Framed | Part::Rest => return None,
        }
    }
    Some(Members { record: record.clone(), steps })
}

/// Adds a member to the block that the steps end with, or begins one; its slot, and the bytes
/// before the member in it.
fn block(steps: &mut Vec<Step>, more: usize, slots: &mut usize) -> Option<(usize, usize)> {
    if let Some(Step::Block { slot, size }) = steps.last_mut() {
        let before = *size;
        *size = size.checked_add(more)?;
        return Some((*slot, before));
    }
    let slot = next(slots);
    steps.push(Step::Block { slot, size: more });
    Some((slot, 0))
}

fn size_of(layout: &Layout) -> Option<usize> {
    layout.fixed_size().filter(|size| *size > 0)
}

fn next(slots: &mut usize) -> usize {
    *slots += 1;
    *slots - 1
}
