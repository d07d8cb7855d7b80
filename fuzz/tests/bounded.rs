//! Each target for a second or two, with the same inputs every time.
//!
//! An input that once failed is kept in `fuzz/found/TARGET/` and tried first.
//! `FARROOT_FUZZ_ROUNDS=100` tries a hundred times as many.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use farroot_fuzz::memory::{Counting, peak_of};
use farroot_fuzz::mutate::{Chance, mutated};
use farroot_fuzz::{TARGETS, Target};

#[global_allocator]
static COUNTING: Counting = Counting;

fn run(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    for input in found(name).into_iter().chain((target.seeds)()) {
        check(target, &input);
    }
    let factor: u64 =
        std::env::var("FARROOT_FUZZ_ROUNDS").map_or(1, |text| text.parse().expect("a number"));
    let seeds = (target.seeds)();
    for round in 0..target.rounds * factor {
        let mut chance = Chance::new(round);
        let seed = &seeds[chance.below(seeds.len())];
        check(target, &mutated(seed, &mut chance));
    }
}

fn found(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("found").join(name);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a kept input")).collect()
}

fn check(target: &Target, input: &[u8]) {
    let mut peak = 0;
    let run = || peak = peak_of(|| (target.run)(input));
    let good = catch_unwind(AssertUnwindSafe(run)).is_ok();
    let (base, each) = target.memory;
    let limit = base + each * input.len();
    if good && peak <= limit {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("found").join(target.name);
    fs::create_dir_all(&folder).expect("a folder for what was found");
    let path = folder.join(format!("{:016x}", Chance::new(input.len() as u64).number()));
    fs::write(&path, input).expect("what was found is kept");
    let fault = if good {
        format!("took {peak} bytes of memory for {} of input, at most {limit}", input.len())
    } else {
        "panicked".to_owned()
    };
    panic!(
        "{} {fault}; the input is in {}: mend the decoder and keep the input in fuzz/found/{}/",
        target.name,
        path.display(),
        target.name
    );
}

macro_rules! bounded {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn no_target_is_forgotten() {
            let tested = [$(stringify!($name)),*];
            assert_eq!(TARGETS.map(|target| target.name), tested);
        }
    };
}

bounded! {
    answer block cache credentials file gsi http messages ntuple request s3 token update xrootd_client
    xrootd_server scheduler
}
