//! ROOT and uproot read written files, with the same values and without a warning.

use std::path::Path;
use std::process::Command;

use farroot_rootfile::write::check::check;

/// Runs a program that must succeed without a word to the standard error.
fn quietly(program: impl AsRef<std::ffi::OsStr>, arguments: &[&Path]) {
    let done = Command::new(program).args(arguments).output().expect("it runs");
    eprint!("{}", String::from_utf8_lossy(&done.stdout));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.is_empty(), "{said}");
}

#[test]
fn objects_are_read_by_root_and_uproot() {
    let test = std::env::current_exe().expect("a path");
    let example = test.ancestors().nth(2).expect("a folder").join("examples").join("write_objects");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("objects.root");
    quietly(&example, &[&file]);
    assert_eq!(check(&std::fs::read(&file).expect("it is there").into()), []);
    let Ok(python) = std::env::var("FARROOT_PYTHON") else {
        eprintln!("SKIPPED: FARROOT_PYTHON names no Python with ROOT or uproot");
        return;
    };
    let oracle = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/objects.py");
    quietly(python, &[Path::new(oracle), &file]);
    // ROOT has added to it meanwhile.
    assert_eq!(check(&std::fs::read(&file).expect("it is there").into()), []);
}
