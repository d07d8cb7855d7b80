//! Quotas of a cache: what is charged to whom, and what goes where one is full.

use super::*;

const ALICE: usize = 0;
const USER: usize = 1;

/// A quota of an identity, and one of the files in `/user`.
fn quotas(of_alice: u64, of_user: u64) -> Vec<CacheQuota> {
    let has = |address: &Address| address.path().starts_with("/user/");
    let quota = |name: &str, bytes_max, place| CacheQuota { name: name.into(), bytes_max, place };
    vec![
        quota("user:alice", of_alice, None),
        quota("root://host//user", of_user, Some(QuotaPlace::new(has))),
    ]
}

fn limited(folder: &Path, quotas: Vec<CacheQuota>) -> Cache {
    Cache::of(&CacheConfig { quotas, ..config(folder, 10_000_000) }).unwrap().unwrap()
}

/// Caches so many pieces of a file for a reader of these quotas.
fn fill(cache: &Cache, place: &str, charges: Charges, pieces: std::ops::Range<u64>) {
    let entry = adopt(cache, place, "a").charged_to(charges);
    cache.note_use(&entry);
    for at in pieces.map(|number| number * 50_000) {
        cache.record(&entry, at, content(at, 30_000));
        cache.flush();
    }
}

fn held(cache: &Cache, place: &str) -> u64 {
    cache.find(&origin(place)).map_or(0, |entry| entry.content.bytes())
}

fn used(cache: &Cache) -> [u64; 2] {
    let totals = cache.totals();
    [totals.quotas[0].disk_bytes, totals.quotas[1].disk_bytes]
}

const ONE: &str = "root://host//data/1.root";
const TWO: &str = "root://host//data/2.root";
const BOBS: &str = "root://host//data/bob.root";
const OF_USER: &str = "root://host//user/f.root";

#[test]
fn a_full_quota_evicts_what_is_charged_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let alice = Charges::of([ALICE]);
    let cache = limited(folder.path(), quotas(200_000, 1 << 30));
    fill(&cache, BOBS, Charges::default(), 0..10);
    fill(&cache, ONE, alice, 0..10);
    let [taken, _] = used(&cache);
    assert!((120_000..=200_000).contains(&taken), "{taken}");
    let refused = cache.totals().quotas[ALICE].refused_bytes;
    assert!(refused > 0 && refused + held(&cache, ONE) == 300_000, "{refused}");
    // Hits of what bob has brought in cost alice nothing, nor do further bytes of that file.
    fill(&cache, BOBS, alice, 0..12);
    assert_eq!((used(&cache)[ALICE], held(&cache, BOBS)), (taken, 360_000));
    // What she misses again and again takes the place of what is hers.
    (0..3).for_each(|_| fill(&cache, TWO, alice, 0..3));
    assert_eq!((held(&cache, ONE), held(&cache, TWO)), (0, 90_000));
    assert_eq!(held(&cache, BOBS), 360_000);
    assert!(used(&cache)[ALICE] <= 200_000);
    // Bob reads what she has missed again, and now it is his.
    fill(&cache, ONE, Charges::default(), 0..10);
    assert_eq!(held(&cache, ONE), 300_000);
    let taken = used(&cache)[ALICE];
    drop(cache);
    let cache = limited(folder.path(), quotas(200_000, 1 << 30));
    assert_eq!(used(&cache)[ALICE], taken, "charges outlive a restart");
    assert!(cache.totals().quotas[ALICE].refused_bytes >= refused);
    fill(&cache, TWO, Charges::default(), 3..4);
    assert!(
        used(&cache)[ALICE] > taken,
        "further bytes of her file are charged to her, also where bob reads them"
    );
}

#[test]
fn what_is_pinned_stays_and_what_is_full_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let alice = Charges::of([ALICE]);
    let cache = limited(folder.path(), quotas(120_000, 1 << 30));
    fill(&cache, ONE, alice, 0..3);
    cache.pin(&url(ONE), true).unwrap();
    fill(&cache, BOBS, Charges::default(), 0..3);
    (0..9).for_each(|_| fill(&cache, TWO, alice, 0..3));
    assert_eq!((held(&cache, ONE), held(&cache, BOBS)), (90_000, 90_000));
    assert!(used(&cache)[ALICE] <= 120_000);
    assert_eq!(held(&cache, TWO), 0);
}

#[test]
fn a_quota_of_nothing_caches_nothing_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = limited(folder.path(), quotas(0, 1 << 30));
    (0..9).for_each(|_| fill(&cache, ONE, Charges::of([ALICE]), 0..1));
    assert_eq!((held(&cache, ONE), used(&cache)), (0, [0, 0]));
    assert_eq!(cache.totals().quotas[ALICE].refused_bytes, 9 * 30_000);
    fill(&cache, ONE, Charges::default(), 0..1);
    assert_eq!((held(&cache, ONE), used(&cache)), (30_000, [0, 0]));
    drop(cache);
    // What was hers before goes as soon as more would come.
    let cache = limited(folder.path(), quotas(1 << 30, 1 << 30));
    fill(&cache, TWO, Charges::of([ALICE]), 0..1);
    assert_eq!(held(&cache, TWO), 30_000);
    drop(cache);
    let cache = limited(folder.path(), quotas(0, 1 << 30));
    fill(&cache, BOBS, Charges::of([ALICE]), 0..1);
    assert_eq!((held(&cache, TWO), held(&cache, ONE), used(&cache)), (0, 30_000, [0, 0]));
}

#[test]
fn a_place_is_charged_whoever_reads_and_what_was_there_before_too() {
    let folder = tempfile::tempdir().unwrap();
    let before = Cache::of(&config(folder.path(), 10_000_000)).unwrap().unwrap();
    fill(&before, OF_USER, Charges::default(), 0..2);
    fill(&before, ONE, Charges::default(), 0..2);
    drop(before);
    // The content had no charge when there were no quotas.
    let cache = limited(folder.path(), quotas(1 << 30, 150_000));
    assert_eq!((held(&cache, OF_USER), held(&cache, ONE)), (60_000, 60_000));
    let [of_alice, of_user] = used(&cache);
    assert!(of_alice == 0 && (60_000..70_000).contains(&of_user), "{of_user}");
    let other = "root://host//user/g.root";
    fill(&cache, other, Charges::of([ALICE]), 0..2);
    let [of_alice, of_user] = used(&cache);
    assert!((60_000..70_000).contains(&of_alice), "both are charged: {of_alice}");
    assert!((120_000..140_000).contains(&of_user), "{of_user}");
    // Nothing of the place is evicted for it that is not charged to it.
    (0..9).for_each(|_| fill(&cache, "root://host//user/h.root", Charges::default(), 0..2));
    assert_eq!(held(&cache, ONE), 60_000);
    assert_eq!(held(&cache, "root://host//user/h.root"), 60_000);
    assert!(used(&cache)[USER] <= 150_000);
    // A smaller limit holds as soon as something comes in.
    drop(cache);
    let cache = limited(folder.path(), quotas(1 << 30, 70_000));
    fill(&cache, "root://host//user/i.root", Charges::default(), 0..1);
    assert!(used(&cache)[USER] <= 70_000, "{:?}", used(&cache));
    assert_eq!(held(&cache, ONE), 60_000);
}

#[test]
fn a_quota_is_one_of_all_disks() {
    let top = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|name| top.path().join(name));
    let more_folders = vec![two];
    let quotas = quotas(200_000, 1 << 30);
    let config = CacheConfig { more_folders, quotas, ..config(&one, 10_000_000) };
    let cache = Cache::of(&config).unwrap().unwrap();
    let alice = Charges::of([ALICE]);
    for number in 0..6 {
        (0..2).for_each(|_| {
            fill(&cache, &format!("root://host//data/{number}.root"), alice, 0..2);
        });
        assert!(used(&cache)[ALICE] <= 200_000);
    }
    assert!(used(&cache)[ALICE] > 60_000 && cache.counters().evicted > 0);
}

#[test]
fn parts_with_another_codec_and_replicas_are_charged_like_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let cache = limited(folder.path(), quotas(300_000, 1 << 30));
    let alice = Charges::of([ALICE]);
    fill(&cache, ONE, alice, 0..2);
    let taken = used(&cache)[ALICE];
    let reader = adopt(&cache, ONE, "a");
    cache.pack(&reader, UnpackedPart::new(0, &content(0, 9000), 9000, || Some(vec![1; 5000])));
    cache.flush();
    assert!((0..30_000).any(|at| reader.part(&(at..at + 9000)).is_some()), "a part is here");
    let with_part = used(&cache)[ALICE];
    assert!(with_part >= taken + 5000, "{taken} {with_part}");
    let draft = cache.draft_replica(&origin(ONE), &info("a"), 100_000).unwrap();
    fs::write(&draft.path, vec![7; 80_000]).unwrap();
    drop(cache.keep_replica(draft).unwrap());
    let with_replica = used(&cache)[ALICE];
    assert!(with_replica >= with_part + 80_000, "{with_part} {with_replica}");
    let error = cache.draft_replica(&origin(ONE), &info("b"), 400_000).unwrap_err();
    assert!(error.to_string().contains("the quota user:alice has no room"), "{error}");
}
