"""The chunks of a run in their order, and the columns that are prefetched for its workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._limits import AHEAD_BYTES, AHEAD_MAX, OPENS_MAX
from .._locks import Lock
from ..errors import Error
from ._reader import Reader

if TYPE_CHECKING:
    from coffea.processor.executor import WorkItem

    from ..ntuple import RNTuple
    from ..tree import Tree


@dataclass
class _Opening:
    """A file that is being opened."""

    future: Future[None]
    #: Columns to read of each of its chunks.
    wanted: dict[WorkItem, set[str]] = field(default_factory=dict)


class Queue:
    """The chunks of a run in the order in which its workers take them, and their readers.

    It serves the threads of one process: a copy that is sent to another process is empty.
    """

    def __init__(self, items: Iterable[WorkItem] = ()) -> None:
        self._items = list(items)
        self._positions = {item: position for position, item in enumerate(self._items)}
        #: Readers of chunks that no worker has taken yet.
        self._readers: dict[WorkItem, Reader] = {}
        self._opening: dict[tuple[str, str], _Opening] = {}
        self._taken: set[WorkItem] = set()
        self._lock = Lock()
        self._opens: ThreadPoolExecutor | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Queue, ()

    def take(self, item: WorkItem, opened: Callable[[WorkItem], Tree | RNTuple]) -> Reader:
        """The reader of a chunk, which a worker takes now.

        Args:
            opened: Opens the tree of a chunk.
        """
        with self._lock:
            opening = self._opening.get(_file(item))
            if opening is not None and opening.future.cancel():
                # The next prefetch opens it for the chunks that remain.
                del self._opening[_file(item)]
                opening = None
        if opening is not None:
            wait([opening.future])
        with self._lock:
            self._taken.add(item)
            reader = self._readers.pop(item, None)
        return reader or Reader(opened(item), item.entrystart, item.entrystop)

    def read_ahead(
        self,
        item: WorkItem,
        reader: Reader,
        names: set[str],
        opened: Callable[[WorkItem], Tree | RNTuple],
    ) -> None:
        """Begins to read columns of the chunks that follow ``item``; opens their files first.

        Args:
            reader: The reader of ``item``.
            names: The columns.
            opened: Opens the tree of a chunk.
        """
        if not names:
            return
        for each in self._following(item, reader):
            if _file(each) == _file(item):
                self._want(each, reader.table, names)
            else:
                self._open(each, names, opened)

    def close(self) -> None:
        """Ends the reads and opens of chunks that no worker has taken."""
        with self._lock:
            opens, self._opens = self._opens, None
            self._taken.update(self._items)
            self._readers.clear()
        if opens is not None:
            opens.shutdown(wait=False, cancel_futures=True)

    def _following(self, item: WorkItem, reader: Reader) -> Iterator[WorkItem]:
        """The chunks behind ``item`` that are to be prefetched and that no worker has taken."""
        position = self._positions.get(item)
        if position is None:
            return
        stored = reader.stored_bytes(reader.names())
        number = min(max(AHEAD_BYTES // max(stored, 1), 1), AHEAD_MAX)
        for each in self._items[position + 1 : position + 1 + number]:
            if each not in self._taken:
                yield each

    def _want(self, item: WorkItem, table: Tree | RNTuple, names: set[str]) -> None:
        with self._lock:
            if item in self._taken:
                return
            reader = self._readers.get(item)
            if reader is None:
                reader = Reader(table, item.entrystart, item.entrystop)
                self._readers[item] = reader
        reader.want(names)

    def _open(
        self, item: WorkItem, names: set[str], opened: Callable[[WorkItem], Tree | RNTuple]
    ) -> None:
        """Opens the file of a chunk in the background; then its columns are read."""
        with self._lock:
            reader = self._readers.get(item)
            if reader is None:
                opening = self._opening.get(_file(item))
                if opening is None:
                    self._opens = self._opens or ThreadPoolExecutor(OPENS_MAX, "farroot-opens")
                    opening = _Opening(self._opens.submit(self._opened, item, opened))
                    self._opening[_file(item)] = opening
                opening.wanted.setdefault(item, set()).update(names)
                return
        reader.want(names)

    def _opened(self, item: WorkItem, opened: Callable[[WorkItem], Tree | RNTuple]) -> None:
        try:
            table = opened(item)
        except Error:
            # The worker that takes a chunk of it opens the file itself, and reports the error.
            return
        finally:
            with self._lock:
                opening = self._opening.pop(_file(item))
        for each, names in opening.wanted.items():
            self._want(each, table, names)


def _file(item: WorkItem) -> tuple[str, str]:
    """The file and the tree of a chunk."""
    return item.filename, item.treename
