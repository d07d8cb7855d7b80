"""``farroot skim``: the columns and entries that were asked for, in the order of the inputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

import farroot

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
    assert [entries for _, *entries in report["sources"]] == [[10, 2], [10, 10], [10, 2]]
    assert not report["is_copied"]
    with uproot.open(tmp_path / "out.root") as file:
        assert file["t"].arrays()["n"].tolist() == list(range(8, 22))
        assert file["t"].arrays()["x"].tolist() == [n / 2 for n in range(8, 22)]


def test_a_tree_becomes_an_rntuple(tmp_path: Path) -> None:
    skimmed(*inputs(tmp_path), tmp_path / "out.root", "--format", "rntuple")
    with uproot.open(tmp_path / "out.root") as file:
        assert file["t"].classname == "ROOT::RNTuple"
        assert file["t"].arrays()["n"].tolist() == list(range(30))


def test_sources_as_iterate_takes_them(tmp_path: Path) -> None:
    paths = inputs(tmp_path)
    forms: list[Any] = [
        dict.fromkeys(paths, "t"),
        [f"{path}:t" for path in paths],
        f"{tmp_path}/[0-2].root:t",
        [farroot.open(path)["t"] for path in paths],
    ]
    for at, sources in enumerate(forms):
        output = tmp_path / f"{at}" / "out.root"
        output.parent.mkdir()
        skimmed = farroot.skim(sources, output, cut="n > 7", reproducible=True)
        assert (skimmed.entries, skimmed.table, skimmed.is_copied) == (22, "t", False)
        assert [kept for _, *kept in skimmed.sources] == [[10, 2], [10, 10], [10, 10]]
        assert output.read_bytes() == (tmp_path / "0" / "out.root").read_bytes()
        assert farroot.open(output)["t"].arrays()["n"].tolist() == list(range(8, 30))


def test_what_a_caller_may_choose(tmp_path: Path) -> None:
    one, *_ = inputs(tmp_path)
    output = tmp_path / "out.root"
    told: list[Any] = []
    skimmed = farroot.skim(
        f"{one}:t", output, ["n", "mo*"], format="rntuple", compression=None, progress=told.append
    )
    assert skimmed.entries == 10
    assert told
    table = farroot.open(output)["t"]
    assert isinstance(table, farroot.RNTuple)
    assert table.keys() == ["n", "more"]
    with pytest.raises(farroot.InvalidArgumentError, match="there already"):
        farroot.skim(f"{one}:t", output)
    assert farroot.skim(f"{one}:t", output, "x", keep_rest=True, overwrite=True).is_copied
    assert farroot.open(output).keys(cycle=False) == ["below", "below/h", "t"]
    cases: list[dict[str, Any]] = [
        {"format": "csv"},
        {"columns": []},
        {"cut": "n >"},
        {"compression": 999},
    ]
    for wrong in cases:
        with pytest.raises(farroot.InvalidArgumentError):
            farroot.skim(f"{one}:t", tmp_path / "none.root", **wrong)
    assert not (tmp_path / "none.root").exists()


@pytest.mark.parametrize("form", ["tree", "rntuple"])
@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_a_table_without_entries_has_its_columns(tmp_path: Path, kind: str, form: Any) -> None:
    """When it was encoded anew, the output had no table."""
    path, output = tmp_path / "in.root", tmp_path / "out.root"
    with farroot.recreate(path) as file:
        make = file.mktree if kind == "tree" else file.mkrntuple
        make("t", {"n": np.zeros(0, "i4"), "x": np.zeros(0)})
    skimmed = farroot.skim({path: "t"}, output, format=form)
    assert (skimmed.entries, skimmed.is_copied) == (0, kind == form)
    assert farroot.open(output)["t"].keys() == ["n", "x"]


@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_of_clusters_without_survivors_only_the_cuts_columns_are_fetched(
    tmp_path: Path, kind: str
) -> None:
    path, numbers = tmp_path / "in.root", np.random.default_rng(1)
    with uproot.recreate(path) as file:
        make = file.mktree if kind == "tree" else file.mkrntuple
        table = make("t", {"n": np.int32, "x": np.int64})
        for cluster in range(10):
            # Random, so that compression does not change the size.
            x = numbers.integers(-(2**63), 2**63 - 1, 20_000)
            table.extend({"n": np.full(20_000, cluster, "i4"), "x": x})
    size = 20_000 * 8

    def received(cut: str) -> int:
        with farroot.reporting() as report:
            farroot.skim({path: "t"}, tmp_path / "out.root", cut=cut, overwrite=True)
        return int(report["bytes_received"])

    none = received("n < 0")
    # Beside the table's metadata, which are read ahead.
    assert none < 2 * size
    for clusters, cut in ((1, "n == 4"), (2, "(n > 4) & (n < 7)")):
        assert abs(received(cut) - none - clusters * size) < 0.05 * size


def test_a_skim_that_failed_leaves_its_name_free(tmp_path: Path) -> None:
    """Regression: the call returned while its part still had the lock, and the next writer of that
    name was refused."""
    path = tmp_path / "in.root"
    numbers = np.arange(200_000)
    with farroot.recreate(path) as file:
        file.mktree("t", {"x": numbers, "y": numbers * 0.5})
    other = tmp_path / "other.root"
    with farroot.recreate(other) as file:
        file.mktree("t", {"x": numbers})
    output = tmp_path / "out.root"
    for _ in range(20):
        with pytest.raises(farroot.Error, match=r"other\.root"):
            farroot.skim([f"{path}:t", f"{other}:t"], output, define={"z": "x + y"}, overwrite=True)
        farroot.merge([path], output, overwrite=True)
