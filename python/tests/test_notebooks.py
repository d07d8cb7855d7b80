"""Output in notebooks, and tables in the terminal that can be read."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

EVIL = "<script>alert(1)</script>&"


class Checked(HTMLParser):
    """Counts tags, and says when one is closed that was not open."""

    VOID = ("line", "rect", "path", "meta")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: dict[str, int] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen[tag] = self.seen.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of a thousand branches, and one whose names are HTML."""
    path = tmp_path_factory.mktemp("wide") / "wide.root"
    with uproot.recreate(path) as file:
        names = [f"HLT_IsoMu24_and_something_long_{i}" for i in range(900)]
        names += [f"Muon_{i}" for i in range(100)]
        file.mktree("wide", dict.fromkeys(names, np.dtype("f4"))).extend(
            dict.fromkeys(names, np.zeros(3, dtype="f4"))
        )
        file.mktree("evil", {EVIL: np.dtype("i4")}, title=EVIL).extend(
            {EVIL: np.arange(3, dtype="i4")}
        )
    return path


def shown(tree: Any, **options: Any) -> list[str]:
    stream = io.StringIO()
    tree.show(stream=stream, **options)
    return stream.getvalue().splitlines()


def test_a_tree_of_a_thousand_branches_can_be_read(wide: Path) -> None:
    tree = farroot.open(wide)["wide"]
    lines = shown(tree)
    assert len(lines) == 2 + 60 + 1
    assert lines[2].startswith("HLT_IsoMu24_and_something_long_0 ")
    assert lines[-1].startswith("... and 940 more of 1,000: show(limit=None) shows all, ")
    assert len(shown(tree, limit=None)) == 1002
    assert len(shown(tree, limit=7)) == 2 + 7 + 1
    assert len(shown(tree, filter_name="Muon_1*")) == 2 + 11
    assert max(len(line) for line in shown(tree, name_width=12)[:-1]) <= 40
    with pytest.raises(farroot.InvalidArgumentError, match="at least 3"):
        tree.show(name_width=2)


def test_trees_files_and_rntuples_in_a_notebook(wide: Path, made: Path, corpus: Path) -> None:
    file = farroot.open(wide)
    page = Checked(file["wide"]._repr_html_())
    assert page.seen["tr"] == 101
    assert "and 900 more" in file["wide"]._repr_html_()
    assert Checked(farroot.open(made)["events"]._repr_html_()).seen["tr"] == 19
    assert "TTree" in file._repr_html_()
    Checked(file["wide"]["Muon_1"]._repr_html_())
    staff = farroot.open(corpus / "ntpl001_staff_rntuple_v1-0-0-0.root")["Staff"]
    assert Checked(staff._repr_html_()).seen["tr"] == len(staff) + 1


def test_names_of_a_file_are_not_html(wide: Path) -> None:
    file = farroot.open(wide)
    tree = file["evil"]
    for one in (file, tree, tree[0], tree.plan(), tree.report()):
        text = one._repr_html_()
        assert "<script" not in text
        assert "script" not in Checked(text).seen


def test_plans_reports_and_timelines(made: Path, tmp_path: Path) -> None:
    tree = farroot.open(made)["events"]
    plan = tree.plan(["int32", "text"])
    assert plan.stored_bytes == sum(each.stored_bytes for each in plan)
    assert "int32" in plan._repr_html_()
    tree.arrays(["int32", "text"])
    report = Checked(tree.report()._repr_html_())
    assert report.seen["table"] >= 3
    with farroot.reporting() as one:
        tree.arrays("int8")
    Checked(one._repr_html_())
    timeline = tree.timeline(tmp_path / "read.svg", width=40)
    assert type(timeline) is farroot.Timeline
    assert timeline.svg == (tmp_path / "read.svg").read_text()
    assert timeline.svg.startswith("<svg")
    assert timeline.svg in timeline._repr_html_()
    assert "svg" in Checked(timeline._repr_html_()).seen


def test_every_table_has_a_timeline(corpus: Path, several: list[Path]) -> None:
    """RNTuples had none, and a chain drew that of its first file."""
    file = farroot.open(corpus / "ntpl001_staff_rntuple_v1-0-0-0.root")
    file["Staff"].arrays(["Age"])
    assert " ms" in file["Staff"].timeline()
    assert " ms" in file.timeline()
    chain = farroot.chain([f"{path}:events" for path in several])
    with pytest.raises(farroot.UnsupportedError, match="one of its files"):
        chain.timeline()
