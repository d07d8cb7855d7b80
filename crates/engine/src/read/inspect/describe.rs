//! Contents of a tree or an RNTuple: types, entries, sizes, clusters.

use std::ops::Range;

use futures::future::join_all;
use rootfile::ntuple::Cluster;
use serde::Serialize;

use super::map::factor;
use crate::read::core::table::Table;
use crate::read::many::chain::Chain;
use crate::read::ntuple::RNTuple;
use crate::read::tree::Tree;
use remote::{Error, ErrorKind, Result};

/// A tree or an RNTuple.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Described {
    /// `TTree`, `RNTuple`, or `TChain`: then all but the entries is of its first file.
    pub kind: String,
    /// Where it is in the file, without the cycle.
    pub path: String,
    pub entries: u64,
    /// Bytes of all baskets or pages in the file, and uncompressed.
    pub stored_bytes: u64,
    pub content_bytes: u64,
    /// First entries; none where a tree does not say.
    pub clusters: Vec<u64>,
    /// Number of all branches or fields.
    pub columns_all: usize,
    /// Those that were asked for.
    pub columns: Vec<DescribedColumn>,
    /// The files of a chain.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DescribedFile>,
    /// Attribute sets of an RNTuple.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attribute_sets: Vec<DescribedSet>,
}

/// An attribute set of an RNTuple.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DescribedSet {
    pub name: String,
    /// Where it is in the file; `None` where it cannot be opened.
    pub path: Option<String>,
    /// How many entries it has, each about a range of entries.
    pub entries: Option<u64>,
}

/// A file of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DescribedFile {
    pub url: String,
    /// Where the tree is in it.
    pub path: String,
    pub entries: u64,
}

/// A branch or a field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DescribedColumn {
    /// Names from the top to here.
    pub name: String,
    /// The type in C++.
    pub typename: String,
    /// The type of an entry as Awkward spells it; `None` where it cannot be read, or only groups
    /// others.
    pub entry: Option<String>,
    /// Baskets of the branch itself, pages of the field and of those in it.
    pub pieces: usize,
    pub stored_bytes: u64,
    pub content_bytes: u64,
    /// Uncompressed by stored bytes; `None` where nothing is stored.
    pub compression: Option<f64>,
    /// Of a branch: the bytes of a basket before compression when it was written (`fBasketSize`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basket_size: Option<u32>,
    /// Of a branch: its own entries, which may be fewer than the tree's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
}

impl dyn Table {
    /// Its content: of the branches or fields those that `patterns` name, or all.
    ///
    /// # Errors
    /// `NotInFile` for a name that nothing has; of an RNTuple those of reading page lists.
    pub async fn describe(&self, patterns: &[String]) -> Result<Described> {
        if let Some(tree) = self.downcast_ref::<Tree>() {
            return branches(tree, patterns);
        }
        if let Some(ntuple) = self.downcast_ref::<RNTuple>() {
            return fields(ntuple, patterns).await;
        }
        let Some(chain) = self.downcast_ref::<Chain>() else {
            let message = format!("{} is of a kind that cannot be described", self.path());
            return Err(Error::new(ErrorKind::Unsupported, message).with_url(self.file().url()));
        };
        let lead = Box::pin(chain.lead().describe(patterns)).await?;
        let file = |(url, path, entries): (&str, &str, Range<u64>)| DescribedFile {
            url: url.to_owned(),
            path: path.to_owned(),
            entries: entries.end - entries.start,
        };
        Ok(Described {
            kind: "TChain".into(),
            path: chain.name().to_owned(),
            entries: chain.num_entries(),
            files: chain.links().map(file).collect(),
            ..lead
        })
    }
}

fn branches(tree: &Tree, patterns: &[String]) -> Result<Described> {
    let metadata = tree.metadata();
    let everything = ["*".to_owned()];
    let patterns = if patterns.is_empty() { &everything } else { patterns };
    let column = |id: rootfile::tree::BranchId| {
        let branch = &metadata.branches[id.0 as usize];
        DescribedColumn {
            name: tree.names().path(id).to_owned(),
            typename: tree.typename(id),
            entry: tree.column(id).ok().map(|column| column.datashape()),
            pieces: branch.baskets.len(),
            stored_bytes: branch.zip_bytes,
            content_bytes: branch.total_bytes,
            compression: factor(branch.total_bytes, branch.zip_bytes),
            basket_size: Some(branch.basket_size),
            entries: Some(branch.entries),
        }
    };
    Ok(Described {
        kind: "TTree".into(),
        path: tree.path().to_owned(),
        entries: tree.num_entries(),
        stored_bytes: metadata.zip_bytes,
        content_bytes: metadata.total_bytes,
        clusters: metadata.cluster_starts.clone(),
        columns_all: metadata.branches.len(),
        columns: tree.names().select(patterns)?.into_iter().map(column).collect(),
        files: Vec::new(),
        attribute_sets: Vec::new(),
    })
}

/// Pages and bytes of columns.
#[derive(Debug, Clone, Copy, Default)]
struct Sizes {
    pieces: usize,
    stored: u64,
    content: u64,
}

impl Sizes {
    fn add(&mut self, more: Sizes) {
        self.pieces += more.pieces;
        self.stored = self.stored.saturating_add(more.stored);
        self.content = self.content.saturating_add(more.content);
    }
}

async fn fields(ntuple: &RNTuple, patterns: &[String]) -> Result<Described> {
    let schema = &ntuple.metadata().schema;
    let all = ntuple.names().all();
    let chosen: Vec<usize> = match patterns.is_empty() {
        true => (0..all.len()).collect(),
        false => {
            let columns = ntuple.columns(patterns)?;
            columns.iter().filter_map(|column| ntuple.find(&column.name)).collect()
        }
    };
    let clusters = ntuple.clusters(&(0..u64::MAX)).await?;
    let of_columns: Vec<Sizes> = schema
        .columns
        .iter()
        .enumerate()
        .map(|(number, column)| of_column(&clusters, number, u64::from(column.bits)))
        .collect();
    // Of each field, with those in it.
    let mut of_fields = vec![Sizes::default(); schema.fields.len()];
    for (id, field) in schema.fields.iter().enumerate() {
        for column in &field.columns {
            for above in schema.ancestors(id as u32) {
                of_fields[above as usize].add(of_columns[*column as usize]);
            }
        }
    }
    let column = |at: usize| {
        let sizes = of_fields[all[at].field as usize];
        DescribedColumn {
            name: all[at].path.clone(),
            typename: schema.fields[all[at].field as usize].typename.clone(),
            entry: ntuple.column(at).ok().map(|column| column.datashape()),
            pieces: sizes.pieces,
            stored_bytes: sizes.stored,
            content_bytes: sizes.content,
            compression: factor(sizes.content, sizes.stored),
            basket_size: None,
            entries: None,
        }
    };
    let mut whole = Sizes::default();
    of_columns.iter().for_each(|sizes| whole.add(*sizes));
    Ok(Described {
        kind: "RNTuple".into(),
        path: ntuple.path().to_owned(),
        entries: ntuple.num_entries(),
        stored_bytes: whole.stored,
        content_bytes: whole.content,
        clusters: clusters.iter().map(|cluster| cluster.entries.start).collect(),
        columns_all: all.len(),
        columns: chosen.into_iter().map(column).collect(),
        files: Vec::new(),
        attribute_sets: attribute_sets(ntuple).await,
    })
}

/// All of them, opened side by side.
async fn attribute_sets(ntuple: &RNTuple) -> Vec<DescribedSet> {
    let described = async |set: &rootfile::ntuple::AttributeSet| {
        let open = ntuple.attribute_set(&set.name).await.ok();
        DescribedSet {
            name: set.name.clone(),
            path: open.as_ref().map(|open| open.ntuple().path().to_owned()),
            entries: open.map(|open| open.ntuple().num_entries()),
        }
    };
    join_all(ntuple.attribute_sets().iter().map(described)).await
}

fn of_column(clusters: &[std::sync::Arc<Cluster>], number: usize, bits: u64) -> Sizes {
    let mut sizes = Sizes::default();
    let own = clusters.iter().filter_map(|cluster| cluster.columns.get(number));
    for page in own.flat_map(|column| &column.pages) {
        sizes.add(Sizes {
            pieces: 1,
            stored: page.stored(),
            content: (u64::from(page.elements) * bits).div_ceil(8),
        });
    }
    sizes
}
