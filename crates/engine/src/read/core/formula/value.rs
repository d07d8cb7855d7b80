//! What expressions come to, all entries at once.

use rootfile::{Array, Numbers};

use super::Operator;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Minus,
    Plus,
    Not,
    Abs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    And,
    Or,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

impl Unary {
    /// What a formula calls so, with so many arguments.
    pub fn of(operator: Operator, arguments: usize) -> Option<Self> {
        Some(match (operator, arguments) {
            ("-" | "neg", 1) => Unary::Minus,
            ("+", 1) => Unary::Plus,
            ("~", 1) => Unary::Not,
            ("abs" | "absolute", 1) => Unary::Abs,
            _ => return None,
        })
    }
}

impl Binary {
    /// As [`Unary::of`].
    pub fn of(operator: Operator, arguments: usize) -> Option<Self> {
        Some(match (operator, arguments) {
            ("+", 2) => Binary::Add,
            ("-", 2) => Binary::Subtract,
            ("*", 2) => Binary::Multiply,
            ("/", 2) => Binary::Divide,
            ("&", 2) => Binary::And,
            ("|", 2) => Binary::Or,
            ("<", 2) => Binary::Less,
            ("<=", 2) => Binary::LessEqual,
            (">", 2) => Binary::Greater,
            (">=", 2) => Binary::GreaterEqual,
            ("==", 2) => Binary::Equal,
            ("!=", 2) => Binary::NotEqual,
            _ => return None,
        })
    }
}

/// Constants, and one value an entry.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Int(i64),
    Float(f64),
    Bools(Vec<bool>),
    Ints(Vec<i64>),
    Singles(Vec<f32>),
    Doubles(Vec<f64>),
}

type Computed = Result<Value, String>;

const OVERFLOW: &str = "overflows an integer of 64 bits";

impl Value {
    /// The numbers of a column.
    pub fn of(numbers: &Numbers) -> Computed {
        Ok(match numbers {
            Numbers::Bool(numbers) => Value::Bools(numbers.iter().map(|one| *one != 0).collect()),
            Numbers::I8(numbers) => ints(numbers),
            Numbers::I16(numbers) => ints(numbers),
            Numbers::I32(numbers) => ints(numbers),
            Numbers::I64(numbers) => Value::Ints(numbers.clone()),
            Numbers::U8(numbers) => ints(numbers),
            Numbers::U16(numbers) => ints(numbers),
            Numbers::U32(numbers) => ints(numbers),
            Numbers::U64(numbers) => {
                let numbers = numbers.iter().map(|one| i64::try_from(*one));
                Value::Ints(numbers.collect::<Result<_, _>>().map_err(|_| OVERFLOW)?)
            }
            Numbers::F32(numbers) => Value::Singles(numbers.clone()),
            Numbers::F64(numbers) => Value::Doubles(numbers.clone()),
        })
    }

    /// Whole numbers, of a constant so many.
    pub fn integers(self, entries: usize) -> Vec<i64> {
        match self {
            Value::Int(one) => vec![one; entries],
            Value::Float(one) => vec![one as i64; entries],
            Value::Bools(all) => all.into_iter().map(i64::from).collect(),
            Value::Ints(all) => all,
            Value::Singles(all) => all.into_iter().map(|one| one as i64).collect(),
            Value::Doubles(all) => all.into_iter().map(|one| one as i64).collect(),
        }
    }

    /// The values as a column; a constant is repeated `entries` times.
    pub fn into_array(self, entries: usize) -> Array {
        let numbers = match self {
            Value::Int(one) => Numbers::I64(vec![one; entries]),
            Value::Float(one) => Numbers::F64(vec![one; entries]),
            Value::Bools(all) => Numbers::Bool(all.into_iter().map(u8::from).collect()),
            Value::Ints(all) => Numbers::I64(all),
            Value::Singles(all) => Numbers::F32(all),
            Value::Doubles(all) => Numbers::F64(all),
        };
        Array::Numbers { numbers, shape: Vec::new() }
    }

    /// What it is, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Value::Bools(_) => "true or false",
            Value::Int(_) | Value::Ints(_) => "integers",
            _ => "numbers",
        }
    }

    pub fn unary(self, operation: Unary) -> Computed {
        match (operation, self) {
            (Unary::Not, Value::Bools(bools)) => {
                Ok(Value::Bools(bools.into_iter().map(|one| !one).collect()))
            }
            (Unary::Not, other) => Err(format!("has ~ of {}", other.name())),
            (_, Value::Bools(_)) => Err("has a sign of true or false".to_owned()),
            (Unary::Plus, other) => Ok(other),
            (Unary::Minus, other) => other.map(i64::checked_neg, |x| -x, |x| -x),
            (Unary::Abs, other) => other.map(i64::checked_abs, f32::abs, f64::abs),
        }
    }

    fn map(
        self,
        int: fn(i64) -> Option<i64>,
        single: fn(f32) -> f32,
        double: fn(f64) -> f64,
    ) -> Computed {
        let checked = |one: i64| int(one).ok_or(OVERFLOW.to_owned());
        Ok(match self {
            Value::Int(one) => Value::Int(checked(one)?),
            Value::Float(one) => Value::Float(double(one)),
            Value::Ints(all) => {
                Value::Ints(all.into_iter().map(checked).collect::<Result<_, _>>()?)
            }
            Value::Singles(all) => Value::Singles(all.into_iter().map(single).collect()),
            Value::Doubles(all) => Value::Doubles(all.into_iter().map(double).collect()),
            Value::Bools(all) => Value::Bools(all),
        })
    }

    pub fn binary(operation: Binary, left: Value, right: Value) -> Computed {
        use Binary::{And, Equal, NotEqual, Or};
        match (left, right) {
            (Value::Bools(left), Value::Bools(right)) => {
                let each: fn(bool, bool) -> bool = match operation {
                    And => |a, b| a & b,
                    Or => |a, b| a | b,
                    Equal => |a, b| a == b,
                    NotEqual => |a, b| a != b,
                    _ => return Err("computes with true or false".to_owned()),
                };
                Ok(Value::Bools(left.into_iter().zip(right).map(|(a, b)| each(a, b)).collect()))
            }
            (left, right) if matches!(operation, And | Or) => {
                let other = if matches!(left, Value::Bools(_)) { right } else { left };
                Err(format!("has & or | between {}", other.name()))
            }
            (Value::Bools(_), _) | (_, Value::Bools(_)) => {
                Err("computes with true or false".to_owned())
            }
            (left, right) => numbers(operation, left, right),
        }
    }

    fn is_constant(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Float(_))
    }

    fn is_int(&self) -> bool {
        matches!(self, Value::Int(_) | Value::Ints(_))
    }

    /// Whether it stays of 32 bits: beside its like and beside constants.
    fn is_single(&self, other: &Value) -> bool {
        matches!(self, Value::Singles(_))
            && (matches!(other, Value::Singles(_)) || other.is_constant())
    }
}

fn ints<T: Copy + Into<i64>>(numbers: &[T]) -> Value {
    Value::Ints(numbers.iter().map(|one| (*one).into()).collect())
}

fn numbers(operation: Binary, left: Value, right: Value) -> Computed {
    use Binary::{Add, Divide, Multiply, Subtract};
    let computes = matches!(operation, Add | Divide | Multiply | Subtract);
    if !computes && left.is_constant() && right.is_constant() {
        return Err("compares constants".to_owned());
    }
    if left.is_int() && right.is_int() && operation != Divide {
        let (left, right) = (Column::ints(left), Column::ints(right));
        let each: fn(i64, i64) -> Option<i64> = match operation {
            Add => i64::checked_add,
            Subtract => i64::checked_sub,
            Multiply => i64::checked_mul,
            _ => return Ok(compared(operation, left, right)),
        };
        let constant = left.is_one() && right.is_one();
        let all = left.zip(right).map(|(a, b)| each(a, b)).collect::<Option<Vec<_>>>();
        let all = all.ok_or(OVERFLOW)?;
        return Ok(if constant { Value::Int(all[0]) } else { Value::Ints(all) });
    }
    if left.is_single(&right) || right.is_single(&left) {
        let (left, right) = (Column::singles(left), Column::singles(right));
        let each: fn(f32, f32) -> f32 = match operation {
            Add => |a, b| a + b,
            Subtract => |a, b| a - b,
            Multiply => |a, b| a * b,
            Divide => |a, b| a / b,
            _ => return Ok(compared(operation, left, right)),
        };
        return Ok(Value::Singles(left.zip(right).map(|(a, b)| each(a, b)).collect()));
    }
    let (left, right) = (Column::doubles(left), Column::doubles(right));
    let each: fn(f64, f64) -> f64 = match operation {
        Add => |a, b| a + b,
        Subtract => |a, b| a - b,
        Multiply => |a, b| a * b,
        Divide => |a, b| a / b,
        _ => return Ok(compared(operation, left, right)),
    };
    let constant = left.is_one() && right.is_one();
    let all: Vec<f64> = left.zip(right).map(|(a, b)| each(a, b)).collect();
    Ok(if constant { Value::Float(all[0]) } else { Value::Doubles(all) })
}

fn compared<T: Copy + PartialOrd + 'static>(
    operation: Binary,
    left: Column<T>,
    right: Column<T>,
) -> Value {
    let each: fn(T, T) -> bool = match operation {
        Binary::Less => |a, b| a < b,
        Binary::LessEqual => |a, b| a <= b,
        Binary::Greater => |a, b| a > b,
        Binary::GreaterEqual => |a, b| a >= b,
        Binary::Equal => |a, b| a == b,
        _ => |a, b| a != b,
    };
    Value::Bools(left.zip(right).map(|(a, b)| each(a, b)).collect())
}

/// Numbers of one type, or one for all entries.
enum Column<T> {
    One(T),
    All(Vec<T>),
}

impl<T: Copy + 'static> Column<T> {
    fn is_one(&self) -> bool {
        matches!(self, Column::One(_))
    }

    /// Pairs, as many as there are entries; one of two constants.
    fn zip(self, other: Column<T>) -> Box<dyn Iterator<Item = (T, T)>> {
        match (self, other) {
            (Column::One(a), Column::One(b)) => Box::new(std::iter::once((a, b))),
            (Column::One(a), Column::All(all)) => Box::new(all.into_iter().map(move |b| (a, b))),
            (Column::All(all), Column::One(b)) => Box::new(all.into_iter().map(move |a| (a, b))),
            (Column::All(left), Column::All(right)) => Box::new(left.into_iter().zip(right)),
        }
    }
}

impl Column<i64> {
    fn ints(value: Value) -> Self {
        match value {
            Value::Int(one) => Column::One(one),
            Value::Ints(all) => Column::All(all),
            _ => Column::All(Vec::new()),
        }
    }
}

impl Column<f32> {
    fn singles(value: Value) -> Self {
        match value {
            Value::Int(one) => Column::One(one as f32),
            Value::Float(one) => Column::One(one as f32),
            Value::Singles(all) => Column::All(all),
            _ => Column::All(Vec::new()),
        }
    }
}

impl Column<f64> {
    fn doubles(value: Value) -> Self {
        match value {
            Value::Int(one) => Column::One(one as f64),
            Value::Float(one) => Column::One(one),
            Value::Ints(all) => Column::All(all.into_iter().map(|one| one as f64).collect()),
            Value::Singles(all) => Column::All(all.into_iter().map(f64::from).collect()),
            Value::Doubles(all) => Column::All(all),
            Value::Bools(_) => Column::All(Vec::new()),
        }
    }
}
