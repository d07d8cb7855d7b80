//! Constants among themselves, as Python computes them.

use super::arithmetic::Binary;
use super::broadcast::Value;
use super::node::Operator;
use super::numbers::Computed;

const TOO_LARGE: &str = "has a constant that is too large";
const BY_ZERO: &str = "divides a constant by zero";

/// An operator of constants.
pub(super) fn value(operator: Operator, values: &[Value]) -> Computed<Value> {
    match (operator, values) {
        ("tuple" | "slice", _) => Err("has an index of nothing".to_owned()),
        (_, [one]) => sign(operator, one),
        (_, [left, right]) => {
            let operation = Binary::of(operator).ok_or("has an unknown operator")?;
            match (left, right) {
                (Value::Text(one), Value::Text(other)) => match operation {
                    Binary::Equal => Ok(Value::Bool(one == other)),
                    Binary::NotEqual => Ok(Value::Bool(one != other)),
                    _ => Err("computes with texts".to_owned()),
                },
                (Value::Text(_), _) | (_, Value::Text(_)) => Err("computes with texts".to_owned()),
                (Value::Bool(one), Value::Bool(other)) => match operation {
                    Binary::And => Ok(Value::Bool(*one && *other)),
                    Binary::Or => Ok(Value::Bool(*one || *other)),
                    Binary::Xor => Ok(Value::Bool(one != other)),
                    _ => integers(operation, (*one).into(), (*other).into()),
                },
                _ => match (whole(left), whole(right)) {
                    (Some(one), Some(other)) => integers(operation, one, other),
                    _ => floats(operation, real(left), real(right)),
                },
            }
        }
        _ => Err("has an operator of several constants".to_owned()),
    }
}

fn sign(operator: Operator, one: &Value) -> Computed<Value> {
    Ok(match (operator, whole(one), one) {
        (_, _, Value::Text(_)) => return Err("computes with texts".to_owned()),
        ("-", Some(one), _) => Value::Int(one.checked_neg().ok_or(TOO_LARGE)?),
        ("+", Some(one), _) => Value::Int(one),
        ("~", Some(one), _) => Value::Int(!one),
        ("-", ..) => Value::Float(-real(one)),
        ("+", ..) => Value::Float(real(one)),
        _ => return Err("has ~ of a float".to_owned()),
    })
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(one) => Some(*one),
        Value::Bool(one) => Some((*one).into()),
        _ => None,
    }
}

fn real(value: &Value) -> f64 {
    match value {
        Value::Float(one) => *one,
        other => whole(other).unwrap_or(0) as f64,
    }
}

fn integers(operation: Binary, left: i128, right: i128) -> Computed<Value> {
    if operation.compares() {
        return Ok(Value::Bool(operation.holds(Some(left.cmp(&right)))));
    }
    let result = match operation {
        Binary::Add => left.checked_add(right),
        Binary::Subtract => left.checked_sub(right),
        Binary::Multiply => left.checked_mul(right),
        Binary::Divide if right == 0 => return Err(BY_ZERO.to_owned()),
        Binary::Divide => return Ok(Value::Float(left as f64 / right as f64)),
        Binary::FloorDivide | Binary::Remainder if right == 0 => return Err(BY_ZERO.to_owned()),
        Binary::FloorDivide => left.checked_rem(right).and_then(|rest| {
            let down = rest != 0 && (rest < 0) != (right < 0);
            left.checked_div(right)?.checked_sub(i128::from(down))
        }),
        Binary::Remainder => left.checked_rem(right).map(|rest| match rest != 0 {
            true if (rest < 0) != (right < 0) => rest + right,
            _ => rest,
        }),
        Binary::Power if right < 0 => return floats(operation, left as f64, right as f64),
        Binary::Power => match left {
            0 | 1 => Some(if right == 0 { 1 } else { left }),
            -1 => Some(if right % 2 == 0 { 1 } else { -1 }),
            _ => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
        },
        Binary::And => Some(left & right),
        Binary::Or => Some(left | right),
        Binary::Xor => Some(left ^ right),
        _ if right < 0 => return Err("shifts by a negative number".to_owned()),
        Binary::ShiftLeft if left == 0 => Some(0),
        Binary::ShiftLeft => {
            let factor = u32::try_from(right).ok().and_then(|by| 1i128.checked_shl(by));
            factor.filter(|factor| *factor > 0).and_then(|factor| left.checked_mul(factor))
        }
        _ => Some(left >> right.min(127)),
    };
    result.map(Value::Int).ok_or_else(|| TOO_LARGE.to_owned())
}

fn floats(operation: Binary, left: f64, right: f64) -> Computed<Value> {
    if operation.compares() {
        return Ok(Value::Bool(operation.holds(left.partial_cmp(&right))));
    }
    let divides = matches!(operation, Binary::Divide | Binary::FloorDivide | Binary::Remainder);
    if divides && right == 0.0 || operation == Binary::Power && left == 0.0 && right < 0.0 {
        return Err(BY_ZERO.to_owned());
    }
    let rest = || {
        let rest = left % right;
        if rest != 0.0 && (rest < 0.0) != (right < 0.0) { rest + right } else { rest }
    };
    Ok(Value::Float(match operation {
        Binary::Add => left + right,
        Binary::Subtract => left - right,
        Binary::Multiply => left * right,
        Binary::Divide => left / right,
        Binary::FloorDivide => ((left - rest()) / right).round_ties_even(),
        Binary::Remainder => rest(),
        Binary::Power => {
            let power = left.powf(right);
            if power.is_nan() && !left.is_nan() && !right.is_nan() {
                return Err("has a root of a negative constant".to_owned());
            }
            if power.is_infinite() && left.is_finite() && right.is_finite() {
                return Err(TOO_LARGE.to_owned());
            }
            power
        }
        _ => return Err("has an operator of bits, &, |, ^, << or >>, of a float".to_owned()),
    }))
}
