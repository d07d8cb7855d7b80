//! Every Rust file is part of a crate: no orphan that is never compiled.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{files_ending, report, text};
use crate::source::{code_lines, has_word};

/// Whether Cargo finds the file by itself.
fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let [.., folder, name] = parts[..] else { return true };
    let grandparent = parts.len().checked_sub(3).map_or("", |at| parts[at]);
    match folder {
        "src" => matches!(name, "lib.rs" | "main.rs"),
        "bin" => true,
        "tests" | "benches" | "examples" => grandparent != "src" && !path.contains("/src/"),
        "fuzz_targets" => true,
        _ => {
            name == "build.rs"
                || (name == "main.rs"
                    && matches!(grandparent, "tests" | "benches" | "examples" | "bin"))
        }
    }
}

/// The folder in which a file's submodules lie.
fn folder_of_modules(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.trim_end_matches(".rs");
    if matches!(stem, "lib" | "main" | "mod") || is_crate_root(path) {
        folder.to_owned()
    } else {
        format!("{folder}/{stem}")
    }
}

/// Files that `path` declares as modules, of those in `all`.
fn declared(path: &str, text: &str, all: &BTreeSet<&str>) -> Vec<String> {
    let folder = folder_of_modules(path);
    let own_folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    // A macro that writes `mod $name;` declares whatever the file names.
    let by_macro = text.contains("mod $");
    let mut found = Vec::new();
    for (_, line) in code_lines(text) {
        if let Some(target) = line.trim().strip_prefix("#[path = \"") {
            found.push(normal(&format!("{own_folder}/{}", target.split('"').next().unwrap_or(""))));
        }
        if let Some((_, target)) = line.split_once("include!(\"") {
            found.push(normal(&format!("{own_folder}/{}", target.split('"').next().unwrap_or(""))));
        }
        let Some((before, name)) = line.split_once("mod ") else { continue };
        let alone = before.is_empty() || before.ends_with([' ', '\t']);
        if let (true, Some(name)) = (alone, name.trim().strip_suffix(';')) {
            found.push(format!("{folder}/{name}.rs"));
            found.push(format!("{folder}/{name}/mod.rs"));
        }
    }
    if by_macro {
        let below =
            all.iter().filter(|file| file.rsplit_once('/').is_some_and(|(f, _)| f == folder));
        for file in below {
            let stem = file.rsplit('/').next().unwrap_or("").trim_end_matches(".rs");
            if code_lines(text).any(|(_, line)| has_word(line, stem)) {
                found.push((*file).to_owned());
            }
        }
    }
    found
}

/// Resolves `..` and `.` in a path with slashes.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether the file is a module of the crate's one test binary.
fn is_module_of_tests(path: &str, all: &BTreeSet<&str>) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    folder.ends_with("/tests") && name != "main.rs" && all.contains(&*format!("{folder}/main.rs"))
}

fn orphans(sources: &BTreeMap<String, String>) -> Vec<String> {
    let all: BTreeSet<&str> = sources.keys().map(String::as_str).collect();
    let mut reached = BTreeSet::new();
    let roots = all.iter().filter(|path| is_crate_root(path) && !is_module_of_tests(path, &all));
    let mut queue: Vec<String> = roots.map(|path| (*path).to_owned()).collect();
    while let Some(path) = queue.pop() {
        if let Some(text) = sources.get(&path)
            && reached.insert(path.clone())
        {
            queue.extend(declared(&path, text, &all));
        }
    }
    let lost = all.iter().filter(|path| !reached.contains(**path));
    lost.map(|path| format!("{path}: no module declares it: add `mod ...;` or remove the file"))
        .collect()
}

/// Files `x.rs` beside a folder `x/`: such a module is `x/mod.rs`.
fn beside_their_folder(paths: &BTreeSet<&str>) -> Vec<String> {
    let folders: BTreeSet<&str> =
        paths.iter().filter_map(|path| Some(path.rsplit_once('/')?.0)).collect();
    let beside = |path: &&&str| folders.contains(path.trim_end_matches(".rs"));
    let found = paths.iter().filter(beside);
    found.map(|path| format!("{path}: move it into its folder, as mod.rs")).collect()
}

#[test]
fn a_module_of_several_files_is_a_folder() {
    let files = files_ending(&[".rs"]);
    report(beside_their_folder(&files.iter().map(String::as_str).collect()));
}

#[test]
fn every_file_is_compiled() {
    let read = |path: String| text(&path).map(|text| (path, text));
    report(orphans(&files_ending(&[".rs"]).into_iter().filter_map(read).collect()));
}

#[test]
fn the_rule_can_fail() {
    let tree = |files: &[(&str, &str)]| -> BTreeMap<String, String> {
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    };
    let whole = [("a/src/lib.rs", "pub mod x;"), ("a/src/x.rs", "mod y;"), ("a/src/x/y.rs", "")];
    assert_eq!(orphans(&tree(&whole)), Vec::<String>::new());
    assert_eq!(orphans(&tree(&[whole[0], whole[2]])).len(), 1);
    let paths = BTreeSet::from(["a/src/lib.rs", "a/src/x.rs", "a/src/x/y.rs", "a/src/z.rs"]);
    assert_eq!(beside_their_folder(&paths).len(), 1);
    assert!(beside_their_folder(&BTreeSet::from(["a/src/x/mod.rs", "a/src/x/y.rs"])).is_empty());
    let tests = [("a/tests/main.rs", "mod x;"), ("a/tests/x.rs", ""), ("a/tests/y.rs", "")];
    assert_eq!(orphans(&tree(&tests[..2])), Vec::<String>::new());
    assert_eq!(orphans(&tree(&tests)).len(), 1);
    let by_macro =
        [("a/src/lib.rs", "m! { (mod $n;) open }"), ("a/src/open.rs", ""), ("a/src/stat.rs", "")];
    assert_eq!(orphans(&tree(&by_macro)).len(), 1);
}
