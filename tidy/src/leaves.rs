//! Leaves are pure: their dependencies and their text say so.

use std::path::Path;

use crate::manifest::dependencies;
use crate::repository::{files, report, root, text};
use crate::source::{has_word, production_lines, uses_path};

const LEAVES: [&str; 3] = ["crates/xrootd", "crates/rootfile", "crates/scheduler"];

/// More than these and a leaf is no longer a thing that an outsider may want alone.
const DEPENDENCIES_MAX: usize = 6;

/// Bytes to bytes, not counted: the ROOT format names its compressions, the protocol its ciphers.
const CODECS: [&str; 10] = [
    "libdeflater",
    "liblzma",
    "lz4_flex",
    "lz4-sys",
    "twox-hash",
    "xxhash-rust",
    "zstd",
    "aes",
    "cbc",
    "rsa",
];

/// Crates that act, sleep, or roll dice, by how their names begin.
const FORBIDDEN: [&str; 20] = [
    "tokio",
    "async",
    "futures",
    "smol",
    "mio",
    "socket2",
    "hyper",
    "reqwest",
    "rustls",
    "native-tls",
    "rand",
    "getrandom",
    "fastrand",
    "chrono",
    "time",
    "rayon",
    "crossbeam",
    "parking_lot",
    "tempfile",
    "memmap",
];

fn manifest_findings(leaf: &str, manifest: &str) -> Vec<String> {
    let names = dependencies(manifest, "dependencies");
    let mut findings: Vec<String> = names
        .iter()
        .filter(|name| FORBIDDEN.iter().any(|bad| name.starts_with(bad)))
        .map(|name| {
            format!("{leaf}/Cargo.toml: {name}: a leaf neither acts nor asks the time; take bytes and `now` as arguments")
        })
        .collect();
    let counted = names.iter().filter(|name| !CODECS.contains(&name.as_str())).count();
    if counted > DEPENDENCIES_MAX {
        findings.push(format!(
            "{leaf}/Cargo.toml: {counted} dependencies, at most {DEPENDENCIES_MAX} beside codecs and ciphers: write the few lines, or ask whether it is still a leaf"
        ));
    }
    findings
}

/// Names that production code of a leaf must not use, and their substitutes.
const BANNED_PATHS: [(&str, &str); 5] = [
    ("std::net", "bytes are arguments"),
    ("std::fs", "bytes are arguments"),
    ("std::thread", "leaves decide, the engine acts"),
    ("std::env", "configuration is an argument"),
    ("std::sync::mpsc", "return what happened from poll_* instead"),
];

const BANNED_WORDS: [(&str, &str); 6] = [
    ("HashMap", "its order is random: use BTreeMap"),
    ("HashSet", "its order is random: use BTreeSet"),
    ("Instant", "use the leaf's Time"),
    ("SystemTime", "use the leaf's Time"),
    ("async", "return what happened from poll_* instead"),
    ("println!", "leaves do not print"),
];

fn source_findings(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (number, line) in production_lines(text) {
        let paths = BANNED_PATHS.iter().filter(|(path, _)| uses_path(line, path));
        let words = BANNED_WORDS.iter().filter(|(word, _)| has_word(line, word));
        for (_, instead) in paths.chain(words) {
            findings.push(format!("{path}:{number}: `{}`: {instead}", line.trim()));
        }
    }
    findings
}

#[test]
fn leaves_depend_on_nothing_that_acts() {
    for leaf in LEAVES {
        let manifest = text(&format!("{leaf}/Cargo.toml")).expect("a manifest is text");
        report(manifest_findings(leaf, &manifest));
    }
}

#[test]
fn leaves_use_nothing_that_acts() {
    let mut findings = Vec::new();
    for path in files() {
        let of_leaf = LEAVES.iter().any(|leaf| path.starts_with(&format!("{leaf}/src/")));
        let of_tests = path.contains("/tests/") || path.ends_with("/tests.rs");
        if of_leaf && path.ends_with(".rs") && !of_tests {
            findings.extend(source_findings(&path, &text(&path).expect("source is text")));
        }
    }
    report(findings);
}

#[test]
fn leaves_share_one_list_of_bans() {
    let shared = root().join("crates/pure.clippy.toml").canonicalize().expect("the list of bans");
    for leaf in LEAVES {
        let own = root().join(leaf).join("clippy.toml");
        let target = std::fs::read_link(&own).unwrap_or_default();
        assert!(
            target == Path::new("../pure.clippy.toml")
                && own.canonicalize().ok() == Some(shared.clone()),
            "{leaf}/clippy.toml must be a symbolic link to ../pure.clippy.toml: ln -sf ../pure.clippy.toml {leaf}/clippy.toml"
        );
    }
}

#[test]
fn the_rules_can_fail() {
    assert_eq!(manifest_findings("x", "[dependencies]\ntokio = \"1\"\n").len(), 1);
    let seven = "[dependencies]\na.x = 1\nb.x = 1\nc.x = 1\nd.x = 1\ne.x = 1\nf.x = 1\ng.x = 1\nzstd.x = 1\n";
    assert_eq!(manifest_findings("x", seven).len(), 1);
    assert_eq!(source_findings("x", "use std::fs::File;").len(), 1);
    assert_eq!(source_findings("x", "let m: HashMap<u8, u8>;").len(), 1);
    assert_eq!(source_findings("x", "// a HashMap\n#[cfg(test)]\nuse std::fs::File;").len(), 0);
}
