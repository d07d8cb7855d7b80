"""Reads that seeds make up, and the values that they have to give."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

from .differential_tables import Table, is_name, kind_of, tables

Values = dict[str, list[Any]]


@dataclass(frozen=True)
class Case:
    """One read, and the values that it has to give."""

    table: Table
    #: Texts that are asked for: names, patterns and formulas.
    asked: tuple[str, ...]
    #: Names of the columns that come of them.
    columns: tuple[str, ...]
    cut: str | None
    #: As they are asked for: negative ones count from the end.
    start: int | None
    stop: int | None
    #: Names that the reader gives to formulas.
    aliases: tuple[tuple[str, str], ...] = ()
    #: None where it is an error.
    expected: Values | None = field(default=None, compare=False, repr=False)

    @property
    def files(self) -> list[str]:
        return [f"{path}:{self.table.within}" for path in self.table.paths]

    @property
    def entry_range(self) -> tuple[int, int]:
        """Numbers of the first entry and of that behind the last."""
        start, stop, _ = slice(self.start, self.stop).indices(self.table.entries)
        return start, max(start, stop)

    @property
    def is_whole(self) -> bool:
        """Whether it reads all entries."""
        return self.entry_range == (0, self.table.entries)

    @property
    def is_counted_from_the_start(self) -> bool:
        ends = (self.start or 0, 0 if self.stop is None else self.stop)
        return min(ends) >= 0

    @property
    def is_plain(self) -> bool:
        """Whether all its columns are stored ones, asked for by their names."""
        stored = self.table.columns.keys() - self.table.virtual
        # A formula is nothing that is looked up.
        known = stored | {"no_such_column"}
        return self.asked == self.columns and known.issuperset(self.columns)

    @property
    def is_stored(self) -> bool:
        """Whether its columns are stored ones, by their names or by patterns."""
        stored = self.table.columns.keys() - self.table.virtual
        return self.expected is not None and stored.issuperset(self.columns)


class Formulas:
    """Formulas over the columns of a table, of one value or list an entry."""

    def __init__(self, table: Table, random: Any) -> None:
        self.random = random
        self.arrays = table.columns
        self.names: dict[str, list[str]] = {}
        for name, array in table.columns.items():
            kind = kind_of(array)
            if kind == "number" and str(array.type).endswith("int8"):
                kind = "tiny"  # Roots of theirs are of 16 bits in NumPy.
            self.names.setdefault(kind, []).append(name)

    def of(self, kind: str) -> str | None:
        found = self.names.get(kind)
        if not found:
            return None
        name = str(self.random.choice(found))
        is_plain = is_name(name.removeprefix("near.")) and name not in FUNCTIONS
        return name if is_plain else f'get("{name}")'

    def number(self) -> str | None:
        return self.of("number")

    def constant(self, name: str) -> str:
        """A number that is in the middle of a column's."""
        array = ak.to_numpy(self.arrays[_unquoted(name)])
        finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        if not len(finite):
            return "0"
        one = self.random.choice(finite).item()
        return repr(one) if one >= 0 else f"({one!r})"

    def made(self) -> str | None:
        """A new column."""
        a, b, items = self.number(), self.number(), self.of("list")
        kinds: list[Callable[[], str]] = []
        if a and b:
            kinds += [
                lambda: f"{a} + 1",
                lambda: f"{a} * {b}",
                lambda: f"{a} - {b}",
                lambda: f"{a} / 2",
                lambda: f"{a} % 3",
                lambda: f"{a} // 7",
                lambda: f"-{a}",
                lambda: f"{a} ** 2",
                lambda: f"abs({a})",
                lambda: f"minimum({a}, {b})",
                lambda: f"{a} > {self.constant(a)}",
                lambda: f"sqrt(abs({a}))",
                lambda: f"where({a} > {self.constant(a)}, {a}, {b})",
            ]
        if items:
            kinds += [
                lambda: f"{items} * 2",
                lambda: f"{items} > 1",
                lambda: f"{items}[:, :1]",
                lambda: f"{items}[{items} > 0]",
                lambda: f"-{items}",
            ]
            if a:
                kinds += [lambda: f"{items} + {a}"]
        if flag := self.of("bool"):
            kinds += [lambda: f"~{flag}"]
        return kinds[int(self.random.integers(len(kinds)))]() if kinds else None

    def cut(self, depth: int = 1) -> str | None:
        """A condition of one truth value an entry."""
        a, b, flag, text = self.number(), self.number(), self.of("bool"), self.of("string")
        kinds: list[Callable[[], str | None]] = []
        if a and b:
            kinds += [
                lambda: f"{a} > {self.constant(a)}",
                lambda: f"{a} <= {self.constant(a)}",
                lambda: f"{a} < {b}",
                lambda: f"{a} % 2 == 0",
                lambda: f"{a} != {a}",
                lambda: f"abs({a}) < {self.constant(a)}",
                lambda: f"{a} == {self.constant(a)}",
            ]
        if flag:
            kinds += [lambda: flag, lambda: f"~{flag}"]
        if text:
            some = [
                each
                for each in self.arrays[_unquoted(text)].tolist()
                if len(each) < 20 and "\n" not in each
            ]
            if some:
                kinds += [lambda: f"{text} == {self.random.choice(some).item()!r}"]
        if not kinds:
            return None
        one: str | None = kinds[int(self.random.integers(len(kinds)))]()
        if depth and self.random.random() < 0.3:
            other = self.cut(depth - 1)
            return f"({one}) {self.random.choice(['&', '|'])} ({other})"
        return one


def _unquoted(name: str) -> str:
    found = re.fullmatch(r'get\("(.*)"\)', name)
    return found[1] if found else name


#: Names that formulas have for functions; columns of these names are asked for with ``get``.
FUNCTIONS: dict[str, Any] = {
    **{"sqrt": np.sqrt, "abs": np.abs, "exp": np.exp, "minimum": np.minimum, "where": np.where},
    **{"get": None, "sin": np.sin},
}


def evaluated(text: str, arrays: dict[str, Any]) -> Any:
    """The formula's values, as Python, NumPy and Awkward have them."""
    if text in arrays:
        return arrays[text]

    def get(name: str) -> Any:
        array = arrays[name]
        is_flat = array.ndim == 1 and kind_of(array) != "string"
        return ak.to_numpy(array) if is_flat else array

    class Names(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            return get(name)

    class Friend:
        def __getattr__(self, name: str) -> Any:
            return get(f"near.{name}")

    with np.errstate(all="ignore"):
        scope = Names(FUNCTIONS | {"get": get, "near": Friend()})
        return ak.Array(eval(text, {"__builtins__": {}}, scope))


def _ranges(random: Any, entries: int) -> tuple[int | None, int | None]:
    chance = random.random()
    if chance < 0.45:
        return (None, None)
    if chance < 0.85:
        start, stop = sorted(random.integers(0, entries + 1, 2).tolist())
        return start, stop
    pairs = ((-7, None), (None, -3), (-20, -5), (3, 10**9), (entries, None), (9, 4), (-(10**6), 5))
    found: tuple[int | None, int | None] = pairs[random.integers(len(pairs))]
    return found


def _pattern(name: str, names: list[str]) -> tuple[str, list[str]]:
    """A pattern that a name fits, and the names that fit."""
    prefix = name[: max(1, len(name) // 2)]
    found = [each for each in names if each.startswith(prefix)]
    return f"{prefix}*", found


def cases_of(table: Table, seed: int, reads: int = 3) -> Iterator[Case]:
    """Reads of one table."""
    random = np.random.default_rng(seed + 1_000_000)
    formulas = Formulas(table, random)
    names = [name for name in table.columns if "," not in name]
    for number in range(reads):
        picked = random.permutation(names)[: random.integers(1, 5)]
        asked = columns = list(map(str, picked))
        aliases: dict[str, str] = {}
        is_simple = number == 0 and seed % 2 == 0
        cut = None if is_simple or random.random() < 0.3 else formulas.cut()
        if number % 3 == 1:
            made = [text for text in (formulas.made(), formulas.made()) if text]
            new = [text for text in dict.fromkeys(made) if text not in columns and "," not in text]
            asked = columns = [*columns, *new]
        elif number % 3 == 2 and random.random() < 0.5:
            simple = [name for name in names if name.isalnum() and name not in table.virtual]
            if (
                simple
                and not table.friends
                and not any("/" in name or "." in name for name in names)
            ):
                pattern, columns = _pattern(str(random.choice(simple)), names)
                asked = [pattern]
        elif number % 3 == 2:
            formula = formulas.made()
            if formula is not None:
                aliases = {"new_one": formula}
                asked = columns = [*columns, "new_one"]
        start, stop = _ranges(random, table.entries)
        values = {name: evaluated(aliases.get(name, name), table.columns) for name in columns}
        first, behind, _ = slice(start, stop).indices(table.entries)
        within = slice(first, max(first, behind))
        mask = slice(None) if cut is None else evaluated(cut, table.columns)[within]
        kept = {name: ak.to_list(array[within][mask]) for name, array in values.items()}
        pairs = tuple(aliases.items())
        yield Case(table, tuple(asked), tuple(columns), cut, start, stop, pairs, kept)
    if seed % 2 == 0 and not table.friends:
        yield from _errors(table, formulas, names)


def _errors(table: Table, formulas: Formulas, names: list[str]) -> Iterator[Case]:
    """Reads that every entry point refuses."""
    some, number = names[0], formulas.number()
    items, text = formulas.of("list"), formulas.of("string")
    wrong: list[tuple[str, str | None]] = [("no_such_column", None), (some, "no_such_column > 0")]
    if number:
        wrong += [
            (some, f"{number} >"),
            (some, f"no_such_function({number})"),
            (some, "9 ** 9 ** 9 ** 9 > 1"),
        ]
    if items:
        wrong += [(some, f"{items} > 1"), (f"{items}[0]", None)]
    if text:
        wrong += [(some, f"{text} > 1"), (some, f"{text} + 1 > 2")]
    at = formulas.random.integers(len(wrong))
    asked, cut = wrong[at]
    yield Case(table, (asked,), (asked,), cut, None, None)


def cases(folder: Path, seed: int) -> Iterator[Case]:
    """All reads of a seed."""
    for number, table in enumerate(tables(folder, seed)):
        yield from cases_of(table, 100 * seed + number)
