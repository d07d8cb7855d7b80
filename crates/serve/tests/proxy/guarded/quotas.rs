//! Quotas of the cache: each client's bytes are charged to the quotas of its identity and of the
//! file's place, and one that is full touches nobody else's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use farroot_serve::{
    Config, Content, Forwarding, Protection, Server, quota_of_files, quota_of_reader,
};
use remote::cache::Cache;
use serde_json::json;

use super::clients::{HttpClient, bearer};
use super::tokens::{changed, claims};
use super::{Site, WLCG, rules, write};

const BYTES: usize = 100_000;
/// Room for one of her files, and not for two.
const OF_ADA: u64 = 150_000;
/// ada:marker-password, bob:marker-other
const ADA: &str = "Authorization: Basic YWRhOm1hcmtlci1wYXNzd29yZA==\r\n";
const BOB: &str = "Authorization: Basic Ym9iOm1hcmtlci1vdGhlcg==\r\n";
const NAMES: [&str; 6] = ["ada1", "ada2", "group", "bob", "nobody", "none"];

struct Bed {
    site: Site,
    cache: tempfile::TempDir,
}

fn bytes(name: &str) -> Vec<u8> {
    name.bytes().cycle().take(BYTES).collect()
}

impl Bed {
    fn new() -> Self {
        let site = Site::new();
        write(&site.file("users"), "ada:marker-password\nbob:marker-other\n");
        for name in NAMES {
            fs::write(site.file("files").join("pub").join(name), bytes(name)).unwrap();
        }
        Bed { site, cache: tempfile::tempdir().unwrap() }
    }

    fn settings(&self) -> remote::Config {
        let mut settings = self.site.settings(self.cache.path());
        settings.cache.quotas = vec![
            quota_of_reader("user:ada", OF_ADA),
            quota_of_files("*/pub/*", 10_000_000).unwrap(),
            quota_of_reader("group:wlcg:/cms/uscms", 1_000_000),
            quota_of_files("*/pub/none", 0).unwrap(),
        ];
        settings
    }

    fn protection(&self) -> Protection {
        let rules = rules(&[("*/pub", "anyone"), ("/metrics", "users")]);
        Protection { rules, ..self.site.protection() }
    }

    fn proxy(&self) -> Server {
        let settings = self.settings();
        let far = Forwarding { settings, origins: Vec::new(), secret: None, access_log: None };
        let content = Content::Far(Box::new(far));
        Server::start(Config { protection: self.protection(), ..Config::of(content) }).unwrap()
    }

    fn path(&self, name: &str) -> String {
        format!("{}pub/{name}", self.site.origin.http_url())
    }

    /// A client reads a file, as if it had not been open.
    fn read(&self, proxy: &Server, name: &str, who: &str) {
        let mut http = HttpClient::new(proxy, &self.site.certificate);
        let anew = format!("{who}Cache-Control: no-cache\r\n");
        let answer = http.ask("GET", &format!("/{}", self.path(name)), &anew, "");
        assert_eq!((answer.status, answer.body), (200, bytes(name)), "{name}");
        proxy.flush();
    }

    /// The names of the files of which all bytes are cached.
    fn held(&self) -> Vec<&'static str> {
        let files = Cache::at(&self.settings().cache).unwrap().files();
        let of = |name: &&str| {
            let mut own = files.iter().filter(|file| file.address.ends_with(&format!("/{name}")));
            own.any(|file| file.held_bytes == BYTES as u64)
        };
        NAMES.into_iter().filter(of).collect()
    }

    /// The figures of the quotas, by name.
    fn quotas(&self) -> BTreeMap<String, (u64, u64)> {
        let totals = Cache::at(&self.settings().cache).unwrap().totals();
        let figures = totals.quotas.into_iter();
        figures.map(|one| (one.name, (one.disk_bytes, one.refused_bytes))).collect()
    }
}

fn until(event: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{event}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_about(figure: u64, files: usize) -> bool {
    let least = (files * BYTES) as u64;
    (least..least + 5000 * files as u64 + 1).contains(&figure)
}

#[test]
fn a_user_beyond_the_quota_evicts_only_what_is_hers_also_after_a_restart() {
    let bed = Bed::new();
    let groups = json!({"scope": null, "wlcg.groups": ["/cms", "/cms/uscms"]});
    let member = bed.site.wlcg.token("w1", &changed(&claims(WLCG), groups));
    let proxy = bed.proxy();
    bed.read(&proxy, "ada1", ADA);
    bed.read(&proxy, "bob", BOB);
    bed.read(&proxy, "nobody", "");
    bed.read(&proxy, "group", &bearer(&member));
    // A hit is charged to nobody else, and the file stays bob's.
    bed.read(&proxy, "bob", ADA);
    assert_eq!(bed.held(), ["ada1", "group", "bob", "nobody"]);
    let used = bed.quotas();
    assert!(is_about(used["user:ada"].0, 1), "{used:?}");
    assert!(is_about(used["group:wlcg:/cms/uscms"].0, 1), "{used:?}");
    assert!(is_about(used["*/pub"].0, 4), "{used:?}");
    drop(proxy);
    let proxy = bed.proxy();
    assert_eq!(bed.quotas()["user:ada"], used["user:ada"], "charges outlive a restart");
    // The first miss is refused: what was used today does not go for what is new.
    until("her other file takes the place of the first", || {
        bed.read(&proxy, "ada2", ADA);
        let used = bed.quotas();
        assert!(used["user:ada"].0 <= OF_ADA, "{used:?}");
        bed.held() == ["ada2", "group", "bob", "nobody"]
    });
    let used = bed.quotas();
    assert!(is_about(used["user:ada"].0, 1) && used["user:ada"].1 > 0, "{used:?}");
    // Bob and nobody have no quota of their own, and are not in her way.
    bed.read(&proxy, "ada1", BOB);
    assert_eq!(bed.held(), ["ada1", "ada2", "group", "bob", "nobody"]);
    let mut http = HttpClient::new(&proxy, &bed.site.certificate);
    let text = String::from_utf8(http.ask("GET", "/metrics", ADA, "").body).unwrap();
    let line =
        format!("farroot_proxy_cache_quota_bytes{{quota=\"user:ada\"}} {}", used["user:ada"].0);
    assert!(text.contains(&line), "{line}: {text}");
    assert!(text.contains("_cache_quota_limit_bytes{quota=\"user:ada\"} 150000"), "{text}");
    assert!(text.contains("_cache_quota_refused_bytes_total{quota=\"user:ada\"}"), "{text}");
    assert!(!holds(bed.cache.path(), "ada:") && !holds(bed.cache.path(), "marker-"));
}

#[test]
fn nothing_is_cached_of_a_quota_of_nothing() {
    let bed = Bed::new();
    let proxy = bed.proxy();
    (0..4).for_each(|_| bed.read(&proxy, "none", BOB));
    assert!(bed.held().is_empty());
    let used = bed.quotas();
    assert_eq!((used["*/pub/none"].0, used["*/pub"].0), (0, 0), "{used:?}");
    assert!(used["*/pub/none"].1 >= 4 * BYTES as u64, "{used:?}");
}

/// Whether a file below a folder has a text.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => holds(&path, text),
        path => {
            let bytes = fs::read(path).unwrap();
            bytes.windows(text.len()).any(|window| window == text.as_bytes())
        }
    })
}
