//! Commands on a cache, and the replicas in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serve::{Config, Content, Forwarding, Server};

/// An origin with files that ROOT has written, and a place for a cache.
struct Bed {
    top: tempfile::TempDir,
    origin: Server,
}

const TREE: &str = "d/t";

fn seed(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/file").join(name)
}

impl Bed {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let files = top.path().join("files");
        fs::create_dir(&files).unwrap();
        for name in ["a.root", "b.root"] {
            fs::copy(seed("zlib.root"), files.join(name)).unwrap();
        }
        // With branches that no merge copies.
        fs::copy(seed("branches.root"), files.join("clones.root")).unwrap();
        fs::write(files.join("text"), "no ROOT file").unwrap();
        let origin = Server::start(Config::new(&files)).unwrap();
        Bed { top, origin }
    }

    fn address(&self, name: &str) -> String {
        format!("{}{name}", self.origin.root_url())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.top.path().join("files").join(name)
    }

    fn cache(&self) -> PathBuf {
        self.top.path().join("cache")
    }

    fn farroot(&self, bytes_max: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        command.env("FARROOT_STORE", "0").env("FARROOT_CACHE", bytes_max);
        command.env("FARROOT_CACHE_FOLDER", self.cache()).env("FARROOT_CACHE_FREE", "0");
        command.args(arguments).output().expect("it runs")
    }

    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.farroot("1 GB", arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn refused(&self, bytes_max: &str, arguments: &[&str]) -> String {
        let output = self.farroot(bytes_max, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// The only or first line of `cache ls` about a file.
    fn listed(&self, name: &str) -> serde_json::Value {
        let listed = self.printed(&["cache", "ls", "--json"]);
        let lines = listed.lines().map(|line| serde_json::from_str(line).expect(line));
        let is_it = |one: &serde_json::Value| one["address"] == self.address(name).as_str();
        lines.into_iter().find(is_it).unwrap_or_default()
    }

    /// A proxy over the same cache.
    fn proxy(&self) -> Server {
        let mut settings = remote::Config::default();
        settings.cache.bytes_max = 1 << 30;
        settings.cache.free_bytes_min = 0;
        settings.cache.folder = Some(self.cache());
        let far = Forwarding { settings, origins: Vec::new(), secret: None, access_log: None };
        Server::start(Config::of(Content::Far(Box::new(far)))).unwrap()
    }
}

fn replace(path: &Path, with: &Path) {
    let bytes = fs::read(with).unwrap();
    fs::write(path, bytes).unwrap();
    let then = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn files_of_a_list_are_fetched_and_one_that_fails_leaves_the_others() {
    let bed = Bed::new();
    let list = bed.top.path().join("list");
    let [a, b, none] = ["a.root", "b.root", "none.root"].map(|name| bed.address(name));
    fs::write(&list, format!("# a dataset\n{a}\n\n{none}\n  {b}\n")).unwrap();
    let list = list.to_str().unwrap();
    let error = bed.refused("1 GB", &["cache", "warm", "--list", list]);
    assert!(error.contains("none.root") && error.contains("1 of 3 files"), "{error}");
    for name in ["a.root", "b.root"] {
        let listed = bed.listed(name);
        assert_eq!(listed["held_bytes"], listed["size"], "{name}");
    }
    bed.printed(&["cache", "evict", "--to", "0"]);
    assert_eq!(bed.listed("a.root")["held_bytes"], 0);
    // One that was read again since is the first.
    std::thread::sleep(Duration::from_millis(1100));
    bed.printed(&["cat", &format!("{b}:{TREE}"), "-c", "n", "--csv"]);
    let warmed = bed.printed(&["cache", "warm", "--most-read", "1", "--pin"]);
    assert!(warmed.contains("b.root") && warmed.lines().count() == 1, "{warmed}");
    let listed = bed.listed("b.root");
    assert_eq!(listed["held_bytes"], listed["size"]);
    assert_eq!(listed["is_pinned"], true);
    assert_eq!(bed.listed("a.root")["held_bytes"], 0);
}

#[test]
fn pins_stay_below_the_cap() {
    let bed = Bed::new();
    let [a, b] = ["a.root", "b.root"].map(|name| bed.address(name));
    bed.printed(&["cache", "warm", &a, &b]);
    bed.printed(&["cache", "pin", &a]);
    let size = bed.listed("a.root")["disk_bytes"].as_u64().unwrap();
    let cap = (size + size / 2).to_string();
    let error = bed.refused(&cap, &["cache", "pin", &b]);
    assert!(error.contains("would be pinned") && error.contains("unpin"), "{error}");
    assert_eq!(bed.listed("b.root")["is_pinned"], false);
    bed.printed(&["cache", "evict", "--to", "0"]);
    assert_eq!(bed.listed("a.root")["disk_bytes"], size);
    assert_eq!(bed.listed("b.root")["disk_bytes"], 0);
    let error = bed.refused(&cap, &["cache", "warm", &b]);
    assert!(error.contains("no room"), "{error}");
    let error = bed.refused("1 GB", &["cache", "evict", &a]);
    assert!(error.contains("unpin"), "{error}");
    assert_eq!(bed.listed("a.root")["disk_bytes"], size);
    bed.printed(&["cache", "unpin", &a]);
    assert_eq!(bed.listed("a.root")["is_pinned"], false);
    bed.printed(&["cache", "evict", "--to", "0"]);
    assert_eq!(bed.listed("a.root")["disk_bytes"], 0);
}

#[test]
fn a_replica_is_served_as_long_as_its_file_is_the_same() {
    let bed = Bed::new();
    let a = bed.address("a.root");
    let proxy = bed.proxy();
    let fast = format!("{}fast//{a}", proxy.root_url());
    let made = bed.printed(&["cache", "convert", &a]);
    assert!(made.contains("a.root: a replica of"), "{made}");
    assert!(bed.listed("a.root")["replica_disk_bytes"].as_u64().unwrap() > 0);
    let table = |address: &str| bed.printed(&["cat", &format!("{address}:{TREE}"), "--csv"]);
    assert_eq!(table(&fast), table(&a));
    let copy = |address: &str, name: &str| {
        let to = bed.top.path().join(name);
        bed.printed(&["cp", address, to.to_str().unwrap()]);
        fs::read(to).unwrap()
    };
    let original = copy(&a, "original");
    let replica = copy(&fast, "replica");
    assert_eq!(original, fs::read(bed.file("a.root")).unwrap());
    assert_ne!(original, replica, "its bytes are its own");
    let names = |address: &str| {
        let listed = bed.printed(&["ls", "-r", address]);
        let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
        listed.lines().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&fast), names(&a));
    let verified = bed.printed(&["cache", "verify"]);
    assert!(verified.contains("are what was written"), "{verified}");
    // Another file takes the name. The proxy makes a replica of it, as its cache has all of it.
    replace(&bed.file("a.root"), &seed("leaves.root"));
    let before = names(bed.top.path().join("original").to_str().unwrap());
    assert_ne!(names(&a), before);
    bed.printed(&["cache", "warm", &a]);
    let other = bed.proxy();
    let again = format!("{}fast//{a}", other.root_url());
    assert_eq!(names(&again), names(&a));
    assert_ne!(copy(&again, "again"), replica);
    let text = bed.address("text");
    let error = bed.refused("1 GB", &["cache", "convert", &text]);
    assert!(error.contains("no ROOT file"), "{error}");
    let target = bed.top.path().join("none");
    let through = format!("{}fast//{text}", other.root_url());
    let error = bed.refused("1 GB", &["cp", &through, target.to_str().unwrap()]);
    assert!(error.contains("convert"), "{error}");
}

#[test]
fn a_damaged_replica_is_not_served() {
    let bed = Bed::new();
    let a = bed.address("a.root");
    bed.printed(&["cache", "convert", &a]);
    let mut folders = vec![bed.cache()];
    let mut found = None;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.ends_with("fast.root") => found = Some(path),
                _ => {}
            }
        }
    }
    let path = found.expect("a replica");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    assert!(bed.refused("1 GB", &["cache", "verify"]).contains("damaged"));
    let proxy = bed.proxy();
    let fast = format!("{}fast//{a}", proxy.root_url());
    // The whole file is in the cache, so the proxy makes another.
    let table = |address: &str| bed.printed(&["cat", &format!("{address}:{TREE}"), "--csv"]);
    bed.printed(&["cache", "warm", &a]);
    assert_eq!(table(&fast), table(&a));
}

#[test]
fn commands_read_replicas_that_their_proxy_makes() {
    let bed = Bed::new();
    let address = format!("{}a.root", bed.origin.http_url());
    let script = format!("\"$0\" cat \"$(cat \"$FARROOT_PROXY\"){address}:{TREE}\" --csv");
    let program = env!("CARGO_BIN_EXE_farroot");
    let run = ["run", "--fast", "--alone", "--quiet", "--", "sh", "-c", &script, program];
    let wanted = bed.printed(&["cat", &format!("{address}:{TREE}"), "--csv"]);
    assert_eq!(bed.printed(&run), wanted);
    let listed = bed.printed(&["cache", "ls", "--json"]);
    let made = |line: &str| {
        let one: serde_json::Value = serde_json::from_str(line).unwrap();
        one["replica_disk_bytes"].as_u64().unwrap() > 0
    };
    assert!(listed.lines().any(made), "{listed}");
    // A file of which none can be made is read as it is.
    for name in ["text", "clones.root"] {
        let address = format!("{}{name}", bed.origin.http_url());
        let target = bed.top.path().join("copy");
        let script = "\"$0\" cp -f \"$(cat \"$FARROOT_PROXY\")$1\" \"$2\"";
        let words = [program, &address, target.to_str().unwrap()];
        let run = ["run", "--fast", "--alone", "--quiet", "--", "sh", "-c", script];
        bed.printed(&[&run[..], &words[..]].concat());
        assert_eq!(fs::read(target).unwrap(), fs::read(bed.file(name)).unwrap());
    }
    let error = bed.refused("0", &["run", "--fast", "--", "true"]);
    assert!(error.contains("FARROOT_CACHE"), "{error}");
}

#[test]
fn a_proxy_s_configuration_names_the_cache_of_commands() {
    let bed = Bed::new();
    let site = bed.top.path().join("site.toml");
    let cache = bed.cache();
    let mount = bed.top.path().join("files");
    let text = format!(
        "origin = ['file://{}']\n[settings]\ncache = '1 GB'\ncache_free = 0\n\
         cache_folder = ['{1}', '{1}2']\n",
        mount.display(),
        cache.display()
    );
    fs::write(&site, text).unwrap();
    let farroot = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        command.env("FARROOT_STORE", "0").args(["cache", "--config", site.to_str().unwrap()]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let file = bed.file("a.root");
    farroot(&["warm", file.to_str().unwrap()]);
    let listed = farroot(&["ls", "--json"]);
    let one: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!(one["address"], file.to_str().unwrap());
    assert_eq!(one["held_bytes"], one["size"]);
    let stat = farroot(&["stat", "--json"]);
    let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
    assert_eq!((&stat["disks"], &stat["disks_left_out"]), (&2.into(), &0.into()));
}

#[test]
fn quotas_of_a_proxy_s_configuration_hold_for_commands_and_are_shown() {
    let bed = Bed::new();
    let site = bed.top.path().join("site.toml");
    let [a, b] = ["a.root", "b.root"].map(|name| bed.address(name));
    let size = fs::metadata(bed.file("a.root")).unwrap().len();
    let write = |quota: &str| {
        let cache = bed.cache();
        let text = format!(
            "port = 0\norigin = ['*']\n[[quota]]\n{quota}\n[settings]\ncache = '1 GB'\n\
             cache_free = 0\ncache_folder = '{}'\n",
            cache.display()
        );
        fs::write(&site, text).unwrap();
    };
    let farroot = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_farroot"));
        let words = arguments.iter().map(|word| match *word {
            "SITE" => site.to_str().unwrap(),
            word => word,
        });
        command.env("FARROOT_STORE", "0").args(words).output().unwrap()
    };
    let printed = |arguments: &[&str]| {
        let output = farroot(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let fault = |arguments: &[&str]| {
        let output = farroot(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let quota = |bytes: u64| format!("path = '*/a.root'\nbytes = {bytes}");
    write(&quota(0));
    printed(&["cache", "--config", "SITE", "warm", &b]);
    let error = fault(&["cache", "--config", "SITE", "warm", &a]);
    assert!(error.contains("no room"), "{error}");
    write(&quota(size + 10_000));
    printed(&["cache", "--config", "SITE", "warm", &a]);
    let stat = printed(&["cache", "--config", "SITE", "stat", "--json"]);
    let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
    let one = &stat["quotas"][0];
    assert_eq!((&one["name"], &one["bytes_max"]), (&"*/a.root".into(), &(size + 10_000).into()));
    assert!(one["disk_bytes"].as_u64().unwrap() >= size, "{one}");
    assert!(one["disk_bytes"].as_u64() < stat["disk_bytes"].as_u64(), "{stat}");
    assert!(one["refused_bytes"].as_u64().unwrap() > 0, "{one}");
    let line = |text: &str| {
        text.lines().find(|line| line.starts_with("quota */a.root: ")).map(str::to_owned)
    };
    let of_stat = line(&printed(&["cache", "--config", "SITE", "stat"])).expect("a line");
    assert!(of_stat.contains(" of ") && of_stat.ends_with(" were refused"), "{of_stat}");
    let checked = printed(&["proxy", "--check", "--config", "SITE"]);
    assert_eq!(line(&checked), Some(of_stat), "{checked}");
    for (quota, why) in [
        ("path = '*'\nbytes = '5 parsecs'", "5 parsecs"),
        ("path = '*'\nbyte = '5 GB'", "unknown field `byte`"),
        ("bytes = '5 GB'", "one of `path`, `user`, `group`"),
        ("user = 'alice'\nbytes = '5 GB'", "there is no list \"users\""),
        ("group = 'cms:/cms'\nbytes = '5 GB'", "no issuer is called so"),
        ("path = '/metrics'\nbytes = '5 GB'", "it names no files"),
    ] {
        write(quota);
        let error = fault(&["proxy", "--check", "--config", "SITE"]);
        assert!(error.contains(why), "{quota}: {error}");
    }
}
