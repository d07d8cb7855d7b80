//! What the reading verbs share: the engine, Ctrl-C, columns and entries on the command line.

use std::ops::Range;
use std::path::PathBuf;

use clap::Args;
use engine::address::split_tree;
use engine::{Batches, Column, Config, Cut, Engine, FieldColumn, File, Ntuple, Step, Table, Tree};

use crate::outcome::{Failure, Outcome};

/// Starts an engine as the environment configures it, and does the work until Ctrl-C.
///
/// # Errors
/// Those of the work; `Interrupted`.
pub fn with_engine(work: impl AsyncFnOnce(&Engine) -> Outcome) -> Outcome {
    let engine = Engine::start(Config::from_env()?)?;
    engine.block_on(async {
        tokio::select! {
            outcome = work(&engine) => outcome,
            _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
        }
    })
}

/// A tree, and columns and entries of it.
#[derive(Debug, Args)]
pub struct Selection {
    /// FILE:TREE, where FILE is a URL or a path; the tree may be left out where there is only one
    #[arg(value_name = "FILE:TREE")]
    address: String,
    /// Columns: names, paths and globs such as 'Jet_*', separated by commas
    #[arg(short, long, value_delimiter = ',')]
    columns: Vec<String>,
    /// First entry
    #[arg(long, default_value_t = 0, value_name = "N")]
    entry_start: u64,
    /// Entry before which to stop
    #[arg(long, value_name = "N")]
    entry_stop: Option<u64>,
}

impl Selection {
    /// Opens the tree.
    pub async fn open(&self, engine: &Engine) -> engine::Result<Tree> {
        let (file, tree) = split_tree(&self.address);
        engine.open_tree(file, tree).await
    }

    /// Opens the tree or RNTuple, and chooses the columns that were named, or all that can be
    /// read.
    pub async fn source(&self, engine: &Engine) -> engine::Result<Source> {
        let (file, path) = split_tree(&self.address);
        Ok(match engine.open_table(file, path).await? {
            Table::Tree(tree) => {
                let columns = self.columns(&tree)?;
                Source::Tree(tree, columns)
            }
            Table::Ntuple(ntuple) => {
                let columns = match self.columns.is_empty() {
                    true => ntuple.all_columns(),
                    false => ntuple.columns(&self.columns)?,
                };
                Source::Ntuple(ntuple, columns)
            }
        })
    }

    /// Opens the tree or RNTuple.
    pub async fn table(&self, engine: &Engine) -> engine::Result<Table> {
        let (file, path) = split_tree(&self.address);
        engine.open_table(file, path).await
    }

    /// The columns that were named, or all that can be read.
    pub fn columns(&self, tree: &Tree) -> engine::Result<Vec<Column>> {
        match self.columns.is_empty() {
            true => Ok(tree.all_columns()),
            false => tree.columns(&self.columns),
        }
    }

    /// The entries that were named, as far as there are any.
    pub fn entries(&self, num_entries: u64) -> Range<u64> {
        let stop = self.entry_stop.unwrap_or(u64::MAX).min(num_entries);
        self.entry_start.min(stop)..stop
    }

    /// Whether somebody has said where to stop.
    pub fn has_stop(&self) -> bool {
        self.entry_stop.is_some()
    }

    /// The names that were given, none for all.
    pub fn patterns(&self) -> &[String] {
        &self.columns
    }
}

/// Columns of a tree or of an RNTuple.
pub enum Source {
    Tree(Tree, Vec<Column>),
    Ntuple(Ntuple, Vec<FieldColumn>),
}

impl Source {
    pub fn path(&self) -> &str {
        match self {
            Source::Tree(tree, _) => tree.path(),
            Source::Ntuple(ntuple, _) => ntuple.path(),
        }
    }

    pub fn file(&self) -> &File {
        match self {
            Source::Tree(tree, _) => tree.file(),
            Source::Ntuple(ntuple, _) => ntuple.file(),
        }
    }

    pub fn num_entries(&self) -> u64 {
        match self {
            Source::Tree(tree, _) => tree.num_entries(),
            Source::Ntuple(ntuple, _) => ntuple.num_entries(),
        }
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Source::Tree(_, columns) => columns.iter().map(|column| &*column.name).collect(),
            Source::Ntuple(_, columns) => columns.iter().map(|column| &*column.name).collect(),
        }
    }

    /// Those of some entries that survive a cut, in steps.
    pub async fn batches(
        &self,
        entries: Range<u64>,
        step: Step,
        cut: Option<&Cut>,
    ) -> engine::Result<Batches> {
        match (self, cut) {
            (Source::Tree(tree, columns), None) => tree.batches(columns.clone(), entries, step),
            (Source::Tree(tree, columns), Some(cut)) => {
                tree.batches_where(columns.clone(), cut, entries, step)
            }
            (Source::Ntuple(ntuple, columns), None) => {
                ntuple.batches(columns.clone(), entries, step).await
            }
            (Source::Ntuple(..), Some(_)) => {
                let why = "an RNTuple cannot be read with a cut";
                Err(engine::Error::new(engine::ErrorKind::Unsupported, why))
            }
        }
    }
}

/// What a read is to say about itself when it is done.
#[derive(Debug, Args)]
pub struct Account {
    /// Say at the end, on standard error, where the time went
    #[arg(long)]
    report: bool,
    /// Draw what was read when and where in the file, as SVG
    #[arg(long, value_name = "FILE.svg")]
    timeline: Option<PathBuf>,
}

impl Account {
    /// Says it of everything that was read of the file.
    pub fn give(&self, file: &File) -> Outcome {
        if self.report {
            eprint!("{}", file.report());
        }
        if let Some(path) = &self.timeline {
            std::fs::write(path, file.timeline_svg())
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }
}
