//! A Metalink names the locations, the size and the checksums of a file.

use std::time::Duration;

use bytes::Bytes;
use engine::Engine;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour};
use farroot_sim::{adler32, bulk, one_file};

use crate::world::MB;

const SIZE: usize = 40 * MB as usize;

/// The file as all have it that have the right one.
fn content() -> Bytes {
    bulk::content(SIZE)
}

/// The same size, and one other byte, which comes last.
fn another() -> Bytes {
    let mut content = content().to_vec();
    content[SIZE - 1] ^= 1;
    content.into()
}

/// Hosts `a` and `b` with these files, behind a Metalink of the right one on `m`.
fn stage(files: [Bytes; 2]) -> Engine {
    let world = World::default();
    let link = Link { rate: Some(5 * MB), ..Link::delay(Duration::from_millis(50)) };
    for (host, content) in ["a", "b"].into_iter().zip(files) {
        let accepted = world.host(host, 1094, link);
        xrootd_host::serve(accepted, one_file("/f", content), Behaviour::default());
    }
    let checksum = adler32(&content()).to_string().replace("adler32 ", "");
    let document = format!(
        "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"f\"><size>{SIZE}</size>\
         <hash type=\"adler32\">{checksum}</hash><url priority=\"2\">root://b:1094//f</url>\
         <url priority=\"1\">root://a:1094//f</url></file></metalink>"
    );
    let accepted = world.host("m", 80, link);
    farroot_sim::http_host::serve(accepted, one_file("/f.meta4", document));
    farroot_sim::engine(&world)
}

fn read(files: [Bytes; 2]) -> (Result<u64, engine::Error>, String) {
    farroot_sim::run(async {
        let engine = stage(files);
        let read = bulk::read(&engine, "http://m/f.meta4").await;
        (read, engine.report().to_string())
    })
}

#[test]
fn the_places_that_it_names_share_the_work() {
    farroot_sim::run(async {
        let engine = stage([content(), content()]);
        assert_eq!(bulk::read(&engine, "http://m/f.meta4").await.unwrap(), SIZE as u64);
        let report = engine.report();
        assert!(!report.to_string().contains("warning"), "{report}");
        let of = |name| report.sources.iter().find(|source| source.name == name);
        for name in ["root://a:1094", "root://b:1094"] {
            let bytes = of(name).map_or(0, |source| source.bytes_received);
            assert!(bytes > SIZE as u64 / 3, "{report}");
        }
    });
}

#[test]
fn one_of_another_size_is_not_used() {
    let (read, report) = read([content().slice(1..), content()]);
    assert_eq!(read.unwrap(), SIZE as u64);
    let warning = "warning: root://a:1094 is not used: it has another file under this name, of \
                   39999999 bytes";
    assert!(report.contains(warning), "{report}");
}

#[test]
fn one_of_another_checksum_is_not_used_any_more() {
    let (read, report) = read([content(), another()]);
    assert_eq!(read.unwrap(), SIZE as u64);
    let warning =
        "warning: root://b:1094 is not used: it has another file under this name, adler32";
    assert!(report.contains(warning) && report.contains("of it have been used"), "{report}");
}

#[test]
fn where_none_has_the_file_the_error_names_them_all() {
    let (read, report) = read([content().slice(1..), content().slice(2..)]);
    let error = read.unwrap_err().to_string();
    assert!(
        error.contains("root://a:1094") && error.contains("root://b:1094"),
        "{error}\n{report}"
    );
}
