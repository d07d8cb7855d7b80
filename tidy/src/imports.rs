//! Imports that are allowed: leaves nothing of ours, `remote` two of them, the engine `remote` and
//! `rootfile`, the edges the engine.

use crate::manifest::dependencies;
use crate::repository::{files, files_ending, report, text};
use crate::source::{code_lines, uses_path};

const OURS: [&str; 10] = [
    "xrootd",
    "rootfile",
    "scheduler",
    "credentials",
    "remote",
    "engine",
    "serve",
    "cli",
    "sim",
    "lab",
];

/// The crates of ours on which each crate may depend, and the reason where it is not the general
/// rule.
const ALLOWED: [(&str, &[&str], &str); 15] = [
    ("crates/xrootd", &[], "a leaf knows none of our crates"),
    ("crates/rootfile", &[], "a leaf knows none of our crates"),
    ("crates/scheduler", &[], "a leaf knows none of our crates"),
    ("crates/mutex", &[], "locks know nothing of what they lock"),
    (
        "crates/credentials",
        &["mutex", "xrootd"],
        "what users have to show, in the terms of the protocol",
    ),
    (
        "crates/remote",
        &["mutex", "xrootd", "scheduler", "credentials"],
        "files as ranges of bytes: no ROOT",
    ),
    ("crates/engine", &["mutex", "remote", "rootfile"], "ROOT over bytes that `remote` brings"),
    (
        "crates/serve",
        &["mutex", "remote", "engine", "xrootd", "credentials"],
        "a server of bytes: xrootd's served side, over a folder or what the engine watches",
    ),
    (
        "crates/cli",
        &["mutex", "remote", "engine", "serve", "credentials"],
        "an edge imports the engine, and what it starts",
    ),
    (
        "crates/farroot",
        &["remote", "engine"],
        "what a Rust program depends on: the engine's own types",
    ),
    (
        "python",
        &["mutex", "remote", "engine", "cli"],
        "an edge imports the engine; the wheel brings the one `farroot` command",
    ),
    (
        "sim",
        &["mutex", "xrootd", "rootfile", "scheduler", "credentials", "remote", "engine", "serve"],
        "the simulator runs the production code",
    ),
    ("lab", &[], "the link does not know what runs over it"),
    (
        "fuzz",
        &["xrootd", "rootfile", "scheduler", "credentials", "remote", "engine", "serve"],
        "decoders live in the leaves, those of HTTP in `remote`, that of selected entries in `engine`, \
         that of tokens in `serve`",
    ),
    ("tidy", &[], "rules are about text"),
];

fn crate_findings(folder: &str, manifest: &str) -> Vec<String> {
    let Some((_, allowed, reason)) = ALLOWED.iter().find(|(name, ..)| *name == folder) else {
        return vec![format!(
            "{folder}/Cargo.toml: a crate that tidy/src/imports.rs does not know: say in its table what it may import"
        )];
    };
    dependencies(manifest, "dependencies")
        .into_iter()
        .map(|name| name.trim_start_matches("farroot-").to_owned())
        .filter(|name| OURS.contains(&name.as_str()) && !allowed.contains(&name.as_str()))
        .map(|name| format!("{folder}/Cargo.toml: depends on {name}: {reason}"))
        .collect()
}

/// A folder, a path it must not use, and its substitute.
struct Ban {
    folder: &'static str,
    except: &'static [&'static str],
    path: &'static str,
    instead: &'static str,
}

const fn ban(
    folder: &'static str,
    except: &'static [&'static str],
    path: &'static str,
    instead: &'static str,
) -> Ban {
    Ban { folder, except, path, instead }
}

/// Beside the readers: lib.rs hands on their types, located.rs makes errors of the engine from
/// those of the format.
const READERS: [&str; 4] = [
    "crates/engine/src/read/",
    "crates/engine/src/write/",
    "crates/engine/src/lib.rs",
    "crates/engine/src/located.rs",
];
const SOURCE: [&str; 1] = ["crates/remote/src/source/"];

const BANS: [Ban; 8] = [
    ban("crates/engine/src/", &READERS, "rootfile", "only read/ and write/ know ROOT"),
    ban("crates/engine/src/", &[], "tokio::net", "only `remote` opens connections"),
    ban("crates/engine/src/", &[], "std::net", "only `remote` opens connections"),
    ban("crates/remote/src/source/", &[], "scheduler", "sources obey, fetch/ decides"),
    ban("crates/remote/src/source/", &[], "crate::fetch", "sources do not know who drives them"),
    ban("crates/remote/src/fetch/", &[], "xrootd", "protocols belong in source/"),
    ban("crates/remote/src/", &SOURCE, "tokio::net", "only source/ opens connections"),
    ban("crates/remote/src/", &SOURCE, "std::net", "only source/ opens connections"),
];

fn file_findings(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for Ban { folder, except, path: banned, instead } in &BANS {
        if !path.starts_with(folder) || except.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        for (number, line) in code_lines(text).filter(|(_, line)| uses_path(line, banned)) {
            findings.push(format!("{path}:{number}: `{}`: {instead}", line.trim()));
        }
    }
    findings
}

#[test]
fn crates_depend_on_what_they_may() {
    let mut findings = Vec::new();
    for path in files_ending(&["/Cargo.toml"]) {
        let folder = path.trim_end_matches("/Cargo.toml");
        findings.extend(crate_findings(folder, &text(&path).expect("a manifest is text")));
    }
    report(findings);
}

#[test]
fn modules_import_what_they_may() {
    let mut findings = Vec::new();
    for path in files().iter().filter(|path| path.ends_with(".rs")) {
        findings.extend(file_findings(path, &text(path).expect("source is text")));
    }
    report(findings);
}

#[test]
fn the_rules_can_fail() {
    let manifest = "[dependencies]\nengine.workspace = true\n";
    assert_eq!(crate_findings("crates/xrootd", manifest).len(), 1);
    assert_eq!(crate_findings("crates/cli", manifest).len(), 0);
    assert_eq!(crate_findings("crates/new", manifest).len(), 1);
    assert_eq!(
        crate_findings("crates/remote", "[dependencies]\nrootfile.workspace = true\n").len(),
        1
    );
    assert_eq!(file_findings("crates/engine/src/a.rs", "use rootfile::Tree;").len(), 1);
    assert_eq!(file_findings("crates/remote/src/fetch/a.rs", "use xrootd::Client;").len(), 1);
    assert_eq!(file_findings("crates/engine/src/read/a.rs", "use rootfile::Tree;").len(), 0);
    assert_eq!(file_findings("crates/engine/src/read/a.rs", "use tokio::net::TcpStream;").len(), 1);
    let manifest = "[dependencies]\nxrootd.workspace = true\n";
    assert_eq!(crate_findings("crates/serve", manifest).len(), 0);
    assert_eq!(crate_findings("crates/cli", manifest).len(), 1);
}
