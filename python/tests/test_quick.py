"""The tests that `make quick` selects for changed files."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .skips import REPOSITORY

QUICK = REPOSITORY / ".ci" / "quick.py"
#: A small checkout: files and their texts.
FILES = {
    "crates/remote/Cargo.toml": '[package]\nname = "farroot-remote"\n[lib]\nname = "remote"\n',
    "python/Cargo.toml": '[package]\nname = "farroot-python"\n',
    "python/farroot/merging.py": "def merge(): ...\ndef _hidden(): ...\nclass Merged: ...\n",
    "python/farroot/_locks.py": "class Lock: ...\n",
    "python/farroot/containers.py": "from ._locks import Lock\nclass Basket: ...\n",
    "python/tests/same.py": "",
    "python/tests/root/kinds.py": "",
    "python/tests/test_merge.py": "farroot.merge()\nfarroot._hidden()",
    "python/tests/test_merge_sums.py": "from .same import same_numpy",
    "python/tests/test_basket.py": "farroot.Basket\nfarroot.merge()\nfarroot.Merged",
    "python/tests/test_ending.py": 'written_by("kinds", folder)',
    "python/tests/test_merging_far.py": "",
    "python/tests/test_release.py": '(ROOT / "Makefile")\nROOT / "release" / "check.py"',
    "python/tests/test_emerged.py": "farroot.merged\nMakefile\nxfarroot.merge",
}


def quick() -> Any:
    spec = importlib.util.spec_from_file_location("quick", QUICK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its data classes look for their module there.
    sys.modules["quick"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "packages", "tests", "pages"),
    [
        ("crates/remote/src/source/tls.rs", "farroot-remote", "", ""),
        ("crates/remote/Cargo.toml", "farroot-remote", "", ""),
        ("Cargo.toml", "", "", ""),
        ("python/src/ending.rs", "farroot-python", "ending", ""),
        ("python/src/end.rs", "farroot-python", "", ""),
        ("python/farroot/merging.py", "", "merging_far basket merge", ""),
        ("python/farroot/_locks.py", "", "basket", ""),
        ("python/farroot/gone.py", "", "", ""),
        ("python/tests/test_merge_sums.py", "", "merge_sums", ""),
        ("python/tests/test_gone.py", "", "", ""),
        ("python/tests/same.py", "", "merge_sums", ""),
        ("python/tests/root/kinds.py", "", "ending", ""),
        ("docs/guide.md", "", "", "guide.md"),
        ("README.md", "", "", "README.md"),
        ("Makefile", "", "release", ""),
        ("release/check.py", "", "release", ""),
    ],
)
def test_a_changed_file_selects_its_tests(
    checkout: Path, changed: str, packages: str, tests: str, pages: str
) -> None:
    found = quick().selected([changed], checkout)
    assert found.packages == {"farroot-tidy", *packages.split()}
    assert found.tests == {f"tests/test_{name}.py" for name in tests.split()}
    assert found.pages == {*pages.split()}


def test_a_file_that_many_tests_name_selects_those_that_name_it_most(checkout: Path) -> None:
    module = quick()
    for number in range(20):
        text = "from .same import a\n" * (number + 1)
        (checkout / f"python/tests/test_{number}.py").write_text(text)
    found = module.selected(["python/tests/same.py"], checkout).tests
    assert found == {f"tests/test_{19 - number}.py" for number in range(module.MOST)}


def test_commands_are_those_of_what_was_selected() -> None:
    module = quick()
    found = module.selected(["crates/remote/src/lib.rs", "README.md", "python/tests/test_quick.py"])
    cargo, extension, python, pages = module.commands(found, ["pytest"])
    assert cargo[1:] == ["test", "--quiet", "-p", "farroot-remote", "-p", "farroot-tidy"]
    assert extension == ["make", "extension"]
    assert python == ["pytest", "-m", "not interop", "tests/test_quick.py"]
    assert pages == ["pytest", "tests/test_docs.py", "-k", "README.md"]
    assert module.commands(module.selected([]), []) == [cargo[:3] + cargo[5:]]


def test_changed_are_files_since_the_branch_was_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed, not committed, and new ones; none that the other branch has changed since."""
    script = """
        git init -q -b main && git config user.email a@b.c && git config user.name a
        touch kept edited && git add . && git commit -qm one
        git switch -qc branch && touch committed && git add . && git commit -qm two
        git switch -q main && touch theirs && git add . && git commit -qm three
        git switch -q branch && echo x > edited && touch new && echo ignored > .gitignore
        touch ignored
    """
    subprocess.run(["sh", "-ec", script], cwd=tmp_path, check=True)
    module = quick()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    assert module.changed("main") == [".gitignore", "committed", "edited", "new"]
