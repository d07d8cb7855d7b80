"""Output in notebooks, and tables in the terminal that can be read."""

from __future__ import annotations

import html
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import hist
import numpy as np
import pytest
import uproot

import farroot

EVIL = "<script>alert(1)</script>&"


class Checked(HTMLParser):
    """Counts tags, and says when one is closed that was not open."""

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


def test_a_branch_in_a_notebook(made: Path, corpus: Path) -> None:
    """A branch without parts was an empty table."""
    tree = farroot.open(made)["events"]
    text = tree["jagged"]._repr_html_()
    for fact in ("float[]", "var * float32", "AsJagged(AsDtype", "6 baskets", "1,000 entries"):
        assert html.escape(fact, quote=False) in html.unescape(text), fact
    assert Checked(text).seen["table"] == 1
    staff = farroot.open(corpus / "ntpl001_staff_rntuple_v1-0-0-0.root")["Staff"]
    assert "int32" in staff["Age"]._repr_html_()


def filled(folder: Path) -> Any:
    """A file with histograms and graphs of many kinds."""
    random = np.random.default_rng(1)
    new = hist.Hist.new
    one = new.Reg(40, 0, 200, label=EVIL).Double().fill(random.exponential(40, 1000))
    two = new.Reg(300, -3, 3, label="x").Reg(200, -3, 3, label="y").Double()
    named = new.StrCat(["ee", "mumu", EVIL]).Double().fill(["ee", "mumu", "mumu"])
    with farroot.recreate(folder / "drawn.root") as file:
        file["one"] = one
        file["two"] = two.fill(random.normal(size=5000), random.normal(size=5000))
        file["mean"] = new.Reg(5, 0, 1).Mean().fill(random.random(100), sample=random.random(100))
        file["named"] = named
        file["below zero"] = new.Var([0, 1, 5]).Weight().fill([0, 2], weight=[-1, 3])
        file["empty"] = np.histogram([], bins=5, range=(0, 1))
        file["one value"] = np.histogram([1.0], bins=1)
        file["long"] = np.histogram(random.normal(size=1000), bins=100_000)
        file["not finite"] = (np.array([np.nan, 1.0]), np.array([0.0, 1, 2]))
        file["three"] = new.Reg(2, 0, 1).Reg(2, 0, 1).Reg(2, 0, 1).Double()
        points = {"x": [1.0, 2.0], "y": [1.0, 4.0], "x_errors": [0.1, 0.1], "y_errors": [1.0, 2.0]}
        file["points"] = farroot.as_TGraph(points, title=EVIL)
    return farroot.open(folder / "drawn.root")


def test_histograms_and_graphs_are_drawn(tmp_path: Path) -> None:
    file = filled(tmp_path)
    for name in file.keys(cycle=False):
        text = file[name]._repr_html_()
        seen = Checked(text).seen
        assert len(text) < 50_000
        assert "script" not in seen
        assert repr(file[name]) in html.unescape(text)
        assert ("svg" in seen) == (name not in ("three", "not finite")), name
    assert Checked(file["mean"]._repr_html_()).seen["circle"] == 5
    assert Checked(file["points"]._repr_html_()).seen["circle"] == 2
    assert Checked(file["two"]._repr_html_()).seen["image"] == 2
    assert ">mumu<" in file["named"]._repr_html_()
    assert "1,000 entries" in file["one"]._repr_html_()


def test_steps_of_a_histogram_are_at_its_contents(tmp_path: Path) -> None:
    """The y axis goes from 0 to a twentieth above the highest bin."""
    with farroot.recreate(tmp_path / "f.root") as file:
        file["h"] = (np.array([1.0, 4.0, 2.0]), np.array([0.0, 1, 2, 4]))
    text = farroot.open(tmp_path / "f.root")["h"]._repr_html_()
    (steps,) = re.findall(r'd="M([\d.,L-]+)" fill', text)
    corners = [tuple(map(float, corner.split(","))) for corner in steps.split("L")]
    assert [x for x, _ in corners] == [64, 64, 204, 204, 344, 344, 624, 624]
    contents = [round((312 - y) * 4.2 / 300, 1) for _, y in corners]
    assert contents == [0, 1, 1, 4, 4, 2, 2, 0]


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
