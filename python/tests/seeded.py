"""Trees of classes that are made up from seeds, compared with the filled values and with uproot.

``python -m tests.seeded FIRST SEEDS`` does so for any seeds, and prints the differences.
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import uproot

import farroot

from .corpus import memory_limited
from .root.seeded import source
from .same import same_awkward, shared
from .seeds import main, written

#: Stands for the object of a name that leads to none.
NOTHING = object()
#: Members that no generated class prints: ROOT sets some of these bits as it likes.
OF_TOBJECT = ("fUniqueID", "fBits")


def compare(path: Path) -> Iterator[str]:
    """Yields the columns of one file that are not as they were filled, or not as uproot reads
    them."""
    told = path.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in told]
    with memory_limited(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = farroot.open(f"{path}:tree"), uproot.open(f"{path}:tree")
        their_branches = list(_deep(theirs))
        our_branches = ours.values()
        if [b.name for b in their_branches] != [b.name for b in our_branches]:
            yield f"{path.name}: the branches differ"
        for our, their in zip(our_branches, their_branches, strict=True):
            where = f"{path.name}:{our.path} ({our.typename})"
            if not our.is_group:
                yield from (f"{where}: {what}" for what in _compare_branch(our, their, entries))


def _deep(branches: Any) -> Iterator[Any]:
    for branch in branches.branches:
        yield branch
        yield from _deep(branch)


def _compare_branch(our: farroot.Branch, their: Any, entries: list[Any]) -> Iterator[str]:
    try:
        array = our.array()
    except farroot.Error as error:
        if "class Colour" in str(error):
            return  # Nothing in the file says that it is an enumeration.
        yield f"refused: {error}" + ("; uproot reads it" if _can_be_read(their) else "")
        return
    names = _names(our.path)
    try:
        different = _not_as_filled(array.to_list(), names, entries)
    except MemoryError:
        # Of a split list of objects without members, ROOT now and then writes any number.
        yield "more items than there is memory for"
        return
    if different is not None:
        yield different
    try:
        expected = their.array()
        right = _not_as_filled(expected.to_list(), names, entries) is None
    except Exception:
        return
    if not right or not any(_depth(entry) == 0 or len(entry) for entry in expected.to_list()):
        return  # Then the type does not count.
    spelled = _of_one_dimension(our.typename)
    if spelled not in map(_of_one_dimension, (their.typename, their.typename.replace("[][", "["))):
        yield f"uproot spells it {their.typename}"
    if "complex" in str(array.type):
        return  # Records of two numbers in uproot.
    array = shared(array, expected)
    if str(array.type) != str(expected.type):
        if _of_one_row(array) != _of_one_row(expected):
            yield f"{array.type} where uproot has {expected.type}"
    elif not same_awkward(array, expected):
        yield "other values than uproot's"


def _not_as_filled(got: list[Any], names: list[str], entries: list[Any]) -> str | None:
    """The first difference between a column and the filled values."""
    if len(got) != len(entries):
        return f"{len(got)} entries instead of {len(entries)}"
    if names[-1] == "_M_elems":
        return None  # ROOT does not find the items of arrays that it splits.
    for number, (value, entry) in enumerate(zip(got, entries, strict=True)):
        wanted = _find(entry, names)
        if names[-1] in OF_TOBJECT:
            # As many as there are objects.
            wanted, value = _find(entry, names[:-1]), np.size(value)
            wanted = len(wanted) if isinstance(wanted, list) else 1
        if wanted is NOTHING:
            # A base class, whose members are told with the others.
            wanted = _find(entry, names[:-1])
        if wanted is NOTHING:
            return f"nothing was filled at {names}"
        if isinstance(value, int) and isinstance(wanted, list):
            wanted = len(wanted)  # How many objects a TClonesArray has.
        value = _plain(value)
        if isinstance(value, list) and len(value) == 1 and _depth(value) > _depth(wanted):
            (value,) = value  # As many arrays of objects as fill an entry.
        different = _difference(value, wanted, "", whole=_find(entry, names) is not NOTHING)
        if different is not None:
            return f"entry {number}: {different}"
    return None


def _of_one_row(array: Any) -> str:
    """The type as uproot has it: fixed dimensions in objects become one, a split array of objects
    is a list of one, and an item that is a ``std::array`` is a record."""
    entry = str(array.type).split(" * ", 1)[1]
    entry = re.sub(r"^var \* (?=(\d+ \* )+\w+\[)", "", entry)
    record = (
        r'struct\[\{_M_elems: ((?:[^{}\[\]]|\[[^\]]*\])*)\}, parameters=\{"__record__": "[^"]*"\}\]'
    )
    entry = re.sub(record, r"\1", entry)

    def product(run: re.Match[str]) -> str:
        return f"{math.prod(int(length) for length in run[0].split(' * ')[:-1])} * "

    return re.sub(r"(?:\d+ \* )+", product, entry)


def _of_one_dimension(typename: str) -> str:
    """The type with the fixed dimensions of an array as one, as uproot has those in objects."""

    def product(run: re.Match[str]) -> str:
        return f"[{math.prod(int(length) for length in run[0][1:-1].split(']['))}]"

    return re.sub(r"(?:\[\d+\])+", product, typename)


def _can_be_read(their: Any) -> bool:
    try:
        their.array()
    except Exception:
        return False
    return True


def _names(path: str) -> list[str]:
    """Names of members on the way from the entry to a branch."""
    parts = path.split("/")
    last = parts[-1]
    above = parts[0]
    own = last if last.startswith(above.rstrip(".")) else f"{above.rstrip('.')}.{last}"
    return [part.split("[")[0] for part in own.rstrip(".").split(".")]


def _plain(value: Any) -> Any:
    """Without the record that a std::array is where it is not a member, and without complex
    numbers."""
    if isinstance(value, dict):
        return (
            _plain(value["_M_elems"])
            if list(value) == ["_M_elems"]
            else {name: _plain(each) for name, each in value.items()}
        )
    if isinstance(value, complex):
        return {"_real": value.real, "_imag": value.imag}
    return type(value)(map(_plain, value)) if isinstance(value, list | tuple) else value


def _find(value: Any, names: list[str]) -> Any:
    if not names:
        return value
    if value is None:
        return None
    if isinstance(value, list):
        # The keys and values of a map are its first and second.
        found = [_find(_as_pair(item, names[0]), names) for item in value]
        return NOTHING if NOTHING in found else found
    first, *rest = names
    if isinstance(value, str):
        return value  # The only member of a TObjString.
    if not isinstance(value, dict):
        return NOTHING
    for name in (first, f"*{first}", f"{first}."):
        if name in value:
            return _find(value[name], rest)
    # The name of a base class, whose members are told with the others.
    return _find(value, rest) if rest else NOTHING


def _as_pair(item: Any, name: str) -> Any:
    is_pair = isinstance(item, list) and len(item) == 2 and name in ("first", "second")
    return {"first": item[0], "second": item[1]} if is_pair else item


def _difference(got: Any, wanted: Any, where: str, whole: bool = True) -> str | None:
    """The first difference; arrays of several dimensions may have become one."""
    if isinstance(wanted, list) and len(wanted) == 1 and not isinstance(got, list | tuple | str):
        wanted = wanted[0]  # An array of one.
    if isinstance(wanted, dict) and len(wanted) == 1 and not isinstance(got, dict):
        wanted = next(iter(wanted.values()))  # The only leaf of a branch.
    if isinstance(got, dict) and isinstance(wanted, dict):
        return _fields_differ(got, wanted, where, whole)
    if isinstance(got, list | tuple) and isinstance(wanted, list):
        while _depth(got) < _depth(wanted) and len(got) != len(wanted):
            wanted = [each for item in wanted for each in item]
        if _depth(got) < _depth(wanted) == 2 and len(got) == len(wanted) == 1:
            wanted = wanted[0]
        if len(got) != len(wanted):
            return f"{where}: {len(got)} instead of {len(wanted)} items"
        pairs = enumerate(zip(got, wanted, strict=True))
        different = (_difference(a, b, f"{where}[{n}]", whole) for n, (a, b) in pairs)
        return next((each for each in different if each is not None), None)
    if isinstance(got, float) and isinstance(wanted, float | int):
        same = got == wanted or (math.isnan(got) and math.isnan(wanted))
        same = same and math.copysign(1, got) == math.copysign(1, wanted or got)
        return None if same else f"{where}: {got!r} instead of {wanted!r}"
    if isinstance(wanted, bool) != isinstance(got, bool) and isinstance(got, int):
        got = bool(got)
    return None if got == wanted else f"{where}: {got!r} instead of {wanted!r}"


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list | tuple) else 0


def _fields_differ(
    got: dict[str, Any], wanted: dict[str, Any], where: str, whole: bool
) -> str | None:
    for name, value in got.items():
        if name in OF_TOBJECT:
            continue
        if name not in wanted and f"*{name}" not in wanted:
            return f"{where}: a member {name} that was not filled"
        other = wanted.get(name, wanted.get(f"*{name}"))
        different = _difference(value, other, f"{where}.{name}")
        if different is not None:
            return different
    lacking = [name for name in wanted if name not in got and not name.startswith("*")]
    return f"{where}: lacks {lacking}" if lacking and whole else None


def write(folder: Path, first: int, seeds: int) -> list[Path]:
    """The files of some seeds."""
    return written("write_seeded", source, folder, first, seeds)


if __name__ == "__main__":
    sys.exit(main(write, compare))
