//! Parts that the reading verbs share: the engine, Ctrl-C, columns and entries on the command line.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use engine::Table;
use engine::object::Opaque;
use engine::{ColumnSpec, Config, Content, Cut, Engine, Expressions, File, Friend, NameScope};
use remote::address::split_object;
use remote::display::{shown, shown_lines};
use tokio::signal::unix::{SignalKind, signal};

use crate::outcome::{Failure, Outcome};
use crate::units::path;

/// Starts an engine as the environment configures it, and does the work until Ctrl-C or SIGTERM.
///
/// # Errors
/// Those of the work; `Signal`.
pub fn with_engine(work: impl AsyncFnOnce(&Engine) -> Outcome) -> Outcome {
    with_config(Config::from_env()?, work)
}

/// As [`with_engine`], with settings of the verb's own.
///
/// # Errors
/// Those of the work; `Signal`.
pub fn with_config(config: Config, work: impl AsyncFnOnce(&Engine) -> Outcome) -> Outcome {
    let engine = Engine::start(config)?;
    engine.block_on(async {
        tokio::select! {
            outcome = work(&engine) => outcome,
            number = ended() => Err(Failure::Signal(number)),
        }
    })
}

/// Waits for Ctrl-C or SIGTERM; the work is then dropped, and leaves behind a copy that can be
/// resumed. Returns the signal's number.
pub async fn ended() -> u8 {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signals) => signals.recv().await,
            // It ends the process as it does others.
            Err(_) => std::future::pending().await,
        }
    };
    let kind = tokio::select! {
        _ = tokio::signal::ctrl_c() => SignalKind::interrupt(),
        _ = terminated => SignalKind::terminate(),
    };
    u8::try_from(kind.as_raw_value()).unwrap_or_default()
}

/// A file, and something in it.
#[derive(Debug, Args)]
pub struct FileAndPath {
    /// FILE:TREE, where FILE is a URL or a path; the tree may be left out where there is only one
    #[arg(value_name = "FILE:TREE")]
    address: String,
    /// Another URL of the same file; may be given several times
    #[arg(long = "source", value_name = "URL")]
    sources: Vec<String>,
}

impl FileAndPath {
    /// The addresses of the file, and the path in it.
    fn split(&self) -> (String, Option<&str>) {
        let at = split_object(&self.address);
        let files = [&*at.file].into_iter().chain(self.sources.iter().map(String::as_str));
        (remote::address::join(files), at.object)
    }

    /// Opens the object of the path; without a path, the only tree or RNTuple.
    pub async fn content(&self, engine: &Engine) -> engine::Result<Content> {
        match self.split() {
            (file, Some(path)) => {
                engine.content_in(&engine.open(&file).await?, path, &Opaque::new()).await
            }
            (file, None) => engine.open_table(&file, None).await.map(Content::Table),
        }
    }
}

/// A tree, and columns and entries of it.
#[derive(Debug, Args)]
pub struct Selection {
    #[command(flatten)]
    place: FileAndPath,
    /// Columns: names, paths, globs such as 'Jet_*', aliases of the file and formulas such as
    /// 'MET_pt / 2', separated by commas
    #[arg(short, long, value_parser = several)]
    columns: Vec<Several>,
    /// Another tree or RNTuple whose entries belong to these, with columns NAME.COLUMN; may be
    /// given several times
    #[arg(long = "friend", value_name = "NAME=FILE:TREE", value_parser = named)]
    friends: Vec<(String, String)>,
    /// First entry
    #[arg(long, default_value_t = 0, value_name = "N")]
    entry_start: u64,
    /// Entry before which to stop
    #[arg(long, value_name = "N")]
    entry_stop: Option<u64>,
    /// So many entries, from the first one on
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "entry_stop")]
    entries: Option<u64>,
}

impl Selection {
    /// Opens the file.
    pub async fn file(&self, engine: &Engine) -> engine::Result<File> {
        engine.open(&self.place.split().0).await
    }

    /// Opens the tree or RNTuple.
    pub async fn table(&self, engine: &Engine) -> engine::Result<Arc<dyn Table>> {
        let (file, path) = self.place.split();
        engine.open_table(&file, path).await
    }

    /// Opens the tree or RNTuple, and chooses the columns that were named, or all that can be
    /// read.
    pub async fn selected(
        &self,
        engine: &Engine,
        cut: Option<&Cut>,
    ) -> engine::Result<Expressions> {
        let mut friends = Vec::with_capacity(self.friends.len());
        for (name, address) in &self.friends {
            let at = split_object(address);
            friends.push(Friend::new(name, engine.open_table(&at.file, at.object).await?));
        }
        let table = self.table(engine).await?;
        let scope = NameScope::beside(&table, &friends);
        let wanted = match names_of(&self.columns) {
            names if names.is_empty() => ColumnSpec::All,
            names => ColumnSpec::Named(names),
        };
        let source = engine.select_expressions(scope, &wanted, cut).await?;
        for hidden in source.hidden_aliases() {
            eprintln!("warning: {}", shown(&hidden.to_string()));
        }
        Ok(source)
    }

    /// The entries that were named, as far as there are any.
    pub fn entries(&self, num_entries: u64) -> Range<u64> {
        let last = self.entries.map(|count| self.entry_start.saturating_add(count));
        let stop = self.entry_stop.or(last).unwrap_or(u64::MAX).min(num_entries);
        self.entry_start.min(stop)..stop
    }

    /// Whether --entries or --stop bounds the read.
    pub fn has_stop(&self) -> bool {
        self.entry_stop.is_some() || self.entries.is_some()
    }

    /// Whether columns were named.
    pub fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }
}

/// A column's name, as it may stand behind a comma and a blank.
pub fn trimmed(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is missing".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// Columns that one option names.
#[derive(Debug, Clone)]
pub struct Several(Vec<String>);

/// The columns that all options name.
pub fn names_of(options: &[Several]) -> Vec<String> {
    options.iter().flat_map(|one| one.0.clone()).collect()
}

/// The parts between commas, but for those in parentheses, brackets and texts; with the blanks
/// around them, which the engine leaves out where no column's name has them.
pub fn several(text: &str) -> Result<Several, String> {
    let mut depth = 0i32;
    let mut quote = None;
    let mut start = 0;
    let mut all = Vec::new();
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(end), _) if end == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth <= 0 => {
                all.push(untrimmed(&text[start..at])?);
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(untrimmed(&text[start..])?);
    Ok(Several(all))
}

/// A part of a list of columns as it is, which has to name something.
fn untrimmed(text: &str) -> Result<String, String> {
    trimmed(text).map(|_| text.to_owned())
}

/// `NAME=FILE:TREE`
fn named(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, address)) if !name.is_empty() => Ok((name.to_owned(), address.to_owned())),
        _ => Err("a friend is NAME=FILE:TREE".to_owned()),
    }
}

/// The reports of a read when it is done.
#[derive(Debug, Args)]
pub struct Account {
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
    /// Draw the reads over time and offset in the file, as SVG
    #[arg(long, value_name = "FILE.svg", value_parser = path())]
    timeline: Option<PathBuf>,
}

impl Account {
    /// Prints the reports about all reads of the file.
    pub fn give(&self, engine: &Engine, file: &File) -> Outcome {
        // The entries have also been printed by now.
        let now = engine.trace().now();
        if self.report {
            eprint!("{}", shown_lines(&file.report().to_string()));
        }
        if let Some(path) = &self.timeline {
            remote::write_file(path, file.timeline_svg_to(Some(now)).as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_a_formula_separate_nothing() {
        let split = |text| several(text).map(|all| all.0);
        assert_eq!(split("a, hypot(x, y) ,b").unwrap(), ["a", " hypot(x, y) ", "b"]);
        assert_eq!(split("m[:, 1],t == ',',Jet_*").unwrap(), ["m[:, 1]", "t == ','", "Jet_*"]);
        assert!(split("a,,b").is_err());
    }
}
