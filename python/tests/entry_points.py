"""Every way to read a table gives the same values, or an error of farroot's.

A case is a table of seeded columns, the columns that are wanted of it, a cut and a range of
entries. Its values are known from the columns that were written; each entry point reads them, and
the answers are compared one by one. ``python -m tests.entry_points FIRST SEEDS`` does so for any
seeds, and prints the cells that differ and how many there were.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import farroot

from .test_remote import started

ENTRIES = 60
TABLES = ("tree", "ntuple")

Values = dict[str, list[Any]]


@dataclass(frozen=True)
class Case:
    """One read, and the values that it has to give."""

    path: Path
    table: str
    columns: tuple[str, ...]
    cut: str | None
    start: int
    stop: int
    expected: Values = field(compare=False, repr=False)

    @property
    def address(self) -> str:
        return f"{self.path}:{self.table}"

    @property
    def is_whole(self) -> bool:
        """Whether it reads all entries."""
        return (self.start, self.stop) == (0, ENTRIES)

    @property
    def is_plain(self) -> bool:
        """Whether all its columns are stored ones."""
        return all(name.isidentifier() for name in self.columns)


def seeded_columns(seed: int) -> dict[str, Any]:
    """Columns with numbers, lists, fixed lists and texts, in an order of the seed's."""
    random = np.random.default_rng(seed)
    counts, inner = random.poisson(1.5, ENTRIES), random.integers(0, 4, ENTRIES)
    made = {
        "i": random.integers(-5, 6, ENTRIES).astype(np.int32),
        "j": random.integers(0, 2**40, ENTRIES),
        "u": random.integers(0, 200, ENTRIES).astype(np.uint8),
        "small": random.integers(-128, 128, ENTRIES).astype(np.int8),
        "x": random.normal(size=ENTRIES).astype(np.float32),
        "y": random.normal(size=ENTRIES),
        "ok": random.random(ENTRIES) < 0.5,
        "pt": ak.unflatten(random.exponential(30, counts.sum()).astype(np.float32), counts),
        "id": ak.unflatten(random.integers(-9, 9, counts.sum()).astype(np.int32), counts),
        "hits": ak.unflatten(random.integers(0, 99, inner.sum()).astype(np.int64), inner),
        "pair": random.normal(size=(ENTRIES, 2)).astype(np.float32),
        "s": [f"{'ab' * int(n)}é" for n in random.integers(0, 4, ENTRIES)],
    }
    names = list(made)
    random.shuffle(names)
    return {name: made[name] for name in names}


#: Formulas of one value or list an entry, over the columns above.
FORMULAS = (
    *("i + 1", "x * y", "small * small", "u - i", "j // 7", "i % 3", "x ** 2", "-x", "~ok"),
    *("sqrt(abs(y))", "pt * 2", "pt + i", "pt > 20", "id % 2 == 0", "where(ok, x, y)"),
    *("i / 2", "u << 1", "minimum(x, y)", "exp(-pt)", "hits - 1", "ok & (i > 0)"),
)
CUTS = (
    *("i > 0", "ok", "~ok", "(i > -2) & (x < 0.5)", "(y > 0) | ok", "abs(x) < 0.7", "i % 2 == 0"),
    *("j > 2**39", "u >= 100", "s == 'abé'", "i != i", "i == i", "sqrt(abs(y)) < 1", "x < y"),
)


def write(folder: Path, seed: int) -> Path:
    """A file with the columns of a seed as a tree and as an RNTuple, in several clusters."""
    path = folder / f"s{seed}.root"
    if not path.exists():
        columns = seeded_columns(seed)
        with farroot.recreate(
            path, cluster=int(seed % 25) + 7, compression=farroot.ZSTD(1)
        ) as file:
            file.mktree("tree", columns)
            file.mkrntuple("ntuple", columns)
    return path


def cases(folder: Path, seed: int) -> Iterator[Case]:
    """Reads of one file."""
    random = np.random.default_rng(seed + 1_000_000)
    path, columns = write(folder, seed), seeded_columns(seed)
    arrays = {name: ak.Array(column) for name, column in columns.items()}
    names = list(arrays)
    for table in TABLES:
        for kind in ("stored", "stored", "computed"):
            picked = random.choice(names, random.integers(1, 5), replace=False).tolist()
            if kind == "computed":
                picked += random.choice(FORMULAS, 2, replace=False).tolist()
            cut = None if random.random() < 0.3 else str(random.choice(CUTS))
            start, stop = sorted(random.integers(0, ENTRIES + 1, 2).tolist())
            if random.random() < 0.4:
                start, stop = 0, ENTRIES
            values = {name: evaluated(name, arrays) for name in picked}
            mask = slice(None) if cut is None else evaluated(cut, arrays)[start:stop]
            kept = {name: ak.to_list(array[start:stop][mask]) for name, array in values.items()}
            yield Case(path, table, tuple(picked), cut, start, stop, kept)


def evaluated(text: str, arrays: dict[str, Any]) -> Any:
    """The formula's values, as Python, NumPy and Awkward have them."""
    names = {"sqrt": np.sqrt, "abs": np.abs, "exp": np.exp, "minimum": np.minimum}
    flat = {
        name: ak.to_numpy(array) if array.ndim == 1 and "string" not in str(array.type) else array
        for name, array in arrays.items()
    }
    with np.errstate(all="ignore"):
        return ak.Array(eval(text, {"where": np.where, **names}, flat))


def to_values(arrays: Any, columns: tuple[str, ...]) -> Values:
    """Arrays of any library as lists."""
    return {name: _list(arrays[name]) for name in columns}


def _list(array: Any) -> list[Any]:
    if isinstance(array, np.ndarray) and array.dtype == object:
        return [_list(each) if isinstance(each, np.ndarray) else each for each in array]
    listed: list[Any] = array.tolist() if hasattr(array, "tolist") else list(array)
    return [_plain(each) for each in listed]


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple, np.ndarray)) or type(value).__name__ == "Series":
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


# --- Entry points: each gives the values of a case, or None where it cannot express it.


def _ranged(case: Case) -> dict[str, Any]:
    return {"entry_start": case.start, "entry_stop": case.stop}


def by_array(case: Case) -> Values | None:
    if case.cut is not None or not case.is_plain:
        return None
    table = farroot.open(case.address)
    return {name: _list(table[name].array(**_ranged(case))) for name in case.columns}


def by_arrays(case: Case, library: Any = "ak") -> Values:
    table = farroot.open(case.address)
    found = table.arrays(case.columns, cut=case.cut, library=library, **_ranged(case))
    return to_values(found, case.columns)


def by_numpy(case: Case) -> Values:
    return by_arrays(case, "np")


def by_pandas(case: Case) -> Values:
    return by_arrays(case, "pd")


def by_arrow(case: Case) -> Values:
    table = farroot.open(case.address)
    found = table.arrays(case.columns, cut=case.cut, library="arrow", **_ranged(case))
    return {name: found.column(name).to_pylist() for name in case.columns}


def by_iterate(case: Case) -> Values:
    table = farroot.open(case.address)
    found: Values = {name: [] for name in case.columns}
    for batch in table.iterate(case.columns, cut=case.cut, step_size=7, **_ranged(case)):
        for name in case.columns:
            found[name] += _list(batch[name])
    return found


def by_concatenate(case: Case) -> Values | None:
    if not case.is_whole:
        return None
    return to_values(farroot.concatenate([case.address], case.columns, case.cut), case.columns)


def by_chain(case: Case) -> Values:
    chain = farroot.chain([case.address])
    found = chain.arrays(case.columns, cut=case.cut, **_ranged(case))
    return to_values(found, case.columns)


def by_virtual(case: Case) -> Values | None:
    if case.cut is not None or not case.is_plain:
        return None
    table = farroot.open(case.address)
    found = table.arrays(case.columns, virtual=True, **_ranged(case))
    return {name: _list(ak.materialize(found[name])) for name in case.columns}


def by_partitions(case: Case) -> Values | None:
    if not case.is_whole:
        return None
    parts = farroot.partitions(case.address, case.columns, case.cut, step_size=17)
    found: Values = {name: [] for name in case.columns}
    for part in parts:
        for name, values in to_values(part.arrays(), case.columns).items():
            found[name] += values
    return found


def by_polars(case: Case) -> Values | None:
    if case.cut is not None or not case.is_plain:
        return None
    frame = farroot.scan_polars(case.address).select(*case.columns)
    frame = frame.slice(case.start, case.stop - case.start).collect()
    return {name: frame[name].to_list() for name in case.columns}


def by_cat(case: Case) -> Values:
    return _cat(case, case.address)


def _cat(case: Case, address: str) -> Values:
    words = [address, "--json", "-c", ",".join(case.columns), *_shell(case)]
    lines = farroot_command("cat", *words).splitlines()
    rows = [json.loads(line) for line in lines]
    return {name: [row[name] for row in rows] for name in case.columns}


def by_cat_parquet(case: Case) -> Values:
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/o.parquet"
        words = [case.address, "--parquet", target, "-c", ",".join(case.columns), *_shell(case)]
        farroot_command("cat", *words)
        found = pq.read_table(target)
    return {name: found.column(name).to_pylist() for name in case.columns}


def _shell(case: Case) -> list[str]:
    cut = [] if case.cut is None else ["--cut", case.cut]
    return [*cut, "--entry-start", str(case.start), "--entry-stop", str(case.stop)]


def by_skim(case: Case, **options: Any) -> Values | None:
    if not case.is_whole:
        return None
    new = {f"new{at}": text for at, text in enumerate(case.columns) if not text.isidentifier()}
    stored = [name for name in case.columns if name.isidentifier()]
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/o.root"
        farroot.skim(case.address, out, stored, cut=case.cut, define=new, **options)
        found = farroot.open(out)[case.table].arrays()
        values = {name: _list(found[name]) for name in stored}
        return values | {text: _list(found[name]) for name, text in new.items()}


def by_skim_to_ntuple(case: Case) -> Values | None:
    return by_skim(case, as_="rntuple")


def by_skim_to_tree(case: Case) -> Values | None:
    return by_skim(case, as_="tree")


#: ``host:port`` of a server of the folders with cases, and of a proxy, while they run.
_hosts: dict[str, str] = {}


@contextmanager
def served(folder: Path) -> Iterator[None]:
    """Serves a folder, and runs a proxy, for the entry points that read from afar."""
    with started("serve", str(folder)) as server, started("proxy") as proxy:
        _hosts.update(server=server, proxy=proxy)
        yield


def by_served(case: Case) -> Values:
    return _far(case, f"root://{_hosts['server']}//{case.path.name}")


def by_served_http(case: Case) -> Values:
    return _far(case, f"http://{_hosts['server']}/{case.path.name}")


def by_proxy(case: Case) -> Values:
    origin = f"root://{_hosts['server']}//{case.path.name}"
    return _far(case, f"root://{_hosts['proxy']}//{origin}")


def by_uproot_through_farroot(case: Case) -> Values | None:
    """uproot itself, whose reads of bytes farroot answers."""
    if case.cut is not None or not case.is_plain:
        return None
    import uproot

    with uproot.open(case.path, handler=farroot.Source) as file:
        table = file[case.table]
        return {name: _list(table[name].array(**_ranged(case))) for name in case.columns}


def _far(case: Case, url: str) -> Values:
    table = farroot.open({url: case.table})
    found = table.arrays(case.columns, cut=case.cut, **_ranged(case))
    return to_values(found, case.columns)


def farroot_command(*words: str) -> str:
    """The output of the command; an error of its as :class:`farroot.Error`."""
    command = [sys.executable, "-m", "farroot", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise farroot.Error(done.stderr.strip() or f"exit status {done.returncode}")
    return done.stdout


ENTRY_POINTS: dict[str, Callable[[Case], Values | None]] = {
    "array": by_array,
    "arrays": by_arrays,
    "arrays, np": by_numpy,
    "arrays, pd": by_pandas,
    "arrays, arrow": by_arrow,
    "iterate": by_iterate,
    "concatenate": by_concatenate,
    "chain": by_chain,
    "virtual": by_virtual,
    "partitions": by_partitions,
    "scan_polars": by_polars,
    "cat --json": by_cat,
    "cat --parquet": by_cat_parquet,
    "skim": by_skim,
    "skim to RNTuple": by_skim_to_ntuple,
    "skim to tree": by_skim_to_tree,
    "served, root://": by_served,
    "served, http://": by_served_http,
    "through the proxy": by_proxy,
    "uproot over farroot.Source": by_uproot_through_farroot,
}


def differences(case: Case, entry_points: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Each entry point that can express the case, and the difference, if there is any."""
    for name, read in entry_points.items():
        try:
            found = read(case)
        except (farroot.Error, KeyError) as error:
            yield name, f"{type(error).__name__}: {error}"
            continue
        if found is not None:
            yield name, _difference(case, found, is_text=name == "cat --json")


def _difference(case: Case, found: Values, is_text: bool) -> str | None:
    for column, expected in case.expected.items():
        if not _same(expected, found[column], is_text):
            return f"{column}: {str(found[column])[:80]} instead of {str(expected)[:80]}"
    return None


def _same(expected: Any, found: Any, is_text: bool) -> bool:
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(expected) == len(found)
            and all(_same(one, other, is_text) for one, other in zip(expected, found, strict=True))
        )
    if isinstance(expected, float):
        if not np.isfinite(expected):
            return found is None if is_text else np.array_equal(expected, found, equal_nan=True)
        # A number of 32 bits is printed with as many digits as it needs.
        return found == expected or (is_text and np.float32(found) == np.float32(expected))
    return bool(found == expected)


def main() -> int:
    """Prints the cells of some seeds that differ."""
    first, seeds = map(int, sys.argv[1:])
    cells, bad = 0, 0
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)):
        for seed in range(first, first + seeds):
            for case in cases(Path(folder), seed):
                for name, difference in differences(case, ENTRY_POINTS):
                    cells += 1
                    if difference is not None:
                        bad += 1
                        print(f"{name} | {case} | {difference}")
    print(f"{bad} of {cells} cells differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
