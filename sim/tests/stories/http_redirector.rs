//! A redirector of the web, and web servers that name other places of a file.

use std::time::Duration;

use engine::{Config, Engine};
use farroot_sim::http_host::{self, Control, Refusal};
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour};
use farroot_sim::{adler32, bulk, one_file};
use hyper::header::{HeaderName, LINK, LOCATION};
use tokio::time::Instant;

use crate::world::{MB, RTT, link, seconds};

/// Where the redirector is.
const MANAGER: &str = "http://manager/f";

/// Web servers `a`, `b`, ... with these links, all of which have the file, and a redirector.
struct Federation {
    world: World,
    engine: Engine,
    servers: Vec<Control>,
    manager: Control,
    size: u64,
}

fn answer(status: u16, headers: &[(HeaderName, &str)]) -> Refusal {
    let headers = headers.iter().map(|(name, value)| (name.clone(), (*value).to_owned()));
    Refusal { status, headers: headers.collect() }
}

fn sent_to(place: &str) -> Refusal {
    answer(302, &[(LOCATION, place)])
}

impl Federation {
    fn new(size: u64, links: &[Link]) -> Federation {
        let world = World::default();
        let content = bulk::content(size as usize);
        let files = one_file("/f", content.clone());
        let names: Vec<String> = (0..links.len()).map(crate::world::name).collect();
        let serve = |(name, link): (&String, &Link)| {
            http_host::serve(world.host(name, 80, *link), files.clone())
        };
        let servers = names.iter().zip(links).map(serve).collect();
        let manager = http_host::serve(world.host("manager", 80, Link::delay(RTT)), files);
        let engine = farroot_sim::engine_with(&world, Config::default());
        Federation { world, engine, servers, manager, size }
    }

    /// The redirector's answer from now on, by the servers that the request names as tried.
    fn sends(&self, to: impl Fn(&str) -> Refusal + Send + 'static) {
        self.manager.lock().says(move |uri| Some(to(uri.query().unwrap_or_default())));
    }

    /// As XRootD's redirector does: to the first server that has not been tried.
    fn knows_what_was_tried(&self) {
        let names: Vec<String> = (0..self.servers.len()).map(crate::world::name).collect();
        self.sends(move |query| {
            let tried = query.split('&').find_map(|part| part.strip_prefix("tried="));
            let tried: Vec<&str> = tried.unwrap_or_default().split(',').collect();
            match names.iter().find(|name| !tried.contains(&name.as_str())) {
                Some(name) => sent_to(&format!("http://{name}/f?{query}")),
                None => answer(404, &[]),
            }
        });
    }

    /// Reads it all while something happens; how long it took.
    async fn read_while(&self, meanwhile: impl Future<Output = ()>) -> f64 {
        let begun = Instant::now();
        let read = async {
            let read = bulk::read(&self.engine, MANAGER);
            let read = tokio::time::timeout(seconds(600.0), read).await.expect("it hangs");
            (read, begun.elapsed().as_secs_f64())
        };
        let ((read, took), ()) = futures::join!(read, meanwhile);
        assert_eq!(read.unwrap_or_else(|error| panic!("{error}\n{}", self.report())), self.size);
        took
    }

    async fn read(&self) -> f64 {
        self.read_while(std::future::ready(())).await
    }

    fn report(&self) -> String {
        self.engine.report().to_string()
    }
}

#[test]
fn a_redirector_that_knows_what_was_tried_names_a_second_server() {
    let report = farroot_sim::run(async {
        let federation = Federation::new(60 * MB, &[link(RTT, 5 * MB), link(RTT, 20 * MB)]);
        federation.knows_what_was_tried();
        let took = federation.read().await;
        // The first alone would take 12 s.
        assert!(took < 5.0, "{took:.2} s\n{}", federation.report());
        federation.report()
    });
    assert!(report.contains("also at http://b/f, says http://manager/f"), "{report}");
}

#[test]
fn a_dying_server_is_replaced_by_asking_the_redirector_again() {
    for dead_from in [0.0, 0.9] {
        farroot_sim::run(async {
            // Too early for the second one to have been found already.
            let federation = Federation::new(40 * MB, &[link(RTT, 20 * MB); 2]);
            federation.knows_what_was_tried();
            let kill = async {
                tokio::time::sleep(seconds(dead_from)).await;
                federation.world.kill("a", 80);
            };
            let took = federation.read_while(kill).await;
            assert!(took < 5.5, "{took:.2} s\n{}", federation.report());
        });
    }
}

#[test]
fn a_redirector_that_does_not_know_what_was_tried_may_name_another() {
    farroot_sim::run(async {
        // It has noticed by itself.
        let federation = Federation::new(40 * MB, &[link(RTT, 20 * MB); 2]);
        federation.sends(|_| sent_to("http://a/f"));
        let kill = async {
            tokio::time::sleep(seconds(0.9)).await;
            federation.world.kill("a", 80);
            federation.sends(|_| sent_to("http://b/f"));
        };
        let took = federation.read_while(kill).await;
        assert!(took < 5.5, "{took:.2} s\n{}", federation.report());
    });
}

/// dCache's doors, and all that sign addresses, send to one that is good for a while.
#[test]
fn an_address_that_has_expired_is_asked_for_anew() {
    for status in [401, 403, 404, 410] {
        let report = farroot_sim::run(async {
            let federation = Federation::new(40 * MB, &[link(RTT, 20 * MB)]);
            federation.sends(|_| sent_to("http://a/f?ticket=1"));
            let expire = async {
                tokio::time::sleep(seconds(0.9)).await;
                federation.servers[0].lock().says(move |uri| {
                    (uri.query() != Some("ticket=2")).then(|| answer(status, &[]))
                });
                federation.sends(|_| sent_to("http://a/f?ticket=2"));
            };
            let took = federation.read_while(expire).await;
            assert!(took < 5.0, "{took:.2} s after {status}\n{}", federation.report());
            federation.report()
        });
        // The ticket itself opens the file, and is not shown.
        assert!(report.contains("redirected to http://a/f?ticket=..."), "{report}");
        assert!(report.contains("http://manager/f is asked once more"), "{report}");
    }
}

#[test]
fn a_no_that_the_redirector_cannot_help_is_an_error_soon() {
    farroot_sim::run(async {
        let federation = Federation::new(MB, &[link(RTT, 20 * MB)]);
        federation.sends(|_| sent_to("http://a/f"));
        federation.servers[0].lock().says(|_| Some(answer(403, &[])));
        let begun = Instant::now();
        let error = bulk::read(&federation.engine, MANAGER).await.unwrap_err();
        assert_eq!(error.kind(), engine::ErrorKind::PermissionDenied, "{error}");
        assert!(begun.elapsed() < seconds(4.0), "{:?}", begun.elapsed());
    });
}

#[test]
fn places_that_a_server_names_join_the_read() {
    let link_header = "<root://x:1094//f>; rel=duplicate; pri=2, <file:///f>; rel=duplicate; pri=1";
    let report = farroot_sim::run(async {
        let federation = Federation::new(60 * MB, &[link(RTT, 5 * MB)]);
        let accepted = federation.world.host("x", 1094, link(RTT, 20 * MB));
        let files = one_file("/f", bulk::content(60 * MB as usize));
        xrootd_host::serve(accepted, files, Behaviour::default());
        // The manager has the file itself here, at 5 MB/s, and names another place.
        federation.world.change("manager", 80, |line| line.link = link(RTT, 5 * MB));
        federation.manager.lock().headers = vec![(LINK, link_header.to_owned())];
        let took = federation.read().await;
        assert!(took < 5.0, "{took:.2} s\n{}", federation.report());
        federation.report()
    });
    assert!(report.contains("also at root://x:1094//f, says http://manager/f"), "{report}");
    assert!(!report.contains("file://"), "{report}");
}

#[test]
fn a_metalink_that_a_server_names_is_followed() {
    // Long enough for checksums to be compared meanwhile; 20 s from the first alone.
    const SIZE: u64 = 100 * MB;
    let link_header = "</f.meta4>; rel=describedby; type=\"application/metalink4+xml\"";
    let content = bulk::content(SIZE as usize);
    let document = |checksum: &str| {
        format!(
            "<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"f\">\
             <size>{}</size><hash type=\"adler32\">{checksum}</hash>\
             <url>http://a/f</url></file></metalink>",
            SIZE
        )
    };
    let right = adler32(&content).to_string().replace("adler32 ", "");
    for (checksum, is_right) in [(&*right, true), ("00000001", false)] {
        let report = farroot_sim::run(async {
            let federation = Federation::new(SIZE, &[link(RTT, 20 * MB)]);
            let files = [("/f".to_owned(), content.clone())];
            let files = files.into_iter().chain([("/f.meta4".into(), document(checksum).into())]);
            let accepted = federation.world.host("manager", 80, link(RTT, 5 * MB));
            let web = http_host::serve(accepted, std::sync::Arc::new(files.collect()));
            web.lock().headers = vec![(LINK, link_header.to_owned())];
            if is_right {
                let took = federation.read().await;
                assert!(took < 8.0, "{took:.2} s\n{}", federation.report());
            } else {
                // No server has the file that the Metalink describes.
                let read = bulk::read(&federation.engine, MANAGER).await;
                assert_eq!(read.unwrap_err().kind(), engine::ErrorKind::Corrupt);
            }
            federation.report()
        });
        assert!(report.contains("also at http://a/f"), "{report}");
    }
}

#[test]
fn a_checksum_told_unasked_counts() {
    let digest = HeaderName::from_static("digest");
    farroot_sim::run(async {
        let federation = Federation::new(20 * MB, &[link(RTT, 20 * MB)]);
        federation.servers[0].lock().headers = vec![(digest, "adler32=00000001".to_owned())];
        let right = adler32(&bulk::content(20 * MB as usize)).to_string().replace(' ', "=");
        let to_a = [(LOCATION, "http://a/f"), (HeaderName::from_static("digest"), &*right)];
        let to_a = answer(307, &to_a);
        federation.sends(move |_| to_a.clone());
        let error = bulk::read(&federation.engine, MANAGER).await.unwrap_err();
        assert_eq!(error.kind(), engine::ErrorKind::Corrupt, "{error}");
    });
}

#[test]
fn a_short_read_asks_nobody_twice() {
    farroot_sim::run(async {
        let federation = Federation::new(20_000, &[link(RTT, 20 * MB); 2]);
        federation.knows_what_was_tried();
        federation.read().await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(federation.world.connections("b", 80), 0);
        assert!(federation.world.connections("manager", 80) <= 17);
    });
}
