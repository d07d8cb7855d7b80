//! Selection of branches by names, paths and globs.

use rootfile::tree::{BranchId, Tree};

use super::names::{ColumnKind, ColumnName, NameList};
use remote::{Error, ErrorKind, Result};

/// Names of the branches of a tree, in its own order.
#[derive(Debug, Clone)]
pub struct Names(NameList);

impl Names {
    pub fn new(tree: &Tree) -> Self {
        let mut names: Vec<ColumnName> = Vec::with_capacity(tree.branches.len());
        for branch in &tree.branches {
            let parent = branch.parent.map(|parent| parent.0 as usize);
            let path = match parent.and_then(|parent| names.get(parent)) {
                Some(parent) => format!("{}/{}", parent.path, branch.name),
                None => branch.name.clone(),
            };
            names.push(ColumnName { name: branch.name.clone(), path, parent });
        }
        Names(NameList::new(ColumnKind::Branch, names).of_table(&tree.name))
    }

    /// Names, paths and parents, by branch.
    pub fn list(&self) -> &NameList {
        &self.0
    }

    pub fn path(&self, branch: BranchId) -> &str {
        &self.0.all()[branch.0 as usize].path
    }

    /// All branches with their paths.
    pub fn iter(&self) -> impl Iterator<Item = (BranchId, &str)> {
        self.0.all().iter().enumerate().map(|(at, name)| (BranchId(at as u32), &*name.path))
    }

    /// As [`NameList::find`].
    pub fn find(&self, name: &str) -> Option<BranchId> {
        self.0.find(name).map(|at| BranchId(at as u32))
    }

    /// The branches that `patterns` name, each once and those of a glob in the tree's order; a
    /// pattern is a path, a last name, or a glob with `*`, `?` and `[…]` over either.
    ///
    /// # Errors
    /// `NotInFile` for a pattern that no branch matches, with the names that come near;
    /// `InvalidArgument` for a glob that cannot be read.
    pub fn select(&self, patterns: &[String]) -> Result<Vec<BranchId>> {
        let mut chosen = Vec::new();
        for pattern in patterns {
            let meant = self.0.all_of_pattern(pattern)?;
            chosen.extend(meant.into_iter().map(|at| BranchId(at as u32)));
        }
        let mut seen = std::collections::BTreeSet::new();
        chosen.retain(|branch| seen.insert(*branch));
        Ok(chosen)
    }

    /// The branch of that path or last name.
    ///
    /// # Errors
    /// `NotInFile` with the names that come near.
    pub fn require(&self, name: &str) -> Result<BranchId> {
        self.0.require(name).map(|at| BranchId(at as u32))
    }
}

/// The only path that there is.
pub(crate) fn only<'a>(paths: &'a [String], address: &str) -> Result<&'a str> {
    let (kind, message) = match paths {
        [only] => return Ok(only),
        [] => (ErrorKind::NotInFile, "the file holds no tree".to_owned()),
        several => {
            let names = rootfile::directory::listed(several);
            let message = format!("the file holds {} trees: {names}", several.len());
            (ErrorKind::InvalidArgument, message)
        }
    };
    let shell = "`farroot ls -r FILE` lists what it holds, and FILE:PATH names one of them";
    let python = "`farroot.open(FILE).keys()` lists what it holds, and FILE:PATH names one of them";
    Err(Error::new(kind, message).with_url(address).with_advice_for(shell, python))
}

/// A glob with `*`, `?` and `[…]`, as the shell has them in names.
#[derive(Debug, Clone)]
pub struct Glob(glob::Pattern);

impl Glob {
    /// Reads a glob. Two stars are one, and a bracket that is not closed stands for itself.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that cannot be read.
    pub fn new(pattern: &str) -> Result<Self> {
        glob::Pattern::new(&plain(pattern)).map(Glob).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, format!("the pattern {pattern:?}: {error}"))
        })
    }

    pub fn matches(&self, name: &str) -> bool {
        self.0.matches(name)
    }
}

/// A pattern without the forms to which the `glob` crate gives a meaning of its own: `**`, and a
/// bracket that is not closed.
fn plain(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let class = (letter == '[').then(|| class_length(rest)).flatten();
        let length = class.unwrap_or(letter.len_utf8());
        match (letter, class) {
            ('*', _) if plain.ends_with('*') => {}
            ('[', None) => plain.push_str("[[]"),
            _ => plain.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    plain
}

/// Bytes of a class such as `[a-z]` at the beginning of a text; its first letter may be a bracket.
fn class_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('[')?;
    let inside = inside.strip_prefix('!').unwrap_or(inside);
    let first = inside.chars().next()?.len_utf8();
    let end = inside[first..].find(']')?;
    Some(text.len() - inside.len() + first + end + 1)
}

/// Whether a name is meant as a glob. Square brackets alone are not: array branches carry them.
pub fn is_glob(name: &str) -> bool {
    name.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_those_of_the_shell() {
        let matches = |pattern: &str, name: &str| Glob::new(pattern).unwrap().matches(name);
        assert!(matches("f?", "fX") && !matches("f?", "f"));
        assert!(matches("a**b", "a/x/b"), "not a pattern of folders");
        assert!(matches("[!x]*", "y") && !matches("[!x]*", "x"));
        assert!(matches("y[2*", "y[2]"), "a bracket that is not closed");
        assert!(matches("[]]*", "]x") && matches("[]a]", "a"));
        assert!(matches("*[", "a[") && matches("*[!", "a[!"));
        assert!(matches("x[[]2]*", "x[2]"));
    }
}
