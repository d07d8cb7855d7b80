"""Members and branches of shapes that the other tests of ROOT's files do not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import pytest
import uproot

from .root import written_by
from .same import same_awkward
from .test_root_field import KINDS, column, opened

pytestmark = pytest.mark.interop

ENTRIES = range(40)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `shapes.h`."""
    return written_by("field", tmp_path_factory.mktemp("shapes"), "shapes")


def part(i: int) -> dict[str, Any]:
    return {"id": i}


def row(i: int) -> dict[str, Any]:
    pair = [[10 * i + j + k for k in range(i % 3)] for j in range(2)]
    return {"n": i % 3, "pair": pair, "nothing": {}, "last": i}


def shapes(i: int) -> dict[str, Any]:
    """The values of `Shapes::fill`."""
    return {
        "parts": [part(i + k) for k in range(3)],
        "grid": [[part(0), part(0)], [part(i), part(i)]],
        "vectors": [{"fX": i, "fY": k, "fZ": 0} for k in range(2)],
        "texts": ["t" * (i % 3 + k) for k in range(2)],
        "arrays": [[i] * (i % 3) for _ in range(2)],
        "named": [{"fName": "n" * (i % 3), "fTitle": "t"}] * 2,
        "objects": [{"fUniqueID": i + k, "fBits": 0} for k in range(2)],
        "pointers": [None if k == i % 3 else part(i + k) for k in range(3)],
        "rows": [row(i + k) for k in range(i % 3)],
        "words": ["w" * (i % 3)] * (i % 4),
        "metals": [2] * (i % 3),
        "smalls": [],
        "last": -i,
    }


def without_bits(objects: list[Any]) -> list[Any]:
    return [{**each, "fBits": 0} for each in objects]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] == 0])
def test_whole_objects(written: Path, kind: tuple[int, bool]) -> None:
    """An array of pointers was taken for one pointer, which shows in the members behind it."""
    entries = opened(written, "shapes", kind)["shapes."].array().to_list()
    for i, got in enumerate(entries):
        got["objects"] = without_bits(got["objects"])
        assert got == shapes(i)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] > 0])
def test_arrays_of_objects_in_split_objects(written: Path, kind: tuple[int, bool]) -> None:
    """uproot has them as lists of one array each, and so had we, but not in objects that were not
    split; those of TObjString and TArrayI were refused."""
    tree = opened(written, "shapes", kind)
    for name in ("parts", "vectors", "texts", "arrays", "named", "objects"):
        for i, got in enumerate(column(tree, f"shapes.{name}")):
            got = without_bits(got) if name == "objects" else got
            assert got == shapes(i)[name], (name, i)
    theirs = uproot.open(f"{written}/shapes_{kind[0]}_{kind[1]}.root:tree")
    for name in ("vectors[2]", "texts[2]", "arrays[2]"):
        ours, their = tree[f"shapes.{name}"], theirs[f"shapes.{name}"]
        assert ours.typename == their.typename.replace("[][", "[")
        assert same_awkward(ours.array(), ak.flatten(their.array(), axis=1)), name
    pointers = column(tree, "shapes.pointers")
    for i in ENTRIES:
        assert pointers[i] == [None if k == i % 3 else part(i + k) for k in range(3)]
    assert column(tree, "shapes.grid") == [shapes(i)["grid"] for i in ENTRIES]


@pytest.mark.parametrize("kind", KINDS)
def test_objects_of_which_nothing_is_written(written: Path, kind: tuple[int, bool]) -> None:
    """A base class without members has as many objects as the collection; they were none. Pointers
    to arrays of one length were refused there."""
    tree = opened(written, "shapes", kind)
    rows = [[row(i + k) for k in range(i % 3)] for i in ENTRIES]
    if kind[0] == 0:
        assert column(tree, "rows") == rows
        return
    for above in ("rows", "shapes.rows")[: 1 + (kind[0] == 99)]:
        for name in ("n", "pair", "nothing", "last"):
            wanted = [[each[name] for each in entry] for entry in rows]
            assert column(tree, f"{above}.{name}") == wanted, (above, name)
        assert column(tree, f"{above}.Nothing") == [[{}] * len(entry) for entry in rows]
    steps = list(tree.iterate(["rows.Nothing", "rows.pair[2]"], step_size=7))
    got = [entry for step in steps for entry in step["rows.Nothing"].to_list()]
    assert got == [[{}] * len(entry) for entry in rows]
    virtual = tree.arrays(["rows.Nothing"], virtual=True)
    assert virtual["rows.Nothing"].to_list() == got


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[0] == 1])
def test_lists_of_tobjstrings(written: Path, kind: tuple[int, bool]) -> None:
    """Written member by member they were called corrupt, here and in whole objects."""
    words = column(opened(written, "shapes", kind), "shapes.words")
    assert words == [shapes(i)["words"] for i in ENTRIES]


@pytest.mark.parametrize("kind", KINDS)
def test_enumerations_that_nothing_describes(written: Path, kind: tuple[int, bool]) -> None:
    """ROOT takes items of a class that it does not know for numbers of four bytes; here only that
    there are such numbers tells."""
    tree = opened(written, "shapes", kind)
    assert tree["metals"].array().to_list() == [[2] * (i % 3) for i in ENTRIES]
    assert tree["set"].array().to_list() == [[2] * (i % 2) for i in ENTRIES]
    late = [[1] * (i % 3) if i >= 30 else [] for i in ENTRIES]
    assert tree["late"].array().to_list() == late
    steps = list(tree.iterate("late", step_size=7))
    assert [entry for step in steps for entry in step["late"].to_list()] == late


def boxes(i: int) -> dict[str, Any]:
    """The values of `Boxes::fill`."""
    counts = [range((i + k) % 3) for k in range(2)]
    return {
        "maps": [[(i + j, j / 2) for j in count] for count in counts],
        "lists": [[i] * ((i + k) % 4) for k in range(3)],
        "named": [[("k" * (j + 1), i) for j in count] for count in counts],
        "last": -i,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_collections(written: Path, kind: tuple[int, bool]) -> None:
    """Arrays of maps that are written member by member say the version of their pairs, and
    collections in a `std::array` have no header: both were called corrupt."""
    tree = opened(written, "shapes", kind)
    crates = [[boxes(i + k) for k in range(i % 3)] for i in ENTRIES]
    if kind[0] == 0:
        assert tree["boxes."].array().to_list() == [boxes(i) for i in ENTRIES]
        assert column(tree, "crates") == crates
        return
    for name in ("maps", "lists", "named", "last"):
        assert column(tree, f"boxes.{name}") == [boxes(i)[name] for i in ENTRIES], name
        wanted = [[each[name] for each in entry] for entry in crates]
        assert column(tree, f"crates.{name}") == wanted, name
