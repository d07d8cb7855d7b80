//! Just enough understanding of `Cargo.toml`: the dependencies of a table, and the name of a
//! library.

use crate::repository::{files_ending, report, text};

/// Names in `[dependencies]`, `[dev-dependencies]` ... of a manifest, also written as
/// `[dependencies.name]` or below a `[target...]`.
pub fn dependencies(manifest: &str, table: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let plain = header == table || header.ends_with(&format!(".{table}"));
            inside = plain && !header.starts_with("workspace");
            if let Some(name) = header.strip_prefix(&format!("{table}.")) {
                names.push(name.to_owned());
            }
        } else if inside && !line.starts_with('#') {
            let name = line.split(['=', '.']).next().unwrap_or("").trim();
            if !name.is_empty() && line.contains('=') && !name.contains(['"', '{', '}', ']']) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

#[test]
fn dependencies_are_found_however_written() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\n# why\nbytes.workspace = true\n\
                    tokio = { version = \"1\" }\n[dependencies.serde]\nversion = \"1\"\n\
                    [dev-dependencies]\nproptest = \"1\"\n[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n";
    assert_eq!(dependencies(manifest, "dependencies"), ["bytes", "tokio", "serde", "libc"]);
    assert_eq!(dependencies(manifest, "dev-dependencies"), ["proptest"]);
}

/// A library that is called otherwise than its package.
fn renamed(manifest: &str) -> Option<&str> {
    let library = manifest.split("\n[lib]\n").nth(1)?.split("\n[").next()?;
    library.lines().find_map(|line| line.strip_prefix("name = "))
}

#[test]
fn libraries_have_the_names_of_their_crates() {
    let manifests = files_ending(&["Cargo.toml"]).into_iter();
    // Python finds the extension module by the name of its file, farroot/_core.
    let rust = manifests.filter(|path| path != "python/Cargo.toml");
    let name = |path: String| {
        let manifest = text(&path)?;
        let name = renamed(&manifest)?;
        Some(format!("{path}: remove the library's name {name}: dependants call it as they like"))
    };
    report(rust.filter_map(name).collect());
    assert_eq!(renamed("[package]\nname = \"a\"\n\n[lib]\nname = \"b\"\n"), Some("\"b\""));
    assert_eq!(
        renamed("[package]\nname = \"a\"\n\n[lib]\ntest = false\n\n[[bin]]\nname = \"c\""),
        None
    );
}
