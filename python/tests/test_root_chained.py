"""Chains and many files made by ROOT: indexes, aliases and reports of each file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import farroot

from .root import by_root

pytestmark = pytest.mark.interop

#: Of each file 3 or 4 entries, a friend with the last ones in reverse order, and aliases.
WRITE = r"""
import sys
from array import array
import ROOT
run, event, y = array("i", [0]), array("i", [0]), array("f", [0])
for number, path in enumerate(sys.argv[1:]):
    file = ROOT.TFile(path, "RECREATE")
    tree, friend = ROOT.TTree("t", "t"), ROOT.TTree("w", "w")
    for one in (tree, friend):
        one.Branch("run", run, "run/I")
        one.Branch("ev", event, "ev/I")
    friend.Branch("y", y, "y/F")
    for at in range(3 + number):
        run[0], event[0] = number, at
        tree.Fill()
    for at in reversed(range(1, 3 + number)):
        run[0], event[0], y[0] = number, at, number * 100 + at
        friend.Fill()
    if "without" not in path:
        friend.BuildIndex("run", "ev")
    tree.SetAlias("double", "ev*2" if number == 0 else "ev*3")
    tree.SetAlias("more", "double+1")
    tree.SetAlias("at", "Entry$")
    tree.SetAlias("count", "Entries$")
    tree.Write()
    friend.Write()
    file.Close()
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [str(tmp_path / f"{number}.root") for number in range(2)]
    by_root(WRITE, *paths)
    return paths


#: The friend's value for each entry of the two files.
FRIENDS = [None, 1.0, 2.0, None, 101.0, 102.0, 103.0]


def test_a_friend_chain_is_looked_up_in_all_files(files: list[str]) -> None:
    """Regression: only the file with the same entry number was looked into."""
    trees, friends = ([f"{path}:{name}" for path in files] for name in "tw")
    for order in (friends, friends[::-1]):
        chain = farroot.chain(trees)
        chain.add_friend(farroot.chain(order), "w")
        assert chain.arrays(["w.y"])["w.y"].to_list() == FRIENDS
        assert chain.arrays(["ev"], "w.y > 100")["ev"].to_list() == [1, 2, 3]
        steps = chain.iterate(["ev", "w.y"], step_size=2)
        assert [y for step in steps for y in step["w.y"].to_list()] == FRIENDS
    tree = farroot.open(trees[1])
    tree.add_friend(friends, "w")
    assert tree.arrays(["w.y"])["w.y"].to_list() == FRIENDS[3:]


def test_the_index_of_a_chain(files: list[str]) -> None:
    chain = farroot.chain([f"{path}:w" for path in files])
    assert chain.entry_with(0, 2) == 0
    assert chain.entry_with(1, 3) == 2
    assert chain.index is not None
    assert len(chain.index) == chain.num_entries == 5
    with pytest.raises(farroot.KeyInFileError):
        chain.entry_with(1, 9)
    with pytest.raises(farroot.UnsupportedError, match=r"1\.root:w"):
        chain.member("fEntries")


def test_some_files_of_a_chain_have_no_index(tmp_path: Path) -> None:
    paths = [str(tmp_path / "with.root"), str(tmp_path / "without.root")]
    by_root(WRITE, *paths)
    for order in (paths, paths[::-1]):
        chain = farroot.chain([f"{path}:t" for path in paths])
        chain.add_friend([f"{path}:w" for path in order], "w")
        with pytest.raises(farroot.UnsupportedError, match="index"):
            chain.arrays(["w.y"])


def test_aliases_of_each_file(files: list[str], tmp_path: Path) -> None:
    """Regression: the first file's definition and count were those of all."""
    trees = [f"{path}:t" for path in files]
    expected = [0, 2, 4, 0, 3, 6, 9]
    assert farroot.concatenate(trees, ["double"])["double"].to_list() == expected
    assert farroot.concatenate(trees, ["double + 1"])["double + 1"].to_list() == [
        one + 1 for one in expected
    ]
    steps = farroot.iterate(trees, ["double"], step_size=2)
    assert [one for step in steps for one in step["double"].to_list()] == expected
    assert farroot.concatenate(trees, ["ev"], "double > 5")["ev"].to_list() == [2, 3]
    assert farroot.concatenate(trees, ["count"])["count"].to_list() == [3] * 3 + [4] * 4
    chain = farroot.chain(trees)
    assert chain.arrays(["double"])["double"].to_list() == [0, 2, 4, 0, 2, 4, 6]
    assert chain.arrays(["count"])["count"].to_list() == [7] * 7
    with pytest.raises(farroot.UnsupportedError, match="double"):
        farroot.skim(trees, tmp_path / "out.root", ["double"])


def test_an_alias_of_the_caller_goes_before_those_of_files(files: list[str]) -> None:
    """Regression: within another alias of several files, the files' own was used."""
    trees = [f"{path}:t" for path in files]
    given = {"double": "ev * 0 + 40"}
    for columns in (["more"], ["more", "double"], ["more + 1", "ev"]):
        alone = [farroot.open(tree).arrays(columns, aliases=given).to_list() for tree in trees]
        assert [one[columns[0]] for one in alone[0]] == [42 if "+" in columns[0] else 41] * 3
        both = farroot.concatenate(trees, columns, aliases=given)
        chain = farroot.chain(trees).arrays(columns, aliases=given)
        assert both.to_list() == chain.to_list() == alone[0] + alone[1], columns
    for cut, expected in (("more == 41", 7), ("more == 1", 0)):
        assert len(farroot.concatenate(trees, ["ev"], cut, aliases=given)) == expected
    assert len(farroot.concatenate(trees, ["ev"], "more == 1")) == 2


def test_merges_say_which_aliases_are_not_those_of_all(files: list[str], tmp_path: Path) -> None:
    """Regression: the first input's were written without a word."""
    done = farroot.merge(files, tmp_path / "merged.root")
    notes = [note for note in done.notes if "alias" in note]
    assert len(notes) == 1
    assert notes[0].endswith(": double")
    assert "of the first input" in notes[0] or "first input's" in notes[0]
    aliases = farroot.open(f"{tmp_path}/merged.root:t").aliases
    assert aliases["double"] == "ev*2"
    alike = farroot.merge([files[0]] * 2, tmp_path / "alike.root")
    assert not [note for note in alike.notes if "alias" in note]
    cut = farroot.skim([f"{path}:t" for path in files], tmp_path / "cut.root", ["ev"], "ev > 1")
    assert [note for note in cut.notes if note.endswith(": double")]


def test_cuts_that_count_entries(files: list[str]) -> None:
    """Regression: they were said to name no column."""
    tree = farroot.open(f"{files[1]}:t")
    assert tree.arrays(["ev"], "at > 1")["ev"].to_list() == [2, 3]
    assert tree.arrays(["ev"], "at == count - 1")["ev"].to_list() == [3]
    both = [f"{path}:t" for path in files]
    assert farroot.concatenate(both, ["ev"], "at > 1")["ev"].to_list() == [2, 2, 3]
    with pytest.raises(farroot.InvalidArgumentError, match="counts entries"):
        farroot.chain(both).arrays(["ev"], "at > 1")


def test_reports_of_a_chain_name_its_files(files: list[str]) -> None:
    """Regression: all steps were said to be of the first file."""
    trees = [f"{path}:t" for path in files]
    told = [one for _, one in farroot.chain(trees).iterate(["ev"], step_size=3, report=True)]
    assert told == [one for _, one in farroot.iterate(trees, ["ev"], step_size=3, report=True)]
    assert [one.tree_entry_start for one in told] == [0, 0, 3]


def test_a_comparison_with_a_missing_value_is_false(files: list[str]) -> None:
    tree = farroot.open(f"{files[0]}:t")
    tree.add_friend(f"{files[0]}:w", "w")
    assert tree.arrays(["ev"], "(w.y > 1) | (ev == 0)")["ev"].to_list() == [0, 2]
    assert tree.arrays(["ev"], "~(w.y > 1)")["ev"].to_list() == [0, 1]


@pytest.mark.parametrize("reverse", [False, True])
def test_formulas_have_the_types_of_each_file(tmp_path: Path, reverse: bool) -> None:
    """Regression: the columns had the common type of the files before."""
    for name, kind in (("a", "u1"), ("b", "i4")):
        with farroot.recreate(tmp_path / f"{name}.root") as file:
            file.mktree("t", {"x": np.array([250, 3], kind)})
    paths = [f"{tmp_path / name}.root:t" for name in "ab"]
    own = [farroot.open(path).arrays(["x + x"])["x + x"].to_list() for path in paths]
    order = [1, 0] if reverse else [0, 1]
    both = farroot.concatenate([paths[at] for at in order], ["x", "x + x"])
    assert both["x + x"].to_list() == own[order[0]] + own[order[1]]
    assert both["x"].to_list() == [250, 3] * 2


def test_files_with_other_columns_are_kept(tmp_path: Path) -> None:
    """Regression: with allow_missing, files were dropped that lack a branch of the first."""
    for name, column in (("a", "y"), ("b", "z")):
        with farroot.recreate(tmp_path / f"{name}.root") as file:
            file.mktree("t", {"x": np.arange(2), column: np.arange(2.0)})
    paths = [f"{tmp_path / name}.root:t" for name in "ab"]
    both = farroot.concatenate(paths, allow_missing=True)
    assert [sorted(one) for one in both.to_list()] == [["x", "y"]] * 2 + [["x", "z"]] * 2
    with pytest.raises(farroot.InvalidArgumentError, match="y, z"):
        farroot.concatenate(paths, allow_missing=True, library="np")


def test_two_branches_of_one_name(tmp_path: Path) -> None:
    """Regression: the second was dropped without a word."""
    path = tmp_path / "twice.root"
    by_root(
        """
import sys
from array import array
import ROOT
one, two = array("i", [1]), array("i", [2])
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "t")
tree.Branch("d", one, "d/I")
tree.Branch("d", two, "d/I")
tree.Fill()
tree.Write()
file.Close()
""",
        path,
    )
    tree = farroot.open(f"{path}:t")
    assert [array.to_list() for array in tree.arrays(how=tuple)] == [[1], [2]]
    with pytest.warns(farroot.UnreadableWarning, match="same name"):
        assert tree.arrays().to_list() == [{"d": 1}]
