//! Places where a process looks for credentials: its environment, its user, the home directory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The environment on which the places of credentials depend, as values, so that a test can have
/// others.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The number of the effective user (geteuid(2)).
    pub user_id: u32,
    /// The home directory, where there is one.
    pub home: Option<PathBuf>,
    /// Where files of a session lie, `/tmp` unless a test has another; `TMPDIR` does not count.
    pub temporary: Option<PathBuf>,
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Those of this process. One that runs with more rights than who started it (setuid, setgid)
    /// has no variables and no home: both are the caller's to choose.
    pub fn of_process() -> Self {
        use nix::unistd::{getegid, geteuid, getgid, getuid};
        let user_id = geteuid().as_raw();
        if geteuid() != getuid() || getegid() != getgid() {
            return Environment { user_id, ..Environment::default() };
        }
        Environment {
            user_id,
            home: std::env::home_dir(),
            temporary: None,
            variables: std::env::vars_os().collect(),
        }
    }

    /// Others, for tests.
    pub fn new<'a>(
        user_id: u32,
        home: Option<PathBuf>,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let own = |(name, value): (&str, &str)| (name.into(), value.into());
        let variables = variables.into_iter().map(own).collect();
        Environment { user_id, home, temporary: None, variables }
    }

    /// Where files of a session lie.
    pub(crate) fn temporary(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(Path::new("/tmp"))
    }

    /// The value of a variable; none where it is not set, empty, or not text.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(std::ffi::OsStr::new(name))?.to_str()?;
        (!value.is_empty()).then_some(value)
    }
}

/// The names of the variables only: their values may be tokens and keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.keys().collect();
        f.debug_struct("Environment")
            .field("user_id", &self.user_id)
            .field("home", &self.home)
            .field("temporary", &self.temporary)
            .field("variables", &names)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_empty_count_as_not_set() {
        let environment = Environment::new(7, None, [("A", "x"), ("B", "")]);
        assert_eq!(environment.variable("A"), Some("x"));
        assert_eq!(environment.variable("B"), None);
        assert_eq!(environment.variable("C"), None);
    }
}
