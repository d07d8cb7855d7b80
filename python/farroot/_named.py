"""What branches and fields have in common: names, paths of names, and a table of them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from ._filters import Filter, predicate
from ._shown import shown
from ._uproot import Explained, taken
from .errors import ArgumentTypeError, KeyInFileError

if TYPE_CHECKING:
    from ._core import ColumnInfo
    from ._selection import ColumnQuery
    from ._table import InFile


class Writable(Protocol):
    def write(self, text: str, /) -> object: ...


class _Column(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def typename(self) -> str: ...

    @property
    def _shape_shown(self) -> str: ...

    @property
    def _info(self) -> ColumnInfo: ...

    def _walk(self, prefix: str, recursive: bool) -> Iterator[tuple[str, Any]]: ...


Column = TypeVar("Column", bound=_Column)


class Named(Explained, Generic[Column]):
    """A mapping from names to columns, each of which is such a mapping itself."""

    #: Between the names of a path.
    _separator: ClassVar[str]
    #: What a column is called.
    _kind: ClassVar[str]

    #: The column itself; None for what has all of them.
    _number: int | None

    def _numbers(self) -> Sequence[int]:
        """The columns directly below, in the order of the file."""
        return self._in()._children.get(self._number, [])

    def _column(self, number: int) -> Column:
        raise NotImplementedError

    def _in(self) -> InFile:
        """What all the columns are of."""
        raise NotImplementedError

    def _direct(self) -> list[Column]:
        return [self._column(number) for number in self._numbers()]

    def _at(self, position: Any) -> Column:
        """The column at a position among those directly below.

        Raises:
            KeyInFileError: where there are not so many.
            ArgumentTypeError: for what is no number.
        """
        try:
            index = operator.index(position)
        except TypeError:
            raise ArgumentTypeError(
                f"one {self._kind} is taken by its name or its position, not by {position!r}; "
                'arrays(["a", "b"]) reads several'
            ) from None
        numbers = self._numbers()
        if not -len(numbers) <= index < len(numbers):
            raise KeyInFileError(f"there is no {self._kind} {index} of {len(numbers)}")
        return self._column(numbers[index])

    def _items(
        self,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_column: Callable[[Column], bool] | None = None,
        *,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> list[tuple[str, Column]]:
        """Names and columns, depth first."""
        by_name, by_type = predicate(filter_name), predicate(filter_typename)
        found: list[tuple[str, Column]] = []
        for path, column in self._walk("", recursive):
            named = by_name(column.name) or by_name(path) or by_name(self._separator + path)
            if (
                named
                and (filter_typename is None or by_type(column.typename))
                and (filter_column is None or filter_column(column))
            ):
                found.append((path if full_paths else column.name, column))
        if ignore_duplicates:
            # Of equal keys a dict keeps the last.
            return list(reversed(dict(reversed(found)).items()))
        return found

    def _filtered(self, choice: ColumnQuery) -> list[tuple[str, ColumnInfo]]:
        """What the filters of a call accept, by last name."""
        items = self._items(
            choice.filter_name, choice.filter_typename, choice.filter_column, full_paths=False
        )
        return [(name, column._info) for name, column in items]

    def _walk(self, prefix: str, recursive: bool) -> Iterator[tuple[str, Column]]:
        for column in self._direct():
            path = prefix + column.name
            yield path, column
            if recursive:
                yield from column._walk(path + self._separator, recursive)

    def find(self, where: str) -> Column | None:
        """As ``self[where]``, or None."""
        number = self._in()._live().find(where, self._number)
        return None if number is None else self._column(number)

    def __getitem__(self, where: str | int) -> Column:
        """The one of that path or, below any, of that name; or by position.

        Raises:
            KeyInFileError: where there is none, with the names that come near.
        """
        if not isinstance(where, str):
            return self._at(where)
        return self._column(self._in()._live().require(where, self._number))

    def __contains__(self, where: object) -> bool:
        return isinstance(where, str) and self.find(where) is not None

    @taken
    def get(self, where: str | int, default: Any = None) -> Any:
        """As ``self[where]``, or the default where there is no such column."""
        of_any: Any = self
        try:
            return of_any[where]
        except KeyInFileError:
            return default

    def _chosen_items(self, filters: dict[str, Any]) -> list[tuple[str, Column]]:
        """What ``items`` gives, whose filters differ."""
        of_any: Any = self
        found: list[tuple[str, Column]] = of_any.items(**filters)
        return found

    @taken
    def iteritems(self, **filters: Any) -> Iterator[tuple[str, Column]]:
        """What ``items`` gives, one by one."""
        return iter(self._chosen_items(filters))

    @taken
    def iterkeys(self, **filters: Any) -> Iterator[str]:
        """What ``keys`` gives, one by one; the arguments are those of ``items``."""
        return (name for name, _ in self._chosen_items(filters))

    @taken
    def itervalues(self, **filters: Any) -> Iterator[Column]:
        """What ``values`` gives, one by one; the arguments are those of ``items``."""
        return (column for _, column in self._chosen_items(filters))

    @taken
    def itertypenames(self, **filters: Any) -> Iterator[tuple[str, str]]:
        """What ``typenames`` gives, one by one; the arguments are those of ``items``."""
        return ((name, column.typename) for name, column in self._chosen_items(filters))

    def __iter__(self) -> Iterator[Column]:
        return iter(self._direct())

    def __len__(self) -> int:
        """Number of columns directly below, as in uproot; ``num_entries`` counts entries."""
        return len(self._numbers())

    def __bool__(self) -> bool:
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return [name for name, _ in self._items()]

    def _repr_html_(self) -> str:
        from . import _html

        items, of_any = self._items(), cast("Any", self)
        shown = items[: _html.ROWS_MAX]
        rows = [(name, column.typename, column._shape_shown) for name, column in shown]
        left = len(items) - len(rows)
        more = f"and {left:,} more: keys() lists all names" if left else ""
        head = f"{of_any!r}: {of_any.num_entries:,} entries"
        return _html.page(head, _html.table(("name", "type", "of an entry"), rows, more))


#: Characters of a table's columns at most, where the caller does not say.
WIDTHS_MAX = (60, 40, 60)
#: EntrySelection of a table, where the caller does not say.
ROWS_SHOWN = 60


def write_table(
    items: Iterable[tuple[str, _Column]],
    stream: Writable | None,
    limit: int | None,
    widths: Sequence[int | None] = (None, None, None),
) -> None:
    """Names, C++ types and the types of an entry as Awkward spells them.

    Args:
        stream: None is ``stdout``.
        limit: Columns that are shown at most; a line says how many more there are.
        widths: Characters of each column, at least 3; what is longer is cut. None: as wide as
            its longest text, but not wider than :data:`WIDTHS_MAX`.
    """
    stream = sys.stdout if stream is None else stream
    listed = list(items)
    first = listed if limit is None else listed[: max(0, limit)]
    rows = [("name", "typename", "interpretation")]
    rows += [
        (shown(name), shown(column.typename), shown(column._shape_shown)) for name, column in first
    ]
    longest = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    fits = [min(pair) for pair in zip(longest, WIDTHS_MAX, strict=True)]
    wide = [fit if given is None else given for fit, given in zip(fits, widths, strict=True)]
    for number, row in enumerate(rows):
        fitted = (
            cell if len(cell) <= width else cell[: width - 3] + "..."
            for cell, width in zip(row, wide, strict=True)
        )
        padded = (cell.ljust(width) for cell, width in zip(fitted, wide, strict=True))
        stream.write(" | ".join(padded).rstrip() + "\n")
        if number == 0:
            stream.write("-+-".join("-" * width for width in wide) + "\n")
    if left := len(listed) - len(first):
        stream.write(
            f"... and {left:,} more of {len(listed):,}: show(limit=None) shows all, "
            'show(filter_name="Muon_*") those of such names\n'
        )
