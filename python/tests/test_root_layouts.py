"""Layouts of members and branches that ROOT writes: shapes, names, numbers and places."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot

from .root import written_by

pytestmark = pytest.mark.interop

SPLITS = (0, 1, 99)
ENTRIES = range(6)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `layouts.h`."""
    return written_by("layouts", tmp_path_factory.mktemp("layouts"))


def tree_of(written: Path, name: str) -> Any:
    return farroot.open(f"{written / name}.root:tree")


def grids(e: int) -> dict[str, Any]:
    """The values of `Grids::fill`."""
    several = range(e % 3)

    def cell(foo: float, bar: int) -> dict[str, Any]:
        return {"foo": foo, "bar": bar}

    def numbers(first: int) -> list[int]:
        return [first + k for k in several]

    def inner(i: int) -> dict[str, Any]:
        return {"q": [[100 * i, 100 * i + 1], [e, e]], "r": [0.5, 1.5, 2.5]}

    return {
        "two": [cell(e + 0.5 + i, i) for i in range(2)],
        "grid": [[cell(e + 0.125, 10 * i + k) for k in range(2)] for i in range(2)],
        "m": [[10 * i + k for k in range(3)] for i in range(2)],
        "d3": [[[100 * i + 10 * k + n + e for n in (0, 1)] for k in (0, 1)] for i in (0, 1)],
        "b2": [[bool((e + i + k) % 2) for k in range(2)] for i in range(2)],
        "c2": [[10 * i + k for k in range(3)] for i in range(2)],
        "dr": [[10 * i + k for k in range(3)] for i in range(2)],
        "fr": [0, 1, 2],
        "sm": [[f"m{10 * i + k}" for k in range(2)] for i in range(2)],
        "tm": [[f"u{i}{k}" for k in range(3)] for i in range(2)],
        "af": [e, e + 1],
        "aa": [[10 * i + k + e for k in range(3)] for i in range(2)],
        "as": ["a" * (e % 3 + i) for i in range(2)],
        "ac": [cell(e + 0.25, i) for i in range(2)],
        "av": [[1.5 + i] * ((e + i) % 3) for i in range(2)],
        "va": [[1 + k, 2 + e] for k in several],
        "vva": [[[k, e], [7, 8]] for k in several],
        "vac": [[cell(k + 0.5, 1), cell(e + 0.5, 2)] for k in several],
        "ma": [(k, [k + 0.5, e + 0.5]) for k in several],
        "vm": [[[e] * ((i + k + e) % 3) for k in range(2)] for i in range(2)],
        "vin": [inner(1)] * (e % 3),
        "ina": [inner(0), inner(1)],
        "pa": {"first": e, "second": [1, e + 0.5]},
        "n": e % 3,
        "pp": [numbers(10 * i) for i in range(2)],
        "pq": [[numbers(100 * i + 10 * k) for k in range(3)] for i in range(2)],
        "last": -e,
    }


#: Types of an entry, whatever the split level is.
TYPES = {
    "two": "2 * Cell[foo: float64, bar: int32]",
    "grid": "2 * 2 * Cell[foo: float64, bar: int32]",
    "m": "2 * 3 * int32",
    "d3": "2 * 2 * 2 * float32",
    "b2": "2 * 2 * bool",
    "c2": "2 * 3 * int8",
    "dr": "2 * 3 * float64",
    "fr": "3 * float32",
    "sm": "2 * 2 * string",
    "tm": "2 * 3 * string",
    "af": "2 * float32",
    "aa": "2 * 3 * int32",
    "as": "2 * string",
    "ac": "2 * Cell[foo: float64, bar: int32]",
    "av": "2 * var * float32",
    "vva": "var * var * 2 * int32",
    "vm": "2 * 2 * var * int32",
    "ina": "2 * Inner[q: 2 * 2 * int32, r: 3 * float32]",
    "pp": "2 * var * float32",
    "pq": "2 * 3 * var * float32",
}
#: The same of those that a split level above 1 divides further.
WHOLE_TYPES = {
    "va": "var * 2 * float32",
    "vac": "var * 2 * Cell[foo: float64, bar: int32]",
    "vin": "var * Inner[q: 2 * 2 * int32, r: 3 * float32]",
}


def entry_type(array: Any) -> str:
    return str(array.type).split(" * ", 1)[1]


@pytest.mark.parametrize("split", SPLITS)
def test_arrays_have_one_shape_however_they_were_split(written: Path, split: int) -> None:
    """`T a[2]` had a list too many in branches, `int m[2][3]` one dimension in objects, items that
    are a `std::array` were records, and those in maps and pairs were refused."""
    tree = tree_of(written, f"grids_{split}")
    if split == 0:
        entries = tree["grids."].array()
        columns = {name: entries[name] for name in entries.fields}
        assert list(columns) == list(grids(0))
    else:
        below = {branch.name.split(".")[1].split("[")[0]: branch for branch in tree["grids."]}
        columns = {name: branch.array() for name, branch in below.items() if not branch.is_group}
    types = TYPES | (WHOLE_TYPES if split < 2 else {})
    assert {name: entry_type(columns[name]) for name in types} == types
    for name, column in columns.items():
        # Reals of few bits are near the filled values.
        got = ak.to_list(np.round(column, 1) if name in ("dr", "fr") else column)
        assert got == [grids(e)[name] for e in ENTRIES], name
    if split == 99:
        assert entry_type(tree["grids.vin.q[2][2]"].array()) == "var * 2 * 2 * int32"
        assert entry_type(tree["grids.pa.second[2]"].array()) == "2 * float32"
    steps = ak.concatenate(list(tree.iterate(step_size=4)))
    assert ak.array_equal(steps, tree.arrays())


def test_members_of_one_name_have_their_base_in_front(written: Path) -> None:
    """A record had two fields `x`, of which one could not be had; pandas and Arrow raised."""
    wanted = {
        "both": {"x": 0, "one": 5, "Two::x": 100, "y": 0},
        "further": {"Both::One::x": 0, "one": 0, "Both::Two::x": 100, "y": 0, "x": 7},
        "diamond": {"x": 0, "left": 0, "Right::x": 100, "right": 0, "bottom": 0},
    }
    grow = {"One::x": 1, "Two::x": 1, "y": -1, "Both::One::x": 1, "Both::Two::x": 1}
    grow |= {"Right::x": 1, "bottom": -1, "x": 1}
    # In `further` these are of the class itself.
    constant = {("further", "y"), ("further", "x")}
    for name, first in wanted.items():
        tree = tree_of(written, f"{name}_0")
        entries = [
            {
                key: value + e * (0 if (name, key) in constant else grow.get(key, 0))
                for key, value in first.items()
            }
            for e in ENTRIES
        ]
        array = tree[name].array()
        assert array.to_list() == entries
        assert tree[f"all_{name}"].array().to_list() == [[entries[e]] * (e % 3) for e in ENTRIES]
        assert tree[name].array(library="pa").to_pylist() == entries
        frame = tree.arrays([name], library="pd")
        assert len(set(map(str, frame.columns))) == len(frame.columns)
        numbers = tree[name].array(library="np")
        assert [ak.to_list(each) if isinstance(each, ak.Array) else each for each in numbers]


def test_members_of_one_name_of_a_single_object(written: Path) -> None:
    members = dict(farroot.open(written / "objects.root")["both"].all_members)
    assert members == {"x": 1, "one": 0, "Two::x": 2, "y": 3}


def waves(e: int) -> dict[str, Any]:
    several = range(e % 3)
    return {
        "f": complex(e, e + 0.5),
        "d": complex(-e, e),
        "a": [complex(i, e) for i in range(2)],
        "w": [complex(i, e) for i in several],
        "mp": [(i, complex(i, 7)) for i in several],
    }


@pytest.mark.parametrize("split", SPLITS)
def test_complex_numbers(written: Path, split: int) -> None:
    """They were records of a real and an imaginary part; split, they still are two branches."""
    tree = tree_of(written, f"numbers_{split}")
    one, many = tree["one"], tree["many"]
    assert entry_type(one.array()) == "complex64"
    assert one.array().to_list() == [complex(e, -2) for e in ENTRIES]
    assert one.array(library="np").dtype == np.complex64
    assert many.array().to_list() == [[complex(1.5, e)] * (e % 3) for e in ENTRIES]
    assert entry_type(many.array()) == "var * complex128"
    parts = one.array(library="pa").to_pylist()
    assert parts == [{"_real": e, "_imag": -2} for e in ENTRIES]
    if split == 0:
        both = tree_of(written, "waves_0")
        assert both["waves"].array().to_list() == [waves(e) for e in ENTRIES]
        assert both["all_waves"].array().to_list() == [[waves(e)] * (e % 3) for e in ENTRIES]


def test_complex_numbers_that_are_objects(written: Path) -> None:
    file = farroot.open(written / "objects.root")
    assert (file["one"], file["one"].dtype) == (1 - 2j, np.complex64)
    assert list(file["many"]) == [1 + 2j, 3 + 4j]
    waves_members = dict(file["waves"].all_members)
    assert waves_members["f"] == complex(2, 2.5)
    assert waves_members["w"].tolist() == waves(2)["w"]
    assert waves_members["mp"] == dict(waves(2)["mp"])


@pytest.mark.parametrize("filled", [0, 1])
def test_a_branch_with_values_of_its_own_above_another(
    written: Path, tmp_path: Path, filled: int
) -> None:
    """Its values could not be had, and were left out of `arrays()` without a word."""
    tree = tree_of(written, f"nested_{filled}")
    own = [e + 1 for e in ENTRIES]
    below = [{"b2": [-e, e], "b3": 9} for e in ENTRIES]
    assert tree.keys() == ["b1", "b1/b2"]
    assert tree["b1"].array().to_list() == own
    if filled:
        arrays = tree.arrays()
        assert tree["b1/b2"].array().to_list() == below
    else:
        with pytest.warns(farroot.UnreadableWarning, match="b2"):
            arrays = tree.arrays()
        with pytest.raises(farroot.UnsupportedError, match=r"b2.*never filled"):
            tree["b1/b2"].array()
    assert arrays["b1"].to_list() == own
    assert [x for step in tree.iterate("b1", step_size=4) for x in step["b1"].to_list()] == own
    shown = subprocess.run(
        [
            sys.executable,
            "-m",
            "farroot",
            "cat",
            f"{written}/nested_{filled}.root:tree",
            "-c",
            "b1",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "6" in shown.stdout
    if filled:
        farroot.skim(f"{written}/nested_1.root:tree", str(tmp_path / "skim.root"), cut="b1 > 3")
        kept = farroot.open(tmp_path / "skim.root")["tree"]
        assert kept["b1"].array().to_list() == own[3:]
        assert kept["b1/b2"].array().to_list() == below[3:]


def test_baskets_in_another_file_are_refused_by_name(written: Path, tmp_path: Path) -> None:
    """Where a basket of another branch lay there, its values came as those of the branch."""
    path = f"{written}/elsewhere.root"
    tree = farroot.open(f"{path}:tree")
    says = pytest.raises(farroot.UnsupportedError, match=r"others\.root")
    for read in (
        lambda: tree["y"].array(),
        lambda: tree.arrays(["y"]),
        lambda: list(tree.iterate("y")),
        lambda: tree.arrays(["x"], cut="y > 1"),
        lambda: farroot.concatenate([f"{path}:tree"], "y"),
        lambda: farroot.merge([path], str(tmp_path / "merged.root")),
        lambda: farroot.skim(f"{path}:tree", str(tmp_path / "skim.root"), cut="x > 3"),
    ):
        with says:
            read()
    assert tree["y"].typename == "int32_t"
    assert tree["x"].array().to_list() == list(range(600))
    with pytest.warns(farroot.UnreadableWarning, match="y"):
        assert tree.arrays().fields == ["x"]


def test_a_basket_of_another_branch_is_told(written: Path, tmp_path: Path) -> None:
    """The name in a basket's key was not compared with anything."""
    renamed = farroot.open(written / "renamed.root")["after"]
    assert renamed["y"].array().to_list() == list(range(600))
    assert renamed["x"].array().to_list() == [-e for e in range(600)]
    theirs = uproot.open(written / "plain.root")["before"]
    places = {}
    for name in ("x", "y"):
        seeks = theirs[name].member("fBasketSeek")
        places[name] = seeks[seeks > 0].astype(">i8").tobytes()
    whole = (written / "plain.root").read_bytes()
    assert whole.count(places["y"]) == 1
    mixed = tmp_path / "mixed.root"
    mixed.write_bytes(whole.replace(places["y"], places["x"]))
    tree = farroot.open(mixed)["before"]
    assert tree["x"].array().to_list() == list(range(600))
    with pytest.raises(farroot.CorruptError, match=r'branch "x".*branch "y"'):
        tree["y"].array()
    with pytest.raises(farroot.CorruptError, match="several branches"):
        farroot.merge([str(mixed)], str(tmp_path / "merged.root"))


def test_long_chains_of_shared_objects(written: Path) -> None:
    """A workspace with objects that were met deeper than 128 in each other was refused."""
    workspace = farroot.open(written / "workspace.root")["w"]
    assert workspace.member("_allOwnedNodes") is not None
    assert workspace.classname == "RooWorkspace"
