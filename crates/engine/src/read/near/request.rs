//! The request to a server that selects entries, in JSON: `docs/near.md` describes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::read::core::cut::Cut;
use crate::read::core::formula::Program;
use crate::read::core::request::ColumnRequest;
use crate::read::core::spelled::SpelledFormula;
use crate::read::core::table::Table;
use crate::read::file::File;
use remote::near::NearPlace;
use remote::{Error, ErrorKind, Result};

/// The version of requests and answers.
pub const VERSION: u32 = 1;
/// The key of the stream's metadata that has the layouts of the columns.
pub const LAYOUTS: &str = "farroot";
/// The name of the column that counts entries left out before each one.
pub const SKIPPED: &str = "farroot.skipped";
/// Files of one request.
pub const FILES_MAX: usize = 256;
/// Columns, new ones included, of one request.
pub const COLUMNS_MAX: usize = 1000;
/// Bytes of one text in a request: a name, a formula.
pub const TEXT_BYTES_MAX: usize = 16 << 10;

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectRequest {
    #[serde(default = "version")]
    pub version: u32,
    pub files: Vec<SelectFile>,
    /// Path of the table in each file; without it the only one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Without them all that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<SelectColumn>>,
    /// New columns: formulas by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub define: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<SelectCut>,
    /// First and last entry (half open) of each file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<[u64; 2]>,
    #[serde(default)]
    pub operation: Operation,
    /// Compression of the buffers of columns; without it the usual one of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<BufferCompression>,
    /// Whether a last column has, for each entry, how many were left out before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Axes of a histogram.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<HistogramAxis>,
    /// A column of weights of a histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<SelectColumn>,
}

fn version() -> u32 {
    VERSION
}

/// The answer that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The columns of the entries, as a stream of Arrow.
    #[default]
    Arrays,
    /// How many entries there are.
    Count,
    /// A histogram.
    Histogram,
}

/// The compression of each buffer in a stream of Arrow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BufferCompression {
    Zstd,
    None,
}

/// A file, by the name that a `GET` has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SelectFile {
    Name(String),
    Known(KnownFile),
}

/// A file that the client has opened, too.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFile {
    pub file: String,
    /// Path of the table, where it is another one than the request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Entries of the table: it is an error if it has another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_entries: Option<u64>,
    /// Bytes of the file: it is an error if it has another number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The file's own number (`fUUID`), in hexadecimal digits: it is an error if it has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Seconds since 1970 of its last modification: it is an error if these are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SelectColumn {
    /// A name, a pattern, an alias of the file or a formula.
    Text(String),
    /// One branch or field, and how it is wanted.
    Exact(ExactColumn),
}

/// A branch or a field, as [`ColumnRequest`] has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactColumn {
    pub name: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_bytes: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Vec<String>>,
}

/// The entries that stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SelectCut {
    /// A formula.
    Text(String),
    /// A formula with the meanings of its names.
    Exact(ExactCut),
}

/// A formula over these columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExactCut {
    pub columns: Vec<ExactColumn>,
    pub formula: SpelledFormula,
}

/// An axis of a histogram, of the values of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistogramAxis {
    pub column: SelectColumn,
    /// So many bins of equal width from `start` to `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<f64>,
    /// The edges of bins, ascending, in place of these.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "named_numbers")]
    pub edges: Option<Vec<f64>>,
}

/// Numbers in JSON, which has no infinite ones: those go by their names, as in the answers.
mod named_numbers {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum NamedNumber {
        Number(f64),
        Name(String),
    }

    pub fn serialize<S: Serializer>(
        numbers: &Option<Vec<f64>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let named = |number: &f64| match number.is_finite() {
            true => NamedNumber::Number(*number),
            false => NamedNumber::Name(number.to_string()),
        };
        let numbers = numbers.as_ref().map(|all| all.iter().map(named).collect::<Vec<_>>());
        numbers.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<f64>>, D::Error> {
        let number = |named: NamedNumber| match named {
            NamedNumber::Number(number) => Ok(number),
            NamedNumber::Name(name) => match &*name {
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                _ => Err(D::Error::custom(format!("no number: {name:?}"))),
            },
        };
        let numbers = Option::<Vec<NamedNumber>>::deserialize(deserializer)?;
        numbers.map(|all| all.into_iter().map(number).collect()).transpose()
    }
}

impl HistogramAxis {
    /// Bins, without those beyond the edges.
    pub(crate) fn count(&self) -> usize {
        match &self.edges {
            Some(edges) => edges.len().saturating_sub(1),
            None => self.bins.unwrap_or_default(),
        }
    }
}

impl From<ColumnRequest> for ExactColumn {
    fn from(request: ColumnRequest) -> Self {
        let ColumnRequest { name, optional, as_bytes, counts, keep } = request;
        ExactColumn { name, optional, as_bytes, counts, keep }
    }
}

impl From<&ExactColumn> for ColumnRequest {
    fn from(column: &ExactColumn) -> Self {
        let ExactColumn { name, optional, as_bytes, counts, keep } = column.clone();
        ColumnRequest { name, optional, as_bytes, counts, keep }
    }
}

impl KnownFile {
    /// The file of a table that is open here, as its server knows it.
    pub fn opened(place: &NearPlace, table: &dyn Table) -> Self {
        let file = table.file();
        // Copies on other servers may have been made at another time.
        let modified = file.remote().info().modified.filter(|_| place.is_own());
        KnownFile {
            file: place.file.clone(),
            table: Some(table.asked().to_owned()),
            num_entries: Some(table.num_entries()),
            size: Some(file.size()),
            uuid: uuid_of(file),
            modified,
        }
    }

    /// Whether anything of the file is known.
    pub fn is_known(&self) -> bool {
        let KnownFile { file: _, table: _, num_entries, size, uuid, modified } = self;
        num_entries.is_some() || size.is_some() || uuid.is_some() || modified.is_some()
    }

    /// Compares the file with the one that the client has opened; what one of both does not know
    /// is not compared.
    ///
    /// # Errors
    /// `Changed` where it is another one.
    pub fn check(&self, table: &dyn Table) -> Result<()> {
        let file = table.file();
        let size = file.size();
        let entries = table.num_entries();
        let uuids = self.uuid.clone().zip(uuid_of(file));
        let times = self.modified.zip(file.remote().info().modified);
        let is_other = uuids.is_some_and(|(there, here)| there != here)
            || times.is_some_and(|(there, here)| there != here);
        let message = match (self.size, self.num_entries) {
            (Some(there), _) if there != size => {
                format!("the file has {size} bytes here, and {there} at the client")
            }
            (_, Some(there)) if there != entries => {
                format!("the table has {entries} entries here, and {there} at the client")
            }
            _ if is_other => "the file is another one here than at the client".to_owned(),
            _ => return Ok(()),
        };
        Err(Error::new(ErrorKind::Changed, message).with_url(file.url()))
    }
}

/// The number of a file that only copies of it share.
fn uuid_of(file: &File) -> Option<String> {
    let uuid = file.format().header.uuid.filter(|uuid| *uuid != 0)?;
    Some(format!("{uuid:032x}"))
}

impl SelectFile {
    /// The name, and the facts that the client knows.
    pub fn known(&self) -> KnownFile {
        match self {
            SelectFile::Known(known) => known.clone(),
            SelectFile::Name(file) => KnownFile { file: file.clone(), ..KnownFile::default() },
        }
    }
}

impl SelectCut {
    /// The cut that a caller has; `None` where no formula decides.
    pub fn of(cut: &Cut) -> Option<Self> {
        let formula = cut.predicate.spelled()?;
        let columns = cut.columns.iter().cloned().map(ExactColumn::from).collect();
        Some(SelectCut::Exact(ExactCut { columns, formula }))
    }

    /// The cut as the engine has it.
    ///
    /// # Errors
    /// `InvalidArgument` for a formula that cannot be read.
    pub fn cut(&self) -> Result<Cut> {
        match self {
            SelectCut::Text(text) => Cut::parse(text),
            SelectCut::Exact(ExactCut { columns, formula }) => {
                let program = Program::of_spelled(formula, columns.len())?;
                let columns = columns.iter().map(ColumnRequest::from).collect();
                Ok(Cut { columns, predicate: std::sync::Arc::new(program) })
            }
        }
    }
}

impl SelectRequest {
    /// All entries of files: their columns.
    pub fn arrays(files: Vec<SelectFile>) -> Self {
        SelectRequest {
            version: VERSION,
            files,
            table: None,
            columns: None,
            define: BTreeMap::new(),
            cut: None,
            entries: None,
            operation: Operation::Arrays,
            compression: None,
            skipped: false,
            axes: Vec::new(),
            weight: None,
        }
    }

    /// Reads a request, and checks its limits.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that is none; `Unsupported` for a later version;
    /// `LimitReached`.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let request = SelectRequest::read(text)?;
        request.check()?;
        Ok(request)
    }

    /// Reads a request for an operation that its text need not name.
    ///
    /// # Errors
    /// As [`SelectRequest::parse`].
    pub fn parse_as(text: &[u8], operation: Operation) -> Result<Self> {
        let request = SelectRequest { operation, ..SelectRequest::read(text)? };
        request.check()?;
        Ok(request)
    }

    fn read(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text).map_err(|error| {
            let message = format!("the request cannot be understood: {error}");
            Error::new(ErrorKind::InvalidArgument, message).with_advice("docs/near.md describes it")
        })
    }

    /// The request as it is sent.
    ///
    /// # Errors
    /// `InvalidArgument` where it cannot be written.
    pub fn written(&self) -> Result<Vec<u8>> {
        let wrong = |error| Error::new(ErrorKind::InvalidArgument, format!("{error}"));
        serde_json::to_vec(self).map_err(wrong)
    }

    fn check(&self) -> Result<()> {
        let wrong = |message: &str| Err(Error::new(ErrorKind::InvalidArgument, message));
        let beyond = |message: String| Err(Error::new(ErrorKind::LimitReached, message));
        let columns = self.columns.as_ref().map_or(0, Vec::len) + self.define.len();
        let is_histogram = self.operation == Operation::Histogram;
        let is_of_arrays = self.operation == Operation::Arrays;
        match self {
            _ if self.version != VERSION => {
                let message = format!("the server knows requests of version {VERSION}");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            _ if self.files.is_empty() => wrong("the request names no file"),
            _ if self.files.len() > FILES_MAX => {
                beyond(format!("{} files, and {FILES_MAX} are allowed", self.files.len()))
            }
            _ if columns > COLUMNS_MAX => {
                beyond(format!("{columns} columns, and {COLUMNS_MAX} are allowed"))
            }
            _ if is_of_arrays && self.columns.as_ref().is_some_and(Vec::is_empty) => {
                wrong("the request names no column: without `columns` it has all")
            }
            _ if self.entries.is_some_and(|[start, stop]| start > stop) => {
                wrong("the first of the entries is behind the last")
            }
            _ if self.skipped && self.files.len() > 1 => {
                wrong("entries left out are counted of one file only")
            }
            _ if is_histogram != (1..=3).contains(&self.axes.len()) => {
                wrong("a histogram has 1 to 3 axes, and nothing else has any")
            }
            _ if !is_histogram && self.weight.is_some() => wrong("only a histogram has a weight"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let text = br#"{"files": ["/a.root", {"file": "/b.root", "table": "t", "size": 7}],
            "columns": ["x", {"name": "y", "as_bytes": true}], "cut": "x > 1",
            "entries": [0, 10], "define": {"z": "x + 1"}, "compression": "none"}"#;
        let request = SelectRequest::parse(text).unwrap();
        assert_eq!(request.compression, Some(BufferCompression::None));
        assert_eq!(request.files[1].known().size, Some(7));
        assert_eq!(request.operation, Operation::Arrays);
        let again = SelectRequest::parse(&request.written().unwrap()).unwrap();
        assert_eq!(again, request);
    }

    /// An edge that lost its last bit moved the values on it into the bin beside.
    #[test]
    fn the_edges_of_axes_are_the_same_at_the_server() {
        let mut edges = vec![f64::NEG_INFINITY, f64::MIN, -0.1];
        edges.extend((0..1000).map(|power| 1.013f64.powi(power) / 3.0));
        edges.extend([f64::MAX, f64::INFINITY]);
        let axis = |edges: &[f64]| HistogramAxis {
            column: SelectColumn::Text("x".into()),
            bins: None,
            start: None,
            stop: None,
            edges: Some(edges.to_vec()),
        };
        let regular = |start: f64| HistogramAxis {
            bins: Some(1),
            start: Some(start),
            stop: Some(start * 2.0),
            edges: None,
            ..axis(&[])
        };
        let axes = [vec![axis(&edges)], edges[3..1000].iter().map(|one| regular(*one)).collect()];
        for axes in axes.concat().chunks(3) {
            let request = SelectRequest {
                operation: Operation::Histogram,
                axes: axes.to_vec(),
                ..SelectRequest::arrays(vec![SelectFile::Name("/f".into())])
            };
            let again = SelectRequest::parse(&request.written().unwrap()).unwrap();
            assert_eq!(again, request);
        }
        for wrong in [r#""nan""#, r#""1""#, "null"] {
            let axes = format!(r#"[{{"column": "x", "edges": [0, {wrong}]}}]"#);
            let text = format!(r#"{{"files": ["/f"], "operation": "histogram", "axes": {axes}}}"#);
            assert!(SelectRequest::parse(text.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_cut_is_the_same_at_the_server() {
        let cut = Cut::parse("(x > 1) & (y < 2)").unwrap();
        let SelectCut::Exact(exact) = SelectCut::of(&cut).unwrap() else { panic!("it is exact") };
        assert_eq!(exact.columns.len(), 2);
        let again = SelectCut::Exact(exact.clone()).cut().unwrap();
        assert_eq!(again.columns, cut.columns);
        assert_eq!(SelectCut::of(&again), Some(SelectCut::Exact(exact)));
        assert!(SelectCut::of(&Cut::new(["x"], |_| Ok(Vec::new()))).is_none());
    }

    #[test]
    fn what_is_wrong_or_too_much_is_an_error() {
        let files = vec!["\"/f\""; FILES_MAX + 1].join(",");
        let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
        for text in [
            "",
            "{}",
            "[]",
            r#"{"files": []}"#,
            &format!(r#"{{"files": [{files}]}}"#),
            r#"{"files": ["/f"], "version": 2}"#,
            r#"{"files": ["/f"], "column": ["x"]}"#,
            r#"{"files": ["/f"], "operation": "drop"}"#,
            r#"{"files": ["/f"], "compression": "gzip"}"#,
            r#"{"files": ["/f"], "operation": "histogram"}"#,
            r#"{"files": ["/f"], "entries": [-1, 2]}"#,
            r#"{"files": ["/f"], "entries": [10, 5], "operation": "count"}"#,
            r#"{"files": ["/f"], "columns": []}"#,
            r#"{"files": ["/f", "/g"], "skipped": true}"#,
            &deep,
        ] {
            assert!(SelectRequest::parse(text.as_bytes()).is_err(), "{text:.80}");
        }
    }
}
