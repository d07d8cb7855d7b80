//! The stage of the stories: hosts with one file, and the measurements of a read.

use std::time::Duration;

use engine::{Config, Engine, Error};
use farroot_sim::bulk;
use farroot_sim::link::Link;
use farroot_sim::network::World;
use farroot_sim::xrootd_host::{self, Behaviour, Control};
use tokio::time::Instant;

pub const MB: u64 = 1_000_000;
pub const RTT: Duration = Duration::from_millis(100);
/// A read that takes longer than this has hung.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Hosts `a`, `b`, ... with the same file of this many bytes.
pub struct Stage {
    pub world: World,
    pub engine: Engine,
    pub controls: Vec<Control>,
    pub size: u64,
}

/// A link with slow start, of so many bytes per second.
pub fn link(rtt: Duration, rate: u64) -> Link {
    Link { rtt, rate: Some(rate), slow_start: true }
}

pub fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

impl Stage {
    /// One host a link.
    pub fn new(size: u64, links: &[Link]) -> Stage {
        Stage::with(size, links, Config::default())
    }

    pub fn with(size: u64, links: &[Link], config: Config) -> Stage {
        let world = World::default();
        let files = farroot_sim::one_file("/f", bulk::content(size as usize));
        let serve = |(host, link): (usize, &Link)| {
            let accepted = world.host(&name(host), 1094, *link);
            xrootd_host::serve(accepted, files.clone(), Behaviour::default())
        };
        let controls = links.iter().enumerate().map(serve).collect();
        let engine = farroot_sim::engine_with(&world, config);
        Stage { world, engine, controls, size }
    }

    /// The address that names all hosts.
    pub fn address(&self) -> String {
        let urls: Vec<String> =
            (0..self.controls.len()).map(|host| format!("root://{}:1094//f", name(host))).collect();
        urls.join("|")
    }

    /// Reads the file from all hosts, while `meanwhile` happens; how long it took.
    pub async fn read_while(&self, meanwhile: impl Future<Output = ()>) -> Result<f64, Error> {
        let begun = Instant::now();
        let address = self.address();
        let read = async {
            let read = tokio::time::timeout(TIMEOUT, bulk::read(&self.engine, &address)).await;
            (read.expect("it hangs"), begun.elapsed())
        };
        let ((read, took), ()) = futures::join!(read, meanwhile);
        assert_eq!(read?, self.size, "bytes that came");
        Ok(took.as_secs_f64())
    }

    pub async fn read(&self) -> Result<f64, Error> {
        self.read_while(std::future::ready(())).await
    }

    /// Bytes that came from each host.
    pub fn bytes(&self) -> Vec<u64> {
        let report = self.engine.report();
        let of = |host: usize| {
            let name = format!("root://{}:1094", name(host));
            report.sources.iter().find(|source| source.name == name).map_or(0, |s| s.bytes_received)
        };
        (0..self.controls.len()).map(of).collect()
    }

    /// Bytes that came beyond the file's own, of a thousand.
    pub fn extra_per_mille(&self) -> u64 {
        let received: u64 = self.bytes().iter().sum();
        received.saturating_sub(self.size) * 1000 / self.size
    }

    pub fn report(&self) -> String {
        self.engine.report().to_string()
    }
}

pub fn name(host: usize) -> String {
    char::from(b'a' + host as u8).to_string()
}
