//! One branch is read as values and as the bytes of its entries, by several readers at once.
//!
//! The way of reading was once kept in the tree: a selection of bytes changed the columns of all
//! other readers of the same tree, and a cut on such a branch decided by values or by bytes,
//! whichever had been selected last.

use farroot_engine::{
    Array, Batch, ColumnRequest, ColumnSpec, Columns, Config, Cut, Engine, Step, Table,
};

const NAME: &str = "Muon_pt";
const ENTRIES: std::ops::Range<u64> = 0..500;

fn open() -> (Engine, std::sync::Arc<dyn Table>) {
    let engine = Engine::start(Config { store_folder: None, ..Config::default() }).unwrap();
    let path = format!("{}/../../sim/testdata/small_nano.root", env!("CARGO_MANIFEST_DIR"));
    let table = engine.block_on(engine.open_table(&path, Some("Events"))).unwrap();
    (engine, table)
}

fn column(as_bytes: bool) -> ColumnRequest {
    ColumnRequest { as_bytes, ..ColumnRequest::named(NAME) }
}

fn select(table: &dyn Table, columns: &[bool]) -> Box<dyn Columns> {
    let columns = columns.iter().map(|as_bytes| column(*as_bytes)).collect();
    table.select(&ColumnSpec::Requested(columns)).unwrap()
}

/// Numbers of an entry, from its values or from its bytes.
fn entries(array: &Array) -> Vec<Vec<f32>> {
    let number = |bytes: &[u8]| f32::from_be_bytes(bytes.try_into().unwrap());
    match array.as_strings() {
        Some(texts) => texts.map(|text| text.chunks(4).map(number).collect()).collect(),
        None => {
            let lists = array.as_list().expect("lists");
            lists.slices::<f32>().expect("of numbers").map(<[f32]>::to_vec).collect()
        }
    }
}

fn is_of_bytes(array: &Array) -> bool {
    matches!(array, Array::Strings { .. })
}

#[test]
fn a_selection_leaves_the_tree_as_it_is() {
    let (engine, table) = open();
    let before = select(&*table, &[false]);
    let bytes = select(&*table, &[true]);
    let after = select(&*table, &[false]);
    assert!(bytes.requests()[0].as_bytes && !after.requests()[0].as_bytes);
    let [before, bytes, after] = [before, bytes, after]
        .map(|columns| engine.block_on(columns.read(ENTRIES)).unwrap().columns.swap_remove(0).1);
    assert!(!is_of_bytes(&before) && is_of_bytes(&bytes) && !is_of_bytes(&after));
    assert_eq!(before, after);
    assert_eq!(entries(&bytes), entries(&before));
}

#[test]
fn both_are_read_together() {
    let (engine, table) = open();
    let both = select(&*table, &[true, false]);
    let check = |columns: &[Array]| {
        assert!(is_of_bytes(&columns[0]) && !is_of_bytes(&columns[1]));
        assert_eq!(entries(&columns[0]), entries(&columns[1]));
    };
    let read = engine.block_on(both.read(ENTRIES)).unwrap();
    check(&read.columns.into_iter().map(|(_, array)| array).collect::<Vec<_>>());
    engine.block_on(async {
        let lazy = both.lazy_batches(ENTRIES, Step::Entries(200)).await.unwrap();
        let mut batches = 0;
        while let Some(entries) = lazy.next().await {
            let entries = entries.unwrap();
            let columns =
                [lazy.get(0, entries.clone()).await.unwrap(), lazy.get(1, entries).await.unwrap()];
            check(&columns);
            batches += 1;
        }
        assert_eq!(batches, 3);
    });
}

#[test]
fn a_cut_decides_by_what_it_names() {
    let (engine, table) = open();
    for as_bytes in [true, false] {
        let decide = move |batch: Batch| {
            let (_, array) = &batch.columns[0];
            assert_eq!(is_of_bytes(array), as_bytes);
            Ok(entries(array).iter().map(|numbers| numbers.len() == 2).collect())
        };
        let cut = Cut { columns: vec![column(as_bytes)], ..Cut::new([NAME], decide) };
        for shown in [true, false] {
            let columns = select(&*table, &[shown]);
            let read = engine.block_on(columns.read_where(Some(&cut), ENTRIES)).unwrap();
            let (_, array) = &read.columns[0];
            assert_eq!(is_of_bytes(array), shown);
            let numbers = entries(array);
            assert!(!numbers.is_empty() && numbers.iter().all(|numbers| numbers.len() == 2));
        }
    }
}
