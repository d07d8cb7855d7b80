//! `~` in paths, which a shell expands only where it stands first in a word and without quotes.

use std::path::{Path, PathBuf};

/// The path, in the user's home where it is `~` or begins with `~/`.
pub fn expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), etcetera::home_dir()) {
        (Ok(rest), Ok(home)) if home.is_absolute() => home.join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_first_part_of_its_own_is_the_home() {
        let home = etcetera::home_dir().unwrap();
        assert_eq!(expanded(Path::new("~/data/f.root")), home.join("data/f.root"));
        assert_eq!(expanded(Path::new("~")), home);
        for other in ["~alice/f", "./~/f", "a/~/f", "/~", "root://h//~/f"] {
            assert_eq!(expanded(Path::new(other)), Path::new(other));
        }
    }
}
