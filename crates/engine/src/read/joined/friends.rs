//! Friends of a tree: other trees, often in other files, whose entries belong to its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;
use parking_lot::Mutex;
use rootfile::tree::{FriendPlace, TreeIndex};

use crate::Engine;
use crate::address::{Address, Way};
use crate::error::{Error, ErrorKind, Result};
use crate::located::{Located, unlocated};
use crate::read::core::formula::Expression;
use crate::read::core::table::Table;
use crate::read::file::File;

/// A friend that is open.
#[derive(Clone)]
pub struct Friend {
    /// What comes before the dot in `friend.branch`.
    pub name: String,
    pub table: Table,
    /// Number of its entry that belongs to the first of the table.
    pub(crate) shift: i64,
    /// It is one of several that are read one after the other, of which some lack entries.
    pub(crate) sometimes_lacks: bool,
}

impl Friend {
    /// A table whose entries belong to those of another one.
    pub fn new(name: &str, table: Table) -> Self {
        Friend { name: name.to_owned(), table, shift: 0, sometimes_lacks: false }
    }

    /// What follows its name in `friend.column`.
    pub(crate) fn behind<'a>(&self, name: &'a str) -> Option<&'a str> {
        behind(name, &self.name)
    }

    /// Its entry that belongs to one of the table.
    pub(crate) fn own(&self, entry: u64) -> u64 {
        entry.checked_add_signed(self.shift).unwrap_or(0)
    }

    /// The table's entry that belongs to one of its own.
    pub(crate) fn not_own(&self, entry: u64) -> u64 {
        entry.checked_add_signed(self.shift.saturating_neg()).unwrap_or(0)
    }

    /// Entries of the table before the first that it lacks.
    pub(crate) fn there(&self) -> u64 {
        self.not_own(self.table.num_entries())
    }

    /// Whether it lacks some of the entries of the table.
    pub(crate) fn lacks(&self, num_entries: u64) -> bool {
        self.sometimes_lacks || self.there() < num_entries
    }
}

/// What follows `friend.`
pub(crate) fn behind<'a>(name: &'a str, friend: &str) -> Option<&'a str> {
    name.strip_prefix(friend)?.strip_prefix('.')
}

/// Which entry of a friend belongs to which of the tree.
#[derive(Clone)]
pub(crate) enum Alignment {
    /// The one of the same number.
    Entry,
    /// The one that the friend's index has for two numbers of the tree's entry.
    Index(Arc<TreeIndex>, Box<[Expression; 2]>),
}

/// The friends that a tree's or a chain's file names, and those of them that are open.
pub(crate) struct FriendBook {
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
            Some((file, _)) => error.located(file.url()),
            None => unlocated(error),
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
    pub(crate) async fn friends_that_open(
        &self,
        book: &FriendBook,
        names: Vec<String>,
    ) -> Vec<Friend> {
        let one = async |name| self.some_friends(book, vec![name]).await.unwrap_or_default();
        join_all(names.into_iter().map(one)).await.into_iter().flatten().collect()
    }

    /// Each file is opened once, and all at the same time.
    pub(crate) async fn some_friends(
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
            let at = friend_file(own.place()?, &place.file);
            let at = at.map_err(|error| looked_for(error, path, place))?;
            wanted.push((place, at.map(|at| at.as_str().to_owned())));
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
        found.map_err(|error| looked_for(error, own, place))
    }
}

fn looked_for(error: Error, own: &str, place: &FriendPlace) -> Error {
    let named = if place.file.is_empty() { "the same file" } else { &place.file };
    let FriendPlace { name, .. } = place;
    let advice = format!("it is looked for as the friend \"{name}\" of {own}, which names {named}");
    error.with_advice(advice)
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
/// A tree names the file as it was when the friend was added. Who moves files moves both: so a file
/// of the name of the tree's own is that one, and one named by a path that leads nowhere from here
/// is beside it. A path in a file of a server is never one of this machine.
///
/// # Errors
/// Where a URL is named that may not follow the file's own (see [`crate::address`]).
fn friend_file(own: &Address, named: &str) -> Result<Option<Address>> {
    let is_url = is_remote(named);
    let rest = named.split_once("://").map_or(named, |(_, rest)| rest);
    let path = if is_url { rest.split(['?', '#']).next().unwrap_or_default() } else { rest };
    let last = path.rsplit('/').next().unwrap_or_default();
    if named.is_empty() || *own.file_name() == *last {
        return Ok(None);
    }
    if is_url {
        return own.led_to(named, Way::Mention).map(Some);
    }
    let is_absolute = Path::new(path).is_absolute();
    let found = match (own.is_local(), is_absolute) {
        (false, true) => own.beside(last)?,
        (false, false) => own.beside(path)?,
        (true, true) => nearer(Address::local(Path::new(path))?, own.beside(last)?),
        (true, false) => nearer(own.beside(path)?, Address::local(Path::new(path))?),
    };
    Ok(Some(found))
}

/// A URL of another scheme than `file`, which is but another way to write a path.
fn is_remote(named: &str) -> bool {
    named.split_once("://").is_some_and(|(scheme, _)| !scheme.eq_ignore_ascii_case("file"))
}

/// The first of two that is there, or else the first.
fn nearer(first: Address, second: Address) -> Address {
    let is_there = |address: &Address| address.to_local().is_some_and(Path::exists);
    if !is_there(&first) && is_there(&second) { second } else { first }
}

/// Where a file of a chain is, which a file at `own` names.
pub(crate) fn beside(own: &Address, named: &str) -> Result<Address> {
    let path = Path::new(named);
    if own.is_local() && path.is_absolute() && path.exists() {
        return Address::local(path);
    }
    if is_remote(named) {
        return own.led_to(named, Way::Mention);
    }
    Ok(friend_file(own, named)?.unwrap_or_else(|| own.clone()))
}

impl Alignment {
    /// How the entries of a friend belong to those of a table: by the friend's index where it has
    /// one, of numbers that the table has too.
    ///
    /// # Errors
    /// Why the index cannot be read, or its expressions.
    pub(crate) fn of(table: &Table, friend: &Friend) -> Result<Alignment> {
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
    pub(crate) fn columns(&self) -> impl Iterator<Item = &String> {
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
        for (own, named, there) in [
            ("root://a//store/one.root?token=x", "", None),
            ("root://a//store/one.root", "/far/away/one.root", None),
            ("root://a//store/one.root", "root://b//one.root", None),
            ("root://a//store/one.root", "root://b//two.root", Some("root://b//two.root")),
            ("root://a//store/one.root?x", "two.root", Some("root://a//store/two.root")),
            ("root://a//store/one.root", "sub/two.root", Some("root://a//store/sub/two.root")),
            ("root://a//store/one.root", "/far/away/two.root", Some("root://a//store/two.root")),
            ("root://a//store/one.root", "50%#.root", Some("root://a//store/50%#.root")),
            ("http://a/store/one.root", "50%#?.root", Some("http://a/store/50%25%23%3F.root")),
            ("http://a/store/50%25.root", "50%.root", None),
            // A server's file once named files of the reader's disk, and they were opened.
            ("http://a/store/one.root", "file:///etc/passwd", Some("http://a/store/passwd")),
            ("root://a//store/one.root", "FILE:///etc/passwd", Some("root://a//store/passwd")),
            (
                "http://a/store/one.root",
                "two.root|/etc/passwd",
                Some("http://a/store/two.root%7C/etc/passwd"),
            ),
        ] {
            let found = friend_file(&Address::parse(own).unwrap(), named).unwrap();
            let there = there.map(|there| Address::parse(there).unwrap());
            assert_eq!(found, there, "{own} {named}");
        }
        let own = Address::parse("root://a//store/one.root").unwrap();
        for refused in ["root://b//x|/etc/passwd", "root://localhost//x", "ftp://b/x", "a?b.root"] {
            assert!(friend_file(&own, refused).is_err(), "{refused}");
            assert!(beside(&own, refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn where_friends_are_on_a_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("there.root"), b"").unwrap();
        let own = Address::parse(&path("one.root")).unwrap();
        let file = |named: &str| friend_file(&own, named).unwrap().map(|at| at.to_string());
        assert_eq!(file("there.root").unwrap(), path("there.root"));
        assert_eq!(file(&path("there.root")).unwrap(), path("there.root"));
        assert_eq!(file(&format!("file://{}", path("there.root"))).unwrap(), path("there.root"));
        assert_eq!(file("/elsewhere/there.root").unwrap(), path("there.root"));
        assert_eq!(file("absent.root").unwrap(), path("absent.root"));
        assert_eq!(file("/elsewhere/one.root"), None);
    }
}
