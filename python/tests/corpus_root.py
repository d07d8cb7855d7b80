"""Branches of the corpus that uproot does not read, or reads otherwise, compared with ROOT."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import farroot

OUTCOMES = {
    "equal": "ROOT reads the same values",
    "only ROOT": "ROOT reads it; farroot refuses it with a clear error",
    "only farroot": "farroot reads it; ROOT refuses it, or crashes",
    "neither": "both refuse it",
    "different": "farroot reads another value than ROOT: a fault",
}
HEADING = "\n## Branches that uproot does not read, compared with ROOT\n"
#: The section behind it, which `corpus_others` writes.
OTHERS = "\n## Files of other projects\n"
SCRIPTS = Path(__file__).parent / "root"
#: Members of every TObject, which are not handed out with those of its class.
NOT_DATA = ("fUniqueID", "fBits")
#: Members of classes that no file describes.
BASES = {"TObject": {*NOT_DATA}} | {f"TArray{kind}": {"fN", "fArray"} for kind in "CSILDF"}
#: Names in ROOT's JSON of a container.
OF_CONTAINERS = ("name", "arr", "opt")
REFERENCE_MASK = 0xFF_FFFF
#: As in the script.
ENTRIES_MAX = 20
MUST_CLEANUP = 1 << 3
#: Seconds for the branches of one tree; none needs a tenth.
TIME_MAX = 300


@dataclass
class Outcome:
    """The outcome of the branches of one file that uproot does not read."""

    file: str
    counts: Counter[str] = field(default_factory=Counter)
    #: Faults in words; types that ROOT alone reads; why ROOT refuses branches that farroot reads.
    faults: list[str] = field(default_factory=list)
    lacking: Counter[tuple[str, str]] = field(default_factory=Counter)


def compare(path: Path, trees: dict[str, list[int]]) -> Outcome:
    """Compares branches of a file, given as numbers in their tree by its key."""
    outcome = Outcome(path.name)
    file = farroot.open(path)
    described = file.file.streamers
    for key, numbers in trees.items():
        branches = file[key].values()
        for number, theirs in read_by_root(path, key, numbers).items():
            branch = branches[number]
            kind, why = _compare(branch, _of_the_file(theirs, described))
            outcome.counts[kind] += 1
            if kind == "different":
                outcome.faults.append(f"{path.name}:{key}:{branch.path} ({branch.typename}): {why}")
            elif kind == "only ROOT":
                outcome.lacking[branch.typename, why] += 1
    return outcome


def read_by_root(path: Path, key: str, numbers: list[int]) -> dict[int, list[Any] | str]:
    """Entries of each branch, or why there are none."""
    found = told_by("values.py", path, key, numbers)
    return {
        number: told if isinstance(told, str) else [json.loads(entry) for entry in told]
        for number, told in found.items()
    }


def told_by(script: str, path: Path, key: str, numbers: list[int]) -> dict[int, list[Any] | str]:
    """The entries of branches that a script in `root/` prints, or why there are none."""
    script_path = str(SCRIPTS / script)
    command = [sys.executable, "-W", "ignore", script_path, str(path), key, *map(str, numbers)]
    environment = {**os.environ, "PYTHONPATH": ""}
    ended = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=TIME_MAX, check=True
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    return {line["branch"]: line.get("entries", line.get("refused", "")) for line in lines}


def _of_the_file(value: Any, described: dict[str, dict[int, Any]]) -> Any:
    """A value without the members that ROOT's classes have by now and the file's have not."""
    if isinstance(value, list):
        return [_of_the_file(each, described) for each in value]
    if not isinstance(value, dict):
        return value
    members = _members(value.get("_typename", ""), described)
    return {
        name: _of_the_file(each, described)
        for name, each in value.items()
        if members is None or name in members or name in OF_CONTAINERS or not name[0].isalpha()
    }


def _members(typename: str, described: dict[str, dict[int, Any]]) -> set[str] | None:
    """Members of a class in all versions in the file, with those of its bases; None if unknown."""
    if typename in BASES:
        return BASES[typename]
    if typename not in described:
        return None
    elements = [each for info in described[typename].values() for each in info.elements]
    found = {each.name for each in elements}
    for base in (each.name for each in elements if each.typename == "BASE"):
        inherited = _members(base, described)
        if inherited is None:
            return None
        found |= inherited
    return found


def _compare(branch: farroot.Branch, theirs: list[Any] | str) -> tuple[str, str]:
    try:
        ours = branch.array(entry_stop=len(theirs) if isinstance(theirs, list) else None).to_list()
    except farroot.Error as error:
        why = str(error).split("unsupported: ", 1)[-1].split(";")[0].split(" (at byte")[0]
        return ("neither" if isinstance(theirs, str) else "only ROOT"), why
    if isinstance(theirs, str):
        return "only farroot", theirs
    if any(isinstance(each, dict) and each.get("_typename") == "TRefArray" for each in theirs):
        return "only farroot", "the objects that it refers to, where they are in memory"
    are_bits = branch.name.endswith("fBits")
    for entry, (our, their) in enumerate(zip(ours, theirs, strict=True)):
        if are_bits:
            our, their = _without_cleanup(our), _without_cleanup(their)
        elif isinstance(our, int) and isinstance(their, list) and branch.branches:
            their = len(their)  # The number of objects, of which each member has a branch.
        where = _difference(our, their, "")
        if where is not None:
            return "different", f"entry {entry}{where}"
    return "equal", ""


def _difference(ours: Any, theirs: Any, where: str) -> str | None:
    """Where two values differ; None where they do not."""
    if isinstance(theirs, dict) and theirs.get("_typename") == "TRef":
        # Its upper bits number the process in which ROOT runs.
        ours, theirs = ours["ref"] & REFERENCE_MASK, theirs["fUniqueID"] & REFERENCE_MASK
    if isinstance(theirs, dict) and theirs.get("_typename") == "TDatime" and "_blob" in theirs:
        theirs = {"fDatime": theirs["_blob"][0]}
    if isinstance(ours, complex):
        ours = {"_real": ours.real, "_imag": ours.imag}
    if isinstance(ours, str) and isinstance(theirs, dict):
        theirs = theirs.get("fString")  # A `TObjString`.
    if isinstance(ours, list) and isinstance(theirs, dict) and "This" in theirs:
        theirs = theirs["This"]  # A collection that is a base.
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _fields_differ(ours, theirs, where)
    if isinstance(ours, list) and isinstance(theirs, dict) and "arr" in theirs:
        # A container of ROOT's by its items.
        theirs = theirs["arr"]
    if isinstance(ours, tuple) and isinstance(theirs, dict):
        theirs = [value for name, value in theirs.items() if name != "_typename"]
    if isinstance(ours, (list, tuple)) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            ours = _flat(ours)  # ROOT has arrays of arrays without their inner brackets.
        if len(ours) != len(theirs):
            return f"{where}: {len(ours)} instead of {len(theirs)} items"
        pairs = enumerate(zip(ours, theirs, strict=True))
        differences = (_difference(a, b, f"{where}[{n}]") for n, (a, b) in pairs)
        return next((found for found in differences if found is not None), None)
    if isinstance(theirs, list) and len(theirs) == 1 and not isinstance(ours, (list, tuple)):
        # An array of one in a collection is no list, as in uproot.
        return _difference(ours, theirs[0], where)
    if isinstance(ours, float):
        same = _same_number(ours, theirs)
    elif isinstance(theirs, str) and theirs and not theirs.strip("\0"):
        same = True  # Texts in maps are zeros to a ROOT without the map's dictionary.
    else:
        same = ours == theirs or (isinstance(ours, str) and _same_bytes(ours, theirs))
    return None if same else f"{where}: {ours!r} instead of {theirs!r}"


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _flat(item)]
    return [value]


def _same_bytes(ours: str, theirs: Any) -> bool:
    """ROOT prints bytes that are no text as letters, one each."""
    try:
        return isinstance(theirs, str) and theirs.encode("latin-1") == ours.encode(
            errors="surrogateescape"
        )
    except UnicodeEncodeError:
        return False


def _without_cleanup(bits: Any) -> Any:
    """Bits of objects without the one that ROOT sets in those that are referred to."""
    return [each & ~MUST_CLEANUP for each in bits] if isinstance(bits, list) else bits


def _fields_differ(ours: dict[str, Any], theirs: dict[str, Any], where: str) -> str | None:
    """Fields differ where one is not in ROOT's object, or has another value there."""
    for name, value in ours.items():
        # The base class of an array is a member here, as that of a collection is.
        other = "fArray" if _is_array(name) else f"@{name}"
        if "::" in name and name.rpartition("::")[2] in theirs:
            continue  # A base's member of a name that the class has, too: JSON has the last one.
        if name not in theirs and other not in theirs:
            return f"{where}: ROOT has no {name}"
        different = _difference(value, theirs.get(name, theirs.get(other)), f"{where}.{name}")
        if different is not None:
            return different
    there = {name for name, value in theirs.items() if name[0] not in "@_" and not _is_empty(value)}
    lacking = there - {*ours, *NOT_DATA} - ({"fArray"} if any(map(_is_array, ours)) else set())
    return f"{where}: lacks {sorted(lacking)}" if lacking else None


def _is_array(name: str) -> bool:
    return name.startswith("TArray")


def _is_empty(value: Any) -> bool:
    """Whether a member is a pointer to nothing, or to a list of nothing."""
    return value is None or (isinstance(value, dict) and value.get("arr") == [])


def _same_number(ours: float, theirs: Any) -> bool:
    """Numbers of 32 bits are printed with nine digits, which is all that they have."""
    their = float(theirs)
    return math.isclose(ours, their, rel_tol=1e-8) or (math.isnan(ours) and math.isnan(their))


def row(outcome: Outcome) -> str:
    """The counts of one file."""
    return (
        f"| {outcome.file} | " + " | ".join(str(outcome.counts[k] or "") for k in OUTCOMES) + " |"
    )


def table(outcomes: list[Outcome]) -> str:
    """The counts as a part of the page of the documentation."""
    total: Counter[str] = Counter()
    lacking: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        total.update(outcome.counts)
        lacking.update(outcome.lacking)
    read_by_root = total["equal"] + total["only ROOT"] + total["different"]
    lines = [
        HEADING,
        f"A process of ROOT 6.40 reads up to {ENTRIES_MAX} entries of each branch above that is",
        "neither equal nor a group, without the dictionaries of its classes. This table compares",
        "farroot's values with those in ROOT's memory:",
        "",
        *(f"* **{kind}**: {meaning}" for kind, meaning in OUTCOMES.items()),
        "",
        f"Of the {read_by_root} branches that ROOT reads, farroot reads {total['equal']} with the",
        "same values.",
        "",
        "| file | " + " | ".join(OUTCOMES) + " |",
        "|---|" + "---:|" * len(OUTCOMES),
        *map(row, outcomes),
        "| **all** | " + " | ".join(f"**{total[kind]}**" for kind in OUTCOMES) + " |",
        "",
    ]
    if lacking:
        lines += [
            "Branches that ROOT reads and farroot refuses:",
            "",
            "| branches | type | reason |",
        ]
        lines += ["|---:|---|---|"]
        most = sorted(lacking.items(), key=lambda item: (-item[1], item[0]))
        lines += [f"| {count} | `{name}` | {reason} |" for (name, reason), count in most]
        lines.append("")
    return "\n".join(lines)
