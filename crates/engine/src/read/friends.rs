//! Friends of a tree: other trees, often in other files, whose entries belong to its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;
use parking_lot::Mutex;
use rootfile::tree::{FriendPlace, TreeIndex};

use super::file::File;
use super::formula::Expression;
use super::table::Table;
use crate::Engine;
use crate::error::{Error, ErrorKind, Result};

/// A friend that is open.
#[derive(Clone)]
pub struct Friend {
    /// What comes before the dot in `friend.branch`.
    pub name: String,
    pub table: Table,
    /// Number of its entry that belongs to the first of the table.
    pub(super) shift: i64,
    /// It is one of several that are read one after the other, of which some lack entries.
    pub(super) sometimes_lacks: bool,
}

impl Friend {
    /// A table whose entries belong to those of another one.
    pub fn new(name: &str, table: Table) -> Self {
        Friend { name: name.to_owned(), table, shift: 0, sometimes_lacks: false }
    }

    /// What follows its name in `friend.column`.
    pub(super) fn behind<'a>(&self, name: &'a str) -> Option<&'a str> {
        behind(name, &self.name)
    }

    /// Its entry that belongs to one of the table.
    pub(super) fn own(&self, entry: u64) -> u64 {
        entry.checked_add_signed(self.shift).unwrap_or(0)
    }

    /// The table's entry that belongs to one of its own.
    pub(super) fn not_own(&self, entry: u64) -> u64 {
        entry.checked_add_signed(self.shift.saturating_neg()).unwrap_or(0)
    }

    /// Entries of the table before the first that it lacks.
    pub(super) fn there(&self) -> u64 {
        self.not_own(self.table.num_entries())
    }

    /// Whether it lacks some of the entries of the table.
    pub(super) fn lacks(&self, num_entries: u64) -> bool {
        self.sometimes_lacks || self.there() < num_entries
    }
}

/// What follows `friend.`
pub(super) fn behind<'a>(name: &'a str, friend: &str) -> Option<&'a str> {
    name.strip_prefix(friend)?.strip_prefix('.')
}

/// Which entry of a friend belongs to which of the tree.
#[derive(Clone)]
pub(super) enum Alignment {
    /// The one of the same number.
    Entry,
    /// The one that the friend's index has for two numbers of the tree's entry.
    Index(Arc<TreeIndex>, Box<[Expression; 2]>),
}

/// The friends that a tree's or a chain's file names, and those of them that are open.
pub(super) struct FriendBook {
    /// Where the tree is; `None` for one that is in no file.
    home: Option<(File, Arc<str>)>,
    places: rootfile::Result<Vec<FriendPlace>>,
    open: Mutex<Vec<Friend>>,
}

impl Default for FriendBook {
    fn default() -> Self {
        FriendBook { home: None, places: Ok(Vec::new()), open: Mutex::default() }
    }
}

impl FriendBook {
    pub fn new(file: File, path: &str, places: rootfile::Result<Vec<FriendPlace>>) -> Self {
        FriendBook { home: Some((file, path.into())), places, open: Mutex::default() }
    }

    /// # Errors
    /// Why the file's list of them cannot be read.
    pub fn places(&self) -> Result<Vec<FriendPlace>> {
        let home = self.home.as_ref();
        self.places.clone().map_err(|error| match home {
            Some((file, _)) => Error::from(error).with_url(file.url()),
            None => error.into(),
        })
    }

    fn known(&self, name: &str) -> Option<Friend> {
        self.open.lock().iter().find(|friend| friend.name == name).cloned()
    }

    fn remember(&self, friend: Friend) {
        let mut open = self.open.lock();
        if open.iter().all(|other| other.name != friend.name) {
            open.push(friend);
        }
    }
}

impl Engine {
    /// Opens the friends that a table's file names side by side, in their order.
    ///
    /// # Errors
    /// Of the first of them that cannot be opened.
    pub async fn friends(&self, table: &Table) -> Result<Vec<Friend>> {
        let mut friends = Vec::new();
        for book in table.friend_books() {
            let names = book.places()?.into_iter().map(|place| place.name).collect();
            friends.extend(self.some_friends(book, names).await?);
        }
        Ok(friends)
    }

    /// One friend that a table's file names.
    ///
    /// # Errors
    /// `NotInFile` where there is none of that name; why it cannot be opened.
    pub async fn friend(&self, table: &Table, name: &str) -> Result<Friend> {
        let books = table.friend_books();
        let having = |book: &&&FriendBook| {
            book.places().is_ok_and(|places| places.iter().any(|place| place.name == name))
        };
        let lacks = || Error::new(ErrorKind::NotInFile, format!("there is no friend {name:?}"));
        let book = books.iter().find(having).or(books.last()).ok_or_else(lacks)?;
        let mut opened = self.some_friends(book, vec![name.to_owned()]).await?;
        opened.pop().ok_or_else(|| no_friend(book, name))
    }

    /// Those of some friends that can be opened.
    pub(super) async fn friends_that_open(
        &self,
        book: &FriendBook,
        names: Vec<String>,
    ) -> Vec<Friend> {
        let one = async |name| self.some_friends(book, vec![name]).await.unwrap_or_default();
        join_all(names.into_iter().map(one)).await.into_iter().flatten().collect()
    }

    /// Each file is opened once, and all at the same time.
    pub(super) async fn some_friends(
        &self,
        book: &FriendBook,
        names: Vec<String>,
    ) -> Result<Vec<Friend>> {
        let places = book.places()?;
        let Some((own, path)) = &book.home else { return Ok(Vec::new()) };
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let place = places.iter().find(|place| place.name == name);
            let place = place.ok_or_else(|| no_friend(book, &name))?;
            wanted.push((place, friend_file(own.url(), &place.file)));
        }
        let unknown = wanted.iter().filter(|(place, _)| book.known(&place.name).is_none());
        let addresses: BTreeSet<&str> = unknown.filter_map(|(_, at)| at.as_deref()).collect();
        let open = |address| async move { (address, self.open(address).await) };
        let files: BTreeMap<&str, Result<File>> =
            join_all(addresses.into_iter().map(open)).await.into_iter().collect();
        let friend = async |(place, address): &(&FriendPlace, Option<String>)| {
            if let Some(known) = book.known(&place.name) {
                return Ok(known);
            }
            let file = match address.as_deref().and_then(|address| files.get(address)) {
                None => Ok(own.clone()),
                Some(opened) => opened.clone(),
            };
            let table = self.found(path, place, file).await?;
            let friend = Friend::new(&place.name, table);
            book.remember(friend.clone());
            Ok(friend)
        };
        join_all(wanted.iter().map(friend)).await.into_iter().collect()
    }

    /// What is a friend of the tree at `own`, in its file.
    async fn found(&self, own: &str, place: &FriendPlace, file: Result<File>) -> Result<Table> {
        let found = match file {
            Ok(file) => match self.table_in(&file, &place.tree).await {
                // A friend's path may leave out the directory, which is then the tree's own.
                Err(error) if error.kind() == ErrorKind::NotInFile => match own.rsplit_once('/') {
                    Some((above, _)) => {
                        let path = format!("{above}/{}", place.tree);
                        self.table_in(&file, &path).await
                    }
                    None => Err(error),
                },
                found => found,
            },
            Err(error) => Err(error),
        };
        found.map_err(|error| {
            let named = if place.file.is_empty() { "the same file" } else { &place.file };
            error.with_advice(format!(
                "it is looked for as the friend \"{}\" of {own}, which names {named}",
                place.name,
            ))
        })
    }
}

fn no_friend(book: &FriendBook, name: &str) -> Error {
    let names = book.places().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|place| &*place.name).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let (url, path) = match &book.home {
        Some((file, path)) => (file.url(), &**path),
        None => ("", "the tree"),
    };
    Error::new(ErrorKind::NotInFile, format!("{path} has no friend {name:?}"))
        .with_url(url)
        .with_advice(format!("there are {there}"))
}

/// Where the file of a friend is; `None` for the tree's own file.
///
/// A tree names the file as it was when the friend was added. Whoever moves files moves both: so
/// a file of the name of the tree's own is that one, and one named by a path that leads nowhere from
/// here is beside it.
fn friend_file(own: &str, named: &str) -> Option<String> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let path_of = |url: &str| url.split(['?', '#']).next().unwrap_or_default().to_owned();
    let own = own.split('|').next().unwrap_or(own);
    if named.is_empty() || last(&path_of(named)) == last(&path_of(own)) {
        return None;
    }
    if named.contains("://") {
        return Some(named.to_owned());
    }
    let local = url::Url::parse(own).ok().filter(|url| url.scheme() == "file");
    let local = local.and_then(|url| url.to_file_path().ok());
    let is_absolute = Path::new(named).is_absolute();
    let Some(local) = local else {
        let name = if is_absolute { last(named) } else { named.to_owned() };
        let folder = path_of(own);
        let folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        return Some(format!("{folder}/{name}"));
    };
    let beside = |name: &str| local.with_file_name(name);
    let tried = match is_absolute {
        true => [Path::new(named).to_owned(), beside(&last(named))],
        false => [beside(named), Path::new(named).to_owned()],
    };
    let found = tried.iter().find(|path| path.exists()).unwrap_or(&tried[0]);
    Some(found.to_string_lossy().into_owned())
}

/// Where a file of a chain is, which a file at `own` names.
pub(super) fn beside(own: &str, named: &str) -> String {
    let path = Path::new(named);
    let is_there = || own.starts_with("file:") && path.is_absolute() && path.exists();
    match named.contains("://") || is_there() {
        true => named.to_owned(),
        false => friend_file(own, named).unwrap_or_else(|| own.to_owned()),
    }
}

impl Alignment {
    /// How the entries of a friend belong to those of a table: by the friend's index where it has
    /// one, of numbers that the table has too.
    ///
    /// # Errors
    /// Why the index cannot be read, or its expressions.
    pub(super) fn of(table: &Table, friend: &Friend) -> Result<Alignment> {
        let Table::Tree(tree) = &friend.table else { return Ok(Alignment::Entry) };
        let Some(index) = tree.index()? else { return Ok(Alignment::Entry) };
        let expression = |text: &str| match table.has(text) {
            true => Ok(Expression::column(text)),
            false => Expression::parse(text).map_err(|error| error.with_url(tree.file().url())),
        };
        let both = [expression(&index.major_name)?, expression(&index.minor_name)?];
        if both.iter().flat_map(|one| &one.columns).all(|name| table.has(name)) {
            Ok(Alignment::Index(index, Box::new(both)))
        } else {
            Ok(Alignment::Entry)
        }
    }

    /// Names of the table's columns that say which entries of the friend are meant.
    pub(super) fn columns(&self) -> impl Iterator<Item = &String> {
        let both: &[Expression] = match self {
            Alignment::Entry => &[],
            Alignment::Index(_, both) => &both[..],
        };
        both.iter().flat_map(|one| &one.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_friends_are() {
        let own = "root://a//store/one.root?token=x";
        let of = |named| friend_file(own, named);
        assert_eq!(of(""), None);
        assert_eq!(of("/far/away/one.root"), None);
        assert_eq!(of("root://b//one.root"), None, "a copy is the same file");
        assert_eq!(of("root://b//two.root").unwrap(), "root://b//two.root");
        assert_eq!(of("two.root").unwrap(), "root://a//store/two.root");
        assert_eq!(of("sub/two.root").unwrap(), "root://a//store/sub/two.root");
        assert_eq!(of("/far/away/two.root").unwrap(), "root://a//store/two.root");
    }

    #[test]
    fn where_friends_are_on_a_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("there.root"), b"").unwrap();
        let own = url::Url::from_file_path(path("one.root")).unwrap().to_string();
        assert_eq!(friend_file(&own, "there.root").unwrap(), path("there.root"));
        assert_eq!(friend_file(&own, &path("there.root")).unwrap(), path("there.root"));
        assert_eq!(friend_file(&own, "/elsewhere/there.root").unwrap(), path("there.root"));
        assert_eq!(friend_file(&own, "absent.root").unwrap(), path("absent.root"));
        assert_eq!(friend_file(&own, "/elsewhere/one.root"), None);
    }
}
