"""Whatever a table, a column or a file is like: a server that selects gives what is read here from
it, and from this disk."""

from __future__ import annotations

import contextlib
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
    for name, third in (("twice", "other"), ("hidden", "column_a;2")):
        with uproot.recreate(folder / f"{name}.root", compression=None) as file:
            names = ("column_a", "column_b", third)
            columns = {each: np.arange(3, dtype="i4") + 10 * at for at, each in enumerate(names)}
            file.mktree("t", dict.fromkeys(names, "i4")).extend(columns)
        content = (folder / f"{name}.root").read_bytes()
        (folder / f"{name}.root").write_bytes(content.replace(b"column_b", b"column_a"))
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


# --- Columns


@pytest.mark.parametrize("name", ["twice", "hidden"])
def test_each_of_two_branches_of_one_path_is_itself(folder: Path, host: str, name: str) -> None:
    """A server was asked for both by their path, and so sent the first one twice; here, a branch
    that was called as the number of the second hid that."""
    for place, table in opened(folder, host, f"{name}.root:t").items():
        found = [branch.array().tolist() for branch in table.branches]
        assert found == [[0, 1, 2], [10, 11, 12], [20, 21, 22]], place
        assert "read here" not in notes(table), place


# --- Files


@pytest.mark.parametrize("scheme", ["http", "root"])
def test_a_file_that_was_replaced_is_not_read(tmp_path: Path, scheme: str) -> None:
    """One with as many bytes and entries was taken for the opened one, whose values it has not."""

    def make(name: str, value: float) -> None:
        with uproot.recreate(tmp_path / name, compression=None) as file:
            numbers = np.full(20_000, value)
            file.mktree("t", {"x": "f8", "y": "f8"}).extend({"x": numbers, "y": numbers})

    make("f.root", 1.0)
    with serving(tmp_path, "--select") as host:
        slash = "//" if scheme == "root" else "/"
        table = farroot.open(f"{scheme}://{host}{slash}f.root:t", near=True)
        assert table.arrays("x", entry_stop=5).x.tolist() == [1] * 5
        make("new.root", 2.0)
        assert (tmp_path / "new.root").stat().st_size == (tmp_path / "f.root").stat().st_size
        (tmp_path / "new.root").replace(tmp_path / "f.root")
        for name in ("x", "y"):
            # A server of XRootD goes on to read the file that it has opened.
            with contextlib.suppress(farroot.ChangedError):
                found = table.arrays(name, cut=f"{name} > 0", entry_start=10_000)[name]
                assert set(found.tolist()) == {1}
        assert "another one here than at the client" in notes(table)
