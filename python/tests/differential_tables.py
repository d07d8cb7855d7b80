"""Tables that seeds make up, and tables of files that are kept, with the values of their columns.

The values are known without farroot: from the arrays that were written, or as uproot reads them.
"""

from __future__ import annotations

import functools
import keyword
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

import farroot

from .skips import REPOSITORY

TESTDATA = REPOSITORY / "crates" / "rootfile" / "testdata"
SIM = REPOSITORY / "sim" / "testdata"

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*INTEGERS, "float32", "float64")


@dataclass(frozen=True)
class Table:
    """A table of one file, or of several that are read one after the other."""

    paths: tuple[Path, ...]
    within: str
    #: Values by the name that is asked for.
    columns: dict[str, Any] = field(compare=False, repr=False)
    entries: int
    #: Columns that only formulas of the file give, its aliases; friends' columns among them.
    virtual: frozenset[str] = frozenset()
    #: Friends that the reader names: addresses by name.
    friends: tuple[tuple[str, str], ...] = ()

    @property
    def is_one(self) -> bool:
        return len(self.paths) == 1


def kind_of(array: Any) -> str:
    """number, bool, text, list, fixed or other: the kinds of columns for formulas."""
    spelled = str(ak.type(array)).split(" * ", 1)[1]
    if spelled in NUMBERS:
        return "number"
    if spelled in ("bool", "string"):
        return spelled
    first, _, rest = spelled.partition(" * ")
    if rest in NUMBERS:
        return "list" if first == "var" else "fixed"
    return "other"


def is_name(text: str) -> bool:
    """Whether a formula can name it without ``get``."""
    return text.isidentifier() and not keyword.iskeyword(text)


def _shuffled(made: dict[str, Any], random: Any) -> dict[str, Any]:
    names = list(made)
    random.shuffle(names)
    return {name: made[name] for name in names}


def _numbers(kind: str, entries: int, random: Any) -> Any:
    if kind.startswith("float"):
        return random.normal(scale=20, size=entries).astype(kind)
    info = np.iinfo(kind)
    some = random.integers(info.min, info.max, entries, dtype=kind, endpoint=True)
    return np.where(random.random(entries) < 0.5, some, (some % 9).astype(kind))


def _lists(content: Any, random: Any, entries: int) -> Any:
    """Items as lists, of ``entries`` entries."""
    cuts = np.sort(random.integers(0, len(content) + 1, entries - 1))
    counts = np.diff(np.concatenate([[0], cuts, [len(content)]]))
    return ak.unflatten(content, counts)


def common(seed: int, entries: int) -> dict[str, Any]:
    """Columns with numbers, lists, fixed lists and texts, in an order of the seed's."""
    random = np.random.default_rng(seed)
    counts, inner = random.poisson(1.5, entries), random.integers(0, 4, entries)
    made = {
        "i": random.integers(-5, 6, entries).astype(np.int32),
        "j": random.integers(0, 2**40, entries),
        "u": random.integers(0, 200, entries).astype(np.uint8),
        "small": random.integers(-128, 128, entries).astype(np.int8),
        "x": random.normal(size=entries).astype(np.float32),
        "y": random.normal(size=entries),
        "ok": random.random(entries) < 0.5,
        "pt": ak.unflatten(random.exponential(30, counts.sum()).astype(np.float32), counts),
        "id": ak.unflatten(random.integers(-9, 9, counts.sum()).astype(np.int32), counts),
        "hits": ak.unflatten(random.integers(0, 99, inner.sum()).astype(np.int64), inner),
        "pair": random.normal(size=(entries, 2)).astype(np.float32),
        "s": ak.Array(["é", "abé", "ababé", "abababé"])[random.integers(0, 4, entries)],
    }
    return _shuffled(made, random)


def of_all_types(seed: int, entries: int, is_ntuple: bool) -> dict[str, Any]:
    """A column of each type, alone, in lists and in arrays of one shape."""
    random = np.random.default_rng(seed + 1)
    made: dict[str, Any] = {}
    for kind in NUMBERS:
        made[kind] = _numbers(kind, entries, random)
        content = _numbers(kind, 2 * entries, random)
        made[f"{kind}_list"] = _lists(content, random, entries)
        shape = (entries, int(random.integers(1, 4)))
        made[f"{kind}_fixed"] = _numbers(kind, shape[0] * shape[1], random).reshape(shape)
    made["float64"][:: int(random.integers(5, 15))] = np.nan
    made["float32"][:: int(random.integers(5, 15))] = np.inf
    made["bool"] = random.random(entries) < 0.5
    made["matrix"] = _numbers("int16", entries * 6, random).reshape(entries, 2, 3)
    made["text"] = ["é" * int(n) + 'a,b"c\n' * int(n % 2) for n in random.integers(0, 5, entries)]
    made["long_text"] = ["x" * int(n) for n in random.integers(250, 260, entries)]
    if is_ntuple:
        nested = _lists(
            _lists(_numbers("float32", 4 * entries, random), random, 3 * entries), random, entries
        )
        made["nested"] = nested
        made["texts"] = _lists([f"w{n}" for n in range(2 * entries)], random, entries)
        made["record"] = ak.zip({"a": made["int32"], "b": made["float64"]})
        made["records"] = ak.zip({"p": made["float32_list"], "q": made["float32_list"] * 2})
        made["bool_list"] = _lists(random.random(entries) < 0.5, random, entries)
        masked = ak.mask(ak.Array(made["int16"]), random.random(entries) < 0.7)
        made["maybe"] = masked
    return _shuffled(made, random)


#: Names of columns that could be taken for something else.
ODD_NAMES = (
    *("a", "a.b", "a.b.c", "A", "n", "x", "nx", "x_", "if", "where", "sin", "pt.x", "event", "m.x"),
    *(
        "Entry$",
        "with space",
        "é",
        "x-y",
        "x+1",
        "1st",
        "get",
        "True",
        "in.dex",
        "value",
        "columns",
    ),
)


def oddly_named(seed: int, entries: int, is_ntuple: bool) -> dict[str, Any]:
    """Columns whose names collide, or read like formulas."""
    random = np.random.default_rng(seed + 2)
    allowed = [name for name in ODD_NAMES if not (is_ntuple and ("." in name or " " in name))]
    names = random.choice(allowed, 12, replace=False).tolist()
    made: dict[str, Any] = {}
    for number, name in enumerate(names):
        if number % 3 == 2:
            content = _numbers("float32", 2 * entries, random)
            made[name] = _lists(content, random, entries)
        else:
            made[name] = _numbers(("int32", "float64")[number % 3], entries, random)
    # A list's counts would have to be its own.
    return {name: made[name] for name in made if name[0] != "n" or name[1:] not in made}


#: Folders of a file in which a table is.
FOLDERS = ("", "one/", "one/two/", "a b/", "x.root/")


def _compression(seed: int) -> Any:
    kinds = (farroot.ZSTD(1), farroot.ZLIB(1), farroot.LZ4(4), farroot.LZMA(1), None)
    return kinds[seed % len(kinds)]


def _write(path: Path, name: str, columns: dict[str, Any], seed: int, is_ntuple: bool) -> None:
    cluster = seed % 25 + 7
    with farroot.recreate(path, cluster=cluster, compression=_compression(seed)) as file:
        if is_ntuple:
            file.mkrntuple(name, columns)
        else:
            file.mktree(name, columns, jagged=("counter", "vector")[seed % 2])


def _write_by_uproot(path: Path, name: str, columns: dict[str, Any], seed: int) -> None:
    """A tree of several baskets."""
    from .conftest import _type

    step = seed % 25 + 7
    with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
        types = {name: _type(column) for name, column in columns.items()}
        tree = file.mktree(name, types)
        entries = len(next(iter(columns.values())))
        for begin in range(0, entries, step):
            tree.extend({key: column[begin : begin + step] for key, column in columns.items()})


def _arrays(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: ak.Array(column) for name, column in columns.items()}


def made(folder: Path, seed: int, is_ntuple: bool) -> Iterator[Table]:
    """The tables of a seed that are written, each in a file of its own."""
    random = np.random.default_rng(seed + 3)
    kind = "ntuple" if is_ntuple else "tree"
    entries = int(random.integers(1, 80)) if seed % 7 == 0 else 60
    for what in ("common", "types", "names"):
        within = kind
        if what == "common":
            columns = common(seed, entries)
        elif what == "types":
            columns = of_all_types(seed, entries, is_ntuple)
        else:
            columns = oddly_named(seed, entries, is_ntuple)
            within = str(random.choice(FOLDERS)) + kind
        path = folder / f"{what}-{kind}-{seed}.root"
        if not path.exists():
            if what == "types" and not is_ntuple and seed % 3 == 0:
                _write_by_uproot(path, within, columns, seed)
            else:
                _write(path, within, columns, seed, is_ntuple)
        yield Table((path,), within, _arrays(columns), entries)
    yield _chain(folder, seed, is_ntuple)
    yield _with_friend(folder, seed, is_ntuple)


def _chain(folder: Path, seed: int, is_ntuple: bool) -> Table:
    """Files of other sizes, whose columns are in other orders, and beside others."""
    kind = "ntuple" if is_ntuple else "tree"
    random = np.random.default_rng(seed + 4)
    sizes = [int(n) for n in random.permutation([25, int(random.integers(0, 3)), 34])]
    parts = [common(seed * 10 + number, size) for number, size in enumerate(sizes)]
    paths = tuple(folder / f"chain-{kind}-{seed}-{n}.root" for n in range(len(parts)))
    for number, (path, part) in enumerate(zip(paths, parts, strict=True)):
        more = {"only_here": np.arange(sizes[number])} if number else {}
        if not path.exists():
            _write(path, kind, {**more, **part}, seed + 2 * number, is_ntuple)
    columns = {
        name: ak.concatenate([ak.Array(part[name]) for part in parts if len(part[name])])
        for name in parts[0]
    }
    return Table(paths, kind, columns, sum(sizes))


def _with_friend(folder: Path, seed: int, is_ntuple: bool) -> Table:
    """A table and a friend with columns of the same names, of the other kind now and then."""
    kind = "ntuple" if is_ntuple else "tree"
    main, other = common(seed * 10 + 5, 60), common(seed * 10 + 6, 60)
    other["weight"] = np.linspace(0, 1, 60)
    path, beside = folder / f"main-{kind}-{seed}.root", folder / f"friend-{kind}-{seed}.root"
    is_ntuple_beside = bool(seed % 2) != is_ntuple
    if not path.exists():
        _write(path, kind, main, seed, is_ntuple)
        _write(beside, "beside", other, seed + 1, is_ntuple_beside)
    columns = _arrays(main)
    names = {f"near.{name}": ak.Array(array) for name, array in other.items()}
    names["weight"] = ak.Array(other["weight"])
    friends = (("near", f"{beside}:beside"),)
    return Table((path,), kind, columns | names, 60, frozenset(names), friends)


#: Tables of files that are kept, and the files beside them that they need.
KEPT = (
    (TESTDATA / "clustered.root", "events", ()),
    (TESTDATA / "split.root", "events", ()),
    (TESTDATA / "members.root", "events", ()),
    (TESTDATA / "by_groot.root", "flat", ()),
    (TESTDATA / "by_geant4.root", "hits", ()),
    (TESTDATA / "saved.root", "events", ()),
    (TESTDATA / "chain_weights.root", "weights", ()),
    (TESTDATA / "generated_offsets.root", "events", ()),
    (TESTDATA / "ntuple_fields.root", "events", ()),
    (TESTDATA / "ntuple_columns.root", "events", ()),
    (TESTDATA / "friends_other.root", "indexed", ()),
    (SIM / "small_directories.root", "outer_1/inner_2/tree", ()),
    (SIM / "small_groups.root", "Events", ()),
)


def kept(folder: Path, seed: int) -> Iterator[Table]:
    """A table of a kept file, of which the server's folder gets a copy."""
    source, within, beside = KEPT[seed % len(KEPT)]
    path = folder / source.name
    for each in (source, *beside):
        if not (folder / each.name).exists():
            shutil.copy(each, folder)
    columns, aliases = _as_uproot_reads(source, within)
    entries = len(next(iter(columns.values())))
    yield Table((path,), within, columns | aliases, entries, frozenset(aliases))


#: Columns that uproot reads otherwise than ROOT: their bytes in the wrong order.
MISREAD = ("event/inner",)


@functools.cache
def _as_uproot_reads(path: Path, within: str) -> tuple[dict[str, Any], dict[str, Any]]:
    columns: dict[str, Any] = {}
    with uproot.open(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = file[within]
        for name in list(table.keys()):
            is_in_field = not isinstance(table, uproot.TTree) and "." in name
            if any(letter in name for letter in "[]*?") or is_in_field or name in MISREAD:
                continue  # A pattern, to the shell; a field comes in the one that it is in.
            with_farroot = farroot.open(f"{path}:{within}")
            try:
                with_farroot[name].array(entry_stop=1)
                array = table[name].array()
            except Exception:
                continue  # uproot fails in many ways.
            if "union" not in str(array.type) and len(array):
                columns[name] = array
    aliases = {}
    if "number" in columns and getattr(table, "aliases", None):
        aliases["twice"] = ak.Array(ak.to_numpy(columns["number"]) * 2.0)
    return columns, aliases


def tables(folder: Path, seed: int) -> Iterator[Table]:
    """All tables of a seed."""
    for is_ntuple in (False, True):
        yield from made(folder, seed, is_ntuple)
    yield from kept(folder, seed)
