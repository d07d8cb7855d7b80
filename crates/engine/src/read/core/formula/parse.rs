//! From text to an expression.

use super::functions::FUNCTIONS;
use super::node::{Node, Operator, wrong};
use remote::Result;

/// Parentheses, signs and indices within each other; more than formulas have, less than a stack
/// holds.
const DEPTH_MAX: u32 = 100;
/// The same of operators.
const OPERATORS_MAX: u32 = 256;

/// Operators of two sides that bind to the left: those of a line equally, and closer than those of
/// the lines before. Of two that begin alike the longer one is first.
const LEVELS: [&[Operator]; 6] =
    [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "//", "/", "%"]];
const COMPARISONS: [Operator; 6] = ["<=", ">=", "==", "!=", "<", ">"];
const SIGNS: [Operator; 3] = ["-", "+", "~"];

type Parsed<T> = std::result::Result<T, String>;

/// The expression that a text is, and the names of its columns, each once.
pub(super) fn parse(text: &str) -> Result<(Node, Vec<String>)> {
    let mut parser = Parser { rest: text, names: Vec::new(), depth: 0, operators: 0, texts: 0 };
    let node = parser.formula().and_then(|node| match parser.peek() {
        Some(_) => Err(parser.unexpected()),
        None if parser.texts > 0 => Err("may not contain a text but to compare it".to_owned()),
        None => Ok(node),
    });
    match node {
        Ok(node) => Ok((node, parser.names)),
        Err(why) => Err(wrong(text, &why)),
    }
}

struct Parser<'a> {
    rest: &'a str,
    names: Vec<String>,
    depth: u32,
    operators: u32,
    /// Texts that nothing is compared with, so far.
    texts: usize,
}

impl<'a> Parser<'a> {
    fn formula(&mut self) -> Parsed<Node> {
        let left = self.level(0)?;
        let Some(comparison) = self.one_of(&COMPARISONS) else { return Ok(left) };
        let right = self.level(0)?;
        if self.one_of(&COMPARISONS).is_some() {
            let advice = "has comparisons in a row: put each into parentheses";
            return Err(advice.to_owned());
        }
        if matches!(comparison, "==" | "!=") {
            self.texts -= [&left, &right].iter().filter(|side| is_text(side)).count();
        }
        Ok(Node::Apply(comparison, vec![left, right]))
    }

    /// Parts with operators of one level between them.
    fn level(&mut self, at: usize) -> Parsed<Node> {
        let Some(operators) = LEVELS.get(at) else { return self.unary() };
        let mut node = self.level(at + 1)?;
        while let Some(operator) = self.one_of(operators) {
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                return Err("is too long".to_owned());
            }
            node = Node::Apply(operator, vec![node, self.level(at + 1)?]);
        }
        Ok(node)
    }

    fn unary(&mut self) -> Parsed<Node> {
        match self.one_of(&SIGNS) {
            Some(sign) => Ok(Node::Apply(sign, vec![self.deeper(Self::unary)?])),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Parsed<Node> {
        let base = self.item()?;
        match self.take("**") {
            true => Ok(Node::Apply("**", vec![base, self.deeper(Self::unary)?])),
            false => Ok(base),
        }
    }

    fn item(&mut self) -> Parsed<Node> {
        let mut node = self.atom()?;
        while self.take("[") {
            let index = self.deeper(Self::indices)?;
            node = Node::Apply("[]", vec![node, index]);
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                return Err("is too long".to_owned());
            }
        }
        Ok(node)
    }

    fn indices(&mut self) -> Parsed<Node> {
        let mut indices = vec![self.index()?];
        let mut is_single = true;
        while self.take(",") {
            is_single = false;
            if self.peek() != Some(']') {
                indices.push(self.index()?);
            }
        }
        self.expect("]")?;
        Ok(match indices.pop() {
            Some(only) if is_single => only,
            last => Node::Apply("tuple", indices.into_iter().chain(last).collect()),
        })
    }

    fn index(&mut self) -> Parsed<Node> {
        if self.take("...") {
            return Ok(Node::Ellipsis);
        }
        if matches!(self.peek(), Some(',' | ']')) {
            return Err(self.unexpected());
        }
        let first = self.bound()?;
        if !self.take(":") {
            return Ok(first);
        }
        let second = self.bound()?;
        let third = if self.take(":") { self.bound()? } else { Node::Nothing };
        Ok(Node::Apply("slice", vec![first, second, third]))
    }

    /// A bound of a slice, which may be left out.
    fn bound(&mut self) -> Parsed<Node> {
        match self.peek() {
            None => Err("ends too early".to_owned()),
            Some(':' | ',' | ']') => Ok(Node::Nothing),
            Some(_) if self.take_none() => Ok(Node::Nothing),
            Some(_) => self.formula(),
        }
    }

    fn take_none(&mut self) -> bool {
        let rest = self.rest.strip_prefix("None");
        let rest = rest.filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn atom(&mut self) -> Parsed<Node> {
        match self.peek() {
            Some('(') => self.in_parentheses(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            Some('"' | '\'') => {
                self.texts += 1;
                Ok(Node::Text(self.text()?))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn in_parentheses(&mut self) -> Parsed<Node> {
        self.expect("(")?;
        let inside = self.deeper(Self::formula)?;
        self.expect(")")?;
        Ok(inside)
    }

    fn deeper(&mut self, part: fn(&mut Self) -> Parsed<Node>) -> Parsed<Node> {
        if self.depth == DEPTH_MAX {
            return Err("nests too deeply".to_owned());
        }
        self.depth += 1;
        let node = part(self);
        self.depth -= 1;
        node
    }

    fn number(&mut self) -> Parsed<Node> {
        let radix = match self.rest.get(..2) {
            Some("0x" | "0X") => 16,
            Some("0o" | "0O") => 8,
            Some("0b" | "0B") => 2,
            _ => 10,
        };
        let mut before = ' ';
        let written = self.word(|c| {
            let is_sign = matches!(c, '+' | '-') && radix == 10 && matches!(before, 'e' | 'E');
            before = c;
            is_sign || c.is_ascii_alphanumeric() || matches!(c, '.' | '_')
        });
        let digits = written.replace('_', "");
        let parsed = if radix != 10 {
            u64::from_str_radix(&digits[2..], radix).ok().map(Node::Int)
        } else if let Some(part) = digits.strip_suffix(['j', 'J']) {
            part.parse().ok().map(Node::Imaginary)
        } else if digits.contains(['.', 'e', 'E']) {
            digits.parse().ok().map(Node::Float)
        } else {
            digits.parse().ok().map(Node::Int)
        };
        parsed.ok_or_else(|| format!("has a number that cannot be read: {written}"))
    }

    fn name(&mut self) -> Parsed<Node> {
        let name = self.word(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        match name {
            "and" | "or" | "not" => Err(spelt(name)),
            "True" => Ok(Node::Bool(true)),
            "False" => Ok(Node::Bool(false)),
            "None" => Err("may not contain None but as an index".to_owned()),
            _ if self.peek() != Some('(') => Ok(self.column(name)),
            "get" => {
                self.expect("(")?;
                let name = self.text()?;
                self.expect(")")?;
                Ok(self.column(&name))
            }
            _ => self.call(name),
        }
    }

    fn call(&mut self, name: &str) -> Parsed<Node> {
        let known = FUNCTIONS.iter().find(|(known, ..)| *known == name);
        let Some((name, least, most)) = known else {
            return Err(format!("may not contain a function {name:?}"));
        };
        self.expect("(")?;
        let mut arguments = Vec::new();
        while self.peek() != Some(')') {
            arguments.push(self.deeper(Self::formula)?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        if !(*least..=*most).contains(&arguments.len()) {
            return Err(format!(
                "gives {name} {} arguments, and it takes {least}",
                arguments.len()
            ));
        }
        Ok(Node::Apply(name, arguments))
    }

    /// The text between quotes.
    fn text(&mut self) -> Parsed<String> {
        let quote = if self.take("'") { '\'' } else { self.expect("\"").map(|()| '"')? };
        let mut text = String::new();
        let mut letters = self.rest.chars();
        loop {
            match letters.next() {
                None | Some('\n') => return Err("ends too early".to_owned()),
                Some(letter) if letter == quote => break,
                Some('\\') => text.push(match letters.next() {
                    Some(same @ ('\\' | '\'' | '"')) => same,
                    Some('n') => '\n',
                    Some('t') => '\t',
                    _ => return Err("has an unknown letter behind a backslash".to_owned()),
                }),
                Some(letter) => text.push(letter),
            }
        }
        self.rest = letters.as_str();
        Ok(text)
    }

    fn column(&mut self, name: &str) -> Node {
        let known = self.names.iter().position(|other| other == name);
        Node::Column(known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }

    fn word(&mut self, is_part: impl FnMut(char) -> bool) -> &'a str {
        let mut is_part = is_part;
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn one_of(&mut self, signs: &[Operator]) -> Option<Operator> {
        signs.iter().copied().find(|sign| self.take(sign))
    }

    fn take(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&mut self) -> String {
        let Some(first) = self.peek() else { return "ends too early".to_owned() };
        match first {
            '&' => return spelt("&&"),
            '|' => return spelt("||"),
            '!' => return spelt("!"),
            _ => {}
        }
        let mut found = self.word(char::is_alphanumeric).to_owned();
        if matches!(&*found, "and" | "or" | "not") {
            return spelt(&found);
        }
        if found.is_empty() {
            found.push(first);
        }
        format!("cannot be read at {found:?}")
    }
}

fn is_text(node: &Node) -> bool {
    matches!(node, Node::Text(_))
}

/// The error, with the spelling for arrays, for an operator of C++ or a word of Python's.
fn spelt(found: &str) -> String {
    let (instead, example) = match found {
        "&&" | "and" => ("&", "(a > 1) & (b > 2)"),
        "||" | "or" => ("|", "(a > 1) | (b > 2)"),
        _ => ("~", "~(a > 1)"),
    };
    format!(
        "cannot contain {found:?}: write {instead}, with each comparison in parentheses, as in {example}"
    )
}
