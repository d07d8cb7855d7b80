//! Graphs: the points of all inputs in order (ROOT: `TGraph::Merge`, `TGraphErrors::Merge`, ...).

use crate::array::Numbers;
use crate::error::{Error, Result};
use crate::object::{ObjectRef, Value};
use crate::write::buffer::Buffer;
use crate::write::copy::record::Edits;

/// Members that have a number for each point.
const ARRAYS: [&str; 12] = [
    "fX", "fY", "fEX", "fEY", "fEXlow", "fEXhigh", "fEYlow", "fEYhigh", "fEXlowd", "fEXhighd",
    "fEYlowd", "fEYhighd",
];

/// `TGraph::kResetHisto`: the frame in which a graph was drawn is made anew for its points.
const RESETS_FRAME: u32 = 1 << 17;

/// The points of graphs of one class.
#[derive(Debug)]
pub struct GraphSum {
    points: usize,
    arrays: Vec<(&'static str, Vec<f64>)>,
}

impl GraphSum {
    pub fn new(root: ObjectRef<'_>) -> Result<GraphSum> {
        let mut graph = GraphSum { points: 0, arrays: Vec::new() };
        let here = ARRAYS.into_iter().filter(|name| root.member(name).is_some());
        graph.arrays.extend(here.map(|name| (name, Vec::new())));
        graph.add(root)?;
        Ok(graph)
    }

    /// Adds the points of another graph. Returns `false`: its record is not needed any more.
    pub fn add(&mut self, their: ObjectRef<'_>) -> Result<bool> {
        let points = usize::try_from(their.int("fNpoints")?).unwrap_or(0);
        for (name, all) in &mut self.arrays {
            match their.member(name) {
                Some(Value::Numbers(Numbers::F64(more))) if more.len() == points => {
                    all.extend(more);
                }
                Some(Value::Null) | None if points == 0 => {}
                _ => return Err(Error::corrupt(format!("{name} is not of {points} points"))),
            }
        }
        self.points += points;
        Ok(false)
    }

    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) -> Result<()> {
        edits.set(0, root, "fNpoints", &[self.points as i64])?;
        edits.set_bits(0, root, root.int("fBits")? as u32 | RESETS_FRAME)?;
        for (name, all) in &self.arrays {
            let mut to = Buffer::default();
            to.bool(!all.is_empty());
            all.iter().for_each(|number| to.f64(*number));
            edits.set_bytes(0, root, name, to);
        }
        Ok(())
    }
}
