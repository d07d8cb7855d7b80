"""Runs the tests of the files that a branch changes: `make quick`. `--list` only names them.

Changed are files that differ from where the branch left `--base`, committed or not. They select:

- Rust: the tests of its crate, and of no crate that depends on it. `farroot-tidy`, which reads
  every file, is always tested.
- Rust of the extension, too: the test files with its name (`ending.rs`: `test_ending.py`).
- A test file of Python: itself. Another file of `python/tests`: the test files that import it, or
  for which it is a script of ROOT.
- A module of `python/farroot`: the test files with its name, those that name it
  (`farroot.merging`), and those that name something public that it defines (`farroot.merge`).
  For a module with an underscore, the names are those that its importers define.
- A page of `docs/`, or the README: its blocks, in `test_docs.py`.
- Any other file: the test files that have its name in quotes.

Of more than `MOST` test files for one file, those that name it most often are run. Tests that want
ROOT are left out.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = Path("python/tests")
PACKAGE = Path("python/farroot")
MOST = 6
TIDY = "farroot-tidy"
#: The exit status of pytest where all of the selected tests want ROOT.
NONE_RUN = 5


@dataclass
class Selected:
    """Cargo's packages, test files of Python relative to `python/`, and pages of the documents."""

    packages: set[str] = field(default_factory=set)
    tests: set[str] = field(default_factory=set)
    pages: set[str] = field(default_factory=set)


def changed(base: str) -> list[str]:
    """Paths of files that differ from the commit where this branch left another."""
    left = _git("merge-base", base, "HEAD").strip()
    names = _git("diff", "--name-only", left) + _git("ls-files", "--others", "--exclude-standard")
    return sorted(set(names.splitlines()))


def selected(paths: Iterable[str], root: Path = ROOT) -> Selected:
    """The tests of changed files."""
    texts = {path.name: path.read_text() for path in sorted((root / TESTS).glob("test_*.py"))}
    found = Selected({TIDY})
    for name in paths:
        path = Path(name)
        if path.suffix == ".rs" or path.name == "Cargo.toml":
            found.packages |= _package(root, path)
            extension = path.is_relative_to("python/src")
            tests = [test for test in texts if extension and _is_of(test, path)]
        elif path.parent == TESTS and path.name.startswith("test_"):
            tests = [path.name] if path.name in texts else []
        elif name == "README.md" or (path.parent == Path("docs") and path.suffix == ".md"):
            found.pages.add(path.name)
            tests = []
        else:
            tests = _naming(texts, path, _words(root, path))
        found.tests |= {f"tests/{test}" for test in tests}
    return found


def _package(root: Path, path: Path) -> set[str]:
    """The package that a file belongs to."""
    for folder in path.parents:
        manifest = root / folder / "Cargo.toml"
        if folder != Path() and manifest.exists():
            named = re.search(r'^name = "(.+)"$', manifest.read_text(), re.MULTILINE)
            return {named[1]} if named else set()
    return set()


def _words(root: Path, path: Path) -> str:
    """An expression for the places where a test file names a file or something of it."""
    stem = re.escape(path.stem)
    if path.is_relative_to(TESTS / "root"):
        return rf"\"{stem}\"|from \.root import [^\n]*\b{stem}\b|from \.root\.{stem} import"
    if path.parent == TESTS:
        return rf"from \.{stem} import|from \. import [^\n]*\b{stem}\b|tests\.{stem}\b"
    if path.is_relative_to(PACKAGE) and path.suffix == ".py":
        return rf"\bfarroot\.({'|'.join(_names(root, path))})\b|from farroot import {stem}\b"
    return rf"[\"/]{re.escape(path.name)}\"|module\(\"{stem}\"\)"


def _names(root: Path, path: Path) -> list[str]:
    """A module of the package, and the public names that tests may know it by."""
    if not path.stem.startswith("_"):
        return [path.stem, *_public(root / path)]
    folder = (root / path).parent
    imports = re.compile(rf"from \.{path.stem} import|from \. import [^\n]*\b{path.stem}\b")
    by = [each for each in sorted(folder.glob("*.py")) if imports.search(each.read_text())]
    public = [name for each in by if each.stem != "__init__" for name in _public(each)]
    return [path.stem, *_public(root / path), *public]


def _public(path: Path) -> list[str]:
    """The public functions and classes that a module defines."""
    if not path.exists():
        return []
    body = ast.parse(path.read_text()).body
    defined = [each.name for each in body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    return [name for name in defined if not name.startswith("_")]


def _naming(texts: dict[str, str], path: Path, words: str) -> list[str]:
    """The test files with the name of a file, and those in which an expression is found most."""
    counts = {name: len(re.findall(words, text)) for name, text in texts.items()}
    named = [name for name in texts if path.is_relative_to(PACKAGE) and _is_of(name, path)]
    others = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
    return list(dict.fromkeys([*named, *others]))[:MOST]


def _is_of(test: str, path: Path) -> bool:
    """Whether a test file has the name of a file."""
    return re.fullmatch(rf"test_{re.escape(path.stem.strip('_'))}(_.*)?\.py", test) is not None


def _git(*words: str) -> str:
    command = ["git", "-c", "core.quotePath=false", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def commands(found: Selected, pytest: list[str]) -> list[list[str]]:
    """The commands that run selected tests, with their folders."""
    cargo = [os.environ.get("CARGO", "cargo"), "test", "--quiet"]
    run = [[*cargo, *(word for name in sorted(found.packages) for word in ("-p", name))]]
    if found.tests or found.pages:
        run.append(["make", "extension"])
    if found.tests:
        run.append([*pytest, "-m", "not interop", *sorted(found.tests)])
    if found.pages:
        pages = " or ".join(sorted(found.pages))
        run.append([*pytest, "tests/test_docs.py", "-k", pages])
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default="main", help="the branch that this one is for")
    parser.add_argument("--list", action="store_true", help="name the tests, and run none")
    parser.add_argument("pytest", nargs="*", help="the command that runs Python tests")
    asked = parser.parse_args()
    paths = changed(asked.base)
    failed = False
    pytest = asked.pytest or [sys.executable, "-m", "pytest"]
    for command in commands(selected(paths), pytest):
        print("quick:", *command, flush=True)
        if not asked.list:
            folder = ROOT / "python" if command[: len(pytest)] == pytest else ROOT
            code = subprocess.run(command, cwd=folder, check=False).returncode
            failed = failed or code not in (0, NONE_RUN)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
