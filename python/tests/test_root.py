"""Trees that ROOT itself writes, of classes that it compiles: every member, every way to split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

from .root import written_by
from .test_parquet import cat

pytestmark = pytest.mark.interop

#: By name: the trees that `make.py` makes of them.
WHOLE = ("whole", "whole_memberwise")
SPLIT = ("members", "members_memberwise", "split", "split_memberwise")


#: Of `odds.h`: split level, and whether collections are streamed member by member.
ODDS = [(split, memberwise) for split in (0, 1, 99) for memberwise in (False, True)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `make.py`."""
    return written_by("make", tmp_path_factory.mktemp("root"))


def hit(i: int) -> dict[str, Any]:
    return {"id": i, "label": "h" * (i % 5), "times": [0.5 * i] * (i % 3)}


def point(i: int) -> dict[str, Any]:
    return {"x": i, "y": -i}


def few(i: int, most: int, value: Any) -> list[Any]:
    return [value] * (i % most)


def event(i: int) -> dict[str, Any]:
    """The values of `Event::fill`, in whichever order C++ keeps them."""
    several = range(i % 4)
    return {
        "base": -i,
        "n": i % 4,
        "counted": [i + 0.5 * k for k in several],
        "square": [[0, i], [2 * i, 3 * i]],
        "bools": few(i, 3, bool(i % 2)),
        "texts": few(i, 3, ["q" * (i % 4 * 100)] * 2),
        "numbers_by_number": [(k, 0.25 * i) for k in several],
        "lists_by_text": [("k" * (k + 1), [i] * k) for k in several],
        "hits_by_number": [(k, hit(i + k)) for k in several],
        "many_by_number": [(7, i) for _ in several],
        "unordered": few(i, 2, ("one", i)),
        "set": sorted({i * k for k in several}),
        "unordered_set": few(i, 2, i),
        "list": few(i, 3, -i),
        "deque": few(i, 2, 1.5 * i),
        "bits": [bool(i >> bit & 1) for bit in range(12)],
        "array": [i, i + 1, i + 2],
        "pair": {"first": i, "second": 3.0 * i},
        "pairs": few(i, 3, {"first": i, "second": "p" * (i % 2)}),
        "hit": hit(i),
        "point": point(i),
        "fixed": [hit(i), hit(i + 1)],
        "lists": [[i] * (k + i % 2) for k in range(2)],
        "strings": ["s" * (i % 3 + k) for k in range(2)],
        "names": ["n" * (k + 1) for k in range(2)],
        "hits": [hit(i + k) for k in range(i % 3)],
        "clusters": [{**hit(i * k), "energy": 2.0 * i * k} for k in range(i % 3)],
        "points": [few(i, 3, point(i))] * 2,
        # Of derived classes, the members of the class that the pointer names.
        "pointers": few(i, 3, hit(i)),
        "behind": few(i, 3, 0.125 * i),
        "elsewhere": hit(i) if i % 2 else None,
        "reduced": pytest.approx(100 * (i % 64) / 64, abs=1e-2),
        "reduced_list": [i / 2] * 3,
        "half": pytest.approx(i / 8, rel=1e-3),
        "name": "z" * (i % 7),
        "momentum": {"fP": {"fX": i, "fY": 1.0, "fZ": 2.0}, "fE": 3.0},
        "vectors": few(i, 2, {"fX": i, "fY": 0.0, "fZ": 1.0}),
        "time": {"fDatime": (2024 - 1995) << 26 | 1 << 22 | 2 << 17 | 3 << 12 | 4 << 6 | 5},
        "last": 10_000_000_000 * i,
    }


@pytest.mark.parametrize("name", WHOLE)
def test_whole_objects(written: Path, name: str) -> None:
    tree = farroot.open(f"{written / name}.root:events")
    for i, got in enumerate(tree["event."].array().to_list()):
        expected = event(i)
        assert list(got) == list(expected)
        for member in expected:
            assert got[member] == expected[member], (i, member)


def plainly(value: Any) -> Any:
    """A single object as entries of trees come: dicts and lists, a map as its pairs."""
    if isinstance(value, farroot.Object):
        members = {name: plainly(member) for name, member in value.items()}
        return {name: each for name, each in members.items() if name not in ("fUniqueID", "fBits")}
    if isinstance(value, dict):
        return [(plainly(key), plainly(each)) for key, each in value.items()]
    if isinstance(value, tuple):
        return tuple(plainly(each) for each in value)
    if isinstance(value, list):
        return [plainly(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("memberwise", [False, True])
def test_single_objects_of_any_class(written: Path, memberwise: bool) -> None:
    """Most of these members once made an object unreadable: bits, enumerations, pointers to
    collections, arrays of collections, packed numbers, several arrays behind one count."""
    file = farroot.open(f"{written}/singles_{memberwise}.root")
    for i in range(12):
        got, wanted = plainly(file[f"event{i}"]), event(i)
        # Numbers of objects that are no entries come in one row, as uproot has them.
        wanted["square"] = [number for row in wanted["square"] for number in row]
        # Other than in trees, pointers lead to the whole object.
        for kept, whole in zip(wanted.pop("pointers"), got.pop("pointers"), strict=True):
            assert kept.items() <= whole.items()
        if i % 2:
            wanted["elsewhere"] = {**wanted["elsewhere"], "energy": 2.0 * i}
        assert got == wanted
        got, wanted = plainly(file[f"odds{i}"]), odds(i)
        for name in ("reference", "references", "parameter"):
            got.pop(name), wanted.pop(name)
        pointers, histogram = got.pop("pointers"), got.pop("histogram")
        assert pointers == [cell(i), None][: i % 3]
        assert histogram["fArray"] == [0, 1, 0, 0]
        assert list(got) == list(wanted)
        for member in wanted:
            assert same_odd(member, got[member], wanted[member]), (member, got[member])


@pytest.mark.parametrize("name", SPLIT)
def test_split_objects(written: Path, name: str) -> None:
    tree = farroot.open(f"{written / name}.root:events")
    branches = {branch.name: branch for branch in tree["event."].values()}
    known = {name.split(".")[-1].split("[")[0]: branch for name, branch in branches.items()}
    columns = {
        member: known[member].array().to_list()
        for member in event(0)
        if member in known and not known[member].is_group
    }
    assert len(columns) > 25, list(known)
    for i in range(tree.num_entries):
        expected = event(i)
        for member, column in columns.items():
            got, wanted = column[i], expected[member]
            assert got == wanted, (i, member)


@pytest.mark.parametrize("name", [*WHOLE, *SPLIT])
def test_collections_at_the_top(written: Path, name: str) -> None:
    tree = farroot.open(f"{written / name}.root:events")
    hits, numbers = tree["top_hits"], tree["top_map"]
    if not numbers.is_group:
        for i, got in enumerate(numbers.array().to_list()):
            assert got == [(k, i) for k in range(i % 3)]
    if hits.is_group:
        times = tree["top_hits.times"].array().to_list()
        assert times == [[hit(i + k)["times"] for k in range(i % 3)] for i in range(len(times))]
        labels = tree["top_hits.label"].array().to_list()
        assert labels == [[hit(i + k)["label"] for k in range(i % 3)] for i in range(len(labels))]
    else:
        for i, got in enumerate(hits.array().to_list()):
            assert got == [hit(i + k) for k in range(i % 3)]


def cell(i: int) -> dict[str, Any]:
    packed = pytest.approx(i % 64, abs=1e-2)
    return {"id": i, "packed": packed, "half": pytest.approx(i % 7, rel=1e-2)}


def odds(i: int) -> dict[str, Any]:
    """The values of `Odds::fill`."""
    several = range(i % 3)
    return {
        "n": i % 3,
        "packed": [pytest.approx(i % 64, abs=1e-2)] * (i % 3),
        "halves": [pytest.approx(k, rel=1e-2) for k in several],
        "numbers": [[10 * j + k + i for k in several] for j in range(2)],
        "cells": [cell(i + k) for k in several],
        "text": "odd" if i % 2 else "",
        "stamp": {"fSec": 1000 + i, "fNanoSec": i},
        "reference": {"ref": i},
        "references": {"fName": "", "fSize": 0, "refs": []},
        "rvec": [i] * (i % 4),
        "rvecs": few(i, 3, [i, i]),
        "matrix": {
            "fNrows": 2,
            "fNcols": 2,
            "fRowLwb": 0,
            "fColLwb": 0,
            "fNelems": 4,
            "fNrowIndex": 0,
            "fTol": pytest.approx(2.2e-16, rel=0.1),
            "fElements": [i, -i, 0],
        },
        "string": "s" * (i % 5),
        "parameter": {"fName": "", "fVal": i},
        "plane": {"fX": i, "fY": 2 * i},
        "vector": {"fCoordinates": {"fPt": i, "fEta": 1, "fPhi": 0.5, "fM": 0.25}},
        "complex": complex(i, -i),
        "colours": few(i, 3, 2),
        "several": few(i, 3, 4),
        "forward": few(i, 3, i),
        "tuple": {"_0": i, "_1": 0.5 * i},
        "arrays": few(i, 3, [1, i]),
        "by_pair": [({"first": k, "second": i}, i) for k in several],
        "maps": [("m" * (k + 1), [(i, [i] * k)]) for k in several],
        "grid": few(i, 3, few(i, 2, cell(i))),
        "last": 7 * i,
    }


def same_odd(member: str, got: Any, wanted: Any) -> bool:
    """Whether a member is as it was filled, apart from the names in C++ libraries."""
    if member == "tuple":
        got, wanted = sorted(got.values()), sorted(wanted.values())
    return bool(got == wanted)


@pytest.mark.parametrize(("split", "memberwise"), ODDS)
def test_odd_members(written: Path, split: int, memberwise: bool) -> None:
    tree = farroot.open(f"{written}/odds_{split}_{memberwise}.root:odds")
    if split == 0:
        entries = tree["odds."].array()
        columns = {name: entries[name].to_list() for name in entries.fields}
        for i, pair in enumerate(columns["histogram"]):
            assert (pair["fEntries"], pair["TArrayF"]) == (i + 1, [0, i + 1, 0, 0])
    else:
        named = [
            (branch.name.split("[")[0].split("."), branch) for branch in tree["odds."].values()
        ]
        known = {name[1]: branch for name, branch in named if len(name) == 2}
        columns = {
            name: branch.array().to_list() for name, branch in known.items() if not branch.is_group
        }
    compared = 0
    for member in odds(0):
        if member not in columns:
            continue
        compared += 1
        for i, got in enumerate(columns[member]):
            assert same_odd(member, got, odds(i)[member]), (member, i, got, odds(i)[member])
    assert compared > 15, list(columns)


def test_branches_of_old(written: Path) -> None:
    tree = farroot.open(f"{written}/odds_0_False.root:odds")
    texts, vectors = tree["old_text"], tree["old_vector"]
    assert (texts.typename, vectors.typename) == ("TObjString", "TLorentzVector")
    assert texts.array().to_list() == ["o" * (i % 4) for i in range(20)]
    assert vectors.array()["fP", "fX"].to_list() == list(range(20))


def part(i: int) -> dict[str, Any]:
    return {"id": i, "energy": 0.5 * i, "hits": [i] * (i % 3), "name": "p" * (i % 4)}


def heavy(i: int) -> dict[str, Any]:
    return {**part(i), "mass": 3 * i}


def holder(i: int) -> dict[str, Any]:
    """The values of `Holder::fill`."""
    few = range(i % 3)
    parts = [part(i + k) for k in few]
    return {
        "before": i,
        "clones": [part(i + k) for k in range(i % 4)],
        "heavy": [heavy(i * k) for k in range(i % 4)],
        # The second one twice, and a null pointer between the two.
        "array": [*parts, None, parts[1]] if i % 3 == 2 else parts,
        "list": [heavy(i), "text"][: i % 3],
        "hash": ["h" * (i % 5)] * (i % 3),
        "map": [("k" * (k + 1), part(k)) for k in few],
        "nested": [[{"fName": "n", "fTitle": "t"}]] * (i % 3),
        "named": {"fName": "name", "fTitle": "t" * (i % 4)},
        "vector": {"fCoordinates": {"fPt": i, "fEta": 1, "fPhi": 0.5, "fM": 0.25}},
        "after": -i,
    }


def in_order(pairs: Any) -> Any:
    """The pairs of a `TMap`, which has them in whichever order."""
    return sorted(pairs, key=lambda pair: pair[0])


@pytest.mark.parametrize(("split", "bypass"), ODDS)
def test_containers_of_objects_of_any_class(written: Path, split: int, bypass: bool) -> None:
    tree = farroot.open(f"{written}/containers_{split}_{bypass}.root:tree")
    if split == 0:
        entries = tree["holder."].array()
        columns = {name: entries[name].to_list() for name in entries.fields}
    else:
        columns = {
            branch.name.split(".")[-1]: branch.array().to_list()
            for branch in tree["holder."].values()
            if not branch.is_group
        }
    for member in holder(0):
        # Split, the objects of a TClonesArray are in branches of their own.
        if member not in columns:
            assert split == 99
            assert member in ["clones", "heavy", "named", "vector"]
            continue
        for i, got in enumerate(columns[member]):
            wanted = holder(i)[member]
            assert (in_order(got) if member == "map" else got) == wanted, (member, i)


def test_objects_of_any_class_in_steps_and_in_every_library(written: Path) -> None:
    """Which classes there are differs from step to step, and from basket to basket."""
    import awkward as ak

    tree = farroot.open(f"{written}/containers_1_False.root:tree")
    wanted = [holder(i)["list"] for i in range(tree.num_entries)]
    name = "holder.list"
    steps = list(tree.iterate([name], step_size=40))
    assert [entry for step in steps for entry in step[name].to_list()] == wanted
    assert ak.concatenate(steps)[name].to_list() == wanted
    assert tree.arrays([name], virtual=True)[name].to_list() == wanted
    arrow = tree[name].array(library="arrow")
    assert [len(each or ()) for each in arrow.to_pylist()] == [len(each) for each in wanted]
    objects = tree[name].array(library="np")
    assert [len(each) for each in objects] == [len(each) for each in wanted]
    kept = tree.arrays([name], cut='get("holder.before") > 150')[name].to_list()
    assert kept == wanted[151:]


def of_classes(i: int) -> list[Any]:
    """The values of `write_classes`, with null pointers between."""
    held = [{"fName": "n", "fTitle": "t"}, "s", {"fX": 0, "fY": 0, "fZ": 0}][i // 100]
    return [held, None, held][: max(0, i % 3 * 2 - 1)]


def test_classes_that_differ_from_batch_to_batch(written: Path, tmp_path: Path) -> None:
    """Awkward joins them; Arrow's streams and Parquet have one type, which they now say."""
    import awkward as ak
    import pyarrow.parquet as pq

    address = f"{written}/classes.root:tree"
    tree = farroot.open(address)
    wanted = [of_classes(i) for i in range(300)]
    for size in (7, 50, 100):
        steps = list(tree.iterate(["array"], step_size=size))
        assert ak.concatenate(steps)["array"].to_list() == wanted
        joined = steps[0]["array"]
        for step in steps[1:]:
            joined = ak.concatenate([joined, step["array"]])
        assert joined.to_list() == wanted
        frames = tree.iterate(["array"], step_size=size, library="pd")
        assert [len(entry) for frame in frames for entry in frame["array"]] == [*map(len, wanted)]
    assert tree["array"].array(library="arrow").to_pylist() == wanted
    assert tree.to_arrow(["array"]).read_all()["array"].to_pylist() == wanted
    with pytest.raises(farroot.UnsupportedError, match="array holds objects of other classes"):
        tree.to_arrow(["array"], step_size=50).read_all()

    path = tmp_path / "one.parquet"
    done = cat(address, "-c", "one", "--parquet", str(path))
    assert done.returncode == 0, done.stderr
    assert pq.read_table(path)["one"].to_pylist() == tree["one"].array().to_list()
    done = cat(address, "-c", "array", "--parquet", str(tmp_path / "several.parquet"))
    assert done.returncode == 1
    assert "Parquet cannot hold column array" in done.stderr


@pytest.mark.parametrize(("split", "bypass"), [each for each in ODDS if each[0] < 99])
def test_containers_at_the_top(written: Path, split: int, bypass: bool) -> None:
    tree = farroot.open(f"{written}/containers_{split}_{bypass}.root:tree")
    if split == 0:
        masses = tree["clones"].array()["mass"].to_list()
        assert tree["text"].array().to_list() == ["x" * (i % 4) for i in range(200)]
    else:
        masses = tree["clones/clones.mass"].array().to_list()
    assert masses == [[i + k for k in range(i % 3)] for i in range(200)]


@pytest.mark.parametrize("memberwise", [False, True])
def test_pairs_that_the_file_does_not_describe(written: Path, memberwise: bool) -> None:
    """ROOT 6.40 has no streamer info of the `pair<double,double>` for each bin of an efficiency."""
    efficiency = farroot.open(f"{written}/efficiencies.root")[f"memberwise_{memberwise}"]
    assert efficiency.passed.values().tolist() == [2, 3, 3, 2, 3]
    assert efficiency.values().tolist() == [0.5, 0.75, 0.75, 0.5, 0.75]
    pairs = [(pair["first"], pair["second"]) for pair in efficiency["fBeta_bin_params"]]
    assert pairs == [(1, 1), (1, 1), (3, 4), (1, 1), (1, 1), (1, 1), (1, 1)]
