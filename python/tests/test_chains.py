"""Trees of many files as one, and friends: those in the file, and those added here."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .same import same_awkward

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"
FILES = ("chain", "chain_1", "chain_2", "chain_weights", "chain_weights_1", "chain_weights_2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of two trees of 40 and 60 entries, chains of them, and weights for 90 of these."""
    for name in FILES:
        shutil.copy(TESTDATA / f"{name}.root", tmp_path)
    return tmp_path


@pytest.fixture(params=["series", "counted", "here"])
def chain(request: pytest.FixtureRequest, folder: Path) -> farroot.Tree:
    made: Any
    if request.param == "here":
        made = farroot.chain(f"{folder}/chain_[12].root:events")
    else:
        made = farroot.open(f"{folder}/chain.root:{request.param}")
    assert isinstance(made, farroot.Tree)
    return made


def several(entries: range) -> list[list[float]]:
    """The branch `xs` or `ws` of these entries."""
    return [[entry + k / 4 for k in range(entry % 3)] for entry in entries]


def weights(entries: range) -> list[float | None]:
    return [entry if entry < 90 else None for entry in entries]


def test_a_chain_is_like_a_tree(chain: farroot.Tree) -> None:
    assert chain.is_chain
    assert chain.num_entries == 100
    assert chain.keys() == ["x", "xs"]
    assert chain["x"].typename == "double"
    assert [link[2:] for link in chain.links] == [(0, 40), (40, 100)]
    assert [Path(link.file_path).name for link in chain.links] == ["chain_1.root", "chain_2.root"]
    arrays = chain.arrays()
    assert arrays["x"].to_list() == list(range(100))
    assert arrays["xs"].to_list() == several(range(100))
    assert chain["xs"].array(entry_start=-70, entry_stop=-50).to_list() == several(range(30, 50))
    assert "2 files" in repr(chain)
    assert chain.report()["bytes_received"] > 0


@pytest.mark.parametrize("library", ["np", "pd", "arrow"])
def test_a_chain_in_every_library(chain: farroot.Tree, library: Any) -> None:
    column = chain.arrays("x", entry_start=35, entry_stop=45, library=library)["x"]
    column = column.to_pylist() if library == "arrow" else list(column)
    assert column == list(range(35, 45))


def test_a_chain_in_steps(chain: farroot.Tree) -> None:
    steps = list(chain.iterate(["x", "xs"], step_size=25))
    assert [len(step) for step in steps] == [25, 15, 25, 25, 10]
    assert ak.concatenate(steps)["xs"].to_list() == several(range(100))
    told = [report for _, report in chain.iterate("x", step_size=60, report=True)]
    assert [(one.start, one.stop) for one in told] == [(0, 40), (40, 100)]
    virtual = list(chain.iterate(["x", "xs"], step_size=25, virtual=True))
    assert [len(step) for step in virtual] == [25, 15, 25, 25, 10]
    assert [x for step in virtual for x in step["x"].to_list()] == list(range(100))
    assert chain.arrays(virtual=True, entry_stop=40)["xs"].to_list() == several(range(40))
    with pytest.raises(farroot.InvalidArgumentError, match="in another file"):
        chain.arrays(virtual=True)
    assert chain.arrays("xs", "(x > 37) & (x < 43)")["xs"].to_list() == several(range(38, 43))
    assert chain.arrays("x * 2", "x > 97")["x * 2"].to_list() == [196, 198]


def test_chains_among_many_files(folder: Path) -> None:
    files = {f"{folder}/chain.root": "series"}
    assert farroot.concatenate(files, "x")["x"].to_list() == list(range(100))
    assert [entries for *_, entries in farroot.num_entries(files)] == [100]
    part = farroot.concatenate(files, "x", entry_start=38, entry_stop=42)
    assert part["x"].to_list() == [38, 39, 40, 41]
    both = [f"{folder}/chain.root:counted", f"{folder}/chain_1.root:events"]
    arrays = farroot.concatenate(both, "x", "x >= 38")
    assert arrays["x"].to_list() == [*range(38, 100), 38, 39]


def test_chains_survive_pickling(chain: farroot.Tree) -> None:
    again = pickle.loads(pickle.dumps(chain))
    assert again.arrays("x")["x"].to_list() == list(range(100))
    assert again.links == chain.links


def test_what_is_wrong_with_chains(folder: Path) -> None:
    with pytest.raises(farroot.CorruptError, match="said to have 39 entries, and has 40"):
        farroot.open(f"{folder}/chain.root:miscounted")
    with pytest.raises(farroot.InvalidArgumentError, match="names no files"):
        farroot.open(f"{folder}/chain.root:nothing")
    (folder / "chain_2.root").unlink()
    with pytest.raises(farroot.NotFoundError, match="series"):
        farroot.open(f"{folder}/chain.root:series")
    counted = farroot.open(f"{folder}/chain.root:counted")
    assert counted.arrays("x", entry_stop=40)["x"].to_list() == list(range(40))
    with pytest.raises(farroot.NotFoundError):
        counted.arrays("x")


def test_friends_of_a_chain(folder: Path) -> None:
    """The file names one, which lacks the last ten entries."""
    chain = farroot.open(f"{folder}/chain.root:series")
    assert list(chain.friends) == ["weights"]
    assert chain.aliases == {"twice": "x * 2"}
    arrays = chain.arrays(["x", "weights.w", "ws", "twice"])
    assert arrays.fields == ["x", "weights.w", "ws", "twice"]
    assert arrays["weights.w"].to_list() == weights(range(100))
    assert arrays["ws"].to_list() == [*several(range(90)), *[None] * 10]
    assert arrays["twice"].to_list() == [2 * x for x in range(100)]
    steps = list(chain.iterate(["x", "w"], step_size=33))
    assert [entry for step in steps for entry in step["w"].to_list()] == weights(range(100))
    cut = chain.arrays(["x", "w"], "(w > 85) | (x > 97)")
    assert cut["x"].to_list() == [86, 87, 88, 89, 98, 99], "no comparison is true of what lacks"
    assert chain.arrays(["w"], "x > 87")["w"].to_list() == [88, 89, *[None] * 10]


@pytest.mark.parametrize("friend", ["chain", "one", "files"])
def test_friends_that_are_added(chain: farroot.Tree, folder: Path, friend: str) -> None:
    other: Any = {
        "chain": f"{folder}/chain.root:weights",
        "one": farroot.open(f"{folder}/chain_weights.root:weights"),
        "files": [f"{folder}/chain_weights_{i}.root:weights" for i in (1, 2)],
    }[friend]
    known = len(chain.friends)
    added = chain.add_friend(other, "more")
    assert len(chain.friends) == known + 1
    assert chain.friends["more"] is added
    there = range(100) if friend != "one" else range(90)
    expected = [entry if entry in there else None for entry in range(100)]
    arrays = chain.arrays(["xs", "more.w"])
    assert arrays["more.w"].to_list() == expected
    assert arrays["xs"].to_list() == several(range(100))
    steps = list(chain.iterate(["more.w", "x"], "x % 7 == 3", step_size=20))
    assert ak.concatenate(steps)["more.w"].to_list() == expected[3::7]
    part = chain.arrays(["more.ws", "x"], "more.w >= 65", entry_start=60, entry_stop=80)
    assert part["more.ws"].to_list() == several(range(65, 80))
    virtual = chain.arrays(["x", "more.w"], virtual=True, entry_start=10, entry_stop=30)
    assert virtual["more.w"].to_list() == list(range(10, 30))
    again = pickle.loads(pickle.dumps(chain))
    assert again.arrays("more.w")["more.w"].to_list() == expected


def test_friends_of_a_tree(folder: Path) -> None:
    tree = farroot.open(f"{folder}/chain_1.root:events")
    assert tree.add_friend(f"{folder}/chain_weights.root:weights").num_entries == 90
    tree.add_friend(f"{folder}/chain.root:weights", "chained")
    tree.add_friend(tree, "itself")
    with pytest.raises(farroot.InvalidArgumentError, match="already"):
        tree.add_friend(tree, "weights")
    with pytest.raises(farroot.InvalidArgumentError, match="a friend is"):
        tree.add_friend(3)
    assert tree.arrays(["x", "weights.w", "itself.x"])["itself.x"].to_list() == list(range(40))
    with pytest.raises(farroot.InvalidArgumentError, match=r"weights\.w or chained\.w"):
        tree.arrays("w")
    with pytest.raises(
        farroot.KeyInFileError, match=r"friends weights, chained, itself.*friend\.v"
    ):
        tree.arrays("v")
    assert tree.arrays(["weights.*"]).fields == ["weights.w", "weights.ws"]
    sums = tree.arrays("x + chained.w", "chained.w > 30")
    assert sums["x + chained.w"].to_list() == [2 * x for x in range(31, 40)]
    planned = tree.plan(["x", "weights.w"])
    assert [Path(one.file_path).name for one in planned] == ["chain_1.root", "chain_weights.root"]
    assert [one.columns[0].name for one in planned] == ["x", "w"]
    assert all(one.stored_bytes > 0 and one.ranges for one in planned)
    planned = tree.plan(["x", "chained.w"])
    assert [Path(one.file_path).name for one in planned] == ["chain_1.root", "chain_weights_1.root"]


def test_a_friend_that_is_shorter_lacks_values(folder: Path) -> None:
    """ROOT goes on with the last one that was read."""
    tree = farroot.open(f"{folder}/chain_2.root:events")
    tree.add_friend(f"{folder}/chain_1.root:events", "short")
    expected = [*range(40), *[None] * 20]
    arrays = tree.arrays(["x", "short.x", "short.xs"])
    assert arrays["short.x"].to_list() == expected
    assert arrays["short.xs"].to_list() == [*several(range(40)), *[None] * 20]
    assert str(arrays["short.x"].type) == "60 * ?float64"
    steps = list(tree.iterate(["x", "short.x"], step_size=7, virtual=True))
    assert [x for step in steps for x in step["short.x"].to_list()] == expected
    left = tree.arrays(["x", "short.x"], "short.x > 37")
    assert left["x"].to_list() == [78, 79]
    left = tree.arrays(["x", "short.x"], "x >= 78", library="np")
    assert left["short.x"].tolist() == [38, 39, *[None] * 20]


def test_friends_of_rntuples(folder: Path) -> None:
    """Each of a tree and an RNTuple may be a friend of the other."""
    with uproot.recreate(folder / "n.root") as file:
        lists = ak.Array([[i] * (i % 3) for i in range(40)])
        file.mkrntuple("n", {"a": np.arange(40), "lists": lists})
    ntuple = farroot.open(f"{folder}/n.root:n")
    ntuple.add_friend(f"{folder}/chain.root:series", "s")
    arrays = ntuple.arrays(["a", "lists", "s.x", "xs"])
    assert arrays["s.x"].to_list() == list(range(40))
    assert arrays["xs"].to_list() == several(range(40))
    assert arrays["lists"].to_list() == [[i] * (i % 3) for i in range(40)]
    cut = ntuple.arrays(["lists", "s.xs"], "s.x > 36")
    assert cut["lists"].to_list() == [[37], [38, 38], []]
    assert cut["s.xs"].to_list() == several(range(37, 40))
    tree = farroot.open(f"{folder}/chain_1.root:events")
    tree.add_friend(ntuple, "n")
    arrays = tree.arrays(["x", "n.lists", "a"], "n.a < 3")
    assert arrays["n.lists"].to_list() == [[], [1], [2, 2]]
    assert arrays["a"].to_list() == [0, 1, 2]
    assert tree.arrays("n.*", entry_stop=2).fields == ["n.a", "n.lists"]
    steps = list(tree.iterate(["x", "n.lists"], step_size=9, virtual=True))
    assert sum(len(step["n.lists"]) for step in steps) == 40
    shutil.copy(folder / "n.root", folder / "again.root")
    both = farroot.chain([ntuple, f"{folder}/again.root:n"])
    assert both.num_entries == 80
    assert both.arrays("a")["a"].to_list() == [*range(40)] * 2
    both.add_friend(farroot.chain([f"{folder}/chain_2.root:events"]), "t")
    assert both.arrays("t.x")["t.x"].to_list() == [*range(40, 100), *[None] * 20]


def test_friends_of_many_files(folder: Path) -> None:
    """File by file, each with its own."""
    files = [f"{folder}/chain_{i}.root:events" for i in (1, 2)]
    friends = {"w": [f"{folder}/chain_weights_{i}.root:weights" for i in (1, 2)]}
    arrays = farroot.concatenate(files, ["x", "w.w"], "x % 10 == 0", friends=friends)
    assert arrays["x"].to_list() == list(range(0, 100, 10))
    assert arrays["w.w"].to_list() == [0, 10, 20, 30, 70, 80, 90, None, None, None]
    steps = list(farroot.iterate(files, ["xs", "w"], step_size=30, friends=friends))
    assert [len(step) for step in steps] == [30, 10, 30, 30]
    assert steps[2]["w"].to_list() == list(range(70, 100))
    with pytest.raises(farroot.InvalidArgumentError, match="2 files for 1"):
        farroot.concatenate(files[:1], "x", friends=friends)
    tree = farroot.open(files[0])
    tree.add_friend(friends["w"][0], "w")
    open_ones = farroot.concatenate([tree], ["x", "w.w"])
    assert same_awkward(open_ones, tree.arrays(["x", "w.w"]))


def test_figures_of_a_chain_are_of_all_its_files(several: list[Path]) -> None:
    """They were those of its first file: `num_entries_for` was wrong by the number of files."""
    files = [f"{path}:events" for path in several]
    chain: Any = farroot.chain(files)
    trees: list[Any] = [farroot.open(file) for file in files]
    for name in ("compressed_bytes", "uncompressed_bytes"):
        assert getattr(chain, name) == sum(getattr(tree, name) for tree in trees)
        for branch in ("int32", "jagged", "text"):
            parts = [getattr(tree[branch], name) for tree in trees]
            assert getattr(chain[branch], name) == sum(parts)
    assert chain["text"].num_baskets == sum(tree["text"].num_baskets for tree in trees)
    ratio = chain.uncompressed_bytes / chain.compressed_bytes
    assert chain.compression_ratio == pytest.approx(ratio)
    expected = round(10_000 * chain.num_entries / chain["float64"].uncompressed_bytes)
    assert chain.num_entries_for("10 kB", "float64") == expected
