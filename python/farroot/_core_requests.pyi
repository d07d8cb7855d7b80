"""Requests for columns, cuts and formulas, as the engine takes them."""

from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from ._core_columns import Column

#: From the deciding columns and the number of entries to which of these stay; called on any thread.
Mask = Callable[[list[Column], int], NDArray[np.bool_]]

@final
class ColumnRequest:
    """A branch or a field, and the form in which it is requested."""

    def __new__(
        cls,
        address: str,
        *,
        optional: bool = False,
        as_bytes: bool = False,
        counts: bool = False,
        keep: Sequence[str] | None = None,
    ) -> ColumnRequest:
        """
        Args:
            address: :attr:`ColumnInfo.address`, or any path or last name. optional: Whether it is
            left out where its data cannot be read. as_bytes: Whether the bytes of its entries are
            requested, as strings. counts: Whether the number of objects whose members are columns
            is requested. keep: Of a field at the top, the paths of those in it that are
            wanted; without them a
                field comes in the lists that it is in.
        """

    @property
    def address(self) -> str: ...
    @property
    def optional(self) -> bool: ...
    @property
    def as_bytes(self) -> bool: ...
    @property
    def counts(self) -> bool: ...
    @property
    def keep(self) -> list[str] | None: ...

@final
class Decision:
    """The cut of entries: columns, and a function of them or a formula of the engine."""

    def __new__(cls, columns: Sequence[ColumnRequest], function: Mask | Program) -> Decision: ...

@final
class Formula:
    """An expression over columns."""

    def __new__(cls, text: str, *, of_root: bool = False) -> Formula: ...
    @property
    def columns(self) -> list[str]:
        """Names of its columns, each once."""

    @property
    def is_of_root(self) -> bool:
        """Whether it is in ROOT's grammar."""

    def counting(self, name: int) -> Formula:
        """The same, where the column of the name at this position has the number of objects whose
        members are columns."""

    @property
    def counts_entries(self) -> bool:
        """Whether the numbers of entries are in it."""

@final
class Formulas:
    """The columns that a caller gets: some of those that are read, and formulas over them."""

    def __new__(
        cls,
        given: Sequence[int],
        computed: Sequence[tuple[Program, Sequence[int]]],
        aliases: Sequence[tuple[str, str]],
    ) -> Formulas:
        """By positions among the columns that are read; the aliases go before those of files."""

@final
class Held:
    """Which entries columns hold: first and last, and the runs that a cut has left; how many the
    table has, where that is needed."""

    def __new__(
        cls, start: int, stop: int, survivors: list[int] | None = None, total: int | None = None
    ) -> Held: ...

@final
class Program:
    """A formula, and the values of its names."""

    def __new__(
        cls, formula: Formula, meanings: Sequence[int | Program], total: int | None = None
    ) -> Program:
        """The meanings are numbers of columns, and other formulas; the total is of the entries of
        the table, where the formula counts them."""

    @staticmethod
    def member(text: str, column: int, members: Sequence[str]) -> Program:
        """The member of the records of the column with this number."""

    def column(self, columns: Sequence[Column], entries: Held) -> Column:
        """One value or one list an entry."""

    def mask(self, columns: Sequence[Column], entries: int) -> NDArray[np.bool_]:
        """Which entries it is true of."""

@final
class Request:
    """The columns that are read, the cut of entries, and the columns that the caller gets where
    these are others."""

    def __new__(
        cls,
        columns: Sequence[ColumnRequest],
        decision: Decision | None = None,
        formulas: Formulas | None = None,
    ) -> Request: ...

@final
class StepSize:
    """How much comes at a time: entries, or bytes that they take decoded, or all."""

    def __new__(cls, size: int | str) -> StepSize: ...
    @staticmethod
    def whole() -> StepSize: ...
    @property
    def entries(self) -> int | None: ...
    @property
    def bytes(self) -> int | None: ...
