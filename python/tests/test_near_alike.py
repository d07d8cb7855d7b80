"""Whatever a table, a column or a file is like: a server that selects gives what is read here from
it, and from this disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

from .test_near import notes
from .test_remote import serving

PLACES = ("local", "http", "root", "auto", "far")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alike")
    with uproot.recreate(folder / "cycles.root") as file:
        for first in (0, 100):
            for name in ("t", "my tree;x", "d/t"):
                file.mktree(name, {"k": "i4"}).extend(
                    {"k": np.arange(first, first + 5, dtype="i4")}
                )
    with uproot.recreate(folder / "edges.root") as file:
        numbers = np.concatenate([np.geomspace(1, 1000, 50), np.linspace(0, 1, 1001)])
        file.mktree("t", {"x": "f8"}).extend({"x": numbers})
    return folder


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[str]:
    with serving(folder, "--select") as host:
        yield host


def opened(folder: Path, host: str, name: str) -> dict[str, Any]:
    """The table of `FILE:PATH` by each way."""
    return {
        "local": farroot.open(f"{folder}/{name}"),
        "http": farroot.open(f"http://{host}/{name}", near=True),
        "root": farroot.open(f"root://{host}//{name}", near=True),
        "auto": farroot.open(f"http://{host}/{name}", near="auto"),
        "far": farroot.open(f"http://{host}/{name}"),
    }


# --- Tables


@pytest.mark.parametrize("path", ["t", "t;1", "t;2", "d/t;1", "d/t", "my tree;x", "my tree;x;1"])
def test_the_table_that_was_opened_is_selected_from(folder: Path, host: str, path: str) -> None:
    """A request named a table without its cycle, and so had the newest one."""
    first = 0 if path.endswith(";1") else 100
    numbers = list(range(first, first + 5))
    lengths = [
        len(each)
        for each in farroot.open(f"{folder}/cycles.root:{path}").iterate(
            "k", cut="k % 100 > 2", step_size=2
        )
    ]
    for place, table in opened(folder, host, f"cycles.root:{path}").items():
        assert table.arrays("k").k.tolist() == numbers, place
        assert table["k"].array().tolist() == numbers, place
        assert table.arrays("k", cut="k % 100 < 3").k.tolist() == numbers[:3], place
        steps = table.iterate("k", cut="k % 100 > 2", step_size=2)
        assert list(map(len, steps)) == lengths, place
        assert "read here" not in notes(table) or place == "auto", place
    places = [f"http://{host}/cycles.root:{path}"]
    assert [each.k.tolist() for each in farroot.iterate(places, ["k"], near=True)] == [numbers]
    parts = farroot.partitions(places, ["k"], near=True)
    assert [each for part in parts for each in part.arrays().k.tolist()] == numbers


@pytest.mark.parametrize("path", ["t;1", "t"])
def test_a_histogram_is_of_the_table_that_was_opened(folder: Path, host: str, path: str) -> None:
    pytest.importorskip("hist")
    expected = 5 if path == "t;1" else 0
    for place, table in opened(folder, host, f"cycles.root:{path}").items():
        assert table.histogram("k", (1, 0, 50)).values().tolist() == [expected], place


# --- Histograms


def test_edges_arrive_with_all_their_bits(folder: Path, host: str) -> None:
    """An edge that lost its last bit moved the values on it into the bin beside."""
    pytest.importorskip("hist")
    logarithmic = np.geomspace(1, 1000, 50).tolist()
    places = opened(folder, host, "edges.root:t")
    for edges in (logarithmic, np.linspace(0, 1, 1001).tolist(), [-np.inf, 1.5, 2, np.inf]):
        expected = places["local"].histogram("x", edges)
        for place, table in places.items():
            assert table.histogram("x", edges) == expected, place
    for start in logarithmic[::5]:
        expected = places["local"].histogram("x", (1, start, start * 2))
        for place, table in places.items():
            assert table.histogram("x", (1, start, start * 2)) == expected, place
    assert "does not select" not in notes(places["http"])
