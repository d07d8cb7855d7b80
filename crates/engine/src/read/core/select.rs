//! Which branches a user means: names, paths and globs.

use rootfile::tree::{BranchId, Tree};

use crate::error::{Error, ErrorKind, Result};
use strsim::levenshtein;

/// Names of the branches of a tree, in its own order.
#[derive(Debug, Clone, PartialEq)]
pub struct Names {
    /// `parent/child`, by branch.
    paths: Vec<String>,
}

impl Names {
    pub fn new(tree: &Tree) -> Self {
        let mut paths: Vec<String> = Vec::with_capacity(tree.branches.len());
        for branch in &tree.branches {
            let path = match branch.parent.and_then(|parent| paths.get(parent.0 as usize)) {
                Some(parent) => format!("{parent}/{}", branch.name),
                None => branch.name.clone(),
            };
            paths.push(path);
        }
        Names { paths }
    }

    pub fn path(&self, branch: BranchId) -> &str {
        &self.paths[branch.0 as usize]
    }

    /// All branches with their paths.
    pub fn iter(&self) -> impl Iterator<Item = (BranchId, &str)> {
        self.paths.iter().enumerate().map(|(at, path)| (BranchId(at as u32), path.as_str()))
    }

    /// The branch of that path or, where only one has it, that last name.
    pub fn find(&self, name: &str) -> Option<BranchId> {
        let name = name.trim_start_matches('/');
        let exact = self.iter().find(|(_, path)| *path == name);
        let mut by_last_name = self.iter().filter(|(_, path)| last_name(path) == name);
        exact.or_else(|| by_last_name.next()).map(|(branch, _)| branch)
    }

    /// The branches that `patterns` name, in the tree's order and each once; a pattern is a
    /// path, a last name, or a glob with `*`, `?` and `[…]` over either.
    ///
    /// # Errors
    /// `NotInFile` for a plain name that no branch has, with the names that come near;
    /// `InvalidArgument` for a glob that cannot be read.
    pub fn select(&self, patterns: &[String]) -> Result<Vec<BranchId>> {
        let mut chosen = Vec::new();
        for pattern in patterns {
            if let Some(branch) = self.find(pattern) {
                chosen.push(branch);
            } else if is_glob(pattern) {
                let glob = Glob::new(pattern)?;
                chosen.extend(self.iter().filter(|(_, path)| glob.matches(path)).map(|(b, _)| b));
            } else {
                return Err(self.no_such(pattern));
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        chosen.retain(|branch| seen.insert(*branch));
        Ok(chosen)
    }

    /// The branch of that path or last name.
    ///
    /// # Errors
    /// `NotInFile` with the names that come near.
    pub fn the(&self, name: &str) -> Result<BranchId> {
        self.find(name).ok_or_else(|| self.no_such(name))
    }

    fn no_such(&self, name: &str) -> Error {
        no_such("branch", self.paths.iter().map(String::as_str), name)
    }
}

/// The error for a name that none of `paths` has, with those that come near.
pub(crate) fn no_such<'a>(what: &str, paths: impl Iterator<Item = &'a str>, name: &str) -> Error {
    let mut near: Vec<(usize, &str)> = paths
        .map(|path| (levenshtein(&last_name(path).to_lowercase(), &name.to_lowercase()), path))
        .filter(|(distance, _)| *distance <= 2 + name.len() / 4)
        .collect();
    near.sort();
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, path)| path).collect();
    let error = Error::new(ErrorKind::NotInFile, format!("no {what} is called {name:?}"));
    if near.is_empty() {
        error.with_advice_for("`farroot show` lists what there is", "`show()` lists what there is")
    } else {
        error.with_advice(format!("did you mean {}?", near.join(" or ")))
    }
}

/// The only path that there is.
pub(crate) fn only<'a>(paths: &'a [String], address: &str) -> Result<&'a str> {
    let (kind, what) = match paths {
        [only] => return Ok(only),
        [] => (ErrorKind::NotInFile, "the file holds no tree".to_owned()),
        several => {
            let names = rootfile::directory::listed(several);
            let what = format!("the file holds {} trees: {names}", several.len());
            (ErrorKind::InvalidArgument, what)
        }
    };
    let shell = "`farroot ls -r FILE` lists what it holds, and FILE:PATH names one of them";
    let python = "`farroot.open(FILE).keys()` lists what it holds, and FILE:PATH names one of them";
    Err(Error::new(kind, what).with_url(address).with_advice_for(shell, python))
}

/// A glob over a branch's path or its last name.
#[derive(Debug)]
pub struct Glob(glob::Pattern);

impl Glob {
    pub fn new(pattern: &str) -> Result<Self> {
        glob::Pattern::new(pattern).map(Glob).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, format!("the pattern {pattern:?}: {error}"))
        })
    }

    pub fn matches(&self, path: &str) -> bool {
        self.0.matches(path) || self.0.matches(last_name(path))
    }
}

/// Whether a name is meant as a glob. Square brackets alone are not: array branches carry them.
pub fn is_glob(name: &str) -> bool {
    name.contains(['*', '?'])
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let paths = ["run", "Muon_pt", "Muon_eta", "event", "event/fX", "event/fY"];
        Names { paths: paths.map(String::from).to_vec() }
    }

    fn select(patterns: &[&str]) -> Result<Vec<u32>> {
        let patterns: Vec<String> = patterns.iter().map(|p| (*p).to_string()).collect();
        names().select(&patterns).map(|ids| ids.into_iter().map(|id| id.0).collect())
    }

    #[test]
    fn names_paths_and_globs() {
        assert_eq!(select(&["Muon_*", "run", "Muon_pt"]).unwrap(), [1, 2, 0]);
        assert_eq!(select(&["event/fY"]).unwrap(), [5]);
        assert_eq!(select(&["fX"]).unwrap(), [4]);
        assert_eq!(select(&["f?"]).unwrap(), [4, 5]);
        assert_eq!(select(&["nothing*"]).unwrap(), [0; 0]);
    }

    #[test]
    fn a_wrong_name_is_told_what_comes_near() {
        let error = select(&["muon_Pt"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotInFile);
        assert!(error.to_string().contains("did you mean Muon_pt"), "{error}");
        assert!(!select(&["completely_else"]).unwrap_err().to_string().contains("did you mean"));
    }
}
