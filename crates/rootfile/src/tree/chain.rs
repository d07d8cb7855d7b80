//! A chain: trees of many files that are read as one.

use super::read::aliases;
use super::related::{self, FriendPlace};
use crate::error::{Error, Result};
use crate::object::{ObjectRef, Objects};

/// Numbers of entries that mean unknown: `TTree::kMaxEntries`, and its value in older versions.
const UNKNOWN: [i64; 2] = [i64::MAX, 1_234_567_890];

/// Trees of many files, one after the other (ROOT: `TChain`).
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    pub name: String,
    pub title: String,
    pub links: Vec<ChainElement>,
    /// Names and formulas (`fAliases`).
    pub aliases: Vec<(String, String)>,
    /// Other trees whose entries belong to those of the chain, or why they can't be read.
    pub friends: Result<Vec<FriendPlace>>,
}

/// One tree of a chain (ROOT: `TChainElement`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainElement {
    /// Path of the tree in its file (`fName`).
    pub tree: String,
    /// The file, as it was named when it was added (`fTitle`).
    pub file: String,
    /// How many entries the tree had; `None` where the writer had not opened it (`fEntries`).
    pub entries: Option<u64>,
}

/// Understands the chain that `objects` are about.
///
/// # Errors
/// `Corrupt` where it lacks members that it must have.
pub(crate) fn read_chain(objects: &Objects) -> Result<Chain> {
    let chain = objects.root();
    let links = chain.objects("fFiles")?.into_iter().flatten().map(link);
    Ok(Chain {
        name: chain.string("fName")?,
        title: chain.string("fTitle")?,
        links: links.collect::<Result<_>>()?,
        aliases: aliases(chain)?,
        friends: related::friends(chain),
    })
}

fn link(element: ObjectRef<'_>) -> Result<ChainElement> {
    let entries = element.int("fEntries")?;
    let entries = match UNKNOWN.contains(&entries) {
        true => None,
        false => Some(
            u64::try_from(entries)
                .map_err(|_| Error::corrupt(format!("a tree of a chain has {entries} entries")))?,
        ),
    };
    Ok(ChainElement { tree: element.string("fName")?, file: element.string("fTitle")?, entries })
}
