//! Files that a crash leaves behind.

use rootfile::write::check;
use rootfile::write::tree::ClusterSize;

use super::*;

fn tree_columns() -> Vec<TableColumn> {
    let entry = EntryType::Number(Number::F64);
    let column = |name: &str| TableColumn {
        name: name.to_owned(),
        title: String::new(),
        entry: entry.clone(),
    };
    ["x", "y", "z"].map(column).to_vec()
}

async fn write_tree(file: &FileOutput) -> Result<()> {
    let cluster = ClusterSize::Entries(300);
    let options = TreeOptions { cluster, ..TreeOptions::default() };
    let tree = file.make_tree("d/events", tree_columns(), options).await?;
    add(&tree, 0..3000, 700).await
}

fn options() -> WriteOptions {
    WriteOptions::default().checkpoint(15_000)
}

/// Entries of the tree; `None` of a file that has none yet.
fn entries(bytes: &[u8]) -> Option<u64> {
    let known = known(bytes);
    let Ok(Progress::Ready(file)) = rootfile::File::open(&known) else { return None };
    match file.tree(&known, "d/events") {
        Ok(Progress::Ready(tree)) => Some(tree.entries),
        _ => None,
    }
}

/// Each write fails in turn. The synced bytes, also with a later write before earlier ones, have
/// all entries of the last checkpoint.
#[tokio::test]
async fn a_crash_leaves_what_the_last_checkpoint_had() {
    let write = async |place: Place| {
        let seen = place.seen.clone();
        let file = begin(place, 2, options());
        let early = write_tree(&file).await;
        let result = file.finish().await;
        let seen = std::mem::take(&mut *seen.lock());
        (seen, early.and(result.map(drop)))
    };
    let (whole, result) = write(Place::default()).await;
    result.unwrap();
    assert_eq!(entries(&whole.bytes), Some(3000));
    assert_eq!(check::check(&whole.bytes.into()), []);
    let mut counts = Vec::new();
    for fails_at in 0..whole.calls {
        let (seen, result) = write(Place::failing(fails_at)).await;
        assert!(result.is_err(), "{fails_at}");
        let safe = entries(&seen.safe);
        counts.extend(safe);
        for torn in seen.unsafe_write.into_iter().filter(|_| safe.is_some()) {
            let (mut bytes, (start, part)) = (seen.safe.clone(), torn);
            bytes.resize(bytes.len().max(start + part.len()), 0);
            bytes[start..start + part.len()].copy_from_slice(&part);
            assert!(entries(&bytes) >= safe, "{fails_at}: {safe:?}, then {start}");
        }
        assert!(entries(&seen.bytes) >= safe, "{fails_at}");
    }
    assert!(counts.is_sorted(), "{counts:?}");
    counts.dedup();
    assert!(counts.len() > 2 && counts[0] < 1500, "{counts:?}");
}

#[test]
fn a_file_on_a_disk_has_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::start(Config::default()).unwrap();
    let path = folder.path().join("f.root").to_string_lossy().into_owned();
    engine.block_on(async {
        let file = engine.create(&path, options().reproducible(true)).await.unwrap();
        write_tree(&file).await.unwrap();
        file.finish().await.unwrap();
        assert_eq!(engine.check(&path).await.unwrap(), []);
        let tree = engine.open_tree(&path, Some("d/events")).await.unwrap();
        assert_eq!(tree.num_entries(), 3000);
    });
}
