//! A file is replaced while it is read. Sessions that opened later than the first did not look at
//! the answers to their own opens: old and new bytes were joined, and the read succeeded.

use std::time::Duration;

use bytes::Bytes;
use engine::{Config, Engine, Error, ErrorKind};
use farroot_sim::network::World;
use farroot_sim::xrootd_host::Behaviour;
use farroot_sim::{Files, bulk, http_host, one_file};
use hyper::header::{ETAG, LAST_MODIFIED};

use crate::world::{MB, RTT, Stage, link, seconds};

const SIZE: u64 = 30 * MB;

/// Another file, of which every byte is another one.
fn other(size: u64) -> Files {
    let content: Vec<u8> = bulk::content(size as usize).iter().map(|byte| byte ^ 0xFF).collect();
    one_file("/f", Bytes::from(content))
}

/// Reads from so many XRootD servers, the first of which is restarted in mid-read and does then as
/// `change` says; with so many sessions to a server.
fn read_restarted(
    hosts: usize,
    sessions: u32,
    change: impl Fn(&mut Behaviour),
) -> (Result<f64, Error>, String) {
    farroot_sim::run(async {
        let config = Config {
            connections_initial: sessions,
            connections_max: sessions,
            ..Config::default()
        };
        let stage = Stage::with(SIZE, &vec![link(RTT, 10 * MB); hosts], config);
        let restart = async {
            tokio::time::sleep(seconds(1.0)).await;
            stage.world.kill("a", 1094);
            change(&mut stage.controls[0].lock());
            tokio::time::sleep(seconds(1.0)).await;
            stage.world.restart("a", 1094);
        };
        (stage.read_while(restart).await, stage.report())
    })
}

fn has_changed(read: Result<f64, Error>) -> String {
    let error = read.expect_err("bytes of two files were joined");
    assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
    assert!(error.message().contains("the file has changed while it was read"), "{error}");
    assert!(!error.is_retryable(), "{error}");
    error.to_string()
}

#[test]
fn sessions_that_open_later_see_that_it_is_another_file() {
    for sessions in [1, 2, 16] {
        for size in [SIZE, SIZE - 1, SIZE + 1] {
            let error = has_changed(
                read_restarted(1, sessions, |server| {
                    server.replaced_by = Some(other(size));
                    server.says.modified = Some(1_700_000_060);
                })
                .0,
            );
            let was = format!("had {SIZE} bytes, modified Tue, 14 Nov 2023 22:13:20 GMT");
            let is = format!("now has {size} bytes, modified Tue, 14 Nov 2023 22:14:20 GMT");
            assert!(error.contains(&was) && error.contains(&is), "{error}");
            assert!(error.contains("open it again"), "{error}");
        }
    }
}

#[test]
fn another_id_alone_tells_it_too() {
    let error = has_changed(
        read_restarted(1, 2, |server| {
            server.replaced_by = Some(other(SIZE));
            server.says.id = Some("2".into());
        })
        .0,
    );
    assert!(error.contains("version 1") && error.contains("version 2"), "{error}");
}

/// Servers of version 3, and proxies, may answer an open with a handle and nothing else.
#[test]
fn where_opens_say_nothing_of_the_file_it_is_asked_for() {
    let without = |server: &mut Behaviour| {
        server.opens_without_stat = true;
        server.replaced_by = Some(other(SIZE));
        server.says.modified = Some(1_700_000_060);
    };
    has_changed(read_restarted(1, 2, without).0);
    let same = read_restarted(1, 2, |server| server.opens_without_stat = true).0;
    assert!(same.is_ok(), "{same:?}");
}

#[test]
fn the_others_have_the_file_still() {
    let (read, report) = read_restarted(2, 4, |server| {
        server.replaced_by = Some(other(SIZE));
        server.says.modified = Some(1_700_000_060);
    });
    assert!(read.is_ok(), "{read:?}\n{report}");
    let warning = "warning: root://a:1094 is not used: the file has changed";
    assert!(report.contains(warning), "{report}");
}

/// Sessions that are open keep their handles, and read the bytes of now.
#[test]
fn a_file_that_is_written_over_while_it_is_open_is_noticed() {
    for knows_no_handles in [false, true] {
        let (read, report) = farroot_sim::run(async {
            let config = Config { connections_initial: 2, connections_max: 2, ..Config::default() };
            let stage = Stage::with(SIZE, &[link(RTT, 10 * MB)], config);
            stage.controls[0].lock().knows_no_handles = knows_no_handles;
            let file = stage.engine.remote().open_bytes("root://a:1094//f").await.expect("opens");
            let half = SIZE / 2;
            let content = bulk::content(SIZE as usize);
            let come = file.fetch(&[0..half]).await.expect("reads");
            assert!(come[0].1 == content[..half as usize]);
            tokio::time::sleep(seconds(5.0)).await;
            if !knows_no_handles {
                let mut server = stage.controls[0].lock();
                server.replaced_by = Some(other(SIZE));
                server.overwritten = true;
                server.says.modified = Some(1_700_000_060);
            }
            (file.fetch(&[half..SIZE]).await, stage.report())
        });
        match knows_no_handles {
            // A server that cannot report it is trusted.
            true => drop(read.expect("reads")),
            false => drop(has_changed(read.map(|_| 0.0))),
        }
        assert!(!report.contains("warning") || !knows_no_handles, "{report}");
    }
}

/// Copies of a file have times and ids of their own.
#[test]
fn another_time_at_another_server_is_no_other_file() {
    let report = farroot_sim::run(async {
        let stage = Stage::new(SIZE, &[link(RTT, 10 * MB); 2]);
        stage.controls[1].lock().says.modified = Some(1_600_000_000);
        stage.controls[1].lock().says.id = Some("77".into());
        stage.read().await.expect("reads");
        assert!(stage.bytes()[1] > SIZE / 4, "{}", stage.report());
        stage.report()
    });
    assert!(!report.contains("warning"), "{report}");
}

/// A server that is emptied sends those that come back to another one, whose copy is older.
#[test]
fn a_server_that_sends_on_in_mid_read_sends_to_a_replica() {
    for (size, is_same) in [(SIZE, true), (SIZE - 1, false)] {
        let (read, report) = farroot_sim::run(async {
            let stage = Stage::new(SIZE, &[link(RTT, 10 * MB); 2]);
            stage.controls[1].lock().says.modified = Some(1_600_000_000);
            if !is_same {
                stage.controls[1].lock().replaced_by = Some(other(size));
            }
            let sends_on = async {
                tokio::time::sleep(seconds(1.0)).await;
                stage.controls[0].lock().redirects_to = vec![("b".into(), 1094)];
                stage.world.kill("a", 1094);
                stage.world.restart("a", 1094);
            };
            let reading = bulk::read(&stage.engine, "root://a:1094//f");
            let (read, ()) = futures::join!(reading, sends_on);
            (read, stage.report())
        });
        match read {
            Ok(bytes) => assert!(is_same && bytes == SIZE, "{report}"),
            Err(error) => {
                assert!(!is_same, "{error}\n{report}");
                assert!(error.message().contains("another file under this name"), "{error}");
            }
        }
    }
}

struct Web {
    engine: Engine,
    control: http_host::Control,
}

fn web() -> Web {
    let world = World::default();
    let accepted = world.host("a", 80, link(RTT, 10 * MB));
    let control = http_host::serve(accepted, one_file("/f", bulk::content(SIZE as usize)));
    Web { engine: farroot_sim::engine(&world), control }
}

/// Reads from a web server that does otherwise from the second second on.
fn read_web(
    begins: impl Fn(&mut http_host::HttpBehaviour),
    change: impl Fn(&mut http_host::HttpBehaviour),
) -> Result<u64, Error> {
    farroot_sim::run(async {
        let web = web();
        begins(&mut web.control.lock());
        let changes = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            change(&mut web.control.lock());
        };
        futures::join!(bulk::read(&web.engine, "http://a/f"), changes).0
    })
}

fn tag(server: &mut http_host::HttpBehaviour, tag: &str) {
    server.headers = vec![(ETAG, tag.to_owned())];
}

#[test]
fn over_http_an_entity_tag_that_is_another_or_is_gone_tells_it() {
    let replaced = |server: &mut http_host::HttpBehaviour| server.replaced_by = Some(other(SIZE));
    for after in [Some("\"v2\""), Some("W/\"v1\""), None] {
        let error = read_web(
            |server| tag(server, "\"v1\""),
            |server| {
                replaced(server);
                match after {
                    Some(after) => tag(server, after),
                    None => server.headers.clear(),
                }
            },
        );
        let error = has_changed(error.map(|_| 0.0));
        assert!(error.contains("version \"v1\""), "{error}");
    }
    // Nothing of the file has changed but the time that its server says.
    let read = read_web(
        |server| tag(server, "\"v1\""),
        |server| {
            server.headers.push((LAST_MODIFIED, "Tue, 14 Nov 2023 22:14:20 GMT".into()));
        },
    );
    assert_eq!(read.expect("reads"), SIZE);
}

#[test]
fn over_http_another_time_or_size_tells_it() {
    for size in [SIZE, SIZE - 1] {
        let error = read_web(
            |_| {},
            |server| {
                server.replaced_by = Some(other(size));
                server.headers = vec![(LAST_MODIFIED, "Tue, 14 Nov 2023 22:14:20 GMT".into())];
            },
        );
        let error = has_changed(error.map(|_| 0.0));
        assert!(error.contains(&format!("now has {size} bytes")), "{error}");
    }
    let error = read_web(
        |_| {},
        |server| {
            server.replaced_by = Some(other(SIZE));
            server.without = vec![LAST_MODIFIED];
        },
    );
    has_changed(error.map(|_| 0.0));
}
