"""The chunks of a run in their order, and the columns that are read ahead of its workers."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._reader import Reader

if TYPE_CHECKING:
    from coffea.processor.executor import WorkItem

    from ..ntuple import RNTuple
    from ..tree import Tree

#: Chunks after the present one whose columns are read ahead.
_AHEAD = 4


class Queue:
    """The chunks of a run in the order in which its workers take them, and their readers.

    It serves the threads of one process: a copy that is sent to another process is empty.
    """

    def __init__(self, items: Iterable[WorkItem] = ()) -> None:
        self._items = list(items)
        self._positions = {item: position for position, item in enumerate(self._items)}
        self._readers: dict[WorkItem, Reader] = {}
        self._taken: set[WorkItem] = set()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Queue, ()

    def take(self, item: WorkItem, table: Tree | RNTuple) -> Reader:
        """The reader of a chunk, whose work begins now."""
        with self._lock:
            self._taken.add(item)
            reader = self._readers.pop(item, None)
        return reader or Reader(table, item.entrystart, item.entrystop)

    def read_ahead(self, item: WorkItem, table: Tree | RNTuple, names: set[str]) -> None:
        """Begins to read columns of the next chunks that are in the same file."""
        position = self._positions.get(item)
        if position is None or not names:
            return
        following = self._items[position + 1 : position + 1 + _AHEAD]
        for each in following:
            if (each.filename, each.treename) != (item.filename, item.treename):
                continue
            with self._lock:
                if each in self._taken:
                    continue
                reader = self._readers.setdefault(
                    each, Reader(table, each.entrystart, each.entrystop)
                )
            reader.want(names)
