"""Lazy frames of polars have the values of a full read, and fetch only the data that a query
needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import uproot
from polars import col
from polars.testing import assert_frame_equal

import farroot
from farroot._predicates import cut_of

from .skips import REPOSITORY

#: Reals for which polars and NumPy, or single and double precision, compare differently.
ODD = (float("nan"), float("inf"), -float("inf"), 0.1, float(np.float32(0.1)), 0.5, 0.0, -0.0)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers of several widths, with NaN and infinities, in baskets of 100 entries."""
    path = tmp_path_factory.mktemp("scan") / "numbers.root"
    random = np.random.default_rng(7)
    with uproot.recreate(path) as file:
        types = {"i": "i8", "u": "u1", "f": "f4", "d": "f8", "b": "?", "sorted": "i4", "wide": "f8"}
        tree = file.mktree("tree", types)
        for start in range(0, 1000, 100):
            real = random.choice([*ODD, *random.normal(size=20)], 100)
            tree.extend(
                {
                    "i": random.integers(-(2**60), 2**60, 100),
                    "u": random.integers(0, 5, 100, dtype=np.uint8),
                    "f": real.astype(np.float32),
                    "d": real,
                    "b": random.random(100) > 0.5,
                    "sorted": np.arange(start, start + 100, dtype=np.int32),
                    "wide": random.random(100),
                }
            )
    return path


QUERIES = [
    col("i") > 0,
    col("i") >= 0,
    col("u") == 3,
    col("u") != 3,
    col("f") > 0.1,
    col("f") >= 0.1,
    col("f") < 0.1,
    col("f") <= 0.1,
    col("f") == 0.1,
    col("f") == 0.5,
    col("d") > 0.1,
    col("d") < 0.1,
    col("d") != 0.5,
    col("d") > float("inf"),
    col("d") == float("nan"),
    ~(col("d") > 0.1),
    col("d").is_nan(),
    col("f").cast(pl.Float64) <= 0.1,
    (col("f") > 0.1) & (col("d") < 1.0),
    (col("f") > 0.1) | (col("u") < 2) | (col("i") == 5),
    (col("f") > 0.1) | (col("d") * 2 < 1.0),
    ~((col("f") > 0.1) & (col("u") < 2)),
    col("d").is_between(0.1, 1.0, closed="none"),
    col("u").is_in([1, 2]),
    col("b") & (col("sorted") < 500),
    col("d") > col("f"),
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_query_gives_what_it_gives_of_the_whole(numbers: Path, query: pl.Expr) -> None:
    lazy = farroot.scan_polars(f"{numbers}:tree", step_size=300)
    whole = lazy.collect()
    assert whole.height == 1000
    assert_frame_equal(lazy.filter(query).collect(), whole.filter(query))
    few = lazy.filter(query).select("sorted", "d").collect()
    assert_frame_equal(few, whole.filter(query).select("sorted", "d"))


@pytest.mark.parametrize("rows", [0, 1, 150, 299, 350, 5000])
def test_the_first_rows_are_counted_before_or_after_a_filter(
    several: list[Path], rows: int
) -> None:
    lazy = farroot.scan_polars([f"{path}:events" for path in several]).select("int32", "float64")
    whole = lazy.collect()
    assert whole.height == 801
    query = col("int32") > 0
    assert_frame_equal(lazy.head(rows).collect(), whole.head(rows))
    assert_frame_equal(lazy.head(rows).filter(query).collect(), whole.head(rows).filter(query))
    assert_frame_equal(lazy.filter(query).head(rows).collect(), whole.filter(query).head(rows))
    assert lazy.select(pl.len()).collect().item() == 801


def fetched(query: Any) -> int:
    with farroot.reporting() as report:
        query.collect()
    return int(report["bytes_baskets"])


def test_only_what_a_query_names_is_fetched(tmp_path: Path) -> None:
    """Ten baskets of 160 kB, of which a query needs one."""
    entries, baskets = 20_000, 10
    with uproot.recreate(tmp_path / "wide.root", compression=None) as file:
        tree = file.mktree("tree", {"sorted": "i4", "wide": "f8", "other": "f8"})
        for start in range(0, entries * baskets, entries):
            numbers = np.arange(start, start + entries, dtype=np.int32)
            tree.extend({"sorted": numbers, "wide": numbers * 0.1, "other": numbers * 0.2})
    lazy = farroot.scan_polars(f"{tmp_path / 'wide.root'}:tree")
    basket = entries * 8
    assert fetched(lazy.select("wide")) > (baskets - 1) * basket
    assert fetched(lazy.head(100).select("wide")) < 2 * basket
    few = fetched(lazy.filter(col("sorted").is_between(50_000, 50_010)).select("wide"))
    assert few - fetched(lazy.select("sorted")) < 2 * basket


def test_columns_of_every_kind(made: Path) -> None:
    tree: Any = farroot.open(f"{made}:events")
    frame = farroot.scan_polars(tree).collect()
    assert frame.height == tree.num_entries
    assert frame.columns == tree.arrays(entry_stop=0).fields
    assert frame["jagged"].to_list() == tree["jagged"].array().to_list()


def test_what_is_not_understood_is_left_to_polars() -> None:
    for query in (col("x") + 1 > 0, col("a b") > 1, col("x").is_null(), pl.lit(True)):
        assert cut_of(query) is None


def test_columns_that_are_not_there(numbers: Path) -> None:
    lazy = farroot.scan_polars(f"{numbers}:tree")
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        lazy.select("no_such").collect()
    with pytest.raises(FileNotFoundError):
        farroot.scan_polars(f"{numbers}.missing:tree")


def test_values_of_several_types_are_left_out() -> None:
    """polars panicked over those in a list, which ended the read of all other columns."""
    address = f"{REPOSITORY}/crates/rootfile/testdata/ntuple_fields.root:events"
    with pytest.warns(farroot.UnreadableWarning, match="variants? is left out"):
        frame = farroot.scan_polars(address)
    assert "variants" not in frame.collect_schema().names()
    number = farroot.open(address)["i32"].array(entry_stop=3).to_list()
    assert frame.select("i32").head(3).collect()["i32"].to_list() == number
