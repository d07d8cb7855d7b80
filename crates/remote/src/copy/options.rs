//! Options of a copy, and its outcome for each file.

use std::path::PathBuf;

use crate::checksum::Checksum;

/// How to copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyOptions {
    /// Replaces files that are there already.
    pub overwrite: bool,
    /// Compares each file with its server's checksum.
    pub verify: bool,
    /// To a server: writes under the final name from the beginning, where it renames no files. A
    /// file that was there before is lost at once.
    pub in_place: bool,
    /// Copies directories with all that is below them.
    pub recursive: bool,
    /// Leaves files alone that are there already and the same, and replaces those that differ.
    pub update: bool,
    /// The checksum that the copy of one file must have.
    pub checksum: Option<Checksum>,
}

impl CopyOptions {
    /// Copies directories, or refuses them.
    #[must_use]
    pub fn recursive(self, recursive: bool) -> Self {
        CopyOptions { recursive, ..self }
    }

    /// Copies only files that are not there or differ, or all.
    #[must_use]
    pub fn update(self, update: bool) -> Self {
        CopyOptions { update, ..self }
    }

    /// Compares the copy of one file with this checksum.
    #[must_use]
    pub fn checksum(self, checksum: Option<Checksum>) -> Self {
        CopyOptions { checksum, ..self }
    }

    /// Writes to servers under the final name from the beginning, or not.
    #[must_use]
    pub fn in_place(self, in_place: bool) -> Self {
        CopyOptions { in_place, ..self }
    }

    /// Replaces files that are there already, or leaves them alone.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        CopyOptions { overwrite, ..self }
    }

    /// Compares each file with its server's checksum, or does not.
    #[must_use]
    pub fn verify(self, verify: bool) -> Self {
        CopyOptions { verify, ..self }
    }
}

/// A file that has been copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The source's address, without secrets.
    pub source: String,
    /// The copy; on a server its address, without secrets.
    pub target: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Of them, here from an earlier try.
    pub resumed: u64,
    /// The checksum on which the file and its server agree, where it was requested.
    pub checksum: Option<Checksum>,
    /// It was there already, and has not been copied.
    pub is_same: bool,
    /// Warnings of the upload, as [`Written::warnings`](crate::Written::warnings).
    pub warnings: Vec<String>,
}

/// The expected checksum of a file, and its origin.
#[derive(Debug, Clone)]
pub struct Claim {
    pub said: Checksum,
    pub by: &'static str,
}
