"""Work that grows no faster than its input, in counted calls instead of time.

Regression: `arrays()` of an RNTuple compared each field with all fields: 16,000 took 19 s.
"""

from __future__ import annotations

import functools
import io
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import farroot

SIZES = (150, 300, 600)
#: Calls grow as the number of columns to this power, at most.
EXPONENT_MAX = 1.1

VERBS: dict[str, Callable[[Any, list[str]], object]] = {
    "arrays": lambda table, names: table.arrays(),
    "arrays of names": lambda table, names: table.arrays(names),
    "arrays of a pattern": lambda table, names: table.arrays(["c*"]),
    "arrays of a filter, as NumPy": lambda table, names: table.arrays(
        filter_name="c*", library="np"
    ),
    "arrays with a cut": lambda table, names: table.arrays(names, cut="c0 > 0"),
    "iterate": lambda table, names: list(table.iterate(names, step_size=2)),
    "keys": lambda table, names: table.keys(),
    "typenames": lambda table, names: table.typenames(),
    "show": lambda table, names: table.show(stream=io.StringIO()),
    "to_arrow": lambda table, names: table.arrays(names, library="arrow"),
}


def calls(work: Callable[[], object]) -> int:
    """Number of calls of Python functions and of functions in C."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    """Files with trees and RNTuples of so many columns."""
    folder = tmp_path_factory.mktemp("growth")
    made = {}
    for kind in ("mktree", "mkrntuple"):
        for size in SIZES:
            path = folder / f"{kind}_{size}.root"
            with farroot.recreate(path) as file:
                getattr(file, kind)("t", {f"c{at}": np.arange(3) for at in range(size)})
            made[kind, size] = f"{path}:t"
    return made


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ["mktree", "mkrntuple"])
def test_calls_grow_with_the_columns(
    tables: dict[tuple[str, int], str], kind: str, verb: str
) -> None:
    if "arrow" in verb:
        pytest.importorskip("pyarrow")
    found = []
    for size in SIZES:
        names = [f"c{at}" for at in range(size)]
        # The first use imports modules.
        with farroot.open(tables[kind, size]) as table:
            VERBS[verb](table, names)
        with farroot.open(tables[kind, size]) as table:
            found.append(calls(functools.partial(VERBS[verb], table, names)))
    steps = itertools.pairwise(found)
    exponents = [math.log2(more / less) for less, more in steps]
    assert max(exponents) <= EXPONENT_MAX, f"{found} calls for {SIZES} columns"
