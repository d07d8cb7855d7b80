//! Tests and the development build of the Python extension compile the same crates with
//! the same features, so that each is built once.

use std::collections::BTreeSet;
use std::process::Command;

use crate::repository::{report, root};

/// `name version|features` of every package that a build needs.
fn packages(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--prefix", "none", "--format", "{p}|{f}"])
        .args(selection)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo tree {selection:?}: {error}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// Packages that are built once more for the extension, since their features differ.
fn findings(tests: &BTreeSet<String>, extension: &BTreeSet<String>) -> Vec<String> {
    let name = |line: &String| line.split('|').next().unwrap_or_default().to_owned();
    let known: BTreeSet<String> = tests.iter().map(name).collect();
    let differs = |line: &&String| known.contains(&name(line)) && !tests.contains(*line);
    let say = |line: &String| {
        format!(
            "{line}: other features than in the tests' build, so all that depends on it is compiled \
             twice: name the difference in the feature like-tests of python/Cargo.toml"
        )
    };
    // The extension itself is the one package whose features are meant to differ.
    let packages = extension.iter().filter(|line| !line.starts_with("farroot-python "));
    packages.filter(differs).map(say).collect()
}

#[test]
fn the_extension_shares_what_the_tests_compile() {
    let tests = packages(&["--workspace", "--edges", "normal,build,dev"]);
    let extension = ["-p", "farroot-python", "--features", "like-tests", "--edges", "normal,build"];
    report(findings(&tests, &packages(&extension)));
    // `make FEATURES=all`, of which continuous integration makes use.
    let tests = ["--features", "farroot-engine/arrow,farroot-cli/parquet"];
    let tests = packages(&[&["--workspace", "--edges", "normal,build,dev"], &tests[..]].concat());
    let all = "like-tests,engine/arrow,cli/parquet";
    let extension = ["-p", "farroot-python", "--features", all, "--edges", "normal,build"];
    report(findings(&tests, &packages(&extension)));
}

/// A library that was a third of the first build, for one option of one verb, and the tables of
/// Unicode that `idna_adapter` brings from its version 1.1 on (Cargo.lock has 1.0.0).
fn heavy(packages: &BTreeSet<String>) -> Vec<String> {
    let is_heavy = |line: &&String| ["parquet ", "icu_"].iter().any(|name| line.starts_with(name));
    let say =
        |line: &String| format!("{line}: in the package's default build, which is to be quick");
    packages.iter().filter(is_heavy).map(say).collect()
}

#[test]
fn the_extension_builds_nothing_heavy() {
    report(heavy(&packages(&["-p", "farroot-python", "--edges", "normal,build"])));
    let some = ["parquet v60|", "icu_properties v2|", "tokio v1|"].map(String::from);
    assert_eq!(heavy(&some.into()).len(), 2);
}

#[test]
fn a_difference_is_found() {
    let set = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    let tests: BTreeSet<String> = set(&["a v1|x", "b v1|", "c v2|y"]);
    assert_eq!(findings(&tests, &set(&["a v1|x", "d v1|", "farroot-python v1|z"])), [""; 0]);
    assert_eq!(findings(&tests, &set(&["a v1|", "b v1|"])).len(), 1);
}
