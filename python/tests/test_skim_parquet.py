"""Skims to Parquet, from Python and from the shell."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import farroot
from farroot._parquet import ParquetWriter

from .test_merge import made_of

TESTDATA = Path(__file__).parents[2] / "crates" / "rootfile" / "testdata"
FIELDS = f"{TESTDATA / 'ntuple_fields.root'}:events"


def by_shell(*arguments: object, before: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys; {before}from farroot._command import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "skim", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def inputs(folder: Path, kind: str) -> list[Path]:
    names = ("x", "n", "more")
    return [made_of(folder / f"{at}.root", 10 * at, names, kind=kind) for at in range(3)]


@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_what_passes_of_several_files(tmp_path: Path, kind: str) -> None:
    paths, output = inputs(tmp_path, kind), tmp_path / "out.parquet"
    cut, sources = "(n > 7) & (n < 22)", [f"{path}:t" for path in paths]
    skimmed = farroot.skim(sources, output, ["x", "n"], cut, define={"twice": "2 * n"})
    assert skimmed.sources == [
        (str(paths[0]), 10, 2),
        (str(paths[1]), 10, 10),
        (str(paths[2]), 10, 2),
    ]
    assert (skimmed.table, skimmed.size) == ("t", output.stat().st_size)
    assert (skimmed.is_copied, skimmed.clusters) == (False, None)
    expected = [{"x": n / 2, "n": n, "twice": 2 * n} for n in range(8, 22)]
    assert pq.read_table(output).to_pylist() == expected
    again = tmp_path / "again.parquet"
    arguments = ["-c", "x,n", "--cut", cut, "--define", "twice=2 * n", "--json"]
    done = by_shell(*sources, again, *arguments)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["entries"], report["clusters"], report["is_copied"]) == (14, None, False)
    assert pq.read_table(again).to_pylist() == expected
    assert not list(tmp_path.glob("*.part"))


def test_nested_columns_and_functions(tmp_path: Path) -> None:
    output, names = tmp_path / "out.parquet", ["i32", "text", "numbers", "maybe", "hits", "matrix"]
    new: dict[str, Any] = {"count": lambda numbers: np.array([len(one) for one in numbers])}
    farroot.skim(FIELDS, output, names, "i32 > 3", define=new)
    events = farroot.open(FIELDS).arrays([*names, "numbers"], "i32 > 3")
    expected = [{**entry, "count": len(entry["numbers"])} for entry in events.to_list()]
    assert len(expected) > 0
    assert pq.read_table(output).to_pylist() == expected


def test_where_nothing_passes_the_columns_have_their_types(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    assert farroot.skim(FIELDS, output, ["i32", "numbers"], "(i32 > 0) & (i32 < 0)").entries == 0
    table = pq.read_table(output)
    assert (table.num_rows, table.column_names) == (0, ["i32", "numbers"])


def test_what_is_there_stays_without_being_asked(tmp_path: Path) -> None:
    output = tmp_path / "out.parquet"
    output.write_text("before")
    with pytest.raises(farroot.InvalidArgumentError, match="there already"):
        farroot.skim(FIELDS, output, "i32")
    done = by_shell(FIELDS, output, "-c", "i32")
    assert (done.returncode, "-f replaces it" in done.stderr) == (1, True)
    assert output.read_text() == "before"
    farroot.skim(FIELDS, output, "i32", overwrite=True)
    assert pq.read_table(output).column_names == ["i32"]
    done = by_shell(FIELDS, output, "-c", "i64", "--force")
    assert (done.returncode, done.stderr) == (0, "")
    assert pq.read_table(output).column_names == ["i64"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_that_is_made_meanwhile_stays_without_being_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    """The name was looked at before the first byte only: a file that another program had written
    there until the end was replaced."""
    output = tmp_path / "out.parquet"
    finish = ParquetWriter.finish

    def finishing(writer: ParquetWriter) -> None:
        finish(writer)
        output.write_text("of another program")

    monkeypatch.setattr(ParquetWriter, "finish", finishing)
    if overwrite:
        farroot.skim(FIELDS, output, "i32", overwrite=True)
        assert pq.read_table(output).column_names == ["i32"]
    else:
        with pytest.raises(farroot.InvalidArgumentError, match="there already"):
            farroot.skim(FIELDS, output, "i32")
        assert output.read_text() == "of another program"
    assert list(tmp_path.iterdir()) == [output]


def test_of_two_threads_that_skim_to_one_target_the_second_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both wrote to one temporary file, whose name contained only the process id."""
    output, refused = tmp_path / "out.parquet", list[str]()
    finish = ParquetWriter.finish

    def finishing(writer: ParquetWriter) -> None:
        monkeypatch.setattr(ParquetWriter, "finish", finish)
        with ThreadPoolExecutor(1) as other:
            second = other.submit(farroot.skim, FIELDS, output, "i64")
            refused.append(str(second.exception()))
        finish(writer)

    monkeypatch.setattr(ParquetWriter, "finish", finishing)
    farroot.skim(FIELDS, output, "i32")
    assert len(refused) == 1
    assert "another writer" in refused[0]
    assert pq.read_table(output).column_names == ["i32"]
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize(
    ("target", "how"),
    [
        ("out.parquet", {"format": "rntuple"}),
        ("out.parquet", {"keep_rest": True}),
        ("root://localhost:1//out.parquet", {}),
    ],
)
def test_what_a_parquet_file_cannot_be(tmp_path: Path, target: str, how: dict[str, Any]) -> None:
    place = target if "://" in target else str(tmp_path / target)
    with pytest.raises(farroot.InvalidArgumentError, match="Parquet"):
        farroot.skim(FIELDS, place, "i32", **how)
    flags = (["--format", "rntuple"] if how.get("format") else ["--keep-rest"]) if how else []
    done = by_shell(FIELDS, place, "-c", "i32", *flags)
    assert (done.returncode, "Parquet" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_columns_that_parquet_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(farroot.UnsupportedError, match="variant"):
        farroot.skim(FIELDS, tmp_path / "out.parquet", ["i32", "variant"])
    done = by_shell(FIELDS, tmp_path / "out.parquet", "-c", "i32,variant")
    assert (done.returncode, "variant" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out.parquet"
    done = by_shell(FIELDS, output, before="sys.modules['pyarrow'] = None; ")
    assert (done.returncode, "pip install 'farroot[arrow]'" in done.stderr) == (1, True)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match="pip install"):
        farroot.skim(FIELDS, output, "i32")
    assert list(tmp_path.iterdir()) == []
