"""Common methods of directories and tables of a file that is being written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from .._uproot import Explaining

if TYPE_CHECKING:
    from .writable import WritableFile


class Within(Explaining):
    """Something in a file that is being written; as a context manager, it closes the file."""

    def __init__(self, file: WritableFile, path: tuple[str, ...]) -> None:
        self._file = file
        self._path = path

    @property
    def file(self) -> WritableFile:
        """The file that is being written."""
        return self._file

    @property
    def file_path(self) -> str | None:
        """The path or address of the file; None for a file-like object."""
        return self._file.file_path

    @property
    def closed(self) -> bool:
        """Whether the file has been closed."""
        return self._file.closed

    def close(self) -> None:
        """Writes the rest and gives the file its name: before, there is no such file."""
        self._file.close()

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._file.__exit__(*raised)
