//! The place where a credential was found.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a credential was found, as messages name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An argument of the call.
    Argument,
    /// The value of an environment variable.
    Variable(&'static str),
    /// A file, and the variable that named it, if one did.
    File {
        /// Which one.
        path: PathBuf,
        /// The variable that named it.
        named_by: Option<&'static str>,
    },
    /// A part of a file: the file, and the part's name.
    Section(PathBuf, String),
    /// A cache of Kerberos tickets; empty: the one that the Kerberos library takes.
    Cache(String),
}

impl Place {
    /// A file in its usual place.
    pub fn usual(path: impl Into<PathBuf>) -> Self {
        Place::File { path: path.into(), named_by: None }
    }

    /// The file that a variable names.
    pub fn named(path: impl Into<PathBuf>, by: &'static str) -> Self {
        Place::File { path: path.into(), named_by: Some(by) }
    }

    /// The path, where it is a file.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Place::File { path, .. } | Place::Section(path, _) => Some(path),
            Place::Argument | Place::Variable(_) | Place::Cache(_) => None,
        }
    }

    /// Whether the caller or a variable named it, so that nothing being there is an error.
    pub fn is_named(&self) -> bool {
        !matches!(self, Place::File { named_by: None, .. })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Argument => f.write_str("the argument of the call"),
            Place::Variable(name) => write!(f, "the variable {name}"),
            Place::File { path, named_by: None } => write!(f, "{}", path.display()),
            Place::File { path, named_by: Some(name) } => {
                write!(f, "{} (from {name})", path.display())
            }
            Place::Section(path, name) => write!(f, "[{name}] of {}", path.display()),
            Place::Cache(name) if name.is_empty() => f.write_str("the usual ticket cache"),
            Place::Cache(name) => write!(f, "the ticket cache {name}"),
        }
    }
}
