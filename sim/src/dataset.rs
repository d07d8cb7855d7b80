//! Trees that are made for an experiment: many branches, some of which are read.

use std::sync::Arc;

use bytes::Bytes;
use engine::{
    Array, ClusterSize, Compression, Config, Engine, EntryType, Number, Numbers, Result,
    TableColumn, TreeOptions, WriteOptions,
};

use crate::replay::Vector;

/// How a tree is made. Nothing is compressed, so that lengths are exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    pub clusters: u64,
    /// Entries of a cluster.
    pub entries: u64,
    /// Numbers of 8 bytes in an entry, of each branch.
    pub lengths: Vec<usize>,
    /// The branches that are read.
    pub read: Vec<usize>,
}

/// A file with one tree, `t`, of branches `x0`, `x1`, and so on.
#[derive(Debug, Clone)]
pub struct Dataset {
    pub shape: Shape,
    pub content: Bytes,
    /// The baskets of each cluster that are read, by offset.
    pub clusters: Vec<Vector>,
}

impl Dataset {
    /// Writes the file and finds its baskets.
    ///
    /// # Panics
    /// Inside of a runtime, and where there is no place for a temporary file.
    pub fn make(shape: Shape) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.root");
        let engine = Engine::start(Config::default()).expect("starts");
        let clusters = engine.block_on(write(&engine, path.to_str().expect("a name"), &shape));
        let content = std::fs::read(&path).expect("is there").into();
        Dataset { shape, content, clusters: clusters.expect("is written") }
    }

    /// The names of the branches that are read.
    pub fn names(&self) -> Vec<String> {
        self.shape.read.iter().map(|branch| format!("x{branch}")).collect()
    }

    /// The requests of a cache that holds so many clusters.
    pub fn fills(&self, clusters: usize) -> Vec<Vector> {
        self.clusters.chunks(clusters).map(<[Vector]>::concat).collect()
    }
}

/// The numbers below `count` in an order that looks random, the same for a seed (Knuth's shuffle
/// and his MMIX generator).
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut numbers = (0..count).collect::<Vec<usize>>();
    let mut state = seed;
    for at in (1..count).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        numbers.swap(at, (state >> 33) as usize % (at + 1));
    }
    numbers
}

/// Bytes of a vector.
pub fn bytes(vector: &Vector) -> u64 {
    vector.iter().map(|range| range.end - range.start).sum()
}

async fn write(engine: &Engine, address: &str, shape: &Shape) -> Result<Vec<Vector>> {
    let column = |(at, length): (usize, &usize)| TableColumn {
        name: format!("x{at}"),
        title: String::new(),
        entry: match length {
            1 => EntryType::Number(Number::F64),
            _ => EntryType::Regular {
                length: *length,
                content: Box::new(EntryType::Number(Number::F64)),
            },
        },
    };
    let options = TreeOptions {
        compression: Compression::NONE,
        cluster: ClusterSize::Entries(shape.entries),
        ..TreeOptions::default()
    };
    let file = engine.create(address, WriteOptions::default()).await?;
    let columns = shape.lengths.iter().enumerate().map(column).collect();
    let tree = file.make_tree("t", columns, options).await?;
    for cluster in 0..shape.clusters {
        let values = |(branch, length): (usize, &usize)| {
            let count = shape.entries as usize * length;
            let value = |at: usize| (cluster as usize * count + at) as f64 / (branch + 1) as f64;
            let numbers = Numbers::F64((0..count).map(value).collect());
            let shape = if *length == 1 { Vec::new() } else { vec![*length] };
            Arc::new(Array::Numbers { numbers, shape })
        };
        tree.extend(shape.lengths.iter().enumerate().map(values).collect()).await?;
    }
    file.finish().await?;
    let tree = engine.open_tree(address, None).await?;
    let branches = &tree.metadata().branches;
    let of_cluster = |cluster: u64| -> Vector {
        let entries = cluster * shape.entries..(cluster + 1) * shape.entries;
        let baskets = shape.read.iter().flat_map(|branch| &branches[*branch].baskets);
        let within = baskets.filter(|basket| entries.contains(&basket.entries.start));
        let mut ranges: Vector = within.filter_map(|basket| basket.place.stored()).collect();
        ranges.sort_by_key(|range| range.start);
        ranges
    };
    Ok((0..shape.clusters).map(of_cluster).collect())
}
