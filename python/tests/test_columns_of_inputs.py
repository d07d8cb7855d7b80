"""Columns of several inputs: found by name, compared by type, and never changed without a word."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import farroot

DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


def file_of(path: Path, columns: dict[str, Any], *, rntuple: bool = False) -> Path:
    with farroot.recreate(path) as file:
        (file.mkrntuple if rntuple else file.mktree)("t", columns)
    return path


def values(dtype: str) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([True, False])
    if kind.kind == "f":
        return np.array([0.5, -3], dtype)
    return np.array([np.iinfo(kind).max, np.iinfo(kind).min], dtype)


@pytest.mark.parametrize("rntuple", [False, True])
@pytest.mark.parametrize("options", [{}, {"columns": ["*"]}, {"cut": "x > -1"}])
@pytest.mark.parametrize("converted", [False, True])
def test_skims_find_columns_by_name(
    tmp_path: Path, rntuple: bool, options: dict[str, Any], converted: bool
) -> None:
    """Regression: the columns of further inputs were taken by their places."""
    one = {"x": np.array([0.0, 1]), "y": np.array([10.0, 11])}
    a = file_of(tmp_path / "a.root", one, rntuple=rntuple)
    swapped = {"y": np.array([12.0, 13]), "x": np.array([2.0, 3])}
    b = file_of(tmp_path / "b.root", swapped, rntuple=rntuple)
    c = file_of(tmp_path / "c.root", {"x": one["x"], "z": one["y"]}, rntuple=rntuple)
    if converted:
        options = {**options, "format": "tree" if rntuple else "rntuple"}
    output = tmp_path / "o.root"
    farroot.skim([f"{a}:t", f"{b}:t"], output, **options)
    table = farroot.open(output)["t"]
    assert table["x"].array().tolist() == [0, 1, 2, 3]
    assert table["y"].array().tolist() == [10, 11, 12, 13]
    other = tmp_path / "never.root"
    with pytest.raises(farroot.Error, match=r"c\.root") as caught:
        farroot.skim([f"{a}:t", f"{c}:t"], other, **options)
    assert "y" in str(caught.value)
    assert not other.exists()


@pytest.mark.parametrize("one", DTYPES)
@pytest.mark.parametrize("other", ["bool", "i4", "i8", "u8", "f4", "f8"])
def test_numbers_of_two_types(tmp_path: Path, one: str, other: str) -> None:
    """Regression: chains called such files corrupt, and concatenate rounded 64-bit numbers."""
    a = file_of(tmp_path / "a.root", {"x": values(one)})
    b = file_of(tmp_path / "b.root", {"x": values(other)})
    files = [f"{a}:t", f"{b}:t"]
    expected = [*values(one).tolist(), *values(other).tolist()]
    reads: dict[str, Callable[[], Any]] = {
        "chain": lambda: farroot.chain(files).arrays(["x"])["x"],
        "chain to numpy": lambda: farroot.chain(files).arrays(["x"], library="np")["x"],
        "awkward": lambda: farroot.concatenate(files, ["x"])["x"],
        "numpy": lambda: farroot.concatenate(files, ["x"], library="np")["x"],
        "pandas": lambda: farroot.concatenate(files, ["x"], library="pd")["x"],
        "arrow": lambda: farroot.concatenate(files, ["x"], library="arrow")["x"].to_numpy(),
    }
    kinds = {np.dtype(one).kind, np.dtype(other).kind}
    has_long = bool({"i8", "u8"} & {one, other})
    has_sign = "u8" in {one, other} and "i" in kinds
    inexact = has_sign or (has_long and "f" in kinds)
    for name, read in reads.items():
        if inexact:
            with pytest.raises(farroot.UnsupportedError, match=r"column x is \w+ here") as caught:
                read()
            assert "a.root" in str(caught.value), name
            assert "b.root" in str(caught.value), name
        else:
            assert read().tolist() == expected, name


def test_skims_and_merges_do_not_convert_what_is_copied(tmp_path: Path) -> None:
    a = file_of(tmp_path / "a.root", {"x": np.arange(3, dtype="i4")})
    b = file_of(tmp_path / "b.root", {"x": np.arange(3, dtype="i8")})
    for run in (
        lambda: farroot.merge([a, b], tmp_path / "o.root"),
        lambda: farroot.skim([f"{a}:t", f"{b}:t"], tmp_path / "o.root"),
        lambda: farroot.skim([f"{a}:t", f"{b}:t"], tmp_path / "o.root", format="rntuple"),
        lambda: farroot.skim([f"{a}:t", f"{b}:t"], tmp_path / "o.parquet"),
    ):
        with pytest.raises(farroot.UnsupportedError, match="x") as caught:
            run()
        assert "b.root" in str(caught.value)
    assert not (tmp_path / "o.root").exists()
    assert not (tmp_path / "o.parquet").exists()
    # Where the first type holds all entries, the encoded values are exact.
    farroot.skim([f"{b}:t", f"{a}:t"], tmp_path / "o.root", format="rntuple")
    assert farroot.open(tmp_path / "o.root")["t"]["x"].array().tolist() == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize("rntuple", [False, True])
@pytest.mark.parametrize("columns", ["Moun_*", "run?2", ["run", "Moun_*"]])
def test_patterns_that_match_nothing(tmp_path: Path, columns: Any, rntuple: bool) -> None:
    """Regression: a typing error in a pattern gave a tree without branches."""
    one = {"run": np.arange(3), "Muon_pt": np.arange(3.0)}
    path = file_of(tmp_path / "a.root", one, rntuple=rntuple)
    choices: list[dict[str, Any]] = [
        {},
        {"cut": "run > 1"},
        {"format": "rntuple"},
        {"format": "tree"},
    ]
    for options in choices:
        with pytest.raises(farroot.KeyInFileError, match="matches the pattern"):
            farroot.skim(f"{path}:t", tmp_path / "o.root", columns, **options)
    with pytest.raises(farroot.NotFoundError, match="none"):
        farroot.skim([f"{path}:t", f"{tmp_path}/none*.root:t"], tmp_path / "o.root")
    assert not (tmp_path / "o.root").exists()


@pytest.mark.parametrize("others", [0, 100], ids=["alone", "beside others"])
def test_more_inputs_than_files_may_be_open(tmp_path: Path, others: int) -> None:
    """Regression: a merge of more files than the process may have open failed.

    So did one in a process that had most of them open for something else.
    """
    for at in range(150):
        file_of(tmp_path / f"{at}.root", {"x": [at]})
    # A process of its own: the tests before have left an unknown number of files open.
    program = f"""
import os, resource
import farroot
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
inputs = [f"{{at}}.root" for at in range(150)]
# Connected, with all that Python opens for itself.
assert farroot.open("0.root")["t/x"].array().tolist() == [0]
kept = []
while len(os.listdir("/proc/self/fd")) < {others}:
    kept.append(open("0.root", "rb"))
farroot.merge(inputs, "o.root")
chained = farroot.chain([f"{{path}}:t" for path in inputs])
assert chained["x"].array().tolist() == list(range(150))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert farroot.open(tmp_path / "o.root")["t"]["x"].array().tolist() == list(range(150))


def test_polars_is_told_of_other_types(tmp_path: Path) -> None:
    """polars is told all types before the first row; another one later was its own error."""
    polars = pytest.importorskip("polars")
    a = file_of(tmp_path / "a.root", {"x": np.arange(3, dtype="i4")})
    b = file_of(tmp_path / "b.root", {"x": np.arange(3, dtype="i8")})
    with pytest.raises((farroot.Error, polars.exceptions.ComputeError), match="column x is Int64"):
        farroot.scan_polars([f"{a}:t", f"{b}:t"]).collect()
    assert farroot.scan_polars([f"{a}:t", f"{a}:t"]).collect()["x"].to_list() == [0, 1, 2] * 2


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1)])
def test_arrays_of_another_shape_are_not_reshaped(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Regression: copies compared how many numbers there are, and the first input's shape won."""
    numbers = np.arange(12, dtype="f4")
    a = file_of(tmp_path / "a.root", {"x": numbers.reshape(2, 2, 3)})
    b = file_of(tmp_path / "b.root", {"x": numbers.reshape(2, *shape)})
    output = tmp_path / "o.root"
    with pytest.raises(farroot.Error, match=r"leaf x.*b\.root"):
        farroot.skim([f"{a}:t", f"{b}:t"], output)
    with pytest.raises(farroot.Error, match=r"leaf x.*b\.root"):
        farroot.merge([a, b], output)
    assert not output.exists()


@pytest.mark.parametrize("options", [{}, {"columns": ["x"]}, {"cut": "x > 0"}, {"keep_rest": True}])
def test_an_input_without_the_table_is_an_error(tmp_path: Path, options: dict[str, Any]) -> None:
    """Regression: its entries were missing, and the skim ended well, with a note."""
    a = file_of(tmp_path / "a.root", {"x": np.arange(3.0)})
    other = tmp_path / "other.root"
    with farroot.recreate(other) as file:
        file.mktree("u", {"x": np.arange(3.0)})
    nothing = tmp_path / "nothing.root"
    with farroot.recreate(nothing) as file:
        file["t"] = np.histogram(np.arange(3.0), bins=2)
    output = tmp_path / "o.root"
    with pytest.raises(farroot.KeyInFileError, match=r"other\.root"):
        farroot.skim([f"{a}:t", f"{other}:t", f"{a}:t"], output, **options)
    with pytest.raises(farroot.UnsupportedError, match=r"no table.*nothing\.root"):
        farroot.skim([f"{a}:t", f"{nothing}:t"], output, **options)
    assert not output.exists()
