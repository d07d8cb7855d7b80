//! Aliases of a file in cuts and new columns: there they are columns that are computed.

use std::sync::Arc;

use super::expressions::FormulaReads;
use super::meaning::{NameScope, alias_of};
use super::resolve::in_formula;
use crate::read::core::columns::Batch;
use crate::read::core::cut::Cut;
use crate::read::core::define::{Definition, cut_of, definition_of};
use crate::read::core::formula::{Formula, Grammar, Program};
use crate::read::core::request::ColumnRequest;
use crate::read::core::table::Table;
use crate::read::file::session::Session;
use crate::read::many::chain::Chain;
use remote::{Error, ErrorKind, Result};

/// The cut over columns of the table: aliases that it names are computed.
pub(crate) async fn in_cut(
    session: &Session,
    scope: NameScope<'_>,
    define: &[Definition],
    cut: Option<&Cut>,
) -> Result<Option<Cut>> {
    let Some(cut) = cut else { return Ok(None) };
    let aliases = aliases_of(session, scope, &cut.columns, define).await?;
    let cut = cut_of(&aliases, cut);
    Ok(Some(if cut.columns.is_empty() { beside_a_column(&**scope.table, &cut)? } else { cut }))
}

/// A cut that reads a column which does not matter: entries are decided about as they come.
///
/// # Errors
/// `InvalidArgument` where the table has no column of numbers.
fn beside_a_column(table: &dyn Table, cut: &Cut) -> Result<Cut> {
    let names = table.list().all().iter().enumerate().filter(|(_, one)| one.parent.is_none());
    let mut requests = names.map(|(at, _)| ColumnRequest::named(table.list().address(at)));
    let can_be_read = |one: &ColumnRequest| table.require(&one.name).is_ok();
    let beside = requests.find(can_be_read).ok_or_else(|| {
        let error = Error::new(ErrorKind::InvalidArgument, "the cut names no column");
        error.with_url(table.file().url())
    })?;
    let predicate = cut.predicate.clone();
    let alone = move |batch: Batch| predicate.decide(Batch { columns: Vec::new(), ..batch });
    Ok(Cut { columns: vec![beside], predicate: Arc::new(alone) })
}

/// New columns over columns of the table and over each other: aliases that they name are computed.
pub(crate) async fn in_definitions(
    session: &Session,
    scope: NameScope<'_>,
    define: &[Definition],
) -> Result<Vec<Definition>> {
    let mut made = Vec::with_capacity(define.len());
    for (at, one) in define.iter().enumerate() {
        let aliases = aliases_of(session, scope, &one.columns, &define[..at]).await?;
        made.push(definition_of(&aliases, one));
    }
    Ok(made)
}

/// The aliases among names and formulas, and those that they refer to, with their formulas.
///
/// # Errors
/// Those of reading the formulas.
pub(crate) fn used<'a>(
    table: &dyn Table,
    texts: impl Iterator<Item = &'a String>,
) -> Result<Vec<(String, String)>> {
    let mut used: Vec<(String, String)> = Vec::new();
    let mut left: Vec<String> = Vec::new();
    for text in texts {
        left.push(text.clone());
        left.extend(Formula::parse(text).map_or_else(|_| Vec::new(), |formula| formula.columns));
    }
    while let Some(name) = left.pop() {
        if table.has(&name) || used.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let Some(text) = alias_of(table, &name) else { continue };
        left.extend(Formula::parse_in(&text, Grammar::Root)?.columns);
        used.push((name, text));
    }
    Ok(used)
}

/// That an alias means the same in a table as in the first one.
///
/// # Errors
/// `Unsupported` with both formulas where it does not, or where it has the number of all entries.
pub(crate) fn check_same(
    table: &dyn Table,
    first: &dyn Table,
    used: &[(String, String)],
) -> Result<()> {
    for (name, formula) in used {
        let own = alias_of(table, name);
        let message = match own {
            Some(own) if own != *formula => format!("the alias {name:?} is {own:?} here"),
            None => format!("there is no alias {name:?} here"),
            Some(_) if Formula::parse_in(formula, Grammar::Root)?.counts_all_entries() => {
                format!("the alias {name:?}, {formula:?}, is another number in each file")
            }
            Some(_) => continue,
        };
        let message = format!("{message}, and {formula:?} in {}", first.file().url());
        let error = Error::new(ErrorKind::Unsupported, message).with_url(table.file().url());
        return Err(error.with_advice("skim these files one by one, and merge the results"));
    }
    Ok(())
}

/// The alias of a name as a new column; `None` where it is the name of none.
pub(crate) async fn alias(
    session: &Session,
    scope: NameScope<'_>,
    name: &str,
) -> Result<Option<Definition>> {
    let Some(formula) = scope.alias(name)? else { return Ok(None) };
    let within = [name.to_owned()];
    let mut reads = FormulaReads::default();
    let program = reads.program(session, scope, formula, &within).await?;
    if program.counts_entries() && scope.table.downcast_ref::<Chain>().is_some() {
        let message = format!("the alias {name:?} counts entries, which here are those of a file");
        let error = Error::new(ErrorKind::InvalidArgument, message);
        let error = error.with_url(scope.table.file().url());
        return Err(error.with_advice("read the files of the chain one by one"));
    }
    let columns = reads.into_requests();
    Ok(Some(Definition { name: name.to_owned(), columns, compute: Arc::new(program) }))
}

/// The aliases and the members of records among names. A column hides an alias of its name, and so
/// does a new column.
async fn aliases_of(
    session: &Session,
    scope: NameScope<'_>,
    names: &[ColumnRequest],
    define: &[Definition],
) -> Result<Vec<Definition>> {
    let mut found: Vec<Definition> = Vec::new();
    for ColumnRequest { name, .. } in names {
        if define.iter().chain(&found).any(|one| one.name == *name) {
            continue;
        }
        match in_formula(session, scope, name).await {
            Ok(column) if column.is_called(name) => {}
            Ok(column) => {
                let compute = Arc::new(Program::member(name, &column.members));
                let columns = vec![column.request()];
                found.push(Definition { name: name.clone(), columns, compute });
            }
            Err(error) => match alias(session, scope, name).await? {
                Some(alias) => found.push(alias),
                None if name.contains('.') => return Err(error),
                None => {}
            },
        }
    }
    Ok(found)
}
