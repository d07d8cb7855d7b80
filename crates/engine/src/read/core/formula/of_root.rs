//! Operators and functions of ROOT's grammar, with the rules of `TTreeFormula`.
//!
//! All is computed in floats of 64 bits; integers of an index stay integers as long as they are
//! added, subtracted and multiplied. Of lists beside each other come the items that all have.

use rootfile::{Array, Numbers};

use super::arithmetic::{Binary, truths};
use super::broadcast::{Leaf, Lengths, Lists, Value, combine, listed, plain, taken};
use super::evaluate::{Entries, beside};
use super::instances::is_missing;
use super::items::dimensions;
use super::node::{Node, Operator};
use super::numbers::{Cast, Computed, Side};
use super::reduced::{self, Flat};
use super::rows::ItemRows;
use super::tmath::{self, long};

/// ROOT has NaN for a comparison of these, which is neither true nor false.
const COMPARES_MISSING: &str = "compares a list of one item with longer ones, item by item: its \
                                entries must have as many items";
/// ROOT takes it for an index of the last name in the alias, or leaves it out.
const OF_COMPUTED: &str = "has an index of an alias that is computed: write the index in the alias";
const OVERFLOW: &str = "overflows an integer of 64 bits";

/// Whether it is of ROOT's grammar.
pub(super) fn is_one(operator: Operator) -> bool {
    operator.starts_with('@')
}

/// An operator or a function of ROOT's grammar.
pub(super) fn value(of: &Entries<'_>, operator: Operator, arguments: &[Node]) -> Computed<Value> {
    let constant = match operator {
        "@pi" => std::f64::consts::PI,
        "@E" => std::f64::consts::E,
        "@TwoPi" => std::f64::consts::TAU,
        "@PiOver2" => std::f64::consts::FRAC_PI_2,
        "@Sqrt2" => std::f64::consts::SQRT_2,
        "@Infinity" => f64::INFINITY,
        "@QuietNaN" => f64::NAN,
        "@DegToRad" => std::f64::consts::PI / 180.0,
        "@RadToDeg" => 180.0 / std::f64::consts::PI,
        "@Entries$" => of.total.ok_or("has Entries$, which is not known here")? as f64,
        "@Entry$" => {
            let numbers = of.numbers.ok_or("has Entry$, which is not known here")?();
            return Ok(Value::Array(doubles(numbers.into_iter().map(|at| at as f64).collect())));
        }
        "@Iteration$" | "@Instances$" => return reduced::of_instances(of, operator),
        "@double" => return column(of, arguments).map(|value| converted(of, value)),
        "@size" | "@sizes" => return sizes(column(of, arguments)?, operator == "@size"),
        "@[]" => return indexed(of, arguments).map(ItemRows::joined),
        "@Sum$" | "@Length$" | "@Min$" | "@Max$" | "@MinIf$" | "@MaxIf$" => {
            return reduced::value(of, operator, arguments);
        }
        "@Alt$" => return alternative(of, arguments),
        _ => {
            let values = arguments.iter().map(|argument| of.value(argument));
            return applied(operator, &values.collect::<Computed<Vec<_>>>()?);
        }
    };
    Ok(Value::Float(constant))
}

/// An operator of values.
pub(super) fn applied(operator: Operator, values: &[Value]) -> Computed<Value> {
    let kernel = |leaves: &[Leaf<'_>]| kernel(operator, leaves);
    if !values.iter().all(Value::is_constant) {
        return combine(values, Lengths::Shortest, &kernel).map(Value::Array);
    }
    let leaves: Vec<Leaf<'_>> = values
        .iter()
        .map(|value| match value {
            Value::Text(text) => Leaf::Text(text),
            Value::Int(one) => Leaf::Numbers(Side::Float(*one as f64)),
            Value::Float(one) => Leaf::Numbers(Side::Float(*one)),
            Value::Bool(one) => Leaf::Numbers(Side::Bool(*one)),
            Value::Array(_) => Leaf::Numbers(Side::Float(0.0)),
        })
        .collect();
    match kernel(&leaves)? {
        Numbers::Bool(one) => Ok(Value::Bool(one.first().is_some_and(|one| *one != 0))),
        other => Ok(Value::Float(f64::cast(Side::All(&other)).at(0))),
    }
}

fn kernel(operator: Operator, leaves: &[Leaf<'_>]) -> Computed<Numbers> {
    let is_text = |leaf: &Leaf<'_>| !matches!(leaf, Leaf::Numbers(_));
    match (operator, leaves) {
        ("@strstr", [text, part]) if is_text(text) && is_text(part) => contains(*text, *part),
        ("@==" | "@!=", [left, right]) if is_text(left) && is_text(right) => {
            let operation = if operator == "@==" { Binary::Equal } else { Binary::NotEqual };
            match (left, right) {
                (Leaf::Text(one), Leaf::Text(other)) => {
                    Ok(truths(vec![(one == other) == (operator == "@==")]))
                }
                _ => beside(operation, *left, *right),
            }
        }
        _ if leaves.iter().any(is_text) => {
            Err("computes with texts, which == and != compare, and strstr".to_owned())
        }
        ("@?:", [Leaf::Numbers(condition), ..]) if f64::cast(*condition).any(is_missing) => {
            Err(COMPARES_MISSING.to_owned())
        }
        ("@?:", [Leaf::Numbers(condition), Leaf::Numbers(yes), Leaf::Numbers(no)]) => {
            super::functions::function("where", &[*condition, wide(*yes), wide(*no)])
        }
        (_, [Leaf::Numbers(left), Leaf::Numbers(right)]) => between(operator, *left, *right),
        (_, [Leaf::Numbers(one)]) => of_one(operator, *one),
        (_, leaves) if leaves.len() > 2 => of_several(operator, leaves),
        _ => Err("has a function of other arguments".to_owned()),
    }
}

/// Constants as floats, which do not depend on the type of the other side.
fn wide(side: Side<'_>) -> Side<'_> {
    match side {
        Side::Int(one) => Side::Float(one as f64),
        Side::Bool(one) => Side::Float(u8::from(one).into()),
        side => side,
    }
}

/// As whole numbers, where all of both are and one has the type.
fn whole(left: Side<'_>, right: Side<'_>) -> bool {
    let fits = |side: Side<'_>| match side {
        Side::All(numbers) => matches!(numbers, Numbers::I64(_)),
        Side::Float(one) => one.fract() == 0.0 && one.abs() < (1u64 << 53) as f64,
        Side::Int(_) | Side::Bool(_) => true,
    };
    let is_typed = |side: Side<'_>| matches!(side, Side::All(Numbers::I64(_)));
    fits(left) && fits(right) && (is_typed(left) || is_typed(right))
}

fn between(operator: Operator, left: Side<'_>, right: Side<'_>) -> Computed<Numbers> {
    if whole(left, right) {
        let each: Option<fn(i64, i64) -> Option<i64>> = match operator {
            "@+" => Some(i64::checked_add),
            "@-" => Some(i64::checked_sub),
            "@*" => Some(i64::checked_mul),
            "@%" => Some(i64::checked_rem),
            _ => None,
        };
        if let Some(each) = each {
            let all = i64::cast(left).zip(&i64::cast(right), each).into_iter();
            return Ok(Numbers::I64(all.collect::<Option<_>>().ok_or(OVERFLOW)?));
        }
    }
    let left = f64::cast(left);
    let right = f64::cast(right);
    let compares: Option<fn(f64, f64) -> bool> = match operator {
        "@||" => Some(|a, b| a != 0.0 || b != 0.0),
        "@&&" => Some(|a, b| a != 0.0 && b != 0.0),
        "@<" => Some(|a, b| a < b),
        "@>" => Some(|a, b| a > b),
        "@<=" => Some(|a, b| a <= b),
        "@>=" => Some(|a, b| a >= b),
        "@==" => Some(|a, b| a == b),
        "@!=" => Some(|a, b| a != b),
        _ => None,
    };
    if let Some(each) = compares {
        let is_known = |a: f64, b: f64| match operator {
            "@||" if !is_missing(a) && a != 0.0 => true,
            "@&&" if a == 0.0 => true,
            _ => !is_missing(a) && !is_missing(b),
        };
        let has_missing = left.any(is_missing) || right.any(is_missing);
        if has_missing && left.zip(&right, is_known).contains(&false) {
            return Err(COMPARES_MISSING.to_owned());
        }
        return Ok(truths(left.zip(&right, each)));
    }
    if operator == "@%" && right.any(|by| long(by) == 0) {
        return Err("has % by zero".to_owned());
    }
    let each = of_two(operator)?;
    // The value of a formula is NaN where an item is not there, whatever is computed of it.
    let each = |a: f64, b: f64| match (is_missing(a), is_missing(b)) {
        (false, false) => each(a, b),
        (true, _) => a,
        _ => b,
    };
    Ok(Numbers::F64(left.zip(&right, each)))
}

/// An operator or a function of two numbers.
fn of_two(operator: Operator) -> Computed<fn(f64, f64) -> f64> {
    let each: fn(f64, f64) -> f64 = match operator {
        "@+" => |a, b| a + b,
        "@-" => |a, b| a - b,
        "@*" => |a, b| a * b,
        "@/" => |a, b| if b == 0.0 { 0.0 } else { a / b },
        "@%" => |a, b| long(a).wrapping_rem(long(b)) as f64,
        "@&" => |a, b| (bits(a) & bits(b)) as f64,
        "@|" => |a, b| (bits(a) | bits(b)) as f64,
        "@<<" => |a, b| bits(a).wrapping_shl(bits(b) as u32) as f64,
        "@>>" => |a, b| bits(a).wrapping_shr(bits(b) as u32) as f64,
        "@pow" => f64::powf,
        "@fmod" => |a, b| a % b,
        "@atan2" => |a, b| if a == 0.0 && b == 0.0 { 0.0 } else { a.atan2(b) },
        "@hypot" => f64::hypot,
        "@min" => |a, b| if b < a { b } else { a },
        "@max" => |a, b| if a < b { b } else { a },
        "@Min" => |a, b| if a <= b { a } else { b },
        "@Max" => |a, b| if a >= b { a } else { b },
        "@Sign" => f64::copysign,
        "@Binomial" => tmath::binomial,
        "@Poisson" => tmath::poisson,
        "@Prob" => tmath::prob,
        _ => return Err(format!("has {} of two values", &operator[1..])),
    };
    Ok(each)
}

/// A function of three values or more.
fn of_several(operator: Operator, leaves: &[Leaf<'_>]) -> Computed<Numbers> {
    let each: fn(&[f64]) -> f64 = match (operator, leaves.len()) {
        ("@Range", 3) => |all| tmath::range(all[0], all[1], all[2]),
        ("@Gaus", 4) => |all| tmath::gaus(all[0], all[1], all[2], all[3]),
        (_, count) => return Err(format!("has {} of {count} values", &operator[1..])),
    };
    let sides = || {
        leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Numbers(side) => Some(*side),
            _ => None,
        })
    };
    let all: Vec<_> = sides().map(f64::cast).collect();
    let count = sides().find_map(Side::len).unwrap_or(1);
    let one = |at: usize| {
        let values: Vec<f64> = all.iter().map(|side| side.at(at)).collect();
        let missing = values.iter().find(|x| is_missing(**x));
        missing.copied().unwrap_or_else(|| each(&values))
    };
    Ok(Numbers::F64((0..count).map(one).collect()))
}

fn of_one(operator: Operator, side: Side<'_>) -> Computed<Numbers> {
    if let (Side::All(Numbers::I64(all)), "@neg") = (side, operator) {
        let all = all.iter().map(|one| one.checked_neg());
        return Ok(Numbers::I64(all.collect::<Option<_>>().ok_or(OVERFLOW)?));
    }
    let side = f64::cast(side);
    let each: fn(f64) -> f64 = match operator {
        "@!" if side.any(is_missing) => return Err(COMPARES_MISSING.to_owned()),
        "@!" => return Ok(truths(side.map(|x| x == 0.0))),
        "@acos" => |x| if x.abs() > 1.0 { 0.0 } else { x.acos() },
        "@asin" => |x| if x.abs() > 1.0 { 0.0 } else { x.asin() },
        "@atanh" => |x| if x.abs() > 1.0 { 0.0 } else { libm::atanh(x) },
        "@neg" => |x| -x,
        "@abs" => f64::abs,
        "@acosh" => |x| if x < 1.0 { 0.0 } else { libm::acosh(x) },
        // NaN stays: `min` would make 700 of it.
        "@exp" => |x| if x < -700.0 { 0.0 } else { (if x > 700.0 { 700.0 } else { x }).exp() },
        "@log" => |x| if x > 0.0 { x.ln() } else { 0.0 },
        "@log10" => |x| if x > 0.0 { x.log10() } else { 0.0 },
        "@sqrt" => |x| x.abs().sqrt(),
        "@sq" => |x| x * x,
        "@sign" => |x| if x < 0.0 { -1.0 } else { 1.0 },
        "@int" => |x| long(x) as f64,
        "@ACos" => f64::acos,
        "@ASin" => f64::asin,
        "@ACosH" => libm::acosh,
        "@ATanH" => libm::atanh,
        "@Exp" => f64::exp,
        "@Log" => f64::ln,
        "@Log10" => f64::log10,
        "@Sqrt" => f64::sqrt,
        "@Tan" | "@tan" => f64::tan,
        "@Phi_mpi_pi" => phi,
        "@Nint" => tmath::nint,
        "@FloorNint" => |x| tmath::nint(x.floor()),
        "@CeilNint" => |x| tmath::nint(x.ceil()),
        "@Odd" => tmath::is_odd,
        "@Even" => |x| 1.0 - tmath::is_odd(x),
        "@IsNaN" => |x| u8::from(x.is_nan()).into(),
        "@Finite" => |x| u8::from(x.is_finite()).into(),
        "@SignBit" => |x| u8::from(x.is_sign_negative()).into(),
        "@Gamma" => tmath::gamma,
        "@Factorial" => tmath::factorial,
        "@Freq" => tmath::freq,
        "@round" => f64::round,
        "@asinh" => libm::asinh,
        "@atan" => f64::atan,
        "@cbrt" => f64::cbrt,
        "@ceil" => f64::ceil,
        "@cos" => f64::cos,
        "@cosh" => f64::cosh,
        "@erf" => libm::erf,
        "@erfc" => libm::erfc,
        "@expm1" => f64::exp_m1,
        "@floor" => f64::floor,
        "@lgamma" => libm::lgamma,
        "@log1p" => f64::ln_1p,
        "@log2" => f64::log2,
        "@sin" => f64::sin,
        "@sinh" => f64::sinh,
        "@tanh" => f64::tanh,
        "@tgamma" => libm::tgamma,
        "@trunc" => f64::trunc,
        _ => return Err(format!("has {} of one value", &operator[1..])),
    };
    Ok(Numbers::F64(side.map(|x| if is_missing(x) { x } else { each(x) })))
}

/// A number that is too large for it has no bits, and NaN has those of the least integer.
fn bits(x: f64) -> u64 {
    match x {
        x if x.is_nan() => long(x) as u64,
        x if x < 2f64.powi(63) => long(x) as u64,
        x if x < 2f64.powi(64) => x as u64,
        _ => 0,
    }
}

/// An angle from -π to π.
fn phi(x: f64) -> f64 {
    use std::f64::consts::{PI, TAU};
    if !x.is_finite() || (-PI..PI).contains(&x) {
        return x;
    }
    let x = x - ((x + PI) / TAU).floor() * TAU;
    if x >= PI { x - TAU } else { x }
}

fn contains(text: Leaf<'_>, part: Leaf<'_>) -> Computed<Numbers> {
    let (Leaf::Strings(offsets, bytes), Leaf::Text(part)) = (text, part) else {
        return Err("has strstr of other than a column of texts and a text".to_owned());
    };
    let has = |ends: &[i64]| {
        let text = &bytes[ends[0] as usize..ends[1] as usize];
        part.is_empty() || text.windows(part.len()).any(|window| window == part.as_bytes())
    };
    Ok(Numbers::F64(offsets.windows(2).map(|ends| u8::from(has(ends)).into()).collect()))
}

pub(super) fn doubles(all: Vec<f64>) -> Array {
    plain(Numbers::F64(all))
}

fn column(of: &Entries<'_>, arguments: &[Node]) -> Computed<Value> {
    arguments.first().ok_or("lacks a column".to_owned()).and_then(|column| of.value(column))
}

/// A column beside others of the same rows.
pub(super) fn column_by_rows(of: &Entries<'_>, arguments: &[Node]) -> Computed<ItemRows> {
    let Some(Node::Column(name)) = arguments.first() else {
        return Err("lacks a column".to_owned());
    };
    let ItemRows { value, named } = of.named(*name)?.rows.clone();
    Ok(ItemRows { value: converted(of, value), named })
}

/// The numbers as those that ROOT computes with.
fn converted(of: &Entries<'_>, value: Value) -> Value {
    match value {
        Value::Int(one) => Value::Float(one as f64),
        Value::Array(array) => Value::Array(wider(array, of.keeps_integers)),
        other => other,
    }
}

fn wider(array: Array, keeps_integers: bool) -> Array {
    match array {
        Array::Numbers { numbers, shape } => {
            let is_whole = !matches!(numbers, Numbers::F32(_) | Numbers::F64(_));
            let fits = |all: &[u64]| all.iter().all(|one| i64::try_from(*one).is_ok());
            let fits = !matches!(&numbers, Numbers::U64(all) if !fits(all));
            let numbers = match numbers {
                Numbers::F64(all) => Numbers::F64(all),
                other if keeps_integers && is_whole && fits => {
                    Numbers::I64(i64::cast(Side::All(&other)).map(|one| one))
                }
                other => Numbers::F64(f64::cast(Side::All(&other)).map(|one| one)),
            };
            Array::Numbers { numbers, shape }
        }
        Array::List { offsets, content } => {
            Array::List { offsets, content: Box::new(wider(*content, keeps_integers)) }
        }
        Array::Regular { length, entries, content } => {
            let content = Box::new(wider(*content, keeps_integers));
            Array::Regular { length, entries, content }
        }
        Array::Option { index, content } => {
            Array::Option { index, content: Box::new(wider(*content, keeps_integers)) }
        }
        Array::WithParameter { parameter, content } => {
            wider(*content, keeps_integers).with_parameter(parameter)
        }
        other => other,
    }
}

/// How many items each list has: of each entry, or of the lists in its list.
fn sizes(value: Value, is_outermost: bool) -> Computed<Value> {
    let no_list = || "has size() of what is no list".to_owned();
    let Value::Array(array) = value else { return Err(no_list()) };
    let array = match listed(array)? {
        Array::Option { index, content } => {
            let Value::Array(content) = sizes(Value::Array(*content), is_outermost)? else {
                return Err(no_list());
            };
            return Ok(Value::Array(Array::Option { index, content: Box::new(content) }));
        }
        array => array,
    };
    let lists = Lists::of(&array).ok_or_else(no_list)?;
    // The items may be objects, which are only counted.
    let inner = if is_outermost { None } else { Some(listed(lists.content.clone())?) };
    if let Some((inner, inner_lists)) = inner.as_ref().and_then(|one| Some((one, Lists::of(one)?)))
    {
        let counts = (0..inner.len()).map(|at| inner_lists.at(at).len() as f64).collect();
        let offsets: Vec<i64> =
            std::iter::once(0).chain((0..array.len()).map(|at| lists.at(at).end as i64)).collect();
        return Ok(Value::Array(Array::List {
            offsets: offsets.into(),
            content: Box::new(doubles(counts)),
        }));
    }
    let counts = (0..array.len()).map(|at| lists.at(at).len() as f64).collect();
    Ok(Value::Array(doubles(counts)))
}

/// Items of a column.
pub(super) fn indexed(of: &Entries<'_>, arguments: &[Node]) -> Computed<ItemRows> {
    let Some((column, indices)) = arguments.split_first() else {
        return Err("has an index of nothing".to_owned());
    };
    let ItemRows { value, named } = column_by_rows(of, std::slice::from_ref(column))?;
    let has_items = matches!(column, Node::Column(name) if of.named(*name)?.has_items);
    if !has_items || !named.is_empty() {
        return Err(OF_COMPUTED.to_owned());
    }
    let Value::Array(array) = value else {
        return Err("has an index of a constant".to_owned());
    };
    if let [index] = indices {
        let value = if *index == Node::Nothing { Value::Float(0.0) } else { of.value(index)? };
        if let Value::Array(places) = value {
            return at_places(array, places).map(Value::Array).map(ItemRows::plain);
        }
    }
    let indices = indices.iter().map(|index| match index {
        Node::Nothing => Ok(None),
        index => match of.value(index)? {
            Value::Float(one) if one >= 0.0 => Ok(Some(long(one) as usize)),
            Value::Float(_) => Err("has a negative index".to_owned()),
            _ => Err("has an index of several dimensions that is no constant".to_owned()),
        },
    });
    let indices = indices.collect::<Computed<Vec<_>>>()?;
    let mut named = Vec::new();
    let value = Value::Array(items(array, &indices, 0, &mut named)?);
    Ok(ItemRows { value, named })
}

/// Item after item of each entry, which is missing where its list has too few; in the lists of an
/// entry, of which `depth` are around them, those in turn have the item or none, and are `named`.
fn items(
    array: Array,
    indices: &[Option<usize>],
    depth: usize,
    named: &mut Vec<usize>,
) -> Computed<Array> {
    let Some((index, rest)) = indices.split_first() else { return Ok(array) };
    let array = listed(array)?;
    if let Array::Option { index, content } = array {
        let inner = items(*content, indices, depth, named)?;
        return Ok(match inner {
            Array::Option { index: places, content } => {
                let index = index.iter().map(|at| if *at < 0 { -1 } else { places[*at as usize] });
                Array::Option { index: index.collect(), content }
            }
            inner => Array::Option { index, content: Box::new(inner) },
        });
    }
    let Some(lists) = Lists::of(&array) else {
        return Err("has an index of more dimensions than what it is of".to_owned());
    };
    let entries = array.len();
    let Some(item) = *index else {
        let content = Box::new(items(lists.content.clone(), rest, depth + 1, named)?);
        return Ok(match array {
            Array::List { offsets, .. } => Array::List { offsets, content },
            Array::Regular { length, .. } => Array::Regular { length, entries, content },
            other => other,
        });
    };
    if let Some(length) = lists.fixed {
        if item >= length {
            return Err(format!("takes item {item} of {length}"));
        }
        let places = (0..entries).map(|entry| entry * length + item);
        return items(taken(lists.content, places), rest, depth, named);
    }
    let mut offsets = vec![0i64];
    let mut places = Vec::new();
    let mut missing = Vec::with_capacity(entries);
    for entry in 0..entries {
        let all = lists.at(entry);
        let is_there = item < all.len();
        missing.push(if is_there { places.len() as i64 } else { -1 });
        places.extend(is_there.then_some(all.start + item));
        offsets.push(places.len() as i64);
    }
    let content = taken(lists.content, places.into_iter());
    if depth > 0 {
        named.push(depth + 1);
        let content = Box::new(items(content, rest, depth + 1, named)?);
        return Ok(Array::List { offsets: offsets.into(), content });
    }
    items(Array::Option { index: missing, content: Box::new(content) }, rest, depth, named)
}

/// Items at places that are computed; NaN where there is none, as in ROOT 6.40.
fn at_places(array: Array, places: Array) -> Computed<Array> {
    let array = listed(array)?;
    let lists = Lists::of(&array).ok_or("has an index of what is no list")?;
    let Array::Numbers { numbers, shape } = lists.content else {
        return Err("has an index that is no constant, of lists in lists".to_owned());
    };
    if !shape.is_empty() {
        return Err("has an index that is no constant, of lists in lists".to_owned());
    }
    let numbers = f64::cast(Side::All(numbers));
    let entries: Vec<usize> = (0..array.len()).collect();
    let entry = doubles(entries.iter().map(|at| *at as f64).collect());
    let kernel = |leaves: &[Leaf<'_>]| {
        let [Leaf::Numbers(entry), Leaf::Numbers(place)] = leaves else {
            return Err("has a text as an index".to_owned());
        };
        let item = |entry: f64, place: f64| {
            let items = lists.at(entry as usize);
            match usize::try_from(long(place)) {
                Ok(at) if at < items.len() => numbers.at(items.start + at),
                _ => f64::NAN,
            }
        };
        Ok(Numbers::F64(f64::cast(*entry).zip(&f64::cast(*place), item)))
    };
    combine(&[Value::Array(entry), Value::Array(places)], Lengths::Shortest, &kernel)
}

/// `Alt$`: the items of a value that is computed by itself and, in place of those that it lacks,
/// another value.
fn alternative(of: &Entries<'_>, arguments: &[Node]) -> Computed<Value> {
    let [first, other] = arguments else { return Err("has Alt$ of one value".to_owned()) };
    let first = Flat::of(&of.of_formula(first)?.into_array(of.count)?)?;
    let other = of.of_formula(other)?;
    if matches!(&other, Value::Array(array) if dimensions(array) > 1) {
        return Err("has Alt$ whose second value is a list".to_owned());
    }
    let instances = of.parts.map(reduced::instances).transpose()?.flatten();
    let instances = instances.unwrap_or_else(|| doubles(vec![0.0; of.count]));
    let counts = Flat::of(&instances)?;
    let mut items = Vec::new();
    let mut are_there = Vec::new();
    for entry in 0..of.count {
        let all = first.of_entry(entry);
        for at in 0..counts.of_entry(entry).len() {
            items.push(all.get(at).copied().unwrap_or(0.0));
            are_there.push(f64::from(u8::from(at < all.len())));
        }
    }
    let items = Value::Array(reduced::numbered(instances.clone(), items));
    let are_there = Value::Array(reduced::numbered(instances, are_there));
    applied("@?:", &[are_there, items, other])
}
