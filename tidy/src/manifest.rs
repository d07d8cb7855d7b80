//! Just enough understanding of `Cargo.toml`: which dependencies a table names.

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
