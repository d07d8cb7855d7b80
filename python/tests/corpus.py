"""Every branch of every tree of the corpus, and every field of every RNTuple, compared with uproot.

``python -m tests.corpus`` writes the tables of counts into ``docs/corpus.md``: this one and, with
ROOT, that of `corpus_root`.
"""

from __future__ import annotations

import resource
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import uproot

import farroot

from . import corpus_root
from .same import same_awkward, shared
from .skips import REPOSITORY, corpus_folder, has_root

TABLE = REPOSITORY / "docs" / "corpus.md"

OUTCOMES = {
    "equal": "farroot's result equals uproot's in type and value",
    "more": "equal in all members that uproot reads, which leaves out pointers in objects",
    "unsupported": "uproot reads it; farroot refuses it with a clear error",
    "only farroot": "farroot reads it; uproot cannot",
    "misread": "farroot reads it; uproot takes the process numbers of referenced objects for bits",
    "neither": "both refuse it",
    "group": "the branch only groups other branches",
    "different": "farroot reads another value than uproot: a fault",
    "failed": "farroot neither reads nor clearly refuses it: a fault",
}
FAULTS = ("different", "failed")
#: Bytes of address space while files are compared; none needs a tenth.
MEMORY_MAX = 8 << 30


@dataclass
class Outcome:
    """The outcome of one file."""

    file: str
    trees: int = 0
    ntuples: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    #: Faults in words; types that were refused, and why.
    faults: list[str] = field(default_factory=list)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: Branches that uproot does not read, or reads otherwise: numbers in a tree by its key.
    unread: dict[str, list[int]] = field(default_factory=dict)
    #: Of these the ones that are faults, unless it is uproot that is wrong.
    different: dict[str, list[int]] = field(default_factory=dict)


@contextmanager
def memory_limited() -> Iterator[None]:
    """Ends reads that take all memory: uproot's do, for some objects that it takes for others."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def compare(path: Path) -> Outcome:
    """Compares all branches of all trees of a file, and all fields at the top of all RNTuples."""
    outcome = Outcome(path.name)
    with memory_limited(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = uproot.open(path)
        ours = farroot.open(path)
        assert isinstance(ours, farroot.File)
        for key, classname in file.classnames().items():
            if classname in ("TTree", "TNtuple", "TNtupleD"):
                outcome.trees += 1
                _compare_tree(file[key], ours[key], f"{path.name}:{key}", key, outcome)
            elif classname == "ROOT::RNTuple":
                outcome.ntuples += 1
                _compare_ntuple(file[key], ours[key], f"{path.name}:{key}", outcome)
    return outcome


def _compare_ntuple(theirs: Any, ours: Any, where: str, outcome: Outcome) -> None:
    if theirs.keys() != ours.keys():
        outcome.counts["failed"] += 1
        outcome.faults.append(f"{where}: the fields differ")
        return
    for our in ours.fields:
        _count(theirs[our.name], our, where, outcome)


def _compare_tree(theirs: Any, ours: Any, where: str, key: str, outcome: Outcome) -> None:
    their_branches = list(_deep(theirs))
    our_branches = ours.values()
    if [b.name for b in their_branches] != [b.name for b in our_branches]:
        outcome.counts["failed"] += 1
        outcome.faults.append(f"{where}: the branches differ")
        return
    for number, (their, our) in enumerate(zip(their_branches, our_branches, strict=True)):
        kind = _count(their, our, where, outcome)
        if kind not in ("equal", "more", "group"):
            outcome.unread.setdefault(key, []).append(number)
        if kind == "different":
            outcome.different.setdefault(key, []).append(number)


def _count(theirs: Any, ours: Any, where: str, outcome: Outcome) -> str:
    kind, why = compare_columns(theirs, ours)
    outcome.counts[kind] += 1
    if kind in FAULTS:
        outcome.faults.append(f"{where}:{ours.path} ({theirs.typename}): {why}")
    elif kind == "unsupported":
        outcome.refused[theirs.typename, _reason(why)] += 1
    return kind


def _deep(branches: Any) -> Iterator[Any]:
    for branch in branches.branches:
        yield branch
        yield from _deep(branch)


def compare_columns(theirs: Any, ours: farroot.Branch | farroot.Field) -> tuple[str, str]:
    if isinstance(ours, farroot.Branch) and ours.is_group:
        return "group", ""
    try:
        array = ours.array()
    except farroot.Error as error:
        if not _can_be_read(theirs):
            return "neither", ""
        told = isinstance(error, farroot.UnsupportedError) and ours.name in str(error)
        return "unsupported" if told else "failed", f"{type(error).__name__}: {error}"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    try:
        expected = theirs.array()
    except Exception:
        return "only farroot", ""
    if theirs.name.endswith(".fBits") and expected.ndim > 1 and _misread(theirs, array, expected):
        return "misread", ""
    if ours.typename != theirs.typename:
        return "different", f"the type is spelled {ours.typename}"
    if not same_awkward(array, expected):
        if same_awkward(shared(array, expected), expected):
            return "more", ""
        return "different", f"{array.type} instead of {expected.type}"
    return "equal", ""


def _misread(theirs: Any, array: Any, expected: Any) -> bool:
    """Whether uproot's bits of objects are more than there are objects, and ours are not."""
    counts = theirs.parent[theirs.name.replace(".fBits", ".fUniqueID")].array()
    right = bool(ak.all(ak.num(array) == ak.num(counts)))
    return right and not bool(ak.all(ak.num(expected) == ak.num(counts)))


def _can_be_read(theirs: Any) -> bool:
    try:
        # The first entries tell; objects take uproot long.
        theirs.array(entry_stop=2)
    except Exception:
        return False
    return True


def _reason(error: str) -> str:
    """Why a branch was refused, without where it is."""
    return error.split("unsupported: ", 1)[-1].split(";")[0].split(" (at byte")[0]


def compare_all(folder: Path) -> list[Outcome]:
    """Compares every file of the corpus that holds a tree or an RNTuple."""
    outcomes = [compare(path) for path in sorted(folder.glob("*.root"))]
    return [outcome for outcome in outcomes if outcome.trees + outcome.ntuples]


def table(outcomes: list[Outcome]) -> str:
    """The counts as a page of the documentation."""
    kinds = [kind for kind in OUTCOMES if any(outcome.counts[kind] for outcome in outcomes)]
    total: Counter[str] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        total.update(outcome.counts)
        refused.update(outcome.refused)
    lines = [
        "# Branches of the corpus",
        "",
        "`python -m tests.corpus` in `python/` generates this page; a test keeps it up to date.",
        "It compares every branch of every TTree of the shared corpus, and every top-level field",
        f"of every RNTuple, with uproot {'.'.join(uproot.__version__.split('.')[:2])}:",
        "",
        *(f"* **{kind}**: {OUTCOMES[kind]}" for kind in kinds),
        "",
        "| file | trees | RNTuples | " + " | ".join(kinds) + " |",
        "|---|" + "---:|" * (len(kinds) + 2),
    ]
    for outcome in outcomes:
        counts = " | ".join(str(outcome.counts[kind] or "") for kind in kinds)
        tables = f"{outcome.trees or ''} | {outcome.ntuples or ''}"
        lines.append(f"| {outcome.file} | {tables} | {counts} |")
    trees, ntuples = sum(o.trees for o in outcomes), sum(o.ntuples for o in outcomes)
    sums = " | ".join(f"**{total[kind]}**" for kind in kinds)
    lines += [f"| **all** | **{trees}** | **{ntuples}** | {sums} |", ""]
    if refused:
        lines += [
            "Columns that uproot reads and farroot refuses:",
            "",
            "| columns | type | reason |",
            "|---:|---|---|",
        ]
        most = sorted(refused.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"| {count} | `{name}` | {reason} |" for (name, reason), count in most]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    folder = corpus_folder()
    if folder is None:
        print("the corpus is not here: set FARROOT_CORPUS", file=sys.stderr)
        return 1
    outcomes = compare_all(folder)
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    text = table(outcomes)
    if has_root():
        by_root = [
            corpus_root.compare(folder / outcome.file, outcome.unread)
            for outcome in outcomes
            if outcome.unread
        ]
        faults += [fault for outcome in by_root for fault in outcome.faults]
        text += corpus_root.table(by_root)
        text += "".join(TABLE.read_text().partition(corpus_root.OTHERS)[1:])
    else:
        print("ROOT IS NOT INSTALLED: its table is left as it is", file=sys.stderr)
        text += "".join(TABLE.read_text().partition(corpus_root.HEADING)[1:])
    TABLE.write_text(text)
    print(text)
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
