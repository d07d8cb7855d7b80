//! The index of a chain: those of all its tables (ROOT: `TChainIndex`).

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use rootfile::tree::TreeIndex;

use super::{Chain, Inner, MEMORY_PART};
use crate::read::core::friends::{EntryLookup, Friend};
use crate::read::core::table::Table;
use crate::read::joined::alignment::Alignment;
use crate::read::many::scan::{OpenAhead, TableLocation};
use remote::{Error, ErrorKind, Result};

/// The index of all tables, and those of them that stay open.
pub(super) struct ChainIndex {
    all: Arc<TreeIndex>,
    open: Vec<Option<Arc<dyn Table>>>,
}

/// The index of a table; of a chain, whose files are opened for it, that of all its tables.
///
/// # Errors
/// Those of opening, and as [`Table::index`]; `Unsupported` where only some of the tables have an
/// index, or one of other numbers.
pub(crate) fn index_of(table: &dyn Table) -> BoxFuture<'_, Result<Option<Arc<TreeIndex>>>> {
    async move {
        match table.downcast_ref::<Chain>() {
            Some(chain) => chain.load_index().await,
            None => table.index(),
        }
    }
    .boxed()
}

/// Whether entries of a friend that is a chain are found by its index.
pub(crate) async fn is_looked_up(table: &dyn Table, friend: &Friend) -> Result<bool> {
    index_of(&*friend.table).await?;
    Ok(matches!(Alignment::of(table, friend)?, Alignment::Index(..)))
}

/// Friends of a chain whose first table is `lead`: the lookup of those that are chains is known.
pub(super) async fn beside(lead: &dyn Table, mut friends: Vec<Friend>) -> Result<Vec<Friend>> {
    for friend in &mut friends {
        if friend.table.downcast_ref::<Chain>().is_some() && friend.lookup == EntryLookup::Own {
            friend.lookup = match is_looked_up(lead, friend).await? {
                true => EntryLookup::Index,
                false => EntryLookup::Number,
            };
        }
    }
    Ok(friends)
}

impl Chain {
    /// The index, once it has been loaded.
    pub(super) fn known_index(&self) -> Result<Option<Arc<TreeIndex>>> {
        match self.inner.index.get() {
            Some(found) => Ok(found.as_ref().map(|index| index.all.clone())),
            None => {
                let message = format!("the index of the chain {} is not loaded", self.name());
                let error = Error::new(ErrorKind::Unsupported, message);
                Err(error.with_url(self.inner.lead.file().url()))
            }
        }
    }

    /// A table, open where it stays so.
    pub(super) fn link(&self, at: usize) -> TableLocation {
        let mut link = self.inner.links[at].clone();
        if let Some(Some(index)) = self.inner.index.get() {
            link.open = link.open.or_else(|| index.open[at].clone());
        }
        link
    }

    async fn load_index(&self) -> Result<Option<Arc<TreeIndex>>> {
        self.inner.index.get_or_try_init(|| self.joined_index()).await?;
        self.known_index()
    }

    /// Opens all tables if the first that has entries has an index.
    async fn joined_index(&self) -> Result<Option<ChainIndex>> {
        let Inner { session, links, starts, lead, .. } = &*self.inner;
        if lead.num_entries() > 0 && index_of(&**lead).await?.is_none() {
            return Ok(None);
        }
        let mut opens = OpenAhead::new(session.clone(), links.clone());
        let mut room = session.config().memory_bytes_max / MEMORY_PART;
        let mut parts = IndexParts::default();
        let mut open = Vec::with_capacity(links.len());
        while let Some(table) = opens.next().await.transpose()? {
            parts.add(&*table, starts[open.len()]).await?;
            let left = room.checked_sub(table.file().metadata_bytes());
            room = left.unwrap_or(room);
            open.push(left.map(|_| table));
        }
        Ok(parts.joined().map(|all| ChainIndex { all: Arc::new(all), open }))
    }
}

/// The indexes of the tables so far.
#[derive(Default)]
struct IndexParts {
    joined: Option<TreeIndex>,
    /// A file whose table has entries, and no index.
    lacking: Option<String>,
}

impl IndexParts {
    /// Adds a table whose entries begin at `first`.
    async fn add(&mut self, table: &dyn Table, first: u64) -> Result<()> {
        let url = table.file().url();
        let count = table.num_entries();
        let Some(part) = index_of(table).await? else {
            if count > 0 {
                self.lacking.get_or_insert_with(|| url.to_owned());
            }
            return self.all_or_none();
        };
        if let Some(entry) = part.lacking(count) {
            let message = format!("the index of {} names entry {entry}", table.path());
            return Err(Error::new(ErrorKind::Corrupt, message).with_url(url));
        }
        let joined = self.joined.get_or_insert_with(|| part.without_pairs());
        if !joined.append(&part, first) {
            let TreeIndex { major_name, minor_name, .. } = &*part;
            let message = format!(
                "{} has an index of {major_name}, {minor_name}, and other files of its chain one \
                 of {}, {}",
                table.path(),
                joined.major_name,
                joined.minor_name
            );
            return Err(Error::new(ErrorKind::Unsupported, message).with_url(url));
        }
        self.all_or_none()
    }

    fn all_or_none(&self) -> Result<()> {
        let Some(lacking) = self.lacking.as_ref().filter(|_| self.joined.is_some()) else {
            return Ok(());
        };
        let message = "some files of a chain have an index, and this one has none";
        let error = Error::new(ErrorKind::Unsupported, message).with_url(&**lacking);
        Err(error.with_advice("give its tree an index (TTree::BuildIndex), or leave the file out"))
    }

    fn joined(self) -> Option<TreeIndex> {
        self.joined.map(TreeIndex::sorted)
    }
}
