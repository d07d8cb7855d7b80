//! The target of verbs that write files: one of the places, or that of `--output`.

use std::path::Path;

use clap::Args;

use crate::outcome::Failure;

/// The target by a flag: then all places are sources, in every verb that writes files.
#[derive(Debug, Args)]
pub struct OutputArgument {
    /// The target; then all other places are sources
    #[arg(short, long, value_name = "TARGET")]
    output: Option<String>,
}

/// Where a verb reads from and writes to.
#[derive(Debug, PartialEq, Eq)]
pub struct Places<'a> {
    pub target: &'a str,
    pub sources: &'a [String],
}

impl OutputArgument {
    /// The places of a verb whose target is the last one, as of `cp`.
    ///
    /// # Errors
    /// An error for the terminal, if there is no target or no source.
    pub fn or_last<'a>(&'a self, places: &'a [String]) -> Result<Places<'a>, Failure> {
        self.or(places.split_last(), places, "SOURCE... TARGET")
    }

    /// The places of a verb whose target is the first one, as of `hadd`.
    ///
    /// # Errors
    /// As [`OutputArgument::or_last`].
    pub fn or_first<'a>(&'a self, places: &'a [String]) -> Result<Places<'a>, Failure> {
        self.or(places.split_first(), places, "TARGET SOURCE...")
    }

    fn or<'a>(
        &'a self,
        split: Option<(&'a String, &'a [String])>,
        places: &'a [String],
        order: &str,
    ) -> Result<Places<'a>, Failure> {
        let chosen = match &self.output {
            Some(target) => Some(Places { target, sources: places }),
            None => split.map(|(target, sources)| Places { target, sources }),
        };
        let chosen = chosen.filter(|chosen| !chosen.sources.is_empty());
        let usage = || format!("from where, and where to? {order}, or -o TARGET SOURCE...");
        chosen.ok_or_else(|| Failure::Message(usage()))
    }
}

/// The sources, with the lines of `FILE` in place of `@FILE`, as hadd takes it; a file whose name
/// begins so is one.
///
/// # Errors
/// A text that names a list that cannot be read, or is empty.
pub fn with_lists(sources: &[String]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for source in sources {
        match source.strip_prefix('@').filter(|_| !Path::new(source).exists()) {
            Some(list) => {
                let lines = listed(Path::new(list))?;
                if lines.is_empty() {
                    return Err(format!("{list}: the list names no files"));
                }
                all.extend(lines);
            }
            None => all.push(source.clone()),
        }
    }
    Ok(all)
}

/// The lines of a list.
pub fn listed(list: &Path) -> Result<Vec<String>, String> {
    let text = match list == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(list),
    };
    let text = text.map_err(|error| format!("{}: {error}", list.display()))?;
    let lines = text.lines().map(str::trim);
    Ok(lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_stands_for_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        std::fs::write(&list, "# all\n a.root \n\nroot://h//b.root\n").unwrap();
        let of = |text: &str| with_lists(&["x".to_owned(), text.to_owned()]);
        let named = format!("@{}", list.display());
        assert_eq!(of(&named).unwrap(), ["x", "a.root", "root://h//b.root"]);
        assert_eq!(of("y@z").unwrap(), ["x", "y@z"]);
        assert!(of("@none").unwrap_err().contains("none: No such file"));
        std::fs::write(&list, "# none\n").unwrap();
        assert!(of(&named).unwrap_err().contains("names no files"));
    }

    #[test]
    fn the_flag_makes_all_places_sources() {
        let places = ["a", "b", "c"].map(str::to_owned);
        let flag = |output: Option<&str>| OutputArgument { output: output.map(str::to_owned) };
        let last = flag(None);
        let last = last.or_last(&places).unwrap();
        assert_eq!((last.target, last.sources), ("c", &places[..2]));
        let first = flag(None);
        let first = first.or_first(&places).unwrap();
        assert_eq!((first.target, first.sources), ("a", &places[1..]));
        let named = flag(Some("out"));
        let whole = Places { target: "out", sources: &places };
        assert_eq!(named.or_last(&places).unwrap(), whole);
        assert_eq!(named.or_first(&places).unwrap(), whole);
        assert!(named.or_last(&[]).is_err());
        assert!(flag(None).or_last(&places[..1]).is_err());
    }
}
