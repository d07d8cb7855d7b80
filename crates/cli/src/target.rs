//! The target of verbs that write files: one of the places, or that of `--output`.

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

#[cfg(test)]
mod tests {
    use super::*;

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
