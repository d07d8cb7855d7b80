"""`farroot cat --parquet`: other libraries read the same values as from Awkward's file of the same
arrays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import farroot
from farroot import _parquet
from farroot._libraries import arrow

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"
#: Parquet has no unions.
VARIANTS = ("variant", "variants")


def cat(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from farroot._command import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "cat", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.fixture(params=["tree", "objects", "ntuple"])
def address(request: pytest.FixtureRequest, made: Path) -> str:
    places = {
        "tree": f"{made}:events",
        "objects": f"{TESTDATA / 'members.root'}:events",
        "ntuple": f"{TESTDATA / 'ntuple_fields.root'}:events",
    }
    return places[request.param]


def table_of(address: str) -> Any:
    return farroot.open(address)


@pytest.fixture
def columns(address: str) -> list[str]:
    arrays = table_of(address).arrays(entry_stop=1, library="arrow")
    return [name for name in arrays.column_names if name not in VARIANTS]


@pytest.mark.filterwarnings("ignore::farroot.UnreadableWarning")
def test_it_is_as_awkward_writes_it(address: str, columns: list[str], tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    done = cat(address, "-c", ",".join(columns), "--parquet", str(ours))
    assert done.returncode == 0, done.stderr
    arrays = table_of(address).arrays(columns)
    ak.to_parquet(arrays, theirs, extensionarray=False)
    got, expected = pq.read_table(ours), pq.read_table(theirs)
    assert got.num_rows == len(arrays)
    assert got.num_columns == expected.num_columns == len(columns)
    again = ak.from_parquet(ours)
    # The command names branches by their paths. As text, since one NaN is not equal to another.
    for name, mine, other in zip(got.column_names, got.columns, expected.columns, strict=True):
        assert str(mine.to_pylist()) == str(other.to_pylist()), name
        assert str(ak.to_list(again[name])) == str(mine.to_pylist()), name
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []
    frame = polars.read_parquet(ours)
    found = duckdb.read_parquet(str(ours)).fetchall()
    assert frame.height == len(found) == len(arrays)


@pytest.mark.parametrize("stop", [0, 1, 90])
def test_others_read_it(tmp_path: Path, stop: int) -> None:
    address = f"{TESTDATA / 'ntuple_fields.root'}:events"
    path = tmp_path / "some.parquet"
    names = ["i32", "text", "numbers", "maybe", "hits", "matrix", "flags"]
    done = cat(address, "-c", ",".join(names), "--entry-stop", str(stop), "--parquet", str(path))
    assert done.returncode == 0, done.stderr
    expected = table_of(address).arrays(names, entry_stop=stop).to_list()
    assert pq.read_table(path).to_pylist() == expected
    frame = polars.read_parquet(path)
    assert frame.to_dicts() == expected
    rows = duckdb.read_parquet(str(path)).select(*names).fetchall()
    listed = [dict(zip(names, row, strict=True)) for row in rows]
    for got, wanted in zip(listed, expected, strict=True):
        got["matrix"] = [list(row) for row in got["matrix"]]
        assert got == wanted


def test_a_cut_leaves_what_survives(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.parquet"
    done = cat(f"{made}:events", "-c", "int32,jagged", "--cut", "int32 > 3", "--parquet", str(path))
    assert done.returncode == 0, done.stderr
    expected = table_of(f"{made}:events").arrays(["int32", "jagged"], "int32 > 3")
    assert 0 < len(expected) < 1000
    assert pq.read_table(path).to_pylist() == expected.to_list()


def test_what_parquet_cannot_hold_is_named(tmp_path: Path) -> None:
    path = tmp_path / "union.parquet"
    address = f"{TESTDATA / 'ntuple_fields.root'}:events"
    done = cat(address, "-c", "i32,variant", "--parquet", str(path))
    assert done.returncode == 1
    assert "variant" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path) -> None:
    address = f"{TESTDATA / 'ntuple_fields.root'}:events"
    code = (
        "import sys; sys.modules['pyarrow'] = None; "
        "from farroot._command import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "cat", address, "--parquet", str(tmp_path / "a.parquet")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'farroot[arrow]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    address = f"{TESTDATA / 'ntuple_fields.root'}:events"
    done = cat(address, "-c", "i32", "--parquet", str(tmp_path / "nowhere" / "a.parquet"))
    assert done.returncode == 1
    assert "the target's directory is not there" in done.stderr
    assert "nowhere" in done.stderr


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> _parquet.ParquetWriter:
    """One that takes NumPy's arrays for columns, with row groups of 100 bytes."""
    monkeypatch.setattr(arrow, "to_arrow", pa.array)
    monkeypatch.setattr(_parquet, "GROUP_BYTES", 100)
    return _parquet.ParquetWriter(tmp_path / "a.parquet")


def test_small_batches_share_a_row_group(writer: Any, tmp_path: Path) -> None:
    """A cut that leaves few entries of each batch would make a row group of each."""
    numbers = np.arange(90, dtype=np.int32)
    for entry in range(90):
        writer.write([("n", numbers[entry : entry + 1])])
    writer.finish()
    file = pq.ParquetFile(tmp_path / "a.parquet")
    assert file.metadata.num_row_groups == 4
    assert file.read()["n"].to_pylist() == numbers.tolist()


def test_the_last_batch_may_fill_its_row_group(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing was left for the end then, of which pyarrow makes no table: the file was removed."""
    monkeypatch.setattr(_parquet, "GROUP_BYTES", 1)
    path = tmp_path / "full.parquet"
    farroot.skim(f"{TESTDATA / 'ntuple_fields.root'}:events", path, ["i32"])
    file = pq.ParquetFile(path)
    assert file.metadata.num_row_groups == 1
    expected = table_of(f"{TESTDATA / 'ntuple_fields.root'}:events").arrays(["i32"])
    assert file.read().to_pylist() == expected.to_list()


def test_a_column_has_one_type(writer: Any) -> None:
    writer.write([("n", np.zeros(3, np.int32))])
    with pytest.raises(farroot.UnsupportedError, match="n holds objects of other classes"):
        writer.write([("n", np.zeros(3))])
