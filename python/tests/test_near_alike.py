"""Tables, columns and files that are easily mistaken for others: a server that selects answers with
the values that are read here from it, and from this disk."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

from .test_near import notes, select
from .test_remote import serving


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
    with uproot.recreate(folder / "wide.root") as file:
        columns = {f"c{number}": np.arange(3, dtype="i4") for number in range(1100)}
        file.mktree("t", dict.fromkeys(columns, "i4")).extend(columns)
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


@pytest.mark.parametrize("near", [True, "auto"])
def test_columns_that_cannot_be_read_are_left_out(corpus: Path, near: Any) -> None:
    """Only their data show that: a server's refusal was raised, where a read here warns."""
    name = "uproot-mc10events.root"
    with warnings.catch_warnings(), serving(corpus, "--select") as host:
        warnings.simplefilter("ignore", farroot.UnreadableWarning)
        here = farroot.open(f"{corpus}/{name}:Events")
        there = farroot.open(f"http://{host}/{name}:Events", near=near)
        assert there.arrays().fields == here.arrays().fields
        steps = [[each.fields for each in table.iterate(step_size=5)] for table in (there, here)]
        assert steps[0] == steps[1]


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
        make("g.root", 2.0)
        assert (tmp_path / "g.root").stat().st_size == (tmp_path / "f.root").stat().st_size
        (tmp_path / "g.root").replace(tmp_path / "f.root")
        for name in ("x", "y"):
            # A server of XRootD goes on to read the file that it has opened.
            with contextlib.suppress(farroot.ChangedError):
                found = table.arrays(name, cut=f"{name} > 0", entry_start=10_000)[name]
                assert set(found.tolist()) == {1}
        assert "another one here than at the client" in notes(table)


@pytest.mark.filterwarnings("ignore::farroot.errors.SkippedWarning")
def test_results_name_the_file_by_its_plain_address(folder: Path, host: str) -> None:
    """The choice of a call is part of the address that is opened, and was shown with it."""
    plain = f"http://{host}/edges.root"
    places = [f"{plain}:t"]
    for options in ({"near": True}, {"token": "secret"}):
        steps = farroot.iterate(places, ["x"], report=True, **options)
        assert {report.file_path for _, report in steps} == {plain}
        (part,) = farroot.partitions(places, ["x"], **options)
        assert part.url == plain
        assert list(farroot.Partitions([part]).to_coffea()["dataset"]["files"]) == [plain]
        again = farroot.scaleout.Partition.from_dict(part.as_dict())
        assert again == part
        assert len(again.arrays()) == part.num_entries
    skipped = farroot.iterate(
        [f"{plain}:t", f"http://{host}/absent.root:t"], ["x"], near=True, on_error="report"
    )
    list(skipped)
    assert [each.file_path for each in skipped.skipped] == [f"http://{host}/absent.root"]


# --- Servers


def test_each_table_of_a_server_that_does_not_select_says_so(folder: Path) -> None:
    """Only the first table of a process said why its entries were selected here."""
    with serving(folder) as host:
        for _ in range(3):
            table = farroot.open(f"http://{host}/edges.root:t", near=True)
            table.arrays("x", cut="x > 2")
            assert "does not select" in notes(table)


def test_a_request_beyond_a_limit_leaves_the_server_to_others(folder: Path, host: str) -> None:
    """It was answered as if the server were busy, which then was not asked for a while."""
    table = farroot.open(f"http://{host}/wide.root:t", near=True)
    assert len(table.arrays(cut="c0 < 1")) == 1
    assert "1100 columns, and 1000 are allowed" in notes(table)
    other = farroot.open(f"http://{host}/edges.root:t", near="auto")
    other.arrays("x", cut="x > 999")
    assert "too busy" not in notes(other)


# --- Requests of any program


def test_each_column_has_the_name_by_which_it_was_asked_for(host: str) -> None:
    """A new column gave its name to each other column of its formula."""
    pa = pytest.importorskip("pyarrow")
    for define, columns in (
        ({"z": "k"}, ["k", "z"]),
        ({"z": "k + 1"}, ["z", "k + 1"]),
        ({"z": "k", "y": "k"}, ["y", "k", "z"]),
        ({"z": "k"}, ["*", "z"]),
        ({"z": "k"}, ["z", "(k)"]),
    ):
        request = {"files": ["/cycles.root"], "table": "t;1", "define": define, "columns": columns}
        status, content = select(host, **request)
        assert status == 200, content
        found = pa.ipc.open_stream(content).read_all()
        names = ["k" if each == "*" else each for each in columns]
        assert found.column_names == names
        for name in names:
            first = 1 if "+ 1" in define.get(name, name) else 0
            assert found[name].to_pylist() == list(range(first, first + 5)), name


def test_a_column_may_fill_several_axes_and_be_the_weight(folder: Path, host: str) -> None:
    hist = pytest.importorskip("hist")
    numbers = np.arange(5)
    two = hist.Hist(*[hist.axis.Regular(5, 0, 5, label="k")] * 2).fill(numbers, numbers)
    for place, table in opened(folder, host, "cycles.root:t;1").items():
        assert table.histogram(["k", "k"], [(5, 0, 5)] * 2) == two, place
        weighted = table.histogram("k", (5, 0, 5), weight="k")
        assert weighted.values().tolist() == numbers.tolist(), place
        assert "does not select" not in notes(table), place
