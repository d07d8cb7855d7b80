//! Random fault schedules: every read ends with the right bytes or one clear error, within a
//! bounded time, and the memory budget holds.
//!
//! A thousand are run; `FARROOT_FAULTS=10000` runs more, `FARROOT_FAULT_SEED=77` that one alone.

use std::time::Duration;

use engine::Config;
use farroot_sim::xrootd_host::Behaviour;
use xrootd::error::ErrorCode;

use crate::world::{MB, Stage, link, name, seconds};

/// A read that takes longer than this in virtual time does not end.
const BOUND: f64 = 400.0;
const MEMORY: u64 = 4 << 20;

/// Splitmix64 (Steele, Lea and Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// One thing goes wrong at one host, and right again.
async fn fault(stage: &Stage, mut chance: Chance) {
    tokio::time::sleep(Duration::from_millis(chance.below(4_000))).await;
    let host = chance.below(stage.controls.len() as u64) as usize;
    let at = name(host);
    let time = seconds(chance.below(12_000) as f64 / 1000.0);
    let control = &stage.controls[host];
    let behave = |change: &dyn Fn(&mut Behaviour)| change(&mut control.lock());
    match chance.below(11) {
        0 => {
            stage.world.kill(&at, 1094);
            tokio::time::sleep(time).await;
            stage.world.restart(&at, 1094);
        }
        1 => stage.world.cut(&at, 1094, time),
        2 => {
            let slow = 1 + chance.below(100);
            stage.world.change(&at, 1094, |line| {
                line.link.rate = line.link.rate.map(|rate| rate / slow);
            });
        }
        3 => {
            let lost = chance.below(300);
            let seed = chance.next();
            stage.world.change(&at, 1094, |line| {
                (line.lost_per_mille, line.chance) = (lost, seed);
            });
            tokio::time::sleep(time).await;
            stage.world.change(&at, 1094, |line| line.lost_per_mille = 0);
        }
        kind => {
            let bytes = 1 + chance.below(5_000) as usize;
            let code = 3000 + chance.below(36) as u32;
            match kind {
                4 => behave(&|server| server.stopped = true),
                5 => behave(&|server| server.fails_reads = Some(ErrorCode(code))),
                6 => behave(&|server| server.shortens_reads = bytes),
                7 => behave(&|server| server.lengthens_reads = bytes),
                8 => behave(&|server| server.mixes_up_requests = true),
                9 => behave(&|server| server.waits = Some(time)),
                _ => behave(&|server| server.hangs_after_reads = Some(bytes as u32 % 30)),
            }
            tokio::time::sleep(time).await;
            *control.lock() = Behaviour::default();
        }
    }
}

/// Whether the read came to its end, and how long it took.
fn story(seed: u64) -> (bool, f64) {
    let mut chance = Chance(seed);
    farroot_sim::run(async {
        let hosts = 1 + chance.below(3);
        let links: Vec<_> = (0..hosts)
            .map(|_| {
                link(seconds(0.005 + chance.below(200) as f64 / 1e3), MB / 8 + chance.below(2 * MB))
            })
            .collect();
        let config = Config { memory_bytes_max: MEMORY, ..Config::default() };
        let stage = Stage::with(200_000 + chance.below(800_000), &links, config);
        let faults = (0..1 + chance.below(5)).map(|_| fault(&stage, Chance(chance.next())));
        let faults: Vec<_> = faults.collect();
        let begun = tokio::time::Instant::now();
        let address = stage.address();
        let read = farroot_sim::bulk::read(&stage.engine, &address);
        let all = futures::future::join_all(faults);
        let ends = async {
            let read = tokio::time::timeout(seconds(BOUND), read).await;
            read.map_err(|_| "it hangs")
        };
        tokio::pin!(ends, all);
        let read = tokio::select! {
            read = &mut ends => read,
            _ = &mut all => ends.await,
        };
        let took = begun.elapsed().as_secs_f64();
        match read.unwrap_or_else(|hangs| panic!("seed {seed}: {hangs}\n{}", stage.report())) {
            Ok(bytes) => assert_eq!(bytes, stage.size, "seed {seed}"),
            Err(error) => assert!(error.to_string().contains("root://"), "seed {seed}: {error}"),
        }
        (true, took)
    })
}

#[test]
fn every_read_ends_with_right_bytes_or_one_clear_error() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("FARROOT_FAULT_SEED") {
        story(seed);
        return;
    }
    for seed in 0..number("FARROOT_FAULTS").unwrap_or(1000) {
        story(seed);
    }
}
