//! From text to an expression.

use super::{Binary, Node, Unary, wrong};
use remote::Result;

/// Parentheses and signs within each other; more than formulas have, less than a stack holds.
const DEPTH_MAX: u32 = 100;
/// The same of operators.
const OPERATORS_MAX: u32 = 256;

type Parsed<T> = std::result::Result<T, String>;

/// The expression that a text is, and the names of its columns, each once.
pub(super) fn parse(text: &str) -> Result<(Node, Vec<String>)> {
    let mut parser = Parser { rest: text, names: Vec::new(), depth: 0, operators: 0 };
    let node = parser.cut().and_then(|node| match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.unexpected()),
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
}

impl<'a> Parser<'a> {
    fn cut(&mut self) -> Parsed<Node> {
        let left = self.either()?;
        let Some(comparison) = self.comparison() else { return Ok(left) };
        let right = self.either()?;
        if self.comparison().is_some() {
            let advice = "has comparisons in a row: put each into parentheses";
            return Err(advice.to_owned());
        }
        Ok(Node::Binary(comparison, Box::new(left), Box::new(right)))
    }

    fn comparison(&mut self) -> Option<Binary> {
        // The longer ones first.
        let comparisons = [
            ("<=", Binary::LessEqual),
            (">=", Binary::GreaterEqual),
            ("==", Binary::Equal),
            ("!=", Binary::NotEqual),
            ("<", Binary::Less),
            (">", Binary::Greater),
        ];
        comparisons.into_iter().find(|(sign, _)| self.take(sign)).map(|(_, comparison)| comparison)
    }

    fn either(&mut self) -> Parsed<Node> {
        self.series(&[("|", Binary::Or)], Self::both)
    }

    fn both(&mut self) -> Parsed<Node> {
        self.series(&[("&", Binary::And)], Self::sum)
    }

    fn sum(&mut self) -> Parsed<Node> {
        self.series(&[("+", Binary::Add), ("-", Binary::Subtract)], Self::product)
    }

    fn product(&mut self) -> Parsed<Node> {
        self.series(&[("*", Binary::Multiply), ("/", Binary::Divide)], Self::unary)
    }

    /// Parts with operators of equal standing between them, which bind to the left.
    fn series(
        &mut self,
        operators: &[(&str, Binary)],
        part: fn(&mut Self) -> Parsed<Node>,
    ) -> Parsed<Node> {
        let mut node = part(self)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.take(sign)) {
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                return Err("is too long".to_owned());
            }
            node = Node::Binary(*operator, Box::new(node), Box::new(part(self)?));
        }
        Ok(node)
    }

    fn unary(&mut self) -> Parsed<Node> {
        let signs = [("-", Unary::Minus), ("+", Unary::Plus), ("~", Unary::Not)];
        match signs.into_iter().find(|(sign, _)| self.take(sign)) {
            Some((_, sign)) => Ok(Node::Unary(sign, Box::new(self.deeper(Self::unary)?))),
            None => self.atom(),
        }
    }

    fn atom(&mut self) -> Parsed<Node> {
        match self.peek() {
            Some('(') => self.in_parentheses(),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            _ => Err(self.unexpected()),
        }
    }

    fn in_parentheses(&mut self) -> Parsed<Node> {
        self.expect("(")?;
        let inside = self.deeper(Self::cut)?;
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
        let mut before = ' ';
        let text = self.word(|c| {
            let is_part = c.is_ascii_alphanumeric()
                || c == '.'
                || (matches!(c, '+' | '-') && matches!(before, 'e' | 'E'));
            before = c;
            is_part
        });
        let is_float = text.contains(['.', 'e', 'E']);
        let parsed = match is_float {
            true => text.parse().ok().map(Node::Float),
            false => text.parse().ok().map(Node::Int),
        };
        parsed.ok_or_else(|| format!("has a number that cannot be read: {text}"))
    }

    fn name(&mut self) -> Parsed<Node> {
        let name = self.word(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
        match name {
            "and" | "or" | "not" => Err(spelt(name)),
            _ if self.peek() != Some('(') => Ok(self.column(name)),
            "abs" => Ok(Node::Unary(Unary::Abs, Box::new(self.in_parentheses()?))),
            "get" => {
                self.expect("(")?;
                let quote = if self.take("'") { "'" } else { self.expect("\"").map(|()| "\"")? };
                let Some((name, rest)) = self.rest.split_once(quote) else {
                    return Err("ends too early".to_owned());
                };
                self.rest = rest;
                self.expect(")")?;
                Ok(self.column(name))
            }
            _ => Err(format!("may not contain a function {name}")),
        }
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

/// What to write for an operator of C++, or a word of Python's, that arrays do not have.
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
