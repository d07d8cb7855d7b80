"""Branches and fields by name: names, paths of names, and a table of them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, Unpack, cast

from . import _html
from ._filters import Filter, column_filter, predicate
from ._numbers import whole
from ._ours import called
from ._shown import shown
from ._uproot import Explained
from .errors import ArgumentTypeError, InvalidArgumentError, KeyInFileError

if TYPE_CHECKING:
    from ._core import ColumnInfo
    from ._protocols import Column as ColumnLike
    from ._protocols import Table
    from ._selection import ColumnQuery
    from ._types import Filters


#: Characters of a table's columns at most, where the caller gives none.
WIDTHS_MAX = (60, 40, 60)
#: Rows of a table, where the caller gives none.
ROWS_SHOWN = 60


class Writable(Protocol):
    def write(self, text: str, /) -> object: ...


Column = TypeVar("Column", bound="ColumnLike")


class Named(Explained, Generic[Column]):
    """A mapping from names to columns, each of which is such a mapping itself."""

    #: Between the names of a path.
    _separator: ClassVar[str]
    #: The word for a column.
    _kind: ClassVar[str]

    #: The table of all the columns: a tree or an RNTuple.
    _table: Table
    #: The column itself; None for the tree or RNTuple.
    _number: int | None

    @property
    def table(self) -> Table:
        """The table that is read."""
        return self._table

    @property
    def itself(self) -> Column | None:
        """The column that this is; None for a tree or an RNTuple."""
        return None if self._number is None else self._column(self._number)

    def _numbers(self) -> Sequence[int]:
        """The columns directly below, in the order of the file."""
        return self._table._children.get(self._number, [])

    def _column(self, number: int) -> Column:
        column: Column = self._table._column(number)
        return column

    def _direct(self) -> list[Column]:
        return [self._column(number) for number in self._numbers()]

    def _at(self, position: Any) -> Column:
        """The column at a position among those directly below.

        Raises:
            KeyInFileError: where there are not so many.
            ArgumentTypeError: for anything but a number.
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
        accepts = None if filter_column is None else called(filter_column)
        found: list[tuple[str, Column]] = []
        for path, column in self._walk("", recursive):
            named = by_name(column.name) or by_name(path) or by_name(self._separator + path)
            if (
                named
                and (filter_typename is None or by_type(column.typename))
                and (accepts is None or accepts(column))
            ):
                found.append((path if full_paths else column.name, column))
        if ignore_duplicates:
            # Of equal keys a dict keeps the last.
            return list(reversed(dict(reversed(found)).items()))
        return found

    def _filtered(self, choice: ColumnQuery) -> list[tuple[str, ColumnInfo]]:
        """The columns that the filters of a call accept, by last name; a column without parts is
        its own."""
        if (own := self.itself) is not None and not len(self):
            return [(own.name, own._info)]
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
        number = self._table._live().find(where, self._number)
        return None if number is None else self._column(number)

    def __getitem__(self, where: str | int) -> Column:
        """The one of that path or, below any, of that name; or by position.

        Raises:
            KeyInFileError: where there is none, with the names that come near.
        """
        if not isinstance(where, str):
            return self._at(where)
        return self._column(self._table._live().require(where, self._number))

    def __contains__(self, where: object) -> bool:
        return isinstance(where, str) and self.find(where) is not None

    def get(self, where: str | int, default: Any = None) -> Any:
        """As ``self[where]``, or the default where there is no such column."""
        try:
            return self[where]
        except KeyInFileError:
            return default

    def items(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Column], bool] | None = None,
        filter_field: Callable[[Column], bool] | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> list[tuple[str, Column]]:
        """Names and branches or fields, each followed by those in it.

        Args:
            filter_name: None, a name, a glob, ``"/regex/flags"``, a function of a name, or
                several of these; tried on the name and on the path.
            filter_typename: The same, for the C++ type.
            filter_branch: A function of the :class:`Branch` or :class:`Field`, or None;
                ``filter_field`` is the same.
            recursive: Whether those in others come too.
            full_paths: Whether these are named by their path, ``parent/child`` or, of fields,
                ``parent.child``, or by the last part of it.
            ignore_duplicates: Whether of several of one name only the first comes.
        """
        return self._items(
            filter_name,
            filter_typename,
            column_filter(filter_branch, filter_field),
            recursive=recursive,
            full_paths=full_paths,
            ignore_duplicates=ignore_duplicates,
        )

    def keys(self, **filters: Unpack[Filters]) -> list[str]:
        """Names of the columns below; the arguments are those of :meth:`items`."""
        return [name for name, _ in self.items(**filters)]

    def values(self, **filters: Unpack[Filters]) -> list[Column]:
        """The columns below; the arguments are those of :meth:`items`."""
        return [column for _, column in self.items(**filters)]

    def typenames(self, **filters: Unpack[Filters]) -> dict[str, str]:
        """C++ types by name; the arguments are those of :meth:`items`."""
        return dict(self.itertypenames(**filters))

    def iteritems(self, **filters: Unpack[Filters]) -> Iterator[tuple[str, Column]]:
        """The pairs of :meth:`items`, one by one."""
        return iter(self.items(**filters))

    def iterkeys(self, **filters: Unpack[Filters]) -> Iterator[str]:
        """The names of :meth:`keys`, one by one; the arguments are those of :meth:`items`."""
        return (name for name, _ in self.items(**filters))

    def itervalues(self, **filters: Unpack[Filters]) -> Iterator[Column]:
        """The columns of :meth:`values`, one by one; the arguments are those of :meth:`items`."""
        return (column for _, column in self.items(**filters))

    def itertypenames(self, **filters: Unpack[Filters]) -> Iterator[tuple[str, str]]:
        """The pairs of :meth:`typenames`, one by one; the arguments are those of :meth:`items`."""
        return ((name, column.typename) for name, column in self.items(**filters))

    def show(
        self,
        *,
        name_width: int | None = None,
        typename_width: int | None = None,
        interpretation_width: int | None = None,
        stream: Writable | None = None,
        limit: float | None = ROWS_SHOWN,
        **filters: Unpack[Filters],
    ) -> None:
        """Prints a table of names, C++ types and the types of an entry as Awkward spells them.

        Args:
            name_width, typename_width, interpretation_width: Characters of each column, at least
                3; longer texts are cut. None is as wide as needed, within reason.
            stream: Where to write, an object with a ``write(str)`` method; None is ``stdout``.
            limit: Rows that are shown at most, with a line that says how many more there are;
                None shows all.
            filters: The arguments of :meth:`items`.
        """
        widths = (name_width, typename_width, interpretation_width)
        if min(width for width in (*widths, 3) if width is not None) < 3:
            raise InvalidArgumentError("columns are at least 3 characters wide")
        rows = None if limit is None else whole(limit, "limit")
        write_table(self.items(**filters), stream, rows, widths)

    def __iter__(self) -> Iterator[Column]:
        return iter(self._direct())

    def __len__(self) -> int:
        """Number of columns directly below, as in uproot; ``num_entries`` counts entries."""
        return len(self._numbers())

    def __bool__(self) -> bool:
        return True

    def _ipython_key_completions_(self) -> list[str]:
        return [name for name, _ in self._items()]

    def _facts(self) -> list[tuple[str, Any]]:
        """Rows that a notebook shows above those of the columns."""
        return []

    def _repr_html_(self) -> str:
        items, of_any = self._items(), cast("Any", self)
        shown = items[: _html.ROWS_MAX]
        rows = [(name, column.typename, column._shape_shown) for name, column in shown]
        left = len(items) - len(rows)
        more = f"and {left:,} more: keys() lists all names" if left else ""
        head = f"{of_any!r}: {of_any.num_entries:,} entries"
        facts = self._facts()
        return _html.page(
            head,
            _html.table(("", ""), facts) if facts else "",
            _html.table(("name", "type", "of an entry"), rows, more) if rows or not facts else "",
        )


def write_table(
    items: Iterable[tuple[str, ColumnLike]],
    stream: Writable | None,
    limit: int | None,
    widths: Sequence[int | None] = (None, None, None),
) -> None:
    """Names, C++ types and the types of an entry as Awkward spells them.

    Args:
        stream: None is ``stdout``.
        limit: Columns that are shown at most; a line says how many more there are.
        widths: Characters of each column, at least 3; longer texts are cut. None: as wide as its
            longest text, but not wider than :data:`WIDTHS_MAX`.
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
