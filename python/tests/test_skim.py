"""``farroot skim``: the columns and entries that were asked for, in the order of the inputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import uproot

from .test_merge import made_of


def skimmed(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "farroot", "skim", "--json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def inputs(folder: Path, kind: str = "tree") -> list[Path]:
    names = ("x", "n", "more")
    return [made_of(folder / f"{at}.root", 10 * at, names, kind=kind) for at in range(3)]


def test_columns_without_a_cut_are_copied(tmp_path: Path) -> None:
    report = skimmed(*inputs(tmp_path), tmp_path / "out.root", "-c", "n,mo*")
    assert (report["is_copied"], report["entries"], report["table"]) == (True, 30, "t")
    with uproot.open(tmp_path / "out.root") as file:
        assert file.keys(cycle=False) == ["t"]
        assert file["t"].keys() == ["n", "more"]
        assert file["t/n"].array().tolist() == list(range(30))


def test_what_is_kept_beside_the_columns(tmp_path: Path) -> None:
    skimmed(*inputs(tmp_path), tmp_path / "out.root", "-c", "x", "--keep-rest")
    with uproot.open(tmp_path / "out.root") as file:
        assert file["t"].keys() == ["x"]
        assert file["below/h"].values().sum() == 30


@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_a_cut_keeps_what_passes(tmp_path: Path, kind: str) -> None:
    report = skimmed(*inputs(tmp_path, kind), tmp_path / "out.root", "--cut", "(n > 7) & (n < 22)")
    assert [entries for _, *entries in report["inputs"]] == [[10, 2], [10, 10], [10, 2]]
    assert not report["is_copied"]
    with uproot.open(tmp_path / "out.root") as file:
        assert file["t"].arrays()["n"].tolist() == list(range(8, 22))
        assert file["t"].arrays()["x"].tolist() == [n / 2 for n in range(8, 22)]


def test_a_tree_becomes_an_rntuple(tmp_path: Path) -> None:
    skimmed(*inputs(tmp_path), tmp_path / "out.root", "--rntuple")
    with uproot.open(tmp_path / "out.root") as file:
        assert file["t"].classname == "ROOT::RNTuple"
        assert file["t"].arrays()["n"].tolist() == list(range(30))
