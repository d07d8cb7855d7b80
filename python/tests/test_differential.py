"""Entry points give the same values: a row for each, so that no two of them can drift apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import farroot

from .differential import differences, shown
from .differential_cases import cases
from .entry_points import ENTRY_POINTS, command, served
from .skips import REPOSITORY, need_rust_example

SEEDS = range(1)


class Row(NamedTuple):
    """The outcome of the cases that one entry point can express."""

    expressed: int
    wrong: list[str]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Row]]:
    """Every case read in every way."""
    folder = tmp_path_factory.mktemp("cases")
    expressed: dict[str, int] = defaultdict(int)
    wrong: dict[str, list[str]] = defaultdict(list)
    with served(folder):
        for seed in SEEDS:
            for case in cases(folder, seed):
                for name, difference in differences(case, ENTRY_POINTS):
                    expressed[name] += 1
                    if difference is not None:
                        wrong[name].append(f"{shown(case)}: {difference}")
        yield {name: Row(expressed[name], wrong[name]) for name in ENTRY_POINTS}


@pytest.mark.filterwarnings("ignore::farroot.HiddenAliasWarning")
@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_an_entry_point_reads_all_cases(name: str, rows: dict[str, Row]) -> None:
    if name.startswith("Rust"):
        need_rust_example()
    assert not rows[name].wrong, "\n".join(rows[name].wrong)
    assert rows[name].expressed, "no case can be read so"


# Faults that the table has found: each is left out above by `is_known`, and goes with its mending.


@pytest.fixture
def befriended(tmp_path: Path) -> tuple[str, str]:
    """Addresses of a tree and of another with columns for the same entries."""
    with farroot.recreate(tmp_path / "main.root") as file:
        file.mktree("t", {"x": np.arange(4.0), "i": np.arange(4)})
    with farroot.recreate(tmp_path / "beside.root") as file:
        file.mktree("b", {"w": np.arange(4.0) * 2, "i": np.arange(4) + 10})
    return f"{tmp_path}/main.root:t", f"{tmp_path}/beside.root:b"


def test_a_formula_begins_with_the_name_of_a_friend(befriended: tuple[str, str]) -> None:
    tree = farroot.open(befriended[0])
    tree.add_friend(befriended[1], "near")
    assert tree.arrays(["near.i > 11"])["near.i > 11"].tolist() == [False, False, True, True]


def test_a_column_of_a_friend_is_called_as_it_is_asked_for(befriended: tuple[str, str]) -> None:
    words = (befriended[0], "--csv", "--friend", f"near={befriended[1]}")
    assert command("cat", *words, "-c", "x,w").splitlines()[0] == "x,w"
    assert command("cat", *words, "-c", "x,w,abs(i)").splitlines()[0] == "x,w,abs(i)"


SPLIT = f"{REPOSITORY}/crates/rootfile/testdata/split.root:events"


def test_a_column_by_its_last_name_is_called_so() -> None:
    assert farroot.open(SPLIT).arrays(["inners.b"]).fields == ["inners.b"]
    assert command("cat", SPLIT, "--csv", "-c", "inners.b").splitlines()[0] == "inners.b"


def test_a_branch_of_branches_beside_a_formula() -> None:
    text = "get('event/n') + 1"
    assert farroot.open(SPLIT).arrays(["single", text]).fields == ["single", text]
    head = command("cat", SPLIT, "--csv", "-c", f"single,{text}").splitlines()[0]
    assert head.startswith("single/a,single/b,")


def test_a_column_with_dots_for_slashes_alone() -> None:
    tree = farroot.open(SPLIT)
    assert tree.arrays(["event.n * 1"])["event.n * 1"].tolist() == [0, 1, 2, 3, 4]
    assert tree.arrays(["event.n"])["event.n"].tolist() == [0, 1, 2, 3, 4]


def test_a_skim_joins_rntuples_of_several_encodings(tmp_path: Path) -> None:
    columns = {"x": np.arange(30), "y": np.arange(30) * 1.5}
    files = []
    for name, compression in (("plain", None), ("compressed", farroot.ZSTD(1))):
        files.append(f"{tmp_path}/{name}.root:t")
        path = tmp_path / f"{name}.root"
        with farroot.recreate(path, compression=compression, cluster=7) as file:
            file.mkrntuple("t", columns)
    for _ in range(25):
        farroot.skim(files, tmp_path / "skimmed.root", ["x", "y"], overwrite=True)
