//! The layout of a file: every record that its lists name.
//!
//! Keys come from the directories' key lists, baskets from the trees' own tables, pages from page
//! lists: a few round trips, however many records there are. The gaps between them are bytes that
//! none of these names (deleted records, above all).

use std::ops::Range;

use futures::future::try_join_all;
use rootfile::ntuple::{EnvelopeLink, is_class};
use rootfile::tree::BranchId;
use serde::Serialize;

use crate::read::file::File;
use crate::read::ntuple::RNTuple;
use crate::read::tree::Tree;
use remote::Result;

/// One record, or a gap between records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    pub offset: u64,
    /// Bytes in the file.
    pub stored_bytes: u64,
    /// Class of the object; `header`, `key list` and `free list` of the file; `page`, `header`,
    /// `footer` and `page list` of RNTuples; `gap` where no list names anything.
    pub class: String,
    /// Path in the file, with the branch of a basket or the field of a page.
    pub name: String,
    /// Uncompressed by stored bytes; of a basket those of its branch, where the tree says no more.
    /// `None` where no record says.
    pub compression: Option<f64>,
    /// When it was written, by its writer's clock: `2026-11-29 20:14:05`. `None` where the key has
    /// not been read, or has no time.
    pub written: Option<String>,
}

impl File {
    /// Every record that the file's lists name, and the gaps between them, by offset.
    ///
    /// # Errors
    /// Those of reading key lists; a tree or RNTuple that cannot be opened has its key alone.
    pub async fn map(&self) -> Result<Vec<Record>> {
        let directories = self.reading(|file, known| file.directories(known)).await?;
        let header = &self.format().header;
        let mut records = vec![record(0..header.begin, "header", String::new(), None)];
        if header.info_len > 0 {
            let range = header.infos_offset..header.infos_offset.saturating_add(header.info_len);
            records.push(record(range, "TList", "StreamerInfo".into(), None));
        }
        if header.free_len > 0 {
            let range = header.free_offset..header.free_offset.saturating_add(header.free_len);
            records.push(record(range, "free list", String::new(), None));
        }
        if let Ok(range) = self.reading(|file, known| file.top_record(known)).await {
            records.push(record(range, "TFile", "/".into(), None));
        }
        let mut trees = Vec::new();
        let mut ntuples = Vec::new();
        for directory in &directories.readable {
            if !directory.range.is_empty() {
                let path = format!("/{}", directory.path);
                records.push(record(directory.range.clone(), "key list", path, None));
            }
            for key in &directory.keys {
                let path = match directory.path.as_str() {
                    "" => format!("{};{}", key.name, key.cycle),
                    above => format!("{above}/{};{}", key.name, key.cycle),
                };
                if self.format().classes.streamers.inherits(&key.class, "TTree") {
                    trees.push(path.clone());
                } else if is_class(&key.class) {
                    ntuples.push(path.clone());
                }
                let content = key.record_len.saturating_sub(key.key_len);
                let range = key.offset..key.offset.saturating_add(key.record_len);
                let compression = factor(key.content_len, content);
                let record = record(range, &key.class, path, compression);
                records.push(Record { written: key.written(), ..record });
            }
        }
        let of_trees = trees.iter().map(async |path| match self.tree(path).await {
            Ok(tree) => Ok(baskets(&tree, path)),
            Err(error) => unless_lost(error),
        });
        let of_ntuples = ntuples.iter().map(async |path| match self.ntuple(path).await {
            Ok(ntuple) => pages(&ntuple, path).await.or_else(unless_lost),
            Err(error) => unless_lost(error),
        });
        records.extend(try_join_all(of_trees).await?.into_iter().flatten());
        records.extend(try_join_all(of_ntuples).await?.into_iter().flatten());
        Ok(with_gaps(records, self.size()))
    }
}

/// A corrupt or unknown object has no records of its own; a failure to fetch is an error.
fn unless_lost(error: crate::Error) -> Result<Vec<Record>> {
    use crate::ErrorKind::{Corrupt, LimitReached, Unsupported};
    match error.kind() {
        Corrupt | LimitReached | Unsupported => Ok(Vec::new()),
        _ => Err(error),
    }
}

fn baskets(tree: &Tree, path: &str) -> Vec<Record> {
    let basket = |(id, _, range): (BranchId, Range<u64>, Range<u64>)| {
        let branch = &tree.metadata().branches[id.0 as usize];
        let mean = factor(branch.total_bytes, branch.zip_bytes);
        record(range, "TBasket", format!("{path}/{}", tree.names().path(id)), mean)
    };
    tree.stored_baskets().map(basket).collect()
}

async fn pages(ntuple: &RNTuple, path: &str) -> Result<Vec<Record>> {
    let metadata = ntuple.metadata();
    let envelope = |link: &EnvelopeLink, class: &str| {
        let stored = link.range.end - link.range.start;
        record(link.range.clone(), class, path.to_owned(), factor(link.length, stored))
    };
    let mut records = vec![
        envelope(&metadata.anchor.header, "header"),
        envelope(&metadata.anchor.footer, "footer"),
    ];
    records.extend(metadata.groups.iter().map(|group| envelope(&group.page_list, "page list")));
    for cluster in ntuple.clusters(&(0..u64::MAX)).await? {
        for (number, column) in cluster.columns.iter().enumerate() {
            let Some(description) = metadata.schema.columns.get(number) else { continue };
            let name = format!("{path}/{}", ntuple.column_path(number));
            for page in &column.pages {
                let length = u64::from(page.elements) * u64::from(description.bits) / 8;
                let factor = factor(length, page.stored());
                let pieces = page.pieces();
                records.extend(
                    pieces.map(|piece| record(piece.clone(), "page", name.clone(), factor)),
                );
            }
        }
    }
    Ok(records)
}

pub(crate) fn record(
    range: Range<u64>,
    class: &str,
    name: String,
    compression: Option<f64>,
) -> Record {
    let stored_bytes = range.end.saturating_sub(range.start);
    let class = class.to_owned();
    Record { offset: range.start, stored_bytes, class, name, compression, written: None }
}

pub(crate) fn factor(content: u64, stored: u64) -> Option<f64> {
    (stored > 0).then(|| content as f64 / stored as f64)
}

/// By offset; a record that two lists name (a basket of two cycles of a tree) once.
pub(crate) fn with_gaps(mut records: Vec<Record>, size: u64) -> Vec<Record> {
    records.sort_by_key(|record| (record.offset, record.stored_bytes));
    records.dedup_by(|b, a| (a.offset, a.stored_bytes) == (b.offset, b.stored_bytes));
    let mut all = Vec::with_capacity(records.len());
    let mut end = 0;
    for each in records {
        if each.offset > end {
            all.push(record(end..each.offset.min(size), "gap", String::new(), None));
        }
        end = end.max(each.offset.saturating_add(each.stored_bytes));
        all.push(each);
    }
    if end < size {
        all.push(record(end..size, "gap", String::new(), None));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_records_and_nothing_comes_twice() {
        let record = |range: Range<u64>| record(range, "T", String::new(), None);
        let all =
            with_gaps(vec![record(50..60), record(0..20), record(50..60), record(20..30)], 70);
        let shown: Vec<_> =
            all.iter().map(|each| (each.offset, each.stored_bytes, &*each.class)).collect();
        let a = (0, 20, "T");
        let b = (20, 10, "T");
        assert_eq!(shown, [a, b, (30, 20, "gap"), (50, 10, "T"), (60, 10, "gap")]);
    }
}
