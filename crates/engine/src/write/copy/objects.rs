//! The objects and tables of the inputs that are merged.

use std::iter::successors;
use std::slice;

use remote::Result;

use crate::read::core::select::Glob;

/// Objects and tables by their paths.
#[derive(Debug, Clone, Default)]
pub struct ObjectFilter {
    only: Vec<Glob>,
    without: Vec<Glob>,
}

impl ObjectFilter {
    /// Those that `only` names, or all where it names none, but for those of `without`. A pattern
    /// names an object, or a directory with all within it.
    ///
    /// # Errors
    /// `InvalidArgument` for a glob that cannot be read.
    pub fn new(only: &[String], without: &[String]) -> Result<ObjectFilter> {
        let globs = |patterns: &[String]| {
            let trimmed = patterns.iter().map(|pattern| pattern.trim_matches('/'));
            trimmed.map(Glob::new).collect::<Result<Vec<_>>>()
        };
        Ok(ObjectFilter { only: globs(only)?, without: globs(without)? })
    }

    /// Whether the object of a path is one of them.
    pub fn has(&self, path: &str) -> bool {
        (self.only.is_empty() || name(&self.only, path)) && !name(&self.without, path)
    }

    /// A pattern of `only` that no path matches.
    pub fn without_match<'a>(&self, paths: impl Iterator<Item = &'a str> + Clone) -> Option<usize> {
        let matches = |only: &Glob| paths.clone().any(|path| name(slice::from_ref(only), path));
        self.only.iter().position(|only| !matches(only))
    }
}

/// Whether some of the patterns name the object of a path, or a directory above it.
fn name(patterns: &[Glob], path: &str) -> bool {
    successors(Some(path), |path| path.rsplit_once('/').map(|(above, _)| above))
        .any(|path| patterns.iter().any(|pattern| pattern.matches(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(only: &[&str], without: &[&str]) -> ObjectFilter {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        ObjectFilter::new(&owned(only), &owned(without)).unwrap()
    }

    #[test]
    fn patterns_name_objects_and_directories() {
        let filter = filter(&["a/b", "h*", "/c/"], &["c/d", "hidden"]);
        for path in ["a/b", "a/b/c", "h1", "c/e", "c/de"] {
            assert!(filter.has(path), "{path}");
        }
        for path in ["a", "a/c", "x/h1", "c/d", "c/d/e", "hidden", "hidden/h"] {
            assert!(!filter.has(path), "{path}");
        }
        assert_eq!(filter.without_match(["a/b", "c/e"].into_iter()), Some(1));
        assert_eq!(filter.without_match(["a/b/x", "h", "c/e"].into_iter()), None);
    }
}
