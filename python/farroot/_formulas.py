"""Formulas over columns: the engine reads and computes them, here their names get meanings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._limits import DEPTH_MAX
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._core import Column
    from ._entries import EntrySelection
    from ._leaves import Leaf


class RootFormula(str):
    """A formula that a file has: in ROOT's grammar, where those of callers are in Python's."""

    __slots__ = ()


class EachFiles(RootFormula):
    """One that each of many files has for itself, and that the engine computes there."""

    __slots__ = ()


@dataclass(frozen=True)
class Formula:
    """An expression, and the columns of its names."""

    text: str
    #: The columns that it is computed from, each once.
    meant: tuple[Leaf, ...]
    program: _core.Program
    #: Entries of the table, where the formula counts them.
    total: int | None = None

    def leaves(self) -> Iterator[Leaf]:
        """The columns that are read for it."""
        return iter(self.meant)

    @property
    def is_decoded(self) -> bool:
        """Whether some of its columns have a decoder of the caller's."""
        return any(leaf.decoder is not None for leaf in self.meant)

    def column(self, columns: Mapping[Any, Column], rows: EntrySelection) -> Column:
        """One value or one list an entry, from decoded columns by key."""
        runs = None if rows.survivors is None else rows.survivors.tolist()
        held = _core.Held(rows.start, rows.stop, runs, self.total)
        return self.program.column(self.decoded(columns), held)

    def decoded(self, columns: Mapping[Any, Column]) -> list[Column]:
        """Its columns, those with a decoder of the caller's as that decodes them."""
        return [_decoded(leaf, columns[leaf.key]) for leaf in self.meant]


def _decoded(leaf: Leaf, column: Column) -> Column:
    decode = leaf.decoder
    if decode is None:
        return column
    from .writing._columns import to_column, to_layout, type_of

    layout = to_layout(decode(column))
    return to_column(layout, type_of(layout, True))


@dataclass(frozen=True)
class Cut:
    """A formula with one bool an entry."""

    formula: Formula
    #: A column that is read where the formula names none, but counts entries.
    beside: Leaf | None = None

    def leaves(self) -> list[Leaf]:
        """The columns that decide, each once."""
        if self.formula.meant or self.beside is None:
            return list(self.formula.meant)
        return [self.beside]

    @property
    def keys(self) -> list[Hashable]:
        """The engine's keys of them."""
        return [leaf.key for leaf in self.leaves()]

    def decides(self) -> _core.Program | _core.Mask:
        """The engine's test of entries: the formula itself, but for columns that callers
        decode."""
        if not self.keys:
            message = f"a cut gives one bool an entry; {self.formula.text!r} names no column"
            raise InvalidArgumentError(message)
        is_decoded = any(leaf.decoder is not None for leaf in self.leaves())
        if is_decoded and self.formula.total is not None:
            message = f"{self.formula.text!r} counts entries beside a column with a decoder"
            raise InvalidArgumentError(message)
        return self.mask if is_decoded else self.formula.program

    def mask(self, columns: list[Column], entries: int) -> NDArray[np.bool_]:
        """Which entries stay, from the columns in the order of `keys`."""
        by_key = dict(zip(self.keys, columns, strict=True))
        return self.formula.program.mask(self.formula.decoded(by_key), entries)


class _Reader:
    """Reads formulas that share columns and aliases."""

    def __init__(
        self,
        leaf: Callable[[str, bool], Leaf],
        aliases: Mapping[str, str],
        entries: Callable[[], int] | None,
    ) -> None:
        self._leaf = leaf
        self._entries = entries
        self._aliases = aliases
        self._known: dict[str, _core.Program] = {}
        self.leaves: dict[Hashable, Leaf] = {}
        self._numbers: dict[Hashable, int] = {}
        self.counts_entries = False

    def program(self, text: str, within: tuple[str, ...] = ()) -> _core.Program:
        """The expression of a text that is part of these aliases."""
        core = _core.Formula(text, of_root=isinstance(text, RootFormula))
        self.counts_entries |= core.counts_entries
        meanings: list[int | _core.Program] = []
        for at, name in enumerate(core.columns):
            if not isinstance(self._aliases.get(name, EachFiles()), EachFiles):
                meanings.append(self._alias(name, within))
                continue
            leaf = self._leaf(name, core.is_of_root)
            if core.is_of_root and leaf.counts_objects:
                core = core.counting(at)
                leaf = leaf.counting()
            if leaf.is_group:
                raise InvalidArgumentError(f"{name!r} in {text!r} only groups other branches")
            meanings.append(self._column(name, leaf))
        if not core.counts_entries or self._entries is None:
            return _core.Program(core, meanings)
        return _core.Program(core, meanings, self._entries())

    def _column(self, name: str, leaf: Leaf) -> int | _core.Program:
        self.leaves.setdefault(leaf.key, leaf)
        at = self._numbers.setdefault(leaf.key, len(self._numbers))
        return _core.Program.member(name, at, leaf.members) if leaf.members else at

    def _alias(self, name: str, within: tuple[str, ...]) -> _core.Program:
        if name in within:
            raise InvalidArgumentError(f"the alias {name!r} refers to itself")
        if len(within) == DEPTH_MAX:
            raise InvalidArgumentError(f"the alias {name!r} is within others too deeply")
        if name not in self._known:
            self._known[name] = self.program(self._aliases[name], (*within, name))
        return self._known[name]


def formula(
    text: str,
    leaf: Callable[[str, bool], Leaf],
    aliases: Mapping[str, str],
    entries: Callable[[], int] | None = None,
) -> Formula:
    """Reads an expression.

    Args:
        leaf: The column of a name, and whether it is in ROOT's grammar.
        aliases: Formulas by their names, which go before those of columns.
        entries: How many the table has.

    Raises:
        InvalidArgumentError: where it is none, or an alias refers to itself.
    """
    reader = _Reader(leaf, aliases, entries)
    program = reader.program(text)
    total = entries() if entries is not None and reader.counts_entries else None
    return Formula(text, tuple(reader.leaves.values()), program, total)
