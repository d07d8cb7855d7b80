//! The division of a row of comparisons, sums and shifts, in ROOT's grammar.
//!
//! It looks for the first `<`, `>`, `<=` and so on, and for the last `+` and `-`; the part is then
//! divided where the one is that binds the least. A `<=` hides the `<` before it, and a `<<` those
//! behind it, as do `>=` and `>>` with `>`: `3<n<=2` is `(3<n)<=2`, and `n<<1<3` is `n<<(1<3)`.
//! (Source: `ROOT::v5::TFormula::Analyze`.)

use super::node::Operator;
use super::root::Token;

/// The first of some signs, and of what hides them.
#[derive(Default)]
struct Comparison {
    /// `<` or `>`.
    alone: Option<usize>,
    /// `<=` or `>=`.
    with_equal: Option<usize>,
    /// `<<` or `>>`.
    shift: Option<usize>,
}

impl Comparison {
    /// Goes on to the sign alone.
    fn alone(&mut self, at: usize) -> bool {
        let counts = self.shift.is_none() && self.alone.is_none();
        if counts {
            self.alone = Some(at);
        }
        counts
    }

    /// Goes on to the sign with `=` behind it.
    fn with_equal(&mut self, at: usize, sign: &str) -> Result<(), String> {
        if self.with_equal.is_none() {
            self.with_equal = Some(at);
            self.alone = None;
        } else if self.alone(at) {
            return Err(format!("has a second {sign:?}, which ROOT cannot read either"));
        }
        Ok(())
    }
}

/// The operator that binds the least among tokens, outside of parentheses, and where it is.
///
/// # Errors
/// Why ROOT cannot read that either.
pub(super) fn split(tokens: &[Token]) -> Result<Option<(Operator, usize)>, String> {
    let mut less = Comparison::default();
    let mut greater = Comparison::default();
    let [mut equal, mut differs, mut plus, mut minus, mut modulo] = [None; 5];
    let mut depth = 0u32;
    for (at, token) in tokens.iter().enumerate() {
        let Token::Sign(sign) = token else { continue };
        match *sign {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            "<" => {
                let is_first = less.alone(at);
                if is_first && is_template(&tokens[at + 1..]) {
                    return Err("has \"<\" and \">\", which ROOT takes for a template".to_owned());
                }
            }
            ">" => {
                greater.alone(at);
            }
            "<=" => less.with_equal(at, sign)?,
            ">=" => greater.with_equal(at, sign)?,
            "<<" => less.shift = less.shift.or(Some(at)),
            ">>" => greater.shift = greater.shift.or(Some(at)),
            "==" => equal = equal.or(Some(at)),
            "!=" => differs = differs.or(Some(at)),
            "%" => modulo = modulo.or(Some(at)),
            "+" if is_behind_a_value(tokens, at) => plus = Some(at),
            "-" if is_behind_a_value(tokens, at) => minus = Some(at),
            _ => {}
        }
    }
    let found: [(Operator, Option<usize>); 11] = [
        ("@<", less.alone),
        ("@>", greater.alone),
        ("@<=", less.with_equal),
        ("@>=", greater.with_equal),
        ("@==", equal),
        ("@!=", differs),
        ("@+", plus),
        ("@-", minus),
        // A sign in front is that of all the rest.
        ("@%", modulo.filter(|_| !begins_with_minus(tokens))),
        ("@>>", greater.shift.filter(|_| !begins_with_minus(tokens))),
        ("@<<", less.shift.filter(|_| !begins_with_minus(tokens))),
    ];
    Ok(found.into_iter().find_map(|(operator, at)| Some((operator, at?))))
}

fn begins_with_minus(tokens: &[Token]) -> bool {
    tokens.first() == Some(&Token::Sign("-"))
}

/// Whether a sign stands between values, and is none in front of one.
fn is_behind_a_value(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    before.is_some_and(|token| !matches!(token, Token::Sign(sign) if !matches!(*sign, ")" | "]")))
}

/// Whether a `<` and what follows it look like the arguments of a template.
fn is_template(behind: &[Token]) -> bool {
    let mut depth = 0u32;
    for token in behind {
        match token {
            Token::Name(name) if !name.contains(['.', '$', '/']) => {}
            Token::Number(number) if number.fract() == 0.0 => {}
            Token::Sign(",") => {}
            Token::Sign("<") => depth += 1,
            Token::Sign("<<") => depth += 2,
            Token::Sign(">" | ">=") if depth == 0 => return true,
            Token::Sign(">>") if depth < 2 => return true,
            Token::Sign(">") => depth -= 1,
            Token::Sign(">>") => depth -= 2,
            _ => return false,
        }
    }
    false
}
