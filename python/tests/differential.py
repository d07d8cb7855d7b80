"""Every way to read a table gives the same values, or an error of farroot's.

    python -m tests.differential FIRST SEEDS [PART OF A NAME]

A case is a table of seeded columns (or one that is kept), the columns that are wanted of it, a cut
and a range of entries. Its values are known from the arrays that were written, or as uproot reads
them; each entry point reads them, and the answers are compared one by one. Printed are the cells
that differ, and how many there were. A new entry point is a line in `entry_points.ENTRY_POINTS`.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import farroot

from .differential_cases import Case, Values, cases
from .entry_points import ENTRY_POINTS, CommandError, read, served


def differences(case: Case, entry_points: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Each entry point that can express the case, and the difference, if there is any."""
    kinds: dict[str, type] = {}
    for name, entry_point in entry_points.items():
        try:
            found = read(entry_point, case)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            yield name, f"{type(error).__name__}: {error} ({where})"
            continue
        if found is None:
            continue
        if case.expected is None:
            yield name, _not_refused(name, found, kinds)
        elif isinstance(found, farroot.Error):
            yield name, f"{type(found).__name__}: {found}"
        else:
            yield name, _difference(case, found, is_text="--json" in name)


def _not_refused(name: str, found: Values | farroot.Error, kinds: dict[str, type]) -> str | None:
    """The fault of an answer to a question that has none."""
    if not isinstance(found, farroot.Error):
        return f"no error, but {str(found)[:80]}"
    if not isinstance(found, CommandError):
        kinds[name] = type(found)
        first = next(iter(kinds))
        if kinds[first] is not type(found):
            return f"{type(found).__name__}, where {first} gives {kinds[first].__name__}: {found}"
    return None


def _difference(case: Case, found: Values, is_text: bool) -> str | None:
    assert case.expected is not None
    for column, expected in case.expected.items():
        if not same(expected, found[column], is_text):
            return f"{column}: {_first_difference(expected, found[column], is_text)}"
    return None


def _first_difference(expected: list[Any], found: list[Any], is_text: bool) -> str:
    if len(expected) != len(found):
        return f"{len(found)} entries instead of {len(expected)}"
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        if not same(one, other, is_text):
            return f"entry {number}: {str(other)[:80]} instead of {str(one)[:80]}"
    return "?"


def same(expected: Any, found: Any, is_text: bool = False) -> bool:
    """Whether two values are equal; JSON has no numbers that are not finite."""
    if isinstance(expected, dict):
        if isinstance(found, (list, tuple)) and len(found) == len(expected):
            found = dict(zip(expected, found, strict=True))
        return (
            isinstance(found, dict)
            and found.keys() == expected.keys()
            and all(same(value, found[name], is_text) for name, value in expected.items())
        )
    if isinstance(expected, (list, tuple)):
        if isinstance(found, dict):
            found = list(found.values())
        return (
            isinstance(found, (list, tuple))
            and len(expected) == len(found)
            and all(same(one, other, is_text) for one, other in zip(expected, found, strict=True))
        )
    if isinstance(expected, float):
        if not np.isfinite(expected):
            return found is None if is_text else np.array_equal(expected, found, equal_nan=True)
        if not isinstance(found, (int, float)):
            return False
        # A number of 32 bits is printed with as many digits as it needs.
        return found == expected or (is_text and np.float32(found) == np.float32(expected))
    return bool(found == expected) and (expected is None) == (found is None)


def main() -> int:
    """Prints the cells of some seeds that differ."""
    first, seeds = map(int, sys.argv[1:3])
    chosen = sys.argv[3] if len(sys.argv) > 3 else ""
    entry_points = {name: each for name, each in ENTRY_POINTS.items() if chosen in name}
    cells, bad = Counter[str](), 0
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)):
        for seed in range(first, first + seeds):
            for case in cases(Path(folder), seed):
                for name, difference in differences(case, entry_points):
                    cells[name] += 1
                    if difference is not None:
                        bad += 1
                        print(
                            "\t".join((f"seed {seed}", name, shown(case), difference)), flush=True
                        )
    for name, count in cells.items():
        print(f"{count:6} {name}")
    print(f"{bad} of {cells.total()} cells differ")
    return 1 if bad else 0


def shown(case: Case) -> str:
    """A case in words."""
    name = case.table.paths[0].name + ":" + case.table.within
    return f"{name} {list(case.asked)} {dict(case.aliases)} {case.cut!r} {case.start}:{case.stop}"


if __name__ == "__main__":
    sys.exit(main())
