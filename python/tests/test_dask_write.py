"""One file for each partition of a collection of Dask, as `uproot.dask_write` writes them."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

import farroot
from farroot.writing import writable
from farroot.writing._options import Options

from .same import same_awkward
from .skips import need_dask, need_dask_awkward

#: Calls of `uproot.dask_write`, as programs have them.
CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "named": {"prefix": "data", "tree_name": "Events", "title": "a title"},
    "compressed": {"compression": "LZ4", "compression_level": 4},
    "counted": {"counter_name": lambda counted: f"size_{counted}"},
    "later": {"compute": False},
}


@pytest.mark.parametrize("partitions", [1, 3, 11])
@pytest.mark.parametrize("call", CALLS)
def test_dask_write_is_called_as_uproot_s(tmp_path: Path, call: str, partitions: int) -> None:
    need_dask_awkward()
    import dask_awkward

    array = ak.Array([{"x": n, "hits": list(range(n % 4))} for n in range(22)])
    made = []
    for package in (farroot, uproot):
        folder = tmp_path / package.__name__
        collection = dask_awkward.from_awkward(array, partitions)
        written = package.dask_write(collection, folder, **CALLS[call])
        if call == "later":
            assert not any(folder.glob("*"))
            written = written.compute(scheduler="sync")
        if package is farroot:
            assert written == [str(path) for path in sorted(folder.iterdir())]
        table = CALLS[call].get("tree_name", "tree")
        files = sorted(folder.iterdir())
        trees = [farroot.open(f"{path}:{table}") for path in files]
        made.append(([path.name for path in files], trees[0].title, trees))
    (names, title, ours), (*theirs, uproots) = made
    assert [names, title] == theirs
    for mine, their in zip(ours, uproots, strict=True):
        assert sorted(mine.keys()) == sorted(their.keys())
        assert same_awkward(mine.arrays(sorted(mine.keys())), their.arrays(sorted(mine.keys())))


def test_other_collections_and_rntuples(tmp_path: Path) -> None:
    need_dask()
    import dask
    import dask.array

    rows = np.array([(n, n / 2) for n in range(7)], dtype=[("x", "i8"), ("y", "f8")])
    stacked = dask.array.from_array(rows, chunks=3)
    delayed = [dask.delayed({"x": np.arange(n)}) for n in (2, 0, 5)]
    for name, collection, length in (("array", stacked, 7), ("list", delayed, 7)):
        for kind in ("tree", "rntuple"):
            folder = tmp_path / f"{name}-{kind}"
            written = farroot.dask_write(collection, folder, format=kind, title="said")
            assert len(written) == 3
            tables = [farroot.open(f"{path}:tree") for path in written]
            is_tree = kind == "tree"
            assert {type(each).__name__ for each in tables} == {"Tree" if is_tree else "RNTuple"}
            entries: list[int] = [each.num_entries for each in tables]
            assert sum(entries) == length
    # A partition that is computed again replaces its file.
    again = farroot.dask_write(delayed[:1], tmp_path / "list-tree")
    assert farroot.open(f"{again[0]}:tree").num_entries == 2
    assert not [path for path in (tmp_path / "list-tree").iterdir() if ".part" in path.name]


def test_a_task_that_runs_twice_at_the_same_time(tmp_path: Path) -> None:
    """As where Dask starts the task of a worker again that it takes for lost."""
    need_dask()
    import dask

    path = tmp_path / "part0.root"

    def partition() -> dict[str, Any]:
        return {"x": np.arange(3)}

    with writable.begin_shared(str(path), Options()) as slow:
        slow["tree"] = partition()
        assert farroot.dask_write([dask.delayed(partition)()], tmp_path) == [str(path)]
    assert os.listdir(tmp_path) == ["part0.root"]
    assert farroot.open(f"{path}:tree")["x"].array().tolist() == [0, 1, 2]


def test_a_partition_that_fails_leaves_no_file(tmp_path: Path) -> None:
    need_dask()
    import dask

    def failing() -> None:
        raise ZeroDivisionError

    good = dask.delayed({"x": np.arange(3)})
    with dask.config.set(scheduler="sync"), pytest.raises(ZeroDivisionError):
        farroot.dask_write([good, dask.delayed(failing)()], tmp_path / "out")
    assert set(os.listdir(tmp_path / "out") if (tmp_path / "out").exists() else ()) <= {
        "part0.root"
    }


def test_other_arguments_are_refused(tmp_path: Path) -> None:
    need_dask()
    import dask

    one = [dask.delayed({"x": np.arange(3)})]
    wrong: list[tuple[type[Exception], Any, dict[str, Any]]] = [
        (farroot.ArgumentTypeError, 3, {}),
        (farroot.InvalidArgumentError, [], {}),
        (farroot.InvalidArgumentError, one, {"compression_level": 3}),
        (farroot.InvalidArgumentError, one, {"storage_options": {"key": "x"}}),
        (farroot.InvalidArgumentError, one, {"format": "parquet"}),
        (farroot.ArgumentTypeError, one, {"compressed": 505}),
    ]
    for error, collection, options in wrong:
        with pytest.raises(error):
            farroot.dask_write(collection, tmp_path, **options)
    assert not any(tmp_path.iterdir())


def test_workers_get_no_secrets() -> None:
    from farroot.writing.dask import _folder

    folder = _folder("root://user@host//store/parts?authz=secret")
    assert folder.file("a.root") == "root://user@host//store/parts/a.root?authz=secret"
    sent = pickle.dumps(folder)
    assert b"secret" not in sent
    assert pickle.loads(sent).file("a.root").startswith("root://user@host//store/parts/a.root")
