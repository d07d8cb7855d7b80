"""The first hour of a new user: programs that those who came from uproot have tried."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

TREE = "events"
#: The package without its types.
API: Any = farroot


@pytest.mark.parametrize("number", [float, np.float64, np.float32])
def test_entries_and_steps_may_be_whole_floats(made: Path, number: Callable[[float], Any]) -> None:
    """``entry_stop=tree.num_entries * 0.25`` was refused: a product with a float is a float."""
    tree = farroot.open(made)[TREE]
    some = number(tree.num_entries * 0.25)
    assert len(tree.arrays("int8", entry_stop=some)) == 250
    assert len(tree["int8"].array(entry_start=some, entry_stop=number(-500.0))) == 250
    assert [len(step) for step in tree.iterate("int8", step_size=some)] == [250] * 4
    files = {made: TREE}
    assert [len(step) for step in farroot.iterate(files, "int8", step_size=some)] == [250] * 4
    assert len(farroot.concatenate(files, "int8", entry_stop=some)) == 250
    assert len(farroot.partitions(files, "int8", step_size=number(tree.num_entries))) == 1
    assert len(farroot.partitions(files, "int8", blind=number(4))) == 4
    assert tree.plan("int8", entry_stop=some).stored_bytes > 0
    expected = tree.num_entries_for(100, "int8", entry_stop=250)
    assert tree.num_entries_for(number(100), "int8", entry_stop=some) == expected
    tree.show(limit=number(3))


def test_counts_of_writing_and_settings_may_be_whole_floats(tmp_path: Path) -> None:
    before = farroot.config()["connections"]
    assert API.config(connections=8.0)["connections"] == 8
    farroot.config(connections=before)
    options: dict[str, Any] = {"threads": 2.0, "memory": 64e6, "cluster": 1e3}
    with farroot.recreate(tmp_path / "f.root", **options) as file:
        file["t"] = {"x": [1]}
    assert farroot.open(tmp_path / "f.root")["t"].num_entries == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda tree: tree.arrays("int8", entry_stop=333.3), r"entry is a whole.* int\(333\.3\)"),
        (lambda tree: tree.arrays("int8", entry_stop=float("nan")), "whole number, not nan"),
        (lambda tree: tree.arrays("int8", entry_start=float("-inf")), "whole number, not -inf"),
        (lambda tree: tree.iterate("int8", step_size=33.5), "number of entries .* not 33.5"),
        (lambda tree: tree.show(limit=2.5), r"limit is a whole number"),
        (lambda tree: farroot.partitions(tree, blind=2.5), "blind is a whole number"),
        (lambda tree: API.map(len, [], retries=1.5), "retries is a whole number"),
    ],
)
def test_a_number_with_a_fraction_is_an_error_of_ours(
    made: Path, call: Callable[[Any], Any], says: str
) -> None:
    with pytest.raises(farroot.InvalidArgumentError, match=says):
        call(farroot.open(made)[TREE])


def test_executors_have_uproot_s_names(made: Path) -> None:
    """They are Python's, and ``map`` takes them. A caller that hands one to a reading function gets
    a warning: the engine decodes on threads of its own."""
    parts = farroot.partitions(f"{made}:{TREE}", "int8", blind=2)
    expected = [len(part.arrays()) for part in parts]
    with farroot.ThreadPoolExecutor(2) as threads:
        assert threads.num_workers == threads.max_workers == 2
        assert farroot.map(lambda part: len(part.arrays()), parts, threads) == expected
    trivial = farroot.TrivialExecutor()
    assert farroot.map(lambda part: len(part.arrays()), parts, trivial) == expected
    with pytest.raises(ZeroDivisionError):
        trivial.submit(lambda: 1 // 0).result()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = API.open(made, decompression_executor=trivial)[TREE]
    with pytest.warns(farroot.IgnoredArgumentWarning, match="decode_threads"):
        tree.arrays("int8", interpretation_executor=farroot.ThreadPoolExecutor(1))


@pytest.mark.parametrize("kind", ["mktree", "mkrntuple"])
def test_a_pattern_without_a_match_is_no_product(tmp_path: Path, kind: str) -> None:
    """``"Jet_*pt"`` in a file without jets said that no branch is called ``Jet_``."""
    with farroot.recreate(tmp_path / "f.root") as file:
        getattr(file, kind)("t", {"x": np.arange(3), "pt": np.arange(3)})
    table = farroot.open(tmp_path / "f.root")["t"]
    for pattern in ("Jet_*", "Jet_*pt", "*_pt", "x*nothing", "[a]*"):
        calls: list[Callable[[str], Any]] = [table.arrays, table.plan, table.to_arrow]
        calls += [table.iterate, lambda names: farroot.partitions(table, names)]
        for call in calls:
            with pytest.raises(farroot.KeyInFileError, match="nothing that can be read matches"):
                call(pattern)
    with pytest.raises(farroot.KeyInFileError, match=r'as a formula: no .* is called "Jet_"'):
        table.arrays("Jet_*pt")
    assert table.arrays("x*pt").tolist() == [{"x*pt": number**2} for number in range(3)]
    assert table.arrays(filter_name="Jet_*pt", library="np") == {}
    assert table.keys(filter_name="Jet_*pt") == []


MISSING = {
    "pandas": lambda tree: tree.arrays(library="pd"),
    "pyarrow": lambda tree: tree.to_arrow(),
    "polars.io.plugins": lambda tree: farroot.scan_polars(tree),
    "hist": lambda tree: tree.file["h"].to_hist(),
    "boost_histogram": lambda tree: tree.file["h"].to_boost(),
    "dask.delayed": lambda tree: farroot.dask(farroot.partitions(tree)),
    "dask_awkward": lambda tree: farroot.dask(farroot.partitions(tree), awkward=True),
    "graphed": lambda tree: farroot.graphed(tree),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_is_not_installed_comes_with_the_line_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with farroot.recreate(tmp_path / "f.root") as file:
        file.mktree("t", {"x": np.arange(3)})
        file["h"] = np.histogram([1, 2, 3])
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(farroot.NotInstalledError, match="pip install"):
        MISSING[name](farroot.open(tmp_path / "f.root")["t"])
