//! farroot in virtual time: the production engine, simulated links and servers.
//!
//! Everything runs on one paused tokio runtime: when every task waits, the clock jumps to the
//! next timer. A read over a link of 100 ms takes a millisecond, is the same every time, and how
//! many round trips it needs is its duration divided by the round trip.

pub mod arrays;
mod bound;
pub mod bulk;
pub mod dataset;
pub mod disk;
pub mod fast_link;
pub mod guard;
pub mod http_host;
pub mod jobs;
pub mod link;
pub mod log;
pub mod near_clients;
pub mod network;
pub mod proxied_jobs;
pub mod replay;
pub mod select_host;
pub mod xrootd_host;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use remote::{Algorithm, Checksum, Hasher};

/// The files of a simulated host, by absolute path.
pub type Files = Arc<BTreeMap<String, Bytes>>;

/// One file under one path.
pub fn one_file(path: &str, content: impl Into<Bytes>) -> Files {
    Arc::new(BTreeMap::from([(path.to_owned(), content.into())]))
}

/// Runs a future in virtual time.
///
/// # Panics
/// Where the future does, and where a runtime cannot be made.
pub fn run<F: Future>(future: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(future)
}

/// An engine in a simulated world: decoding takes no time and needs no thread.
///
/// # Panics
/// Never: an engine without threads has nothing that could fail to start.
pub fn engine(world: &network::World) -> engine::Engine {
    engine_with(world, engine::Config::default())
}

/// The same, with other settings.
///
/// # Panics
/// Never, as [`engine`].
pub fn engine_with(world: &network::World, config: engine::Config) -> engine::Engine {
    let config = engine::Config { decode_threads: 0, ..config };
    engine::Engine::within(&config, Arc::new(world.clone())).expect("an engine without threads")
}

/// An engine, and 10 ms from it an XRootD server with these files, at the addresses of
/// [`numbered`].
///
/// # Panics
/// Never, as [`engine`].
pub fn engine_beside(files: &[Bytes]) -> engine::Engine {
    let world = network::World::default();
    let name = |(at, content): (usize, &Bytes)| (format!("/{at}"), content.clone());
    let files: Files = Arc::new(files.iter().enumerate().map(name).collect());
    let link = link::Link::delay(Duration::from_millis(10));
    let host = world.host("server", 1094, link);
    xrootd_host::serve(host, files, xrootd_host::Behaviour::default());
    engine(&world)
}

/// The address of a file of [`engine_beside`].
pub fn numbered(file: usize) -> String {
    format!("root://server:1094//{file}")
}

/// The checksum that sites keep of files.
pub fn adler32(content: &[u8]) -> Checksum {
    let mut hasher = Hasher::new(Algorithm::Adler32);
    hasher.update(content);
    hasher.finish()
}

/// Serial round trips: a duration in units of the round trip.
pub fn round_trips(took: Duration, rtt: Duration) -> f64 {
    took.as_secs_f64() / rtt.as_secs_f64()
}
