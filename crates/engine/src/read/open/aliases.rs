//! Aliases of a file in cuts and new columns: there they are columns that are computed.

use std::sync::Arc;

use super::expressions::FormulaReads;
use super::meaning::{NameScope, alias_of};
use super::resolve::in_formula;
use crate::read::core::cut::Cut;
use crate::read::core::define::{Definition, cut_of, definition_of};
use crate::read::core::formula::{Formula, Grammar};
use crate::read::core::request::ColumnRequest;
use crate::read::file::session::Session;
use remote::Result;

/// The cut over columns of the table: aliases that it names are computed.
pub(crate) async fn in_cut(
    session: &Session,
    scope: NameScope<'_>,
    define: &[Definition],
    cut: Option<&Cut>,
) -> Result<Option<Cut>> {
    let Some(cut) = cut else { return Ok(None) };
    let aliases = aliases_of(session, scope, &cut.columns, define).await?;
    Ok(Some(cut_of(&aliases, cut)))
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

/// The alias of a name as a new column; `None` where it is the name of none.
pub(crate) async fn alias(
    session: &Session,
    scope: NameScope<'_>,
    name: &str,
) -> Result<Option<Definition>> {
    let Some(formula) = alias_of(&**scope.table, name) else { return Ok(None) };
    let formula = Formula::parse_in(&formula, Grammar::Root)?;
    let within = [name.to_owned()];
    let mut reads = FormulaReads::default();
    let program = reads.program(session, scope, formula, &within).await?;
    let columns = reads.into_requests();
    Ok(Some(Definition { name: name.to_owned(), columns, compute: Arc::new(program) }))
}

/// The aliases among names. A column hides an alias of its name, and so does a new column.
async fn aliases_of(
    session: &Session,
    scope: NameScope<'_>,
    names: &[ColumnRequest],
    define: &[Definition],
) -> Result<Vec<Definition>> {
    let mut found: Vec<Definition> = Vec::new();
    if scope.table.aliases().is_empty() {
        return Ok(found);
    }
    for ColumnRequest { name, .. } in names {
        if define.iter().chain(&found).any(|one| one.name == *name)
            || in_formula(session, scope, name).await.is_ok()
        {
            continue;
        }
        found.extend(alias(session, scope, name).await?);
    }
    Ok(found)
}
