//! The first table of a skim, which decides what is written.

use std::sync::Arc;

use remote::{Error, ErrorKind, Result};
use rootfile::tree::Tree as TreeMetadata;

use super::options::SkimOptions;
use crate::read::core::define::check_names;
use crate::read::core::table::Table;
use crate::read::file::Speculation;
use crate::read::file::session::Session;
use crate::read::many::opener::Opener;
use crate::read::many::scan::TableLocation;
use crate::read::ntuple::RNTuple;
use crate::read::open::aliases;
use crate::read::open::meaning::{Meaning, NameScope, meaning};
use crate::read::tree::Tree;
use crate::write::merge::without_sets;

/// The table of the first input.
pub struct First {
    pub table: Arc<dyn Table>,
    pub path: String,
    pub tree: Option<Arc<TreeMetadata>>,
    pub ntuple: Option<RNTuple>,
    /// The note on attribute sets that the skim leaves out.
    pub note: Option<String>,
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
            let what = format!("the new column {} is there already", one.name);
            let error = Error::new(ErrorKind::InvalidArgument, what).with_url(&*source.url);
            return Err(error.with_advice("give it another name"));
        }
        Ok(first)
    }

    /// The options, in which aliases of the table are computed: those that the cut and new columns
    /// name, and those that are columns to keep, which become new columns.
    pub async fn with_aliases(
        &self,
        session: &Session,
        options: &SkimOptions,
    ) -> Result<SkimOptions> {
        let scope = NameScope { table: &self.table, friends: &[], below: None };
        let mut made = options.clone();
        made.define = aliases::in_definitions(session, scope, &options.define).await?;
        made.cut = aliases::in_cut(session, scope, &made.define, options.cut.as_ref()).await?;
        if self.table.aliases().is_empty() {
            return Ok(made);
        }
        made.columns.clear();
        for name in &options.columns {
            let is_alias = matches!(meaning(session, scope, name).await, Ok(Meaning::Alias(_)));
            match is_alias && !made.define.iter().any(|one| one.name == *name) {
                true => made.define.extend(aliases::alias(session, scope, name).await?),
                false => made.columns.push(name.clone()),
            }
        }
        if made.columns.is_empty() && !options.columns.is_empty() {
            let what = "aliases are new columns, beside columns that the file has";
            let error = Error::new(ErrorKind::InvalidArgument, what);
            return Err(error.with_advice("keep at least one column of the file"));
        }
        Ok(made)
    }

    async fn read(session: &Session, source: &TableLocation) -> Result<First> {
        let (path, speculation) = (source.path.as_deref(), Speculation::Eager);
        let table = session.open_table(&source.url, path, speculation).await?;
        let tree = table.downcast_ref::<Tree>().map(|tree| Arc::new(tree.metadata().clone()));
        let ntuple = table.downcast_ref::<RNTuple>().cloned();
        let sets = ntuple.as_ref().map_or(&[][..], RNTuple::attribute_sets);
        let note = without_sets(table.path(), &source.url, sets);
        let path = table.path().to_owned();
        Ok(First { path, tree, ntuple, note, table })
    }
}
