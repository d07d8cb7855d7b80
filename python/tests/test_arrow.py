"""Columns as Arrow: the same values as Awkward's, and streams that others take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import duckdb
import numpy as np
import polars
import pyarrow as pa
import pytest

import farroot
from farroot import _core
from farroot._libraries.arrow import _strings, to_arrow

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"


def plain(value: Any) -> Any:
    """Awkward's tuples as records of numbered fields, as Arrow has them."""
    match value:
        case tuple():
            return {str(number): plain(each) for number, each in enumerate(value)}
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list():
            return [plain(each) for each in value]
    return value


@pytest.fixture(params=["tree", "ntuple"])
def table(request: pytest.FixtureRequest, made: Path) -> farroot.Tree | farroot.RNTuple:
    is_tree = request.param == "tree"
    table = farroot.open(f"{made if is_tree else TESTDATA / 'ntuple_fields.root'}:events")
    assert isinstance(table, (farroot.Tree, farroot.RNTuple))
    return table


def test_every_column_is_as_in_awkward(table: farroot.Tree | farroot.RNTuple) -> None:
    everything = table.arrays(entry_start=5, entry_stop=90)
    for name in everything.fields:
        got = table.arrays([name], entry_start=5, entry_stop=90, library="arrow")
        got.validate(full=True)
        assert got.column(name).to_pylist() == plain(everything[name].to_list()), name


def test_offsets_and_numbers_are_not_copied(made: Path) -> None:
    tree: Any = farroot.open(f"{made}:events")
    asked = _core.Request([_core.ColumnRequest("jagged")])
    (column,) = tree._live().read(asked, 0, 100).columns
    assert isinstance(column, _core.List)
    array = to_arrow(column)
    assert array.buffers()[1].address == column.offsets.ctypes.data
    assert isinstance(column.content, _core.Numbers)
    assert array.values.buffers()[1].address == column.content.array.ctypes.data


def test_texts_that_are_no_utf_8_are_an_error(tmp_path: Path) -> None:
    """They were changed without a word."""
    with pytest.raises(farroot.UnsupportedError, match=r"b'\\xff' is not UTF-8"):
        _strings(np.array([0, 2, 3, 3]), np.frombuffer(b"ab\xff", np.uint8))
    with farroot.recreate(tmp_path / "t.root") as file:
        file["t"] = {"s": [b"plain", b"bad\xff"], "n": [1, 2]}
    tree = farroot.open(tmp_path / "t.root")["t"]
    with pytest.raises(farroot.UnsupportedError, match="not UTF-8"):
        tree.arrays(library="arrow")
    with pytest.raises(farroot.Error, match="is not UTF-8"):
        tree.to_arrow().read_all()
    assert tree.arrays(["n"], library="arrow")["n"].to_pylist() == [1, 2]
    assert tree["s"].array(entry_stop=1, library="arrow").to_pylist() == ["plain"]


def test_a_stream_is_taken_by_others(made: Path) -> None:
    tree = farroot.open(f"{made}:events")
    expected = tree.arrays(["int32", "jagged"], "int32 % 3 == 0", library="ak")
    stream = tree.to_arrow(["int32", "jagged"], "int32 % 3 == 0", step_size=100)
    frame = polars.DataFrame(stream)
    assert frame["int32"].to_list() == expected["int32"].to_list()
    assert frame["jagged"].to_list() == expected["jagged"].to_list()
    stream = tree.to_arrow("int32", step_size=100)
    found = duckdb.from_arrow(stream).sum("int32").fetchall()
    assert found == [(int(ak.sum(tree["int32"].array())),)]


def test_a_stream_without_entries_has_its_types(made: Path) -> None:
    tree = farroot.open(f"{made}:events")
    read = tree.to_arrow(["int32", "jagged"], entry_start=7, entry_stop=7).read_all()
    assert read.num_rows == 0
    assert read.schema.field("int32").type == pa.int32()


def test_formulas_and_many_files(made: Path) -> None:
    files = [f"{made}:events", f"{made}:events"]
    tree = farroot.open(files[0])
    got = farroot.concatenate([tree, {made: "events"}], ["int32 * 2"], library="arrow")
    assert got.column("int32 * 2").to_pylist() == (tree["int32"].array() * 2).to_list() * 2
