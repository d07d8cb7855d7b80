"""A path with a cycle means the same object wherever one is asked for, and so does a name that has
a semicolon."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

OLDER, NEWEST = [0, 1, 2, 3, 4], [100, 101, 102, 103, 104]
SKIMS: list[dict[str, Any]] = [{}, {"columns": ["k"]}, {"cut": "k >= 0"}, {"define": {"z": "k"}}]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``t;1`` and ``t;2`` have other entries, and so have those of a name with a semicolon."""
    path = tmp_path_factory.mktemp("cycles") / "c.root"
    with uproot.recreate(path) as made:
        for name in ("t", "my tree;x", "d/u"):
            for first in (0, 100):
                made.mktree(name, {"k": "i8"}).extend({"k": np.arange(first, first + 5)})
        made["h"] = np.histogram([1.0, 2.0], bins=2)
    return path


@pytest.mark.parametrize("options", SKIMS)
@pytest.mark.parametrize(
    ("path", "written", "expected"),
    [
        ("t;1", "t", OLDER),
        ("t;2", "t", NEWEST),
        ("t", "t", NEWEST),
        ("/t;1", "t", OLDER),
        ("d;1/u;1", "d/u", OLDER),
        ("my tree;x", "my tree;x", NEWEST),
        ("my tree;x;1", "my tree;x", OLDER),
    ],
)
def test_a_skim_has_the_entries_of_the_cycle(
    file: Path, tmp_path: Path, path: str, written: str, expected: list[int], options: Any
) -> None:
    """Regression: the newest cycle was copied, and a name was cut at its semicolon."""
    skimmed = farroot.skim(f"{file}:{path}", tmp_path / "s.root", **options)
    assert (skimmed.table, skimmed.entries, skimmed.is_copied) == (written, 5, "cut" not in options)
    assert farroot.open(tmp_path / "s.root").keys(cycle=False, recursive=True)[-1] == written
    assert farroot.open(tmp_path / "s.root")[written]["k"].array().tolist() == expected


def test_a_skim_keeps_the_rest_beside_an_older_cycle(file: Path, tmp_path: Path) -> None:
    farroot.skim(f"{file}:t;1", tmp_path / "s.root", keep_rest=True)
    with farroot.open(tmp_path / "s.root") as made:
        assert made["t"]["k"].array().tolist() == OLDER
        assert made["my tree;x"]["k"].array().tolist() == NEWEST
        assert "h" in made


def test_the_command_line_says_the_same(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "s.root"
    command = [sys.executable, "-m", "farroot", "skim", f"{file}:t;1", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    assert farroot.open(target)["t"]["k"].array().tolist() == OLDER


def test_each_source_has_its_own_path(file: Path, tmp_path: Path) -> None:
    """Regression: the path of the first source was taken for all."""
    skimmed = farroot.skim([f"{file}:t;1", f"{file}:d/u;1", f"{file}:t;2"], tmp_path / "s.root")
    assert not skimmed.is_copied
    found = farroot.open(tmp_path / "s.root")["t"]["k"].array().tolist()
    assert found == OLDER + OLDER + NEWEST


@pytest.mark.parametrize(("path", "expected"), [("t;1", OLDER), ("my tree;x;1", OLDER)])
def test_tables_are_opened_again_by_the_cycle(file: Path, path: str, expected: list[int]) -> None:
    table = farroot.open(f"{file}:{path}")
    chain = farroot.chain([f"{file}:{path}", f"{file}:{path}"])
    assert table.arrays("k").k.tolist() == expected
    assert chain.arrays("k").k.tolist() == expected * 2
    other = farroot.open(f"{file}:t")
    other.add_friend(table, "f")
    assert other.arrays(["f.k"])["f.k"].tolist() == expected
    parts = farroot.partitions(f"{file}:{path}", ["k"])
    assert [n for part in parts for n in part.arrays().k.tolist()] == expected


def test_names_without_cycles_are_those_of_the_newest(file: Path) -> None:
    """Regression: ``items(cycle=False)`` gave a name once for each cycle, the oldest last, and
    ``values`` the objects of all cycles."""
    with farroot.open(file) as ours, uproot.open(file) as theirs:
        for options in ({}, {"filter_name": "t"}, {"recursive": False}):
            pairs = ours.items(cycle=False, filter_classname="TTree", **options)
            assert [name for name, _ in pairs] == theirs.keys(
                cycle=False, filter_classname="TTree", **options
            )
            for name, tree in pairs:
                assert tree["k"].array().tolist() == NEWEST, name
            trees = ours.values(filter_classname="TTree", **options)
            assert [tree["k"].array().tolist() for tree in trees] == [NEWEST] * len(pairs)


@pytest.mark.parametrize("reader", [farroot, uproot])
def test_copied_cycles_keep_their_order(reader: Any, tmp_path: Path) -> None:
    """Regression: the newest cycle of a name was written first, and so became the oldest."""
    first, second = tmp_path / "first.root", tmp_path / "second.root"
    with farroot.recreate(first) as made:
        for count in (1, 2, 3):
            made["h"] = np.histogram([0.5] * count, bins=2, range=(0, 1))
            made["d/e/h"] = np.histogram([0.5] * 10 * count, bins=2, range=(0, 1))
        made["last"] = "text"
        made.mkdir("empty/below")
    with farroot.recreate(second) as made, reader.open(first) as source:
        made.copy_from(source)
    with uproot.open(first) as before, uproot.open(second) as after:
        assert after.keys() == before.keys()
        for name in ("h", "h;1", "h;2", "h;3", "d/e/h", "d/e/h;2"):
            assert after[name].values().tolist() == before[name].values().tolist(), name
