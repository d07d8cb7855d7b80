//! Clients that read a few entries of a file: here, selected by its server, or where that is
//! expected to take less time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::{Batch, ColumnSpec, Config, Cut, Engine, Step, Table};
use futures::future::join_all;
use remote::Near;
use tokio::time::Instant;

use crate::link::Link;
use crate::network::World;
use crate::select_host::{self, Processors};
use crate::{engine_with, one_file};

const HOST: (&str, u16) = ("server", 80);
const URL: &str = "http://server/events.root";

/// A server that selects entries of one file, and the link to it.
#[derive(Debug, Clone)]
pub struct NearBed {
    pub file: Bytes,
    pub link: Link,
    pub cores: usize,
    /// Processor time of a request.
    pub work: Duration,
}

/// A read.
#[derive(Debug, Clone, Copy)]
pub struct NearRead<'a> {
    pub tree: &'a str,
    pub columns: &'a [&'a str],
    /// A formula.
    pub cut: &'a str,
}

impl NearBed {
    /// The server, to which any number of engines may connect. Needs a runtime.
    pub fn world(&self) -> World {
        let world = World::default();
        let accepted = world.host(HOST.0, HOST.1, self.link);
        let processors = Processors::new(self.cores, self.work);
        select_host::serve(accepted, one_file("/events.root", self.file.clone()), processors);
        world
    }

    /// The mean time of a read, where so many clients read one time after the other, after a first
    /// read by each.
    ///
    /// # Panics
    /// Where a read fails.
    pub fn mean_time(
        &self,
        read: NearRead<'_>,
        near: &Near,
        clients: usize,
        times: u32,
    ) -> Duration {
        crate::run(async {
            let world = self.world();
            let clients = (0..clients).map(async |_| {
                let engine = engine(&world, near);
                read.run(&engine).await;
                let begun = Instant::now();
                for _ in 0..times {
                    read.run(&engine).await;
                }
                begun.elapsed() / times
            });
            let times = join_all(clients).await;
            let count = u32::try_from(times.len()).expect("a number of clients");
            times.iter().sum::<Duration>() / count
        })
    }
}

/// An engine that selects so.
pub fn engine(world: &World, near: &Near) -> Engine {
    engine_with(world, Config { near: near.clone(), ..Config::default() })
}

impl NearRead<'_> {
    /// Opens the file, and reads the columns of the entries that the cut leaves, in one batch; also
    /// returns the time that it took.
    ///
    /// # Panics
    /// Where that fails.
    pub async fn run(&self, engine: &Engine) -> (Duration, Batch) {
        self.run_at(engine, URL).await
    }

    /// As [`NearRead::run`], of a call that says where entries are selected: `on`, `off` or `auto`.
    ///
    /// # Panics
    /// As there.
    pub async fn run_by_call(&self, engine: &Engine, near: &str) -> (Duration, Batch) {
        self.run_at(engine, &format!("{URL}?farroot.near={near}")).await
    }

    async fn run_at(&self, engine: &Engine, url: &str) -> (Duration, Batch) {
        let begun = Instant::now();
        let tree = engine.open_tree(url, Some(self.tree)).await.expect("opens");
        let entries = tree.num_entries();
        let tree: Arc<dyn Table> = Arc::new(tree);
        let names = self.columns.iter().map(|name| (*name).to_owned()).collect();
        let columns = tree.select(&ColumnSpec::Named(names)).expect("are there");
        let cut = Cut::parse(self.cut).expect("a cut");
        let mut batches =
            columns.batches(0..entries, Step::Whole, Some(&cut)).await.expect("plans");
        let batch = batches.next().await.expect("one").expect("reads");
        (begun.elapsed(), batch)
    }
}
