//! `farroot man DIR`: the manual pages, one of the command and one of each verb.

use std::io;
use std::path::PathBuf;

use clap::builder::Resettable::Reset;
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::outcome::Outcome;
use crate::units::path;

/// Write the manual pages: farroot(1), and one of each verb, as farroot-cp(1)
///
/// The package installs them, below share/ of its environment: man farroot-cp.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  farroot man ~/.local/share/man/man1")]
pub struct ManArguments {
    /// The folder, which is made where it is not there
    #[arg(value_parser = path())]
    dir: PathBuf,
}

/// Writes the pages.
pub fn run(arguments: &ManArguments) -> Outcome {
    let folder = &arguments.dir;
    let failed = |error: io::Error| format!("cannot write to {}: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (name, text) in pages().map_err(failed)? {
        remote::write_file(&folder.join(name), &text)?;
    }
    Ok(())
}

/// Names of files, and their texts.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = crate::Command::command().disable_help_subcommand(true);
    command.build();
    let mut found = Vec::new();
    add(&command, &mut found)?;
    Ok(found)
}

/// The page of a command, and those of its verbs.
fn add(command: &Command, found: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    // Without the version: pages change with the texts of the help alone.
    let page = command.clone().version(Reset).after_help(Reset).after_long_help(Reset);
    let page = Man::new(page).source("farroot").manual("farroot");
    let mut text = Vec::new();
    page.render(&mut text)?;
    if let Some(more) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        rest(&more.to_string()).to_writer(&mut text)?;
    }
    found.push((page.get_filename(), text));
    command
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .try_for_each(|verb| add(verb, found))
}

/// The end of a help: headings that end with a colon, items of lists, and lines of a shell, which
/// are indented.
fn rest(help: &str) -> Roff {
    let mut roff = Roff::default();
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':') {
            roff.control("SH", [heading.to_uppercase().as_str()]);
        } else if let Some(item) = line.strip_prefix("- ") {
            roff.control("IP", ["\\(bu", "2"]);
            roff.text([roman(item)]);
        } else if line.starts_with("  ") {
            roff.control("PP", []);
            roff.control("nf", []);
            roff.text([roman(line.trim_start())]);
            roff.control("fi", []);
        } else if !line.is_empty() {
            roff.control("PP", []);
            roff.text([roman(line)]);
        }
    }
    roff
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    /// Where a wheel takes them from.
    fn installed() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/wheel/data/share/man/man1")
    }

    #[test]
    fn the_pages_of_the_package_are_those_of_the_help() {
        let there: BTreeMap<String, String> = std::fs::read_dir(installed())
            .expect("the folder is there")
            .map(|entry| entry.expect("an entry").path())
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).expect("text"))
            })
            .collect();
        let pages = pages().expect("written to memory");
        let now = pages.into_iter().map(|(name, text)| (name, String::from_utf8(text).unwrap()));
        let now: BTreeMap<String, String> = now.collect();
        assert!(now == there, "the help has changed: `make man` writes its manual pages again");
    }

    #[test]
    fn a_help_ends_in_sections() {
        let text = rest("Limits:\n- Files: 1\n\nExamples:\n  farroot ls 'a'").render();
        let quoted = ".SH EXAMPLES\n.PP\n.nf\nfarroot ls \\*(Aqa\\*(Aq\n.fi";
        for part in [".SH LIMITS\n", ".IP \\(bu 2\nFiles: 1", quoted] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
