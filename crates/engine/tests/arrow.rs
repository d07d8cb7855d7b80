//! Columns as record batches, and through the C stream interface.
#![cfg(feature = "arrow")]

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{Float32Type, Int32Type};
use arrow_array::{Array as _, RecordBatch, RecordBatchReader};
use farroot_engine::{ArrowReader, ColumnSpec, Columns, Config, Cut, Engine, Step};

fn opened(name: &str) -> (Engine, Box<dyn Columns>) {
    let config = Config { store_folder: None, ..Config::default() };
    let engine = Engine::start(config).expect("an engine");
    let path = format!("{}/../rootfile/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    let table = engine.block_on(engine.open_table(&path, Some("events"))).expect("a table");
    let columns = ["i32", "numbers", "maybe", "text", "hits"].map(String::from).to_vec();
    let columns = table.select(&ColumnSpec::Named(columns)).expect("columns");
    (engine, columns)
}

fn numbers(batches: &[RecordBatch]) -> Vec<i32> {
    let columns = batches.iter().map(|batch| batch.column(0).as_primitive::<Int32Type>());
    columns.flat_map(|column| column.values().to_vec()).collect()
}

fn i32_of(entry: i32) -> i32 {
    10_000_019 * (entry - 100)
}

#[test]
fn batches_have_the_types_that_are_announced() {
    let (engine, columns) = opened("ntuple_fields.root");
    let reader =
        ArrowReader::start(&engine, &*columns, 10..190, Step::Entries(33), None).expect("reads");
    let schema = reader.schema();
    assert_eq!(schema, columns.arrow_schema().expect("types"));
    let nullable: Vec<bool> = schema.fields().iter().map(|field| field.is_nullable()).collect();
    assert_eq!(nullable, [false, false, true, false, false]);
    let batches: Vec<RecordBatch> = reader.map(|batch| batch.expect("reads")).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>()[..2], [33, 33]);
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    assert_eq!(numbers(&batches), (10..190).map(i32_of).collect::<Vec<_>>());
    let maybe = batches[0].column(2).as_primitive::<Float32Type>();
    let expected: Vec<Option<f32>> = (10..43).map(|n| (n % 3 != 0).then_some(n as f32)).collect();
    assert_eq!(maybe.iter().collect::<Vec<_>>(), expected);
    let hits = batches[0].column(4).as_list::<i64>();
    let second = hits.value(1);
    assert_eq!(second.as_struct().column(0).as_primitive::<Float32Type>().values(), &[11.5; 3]);
}

#[test]
fn a_stream_goes_through_the_c_interface() {
    let (engine, columns) = opened("ntuple_fields.root");
    let cut = Cut::parse("i32 > 0").expect("a cut");
    let reader: ArrowReader =
        ArrowReader::start(&engine, &*columns, 0..u64::MAX, Step::Entries(50), Some(&cut))
            .expect("reads");
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    let taken = RecordBatchStreamReader::try_new(stream).expect("a stream");
    let batches: Vec<RecordBatch> = taken.map(|batch| batch.expect("reads")).collect();
    assert_eq!(numbers(&batches), (101..200).map(i32_of).collect::<Vec<_>>());
    let texts = batches.iter().map(|batch| batch.column(3).as_string::<i64>().len());
    assert_eq!(texts.sum::<usize>(), 99);
}

#[test]
fn nothing_has_its_types() {
    let (engine, columns) = opened("ntuple_fields.root");
    let reader = ArrowReader::start(&engine, &*columns, 5..5, Step::Whole, None).expect("reads");
    assert_eq!(reader.schema().fields().len(), 5);
    assert_eq!(reader.map(|batch| batch.expect("reads").num_rows()).sum::<usize>(), 0);
}
