"""The site of docs/: its reference has every public name, and its checker finds faults.

`make docs` builds it, runs its notebooks and checks all of its links.
"""

from __future__ import annotations

import importlib.util
import re
import zlib
from pathlib import Path
from types import ModuleType

import pytest

import farroot

DOCS = Path(__file__).parents[2] / "docs"


def module(name: str) -> ModuleType:
    """One of the files that build the site."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "site" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_every_public_name_has_a_page(tmp_path: Path) -> None:
    reference = module("reference")
    names = reference.names()
    public = {*farroot.__all__}
    assert sorted(names) == sorted(public)
    reference.write(tmp_path)
    assert len([*tmp_path.rglob("*.rst")]) == len(names) + 1
    assert "farroot.open" in (tmp_path / "function/open.rst").read_text()
    assert "farroot.Tree" in (tmp_path / "class/TTree.rst").read_text()


def test_unsorted_names_and_pages_are_on_the_site(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reference = module("reference")
    monkeypatch.setattr(farroot, "__all__", [*farroot.__all__, "new_name"])
    assert reference.names()[-1] == "new_name"
    monkeypatch.syspath_prepend(DOCS / "site")
    pytest.importorskip("sphinx", reason="SPHINX IS NOT INSTALLED (make docs installs it)")
    build = module("build")
    first = build.first_page()
    listed = re.findall(r"^[\w/-]+$", first, re.MULTILINE)
    pages = {path.stem for path in DOCS.glob("*.md")} - {"README"}
    pages |= {f"notebooks/{path.stem}" for path in DOCS.glob("notebooks/*.md")}
    assert pages <= {*listed}
    assert len(listed) == len({*listed})
    assert "* [guide.md](guide.md): " in first


def built(site: Path, pages: dict[str, str]) -> Path:
    for name, text in pages.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    listed = zlib.compress(b"farroot.open py:function 1 open.html#$ -\nopen std:label -1 x y\n")
    (site / "objects.inv").write_bytes(b"# Sphinx\n# Project\n# Version\n# zlib\n" + listed)
    return site


GOOD = {
    "index.html": '<a href="a/b.html#there">b</a><img src="p.svg"><a href="https://c.d/e">e</a>',
    "a/b.html": '<p id="there"></p><a href="../index.html">up</a><a href="#there">here</a>',
    "p.svg": "<svg/>",
}


def test_a_good_site_has_no_faults(tmp_path: Path) -> None:
    assert module("check").faults(built(tmp_path, GOOD), ["open"]) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("index.html", '<a href="a/b.html"></a><a href="no.html"></a>', "no.html is not there"),
        ("index.html", '<a href="a/b.html#nowhere"></a>', "no such anchor"),
        ("index.html", "<p></p>", "a/b.html: no page leads there"),
        ("a/b.html", '<p id="there"></p><img src="../gone.svg">', "gone.svg is not there"),
        ("a/b.html", '<p id="there"></p><script src="https://c.d/e.js"></script>', "elsewhere"),
    ],
)
def test_faults_of_a_site_are_found(tmp_path: Path, name: str, text: str, fault: str) -> None:
    (found,) = module("check").faults(built(tmp_path, {**GOOD, name: text}), ["open"])
    assert fault in found


def test_a_name_without_a_page_is_found(tmp_path: Path) -> None:
    found = module("check").faults(built(tmp_path, GOOD), ["open", "iterate"])
    assert found == ["farroot.iterate has no page"]
