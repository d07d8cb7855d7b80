"""Leaf lists that ROOT writes: counted arrays and strings among them, as old files have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

from .root import written_by
from .same import same_awkward

pytestmark = pytest.mark.interop

ENTRIES = range(50)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `leaves.py`."""
    return written_by("leaves", tmp_path_factory.mktemp("leaves"))


def entry(i: int) -> dict[str, Any]:
    """The values of `fill_leaves`."""
    n, m = i % 3, i % 3
    numbers = [i + k for k in range(24)]
    return {
        "counted": {"n": n, "y": i, "x": [i + k for k in range(n)]},
        "two": {
            "n": i % 4,
            "m": m,
            "x": [i + k for k in range(i % 4)],
            # ROOT has both begin at one place in memory.
            "y": [i + k for k in range(m)],
        },
        "inner": {"n": n, "x": [[i + 3 * k + j for j in range(3)] for k in range(n)]},
        "n": n,
        "outer": {"z": -i, "x": [i * k for k in range(n)]},
        "head": {"run": i % 4, "m": m},
        "lists": [np.reshape(numbers[6 * k : 6 * k + 6], (2, 3)).tolist() for k in range(n)],
        "text": {"number": i, "text": "t" * (i % 5)},
        "first": {"text": "f" * (i % 5), "number": -i},
        "letters": chr(ord("a") + i % 26) * (1 + 70 * (i % 40)),
        "reduced": {
            "x": pytest.approx(i % 10, abs=1e-3),
            "y": i % 8,
            "z": 0.5 * i,
            "i": i,
        },
    }


@pytest.mark.parametrize("name", ["large", "small"])
def test_leaf_lists(written: Path, name: str) -> None:
    """Counters in the same branch, in another one, and among others there; strings, of which ROOT
    writes no byte where they have no letters."""
    tree = farroot.open(f"{written / name}.root:tree")
    columns = {key: tree[key].array().to_list() for key in entry(0)}
    for i in ENTRIES:
        wanted = entry(i)
        for key, column in columns.items():
            assert column[i] == wanted[key], (key, i)
    assert [len(each) for each in tree["tail"].array().to_list()] == [i % 3 for i in ENTRIES]
    assert tree["two"].typename == "struct {int32_t n; int16_t m; int8_t[] x; int8_t[] y;}"
    steps = list(tree.iterate(["outer", "two"], step_size=7))
    assert [each for step in steps for each in step["outer"].to_list()] == columns["outer"]
    virtual = tree.arrays(["outer", "tail"], virtual=True)
    assert virtual["outer"].to_list() == columns["outer"]


def test_leaves_that_uproot_reads(written: Path) -> None:
    theirs = uproot.open(f"{written}/large.root:tree")
    tree = farroot.open(f"{written}/large.root:tree")
    for name in ("head", "tail", "n", "lists", "letters"):
        assert tree[name].typename == theirs[name].typename
        assert same_awkward(tree[name].array(), theirs[name].array()), name
