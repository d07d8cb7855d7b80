"""Reads the columns of one chunk, and predicts which columns the next chunk will need."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from .. import _core
from .._libraries.awkward import Awkward
from .._reading import Selection
from .._selection import one

if TYPE_CHECKING:
    from .._steps import Steps
    from ..ntuple import RNTuple
    from ..tree import Tree


class Reader:
    """Columns of a range of entries. :meth:`want` reads some in the background, in one read; any
    other column is read when :meth:`get` asks for it."""

    def __init__(self, table: Tree | RNTuple, start: int, stop: int) -> None:
        self._table = table
        self._entries = start, stop
        self._lock = threading.RLock()
        #: Reads in the background: the names of the columns of each, and its steps.
        self._under_way: list[tuple[list[str], Steps]] = []
        self._layouts: dict[str, Any] = {}

    def want(self, names: Iterable[str]) -> None:
        """Begins to read columns in the background, in one read; ignores names of no column."""
        start, stop = self._entries
        with self._lock:
            known = {name for begun, _ in self._under_way for name in begun} | {*self._layouts}
            new = [name for name in sorted({*names} - known) if name in self._table]
            if new and start < stop:
                steps = self._selection(new, optional=True).steps(
                    start, stop, _core.StepSize.whole()
                )
                self._under_way.append((new, steps))

    def get(self, name: str) -> Any:
        """The layout of a column; waits until it is read.

        Raises:
            KeyInFileError: no column has that name.
        """
        with self._lock:
            for begun in [begun for begun in self._under_way if name in begun[0]]:
                self._under_way.remove(begun)
                self._take(next(begun[1], {}))
            if name not in self._layouts:
                self._take(self._selection([name]).read(*self._entries))
            return self._layouts[name]

    def forget(self, name: str) -> None:
        """Drops a column that has been read."""
        with self._lock:
            self._layouts.pop(name, None)

    def stored_bytes(self, names: Iterable[str]) -> int:
        """Bytes that the file stores for the entries of these columns."""
        planned = self._selection(sorted(names)).plan(*self._entries) if names else []
        return sum(column.stored_bytes for each in planned for column in each.columns)

    def _take(self, arrays: dict[str, Any]) -> None:
        self._layouts.update({name: array.layout for name, array in arrays.items()})

    def _selection(self, names: Iterable[str], optional: bool = False) -> Selection:
        columns = [one(name, self._table[name]._info, optional) for name in names]
        return Selection(self._table, columns, None, Awkward(), dict)


class Habits:
    """The columns that processors in this process have accessed, by dataset and schema."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Columns of the last two chunks: the last one may still be in progress.
        self._touched: dict[Hashable, list[set[str]]] = {}

    def likely(self, key: Hashable) -> set[str]:
        """The columns that the next chunk will probably need."""
        with self._lock:
            return {name for touched in self._touched.get(key, []) for name in tuple(touched)}

    def begin(self, key: Hashable) -> set[str]:
        """Begins a chunk; returns the set to which the caller adds the columns that it accesses."""
        touched: set[str] = set()
        with self._lock:
            self._touched[key] = [*self._touched.get(key, []), touched][-2:]
        return touched


HABITS = Habits()
