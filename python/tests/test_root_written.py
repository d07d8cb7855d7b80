"""Files of farroot, as ROOT reads them: equal, and without a word on the standard error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

from . import seeded_written
from .conftest import columns
from .seeded_written import compare, equal, read_by_root
from .skips import need_root
from .test_writing_objects import HISTOGRAMS
from .test_writing_tables import COMPRESSIONS

pytestmark = pytest.mark.interop

SEEDS = 30


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """ROOT's content of all files, by the name of the file."""
    need_root()
    folder = tmp_path_factory.mktemp("written")
    for number, compression in enumerate(COMPRESSIONS):
        with farroot.recreate(folder / f"c{number}.root", compression=compression) as file:
            file.mktree("t", columns(seed=1, entries=200), "a title", titles={"float32": "reals"})
            file.mkrntuple("n", columns(seed=1, entries=200), "an RNTuple")
    with farroot.recreate(folder / "objects.root") as file:
        for name, histogram in HISTOGRAMS.items():
            file[name] = histogram
        file["graph"] = farroot.as_TGraph({"x": [1, 2], "y": [3, 4]})
        file["text"] = "hello"
    read_by_root(folder)
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


@pytest.mark.parametrize("number", range(len(COMPRESSIONS)), ids=[str(c) for c in COMPRESSIONS])
def test_trees_of_every_compression(said: dict[str, Any], number: int) -> None:
    tree = said[f"c{number}"]["t"]
    assert tree["title"] == "a title"
    assert tree["titles"]["float32"] == "reals"
    for name, column in columns(seed=1, entries=200).items():
        assert equal(tree["entries"][name], column), name
    ntuple = said[f"c{number}"]["n"]
    assert (ntuple["entries"], ntuple["description"]) == (200, "an RNTuple")
    for name, column in columns(seed=1, entries=200).items():
        assert equal(ntuple["values"][name], column), name


def test_random_columns(tmp_path: Path) -> None:
    """Of trees and RNTuples; ``python -m tests.seeded_written FIRST SEEDS`` does so for others."""
    need_root()
    faults = [fault for path in seeded_written.write(tmp_path, 0, SEEDS) for fault in compare(path)]
    assert not faults, "\n".join(faults)


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
