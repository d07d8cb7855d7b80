//! `Cache-Status` and `Age` of the proxy's answers, and `Cache-Control` of requests.

use std::fs;
use std::path::Path;
use std::time::Duration;

use farroot_serve::{Config, Content, Forwarding, Server};
use remote::cache::counters::CacheCounters;
use remote::cache::{CacheCheck, CacheConfig};

use super::bed::{Bed, bed, content, forwarding, header, http};
use super::remote;

/// A range that does not come with the open.
const RANGE: std::ops::Range<usize> = 1_000_000..1_001_000;
const NEXT: &str = "2000000-2000999";

fn with_cache(folder: &Path, check: CacheCheck) -> Forwarding {
    let folder = Some(folder.to_owned());
    let bytes_max = 1 << 30;
    let cache =
        CacheConfig { bytes_max, folder, check, free_bytes_min: 0, ..CacheConfig::default() };
    let settings = remote::Config { cache, ..remote::Config::default() };
    Forwarding { settings, ..forwarding() }
}

fn proxy(forwarding: Forwarding) -> Server {
    let config = Config::of(Content::Far(Box::new(forwarding)));
    tokio::task::block_in_place(|| Server::start(config)).unwrap()
}

/// An answer's headers about the cache, and its body.
struct Answer {
    status: u16,
    says: String,
    age: Option<u64>,
    body: Vec<u8>,
}

fn asked(server: &Server, method: &str, path: &str, headers: &str) -> Answer {
    let (status, head, body) = http(server, method, path, headers);
    let says = header(&head, "cache-status").unwrap_or_default();
    let says = says.strip_prefix("farroot; ").expect("it is named").to_owned();
    let age = header(&head, "age").map(|age| age.parse().expect("seconds"));
    Answer { status, says, age, body }
}

fn get(server: &Server, path: &str, ranges: &str, control: &str) -> Answer {
    let control = match control {
        "" => String::new(),
        _ => format!("Cache-Control: {control}\r\n"),
    };
    asked(server, "GET", path, &format!("Range: bytes={ranges}\r\n{control}"))
}

fn range() -> String {
    format!("{}-{}", RANGE.start, RANGE.end - 1)
}

impl Bed {
    /// The file's path, by XRootD or by HTTP from the origin.
    fn path(&self, is_http: bool) -> String {
        let origin = if is_http { self.origin.http_url() } else { self.origin.root_url() };
        format!("/{origin}d/f%20g.root")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_where_its_bytes_were() {
    for is_http in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let bed = bed(with_cache(folder.path(), CacheCheck::Verify));
        let path = bed.path(is_http);
        let range = range();
        let first = get(&bed.proxy, &path, &range, "");
        assert_eq!((&*first.says, first.age), ("fwd=miss; stored", None));
        tokio::task::block_in_place(|| bed.proxy.flush());
        let second = get(&bed.proxy, &path, &range, "");
        assert_eq!((&*second.says, second.age.is_some()), ("hit", true));
        assert!(first.body == content()[RANGE] && second.body == first.body);
        let both = get(&bed.proxy, &path, &format!("{range},{NEXT}"), "");
        assert_eq!((&*both.says, both.age.is_some()), ("fwd=partial; stored", true));
        let none = get(&bed.proxy, &path, "9000000-", "");
        assert_eq!((none.status, &*none.says), (416, "hit"));
        assert_eq!(asked(&bed.proxy, "HEAD", &path, "").says, "hit");
        // Another proxy with this cache asks the origin whether the file is the same.
        let other = proxy(with_cache(folder.path(), CacheCheck::Verify));
        let third = get(&other, &path, &range, "");
        assert_eq!((&*third.says, third.age), ("fwd=stale", None));
        assert!(third.body == first.body);
        assert_eq!(get(&other, &path, &range, "").says, "hit");
    }
}

/// Regression: opens that the cache answered counted as opens at origins.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_trusted_is_here_without_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let bed = bed(with_cache(folder.path(), CacheCheck::Immutable));
    let path = bed.path(false);
    let range = range();
    assert_eq!(get(&bed.proxy, &path, &range, "").says, "fwd=miss; stored");
    tokio::task::block_in_place(|| bed.proxy.flush());
    let other = proxy(with_cache(folder.path(), CacheCheck::Immutable));
    drop(bed);
    for control in ["", "only-if-cached"] {
        let here = get(&other, &path, &range, control);
        assert_eq!((here.status, &*here.says, here.age.is_some()), (206, "hit", true));
        assert!(here.body == content()[RANGE]);
    }
    for ranges in [NEXT, "0-"] {
        let none = get(&other, &path, ranges, "only-if-cached");
        assert_eq!((none.status, &*none.says, none.age), (504, "detail=only-if-cached", None));
    }
    let figures = other.figures().unwrap();
    // Four clients, which shared one open.
    let opens = (figures.opens, figures.cache_opens, figures.origin_opens);
    assert_eq!((opens, figures.origin_requests), ((4, 1, 0), 0), "{figures:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_if_cached_asks_no_origin() {
    let folder = tempfile::tempdir().unwrap();
    let bed = bed(with_cache(folder.path(), CacheCheck::Verify));
    let path = bed.path(false);
    let range = range();
    let none = get(&bed.proxy, &path, &range, "only-if-cached");
    assert_eq!((none.status, &*none.says), (504, "detail=only-if-cached"));
    let figures = bed.proxy.figures().unwrap();
    assert_eq!((figures.origin_requests, figures.origin_opens), (0, 0));
    assert!(figures.open_errors.is_empty(), "{figures:?}");
    get(&bed.proxy, &path, &range, "");
    tokio::task::block_in_place(|| bed.proxy.flush());
    // The file is open: its origin has described it.
    let here = get(&bed.proxy, &path, &range, "only-if-cached");
    assert_eq!((here.status, &*here.says), (206, "hit"));
    let requests = bed.proxy.figures().unwrap().origin_requests;
    for (ranges, control) in [(NEXT, "only-if-cached"), (&*range, "no-cache, only-if-cached")] {
        assert_eq!(get(&bed.proxy, &path, ranges, control).status, 504, "{control}");
    }
    assert_eq!(bed.proxy.figures().unwrap().origin_requests, requests);
    // A server of a folder is no cache.
    let control = "Cache-Control: only-if-cached\r\n";
    assert_eq!(http(&bed.origin, "GET", "/d/f%20g.root", control).0, 200);
}

/// By default the proxy sends no request to the origin about an open file, and never about a
/// trusted one.
#[tokio::test(flavor = "multi_thread")]
async fn no_cache_has_the_origin_asked() {
    let folder = tempfile::tempdir().unwrap();
    let bed = bed(with_cache(folder.path(), CacheCheck::Immutable));
    let path = bed.path(false);
    let range = range();
    get(&bed.proxy, &path, &range, "");
    tokio::task::block_in_place(|| bed.proxy.flush());
    let verified = get(&bed.proxy, &path, &range, "no-cache");
    assert_eq!((&*verified.says, verified.age), ("fwd=request", None));
    assert_eq!(bed.proxy.figures().unwrap().origin_opens, 2);
    let file = bed.folder().join("d/f g.root");
    let new = bed.folder().join("new");
    fs::write(&new, vec![7; 1_500_000]).unwrap();
    fs::rename(&new, &file).unwrap();
    assert!(get(&bed.proxy, &path, &range, "").body == content()[RANGE], "it is open");
    let verified = get(&bed.proxy, &path, &range, "no-cache");
    assert_eq!(verified.says, "fwd=miss; stored");
    assert!(verified.body == [7; 1000]);
    assert!(get(&bed.proxy, &path, &range, "").body == [7; 1000], "later clients have it, too");
}

/// Regression: `max-age` was ignored, and a browser's reload received an old version.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_older_than_the_request_allows_is_asked_for() {
    for has_cache in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let with_cache = with_cache(folder.path(), CacheCheck::Immutable);
        let bed = bed(if has_cache { with_cache } else { forwarding() });
        fs::copy(bed.folder().join("d/f g.root"), bed.folder().join("f")).unwrap();
        let name = format!("{}f", bed.origin.http_url());
        let range = range();
        let path = format!("/{name}");
        get(&bed.proxy, &path, &range, "max-age=0");
        tokio::task::block_in_place(|| bed.proxy.flush());
        // Keeps the file open in the proxy, which closes it after 10 s without a client.
        let address = format!("{}{name}", bed.proxy.root_url());
        let _client = remote().open_bytes(&address).await.unwrap();
        let opens = || bed.proxy.figures().unwrap().origin_opens;
        let opens_before = opens();
        // From now on its age is at least 1 s.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let only = "max-age=0, only-if-cached";
        assert_eq!(get(&bed.proxy, &path, &range, only).status, 504);
        get(&bed.proxy, &path, &range, "max-age=3600");
        assert_eq!(opens(), opens_before, "it is new enough");
        let new = bed.folder().join("new");
        fs::write(&new, vec![7; 1_500_000]).unwrap();
        fs::rename(&new, bed.folder().join("f")).unwrap();
        let answer = get(&bed.proxy, &path, &range, "max-age=0");
        assert_eq!(opens(), opens_before + 1);
        assert_eq!((&answer.body[..], answer.age), (&[7; 1000][..], None));
    }
}

/// Regression: as long as clients kept a file open, the origin was not asked again, and new clients
/// got an old version for hours.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_stays_open_is_asked_about_again() {
    for has_cache in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut forwarding =
            if has_cache { with_cache(folder.path(), CacheCheck::Verify) } else { forwarding() };
        // As with `verify`, where it is ten seconds.
        forwarding.settings.cache.check = CacheCheck::Trust(Duration::from_secs(2));
        let bed = bed(forwarding);
        fs::copy(bed.folder().join("d/f g.root"), bed.folder().join("f")).unwrap();
        let name = format!("{}f", bed.origin.http_url());
        let path = format!("/{name}");
        let range = range();
        let _client = {
            let address = format!("{}{name}", bed.proxy.root_url());
            remote().open_bytes(&address).await.unwrap()
        };
        get(&bed.proxy, &path, &range, "");
        tokio::task::block_in_place(|| bed.proxy.flush());
        let opens = || bed.proxy.figures().unwrap().origin_opens;
        let opens_before = opens();
        let etag = |headers: &str| {
            let (_, head, _) = http(&bed.proxy, "HEAD", &path, headers);
            header(&head, "etag").unwrap().to_owned()
        };
        let before = etag("");
        tokio::time::sleep(Duration::from_millis(2100)).await;
        // Clients that come at the same time share one question.
        let both: Vec<Answer> = tokio::task::block_in_place(|| {
            std::thread::scope(|scope| {
                let ask = || scope.spawn(|| get(&bed.proxy, &path, &range, ""));
                [ask(), ask()].map(|one| one.join().unwrap()).into_iter().collect()
            })
        });
        assert!(both.iter().all(|one| one.body == content()[RANGE]));
        assert_eq!(opens(), opens_before + 1);
        assert!(!has_cache || both.iter().any(|one| one.says == "fwd=stale"));
        assert_eq!(etag(""), before, "it is the same file");
        let new = bed.folder().join("new");
        fs::write(&new, vec![7; 1_500_000]).unwrap();
        fs::rename(&new, bed.folder().join("f")).unwrap();
        tokio::time::sleep(Duration::from_millis(2100)).await;
        assert!(get(&bed.proxy, &path, &range, "").body == [7; 1000]);
        fs::remove_file(bed.folder().join("f")).unwrap();
        tokio::time::sleep(Duration::from_millis(2100)).await;
        assert_eq!(http(&bed.proxy, "GET", &path, "").0, 404);
    }
}

/// Regression: after a file was evicted, its metadata came from the store of metadata and were
/// never cached again: the file was never whole.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_from_the_store_of_metadata_are_cached_too() {
    const ROOT_FILE: &[u8] = include_bytes!("../../../../sim/testdata/small_nano.root");
    let folder = tempfile::tempdir().unwrap();
    let mut forwarding = with_cache(&folder.path().join("cache"), CacheCheck::Verify);
    forwarding.settings.store_folder = Some(folder.path().join("store"));
    let bed = bed(forwarding.clone());
    fs::write(bed.folder().join("r.root"), ROOT_FILE).unwrap();
    let name = format!("{}r.root", bed.origin.http_url());
    let path = format!("/{name}");
    let is_stored = || {
        let at = folder.path().join("store/farroot-metadata");
        fs::read_dir(at).is_ok_and(|entries| entries.count() > 0)
    };
    while !is_stored() {
        assert!(http(&bed.proxy, "GET", &path, "").2 == ROOT_FILE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let Bed { origin, .. } = &bed;
    tokio::task::block_in_place(|| bed.proxy.flush());
    let cache = remote::cache::Cache::at(&forwarding.settings.cache).unwrap();
    let url = remote::address::Address::parse(&format!("{}r.root", origin.http_url())).unwrap();
    cache.evict(&url).unwrap();
    let other = proxy(forwarding);
    assert!(http(&other, "GET", &path, "").2 == ROOT_FILE);
    let received = other.report().unwrap().bytes_received;
    assert!(received < ROOT_FILE.len() as u64, "the store has a part of them: {received}");
    tokio::task::block_in_place(|| other.flush());
    assert_eq!(cache.file(&url).unwrap().held_bytes, ROOT_FILE.len() as u64);
    let (status, _, body) = http(&other, "GET", &path, "Cache-Control: only-if-cached\r\n");
    assert!(status == 200 && body == ROOT_FILE);
}

/// Folders that cannot be used: below a file, with the content of another program, in a file system
/// without new folders and, where a test can make it, a cache of another user.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_cache_folder_that_can_be_used_files_are_read_and_the_report_says_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let [foreign, owned] = ["foreign", "owned"].map(|name| folder.path().join(name));
    fs::create_dir_all(foreign.join("farroot-cache")).unwrap();
    fs::write(foreign.join("farroot-cache/thesis.tex"), "").unwrap();
    let mut unusable = vec![folder.path().join("file/cache"), foreign];
    if cfg!(target_os = "linux") {
        unusable.push("/proc/farroot".into());
    }
    drop(bed(with_cache(&owned, CacheCheck::Verify)));
    match std::os::unix::fs::chown(owned.join("farroot-cache"), Some(65534), None) {
        Ok(()) => unusable.push(owned),
        Err(error) => eprintln!("SKIPPED: a cache of another user: {error}"),
    }
    for path in unusable {
        let bed = bed(with_cache(&path, CacheCheck::Verify));
        let answer = get(&bed.proxy, &bed.path(true), &range(), "");
        assert!(answer.body == content()[RANGE] && answer.says == "fwd=miss");
        let notes = bed.proxy.report().unwrap().notes;
        let warning = format!("warning: nothing is cached in {}: ", path.display());
        assert!(notes.iter().any(|note| note.starts_with(&warning)), "{notes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_store_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let bed = bed(with_cache(folder.path(), CacheCheck::Verify));
    let path = bed.path(true);
    let range = range();
    for _ in 0..2 {
        let answer = get(&bed.proxy, &path, &range, "no-store");
        assert_eq!((&*answer.says, answer.age), ("fwd=request", None));
        assert!(answer.body == content()[RANGE]);
    }
    tokio::task::block_in_place(|| bed.proxy.flush());
    let figures = bed.proxy.figures().unwrap();
    assert_eq!((figures.cache, figures.files_open), (CacheCounters::default(), 0));
    assert_eq!(get(&bed.proxy, &path, &range, "only-if-cached").status, 504);
}
