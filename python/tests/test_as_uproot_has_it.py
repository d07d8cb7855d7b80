"""Values that once differed from uproot's without an error.

uproot's own tests of reading were run with farroot in its place, and these came out wrong: a dict
of interpretations was taken for a list of names, a cycle in the middle of a path ended it, a column
that was asked for twice came once, addresses came back in another spelling, and the width of an
axis differed in its last bit.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import uproot

import farroot


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("as uproot") / "f.root")
    with uproot.recreate(path) as file:
        columns = {"i1": np.array([-15, 3], "i1"), "i4": np.array([1, 2], "i4")}
        file.mktree("tree", {name: column.dtype for name, column in columns.items()})
        file["tree"].extend(columns)
        file.mktree("one/two/tree", {"y": "i4"}).extend({"y": np.arange(3, dtype="i4")})
        file["hist"] = np.histogram(np.linspace(-4, 4, 50), bins=100, range=(-4, 4))
    return path


def test_interpretations_by_name_are_followed(path: str) -> None:
    tree = farroot.open(f"{path}:tree")
    assert tree.arrays({"i1": ">u1"}, library="np")["i1"].tolist() == [241, 3]
    (step,) = tree.iterate({"i1": ">u1"}, library="np")
    assert step["i1"].tolist() == [241, 3]


def test_cycles_may_stand_within_a_path(path: str) -> None:
    with farroot.open(Path(path)) as file:
        for name in ("one;1/two;1", "one;1/two", "one/two;1"):
            assert file[name].keys() == ["tree;1"]
            assert name in file
        assert "one;2/two" not in file


def test_a_column_that_is_asked_for_twice_comes_twice(path: str) -> None:
    tree = farroot.open(f"{path}:tree")
    assert len(tree.arrays(["i4", "i4"], how=tuple)) == 2


def test_paths_come_back_as_they_were_given(path: str) -> None:
    with farroot.open(Path(path)) as file:
        assert file.file_path == path
    steps = farroot.iterate(f"{path}:tree", report=True)
    assert [report.file_path for _, report in steps] == [path]
    assert [*farroot.num_entries(f"{path}:tree")] == [(path, "tree", 2)]


def test_axes_are_as_wide_to_the_last_bit(path: str) -> None:
    with farroot.open(Path(path)) as file, uproot.open(path) as other:
        assert file["hist"].axis().width == other["hist"].axis().width == 0.08
