//! The first table of a skim, which decides the columns and the form of the output.

use std::sync::Arc;

use remote::{Error, ErrorKind, Result};
use rootfile::tree::Tree as TreeMetadata;

use super::options::{SkimOptions, TableFormat};
use crate::read::core::define::{Definition, check_names};
use crate::read::core::expressions::HiddenAlias;
use crate::read::core::select::is_glob;
use crate::read::core::table::Table;
use crate::read::file::Speculation;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use crate::read::many::scan::{OpenAhead, TableLocation};
use crate::read::ntuple::RNTuple;
use crate::read::open::aliases;
use crate::read::open::meaning::{HiddenAliases, Meaning, NameScope, meaning, without_blanks};
use crate::read::open::resolve::ResolvedColumn;
use crate::read::tree::Tree;
use crate::write::copy::without_sets;

/// The table of the first input.
pub struct First {
    pub table: Arc<dyn Table>,
    pub path: String,
    /// The path that opens it, which may have a cycle.
    pub asked: String,
    pub tree: Option<Arc<TreeMetadata>>,
    pub ntuple: Option<RNTuple>,
    /// The note on attribute sets that the skim leaves out.
    pub note: Option<String>,
    /// Notes on aliases that columns of their names hide.
    pub hidden: Vec<String>,
    /// Only new columns are written.
    pub keeps_none: bool,
}

impl First {
    /// Opens the first table, and checks the names of the new columns.
    pub async fn open(
        session: &Session,
        sources: &[TableLocation],
        options: &SkimOptions,
    ) -> Result<First> {
        let Some(source) = sources.first() else {
            return Err(Error::new(ErrorKind::InvalidArgument, "no input"));
        };
        let first = First::read(session, source).await?;
        check_names(&options.define)?;
        if let Some(one) = options.define.iter().find(|one| first.table.has(&one.name)) {
            let message = format!("the new column {} is there already", one.name);
            let error = Error::new(ErrorKind::InvalidArgument, message).with_url(&*source.url);
            return Err(error.with_advice("give it another name"));
        }
        Ok(first)
    }

    /// The options over columns of the file: aliases, formulas and columns of friends become new
    /// columns, and the cut and new columns name columns of the file or of friends only. Notes say
    /// which aliases columns of their names hide.
    ///
    /// # Errors
    /// As [`Engine::meaning`](crate::Engine::meaning); `InvalidArgument` for a formula that cannot
    /// be the name of a column.
    pub async fn with_meanings(
        &mut self,
        session: &Session,
        sources: &[TableLocation],
        options: &SkimOptions,
    ) -> Result<SkimOptions> {
        let scope = NameScope::of(&self.table);
        let mut made = options.clone();
        let mut hidden = HiddenAliases::default();
        made.columns.clear();
        for text in &options.columns {
            let text = &without_blanks(&*self.table, text).to_owned();
            if made.define.iter().any(|one| one.name == *text) {
                continue;
            }
            hidden.note(session, scope, text).await?;
            match meaning(session, scope, text).await? {
                Meaning::Columns(columns) if columns.iter().any(|one| one.friend.is_some()) => {
                    made.define.extend(columns.iter().map(|one| of_friend(text, one)));
                }
                Meaning::Columns(_) => made.columns.push(text.clone()),
                Meaning::Alias(_) => {
                    made.define.extend(aliases::alias(session, scope, text).await?);
                }
                Meaning::Formula(_) => {
                    check_name(text, options.format, self.tree.is_some())?;
                    made.define.push(Definition::parse(text, text)?);
                }
            }
        }
        self.keeps_none = made.columns.is_empty() && !options.columns.is_empty();
        let named = made.define.iter().flat_map(|one| &one.columns);
        for column in named.chain(options.cut.iter().flat_map(|cut| &cut.columns)) {
            hidden.note(session, scope, &column.name).await?;
        }
        made.define = aliases::in_definitions(session, scope, &made.define).await?;
        made.cut = aliases::in_cut(session, scope, &made.define, options.cut.as_ref()).await?;
        let texts = made.define.iter().map(|one| &one.name).chain(&options.columns);
        let read = options.define.iter().flat_map(|one| &one.columns);
        let read = read.chain(options.cut.iter().flat_map(|cut| &cut.columns));
        let used = aliases::used(&*self.table, texts.chain(read.map(|one| &one.name)))?;
        self.check_aliases(session, sources, &used).await?;
        self.hidden = hidden.into_list().iter().map(HiddenAlias::to_string).collect();
        Ok(made)
    }

    /// New columns are computed for all files alike: aliases have to mean the same in each.
    async fn check_aliases(
        &self,
        session: &Session,
        sources: &[TableLocation],
        used: &[(String, String)],
    ) -> Result<()> {
        if used.is_empty() {
            return Ok(());
        }
        let mut others = OpenAhead::new(session.clone(), sources[1..].to_vec());
        while let Some(other) = others.next().await.transpose()? {
            aliases::check_same(&*other, &*self.table, used)?;
        }
        Ok(())
    }

    async fn read(session: &Session, source: &TableLocation) -> Result<First> {
        let path = source.path.as_deref();
        let speculation = Speculation::Eager;
        let table = session.open_table(&source.url, path, speculation).await?;
        let tree = table.downcast_ref::<Tree>().map(|tree| Arc::new(tree.metadata().clone()));
        let ntuple = table.downcast_ref::<RNTuple>().cloned();
        let sets = ntuple.as_ref().map_or(&[][..], RNTuple::attribute_sets);
        let note = without_sets(table.path(), &source.url, sets);
        let path = table.path().to_owned();
        let asked = table.asked().to_owned();
        let hidden = Vec::new();
        Ok(First { path, asked, tree, ntuple, note, hidden, keeps_none: false, table })
    }
}

/// A column of a friend as a new column, by the name that Python gives it.
fn of_friend(text: &str, column: &ResolvedColumn) -> Definition {
    let request = column.request();
    let name = if is_glob(text) { request.name.clone() } else { text.to_owned() };
    Definition::same(name, request)
}

/// That a formula can be the name of a column.
///
/// # Errors
/// `InvalidArgument` where readers of the format would not find a column of that name.
fn check_name(text: &str, format: TableFormat, is_tree: bool) -> Result<()> {
    let as_tree = format.is_tree(is_tree);
    let wrong: &[char] = if as_tree { &['[', ']'] } else { &['.', ' ', '/', '\\'] };
    if !text.contains(wrong) {
        return Ok(());
    }
    let kind = if as_tree { "branch" } else { "field" };
    let message = format!("the formula {text:?} cannot be the name of a {kind}");
    let error = Error::new(ErrorKind::InvalidArgument, message);
    Err(error.with_advice_for("--define NAME=FORMULA names it", "define={NAME: FORMULA} names it"))
}
