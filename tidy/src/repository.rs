//! The files of the checkout, and how findings are shown.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The top folder of the checkout. Cargo names it when it runs the tests, since checkouts that
/// share a folder for builds share the program, too.
pub fn root() -> PathBuf {
    let tidy = std::env::var("CARGO_MANIFEST_DIR");
    let tidy = tidy.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&tidy).parent().expect("tidy lies in the root").to_path_buf()
}

/// Paths, relative to the root and with slashes, of all files that git tracks or would track.
pub fn files() -> Vec<String> {
    list(&["ls-files", "--cached", "--others", "--exclude-standard"])
        .into_iter()
        .filter(|path| root().join(path).is_file())
        .collect()
}

/// As [`files`], only those already tracked.
pub fn tracked() -> Vec<String> {
    list(&["ls-files"])
}

fn list(arguments: &[&str]) -> Vec<String> {
    let output = Command::new("git")
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("tidy asks git for the files: run it in a git checkout, with git installed");
    assert!(output.status.success(), "git {arguments:?}: {:?}", output.status);
    let mut paths: Vec<String> =
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// All files whose name ends in one of `endings`.
pub fn files_ending(endings: &[&str]) -> Vec<String> {
    files().into_iter().filter(|path| endings.iter().any(|end| path.ends_with(end))).collect()
}

/// A file's text; `None` for a file that is not text.
pub fn text(path: &str) -> Option<String> {
    let bytes = std::fs::read(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    if bytes.contains(&0) { None } else { String::from_utf8(bytes).ok() }
}

/// Fails with all findings at once.
#[track_caller]
pub fn report(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}
