//! kXR_query: facts of a server other than files. Specification: "kXR_query Request".

use bytes::Bytes;

use super::Message;
use crate::codec::{Fields, exact_text, text};
use crate::error::DecodeError;
use crate::header::Handle;

/// The configuration value by which a server says that it selects entries of its files over HTTP,
/// with the version of requests. Other servers do not know it.
pub const SELECTS_KEY: &str = "farroot.select";

/// Kinds of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueryKind(pub u16);

impl QueryKind {
    pub const STATISTICS: QueryKind = QueryKind(1);
    pub const CHECKSUM: QueryKind = QueryKind(3);
    pub const SPACE: QueryKind = QueryKind(5);
    pub const CONFIG: QueryKind = QueryKind(7);
    pub const OPAQUE: QueryKind = QueryKind(16);
}

/// The request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub kind: QueryKind,
    pub handle: Handle,
    /// A path, or names of configuration values separated by spaces.
    pub argument: String,
}

impl Query {
    /// Asks for configuration values by name.
    pub fn config(keys: &[&str]) -> Query {
        let argument = keys.join(" ");
        Query { kind: QueryKind::CONFIG, handle: Handle::default(), argument }
    }

    /// Asks for the shortest of the server's statistics, as XML.
    pub fn summary() -> Query {
        let argument = "i".to_owned();
        Query { kind: QueryKind::STATISTICS, handle: Handle::default(), argument }
    }

    /// Asks for a file's checksum; the kind can be chosen by `?cks.type=`.
    pub fn checksum(path: &str) -> Query {
        Query {
            kind: QueryKind::CHECKSUM,
            handle: Handle::default(),
            argument: path.to_owned(),
        }
    }
}

/// The answer: a text whose form depends on the kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryAnswer(pub Bytes);

impl QueryAnswer {
    /// Without the NUL that most kinds end with.
    pub fn text(&self) -> String {
        text(&self.0)
    }
}

impl Message for Query {
    const CODE: u16 = 3001;
    const NAME: &'static str = "kXR_query";
    type Answer = QueryAnswer;

    fn decode(parameters: &[u8; 16], body: &Bytes) -> Result<Self, DecodeError> {
        let mut fields = Fields::new(Self::NAME, parameters);
        let kind = QueryKind(fields.u16()?);
        fields.skip::<2>()?;
        let handle = Handle(fields.array()?);
        Ok(Query { kind, handle, argument: exact_text(Self::NAME, body)? })
    }

    fn encode(&self, parameters: &mut [u8; 16], body: &mut Vec<u8>) {
        parameters[0..2].copy_from_slice(&self.kind.0.to_be_bytes());
        parameters[4..8].copy_from_slice(&self.handle.0);
        body.extend_from_slice(self.argument.as_bytes());
    }

    fn decode_answer(body: &Bytes) -> Result<QueryAnswer, DecodeError> {
        Ok(QueryAnswer(body.clone()))
    }

    fn encode_answer(answer: &QueryAnswer) -> Vec<u8> {
        answer.0.to_vec()
    }
}

/// The text that answers a query for configuration values: one line per key; a key without a
/// value is repeated, which is how servers say that they do not know it.
pub fn config_answer(keys: &str, values: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    for key in keys.split_ascii_whitespace() {
        text.push_str(&values(key).unwrap_or_else(|| key.to_owned()));
        text.push('\n');
    }
    text
}

/// Pairs the keys of a configuration query with the lines of its answer. `None` where the server
/// did not know the key.
pub fn config_values(keys: &str, answer: &str) -> Vec<(String, Option<String>)> {
    let mut lines = answer.lines();
    let pair = |key: &str| {
        let value = lines.next().map(str::trim).filter(|line| !line.is_empty() && *line != key);
        (key.to_owned(), value.map(str::to_owned))
    };
    keys.split_ascii_whitespace().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_by_key_and_unknown_keys_have_none() {
        let known = |key: &str| (key == "readv_iov_max").then(|| "1024".to_owned());
        let answer = config_answer("readv_iov_max nonsense", &known);
        assert_eq!(answer, "1024\nnonsense\n");
        let values = config_values("readv_iov_max nonsense more", &answer);
        assert_eq!(values[0], ("readv_iov_max".to_owned(), Some("1024".to_owned())));
        assert_eq!(values[1].1, None);
        assert_eq!(values[2].1, None, "an answer with too few lines");
    }
}
