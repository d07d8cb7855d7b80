"""Places that take a file when it is whole: file-like objects, and files of fsspec."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from contextlib import suppress
from typing import Any

from .._addresses import path_text

#: Schemes of addresses that farroot writes to by itself.
_OWN = frozenset(
    (
        *("root", "roots", "xroot", "xroots", "http", "https", "dav", "davs", "s3", "osdf"),
        "pelican",
    )
)


def place(target: Any, is_read: bool) -> tuple[str, TemporaryCopy | None]:
    """Where a file is written, and the copy that copies it to its target at the end.

    Args:
        target: The place, as a user names it.
        is_read: Whether there is a file that is added to.
    """
    if not isinstance(target, (str, os.PathLike)) and hasattr(target, "write"):
        copy = TemporaryCopy(target, str(getattr(target, "name", "")), is_read)
        return copy.path, copy
    address = path_text(target)
    if address.startswith("file:") and "::" not in address:
        # As in fsspec, the rest is the path itself: no % stands for another character.
        address = address.removeprefix("file:").removeprefix("//")
    scheme, is_address, _ = address.partition("://")
    if "::" in address or (is_address and scheme not in _OWN):
        import fsspec

        copy = TemporaryCopy(None, address, is_read, fsspec.open(address, "wb"))
        return copy.path, copy
    if not is_address:
        os.makedirs(os.path.dirname(address) or ".", exist_ok=True)
    return address, None


def _start_over(file: Any) -> None:
    """Goes to the beginning, and removes the earlier content, as far as a file-like object can."""
    is_seekable = getattr(file, "seekable", None)
    if not hasattr(file, "seek") or (is_seekable is not None and not is_seekable()):
        return
    file.seek(0)
    with suppress(AttributeError, io.UnsupportedOperation):
        file.truncate()


class TemporaryCopy:
    """A file on the local disk that stands for another place.

    Args:
        file: A file-like object; None where ``opened`` gives it.
        name: The name of the file there.
        is_read: Whether the existing content is the beginning.
        opened: Something of fsspec that is a file in ``with``.
    """

    def __init__(self, file: Any, name: str, is_read: bool, opened: Any = None) -> None:
        self._file = file
        self._opened = opened
        self._folder = tempfile.TemporaryDirectory(prefix="farroot-")
        self.path = os.path.join(self._folder.name, os.path.basename(name) or "file.root")
        if is_read:
            self._fetch()

    def _fetch(self) -> None:
        with open(self.path, "wb") as copy:
            if self._opened is None:
                self._file.seek(0)
                shutil.copyfileobj(self._file, copy)
            else:
                with self._opened.fs.open(self._opened.path, "rb") as there:
                    shutil.copyfileobj(there, copy)

    def exists(self) -> bool:
        """Whether there is a file of that name already."""
        return self._opened is not None and self._opened.fs.exists(self._opened.path)

    def pour(self) -> None:
        """Writes the file to its place, from the beginning on."""
        with open(self.path, "rb") as copy:
            if self._opened is not None:
                parent = self._opened.fs._parent(self._opened.path)
                self._opened.fs.makedirs(parent, exist_ok=True)
                with self._opened as file:
                    shutil.copyfileobj(copy, file)
                return
            _start_over(self._file)
            shutil.copyfileobj(copy, self._file)
            self._file.flush()

    def close(self) -> None:
        """Removes the local file that stands for it."""
        self._folder.cleanup()
