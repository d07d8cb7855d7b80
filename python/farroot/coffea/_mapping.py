"""The mapping from which coffea's virtual arrays take their buffers, which farroot reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import uproot
from coffea.nanoevents.mapping.base import BaseSourceMapping, UUIDOpener

from .._addresses import expanded
from .._awkward import ak
from .._kinds import open_table
from ..errors import ChangedError
from ..handler import Source
from ._forms import columns_of
from ._reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..ntuple import RNTuple
    from ..tree import Tree


def uuid_text(table: Tree | RNTuple) -> str:
    """The UUID of the file that a table is in, as coffea writes it."""
    return str(table.file.uuid)


class Opener(UUIDOpener):  # type: ignore[misc]
    """Opens a file again in a process that has received NanoEvents."""

    def __init__(self, uuid: str, url: str) -> None:
        super().__init__({uuid: expanded(url)})

    def open_uuid(self, uuid: str) -> _Tables:
        return _Tables(uuid, self._uuid_pfnmap[uuid])


class _Tables:
    """The trees and RNTuples of a file."""

    def __init__(self, uuid: str, url: str) -> None:
        self._uuid, self._url = uuid, url

    def __getitem__(self, path: str) -> Tree | RNTuple:
        table = cast("Tree | RNTuple", open_table(self._url, path.strip("/")))
        if uuid_text(table) != self._uuid:
            error = ChangedError(
                f"another file than that of which the NanoEvents are; in {table.url}"
            )
            error.url = table.url
            raise error
        return table


class SourceMapping(BaseSourceMapping):  # type: ignore[misc]
    """The buffers of a range of entries of a tree or an RNTuple, by coffea's keys."""

    #: The open file of the events. For an address: None until the first access.
    _handle: Any

    def __init__(
        self,
        reader: Reader,
        touched: set[str],
        preloaded: set[str] | None,
        **options: Any,
    ) -> None:
        table = reader.table
        self._uuid, self._path, self._url = uuid_text(table), table.object_path, table._url
        super().__init__(Opener(self._uuid, table._url), *reader.entries, cache={}, **options)
        self.preload_column_source(self._uuid, self._path, table)
        self._reader: Reader | None = reader
        self._touched = touched
        self._preloaded = preloaded

    @classmethod
    def _extract_base_form(
        cls, source: Tree | RNTuple, iteritems_options: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return columns_of(source, iteritems_options or {}).base_form

    @property
    def _file_handle(self) -> Any:
        """The open file that coffea's factories have as ``file_handle``.

        For an address it is a file of uproot, as in coffea's own mapping. It reads through
        farroot, and is opened at the first access.
        """
        if self._handle is None:
            self._handle = uproot.open({self._url: None}, handler=Source).file
        return self._handle

    @_file_handle.setter
    def _file_handle(self, handle: Any) -> None:
        self._handle = handle

    @property
    def table(self) -> Tree | RNTuple:
        """The tree or RNTuple from which the buffers are read."""
        table: Tree | RNTuple = self._column_source(self._uuid, self._path)
        return table

    @property
    def preloaded_arrays(self) -> dict[str, Any] | None:
        """The preloaded columns by name, as in coffea's own mapping; None without ``preload``."""
        if self._preloaded is None:
            return None
        return {name: ak.Array(self._read(name)) for name in sorted(self._preloaded)}

    def key_root(self) -> str:
        return "farroot:"

    def get_column_handle(
        self, columnsource: Tree | RNTuple, name: str, allow_missing: bool
    ) -> str | None:
        return None if allow_missing and name not in columnsource else name

    def extract_column(
        self, columnhandle: str | None, start: int, stop: int, allow_missing: bool, **_: Any
    ) -> Any:
        if columnhandle is None:
            nothing = ak.contents.NumpyArray(np.array([], dtype=bool))
            return ak.contents.IndexedOptionArray(_index(np.full(stop - start, -1)), nothing)
        self._touched.add(columnhandle)
        layout = self._read(columnhandle)
        if isinstance(layout, ak.contents.ListOffsetArray):
            layout = layout.to_ListOffsetArray64(True)
        if allow_missing:
            layout = ak.contents.IndexedOptionArray(_index(np.arange(stop - start)), layout)
        return ak.Array(layout)

    def _read(self, name: str) -> Any:
        if self._reader is None:
            # This process has received the NanoEvents from another one.
            self._reader = Reader(self.table, self._start, self._stop)
        layout = self._reader.get(name)
        if self._buffer_cache is not None:
            # The cache keeps the buffers, perhaps compressed.
            self._reader.forget(name)
        return layout

    def __len__(self) -> int:
        return int(self._stop - self._start)

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError("coffea's mappings of buffers cannot be listed")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reader": None}


def _index(numbers: Any) -> Any:
    return ak.index.Index64(numbers.astype(np.int64))
