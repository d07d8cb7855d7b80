//! Files with many directories, objects and trees: an object costs round trips by its depth, not by
//! the number of objects.

use std::time::Duration;

use engine::object::{Opaque, Value};
use engine::{Content, Engine, File};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{http_host, one_file, round_trips, xrootd_host};

const RTT: Duration = Duration::from_millis(100);
/// Five directories with five directories each, each of which has a tree and 20 histograms.
const FILE: &[u8] = include_bytes!("../testdata/small_directories.root");
const URLS: [&str; 2] = ["root://server:1094//f.root", "http://server:80/f.root"];

/// Does something with the file over XRootD and over HTTP; the round trips that each takes.
fn over_both(work: impl AsyncFn(&Engine, &File)) -> [f64; 2] {
    URLS.map(|url| {
        farroot_sim::run(async {
            let world = World::default();
            let accepted = world.host("server", 1094, Link::delay(RTT));
            xrootd_host::serve(accepted, one_file("/f.root", FILE), Behaviour::default());
            let accepted = world.host("server", 80, Link::delay(RTT));
            http_host::serve(accepted, one_file("/f.root", FILE));
            let engine = farroot_sim::engine(&world);
            let started = tokio::time::Instant::now();
            let file = engine.open(url).await.expect("opens");
            work(&engine, &file).await;
            round_trips(started.elapsed(), RTT)
        })
    })
}

fn within(took: [f64; 2], most: [f64; 2]) {
    assert!(took[0] < most[0] + 0.01 && took[1] < most[1] + 0.01, "{took:.2?} round trips");
}

#[test]
fn all_keys_of_all_directories() {
    let took = over_both(async |_, file| {
        let keys = file.keys(true).await.expect("are listed");
        assert_eq!(keys.len(), 5 + 25 * 22);
    });
    within(took, [4.0, 5.0]);
}

#[test]
fn a_map_with_the_baskets_of_all_trees() {
    let took = over_both(async |_, file| {
        let records = file.map().await.expect("is mapped");
        assert_eq!(records.iter().filter(|record| record.class == "TBasket").count(), 25);
        assert_eq!(records.iter().filter(|record| record.class == "TH1C").count(), 500);
    });
    within(took, [5.0, 6.0]);
}

#[test]
fn a_walk_from_key_to_key() {
    let took = over_both(async |_, file| {
        let records = file.walk().await.expect("is walked");
        assert_eq!(records.iter().filter(|record| record.class == "gap").count(), 0);
    });
    within(took, [6.0, 7.0]);
}

/// All of them were read one after the other, a round trip each.
#[test]
fn all_objects_and_trees() {
    let took = over_both(async |engine, file| {
        let keys = file.keys(true).await.expect("are listed");
        let paths = keys.iter().map(|key| format!("{};{}", key.path, key.cycle)).collect();
        let mut contents = engine.contents(file, paths, Opaque::new()).await.expect("are found");
        for key in keys {
            match contents.next().await.expect("is one").expect("is read") {
                Content::Directory => assert_eq!(key.class, "TDirectory"),
                Content::Table(table) => assert_eq!(table.num_entries(), 40),
                Content::Object(objects) => {
                    let number: f64 = key.path.rsplit('_').next().unwrap().parse().unwrap();
                    let Some(Value::Numbers(bins)) = objects.root().member("fArray") else {
                        panic!("{objects:?} has no bins");
                    };
                    assert_eq!(format!("{bins:?}"), format!("I8([0, {number}, 0, 0])"));
                }
            }
        }
        assert!(contents.next().await.is_none());
    });
    within(took, [5.0, 7.0]);
}

/// A program that takes the objects of a listing one by one waited for a round trip for each of
/// 500. The bytes behind an object that follows another come with it.
#[test]
fn all_objects_one_by_one() {
    let took = over_both(async |engine, file| {
        let keys = file.keys(true).await.expect("are listed");
        let objects = keys.iter().filter(|key| key.class == "TH1C");
        for key in objects {
            let content = engine.content_in(file, &key.path, &Opaque::new()).await;
            let Ok(Content::Object(objects)) = content else { panic!("no object") };
            let number: f64 = key.path.rsplit('_').next().unwrap().parse().unwrap();
            let Some(Value::Numbers(bins)) = objects.root().member("fArray") else {
                panic!("{objects:?} has no bins");
            };
            assert_eq!(format!("{bins:?}"), format!("I8([0, {number}, 0, 0])"));
        }
    });
    within(took, [56.0, 58.0]);
}

#[test]
fn one_object() {
    let took = over_both(async |engine, file| {
        let path = "outer_3/inner_4/histogram_07";
        assert!(matches!(
            engine.content_in(file, path, &Opaque::new()).await,
            Ok(Content::Object(_))
        ));
    });
    within(took, [3.0, 6.0]);
}

/// An object that is missing, or cannot be read, does not keep the others back.
#[test]
fn an_error_is_of_its_own_path() {
    over_both(async |engine, file| {
        let paths =
            ["outer_0/nothing", "outer_0", "outer_1/inner_1/tree", "x/y", "outer_0/inner_0"];
        let mut contents = engine
            .contents(file, paths.map(String::from).to_vec(), Opaque::new())
            .await
            .expect("are found");
        let error = contents.next().await.expect("is one").err().expect("is an error");
        assert_eq!(error.kind(), engine::ErrorKind::NotInFile);
        assert!(matches!(contents.next().await, Some(Ok(Content::Directory))));
        assert!(matches!(contents.next().await, Some(Ok(Content::Table(_)))));
        assert!(matches!(contents.next().await, Some(Err(_))));
        assert!(matches!(contents.next().await, Some(Ok(Content::Directory))));
        assert!(contents.next().await.is_none());
    });
}
