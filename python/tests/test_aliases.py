"""Aliases of a file in cuts, new columns and columns of whatever reads or skims.

Skims and the shell's cuts did not know them, where ``arrays`` did.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

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


@pytest.mark.parametrize("as_", [None, "tree", "rntuple"])
def test_skims_know_aliases(
    tmp_path: Path, wanted: Any, as_: Literal["tree", "rntuple"] | None
) -> None:
    target = tmp_path / "skimmed.root"
    columns = ["number", "twice"]
    define = {"thrice": "twice + number", "more": "thrice + twice"}
    farroot.skim(f"{FILE}:events", target, columns, f"({CUT}) & (more > 0)", define=define, as_=as_)
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


def test_a_skim_of_aliases_only_says_so(tmp_path: Path) -> None:
    with pytest.raises(farroot.InvalidArgumentError, match="at least one column"):
        farroot.skim(f"{FILE}:events", tmp_path / "never.root", ["twice"])


def test_the_shell_knows_aliases(tmp_path: Path, wanted: Any) -> None:
    def run(*words: str) -> str:
        command = [sys.executable, "-m", "farroot", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    columns = ("-c", "number,twice", "--cut", CUT)
    printed = run("cat", f"{FILE}:events", *columns, "--csv").splitlines()
    rows = [list(map(float, line.split(",")[-2:])) for line in printed[1:]]
    assert rows == [[one.number, one.twice] for one in wanted]
    target = tmp_path / "skimmed.root"
    run("skim", f"{FILE}:events", str(target), "-c", "number", "--cut", CUT)
    assert farroot.open(f"{target}:events").arrays().number.to_list() == wanted.number.to_list()
