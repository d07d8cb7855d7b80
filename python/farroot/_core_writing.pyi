"""The part of the extension module that writes."""

from collections.abc import Sequence
from typing import Any, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from ._core import File
from ._core_columns import Column

@final
class Array:
    """One column, or a part of one, as it is written: a copy of the arrays that it was made of.

    Raises:
        InvalidArgumentError: where offsets, an index or lengths contradict each other.
        UnsupportedError: for unions without contents.
    """

    def __new__(cls, column: Column) -> Self: ...
    @staticmethod
    def parts(columns: Sequence[Column], start: int, stop: int) -> list[Array]:
        """The entries from ``start`` to ``stop`` of each column."""

    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def type(self) -> str:
        """As Awkward spells it: ``var * float32``."""

    def column(self) -> Column:
        """The same again, in memory of its own."""

#: Name, title, and an array of no entries.
_Columns = Sequence[tuple[str, str, Array]]

class _TableChoice(Protocol):
    """A user's options for one table."""

    title: str
    compression: tuple[int, int | None]
    cluster_entries: int | None
    cluster_bytes: int | None
    counters: dict[str, str]
    fields: dict[tuple[str, str], str]
    descriptions: dict[str, str]
    is_vector: bool

@final
class FileOptions:
    """How a file is written; the compression is ROOT's number, and the library's level or None."""

    def __new__(
        cls,
        title: str,
        compression: tuple[int, int | None],
        threads: int | None,
        memory_bytes: int | None,
        reproducible: bool,
        checkpoint_bytes: int | None,
    ) -> Self: ...
    def shared(self) -> FileOptions: ...

@final
class FileOutput:
    """A file that is being written. Dropped without ``finish`` nothing of it is kept."""

    @staticmethod
    def create(address: str, overwrite: bool, options: FileOptions) -> FileOutput: ...
    @staticmethod
    def update(address: str, options: FileOptions) -> FileOutput: ...
    def before(self) -> File: ...
    def make_directory(self, path: str) -> None: ...
    def put(self, path: str, written: WritableObject) -> None: ...
    def copy(self, path: str, source: File, at: str) -> None: ...
    def describe(self, source: File, classes: Sequence[tuple[str, int]] | None) -> None: ...
    def remove(self, path: str, cycle: int) -> None: ...
    def make_tree(self, path: str, columns: _Columns, choice: _TableChoice) -> TableOutput: ...
    def make_ntuple(self, path: str, columns: _Columns, choice: _TableChoice) -> TableOutput: ...
    def make_attribute_set(
        self, ntuple: TableOutput, name: str, columns: _Columns, choice: _TableChoice
    ) -> TableOutput: ...
    def grow(
        self, path: str, choice: _TableChoice
    ) -> tuple[TableOutput, list[tuple[str, str]], dict[str, str]]:
        """A table of the file as it was, names and types of its columns, and those that count
        others."""

    def progress(self) -> tuple[int, int]: ...
    def finish(self) -> tuple[str, str]:
        """The report of the finished file, as JSON and as text."""

    def abandon(self) -> None: ...

@final
class TableOutput:
    """A table of a file that is being written."""

    def set_compression(self, column: int | None, compression: tuple[int, int | None]) -> None: ...
    def extend(self, columns: Sequence[Array]) -> None: ...
    def extend_plain(self, data: dict[str, Any]) -> bool: ...
    def add_columns(self, columns: _Columns, arrays: Sequence[Array]) -> None: ...
    @property
    def num_entries(self) -> int: ...

@final
class CopiedObject:
    """An object of another file, as it is there."""

    @staticmethod
    def of(source: File, path: str, position: int, classname: str) -> CopiedObject: ...
    def named(self, name: str) -> WritableObject: ...

@final
class WritableObject:
    """An object that can be put into a file."""

    @staticmethod
    def text(text: str) -> WritableObject: ...
    @staticmethod
    def list(name: str, items: Sequence[WritableObject]) -> WritableObject: ...
    @staticmethod
    def histogram(
        name: str,
        title: str,
        axes: tuple[Sequence[tuple[Any, ...]], int],
        cells: Array,
        squares: NDArray[np.float64],
        entries: float,
        sums: Sequence[float],
        profile: tuple[NDArray[np.float64], NDArray[np.float64], int, tuple[float, float]] | None,
        limits: tuple[float, float],
        drawn: dict[str, Any],
    ) -> WritableObject:
        """Of the axes so many are its own; ``sums`` in ROOT's order; ``drawn`` has the other
        members by their names."""

    @staticmethod
    def graph(
        name: str,
        title: str,
        points: tuple[NDArray[np.float64], NDArray[np.float64]],
        errors: Sequence[NDArray[np.float64]],
        limits: tuple[float, float],
        drawn: dict[str, Any],
    ) -> WritableObject: ...

@final
class CopyProgress:
    def __new__(cls) -> CopyProgress: ...
    def files(self) -> list[tuple[int, int] | None]:
        """Bytes that are here and in all, of each file that has been begun."""

@final
class Upload:
    def __new__(cls, address: str, overwrite: bool, append: bool) -> Upload: ...
    def write(self, content: bytes) -> None: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...
