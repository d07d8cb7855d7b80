"""What farroot writes, as ROOT reads it: equal, and without a word on the standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

from .conftest import columns
from .root import PACKAGE
from .skips import need_root
from .test_writing_objects import HISTOGRAMS
from .test_writing_tables import COMPRESSIONS, random_columns

pytestmark = pytest.mark.interop

SEEDS = range(30)


def entries(seed: int) -> dict[str, Any]:
    return random_columns(np.random.default_rng(seed), 50)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What ROOT says of all files, by the name of the file."""
    need_root()
    folder = tmp_path_factory.mktemp("written")
    for number, compression in enumerate(COMPRESSIONS):
        with farroot.recreate(folder / f"c{number}.root", compression=compression) as file:
            file.mktree("t", columns(seed=1, entries=200), "a title", titles={"float32": "reals"})
            file.mkrntuple("n", columns(seed=1, entries=200), "an RNTuple")
    for seed in SEEDS:
        with farroot.recreate(folder / f"s{seed}.root", cluster=20) as file:
            file.mktree("t", entries(seed))
            file.mkrntuple("n", entries(seed))
    with farroot.recreate(folder / "objects.root") as file:
        for name, histogram in HISTOGRAMS.items():
            file[name] = histogram
        file["graph"] = farroot.as_TGraph({"x": [1, 2], "y": [3, 4]})
        file["text"] = "hello"
    command = [sys.executable, "-W", "ignore", "-m", "tests.root.read", str(folder)]
    done = subprocess.run(command, capture_output=True, cwd=PACKAGE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def equal(found: list[Any], column: Any) -> bool:
    """Whether ROOT has read the column."""
    return len(found) == len(column) and all(map(same, ak.to_list(column), found))


def same(ours: Any, theirs: Any) -> bool:
    """Of one entry. ROOT's numbers are reals, and those of one entry flat."""
    if isinstance(ours, str) or isinstance(theirs, str):
        return bool(ours == theirs)
    if not isinstance(theirs, list):
        return bool(float(ours) == theirs or (ours != ours and theirs != theirs))
    if any(isinstance(each, (list, str)) for each in theirs):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    flat = np.ravel(np.array(ours, dtype=np.float64))
    return bool(np.array_equal(flat, np.array(theirs, dtype=np.float64), equal_nan=True))


@pytest.mark.parametrize("number", range(len(COMPRESSIONS)), ids=[str(c) for c in COMPRESSIONS])
def test_trees_of_every_compression(said: dict[str, Any], number: int) -> None:
    tree = said[f"c{number}"]["t"]
    assert tree["title"] == "a title"
    assert tree["titles"]["float32"] == "reals"
    for name, column in columns(seed=1, entries=200).items():
        assert equal(tree["entries"][name], column), name
    assert said[f"c{number}"]["n"] == {"entries": 200, "description": "an RNTuple"}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees(said: dict[str, Any], seed: int) -> None:
    found = said[f"s{seed}"]
    for name, column in entries(seed).items():
        assert equal(found["t"]["entries"][name], column), name
    assert found["n"]["entries"] == 50


def test_histograms(said: dict[str, Any]) -> None:
    for name, histogram in HISTOGRAMS.items():
        found = said["objects"][name]
        within = (slice(1, -1),) * len(histogram.axes)
        shape = [len(axis) + 2 for axis in histogram.axes][::-1]
        cells = np.array(found["cells"]).reshape(shape).T[within]
        errors = np.array(found["errors"]).reshape(shape).T[within]
        assert np.array_equal(cells, histogram.values()), name
        assert np.allclose(errors**2, histogram.variances()), name
        assert found["statistics"][0] == histogram.values(flow=True).sum(), name
    assert said["objects"]["names"]["labels"] == [["a", "b"]]
    assert said["objects"]["graph"] == {"x": [1, 2], "y": [3, 4]}
    assert said["objects"]["text"] == "hello"
