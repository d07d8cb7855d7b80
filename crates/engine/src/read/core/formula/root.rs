//! ROOT's grammar of formulas, that of `TTreeFormula`, from text to an expression.
//!
//! Each line binds closer than the one before:
//!
//! ```text
//! ?:   ||   &&   |   &   <   >   <=   >=   ==   !=   +   -   %   >>   <<   *   /   ^   !
//! ```
//!
//! Other than in C, `%` and the shifts bind closer than `+`, and each comparison has a line of its
//! own; some orders are exceptions (`split.rs`). `^` is a power. A name is a column; `v[0]`, `v[i]`
//! and `v[]` are items of each entry.
//! (Source: `ROOT::v5::TFormula::Analyze`.)

use super::node::{Node, Operator, wrong};
use super::split::split;
use remote::Result;

/// Parentheses and signs within each other; more than formulas have, less than a stack holds.
const DEPTH_MAX: u32 = 40;
/// The same of operators.
const OPERATORS_MAX: u32 = 256;

/// An operator as it is written, its name in the expression, and whether a row of them is computed
/// from the left.
struct Level {
    written: &'static str,
    operator: Operator,
    is_left: bool,
}

const fn level(written: &'static str, operator: Operator, is_left: bool) -> Level {
    Level { written, operator, is_left }
}

/// Those that are split by rules of their own: between `&` and `*`.
const SPLIT: usize = 4;

const LEVELS: [Level; 7] = [
    level("||", "@||", false),
    level("&&", "@&&", false),
    level("|", "@|", false),
    level("&", "@&", false),
    level("*", "@*", false),
    level("/", "@/", true),
    level("^", "@pow", true),
];

/// All that is written with letters that are no names' and no numbers', the longer ones first.
const SIGNS: [&str; 29] = [
    "||", "&&", "<<", ">>", "<=", ">=", "==", "!=", "=<", "=>", "|", "&", "<", ">", "+", "-", "%",
    "*", "/", "^", "?", ":", "!", "(", ")", "[", "]", ",", "@",
];

/// Functions as they are written, their names in the expression, and how many arguments they take.
pub(super) const FUNCTIONS: [(&str, Operator, usize); 107] = [
    ("abs", "@abs", 1),
    ("acos", "@acos", 1),
    ("acosh", "@acosh", 1),
    ("asin", "@asin", 1),
    ("asinh", "@asinh", 1),
    ("atan", "@atan", 1),
    ("atan2", "@atan2", 2),
    ("atanh", "@atanh", 1),
    ("cbrt", "@cbrt", 1),
    ("ceil", "@ceil", 1),
    ("cos", "@cos", 1),
    ("cosh", "@cosh", 1),
    ("erf", "@erf", 1),
    ("erfc", "@erfc", 1),
    ("exp", "@exp", 1),
    ("expm1", "@expm1", 1),
    ("fabs", "@abs", 1),
    ("floor", "@floor", 1),
    ("fmod", "@fmod", 2),
    ("hypot", "@hypot", 2),
    ("int", "@int", 1),
    ("lgamma", "@lgamma", 1),
    ("log", "@log", 1),
    ("log10", "@log10", 1),
    ("log1p", "@log1p", 1),
    ("log2", "@log2", 1),
    ("max", "@max", 2),
    ("min", "@min", 2),
    ("pow", "@pow", 2),
    ("round", "@round", 1),
    ("sign", "@sign", 1),
    ("sin", "@sin", 1),
    ("sinh", "@sinh", 1),
    ("sq", "@sq", 1),
    ("sqrt", "@sqrt", 1),
    ("strstr", "@strstr", 2),
    ("tan", "@tan", 1),
    ("tanh", "@tanh", 1),
    ("tgamma", "@tgamma", 1),
    ("trunc", "@trunc", 1),
    ("Sum$", "@Sum$", 1),
    ("Length$", "@Length$", 1),
    ("Min$", "@Min$", 1),
    ("Max$", "@Max$", 1),
    ("MinIf$", "@MinIf$", 2),
    ("MaxIf$", "@MaxIf$", 2),
    ("Alt$", "@Alt$", 2),
    ("TMath::ACos", "@ACos", 1),
    ("TMath::ACosH", "@ACosH", 1),
    ("TMath::ASin", "@ASin", 1),
    ("TMath::ASinH", "@asinh", 1),
    ("TMath::ATan", "@atan", 1),
    ("TMath::ATan2", "@atan2", 2),
    ("TMath::ATanH", "@ATanH", 1),
    ("TMath::Abs", "@abs", 1),
    ("TMath::Binomial", "@Binomial", 2),
    ("TMath::Ceil", "@ceil", 1),
    ("TMath::CeilNint", "@CeilNint", 1),
    ("TMath::Cos", "@cos", 1),
    ("TMath::CosH", "@cosh", 1),
    ("TMath::DegToRad", "@DegToRad", 0),
    ("TMath::E", "@E", 0),
    ("TMath::Erf", "@erf", 1),
    ("TMath::Erfc", "@erfc", 1),
    ("TMath::Even", "@Even", 1),
    ("TMath::Exp", "@Exp", 1),
    ("TMath::Factorial", "@Factorial", 1),
    ("TMath::Finite", "@Finite", 1),
    ("TMath::Floor", "@floor", 1),
    ("TMath::FloorNint", "@FloorNint", 1),
    ("TMath::Freq", "@Freq", 1),
    ("TMath::Gamma", "@Gamma", 1),
    ("TMath::Gaus", "@Gaus", 1),
    ("TMath::Gaus", "@Gaus", 2),
    ("TMath::Gaus", "@Gaus", 3),
    ("TMath::Gaus", "@Gaus", 4),
    ("TMath::Hypot", "@hypot", 2),
    ("TMath::Infinity", "@Infinity", 0),
    ("TMath::IsNaN", "@IsNaN", 1),
    ("TMath::LnGamma", "@lgamma", 1),
    ("TMath::Log", "@Log", 1),
    ("TMath::Log10", "@Log10", 1),
    ("TMath::Log2", "@log2", 1),
    ("TMath::Max", "@Max", 2),
    ("TMath::Min", "@Min", 2),
    ("TMath::Nint", "@Nint", 1),
    ("TMath::Odd", "@Odd", 1),
    ("TMath::Pi", "@pi", 0),
    ("TMath::PiOver2", "@PiOver2", 0),
    ("TMath::Poisson", "@Poisson", 2),
    ("TMath::Power", "@pow", 2),
    ("TMath::Prob", "@Prob", 2),
    ("TMath::QuietNaN", "@QuietNaN", 0),
    ("TMath::RadToDeg", "@RadToDeg", 0),
    ("TMath::Range", "@Range", 3),
    ("TMath::Sign", "@Sign", 2),
    ("TMath::SignBit", "@SignBit", 1),
    ("TMath::Sin", "@sin", 1),
    ("TMath::SinH", "@sinh", 1),
    ("TMath::Sqrt", "@Sqrt", 1),
    ("TMath::Sqrt2", "@Sqrt2", 0),
    ("TMath::Tan", "@Tan", 1),
    ("TMath::TanH", "@tanh", 1),
    ("TMath::TwoPi", "@TwoPi", 0),
    ("TVector2::Phi_mpi_pi", "@Phi_mpi_pi", 1),
    ("std::abs", "@abs", 1),
    ("std::pow", "@pow", 2),
];

/// Names that stand for no column.
const WORDS: [(&str, Operator); 7] = [
    ("pi", "@pi"),
    ("Entry$", "@Entry$"),
    ("LocalEntry$", "@Entry$"),
    ("Entries$", "@Entries$"),
    ("LocalEntries$", "@Entries$"),
    ("Length$", "@Instances$"),
    ("Iteration$", "@Iteration$"),
];

type Parsed<T> = std::result::Result<T, String>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    Text(String),
    Sign(&'static str),
}

/// The expression that a text is, and the names of its columns, each once.
pub(super) fn parse(text: &str) -> Result<(Node, Vec<String>)> {
    let parsed = tokens(text).and_then(|tokens| {
        let mut parser = Parser { tokens, at: 0, names: Vec::new(), depth: 0, operators: 0 };
        let node = parser.choice()?;
        match parser.tokens.get(parser.at) {
            Some(_) => Err(parser.unexpected()),
            None => Ok((node, parser.names)),
        }
    });
    match parsed {
        // A name alone is the column as it is.
        Ok((Node::Apply("@double", columns), names)) if columns.len() == 1 => {
            Ok((columns.into_iter().next().unwrap_or(Node::Nothing), names))
        }
        Ok(parsed) => Ok(parsed),
        Err(why) => Err(wrong(text, &format!("in ROOT's grammar {why}"))),
    }
}

fn tokens(text: &str) -> Parsed<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let token;
        if first.is_ascii_digit() || (first == '.' && is_digit(rest[1..].chars().next())) {
            let end = number_end(rest);
            token = Token::Number(number(&rest[..end])?);
            rest = &rest[end..];
        } else if first.is_alphabetic() || first == '_' {
            let end = name_end(rest);
            token = Token::Name(rest[..end].replace("\\/", "/").replace("->", "."));
            rest = &rest[end..];
        } else if first == '"' {
            let Some(end) = rest[1..].find('"') else {
                return Err("ends within a text".to_owned());
            };
            token = Token::Text(rest[1..=end].to_owned());
            rest = &rest[end + 2..];
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            token = Token::Sign(match *sign {
                "=<" => "<=",
                "=>" => ">=",
                sign => sign,
            });
            rest = &rest[sign.len()..];
        } else if let Some(member) = rest.strip_prefix('.') {
            // A member of the value in front of the point.
            let end = name_end(member);
            token = Token::Name(format!(".{}", &member[..end]));
            rest = &member[end..];
        } else {
            return Err(format!("cannot be read at {first:?}"));
        }
        tokens.push(token);
        rest = rest.trim_start();
    }
    Ok(tokens)
}

fn is_digit(letter: Option<char>) -> bool {
    letter.is_some_and(|letter| letter.is_ascii_digit())
}

fn number_end(text: &str) -> usize {
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let mut before = ' ';
    let end = text.find(|c: char| {
        let is_sign = matches!(c, '+' | '-') && !is_hex && matches!(before, 'e' | 'E');
        before = c;
        !(is_sign || c.is_ascii_alphanumeric() || c == '.')
    });
    end.unwrap_or(text.len())
}

fn number(written: &str) -> Parsed<f64> {
    let hex = written.strip_prefix("0x").or(written.strip_prefix("0X"));
    let number = match hex {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|whole| whole as f64),
        None => written.parse().ok().filter(|number: &f64| number.is_finite()),
    };
    number.ok_or_else(|| format!("has a number that cannot be read: {written}"))
}

/// Where a name ends, with the names of members and of scopes.
fn name_end(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let word = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')));
        at += word.unwrap_or(rest.len());
        let behind = &text[at..];
        let joint = ["::", "->", "\\/", "."].into_iter().find(|joint| {
            let next = behind.strip_prefix(joint).and_then(|next| next.chars().next());
            next.is_some_and(|next| next.is_alphabetic() || next == '_')
        });
        match joint {
            Some(joint) => at += joint.len(),
            None => return at,
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    names: Vec<String>,
    depth: u32,
    operators: u32,
}

impl Parser {
    fn choice(&mut self) -> Parsed<Node> {
        let condition = self.level(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let yes = self.deeper(|parser| parser.level(0))?;
        self.expect(":")?;
        let no = self.deeper(Self::choice)?;
        Ok(Node::Apply("@?:", vec![condition, yes, no]))
    }

    /// Parts with operators of one level between them.
    fn level(&mut self, at: usize) -> Parsed<Node> {
        let Some(level) = LEVELS.get(at) else { return self.atom() };
        let mut parts = vec![self.below(at)?];
        while self.take(level.written) {
            self.count()?;
            parts.push(self.part(at)?);
        }
        let join = |left, right| Node::Apply(level.operator, vec![left, right]);
        let node = match level.is_left {
            true => parts.into_iter().reduce(join),
            false => parts.into_iter().rev().reduce(|right, left| join(left, right)),
        };
        node.ok_or_else(|| self.unexpected())
    }

    /// A part between operators of a level.
    fn below(&mut self, at: usize) -> Parsed<Node> {
        if at + 1 == SPLIT { self.segment(self.segment_end()) } else { self.level(at + 1) }
    }

    /// The operand behind an operator, which may have a sign.
    fn part(&mut self, at: usize) -> Parsed<Node> {
        if at >= SPLIT && self.take("-") {
            return Ok(Node::Apply("@neg", vec![self.deeper(|parser| parser.part(at))?]));
        }
        self.below(at)
    }

    fn count(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX { Err("is too long".to_owned()) } else { Ok(()) }
    }

    /// Where the part ends that has operators from comparisons on only.
    fn segment_end(&self) -> usize {
        let mut depth = 0u32;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at) {
            let Token::Sign(sign) = token else { continue };
            match *sign {
                "(" | "[" => depth += 1,
                ")" | "]" if depth > 0 => depth -= 1,
                ")" | "]" => return at,
                "||" | "&&" | "|" | "&" | "?" | ":" | "," if depth == 0 => return at,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// The tokens up to `end`.
    fn segment(&mut self, end: usize) -> Parsed<Node> {
        if let Some((operator, at)) = split(&self.tokens[self.at..end])? {
            self.count()?;
            let at = self.at + at;
            let left = self.segment(at)?;
            self.at = at + 1;
            return Ok(Node::Apply(operator, vec![left, self.segment(end)?]));
        }
        let is_negative = self.at < end && self.take("-");
        let node = match is_negative {
            true if self.at < end && self.tokens[self.at] == Token::Sign("-") => {
                return Err(self.unexpected());
            }
            true => Node::Apply("@neg", vec![self.segment(end)?]),
            false => self.level(SPLIT)?,
        };
        if self.at == end { Ok(node) } else { Err(self.unexpected()) }
    }

    fn atom(&mut self) -> Parsed<Node> {
        if self.take("!") {
            return Ok(Node::Apply("@!", vec![self.deeper(Self::atom)?]));
        }
        if self.take("+") {
            return self.deeper(Self::atom);
        }
        if self.take("(") {
            let inside = self.deeper(Self::choice)?;
            self.expect(")")?;
            return Ok(inside);
        }
        let is_collection = self.take("@");
        match self.tokens.get(self.at).cloned() {
            Some(Token::Number(number)) if !is_collection => {
                self.at += 1;
                Ok(Node::Float(number))
            }
            Some(Token::Text(text)) if !is_collection => {
                self.at += 1;
                Ok(Node::Text(text))
            }
            Some(Token::Name(name)) => {
                self.at += 1;
                self.named(name, is_collection)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A column, a function, or a name with a meaning of its own.
    fn named(&mut self, mut name: String, is_collection: bool) -> Parsed<Node> {
        if self.take("(") {
            return self.call(&name, is_collection);
        }
        if is_collection {
            return Err(format!("has @{name}: only @{name}.size() is computed"));
        }
        let behind = (self.tokens.get(self.at), self.tokens.get(self.at + 1));
        if let (Some(Token::Sign("@")), Some(Token::Name(method))) = behind {
            // `v@.size()` is `@v.size()`.
            name.push_str(method);
            self.at += 2;
            self.expect("(")?;
            return self.call(&name, true);
        }
        if let Some((_, operator)) = WORDS.iter().find(|(word, _)| *word == name) {
            return Ok(Node::Apply(operator, Vec::new()));
        }
        if name.ends_with('$') {
            return Err(format!("has {name}, which is not computed"));
        }
        let mut indices = Vec::new();
        loop {
            if self.take("[") {
                if self.take("]") {
                    indices.push(Node::Nothing);
                    continue;
                }
                indices.push(self.deeper(Self::choice)?);
                self.expect("]")?;
                continue;
            }
            match self.tokens.get(self.at) {
                Some(Token::Name(member)) if member.starts_with('.') && !indices.is_empty() => {
                    name.push_str(member);
                    self.at += 1;
                }
                _ => break,
            }
        }
        if self.take("(") {
            return self.call(&name, false);
        }
        let column = self.column(&name);
        if indices.is_empty() {
            return Ok(Node::Apply("@double", vec![column]));
        }
        indices.insert(0, column);
        Ok(Node::Apply("@[]", indices))
    }

    fn call(&mut self, name: &str, is_collection: bool) -> Parsed<Node> {
        let mut arguments = Vec::new();
        if !self.take(")") {
            arguments.push(self.deeper(Self::choice)?);
            while self.take(",") {
                arguments.push(self.deeper(Self::choice)?);
            }
            self.expect(")")?;
        }
        let of_collection = if is_collection { name.strip_suffix(".GetEntries") } else { None };
        let column = name.strip_suffix(".size").or(of_collection);
        if let Some(column) = column.filter(|_| arguments.is_empty()) {
            let column = self.column(column);
            let operator = if is_collection { "@size" } else { "@sizes" };
            return Ok(Node::Apply(operator, vec![column]));
        }
        let mut known = FUNCTIONS.iter().filter(|(known, ..)| *known == name && !is_collection);
        let first = known.clone().next();
        match known.find(|(.., count)| *count == arguments.len()).or(first) {
            Some((_, operator, count)) if arguments.len() == *count => {
                if *operator == "@Gaus" {
                    // Around 0, with a width of 1, and not normalised.
                    arguments
                        .extend([0.0, 0.0, 1.0, 0.0][*count..].iter().copied().map(Node::Float));
                }
                Ok(Node::Apply(operator, arguments))
            }
            Some((_, _, count)) => {
                let given = arguments.len();
                Err(format!("gives {name} {given} arguments, and it takes {count}"))
            }
            None => Err(format!("calls {name}(), which farroot does not compute")),
        }
    }

    fn column(&mut self, name: &str) -> Node {
        let known = self.names.iter().position(|other| other == name);
        Node::Column(known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }

    fn deeper(&mut self, part: impl FnOnce(&mut Self) -> Parsed<Node>) -> Parsed<Node> {
        if self.depth == DEPTH_MAX {
            return Err("nests too deeply".to_owned());
        }
        self.depth += 1;
        let node = part(self);
        self.depth -= 1;
        node
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_there =
            matches!(self.tokens.get(self.at), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> String {
        match self.tokens.get(self.at) {
            None => "ends too early".to_owned(),
            Some(Token::Sign(sign)) => format!("cannot be read at {sign:?}"),
            Some(Token::Name(name)) => format!("cannot be read at {name:?}"),
            Some(Token::Number(number)) => format!("cannot be read at {number}"),
            Some(Token::Text(text)) => format!("cannot be read at {text:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(node: &Node, names: &[String]) -> String {
        match node {
            Node::Column(at) => names[*at].clone(),
            Node::Float(number) => number.to_string(),
            Node::Text(text) => format!("{text:?}"),
            Node::Apply("@double", arguments) => shown(&arguments[0], names),
            Node::Apply(operator, arguments) => {
                let parts: Vec<String> = arguments.iter().map(|one| shown(one, names)).collect();
                format!("({} {})", &operator[1..], parts.join(" "))
            }
            _ => "-".to_owned(),
        }
    }

    /// Each was drawn with ROOT 6.40.
    #[test]
    fn operators_bind_as_in_root() {
        for (text, expected) in [
            ("a^b^2", "(pow (pow a b) 2)"),
            ("-a^2", "(neg (pow a 2))"),
            ("a%b%c", "(% a (% b c))"),
            ("a+b<<3", "(+ a (<< b 3))"),
            ("a*b%c", "(% (* a b) c)"),
            ("a%b*c", "(% a (* b c))"),
            ("a/b/c", "(/ (/ a b) c)"),
            ("a-b-c", "(- (- a b) c)"),
            ("-a-b", "(- (neg a) b)"),
            ("a*-b", "(* a (neg b))"),
            ("a&b==2", "(& a (== b 2))"),
            ("!a&&b||c", "(|| (&& (! a) b) c)"),
            ("a>0?b:c>0?d:e", "(?: (> a 0) b (?: (> c 0) d e))"),
            ("v[0]+m[i][]", "(+ ([] v 0) ([] m i -))"),
            ("a->b.c[1].d", "([] a.b.c.d 1)"),
            ("@v.size()", "(size v)"),
            ("TMath::Pi()*pi", "(* (pi ) (pi ))"),
            ("Sum$(v>1e-3)", "(Sum$ (> v 0.001))"),
            ("s==\"a\"", "(== s \"a\")"),
            ("3<n<=2", "(<= (< 3 n) 2)"),
            ("n<=3<2", "(< (<= n 3) 2)"),
            ("3<n<=2<1", "(< (<= (< 3 n) 2) 1)"),
            ("n>m>=n", "(>= (> n m) n)"),
            ("3<n<2", "(< 3 (< n 2))"),
            ("n<<1<3", "(<< n (< 1 3))"),
            ("n<<1<3+1", "(+ (<< n (< 1 3)) 1)"),
            ("n>>1>0", "(>> n (> 1 0))"),
            ("n<<1>2", "(> (<< n 1) 2)"),
            ("n<<1<=2", "(<= (<< n 1) 2)"),
            ("0<n<<1", "(< 0 (<< n 1))"),
            ("n<<1==m<3", "(== (<< n 1) (< m 3))"),
            ("(n<<1)<3", "(< (<< n 1) 3)"),
            ("-1>n>=b", "(>= (> (neg 1) n) b)"),
            ("a%-b", "(% a (neg b))"),
            ("x", "x"),
        ] {
            let (node, names) = parse(text).expect(text);
            assert_eq!(shown(&node, &names), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_computed_is_named() {
        for (text, why) in [
            ("p4.Pt() > 3", "calls p4.Pt()"),
            ("a +", "ends too early"),
            ("a b", "cannot be read at \"b\""),
            ("Special$", "has Special$"),
            ("sqrt(a, b)", "gives sqrt 2 arguments"),
            ("a # b", "cannot be read at '#'"),
            ("\"a", "ends within a text"),
            ("1x", "1x"),
            ("3<n>=0", "template"),
            ("n<=2<=0", "<="),
            (&"(".repeat(10_000), "too deeply"),
            (&"!".repeat(10_000), "too deeply"),
            (&"-".repeat(10_000), "cannot be read"),
            (&"a*-".repeat(10_000), "too"),
            (&"a+".repeat(10_000), "too long"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{error} lacks {why:?}");
        }
    }
}
