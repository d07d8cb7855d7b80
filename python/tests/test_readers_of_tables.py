"""Tables of farroot in DuckDB, pandas, datasets of pyarrow and ROOT's RDataFrame."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import awkward as ak
import duckdb
import numpy as np
import pandas as pd
import pyarrow.dataset
import pytest

import farroot

from .skips import need_root

NAMES = ["int32", "uint8", "jagged"]


@pytest.fixture(scope="module")
def tree(made: Path) -> farroot.Tree:
    table = farroot.open(f"{made}:events")
    assert isinstance(table, farroot.Tree)
    return table


def test_duckdb_queries_a_stream(tree: farroot.Tree) -> None:
    arrays = tree.arrays(NAMES, "int32 > 0")
    stream = tree.to_arrow(NAMES, "int32 > 0", step_size=100)
    query = "SELECT sum(int32)::BIGINT, count(*), sum(len(jagged)) FROM stream"
    lengths = int(ak.sum(ak.num(arrays["jagged"])))
    total = int(ak.sum(arrays["int32"].to_numpy().astype(np.int64)))
    assert duckdb.sql(query).fetchall() == [(total, len(arrays), lengths)]
    del stream


def test_pandas_by_way_of_arrow(tree: farroot.Tree) -> None:
    frame = tree.to_arrow(NAMES, step_size=100).read_pandas(types_mapper=pd.ArrowDtype)
    assert frame["int32"].to_list() == tree["int32"].array().to_list()
    assert frame["jagged"].to_list() == tree["jagged"].array().to_list()
    numbers = tree.arrays(NAMES[:2], library="pd")
    assert frame["uint8"].to_list() == numbers["uint8"].to_list()


def test_datasets_of_pyarrow_are_written_from_a_stream(tree: farroot.Tree, tmp_path: Path) -> None:
    # Without `preserve_order` pyarrow exchanged batches in one run of five.
    stream = tree.to_arrow(NAMES, step_size=100)
    pyarrow.dataset.write_dataset(
        stream, tmp_path / "events", format="parquet", preserve_order=True
    )
    read = pyarrow.dataset.dataset(tmp_path / "events", format="parquet").to_table()
    assert read.to_pylist() == tree.arrays(NAMES).to_list()


#: In a process of its own: ROOT warns when it is imported, and ends with the interpreter.
RDATAFRAME = """
import sys

import farroot
import numpy as np
import ROOT

tree = farroot.open(sys.argv[1])
names = [name for name, one in tree.items() if one.datashape in ("float64", "int32")]
columns = tree.arrays(names, library="np")
frame = ROOT.RDF.FromNumpy(columns)
assert frame.Count().GetValue() == tree.num_entries
assert names
for name in names:
    assert np.array_equal(frame.AsNumpy([name])[name], columns[name], equal_nan=True), name
"""


@pytest.mark.interop
def test_rdataframe_takes_columns_in_memory(made: Path) -> None:
    need_root()
    command = [sys.executable, "-W", "ignore", "-c", RDATAFRAME, f"{made}:events"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
