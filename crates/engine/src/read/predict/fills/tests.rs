use super::*;
use crate::read::predict::table_places::Unit;

const COLUMNS: u32 = 30;
const CLUSTERS: u32 = 40;
/// Baskets of a column in each cluster, and bytes of one.
const BASKETS: u32 = 2;
const BYTES: u64 = 100_000;
const WAY: Way = Way { round_trip: Duration::from_millis(100), bytes: 3_000_000 };

/// A table as ROOT writes it: cluster by cluster, in it column by column.
fn table() -> Arc<TablePlaces> {
    let mut columns = vec![Vec::new(); COLUMNS as usize];
    let mut offset = 1000;
    for cluster in 0..CLUSTERS {
        for column in &mut columns {
            for basket in 0..BASKETS {
                let entry = u64::from(cluster * 10 + basket * 5);
                column.push(Unit { range: offset..offset + BYTES, entry });
                offset += BYTES;
            }
        }
    }
    let cluster_starts = (0..CLUSTERS).map(|cluster| u64::from(cluster * 10)).collect();
    let names = (0..COLUMNS).map(|column| format!("b{column}")).collect();
    Arc::new(TablePlaces { names, columns, cluster_starts })
}

/// A client, and the ranges that were fetched for it.
struct World {
    table: Arc<TablePlaces>,
    predictor: Predictor,
    now: Duration,
    here: BTreeMap<u64, u64>,
    /// Bytes that might be ahead at most, so far.
    bound: u64,
    fetched: u64,
    unused: u64,
    read: u64,
    /// Fills, and those of which something was not here.
    fills: u32,
    waits: u32,
}

impl World {
    fn new() -> Self {
        let table = table();
        let predictor = Predictor::new(table.clone());
        World {
            table,
            predictor,
            now: Duration::ZERO,
            here: BTreeMap::new(),
            bound: 0,
            fetched: 0,
            unused: 0,
            read: 0,
            fills: 0,
            waits: 0,
        }
    }

    fn follow(&mut self, advice: Advice) {
        for range in advice.drop {
            let bytes = self.here.remove(&range.start).expect("only what was fetched is dropped");
            self.unused += bytes;
        }
        for range in advice.fetch {
            let bytes = range.end - range.start;
            assert!(self.here.insert(range.start, bytes).is_none(), "fetched twice");
            self.fetched += bytes;
        }
        let ahead: u64 = self.here.values().sum();
        self.bound = self.bound.max(self.predictor.bound(WAY));
        assert!(ahead <= self.bound, "{ahead} bytes ahead of at most {}", self.bound);
    }

    /// The client asks for baskets and waits for all of them.
    fn fill(&mut self, units: impl IntoIterator<Item = (u32, u32)>) {
        let mut is_here = true;
        for (column, number) in units {
            let Some(unit) = self.table.unit(column, number) else { continue };
            self.read += unit.bytes();
            is_here &= self.here.remove(&unit.range.start).is_some();
            self.predictor.read(column, number);
        }
        self.fills += 1;
        self.waits += u32::from(!is_here);
        let advice = self.predictor.asked(self.now, WAY);
        self.follow(advice);
        let advice = self.predictor.answered(self.now, WAY);
        self.follow(advice);
        self.now += Duration::from_millis(10);
    }

    /// A TTreeCache's: all baskets of columns in clusters.
    fn clusters(&mut self, columns: &[u32], clusters: impl Iterator<Item = u32> + Clone) {
        let baskets = clusters.flat_map(|cluster| cluster * BASKETS..(cluster + 1) * BASKETS);
        self.fill(
            columns.iter().flat_map(|column| baskets.clone().map(|number| (*column, number))),
        );
    }

    fn end(&mut self) {
        let drop = self.predictor.end();
        self.follow(Advice { fetch: Vec::new(), drop });
        assert!(self.here.is_empty(), "something fetched was neither read nor dropped");
        assert_eq!(self.predictor.expected_bytes, 0);
    }
}

/// Numbers that look random, the same for a seed.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    move |below| random.u64(..below)
}

#[test]
fn the_clusters_that_follow_are_here_after_two_fills_of_a_trained_cache() {
    let mut world = World::new();
    let all: Vec<u32> = (0..COLUMNS).collect();
    world.clusters(&all, 0..1);
    for cluster in (1..CLUSTERS).step_by(3) {
        world.clusters(&[3, 7, 8, 20], cluster..cluster + 3);
    }
    assert_eq!((world.fills, world.waits), (14, 3), "the learning fill and two that prove it");
    world.end();
    assert_eq!(world.unused, 0);
}

#[test]
fn a_cache_that_has_nothing_to_learn_proves_its_columns_with_its_second_fill() {
    let mut world = World::new();
    for cluster in (0..CLUSTERS).step_by(4) {
        world.clusters(&[3, 7], cluster..cluster + 4);
    }
    assert_eq!((world.fills, world.waits), (10, 2));
    world.end();
    assert_eq!(world.unused, 0);
}

/// Ranges are fetched when the second vector is requested, a round trip before its answer.
#[test]
fn a_second_vector_of_the_same_columns_is_the_proof_before_its_answer() {
    let mut world = World::new();
    world.clusters(&[3, 7], 0..1);
    for column in [3, 7] {
        for number in BASKETS..2 * BASKETS {
            world.predictor.read(column, number);
        }
    }
    let advice = world.predictor.asked(world.now, WAY);
    let starts: Vec<u64> = advice.fetch.iter().map(|range| range.start).collect();
    let of = |cluster: u32| {
        let numbers = cluster * BASKETS..(cluster + 1) * BASKETS;
        let units = [3, 7].into_iter().flat_map(|column| numbers.clone().map(move |n| (column, n)));
        let start = |(column, number)| world.table.unit(column, number).expect("is").range.start;
        units.map(start).collect::<BTreeSet<u64>>()
    };
    let expected: BTreeSet<u64> = of(2).union(&of(3)).copied().collect();
    assert_eq!(starts.into_iter().collect::<BTreeSet<u64>>(), expected);
}

/// ROOT's cache first reads all branches: a read of some of them is no proof before its answer.
#[test]
fn fewer_columns_than_expected_are_no_proof() {
    let mut world = World::new();
    let all: Vec<u32> = (0..COLUMNS).collect();
    world.clusters(&all, 0..1);
    for number in BASKETS..2 * BASKETS {
        world.predictor.read(3, number);
    }
    assert_eq!(world.predictor.asked(world.now, WAY), Advice::default());
}

/// coffea reads a chunk of one column after the other. Regression: while one column was read, the
/// other ones counted as given up, and those with baskets of more than 64 KiB were never fetched.
#[test]
fn columns_that_are_read_in_turns_are_here_from_the_second_round_on() {
    for baskets in 1..=4 {
        let mut world = World::new();
        let turns = [9, 2, 4, 11, 3, 20];
        for first in (0..CLUSTERS * BASKETS).step_by(baskets as usize) {
            for column in turns {
                world.fill((first..first + baskets).map(|number| (column, number)));
            }
        }
        world.end();
        assert_eq!(world.unused, 0, "{baskets} baskets a chunk");
        let first_rounds = turns.len() as u32 + 2;
        assert!(world.waits <= first_rounds, "{baskets} baskets: {} waits", world.waits);
    }
}

/// A chunk's first basket of one column may end within the first basket of another column.
#[test]
fn columns_in_turns_have_baskets_of_different_lengths() {
    let mut world = World::new();
    let mut table = (*world.table).clone();
    for (column, entries) in [(2, 130), (5, 170), (9, 90)] {
        let unit = |at: u64| {
            let start = (column as u64 * 1000 + at) * BYTES;
            Unit { range: start..start + BYTES, entry: at * entries }
        };
        table.columns[column] = (0..4000 / entries).map(unit).collect();
    }
    world.table = Arc::new(table);
    world.predictor = Predictor::new(world.table.clone());
    for chunk in 0..20 {
        let entries = chunk * 200..(chunk + 1) * 200;
        for column in [5, 9, 2] {
            let units = (0..).zip(&world.table.columns[column]);
            let new = units.filter(|(_, unit)| entries.contains(&unit.entry));
            let read: Vec<(u32, u32)> = new.map(|(number, _)| (column as u32, number)).collect();
            world.fill(read);
        }
    }
    world.end();
    assert_eq!(world.unused, 0);
    assert_eq!(world.waits, 5, "of the first round, and two of the second");
}

/// ROOT learns with all branches: nothing of those is fetched that are not read afterwards.
#[test]
fn the_first_fill_says_nothing() {
    let mut world = World::new();
    let all: Vec<u32> = (0..COLUMNS).collect();
    world.clusters(&all, 0..2);
    world.clusters(&[5], 2..4);
    world.clusters(&[5], 4..6);
    let first = world.table.unit(5, 12).expect("is there").range.start;
    assert_eq!(world.here.keys().next(), Some(&first));
    world.clusters(&[5], 6..8);
    world.end();
    assert!(world.fetched < 4_000_000, "{} bytes", world.fetched);
}

#[test]
fn single_reads_are_here_after_some_of_each_column() {
    let mut world = World::new();
    for basket in 0..CLUSTERS * BASKETS {
        for column in [2, 4, 9] {
            world.fill([(column, basket)]);
        }
    }
    assert!(world.waits <= 15, "{} of {} reads waited", world.waits, world.fills);
    world.end();
    assert_eq!(world.unused, 0);
}

/// The columns of a client without a cache have baskets of different lengths.
#[test]
fn a_column_with_long_baskets_is_not_forgotten() {
    let mut world = World::new();
    let mut table = (*world.table).clone();
    table.columns[9] = (0..10).map(|at| Unit { range: at..at + 1, entry: at * 40 }).collect();
    world.table = Arc::new(table);
    world.predictor = Predictor::new(world.table.clone());
    let mut late = 0;
    for basket in 0..CLUSTERS * BASKETS {
        world.fill([(2, basket)]);
        if basket % 8 == 0 {
            let waits = world.waits;
            world.fill([(9, basket / 8)]);
            late += world.waits - waits;
        }
    }
    assert!(late <= 4, "{late} of 10");
}

#[test]
fn a_client_that_jumps_gets_nothing() {
    for seed in 0..100 {
        let mut world = World::new();
        let mut random = numbers(seed);
        for _ in 0..300 {
            let column = random(u64::from(COLUMNS)) as u32;
            world.fill([(column, random(u64::from(CLUSTERS * BASKETS)) as u32)]);
        }
        world.end();
        assert!(world.unused * 20 <= world.read, "seed {seed}: {} unused", world.unused);
    }
}

#[test]
fn shuffled_clusters_cost_at_most_a_twentieth() {
    let mut unused = 0;
    let mut read = 0;
    for seed in 0..100 {
        let mut world = World::new();
        let mut random = numbers(seed);
        let mut order: Vec<u32> = (0..CLUSTERS).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, random(at as u64 + 1) as usize);
        }
        for cluster in order {
            world.clusters(&[1, 2, 3, 4, 5], cluster..cluster + 1);
        }
        world.end();
        unused += world.unused;
        read += world.read;
    }
    assert!(unused * 20 <= read, "{unused} bytes of {read} unused");
}

/// Whatever a client does: no more is ahead than may be, nothing is fetched twice, and all that was
/// fetched is read or dropped (`World::follow` and `World::end` look).
#[test]
fn every_mixture_of_habits_keeps_the_rules() {
    for seed in 0..100 {
        let mut world = World::new();
        let mut random = numbers(seed);
        let mut at = 0;
        for _ in 0..60 {
            let columns: Vec<u32> = (0..COLUMNS).filter(|_| random(4) == 0).collect();
            let clusters = random(3) as u32 + 1;
            for _ in 0..random(8) {
                world.clusters(&columns, at..at + clusters);
                at += clusters;
            }
            match random(4) {
                0 => at = random(u64::from(CLUSTERS)) as u32,
                1 => world.fill(
                    (0..5).map(|_| (random(30) as u32, random(90) as u32)).collect::<Vec<_>>(),
                ),
                _ => {}
            }
            if at >= CLUSTERS {
                at = 0;
            }
        }
        world.end();
    }
}

#[test]
fn what_a_client_of_such_a_file_reads_is_here_before_its_first_read() {
    let mut first = World::new();
    first.clusters(&[3, 7], 0..2);
    first.clusters(&[3, 7], 2..4);
    let (columns, bytes) = first.predictor.history().expect("it has read in order");
    assert_eq!((&columns[..], bytes), (&[3, 7][..], 1 << 20), "of 1.6 MB that it has read");
    let mut second = World::new();
    let advice = second.predictor.begin(&columns, bytes);
    second.follow(advice);
    for cluster in (0..CLUSTERS).step_by(2) {
        second.clusters(&columns, cluster..cluster + 2);
    }
    second.end();
    assert_eq!((second.waits, second.unused), (0, 0));
    // A client of other columns does not use the bytes fetched for its first fill, once.
    let mut other = World::new();
    let advice = other.predictor.begin(&columns, bytes);
    other.follow(advice);
    for cluster in (0..CLUSTERS).step_by(2) {
        other.clusters(&[11, 12, 13], cluster..cluster + 2);
    }
    assert_eq!(other.unused, 8 * BYTES);
}
