"""Virtual arrays: read when looked at, and in the next steps ahead of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import pytest

import farroot

from .conftest import ENTRIES

COLUMNS = ["int8", "float64", "jagged", "matrix", "text"]


@pytest.fixture
def tree(made: Path) -> farroot.Tree:
    tree = farroot.open(f"{made}:events")
    assert isinstance(tree, farroot.Tree)
    return tree


def same(virtual: Any, read: Any) -> bool:
    return bool(ak.array_equal(ak.materialize(virtual), read, equal_nan=True))


def test_all_at_once(tree: farroot.Tree) -> None:
    log: list[Any] = []
    virtual = tree.arrays(virtual=True, access_log=log, entry_start=3, entry_stop=700)
    read = tree.arrays(entry_start=3, entry_stop=700)
    assert virtual.fields == read.fields
    assert len(virtual) == len(read)
    assert log == []
    for name in COLUMNS:
        assert same(virtual[name], read[name]), name
    assert {each.branch for each in log} == set(COLUMNS)
    assert all(each.buffer_key.startswith("node") for each in log)


@pytest.mark.parametrize("step_size", [170, 333, ENTRIES, "20 kB"])
def test_steps(tree: farroot.Tree, step_size: Any) -> None:
    log: list[Any] = []
    steps = list(
        tree.iterate(COLUMNS, step_size=step_size, virtual=True, access_log=log, report=True)
    )
    assert steps[-1][1].stop == ENTRIES
    read = tree.arrays(COLUMNS)
    for array, report in reversed(steps):
        for name in ("jagged", "text"):
            assert same(array[name], read[name][report.start : report.stop])
    assert {each.branch for each in log} == {"jagged", "text"}


def test_what_is_looked_at_while_iterating(tree: farroot.Tree) -> None:
    read = tree.arrays("jagged")
    begin = 0
    for array in tree.iterate(COLUMNS, step_size=90, virtual=True):
        end = begin + len(array)
        assert ak.all(ak.num(array.jagged) == ak.num(read.jagged[begin:end]))
        assert same(array.jagged, read.jagged[begin:end])
        begin = end
    assert begin == ENTRIES


def test_nothing_is_read_that_nobody_looks_at(tree: farroot.Tree) -> None:
    before = tree.report()["bytes_received"]
    array = tree.arrays(virtual=True)
    assert array.fields
    assert tree.report()["bytes_received"] == before
    ak.materialize(array.int8)
    some = tree.report()["bytes_received"] - before
    assert some > 0


def test_what_cannot_be_virtual(tree: farroot.Tree) -> None:
    wrong: list[dict[str, Any]] = [
        {"library": "np"},
        {"how": dict},
        {"cut": "int8 > 3"},
        {"aliases": {"x": "int8"}},
        {"expressions": "int8 * 2"},
    ]
    for arguments in wrong:
        with pytest.raises(farroot.InvalidArgumentError):
            tree.arrays(virtual=True, **arguments)
    with pytest.raises(farroot.InvalidArgumentError):
        tree.arrays("int8", access_log=[])
    assert len(tree.arrays("int8", virtual=True, entry_stop=0)) == 0


NTUPLE = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata" / "ntuple_fields.root"
FIELDS = ["i32", "numbers", "both.track.hits.x", "both.track.number", "words", "maybe", "variant"]


@pytest.fixture
def ntuple() -> farroot.RNTuple:
    ntuple = farroot.open(f"{NTUPLE}:events")
    assert isinstance(ntuple, farroot.RNTuple)
    return ntuple


def test_an_ntuple_at_once(ntuple: farroot.RNTuple) -> None:
    log: list[Any] = []
    virtual = ntuple.arrays(FIELDS, virtual=True, access_log=log, entry_start=3, entry_stop=170)
    read = ntuple.arrays(FIELDS, entry_start=3, entry_stop=170)
    assert virtual.fields == read.fields
    assert str(virtual.type) == str(read.type)
    assert log == []
    for name in read.fields:
        assert ak.materialize(virtual[name]).to_list() == read[name].to_list(), name
    assert {each.branch for each in log} == set(read.fields)


@pytest.mark.parametrize("step_size", [33, 90, "2 kB", 1_000])
def test_steps_of_an_ntuple(ntuple: farroot.RNTuple, step_size: Any) -> None:
    read = ntuple.arrays(FIELDS)
    steps = list(ntuple.iterate(FIELDS, step_size=step_size, virtual=True, report=True))
    assert steps[-1][1].stop == 200
    for array, report in reversed(steps):
        for name in ("words", "both"):
            expected = read[name][report.start : report.stop].to_list()
            assert ak.materialize(array[name]).to_list() == expected
    begin = 0
    for array in ntuple.iterate(FIELDS, step_size=step_size, virtual=True):
        end = begin + len(array)
        assert array.numbers.to_list() == read.numbers[begin:end].to_list()
        begin = end
    assert begin == 200


def test_nothing_of_an_ntuple_is_read_that_nobody_looks_at(ntuple: farroot.RNTuple) -> None:
    before = ntuple.report()["bytes_baskets"]
    array = ntuple.arrays(virtual=True)
    assert array.fields
    assert ntuple.report()["bytes_baskets"] == before
    with pytest.raises(farroot.InvalidArgumentError, match="no cut"):
        ntuple.arrays(virtual=True, cut="i32 > 3")
    with pytest.raises(farroot.InvalidArgumentError, match="access_log"):
        ntuple.arrays("i32", access_log=[])


def test_a_step_in_bytes_ends_with_a_cluster(ntuple: farroot.RNTuple) -> None:
    """Clusters of 40 entries: steps of some 60 end where a cluster does."""
    bytes_each = 60 * 4
    reports = [r for _, r in ntuple.iterate("i32", step_size=f"{bytes_each} B", report=True)]
    assert [report.stop for report in reports] == [40, 80, 120, 160, 200]
