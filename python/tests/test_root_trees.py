"""Trees that ROOT lays out in many ways, and the objects that it keeps beside their branches."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .root import written_by
from .same import same_awkward

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `trees.py`."""
    return written_by("trees", tmp_path_factory.mktemp("trees"))


def lists(entries: range) -> list[list[float]]:
    """The branch `y` of these entries."""
    return [[0.5 * i + k for k in range(i % 4)] for i in entries]


LAYOUTS = {
    **{f"by_{name}": 5000 for name in ("none", "zlib1", "zlib9", "lzma", "old", "lz4", "zstd")},
    "tiny_baskets": 300,
    "one_basket": 20000,
    "many_clusters": 1000,
    "empty": 0,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(written: Path, name: str) -> None:
    tree = farroot.open(f"{written}/{name}.root:events")
    assert tree.num_entries == LAYOUTS[name]
    arrays = tree.arrays()
    assert arrays["x"].to_list() == list(range(LAYOUTS[name]))
    assert arrays["y"].to_list() == lists(range(LAYOUTS[name]))
    steps = [step["y"].to_list() for step in tree.iterate("y", step_size=170)]
    assert [entry for step in steps for entry in step] == arrays["y"].to_list()


def test_more_than_two_gigabytes(written: Path) -> None:
    path = written / "large.root"
    assert path.stat().st_size > 1 << 31
    for name, entries in (("first", 100), ("events", 1000)):
        tree = farroot.open(f"{path}:{name}")
        assert tree["x"].array().to_list() == list(range(entries))
        assert tree["y"].array().to_list() == lists(range(entries))
    assert farroot.open(path).map()[-1].offset > 1 << 31


@pytest.mark.parametrize("split", [1, 99])
def test_split_clones(written: Path, split: int) -> None:
    tree = farroot.open(f"{written}/clones_{split}.root:events")
    assert tree["clones"].array().to_list() == [i % 4 for i in range(50)]
    columns = [tree[f"clones.{name}"].array().to_list() for name in ("fX", "fY", "fZ")]
    for i in range(50):
        several = range(i % 4)
        got = [column[i] for column in columns]
        assert got == [[i for _ in several], list(several), [0.5 for _ in several]]


def test_cycles(written: Path) -> None:
    """Each cycle is a tree of its own, and all have uproot's names."""
    path = written / "cycles.root"
    ours, theirs = farroot.open(path), uproot.open(path)
    for with_cycle in (True, False):
        assert ours.keys(cycle=with_cycle) == theirs.keys(cycle=with_cycle)
    assert ours.classnames() == theirs.classnames()
    for below in ("", "folder/"):
        assert ours[f"{below}events"].title == theirs[f"{below}events"].title == "30 entries"
        for cycle, entries in ((1, 10), (2, 20), (3, 30)):
            tree = ours[f"{below}events;{cycle}"]
            assert tree.num_entries == theirs[f"{below}events;{cycle}"].num_entries == entries
            assert same_awkward(tree["y"].array(), theirs[f"{below}events;{cycle}"]["y"].array())
            again = farroot.open(f"{path}:{below}events;{cycle}")
            assert again["x"].array().to_list() == list(range(entries))
    with pytest.raises(farroot.KeyInFileError):
        ours["events;4"]


@pytest.fixture
def tree(written: Path) -> farroot.Tree:
    tree = farroot.open(f"{written}/friends.root:events")
    assert isinstance(tree, farroot.Tree)
    return tree


def test_friends_are_trees(tree: farroot.Tree) -> None:
    assert list(tree.friends) == ["beside", "short", "s", "found", "lost"]
    assert tree.friends["beside"].keys() == ["x", "n", "y"]
    assert tree.friends["s"]["z"].array().to_list() == [10.0 * i for i in range(100)]
    with pytest.raises(farroot.KeyInFileError, match="beside, short, s, found, lost"):
        tree.friends["nobody"]
    with pytest.raises(farroot.NotFoundError, match=r"lost\.root"):
        tree.friends["lost"]


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow"])
def test_columns_of_friends(tree: farroot.Tree, library: Any) -> None:
    """A friend in the same file, and one in a file that was moved since."""
    names = ["event", "beside.x", "s.z"]
    arrays = tree.arrays(names, entry_start=7, entry_stop=93, library=library)
    for name, first, factor in (("event", 1000, 1), ("beside.x", 0, 1), ("s.z", 0, 10)):
        column = arrays[name].to_numpy() if library == "arrow" else np.asarray(arrays[name])
        assert column.tolist() == [first + factor * i for i in range(7, 93)], name


def test_globs_and_formulas_of_friends(tree: farroot.Tree) -> None:
    arrays = tree.arrays(["beside.*", "s.z / 10 - beside.x"])
    assert arrays.fields == ["beside.x", "beside.n", "beside.y", "s.z / 10 - beside.x"]
    assert arrays["beside.y"].to_list() == lists(range(100))
    assert arrays["s.z / 10 - beside.x"].to_list() == [0.0] * 100


def test_friends_in_steps(tree: farroot.Tree) -> None:
    steps = list(tree.iterate(["event", "beside.y", "s.z"], step_size=13))
    assert [len(step) for step in steps] == [13] * 7 + [9]
    whole = ak.concatenate(steps)
    assert same_awkward(whole, tree.arrays(["event", "beside.y", "s.z"]))
    steps = list(tree.iterate(["beside.y", "s.z"], step_size="500 B"))
    assert len(steps) > 3
    assert ak.concatenate(steps)["beside.y"].to_list() == lists(range(100))


@pytest.mark.parametrize("cut", ["s.z > 500", "event % 3 == 0", "(beside.x > 20) & (event < 1050)"])
def test_cuts_with_friends(tree: farroot.Tree, cut: str) -> None:
    whole = tree.arrays(["event", "beside.y", "s.z", "beside.x"])
    stays = {
        "s.z > 500": whole["s.z"] > 500,
        "event % 3 == 0": whole["event"] % 3 == 0,
        "(beside.x > 20) & (event < 1050)": (whole["beside.x"] > 20) & (whole["event"] < 1050),
    }[cut]
    expected = whole[stays]
    assert 0 < len(expected) < 100
    assert same_awkward(tree.arrays(["event", "beside.y", "s.z", "beside.x"], cut), expected)
    assert tree.arrays("event", cut)["event"].to_list() == expected["event"].to_list()
    steps = tree.iterate(["beside.y"], cut, step_size=9)
    assert ak.concatenate(list(steps))["beside.y"].to_list() == expected["beside.y"].to_list()


def expected_w(i: int) -> float | None:
    return None if i % 2 else -float(i)


def test_a_friend_by_index(tree: farroot.Tree) -> None:
    """Its entries are in another order, and half of them are missing."""
    arrays = tree.arrays(["event", "found.w"])
    assert arrays["found.w"].to_list() == [expected_w(i) for i in range(100)]
    steps = list(tree.iterate(["found.w", "found.event"], step_size=7))
    got = [each for step in steps for each in step["found.w"].to_list()]
    assert got == [expected_w(i) for i in range(100)]
    events = [each for step in steps for each in step["found.event"].to_list()]
    assert events == [None if i % 2 else 1000 + i for i in range(100)]
    objects = tree.arrays("found.w", library="np", entry_stop=3)["found.w"]
    assert objects.tolist() == [0.0, None, -2.0]
    nothing = tree.arrays("found.w", entry_stop=0)["found.w"]
    assert str(nothing.type) == "0 * ?float32"


def test_a_friend_that_lacks_entries(tree: farroot.Tree) -> None:
    assert tree.arrays("short.x", entry_stop=60)["short.x"].to_list() == list(range(60))
    missing = [*range(60), *[None] * 40]
    assert tree.arrays("short.x")["short.x"].to_list() == missing
    steps = list(tree.iterate(["short.x", "event"], "event % 2 == 0", step_size=7))
    assert [x for step in steps for x in step["short.x"].to_list()] == missing[::2]


def test_what_friends_do_not_have(tree: farroot.Tree) -> None:
    with pytest.raises(farroot.KeyInFileError):
        tree.arrays("beside.nothing")
    with pytest.raises(farroot.KeyInFileError):
        tree.arrays("nobody.x")
    with pytest.raises(farroot.NotFoundError):
        tree.arrays(["event", "lost.z"])
    assert tree.arrays("event")["event"].to_list()[:2] == [1000, 1001]


def test_columns_of_friends_when_they_are_looked_at(tree: farroot.Tree) -> None:
    """Beside each other: by entry, by index, and one that is too short."""
    steps = list(tree.iterate(["event", "s.z", "found.w", "short.x"], step_size=7, virtual=True))
    whole = tree.arrays(["event", "s.z", "found.w", "short.x"])
    for name in ("found.w", "event", "short.x", "s.z"):
        got = [entry for step in steps for entry in step[name].to_list()]
        assert got == whole[name].to_list(), name


def test_friends_of_many_files(written: Path, tmp_path: Path) -> None:
    """Each file has friends beside it."""
    for part in ("one", "two"):
        (tmp_path / part).mkdir()
        for name in ("friends", "other"):
            shutil.copy(written / f"{name}.root", tmp_path / part)
    files = {str(tmp_path / "*" / "friends.root"): "events"}
    arrays = farroot.concatenate(files, ["event", "s.z", "found.w"], "beside.x >= 50")
    assert arrays["event"].to_list() == [*range(1050, 1100)] * 2
    assert arrays["s.z"].to_list() == [10.0 * i for i in range(50, 100)] * 2
    assert arrays["found.w"].to_list() == [expected_w(i) for i in range(50, 100)] * 2
    steps: list[Any] = list(farroot.iterate(files, ["beside.y", "s.z"], step_size=30))
    got = [entry for step in steps for entry in step["beside.y"].to_list()]
    assert got == lists(range(100)) * 2


def test_an_index(tree: farroot.Tree) -> None:
    index = tree.index
    assert index is not None
    assert (index.major_name, index.minor_name) == ("run", "event - 1000")
    assert index.major.tolist() == [i // 10 for i in range(100)]
    assert index.minor.tolist() == index.entries.tolist() == list(range(100))
    assert tree.entry_with(4, 42) == 42
    with pytest.raises(farroot.KeyInFileError, match="run == 4 and event - 1000 == 52"):
        tree.entry_with(4, 52)
    found = tree.friends["found"]
    assert found.entry_with(9, 1098) == 0
    assert found.entry_with(0, 1000) == 49
    assert tree.friends["s"].index is None
    with pytest.raises(farroot.KeyInFileError, match="no index"):
        tree.friends["s"].entry_with(1)
