//! Files import one way: no circle of more than three files.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{files, report, text};
use crate::syntax::{Crate, crates};

/// Files that import each other may be this many: a type and its parts.
const FILES_MAX: usize = 3;

/// Folders with larger circles, and the files of the largest. The list can only become shorter.
const EXCEPTIONS: [(&str, usize); 0] = [];

/// Sets of files of which each imports every other, directly or over others.
fn circles(imports: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (*file, reachable(imports, file))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for (file, targets) in &reached {
        if !seen.insert(*file) {
            continue;
        }
        let back = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
        let circle: BTreeSet<&str> = targets.iter().filter(back).copied().collect();
        seen.extend(&circle);
        if circle.len() > 1 {
            circles.push(circle.into_iter().map(str::to_owned).collect());
        }
    }
    circles
}

/// The files that `start` imports, directly or over others; itself, where a circle leads back.
fn reachable<'a>(
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    start: &'a str,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut queue = vec![start];
    while let Some(file) = queue.pop() {
        let targets = imports.get(file).into_iter().flatten();
        queue.extend(targets.filter(|target| reached.insert(**target)));
    }
    reached
}

/// Circles that are too large, and exceptions that are no longer needed at their size.
fn findings(circles: &[BTreeSet<String>], exceptions: &[(&str, usize)]) -> Vec<String> {
    let of = |circle: &BTreeSet<String>| {
        let within =
            |(folder, _): &&(&str, usize)| circle.iter().all(|file| file.starts_with(folder));
        exceptions.iter().find(within).copied()
    };
    let mut findings = Vec::new();
    let mut largest: BTreeMap<&str, usize> = BTreeMap::new();
    for circle in circles.iter().filter(|circle| circle.len() > FILES_MAX) {
        let (folder, limit) = of(circle).unwrap_or(("", FILES_MAX));
        let size = largest.entry(folder).or_default();
        *size = circle.len().max(*size);
        if circle.len() > limit {
            let files = circle.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            findings.push(format!(
                "{} files import each other: {files}: move what they share below them",
                circle.len()
            ));
        }
    }
    for (folder, limit) in exceptions {
        let size = largest.get(folder).copied().unwrap_or(0);
        if size < *limit {
            findings.push(format!(
                "tidy/src/circles.rs: the largest circle in {folder} has {size} files: lower {limit}"
            ));
        }
    }
    findings
}

/// The circles of a crate, with paths from the root of the checkout.
fn circles_of_crate(folder: &str, sources: &Crate) -> Vec<BTreeSet<String>> {
    let whole = |file: String| format!("{folder}/src/{file}");
    let found = circles(&sources.imports()).into_iter();
    found.map(|circle| circle.into_iter().map(whole).collect()).collect()
}

/// The files of a Python package that one of its files imports when it runs, in functions too; not
/// those of which it only names types.
fn python_imports<'a>(path: &str, text: &str, all: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut typing = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with(' ') && !line.is_empty() {
            typing = line.starts_with("if TYPE_CHECKING");
        }
        let statement = line.trim_start();
        if typing || !statement.starts_with("from .") {
            continue;
        }
        let Some((from, names)) = statement["from ".len()..].split_once(" import ") else {
            continue;
        };
        let mut names = names.to_owned();
        while names.contains('(') && !names.contains(')') {
            let Some(more) = lines.next() else { break };
            names += more;
        }
        let above = from.chars().take_while(|letter| *letter == '.').count();
        let folder: Vec<&str> = path.rsplit('/').skip(above).collect();
        let folder: Vec<&str> = folder.into_iter().rev().collect();
        let below = from[above..].split('.').filter(|name| !name.is_empty());
        let module = folder.into_iter().chain(below).collect::<Vec<_>>().join("/");
        let words = names.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let words = words.filter(|name| !name.is_empty());
        let modules = words.map(|name| format!("{module}/{name}"));
        let file = |module: &str| {
            let files = [".py", "/__init__.py", ".pyi"].map(|end| format!("{module}{end}"));
            files.iter().find_map(|file| all.get(file.as_str()).copied())
        };
        // A name is a module of the package, or something that the package's own file defines.
        found.extend(modules.filter_map(|name| file(&name).or_else(|| file(&module))));
    }
    found.remove(path);
    found
}

fn python_circles(sources: &BTreeMap<String, String>) -> Vec<BTreeSet<String>> {
    let all: BTreeSet<&str> = sources.keys().map(String::as_str).collect();
    let imports =
        sources.iter().map(|(path, text)| (path.as_str(), python_imports(path, text, &all)));
    circles(&imports.collect())
}

#[test]
fn imports_lead_one_way() {
    let mut circles = Vec::new();
    for (folder, sources) in crates() {
        circles.extend(circles_of_crate(&folder, &sources));
    }
    let package = files().into_iter().filter(|path| path.starts_with("python/farroot/"));
    // A stub stands for a module of compiled code.
    let package = package.filter(|path| path.ends_with(".py") || path.ends_with(".pyi"));
    let read = |path: String| text(&path).map(|text| (path, text));
    circles.extend(python_circles(&package.filter_map(read).collect()));
    report(findings(&circles, &EXCEPTIONS));
}

#[test]
fn the_rule_can_fail() {
    let parse = |files: &[(&'static str, &'static str)]| {
        circles_of_crate("a", &Crate::parse(files.iter().copied()))
    };
    let a = ("lib.rs", "mod b; mod c; mod d; pub use b::B; pub struct A;");
    let b = ("b/mod.rs", "use crate::c::C; pub struct B;");
    let c = ("c.rs", "fn c() { super::d::f() } pub struct C;");
    let one_way = ("d.rs", "#[cfg(test)] mod tests { use crate::B; }");
    assert!(parse(&[a, b, c, one_way]).is_empty());
    // Through the name that lib.rs hands on, which does not make lib.rs one of them.
    let back = ("d.rs", "use crate::B;");
    let found = parse(&[a, b, c, back]);
    assert_eq!(found.iter().map(BTreeSet::len).collect::<Vec<_>>(), [3]);
    assert!(findings(&found, &[]).is_empty());
    let found =
        parse(&[a, b, ("c.rs", "use crate::{A, d};"), back, ("lib.rs", "use b::B; pub struct A;")]);
    assert_eq!(found.iter().map(BTreeSet::len).collect::<Vec<_>>(), [4]);
    assert_eq!(findings(&found, &[]).len(), 1);
    assert_eq!(findings(&found, &[("a/src", 4)]).len(), 0);
    assert_eq!(findings(&found, &[("b", 0)]).len(), 1);
    assert_eq!(findings(&found, &[("a/src", 5)]).len(), 1);
}

#[test]
fn the_rule_can_fail_for_python() {
    let circles = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        python_circles(&files.collect())
    };
    let a = ("p/a.py", "from .b import (\n    x,\n)\n");
    let b = ("p/b.py", "from . import q\n");
    assert!(circles(&[a, b, ("p/q/__init__.py", "")]).is_empty());
    let back = ("p/q/__init__.py", "def f():\n    from ..a import y\n");
    assert_eq!(circles(&[a, b, back])[0].len(), 3);
    let core = ("p/core.pyi", "");
    let user = ("p/q/__init__.py", "from .. import core, b\n");
    assert_eq!(circles(&[a, b, user, core, ("p/__init__.py", "from .q import x\n")])[0].len(), 2);
    let types = ("p/q/__init__.py", "if TYPE_CHECKING:\n    from ..a import Y\n");
    assert!(circles(&[a, b, types]).is_empty());
}
