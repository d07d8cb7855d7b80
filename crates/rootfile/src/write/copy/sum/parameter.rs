//! Parameters (ROOT: `TParameter::Merge`): their sum, or the combination that their bits choose.

use crate::array::Number;
use crate::error::{Error, Result};
use crate::histogram::members::real;
use crate::object::{ObjectRef, Value};
use crate::streamer::MemberKind;
use crate::types::scalar::Scalar;
use crate::write::buffer::Buffer;
use crate::write::copy::record::Edits;

/// Bits that choose how values are combined. The product of bools is `true` if all are.
const MULTIPLY: i64 = 1 << 16;
const MAX: i64 = 1 << 17;
const MIN: i64 = 1 << 18;
const FIRST: i64 = 1 << 19;
const LAST: i64 = 1 << 20;
/// Set as long as all values were equal.
const IS_CONST: i64 = 1 << 21;

#[derive(Debug)]
pub struct ParameterSum {
    value: Of,
    bits: i64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    Bool(bool),
    Whole(i64),
    Real(f64),
}

impl ParameterSum {
    pub fn is_class(class: &str) -> bool {
        let of = class.strip_prefix("TParameter<").and_then(|class| class.strip_suffix('>'));
        matches!(of, Some("bool" | "int" | "Long64_t" | "long" | "float" | "double"))
    }

    pub fn new(root: ObjectRef<'_>) -> Result<ParameterSum> {
        Ok(ParameterSum { value: value(root)?, bits: root.int("fBits")? })
    }

    pub fn add(&mut self, their: ObjectRef<'_>) -> Result<bool> {
        let has = |bit: i64| self.bits & bit != 0;
        let more = value(their)?;
        let is_const = has(IS_CONST) && self.value == more;
        self.value = match (self.value, more) {
            (mine, _) if has(FIRST) => mine,
            (_, more) if has(LAST) => more,
            (Of::Bool(mine), Of::Bool(more)) => match has(MULTIPLY) || has(MIN) {
                true => Of::Bool(mine && more),
                false => Of::Bool(mine || more),
            },
            (Of::Whole(mine), Of::Whole(more)) if has(MULTIPLY) => {
                Of::Whole(mine.wrapping_mul(more))
            }
            (Of::Whole(mine), Of::Whole(more)) if has(MAX) => Of::Whole(mine.max(more)),
            (Of::Whole(mine), Of::Whole(more)) if has(MIN) => Of::Whole(mine.min(more)),
            (Of::Whole(mine), Of::Whole(more)) => Of::Whole(mine.wrapping_add(more)),
            (Of::Real(mine), Of::Real(more)) if has(MULTIPLY) => Of::Real(mine * more),
            (Of::Real(mine), Of::Real(more)) if has(MAX) => Of::Real(mine.max(more)),
            (Of::Real(mine), Of::Real(more)) if has(MIN) => Of::Real(mine.min(more)),
            (Of::Real(mine), Of::Real(more)) => Of::Real(mine + more),
            _ => return Err(Error::corrupt("a parameter of another type")),
        };
        if !is_const {
            self.bits &= !IS_CONST;
        }
        Ok(false)
    }

    pub fn edit(&self, root: ObjectRef<'_>, edits: &mut Edits) -> Result<()> {
        if root.int("fBits")? != self.bits {
            edits.set_bits(0, root, self.bits as u32)?;
        }
        let Some((owner, member)) = root.position("fVal") else { return Ok(()) };
        match self.value {
            Of::Bool(value) => edits.set(0, root, "fVal", &[i64::from(value)]),
            Of::Whole(value) => edits.set(0, root, "fVal", &[value]),
            Of::Real(value) => {
                let mut to = Buffer::default();
                match root.of(owner).kind(member) {
                    MemberKind::Number(Scalar::Number(Number::F32)) => to.f32(value as f32),
                    _ => to.f64(value),
                }
                edits.set_bytes(0, root, "fVal", to);
                Ok(())
            }
        }
    }
}

fn value(root: ObjectRef<'_>) -> Result<Of> {
    Ok(match root.member("fVal") {
        Some(Value::Bool(value)) => Of::Bool(*value),
        Some(Value::Float(_)) => Of::Real(real(root, "fVal")),
        _ => Of::Whole(root.int("fVal")?),
    })
}
