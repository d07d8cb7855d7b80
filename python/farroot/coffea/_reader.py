"""Reads the columns of one chunk, and predicts which columns the next chunk will need."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core
from .._libraries.awkward import Awkward
from .._locks import Lock
from .._reading import Selection
from .._selection import one

if TYPE_CHECKING:
    from .._steps import Steps
    from ..ntuple import RNTuple
    from ..tree import Tree


class Reader:
    """Columns of a range of entries. :meth:`want` reads some in the background, in one read; any
    other column is read when :meth:`get` requests it."""

    def __init__(self, table: Tree | RNTuple, start: int, stop: int) -> None:
        self.table = table
        #: Called with this reader and the name of each column whose read :meth:`get` begins.
        self.on_new: Callable[[Reader, set[str]], None] | None = None
        self.entries = start, stop
        self._lock = Lock(threading.RLock)
        #: Reads in the background: the names of the columns of each, and its steps.
        self._under_way: list[tuple[list[str], Steps]] = []
        self._layouts: dict[str, Any] = {}

    def want(self, names: Iterable[str]) -> None:
        """Begins to read columns in the background, in one read; ignores names of no column."""
        self._begin(names, optional=True)

    def _begin(self, names: Iterable[str], optional: bool) -> bool:
        """The same; returns whether a read has begun."""
        start, stop = self.entries
        with self._lock:
            new = [name for name in sorted({*names} - self.names()) if name in self.table]
            if not new or start >= stop:
                return False
            steps = self._selection(new, optional).steps(start, stop, _core.StepSize.whole())
            self._under_way.append((new, steps))
            return True

    def names(self) -> set[str]:
        """Names of the columns that have been read or are being read."""
        with self._lock:
            begun = {name for names, _ in self._under_way for name in names}
            return begun | {*self._layouts}

    def get(self, name: str) -> Any:
        """The layout of a column; waits until it is read.

        Raises:
            KeyInFileError: no column has that name.
        """
        if self._begin([name], optional=False) and self.on_new is not None:
            self.on_new(self, {name})
        with self._lock:
            for begun in [begun for begun in self._under_way if name in begun[0]]:
                self._under_way.remove(begun)
                self._take(next(begun[1], {}))
            if name not in self._layouts:
                self._take(self._selection([name]).read(*self.entries))
            return self._layouts[name]

    def forget(self, name: str) -> None:
        """Drops a column that has been read."""
        with self._lock:
            self._layouts.pop(name, None)

    def stored_bytes(self, names: Iterable[str]) -> int:
        """Bytes that the file stores for the entries of these columns."""
        planned = self._selection(sorted(names)).plan(*self.entries) if names else []
        return sum(column.stored_bytes for each in planned for column in each.columns)

    def _take(self, arrays: dict[str, Any]) -> None:
        self._layouts.update({name: array.layout for name, array in arrays.items()})

    def _selection(self, names: Iterable[str], optional: bool = False) -> Selection:
        columns = [one(name, self.table[name]._info, optional) for name in names]
        return Selection(self.table, columns, None, Awkward(), dict)


class HabitKey(NamedTuple):
    """A key that is equal for chunks whose processors probably access the same columns."""

    dataset: str
    object_path: str
    schemaclass: Any
    #: Name of the processor, under which the store keeps its columns; None to keep none.
    program: str | None


class Habits:
    """The columns that processors accessed in their last chunks; before the first chunk, those that
    the store has of an earlier run."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: Columns of the last two chunks: the last one may still be in progress.
        self._touched: dict[HabitKey, list[set[str]]] = {}
        #: Columns that the store has.
        self._stored: dict[HabitKey, set[str]] = {}

    def likely(self, key: HabitKey, table: Tree | RNTuple) -> set[str]:
        """The columns that the next chunk will probably need."""
        with self._lock:
            if key not in self._touched and key.program is not None:
                self._stored[key] = {*table._live().columns_read_by(key.program)}
                self._touched[key] = [self._stored[key]]
            return {name for touched in self._touched.get(key, []) for name in tuple(touched)}

    def begin(self, key: HabitKey) -> set[str]:
        """Begins a chunk; returns the set to which the caller adds the columns that it accesses."""
        touched: set[str] = set()
        with self._lock:
            self._touched[key] = [*self._touched.get(key, []), touched][-2:]
        return touched

    def keep(self, key: HabitKey, table: Tree | RNTuple, touched: Iterable[str]) -> None:
        """Stores the columns of a chunk for the processor's next run, unless the store has them."""
        accessed = {*touched}
        with self._lock:
            is_stored = not accessed or self._stored.get(key) == accessed
            self._stored[key] = accessed
        if not is_stored and key.program is not None:
            table._live().keep_columns_read_by(key.program, sorted(accessed))


HABITS = Habits()
