//! The meaning of a text that a caller gives for a column: the one place that decides it.
//!
//! The order is ROOT's and uproot's: a column of the table, a column of a friend, an alias, a
//! formula, a pattern. So a branch hides an alias of its name, and a formula whose names are all
//! known is no pattern, whatever it multiplies.

use std::sync::Arc;

use super::resolve::{NameResolver, ResolvedColumn};
use crate::read::core::expressions::HiddenAlias;
use crate::read::core::formula::{Formula, Grammar};
use crate::read::core::friends::Friend;
use crate::read::core::select::is_glob;
use crate::read::core::table::Table;
use crate::read::file::session::Session;
use crate::read::many::chain::Chain;
use remote::Result;

/// The meaning of a text.
pub enum Meaning {
    /// Branches or fields: one or, of a pattern, all that match.
    Columns(Vec<ResolvedColumn>),
    /// An alias that the file has: a formula in ROOT's grammar.
    Alias(String),
    /// A formula in Python's grammar, or the member of a column's records.
    Formula(Formula),
}

/// A table, the friends that a program has added to it, and the column below which names are
/// looked up first.
#[derive(Clone, Copy)]
pub struct NameScope<'a> {
    pub table: &'a Arc<dyn Table>,
    pub friends: &'a [Friend],
    pub below: Option<usize>,
    /// Formulas of the caller, in Python's grammar, that go before aliases of the file.
    pub aliases: &'a [(String, String)],
}

impl<'a> NameScope<'a> {
    /// The columns of a table, and those of the friends that its file names.
    pub fn of(table: &'a Arc<dyn Table>) -> Self {
        NameScope::beside(table, &[])
    }

    /// As [`NameScope::of`], with friends that a program has added.
    pub fn beside(table: &'a Arc<dyn Table>, friends: &'a [Friend]) -> Self {
        NameScope { table, friends, below: None, aliases: &[] }
    }

    /// Whether a name is that of an alias, which a column of the name hides.
    pub(super) fn has_alias(&self, name: &str) -> bool {
        let aliases = self.table.aliases();
        self.aliases.iter().chain(&aliases).any(|(alias, _)| alias == name)
    }

    /// The formula that a name stands for, where no column has the name.
    ///
    /// # Errors
    /// `InvalidArgument` for a formula that cannot be read.
    pub(super) fn alias(&self, name: &str) -> Result<Option<Formula>> {
        if let Some((_, text)) = self.aliases.iter().find(|(alias, _)| alias == name) {
            return Formula::parse(text).map(Some);
        }
        let text = alias_of(&**self.table, name);
        text.map(|text| Formula::parse_in(&text, Grammar::Root)).transpose()
    }
}

/// The meaning of a text: [`Engine::meaning`](crate::Engine::meaning).
pub(crate) async fn meaning(
    session: &Session,
    scope: NameScope<'_>,
    text: &str,
) -> Result<Meaning> {
    let NameScope { table, friends, below, .. } = scope;
    let list = table.list();
    if let Some(column) = list.find_below(text, below) {
        return Ok(Meaning::Columns(vec![ResolvedColumn::own(table, column)]));
    }
    let parsed = Formula::parse(text);
    let computed = parsed.as_ref().ok().filter(|formula| formula.is_computed());
    let resolver = NameResolver::closed(&**table, friends);
    if let Some(formula) = computed.filter(|_| !resolver.names_friend(text)) {
        let mut are_known = !is_glob(text);
        for name in formula.columns.iter().filter(|_| is_glob(text)) {
            are_known = has_name(session, scope, name).await?;
            if !are_known {
                break;
            }
        }
        if are_known {
            return parsed.map(Meaning::Formula);
        }
    }
    let alias = alias_of(&**table, text);
    let mut found = super::resolve::resolve(session, scope, text).await;
    let is_name = |formula: &Formula| matches!(&formula.columns[..], [name] if name == text);
    if found.is_err() && alias.is_none() && parsed.as_ref().is_ok_and(is_name) {
        // It may be the name of a member of records.
        match super::resolve::in_formula(session, scope, text).await {
            Ok(_) => return parsed.map(Meaning::Formula),
            Err(error) => found = Err(error),
        }
    }
    match (found, alias, parsed) {
        (Ok(columns), ..) if !columns.is_empty() => Ok(Meaning::Columns(columns)),
        (_, Some(formula), _) => Ok(Meaning::Alias(formula)),
        // No pattern has matched: its text may yet be a formula, of which a name is unknown.
        (Ok(_), None, Ok(formula)) if formula.is_computed() => Ok(Meaning::Formula(formula)),
        (Ok(none), ..) => Ok(Meaning::Columns(none)),
        // No column has a name with a call in it.
        (Err(_), None, Err(error)) if text.contains('(') => Err(error),
        (Err(error), ..) => Err(error),
    }
}

/// Whether a branch, a field or a column of a friend has a name, so that it hides an alias.
pub(crate) async fn has_column(
    session: &Session,
    scope: NameScope<'_>,
    name: &str,
) -> Result<bool> {
    let own = scope.table.list().find_below(name, scope.below);
    if own.is_some() || scope.table.friend_lists().is_empty() && scope.friends.is_empty() {
        return Ok(own.is_some());
    }
    let resolver = NameResolver::around(session, &**scope.table, scope.friends, &[name]).await?;
    match scope.table.downcast_ref::<Chain>() {
        Some(chain) if !resolver.has_in_friend(name) => {
            let lead = NameScope { table: chain.lead(), ..scope };
            Box::pin(has_column(session, lead, name)).await
        }
        _ => Ok(resolver.has_in_friend(name)),
    }
}

/// Whether a name in a formula means anything: a column or an alias.
async fn has_name(session: &Session, scope: NameScope<'_>, name: &str) -> Result<bool> {
    let is_alias = alias_of(&**scope.table, name).is_some();
    Ok(is_alias || super::resolve::in_formula(session, scope, name).await.is_ok())
}

/// Aliases that a caller may have meant, and that columns hide: each once.
#[derive(Default)]
pub(crate) struct HiddenAliases(Vec<HiddenAlias>);

impl HiddenAliases {
    /// Notes the alias of a name, if a column hides it.
    ///
    /// # Errors
    /// As [`has_column`].
    pub async fn note(
        &mut self,
        session: &Session,
        scope: NameScope<'_>,
        name: &str,
    ) -> Result<()> {
        let Some(formula) = alias_of(&**scope.table, name) else { return Ok(()) };
        let is_known = self.0.iter().any(|one| one.name == name);
        if !is_known && has_column(session, scope, name).await? {
            let url = scope.table.file().url().to_owned();
            self.0.push(HiddenAlias { name: name.to_owned(), formula, url });
        }
        Ok(())
    }

    /// Them, in the order in which they were noted.
    pub fn into_list(self) -> Vec<HiddenAlias> {
        self.0
    }
}

/// A text that a caller gives for a column: as it is where a column has that name, and else without
/// the blanks around it.
pub(crate) fn without_blanks<'a>(table: &dyn Table, text: &'a str) -> &'a str {
    if table.has(text) { text } else { text.trim() }
}

/// The formula of an alias.
pub(super) fn alias_of(table: &dyn Table, name: &str) -> Option<String> {
    let aliases = table.aliases();
    let found = aliases.into_iter().rev().find(|(alias, _)| alias == name);
    found.map(|(_, formula)| formula)
}
