//! Friends of a tree: other trees, often in other files, whose entries belong to its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;
use rootfile::tree::{FriendPlace, TreeIndex};

use super::file::File;
use super::formula::Expression;
use super::tree::Tree;
use crate::Engine;
use crate::error::{Error, ErrorKind, Result};

/// A friend that is open.
#[derive(Clone)]
pub struct Friend {
    /// What comes before the dot in `friend.branch`.
    pub name: String,
    pub tree: Tree,
}

/// Which entry of a friend belongs to which of the tree.
#[derive(Clone)]
pub(super) enum Alignment {
    /// The one of the same number.
    Entry,
    /// The one that the friend's index has for two numbers of the tree's entry.
    Index(Arc<TreeIndex>, Box<[Expression; 2]>),
}

impl Engine {
    /// Opens the friends of a tree side by side, in the order in which the tree has them.
    ///
    /// # Errors
    /// Of the first of them that cannot be opened.
    pub async fn friends(&self, tree: &Tree) -> Result<Vec<Friend>> {
        let places = tree.friend_places()?;
        self.some_friends(tree, places.into_iter().map(|place| place.name).collect()).await
    }

    /// One friend of a tree.
    ///
    /// # Errors
    /// `NotInFile` where the tree has none of that name; why it cannot be opened.
    pub async fn friend(&self, tree: &Tree, name: &str) -> Result<Friend> {
        let mut opened = self.some_friends(tree, vec![name.to_owned()]).await?;
        opened.pop().ok_or_else(|| no_friend(tree, name))
    }

    /// Each file is opened once, and all at the same time.
    pub(super) async fn some_friends(
        &self,
        tree: &Tree,
        names: Vec<String>,
    ) -> Result<Vec<Friend>> {
        let places = tree.friend_places()?;
        let mut wanted = Vec::with_capacity(names.len());
        for name in names {
            let place = places.iter().find(|place| place.name == name);
            let place = place.ok_or_else(|| no_friend(tree, &name))?;
            wanted.push((place, friend_file(tree.file().url(), &place.file)));
        }
        let unknown = wanted.iter().filter(|(place, _)| tree.known_friend(&place.name).is_none());
        let addresses: BTreeSet<&str> = unknown.filter_map(|(_, at)| at.as_deref()).collect();
        let open = |address| async move { (address, self.open(address).await) };
        let files: BTreeMap<&str, Result<File>> =
            join_all(addresses.into_iter().map(open)).await.into_iter().collect();
        let friend = async |(place, address): &(&FriendPlace, Option<String>)| {
            if let Some(known) = tree.known_friend(&place.name) {
                return Ok(known);
            }
            let file = match address.as_deref().and_then(|address| files.get(address)) {
                None => Ok(tree.file().clone()),
                Some(opened) => opened.clone(),
            };
            let friend = Friend { name: place.name.clone(), tree: found(tree, place, file).await? };
            tree.remember_friend(friend.clone());
            Ok(friend)
        };
        join_all(wanted.iter().map(friend)).await.into_iter().collect()
    }
}

/// The tree that is a friend, in its file.
async fn found(tree: &Tree, place: &FriendPlace, file: Result<File>) -> Result<Tree> {
    let found = match file {
        Ok(file) => match file.tree(&place.tree).await {
            // A friend's path may leave out the directory, which is then the tree's own.
            Err(error) if error.kind() == ErrorKind::NotInFile => {
                match tree.path().rsplit_once('/') {
                    Some((above, _)) => file.tree(&format!("{above}/{}", place.tree)).await,
                    None => Err(error),
                }
            }
            found => found,
        },
        Err(error) => Err(error),
    };
    found.map_err(|error| {
        let named = if place.file.is_empty() { "the same file" } else { &place.file };
        error.with_advice(format!(
            "it is looked for as the friend \"{}\" of {}, which names {named}",
            place.name,
            tree.path()
        ))
    })
}

fn no_friend(tree: &Tree, name: &str) -> Error {
    let names = tree.friend_places().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|place| &*place.name).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Error::new(ErrorKind::NotInFile, format!("{} has no friend {name:?}", tree.path()))
        .with_url(tree.file().url())
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

impl Alignment {
    /// How the entries of a friend belong to those of a tree: by the friend's index where it has
    /// one, of numbers that the tree has too.
    ///
    /// # Errors
    /// Why the index cannot be read, or its expressions.
    pub(super) fn of(tree: &Tree, friend: &Friend) -> Result<Alignment> {
        let at = |error: Error| error.with_url(friend.tree.file().url());
        let Some(index) = friend.tree.index()? else { return Ok(Alignment::Entry) };
        let expression = |text: &str| match tree.names().find(text) {
            Some(_) => Ok(Expression::column(text)),
            None => Expression::parse(text).map_err(at),
        };
        let both = [expression(&index.major_name)?, expression(&index.minor_name)?];
        let known = |name: &String| tree.names().find(name).is_some();
        if both.iter().flat_map(|one| &one.columns).all(known) {
            Ok(Alignment::Index(index, Box::new(both)))
        } else {
            Ok(Alignment::Entry)
        }
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
