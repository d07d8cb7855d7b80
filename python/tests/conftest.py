"""Files to read: made by uproot, and the shared corpus where it is there."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from .root import written_by
from .skips import REPOSITORY, need_corpus

pytest_plugins = ["tests.leaks"]

# Tests count round trips of first reads, and leave nothing in the home of who runs them.
os.environ["FARROOT_STORE"] = "0"

# Tests fill caches also on a disk that others have filled.
os.environ["FARROOT_CACHE_FREE"] = "0"

# When pytest begins, it closes its folder in /tmp to other users. The servers of another checkout's
# tests run as the user nobody and could not read it: each checkout has a folder of its own.
_checkout = hashlib.sha256(str(REPOSITORY).encode()).hexdigest()[:8]
_temporary = Path(tempfile.gettempdir()) / f"farroot-{os.getuid()}-{_checkout}"
_temporary.mkdir(exist_ok=True)
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_temporary))


#: Test files that take long and so are begun first: one process would run them alone at the end.
FIRST = [
    *("corpus", "damaged", "merge_ntuples", "merge_sums", "odd_xrootd", "package"),
    *("root_experiments", "seeded", "seeded_ntuple", "skim_define", "skim_ntuples", "types"),
]


def pytest_configure() -> None:
    # Behind `nohup` or a script's `&` these are ignored, and would be by every child that a test
    # sends them to.
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in FIRST)


#: Entries of the made files: enough for several baskets, few enough for Python loops.
ENTRIES = 1000
BASKET = 170


def columns(seed: int, entries: int = ENTRIES) -> dict[str, Any]:
    """Columns of every type that uproot can write."""
    random = np.random.default_rng(seed)
    data: dict[str, Any] = {}
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        info = np.iinfo(name)
        data[name] = random.integers(info.min, info.max, entries, dtype=name, endpoint=True)
    data["float32"] = random.normal(size=entries).astype(np.float32)
    data["float64"] = random.normal(size=entries)
    data["float64"][::97] = np.nan
    data["bool"] = random.random(entries) < 0.5
    data["fixed"] = random.normal(size=(entries, 3)).astype(np.float32)
    data["matrix"] = random.integers(0, 100, size=(entries, 2, 3), dtype=np.int16)
    counts = random.poisson(1.5, entries)
    data["jagged"] = ak.unflatten(random.normal(size=counts.sum()).astype(np.float32), counts)
    data["other"] = ak.unflatten(random.integers(-9, 9, counts.sum(), dtype=np.int64), counts)
    data["text"] = [f"entry {i}" * (i % 40) for i in range(entries)]
    return data


def write(path: Path, seed: int, entries: int = ENTRIES, tree: str = "events") -> Path:
    """A file with one tree of several baskets."""
    data = columns(seed, entries)
    with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
        for begin in range(0, entries, BASKET):
            step = {name: column[begin : begin + BASKET] for name, column in data.items()}
            if begin == 0:
                _plant(file, tree, step)
            else:
                file[tree].extend(step)
    return path


def _plant(file: Any, path: str, columns: dict[str, Any]) -> None:
    """Writes a TTree; a plain assignment would write an RNTuple."""
    types = {name: _type(column) for name, column in columns.items()}
    file.mktree(path, types).extend(columns)


def _type(column: Any) -> Any:
    if isinstance(column, ak.Array):
        return column.type.content
    if isinstance(column, list):
        return str
    return np.dtype((column.dtype, column.shape[1:]))


@pytest.fixture(scope="session", autouse=True)
def runtime_folder() -> Iterator[None]:
    """Programs under ``farroot run`` share a proxy: here not with those of the user, or of tests
    that run at the same time."""
    with tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True) as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        yield


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a tree ``events`` of 1,000 entries in six baskets."""
    return write(tmp_path_factory.mktemp("made") / "made.root", seed=1)


@pytest.fixture(scope="session")
def ntuples_of_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of ``root/ntuples.py``, which take ROOT long: written once, also for
    tests that run in several processes. Read them only."""
    top = tmp_path_factory.getbasetemp()
    folder = (top.parent if "PYTEST_XDIST_WORKER" in os.environ else top) / "ntuples_of_root"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            written_by("ntuples", tmp_path_factory.mktemp("ntuples")).rename(folder)
    return folder


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files of one kind with 300, 1 and 500 entries."""
    folder = tmp_path_factory.mktemp("several")
    sizes = (300, 1, 500)
    return [write(folder / f"part{n}.root", n, size) for n, size in enumerate(sizes)]


@pytest.fixture(scope="session")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with trees, directories and a histogram."""
    path = tmp_path_factory.mktemp("nested") / "nested.root"
    with uproot.recreate(path) as file:
        _plant(file, "top", {"x": np.arange(5)})
        _plant(file, "one/two/tree", {"y": np.arange(7)})
        file["one/hist"] = np.histogram(np.arange(10))
        _plant(file, "top", {"x": np.arange(6)})
    return path


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The shared corpus of real files."""
    return need_corpus()


@pytest.fixture
def opened(made: Path) -> Iterator[Any]:
    """The made tree, as uproot reads it."""
    with uproot.open(made) as file:
        yield file["events"]
