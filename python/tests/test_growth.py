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
from farroot._leaves import Leaf
from farroot.writing._keys import Keys

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
    "virtual": lambda table, names: table.arrays(virtual=True),
    "formulas": lambda table, names: table.arrays([f"{name} + 1" for name in names]),
    "aliases": lambda table, names: table.arrays(
        [f"a{name}" for name in names], aliases={f"a{name}": f"{name} + 1" for name in names}
    ),
    "plan": lambda table, names: table.plan(names),
}


class Counted(tuple):  # type: ignore[type-arg]
    """A tuple that counts how often it is compared with others."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return tuple.__eq__(self, other)

    __hash__ = tuple.__hash__


class CountedText(str):
    """The same of a text."""

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


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


def test_a_column_that_is_read_when_touched_is_found_without_the_others(
    tables: dict[tuple[str, int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_info = Leaf.key
    monkeypatch.setattr(Leaf, "key", property(lambda leaf: Counted(of_info.func(leaf))))
    size = SIZES[0]
    with farroot.open(tables["mkrntuple", size]) as table:
        Counted.compared = 0
        table.arrays(virtual=True)
    assert 0 < Counted.compared <= 10 * size


def test_a_key_of_a_written_file_is_found_without_the_others() -> None:
    names = [CountedText(f"h{number}") for number in range(SIZES[0])]
    keys = Keys()
    Counted.compared = 0
    for name in [*names, *names]:
        keys.add(name, "TObjString", None)
    for name in names:
        key = keys.find(name)
        assert key is not None
        assert key.cycle == 2
        assert keys.is_newest(key)
        keys.set_content(key, "a text")
        older = keys.find(f"{name};1")
        assert older is not None
        assert older.cycle == 1
        assert not keys.is_newest(older)
        keys.remove(key)
        assert keys.find(name) == older
    assert 0 < Counted.compared <= 30 * len(names)


def test_a_column_of_a_formula_is_numbered_without_the_others(
    tables: dict[tuple[str, int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    of_info = Leaf.key
    monkeypatch.setattr(Leaf, "key", property(lambda leaf: Counted(of_info.func(leaf))))
    size = SIZES[0]
    aliases = {f"a{at}": " + ".join(f"c{at + n}" for n in range(10)) for at in range(0, size, 10)}
    with farroot.open(tables["mktree", size]) as table:
        Counted.compared = 0
        sums = table.arrays([" + ".join(aliases)], aliases=aliases, library="np", how=tuple)
    assert sums[0].tolist() == [0, size, 2 * size]
    assert 0 < Counted.compared <= 10 * size
