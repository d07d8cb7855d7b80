"""ROOT files of other projects, compared with uproot and, where that reads nothing, with ROOT.

    python -m tests.corpus_others [--document] NAME=FOLDER ...

All files in each folder and below are compared, each by a process of its own: every branch, every
field at the top of an RNTuple, and every other object by its members. Counts and faults are
printed; ``--document`` writes the counts into ``docs/corpus.md``, where rows of other names stay.
The files stay where they are.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import uproot

import farroot

from . import corpus_root
from .corpus import TABLE, compare_columns, memory_limited
from .skips import has_root

OUTCOMES = {
    "equal": "farroot's result equals uproot's in type and value",
    "more": "equal in all members that uproot reads, which leaves out pointers in objects",
    "as ROOT": "uproot cannot read it, or reads other values; ROOT reads the same values",
    "only farroot": "only farroot reads it, or ROOT does and its values are not accessible",
    "unsupported": "uproot or ROOT reads it; farroot refuses it with a clear error",
    "neither": "all refuse it",
    "different": "not ROOT's value (or uproot's, if ROOT cannot read it): a fault",
    "failed": "farroot neither reads nor clearly refuses it: a fault",
}
#: Seconds for one column or object, and for one file.
SLOW, SLOWEST = 60, 1200
#: Objects of one class of a file that are compared; some files have 100,000 histograms.
ALIKE_MAX = 200
TABLES = ("TTree", "TNtuple", "TNtupleD", "TChain", "ROOT::RNTuple")


@dataclass
class File:
    """The outcome of one file."""

    columns: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)
    tables: int = 0
    notes: list[str] = field(default_factory=list)


class SlowError(Exception):
    """One read takes too long."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Ends a read that takes too long."""

    def end(*_: Any) -> None:
        raise SlowError(f"{SLOW} s are over")

    signal.signal(signal.SIGALRM, end)
    signal.alarm(SLOW)
    try:
        yield
    finally:
        signal.alarm(0)


def compare(path: Path) -> File:
    """Compares the objects in one file."""
    found = File()
    with memory_limited(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs: Any = uproot.open(path)
            their_classes = theirs.classnames()
        except Exception as error:
            theirs, their_classes = None, {}
            found.notes.append(f"uproot does not open it: {_told(error)}")
        try:
            ours: Any = farroot.open(path)
            our_classes = ours.classnames()
        except farroot.Error as error:
            kind = "unsupported" if theirs else "neither"
            found.notes.append(f"{kind}: {_told(error)}")
            found.objects[kind] += 1
            return found
        if their_classes and set(our_classes) != set(their_classes):
            both = set(our_classes) ^ set(their_classes)
            found.notes.append(f"different: the keys: {sorted(both)[:5]}")
            found.objects["different"] += 1
        unread: dict[str, list[int]] = {}
        alike: Counter[str] = Counter()
        for key, classname in our_classes.items():
            alike[classname] += 1
            if classname.startswith("TDirectory") or alike[classname] > ALIKE_MAX:
                continue
            if classname in TABLES:
                found.tables += 1
                _compare_table(ours, theirs, key, found, unread)
            else:
                kind, why = _compare_object(ours, theirs, key)
                found.objects[kind] += 1
                if kind not in ("equal", "neither"):
                    found.notes.append(f"{kind}: {key} ({classname}): {why}")
    if unread and has_root():
        _compare_with_root(path, unread, found)
    return found


def _compare_table(
    ours: Any, theirs: Any, key: str, found: File, unread: dict[str, list[int]]
) -> None:
    """Compares one tree or RNTuple; notes the branches for which ROOT is asked."""
    their_columns = None
    try:
        with _limited():
            their_columns = None if theirs is None else _columns_of(theirs[key])
    except Exception as error:
        found.notes.append(f"uproot: {key}: {_told(error)}")
    try:
        with _limited():
            columns = _columns_of(ours[key])
    except (farroot.Error, SlowError) as error:
        kind = "neither" if their_columns is None else "unsupported"
        if not isinstance(error, farroot.Error):
            kind = "failed"
        found.columns[kind] += 1
        found.notes.append(f"{kind}: {key}: {_told(error)}")
        return
    if their_columns is not None and [c.name for c in columns] != [c.name for c in their_columns]:
        found.columns["failed"] += 1
        found.notes.append(f"failed: {key}: the names differ")
        their_columns = None
    for number, column in enumerate(columns):
        theirs_of_it = None if their_columns is None else their_columns[number]
        kind, why = _compare_column(theirs_of_it, column)
        if kind == "group":
            continue
        is_for_root = isinstance(column, farroot.Branch) and kind not in ("equal", "more", "failed")
        if is_for_root and has_root():
            if kind == "different" and _is_of_leaf(ours, key, number):
                found.columns["as ROOT"] += 1
                continue
            unread.setdefault(key, []).append(number)
            kinds = {"only farroot": "", "neither": "", "misread": ""}
            if kind in kinds:
                continue
            found.notes.append(f"uproot: {kind}: {key}:{column.path}: {why}")
            continue
        found.columns[kind] += 1
        if kind not in ("equal", "more"):
            found.notes.append(f"{kind}: {key}:{column.path} ({column.typename}): {why}")


def _is_of_leaf(file: Any, key: str, number: int) -> bool:
    """Whether a branch has one leaf, of which ROOT reads the same numbers."""
    told = corpus_root.told_by("leaf_values.py", Path(file.file_path), key, [number])
    if number not in told or not isinstance(told[number], list):
        return False
    array = file[key].values()[number].array(entry_stop=len(told[number]))
    ours = [np.ravel(ak.to_list(entry)).tolist() for entry in array]
    return ours == [list(entry) for entry in told[number]]


def _columns_of(table: Any) -> list[Any]:
    if isinstance(table, farroot.Tree):
        return list(table.values())
    if isinstance(table, farroot.RNTuple):
        return list(table.fields)
    if isinstance(table, uproot.TTree):
        return list(_deep(table))
    return [table[name] for name in table.keys(recursive=False, full_paths=False)]


def _deep(branches: Any) -> Iterator[Any]:
    for branch in branches.branches:
        yield branch
        yield from _deep(branch)


def _compare_column(theirs: Any, ours: Any) -> tuple[str, str]:
    if theirs is not None:
        try:
            with _limited():
                return compare_columns(theirs, ours)
        except SlowError:
            pass
    if isinstance(ours, farroot.Branch) and ours.is_group:
        return "group", ""
    try:
        with _limited():
            ours.array()
    except farroot.Error as error:
        return "neither", _told(error)
    except (Exception, SlowError) as error:
        return "failed", _told(error)
    return "only farroot", ""


def _compare_with_root(path: Path, unread: dict[str, list[int]], found: File) -> None:
    """ROOT tells of branches that uproot does not read, or reads otherwise."""
    renamed = {"only ROOT": "unsupported", "equal": "as ROOT"}
    for key, numbers in unread.items():
        try:
            outcome = corpus_root.compare(path, {key: numbers})
        except (subprocess.SubprocessError, farroot.Error, ValueError) as error:
            found.columns["only farroot"] += len(numbers)
            found.notes.append(f"ROOT ends: {key}: {_told(error)}")
            continue
        for kind, count in outcome.counts.items():
            found.columns[renamed.get(kind, kind)] += count
        found.notes += [f"different: {fault}" for fault in outcome.faults]
        found.notes += [
            f"unsupported: {key}: {count} x {typename}: {why}"
            for (typename, why), count in outcome.lacking.items()
        ]


def _compare_object(ours: Any, theirs: Any, key: str) -> tuple[str, str]:
    """Compares an object that is no table by its members."""
    their, why = None, ""
    try:
        with _limited():
            their = theirs[key] if theirs is not None else None
    except (Exception, SlowError) as error:
        why = _told(error)
    # Of RNTuples before version 1.0, uproot reads only the anchor.
    is_table = "RNTuple" in type(their).__name__
    is_read = their is not None and not type(their).__name__.startswith("Unknown") and not is_table
    try:
        with _limited():
            our = ours[key]
            dict(our) if isinstance(our, farroot.objects.Object) else None
            lacking = getattr(our, "_lacking", None)
    except farroot.Error as error:
        return ("unsupported" if is_read else "neither"), _told(error)
    except (Exception, SlowError) as error:
        return "failed", _told(error)
    if lacking is not None:
        return ("unsupported" if is_read else "neither"), str(lacking)
    if not is_read:
        return "only farroot", why
    different = difference(our, their, "", 0)
    if different is None and hasattr(their, "values") and hasattr(our, "to_numpy"):
        different = _bins_differ(our, their)
    if different is not None and _is_declared(ours, different):
        return "only farroot", f"uproot confuses references: {different}"
    return ("equal", "") if different is None else ("different", different)


def _is_declared(file: Any, different: str) -> bool:
    """Whether a difference is that of a class, and the streamer info of the member names ours:
    uproot has another object for references to one that it is reading."""
    where, told, classes = different.partition(": class ")
    ours, _, theirs = classes.partition(" instead of ")
    name = where.rpartition(".")[2]
    infos = (info for versions in file.streamers.values() for info in versions.values())
    types = {each.typename for info in infos for each in info.elements if each.name == name}
    return bool(told) and f"{ours}*" in types and f"{theirs}*" not in types


def _bins_differ(ours: Any, theirs: Any) -> str | None:
    try:
        expected = theirs.values(flow=True)
    except Exception:
        return None
    found = ours.values(flow=True)
    same = np.array_equal(np.asarray(found), np.asarray(expected), equal_nan=True)
    return None if same else "values(flow=True) differ"


def difference(ours: Any, theirs: Any, where: str, depth: int) -> str | None:
    """The first member that differs."""
    if depth > 12:
        return None
    if isinstance(theirs, uproot.model.Model) and not isinstance(theirs, (str, list, dict)):
        if type(theirs).__name__.startswith("Unknown"):
            return None
        return _members_differ(ours, theirs, where, depth)
    if isinstance(theirs, (np.ndarray, ak.Array)):
        return _arrays_differ(ours, theirs, where)
    if isinstance(theirs, (str, bytes)):
        return None if ours == theirs else f"{where}: {ours!r} instead of {theirs!r}"
    if isinstance(theirs, (bool, int, float, np.generic)):
        same = ours == theirs or (ours != ours and theirs != theirs)
        return None if same else f"{where}: {ours!r} instead of {theirs!r}"
    return None


def _arrays_differ(ours: Any, theirs: Any, where: str) -> str | None:
    mine, other = np.asarray(ours), np.asarray(theirs)
    if mine.size == other.size and mine.dtype.kind in "iufb" and other.dtype.kind in "iufb":
        same = np.array_equal(mine.ravel(), other.ravel(), equal_nan=other.dtype.kind == "f")
        return None if same else f"{where}: other numbers"
    if mine.size != other.size:
        return f"{where}: {mine.size} instead of {other.size} items"
    return None


def _members_differ(ours: Any, theirs: Any, where: str, depth: int) -> str | None:
    try:
        members = theirs.all_members
        sequence = list(theirs) if hasattr(type(theirs), "__len__") and not members else None
    except Exception:
        return None
    if sequence is not None and isinstance(ours, (list, tuple)):
        if len(ours) != len(sequence):
            return f"{where}: {len(ours)} instead of {len(sequence)} items"
        pairs = enumerate(zip(ours, sequence, strict=True))
        items = (difference(a, b, f"{where}[{n}]", depth + 1) for n, (a, b) in pairs)
        return next((each for each in items if each is not None), None)
    if not isinstance(ours, farroot.objects.Object):
        return None
    known = dict(ours)
    for name, value in members.items():
        if name.startswith("@") or name in ("fUniqueID", "fBits"):
            continue
        if name not in known and ours.classname != theirs.classname:
            return f"{where}: class {ours.classname} instead of {theirs.classname}"
        if name not in known:
            return f"{where}: lacks {name}"
        different = difference(known[name], value, f"{where}.{name}", depth + 1)
        if different is not None:
            return different
    return None


def _told(error: BaseException) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:200]}"


def compare_apart(paths: list[Path]) -> Iterator[File]:
    """Compares files in another process, which may end in one of them."""
    while paths:
        command = [sys.executable, "-W", "ignore", "-m", "tests.corpus_others", "--these"]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            out, errors = child.communicate("\n".join(map(str, paths)))
        lines = [line for line in out.splitlines() if line.startswith('{"columns"')]
        for line in lines:
            told = json.loads(line)
            counts = Counter(told["columns"]), Counter(told["objects"])
            yield File(*counts, told["tables"], told["notes"])
        paths = paths[len(lines) :]
        if paths:
            yield File(objects=Counter(failed=1), notes=[f"failed: it ended: {errors[-300:]}"])
            paths = paths[1:]


def compare_these() -> None:
    """Compares the files that stdin names; prints one line each."""
    for line in sys.stdin.read().splitlines():
        faulthandler.dump_traceback_later(SLOWEST, exit=True)
        found = compare(Path(line))
        print(json.dumps(vars(found)), flush=True)


def row(name: str, files: list[File]) -> str:
    """The counts of one folder."""
    columns: Counter[str] = Counter()
    objects: Counter[str] = Counter()
    for each in files:
        columns.update(each.columns)
        objects.update(each.objects)
    tables = sum(each.tables for each in files)
    parts = []
    for kind in OUTCOMES:
        parts.append(f"{columns[kind] or ''}" + (f" + {objects[kind]}" if objects[kind] else ""))
    return f"| {name} | {len(files)} | {tables} | " + " | ".join(parts) + " |"


def table(rows: list[str]) -> str:
    """The section of the page of the documentation."""
    lines = [
        corpus_root.OTHERS,
        "`python -m tests.corpus_others --document NAME=FOLDER ...` in `python/` generates this",
        "table; the files are not in the repository. The first number counts columns of tables,",
        f"the second other objects (at most {ALIKE_MAX} of one class per file), compared by their",
        "members:",
        "",
        *(f"* **{kind}**: {meaning}" for kind, meaning in OUTCOMES.items()),
        "",
        "| repository | files | tables | " + " | ".join(OUTCOMES) + " |",
        "|---|" + "---:|" * (len(OUTCOMES) + 2),
        *rows,
        "",
    ]
    return "\n".join(lines)


def with_others(rows: list[str], section: str) -> list[str]:
    """The rows of a section of the page, with these in place of those of the same names."""
    kept = [line for line in section.splitlines() if line.startswith("| ")][1:]
    by_name = {line.split("|")[1].strip(): line for line in kept + rows}
    return list(by_name.values())


def main() -> int:
    words = sys.argv[1:]
    if words == ["--these"]:
        compare_these()
        return 0
    is_for_document = "--document" in words
    rows, faults = [], 0
    for word in words:
        if word == "--document":
            continue
        name, _, folder = word.partition("=")
        files = []
        paths = sorted(each for each in Path(folder).rglob("*.root") if each.is_file())
        for path, found in zip(paths, compare_apart(paths), strict=True):
            files.append(found)
            counts = dict(found.columns), dict(found.objects)
            print(f"{path.relative_to(folder)}: {counts}", flush=True)
            for note in found.notes:
                print(f"    {note}", flush=True)
            kinds = ("different", "failed")
            faults += sum(found.columns[each] + found.objects[each] for each in kinds)
        rows.append(row(name, files))
        print(rows[-1], flush=True)
    if is_for_document:
        before, _, after = TABLE.read_text().partition(corpus_root.OTHERS)
        rows = with_others(rows, after)
        TABLE.write_text(before.rstrip("\n") + "\n" + table(rows))
    print(table(rows))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
