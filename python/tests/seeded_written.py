"""Trees and RNTuples of columns that are made up from seeds, as ROOT, uproot and farroot read them.

``python -m tests.seeded_written FIRST SEEDS`` does so for any seeds, and prints the differences,
and ROOT's standard error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import farroot

from .root import PACKAGE
from .seeds import main
from .test_writing_tables import COMPRESSIONS, random_columns, read

ENTRIES = 50


def entries(seed: int) -> dict[str, Any]:
    """Columns that a tree and an RNTuple can hold."""
    return random_columns(np.random.default_rng(seed), ENTRIES)


def fields(seed: int) -> dict[str, Any]:
    """The same, and columns that only an RNTuple can hold: values may be missing."""
    random = np.random.default_rng(seed + 1_000_000)
    columns = entries(seed)
    for name in [name for name in columns if random.integers(2)]:
        column = ak.Array(columns[name])
        columns[f"{name}_or_none"] = ak.mask(column, random.integers(0, 2, ENTRIES) == 1)
    counts = random.poisson(1, ENTRIES)
    lists = ak.Array([[[1.5], []], [[0.5, -1.0]]] * ENTRIES * 5)[: counts.sum()]
    return {**columns, "deep": ak.unflatten(lists, counts)}


def write(folder: Path, first: int, seeds: int) -> list[Path]:
    """A file for each seed, and beside it the values that ROOT reads of it, as JSON."""
    paths = []
    for seed in range(first, first + seeds):
        random = np.random.default_rng(seed)
        options: dict[str, Any] = {
            "compression": COMPRESSIONS[random.integers(len(COMPRESSIONS))],
            "cluster": int(random.integers(1, 60)),
            "jagged": ("counter", "vector")[random.integers(2)],
        }
        paths.append(folder / f"s{seed}.root")
        with farroot.recreate(paths[-1], **options) as file:
            file.mktree("t", entries(seed))
            file.mkrntuple("n", fields(seed))
    read_by_root(folder)
    return paths


def read_by_root(folder: Path) -> None:
    """Leaves beside each file the values that ROOT reads of it, as JSON; ROOT may print nothing
    else."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.root.read", str(folder)]
    done = subprocess.run(command, capture_output=True, cwd=PACKAGE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def compare(path: Path) -> Iterator[str]:
    """Yields the objects of one file that are not as they were written."""
    seed = int(path.stem.removeprefix("s"))
    by_root = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    for name, columns, found in (
        ("t", entries(seed), by_root["t"]["entries"]),
        ("n", fields(seed), by_root["n"]["values"]),
    ):
        # As farroot and uproot read it, which `read` compares.
        ours = read(path, name)
        for column, values in columns.items():
            where = f"{path.name}:{name}/{column}"
            if ak.to_list(values) != ak.to_list(ours[column]):
                yield f"{where}: farroot and uproot read something else"
            if not equal(found[column], values):
                yield f"{where}: ROOT reads something else"


def equal(found: list[Any], column: Any) -> bool:
    """Whether ROOT has read the column."""
    return len(found) == len(column) and all(map(_same, ak.to_list(column), found))


def _same(ours: Any, theirs: Any) -> bool:
    """Of one entry. ROOT's numbers of a tree are reals, and those of one entry flat."""
    if ours is None or theirs is None:
        return ours is theirs
    if isinstance(ours, str) or isinstance(theirs, (str, int)):
        return bool(ours == theirs)
    if not isinstance(theirs, list):
        return bool(float(ours) == theirs or (ours != ours and theirs != theirs))
    if any(isinstance(each, (list, str)) for each in theirs):
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    flat = np.ravel(np.array(ours, dtype=np.float64))
    return bool(np.array_equal(flat, np.array(theirs, dtype=np.float64), equal_nan=True))


if __name__ == "__main__":
    sys.exit(main(write, compare))
