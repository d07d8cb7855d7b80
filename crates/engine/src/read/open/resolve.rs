//! Names among a table and its friends.

use std::sync::Arc;

use super::meaning::NameScope;
use crate::read::core::cut::Cut;
use crate::read::core::formula::Formula;
use crate::read::core::formula::members::{member, members_of};
use crate::read::core::friends::{Friend, column_behind, column_of_place};
use crate::read::core::names::ColumnKind;
use crate::read::core::request::ColumnRequest;
use crate::read::core::select::is_glob;
use crate::read::core::spec::{ColumnSpec, FormulaSpec};
use crate::read::core::table::{Columns, Table};
use crate::read::file::session::Session;
use crate::read::joined::Joined;
use crate::read::many::chain::{self, Chain};
use crate::read::open::friends::{friends_that_open, some_friends};
use crate::read::tree::Tree;
use remote::{Error, ErrorKind, Result};
use rootfile::Array;
use rootfile::tree::BranchId;

/// Chooses columns of a table and of its friends, as
/// [`Engine::select_for`](crate::Engine::select_for) says.
pub(super) async fn select(
    session: &Session,
    table: &Arc<dyn Table>,
    friends: &[Friend],
    wanted: &ColumnSpec,
    cut: Option<&Cut>,
) -> Result<Box<dyn Columns>> {
    let patterns: Vec<(&str, Option<&ColumnRequest>)> = match wanted {
        ColumnSpec::All => Vec::new(),
        ColumnSpec::Named(patterns) => patterns.iter().map(|name| (&**name, None)).collect(),
        ColumnSpec::Requested(reads) | ColumnSpec::Formulas(FormulaSpec { reads, .. }) => {
            reads.iter().map(|one| (&*one.name, Some(one))).collect()
        }
    };
    let decide = cut.iter().flat_map(|cut| &cut.columns).map(|column| &*column.name);
    let names: Vec<&str> = patterns.iter().map(|(name, _)| *name).chain(decide).collect();
    let resolver = NameResolver::around(session, &**table, friends, &names).await?;
    if let Some(chain) = table.downcast_ref::<Chain>() {
        // Of its tables, each has friends of its own.
        let columns = chain.columns_with(resolver.friends, wanted, cut).await?;
        return Ok(Box::new(columns));
    }
    let mut used = Vec::new();
    for name in &names {
        used.extend(resolver.found_in_friend(name)?.map(|found| found.friend));
    }
    if used.is_empty() {
        return table.select(wanted);
    }
    let mut is_by_number = false;
    for friend in used {
        is_by_number |= friend.table.downcast_ref::<Chain>().is_some()
            && !chain::is_looked_up(&**table, friend).await?;
    }
    if is_by_number {
        let chain = Chain::of_one(session, table);
        let columns = chain.columns_with(resolver.friends, wanted, cut).await?;
        return Ok(Box::new(columns));
    }
    let mut joined = Joined::new(&**table);
    for name in &names[patterns.len()..] {
        if let Some(FoundInFriend { friend, .. }) = resolver.found_in_friend(name)? {
            joined.admit(friend)?;
        }
    }
    for (pattern, chosen) in &patterns {
        match resolver.found_in_friend(pattern)? {
            Some(FoundInFriend { friend, column, prefix }) => {
                let columns = friend.table.matching(column, *chosen)?;
                joined.add_of(friend, &*columns, prefix)?;
            }
            None => joined.add_own(&*table.matching(pattern, *chosen)?)?,
        }
    }
    if matches!(wanted, ColumnSpec::All) {
        joined.add_own(&*table.select(wanted)?)?;
    }
    Ok(Box::new(joined))
}

/// A branch or a field that a text means.
#[derive(Clone)]
pub struct ResolvedColumn {
    /// The friend that has it; `None` where it is the table's own.
    pub friend: Option<String>,
    /// The table that has it: a tree or an RNTuple, of a chain the first.
    pub table: Arc<dyn Table>,
    /// Its position in [`Table::list`].
    pub column: usize,
    /// Members of its records, each in the one before, where a formula names them.
    pub members: Vec<String>,
}

/// The first table of a chain; a tree or an RNTuple itself.
pub fn first_table(table: &Arc<dyn Table>) -> Arc<dyn Table> {
    match table.downcast_ref::<Chain>() {
        Some(chain) => chain.first().clone(),
        None => table.clone(),
    }
}

/// The names of what a pair holds, as maps have them.
const PAIR: [&str; 2] = ["0", "1"];

/// The member of a pair that C++ gives a name.
fn in_pair(name: &str) -> &str {
    match name {
        "first" => PAIR[0],
        "second" => PAIR[1],
        other => other,
    }
}

impl ResolvedColumn {
    pub(super) fn own(table: &Arc<dyn Table>, column: usize) -> Self {
        ResolvedColumn { friend: None, table: first_table(table), column, members: Vec::new() }
    }

    /// Whether it has the number of objects whose members are columns: a split collection.
    pub fn counts_objects(&self) -> bool {
        let tree = self.table.downcast_ref::<Tree>();
        tree.is_some_and(|tree| tree.counts_objects(BranchId(self.column as u32)))
    }

    /// Whether a table finds it, and not only a member of it, by a name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let friend = self.friend.as_deref();
        let own = friend.and_then(|friend| column_behind(name, friend)).unwrap_or(name);
        self.members.is_empty() && self.table.list().find(own) == Some(self.column)
    }

    /// Whether it has several leaves, which have names.
    fn is_leaf_list(&self) -> bool {
        let column = self.table.require(&self.table.list().address(self.column));
        column.is_ok_and(|one| matches!(one.empty_at(0), Array::Record { class: None, .. }))
    }

    /// The same with members of its records, or the column in it that has these.
    ///
    /// # Errors
    /// `NotInFile` with the members that there are; `None` within where it has no members.
    fn with_members(self, members: &[&str]) -> std::result::Result<Self, Option<Error>> {
        let Some(first) = members.first() else { return Ok(self) };
        let list = self.table.list();
        let unknown = |of: &str, name: &str, known: &[&str]| {
            let message = format!("{of} has no member {name:?}; it has {}", known.join(", "));
            Some(Error::new(ErrorKind::NotInFile, message).with_url(self.table.file().url()))
        };
        let path = &list.all()[self.column].path;
        let children: Vec<&str> = list.children(self.column).map(|one| &*one.name).collect();
        if !children.is_empty() {
            for count in (1..=members.len()).rev() {
                if let Some(column) = list.find_member(self.column, &members[..count].join(".")) {
                    return ResolvedColumn { column, ..self }.with_members(&members[count..]);
                }
            }
            return Err(unknown(path, first, &children));
        }
        let column = self.table.require(&list.address(self.column)).map_err(|_| None)?;
        let mut array = column.empty_at(0);
        let mut of = path.clone();
        let mut found = Vec::with_capacity(members.len());
        for name in members {
            let known = members_of(&array).ok_or(None)?;
            let own = if known == PAIR { in_pair(name) } else { name };
            if !known.contains(&own) {
                return Err(unknown(&of, name, &known));
            }
            found.push(own.to_owned());
            array = member(array, own).map_err(|_| None)?;
            of = format!("{of}.{name}");
        }
        Ok(ResolvedColumn { members: found, ..self })
    }

    /// The column as it is asked for: by its address, of a friend with the friend's name before it.
    pub(crate) fn request(&self) -> ColumnRequest {
        let address = self.table.list().address(self.column);
        ColumnRequest::named(match &self.friend {
            Some(friend) => format!("{friend}.{address}"),
            None => address,
        })
    }
}

/// The columns that a text means: [`Engine::resolve`](crate::Engine::resolve).
pub(crate) async fn resolve(
    session: &Session,
    scope: NameScope<'_>,
    text: &str,
) -> Result<Vec<ResolvedColumn>> {
    let NameScope { table, friends, below, .. } = scope;
    let own = |column| ResolvedColumn::own(table, column);
    if let Some(column) = table.list().find_below(text, below) {
        return Ok(vec![own(column)]);
    }
    let resolver = NameResolver::around(session, &**table, friends, &[text]).await?;
    let found = match resolver.friend_at(text) {
        None if is_glob(text) => {
            let matching = table.list().matching(text, below)?;
            return Ok(matching.into_iter().map(own).collect());
        }
        Some(found) => Some(found),
        None if table.downcast_ref::<Chain>().is_some() && !resolver.has_in_friend(text) => None,
        None => resolver.found_in_friend(text)?.map(|found| (found.friend, found.column)),
    };
    let no_such = || table.list().no_such(text, below).with_url(table.file().url());
    let Some((friend, column)) = found else {
        // Each table of a chain has friends of its own; the first has their names.
        let Some(chain) = table.downcast_ref::<Chain>() else { return Err(no_such()) };
        let lead = NameScope { table: chain.lead(), ..scope };
        return Box::pin(resolve(session, lead, text)).await;
    };
    let list = friend.table.list();
    let mut columns = list.resolve_pattern(column, None)?;
    if is_glob(column) && list.kind() == ColumnKind::Field {
        columns.retain(|column| list.all()[*column].parent.is_none());
    } else if columns.is_empty() && !is_glob(column) {
        return Err(list.no_such(column, None).with_url(friend.table.file().url()));
    }
    let name = &friend.name;
    let table = first_table(&friend.table);
    let of_friend = |column| ResolvedColumn {
        friend: Some(name.clone()),
        table: table.clone(),
        column,
        members: Vec::new(),
    };
    Ok(columns.into_iter().map(of_friend).collect())
}

/// The column of a name in a formula: no pattern. Where no column has the name, it may be that of
/// an array without its dimensions, `v` for `v[3]`, or that of a member, `column.member`.
///
/// # Errors
/// As [`resolve`]; `NotInFile` with the members of a column that lacks the one.
pub(crate) async fn in_formula(
    session: &Session,
    scope: NameScope<'_>,
    name: &str,
) -> Result<ResolvedColumn> {
    let NameScope { table, below, .. } = scope;
    let no_such = || table.list().no_such(name, below).with_url(table.file().url());
    let found = resolve(session, scope, name).await;
    let found = found.and_then(|found| found.into_iter().next().ok_or_else(no_such));
    let Err(error) = found else { return found };
    if is_glob(name) {
        return Err(error);
    }
    if let Some(column) = table.list().find_array(name, below) {
        return Ok(ResolvedColumn::own(table, column));
    }
    for (dot, _) in name.rmatch_indices('.') {
        let members: Vec<&str> = name[dot + 1..].split('.').collect();
        // The name of a branch may itself end in a dot.
        for before in [&name[..dot], &name[..=dot]] {
            let Ok(found) = resolve(session, scope, before).await else { continue };
            let [column] = &found[..] else { continue };
            return column.clone().with_members(&members).map_err(|why| why.unwrap_or(error));
        }
    }
    Err(error)
}

/// As [`in_formula`], in a formula of ROOT's grammar where no alias has the name: it may be that of
/// a member without its column.
///
/// # Errors
/// As [`in_formula`].
pub(crate) async fn in_root_formula(
    session: &Session,
    scope: NameScope<'_>,
    name: &str,
) -> Result<ResolvedColumn> {
    match in_formula(session, scope, name).await {
        Err(error) => without_column(scope, name).ok_or(error),
        found => found,
    }
}

/// As ROOT, the first leaf of a name or, without one, the first column whose records have such a
/// member, where the name of the column is left out: `fE` for `p4.fE`.
pub(super) fn without_column(scope: NameScope<'_>, name: &str) -> Option<ResolvedColumn> {
    let NameScope { table, .. } = scope;
    let list = table.list();
    if list.kind() != ColumnKind::Branch {
        return None;
    }
    let own = |at| ResolvedColumn::own(table, at);
    let members: Vec<&str> = name.split('.').collect();
    let leaf = |at: usize| {
        let one = &list.all()[at];
        let objects = one.parent.filter(|parent| own(*parent).counts_objects());
        let of_objects = |parent: usize| one.name == format!("{}.{name}", list.all()[parent].name);
        match objects.is_some_and(of_objects) {
            true => Some(own(at)),
            false if own(at).is_leaf_list() => own(at).with_members(&members).ok(),
            false => None,
        }
    };
    let mut columns = (0..list.all().len()).filter(|at| list.children(*at).next().is_none());
    columns
        .clone()
        .find_map(leaf)
        .or_else(|| columns.find_map(|at| own(at).with_members(&members).ok()))
}

/// A table and those friends of it that names may be about.
pub(super) struct NameResolver<'a> {
    table: &'a dyn Table,
    friends: Vec<Friend>,
    /// Names of all friends, also of those that need not be opened or cannot be.
    all: Vec<String>,
}

/// A column of a friend.
struct FoundInFriend<'a> {
    friend: &'a Friend,
    column: &'a str,
    /// The friend's name, where it was written before the column's.
    prefix: Option<&'a str>,
}

impl<'a> NameResolver<'a> {
    /// The friends that a program has added, which are open; none of the file's is opened.
    pub(super) fn closed(table: &'a dyn Table, given: &[Friend]) -> Self {
        let all = given.iter().map(|friend| friend.name.clone()).collect();
        NameResolver { table, friends: given.to_vec(), all }
    }

    /// Whether a text is the name of a friend, open or not, a dot, and the name of a column.
    pub(super) fn names_friend(&self, text: &str) -> bool {
        let places = self.table.friend_places().unwrap_or_default();
        // An open friend may have a column whose name looks like a formula.
        let of_open = self.friend_at(text);
        of_open.is_some_and(|(friend, column)| friend.table.has(column) || !is_computed(column))
            || places.iter().any(|place| {
                column_of_place(text, place).is_some_and(|column| !is_computed(column))
            })
    }

    /// Whether a friend has a column of this name.
    pub(super) fn has_in_friend(&self, name: &str) -> bool {
        let behind = self.friend_at(name);
        behind.is_some_and(|(friend, column)| friend.table.has(column))
            || self.friends.iter().any(|friend| friend.table.has(name))
    }

    /// The friends that names are about, opened side by side.
    pub(super) async fn around(
        session: &Session,
        table: &'a dyn Table,
        given: &[Friend],
        names: &[&str],
    ) -> Result<Self> {
        let mut resolver = NameResolver::closed(table, given);
        let unknown = |name: &&&str| !table.has(name) && resolver.friend_at(name).is_none();
        let mut unknown = names.iter().filter(unknown).peekable();
        // Of a chain its own: those of its tables are asked for table by table.
        let Some(&friends_named) = table.friend_lists().first() else { return Ok(resolver) };
        let places = match friends_named.places() {
            Ok(places) if places.is_empty() => return Ok(resolver),
            Ok(places) => places,
            // A read of no friend's columns is not concerned.
            Err(error) => {
                let concerned = unknown.any(|name| name.contains('.'));
                return if concerned { Err(error) } else { Ok(resolver) };
            }
        };
        let mut named = Vec::new();
        let mut searched = false;
        for name in unknown {
            let prefixed = places.iter().filter(|place| column_of_place(name, place).is_some());
            let before = named.len();
            named.extend(prefixed.map(|place| place.name.clone()));
            let is_open = resolver.friends.iter().any(|friend| friend.table.has(name));
            searched |= named.len() == before && !is_glob(name) && !is_open;
        }
        named.dedup();
        let opened = some_friends(session, friends_named, named).await?;
        let others = places.iter().filter(|place| !resolver.all.contains(&place.name));
        let others: Vec<String> = others.map(|place| place.name.clone()).collect();
        resolver.all.extend(others.iter().cloned());
        for friend in opened {
            resolver.admit(friend);
        }
        if searched {
            for friend in friends_that_open(session, friends_named, others).await {
                resolver.admit(friend);
            }
        }
        Ok(resolver)
    }

    /// The first friend of a name stays.
    fn admit(&mut self, friend: Friend) {
        if self.friends.iter().all(|known| known.name != friend.name) {
            self.friends.push(friend);
        }
    }

    /// The friend whose name is before a column's: its own or, where no friend is called so, that
    /// of its tree.
    pub(super) fn friend_at<'n>(&self, name: &'n str) -> Option<(&Friend, &'n str)> {
        let own = |friend: &'_ Friend| column_behind(name, &friend.name);
        let named = self.friends.iter().find_map(|friend| Some((friend, own(friend)?)));
        let of_tree = |friend| Some((friend, Friend::column_of(friend, name)?));
        named.or_else(|| self.friends.iter().find_map(of_tree))
    }

    /// The column of a friend that a name or a pattern is about; `None` where it is the table's.
    ///
    /// # Errors
    /// `InvalidArgument` where several friends have it, `NotInFile` where none has.
    fn found_in_friend<'n>(&'n self, name: &'n str) -> Result<Option<FoundInFriend<'n>>> {
        if self.table.has(name) {
            return Ok(None);
        }
        if let Some((friend, column)) = self.friend_at(name) {
            let prefix = name.strip_suffix(column).and_then(|before| before.strip_suffix('.'));
            return Ok(Some(FoundInFriend { friend, column, prefix }));
        }
        if is_glob(name) {
            return Ok(None);
        }
        let having: Vec<&Friend> =
            self.friends.iter().filter(|friend| friend.table.has(name)).collect();
        match having[..] {
            [] if self.all.is_empty() => Ok(None),
            [] => Err(self.nowhere(name)),
            [friend] => Ok(Some(FoundInFriend { friend, column: name, prefix: None })),
            _ => Err(self.ambiguous(name, &having)),
        }
    }

    fn nowhere(&self, name: &str) -> Error {
        let own = self.table.list().no_such(name, None);
        let message = format!("{}, neither here nor in the friends", own.message());
        let error = Error::new(ErrorKind::NotInFile, format!("{message} {}", self.all.join(", ")));
        error
            .with_url(self.table.file().url())
            .with_advice(format!("`friend.{name}` says which of them is meant"))
    }

    fn ambiguous(&self, name: &str, having: &[&Friend]) -> Error {
        let spelled: Vec<String> =
            having.iter().map(|friend| format!("{}.{name}", friend.name)).collect();
        let message = format!("several friends of {} have {name:?}", self.table.path());
        Error::new(ErrorKind::InvalidArgument, message)
            .with_url(self.table.file().url())
            .with_advice(format!("say which one: {}", spelled.join(" or ")))
    }
}

fn is_computed(text: &str) -> bool {
    Formula::parse(text).is_ok_and(|formula| formula.is_computed())
}
