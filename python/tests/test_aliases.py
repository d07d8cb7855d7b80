"""Aliases of a file in cuts, new columns and columns of whatever reads or skims.

Skims and the shell's cuts did not know them, where ``arrays`` did.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import awkward as ak
import numpy as np
import pytest

import farroot

from .skips import REPOSITORY

#: Its tree has the alias ``twice``, which is ``number * 2``.
FILE = REPOSITORY / "crates" / "rootfile" / "testdata" / "clustered.root"
CUT = "twice > 100"


@pytest.fixture(scope="module")
def wanted() -> Any:
    read = farroot.open(f"{FILE}:events").arrays(["number", "twice"], CUT)
    assert 0 < len(read) < 100
    assert read.twice.to_list() == [2 * number for number in read.number.to_list()]
    return read


@pytest.mark.parametrize("form", [None, "tree", "rntuple"])
def test_skims_know_aliases(
    tmp_path: Path, wanted: Any, form: Literal["tree", "rntuple"] | None
) -> None:
    target = tmp_path / "skimmed.root"
    columns = ["number", "twice"]
    define = {"thrice": "twice + number", "more": "thrice + twice"}
    farroot.skim(
        f"{FILE}:events", target, columns, f"({CUT}) & (more > 0)", define=define, format=form
    )
    skimmed = farroot.open(f"{target}:events").arrays()
    assert skimmed.number.to_list() == wanted.number.to_list()
    assert skimmed.twice.to_list() == wanted.twice.to_list()
    assert skimmed.thrice.to_list() == (wanted.twice + wanted.number).to_list()
    assert skimmed.more.to_list() == (2 * wanted.twice + wanted.number).to_list()


def test_a_new_column_hides_an_alias(tmp_path: Path) -> None:
    target = tmp_path / "skimmed.root"
    define = {"twice": "number * 0 + 7"}
    farroot.skim(f"{FILE}:events", target, ["number"], "twice == 7", define=define)
    assert set(farroot.open(f"{target}:events")["twice"].array().to_list()) == {7}


@pytest.mark.parametrize("form", [None, "rntuple", "parquet"])
def test_skims_take_formulas_as_columns(tmp_path: Path, form: Any) -> None:
    """Skims took names of branches only, where ``arrays`` takes aliases and formulas, too."""
    columns = ["number", "twice", "number*number", "twice+1", "co*nt"]
    read = farroot.open(f"{FILE}:events").arrays(columns, CUT)
    if form == "parquet":
        target = tmp_path / "skimmed.parquet"
        farroot.skim(f"{FILE}:events", target, columns, CUT)
        skimmed = ak.from_parquet(target)
    else:
        target = tmp_path / "skimmed.root"
        farroot.skim(f"{FILE}:events", target, columns, CUT, format=form)
        with farroot.open(f"{target}:events") as table:
            skimmed = {name: table[name].array() for name in table.keys()}  # noqa: SIM118
    for name in read.fields:
        assert ak.to_list(skimmed[name]) == ak.to_list(read[name]), name


@pytest.mark.parametrize("columns", [["twice"], ["number**2", "twice"], "counted*2"])
def test_a_skim_may_keep_computed_columns_only(tmp_path: Path, columns: Any) -> None:
    """There had to be a column of the file among them."""
    target = tmp_path / "skimmed.root"
    done = farroot.skim([f"{FILE}:events"] * 2, target, columns, CUT)
    assert any("encoded anew" in note for note in done.notes)
    read = farroot.open(f"{FILE}:events").arrays(columns, CUT)
    skimmed = farroot.open(f"{target}:events")
    assert {name for name in skimmed.keys() if not name.startswith("n")} == {  # noqa: SIM118
        name for name in read.fields if not name.startswith("n")
    }
    for name in read.fields:
        assert skimmed[name].array().to_list() == 2 * read[name].to_list()


def test_a_skim_says_which_formulas_are_no_names(tmp_path: Path) -> None:
    never = tmp_path / "never.root"
    with pytest.raises(farroot.InvalidArgumentError, match="define="):
        farroot.skim(f"{FILE}:events", never, ["number", "counted[:, :1]"])
    with pytest.raises(farroot.InvalidArgumentError, match="names no column"):
        farroot.skim(f"{FILE}:events", never, ["number", "sqrt(2.)"])
    with pytest.raises(farroot.KeyInFileError, match="nubmer"):
        farroot.skim(f"{FILE}:events", never, ["number", "nubmer + 1"])
    assert not never.exists()


def test_formulas_name_new_columns(tmp_path: Path) -> None:
    target = tmp_path / "skimmed.root"
    define = {"thrice": "number * 3"}
    columns = ["number", "thrice", "thrice+twice"]
    farroot.skim(f"{FILE}:events", target, columns, define=define)
    table = farroot.open(f"{target}:events")
    assert table.keys() == ["number", "thrice", "thrice+twice"]
    assert table["thrice+twice"].array().to_list() == [5 * one for one in range(100)]


def test_the_shell_knows_aliases(tmp_path: Path, wanted: Any) -> None:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "farroot", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    columns = ("-c", "number,twice,hypot(number, twice)", "--cut", CUT)
    printed = run("cat", f"{FILE}:events", *columns, "--csv").splitlines()
    rows = [list(map(float, line.split(",")[-3:])) for line in printed[1:]]
    hypotenuses = np.hypot(wanted.number, wanted.twice)
    assert rows == [[one.number, one.twice, h] for one, h in zip(wanted, hypotenuses, strict=True)]
    target = tmp_path / "skimmed.root"
    run("skim", f"{FILE}:events", str(target), *columns)
    skimmed = farroot.open(f"{target}:events")
    assert skimmed["number"].array().to_list() == wanted.number.to_list()
    assert skimmed["hypot(number, twice)"].array().to_list() == hypotenuses.to_list()
