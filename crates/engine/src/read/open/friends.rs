//! Opening the friends that files name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;
use rootfile::tree::FriendPlace;

use crate::read::core::friends::{Friend, FriendList, is_called};
use crate::read::core::table::Table;
use crate::read::file::beside::friend_file;
use crate::read::file::session::Session;
use crate::read::file::{File, Speculation};
use crate::read::open::table::table_in;
use remote::{Error, ErrorKind, Result};

/// Opens the friends that a table's file names side by side, in their order.
///
/// # Errors
/// Of the first of them that cannot be opened.
pub(crate) async fn friends(session: &Session, table: &dyn Table) -> Result<Vec<Friend>> {
    let mut friends = Vec::new();
    for friends_named in table.friend_lists() {
        let names = friends_named.places()?.into_iter().map(|place| place.name).collect();
        friends.extend(some_friends(session, friends_named, names).await?);
    }
    Ok(friends)
}

/// One friend that a table's file names.
///
/// # Errors
/// `NotInFile` where there is none of that name; why it cannot be opened.
pub(crate) async fn friend(session: &Session, table: &dyn Table, name: &str) -> Result<Friend> {
    let books = table.friend_lists();
    let having = |friends_named: &&&FriendList| {
        friends_named.places().is_ok_and(|places| places.iter().any(|place| is_called(place, name)))
    };
    let lacks = || Error::new(ErrorKind::NotInFile, format!("there is no friend {name:?}"));
    let friends_named = books.iter().find(having).or(books.last()).ok_or_else(lacks)?;
    let mut opened = some_friends(session, friends_named, vec![name.to_owned()]).await?;
    opened.pop().ok_or_else(|| no_friend(friends_named, name))
}

/// Those of some friends that can be opened.
pub(crate) async fn friends_that_open(
    session: &Session,
    friends_named: &FriendList,
    names: Vec<String>,
) -> Vec<Friend> {
    let one =
        async |name| some_friends(session, friends_named, vec![name]).await.unwrap_or_default();
    join_all(names.into_iter().map(one)).await.into_iter().flatten().collect()
}

/// Each file is opened once, and all at the same time.
pub(crate) async fn some_friends(
    session: &Session,
    friends_named: &FriendList,
    names: Vec<String>,
) -> Result<Vec<Friend>> {
    let places = friends_named.places()?;
    let Some((own, path)) = &friends_named.home else { return Ok(Vec::new()) };
    let mut wanted = Vec::with_capacity(names.len());
    for name in names {
        let exact = places.iter().find(|place| place.name == name);
        let place = exact.or_else(|| places.iter().find(|place| is_called(place, &name)));
        let place = place.ok_or_else(|| no_friend(friends_named, &name))?;
        let at = friend_file(own.place()?, &place.file);
        let at = at.map_err(|error| looked_for(error, path, place))?;
        wanted.push((place, at.map(|at| at.as_str().to_owned())));
    }
    let unknown = wanted.iter().filter(|(place, _)| friends_named.known(&place.name).is_none());
    let addresses: BTreeSet<&str> = unknown.filter_map(|(_, at)| at.as_deref()).collect();
    let open = |address| async move { (address, session.open(address, Speculation::Eager).await) };
    let files: BTreeMap<&str, Result<File>> =
        join_all(addresses.into_iter().map(open)).await.into_iter().collect();
    let friend = async |(place, address): &(&FriendPlace, Option<String>)| {
        if let Some(known) = friends_named.known(&place.name) {
            return Ok(known);
        }
        let file = match address.as_deref().and_then(|address| files.get(address)) {
            None => Ok(own.clone()),
            Some(opened) => opened.clone(),
        };
        let table = found(session, path, place, file).await?;
        let friend = Friend::new(&place.name, table);
        friends_named.remember(friend.clone());
        Ok(friend)
    };
    join_all(wanted.iter().map(friend)).await.into_iter().collect()
}

/// The table that is a friend of the tree at `own`, in its file.
async fn found(
    session: &Session,
    own: &str,
    place: &FriendPlace,
    file: Result<File>,
) -> Result<Arc<dyn Table>> {
    let found = match file {
        Ok(file) => match table_in(session, &file, &place.tree).await {
            // A friend's path may leave out the directory, which is then the tree's own.
            Err(error) if error.kind() == ErrorKind::NotInFile => match own.rsplit_once('/') {
                Some((above, _)) => {
                    let path = format!("{above}/{}", place.tree);
                    table_in(session, &file, &path).await
                }
                None => Err(error),
            },
            found => found,
        },
        Err(error) => Err(error),
    };
    found.map_err(|error| looked_for(error, own, place))
}

fn looked_for(error: Error, own: &str, place: &FriendPlace) -> Error {
    let named = if place.file.is_empty() { "the same file" } else { &place.file };
    let FriendPlace { name, .. } = place;
    let advice = format!("it is looked for as the friend \"{name}\" of {own}, which names {named}");
    error.with_advice(advice)
}

fn no_friend(friends_named: &FriendList, name: &str) -> Error {
    let names = friends_named.places().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|place| &*place.name).collect();
    let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let (url, path) = match &friends_named.home {
        Some((file, path)) => (file.url(), &**path),
        None => ("", "the tree"),
    };
    Error::new(ErrorKind::NotInFile, format!("{path} has no friend {name:?}"))
        .with_url(url)
        .with_advice(format!("there are {there}"))
}
