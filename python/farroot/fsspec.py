"""A filesystem of fsspec over farroot: ``farroot://host//path``, and what `install` gives it.

Its paths are addresses with their protocol, as those of fsspec's HTTP filesystem are.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from . import _core
from ._addresses import expanded
from ._credentials import Access
from ._held import Lease
from ._types import CREDENTIALS
from .errors import ConnectionFailedError, Error, NotFoundError, UnsupportedError

try:
    from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
except ImportError as error:
    raise ImportError("farroot.fsspec is for fsspec: pip install 'farroot[fsspec]'") from error

if TYPE_CHECKING:
    from .ranges import Range

#: Files that are opened at a time where bytes of many are wanted.
_OPENS_MAX = 16


class FileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Files of all protocols that farroot reads, for those who read through fsspec.

    ``farroot://host//path`` is ``root://host//path``; behind ``farroot::`` or
    :func:`farroot.install` addresses keep their own protocol. Files are read, not written
    (:func:`farroot.copy` does that). Each file far away stays open for up to a minute after its
    last use, so that reading more of it costs no second open.

    Args:
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`, for all files.
        options: Those of fsspec.
    """

    protocol = ("farroot", "root", "roots", "xroot", "xroots")
    root_marker = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        others = {name: options[name] for name in options.keys() - CREDENTIALS}
        super().__init__(*args, **others)
        self._access = Access.among(options)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        address = os.fspath(path)
        if address.startswith("farroot://"):
            address = f"root://{address.removeprefix('farroot://')}"
        return address if address.endswith("//") else address.rstrip("/")

    def unstrip_protocol(self, name: str) -> str:
        return str(self._strip_protocol(name))

    @classmethod
    def _parent(cls, path: str) -> str:
        parent, slash, _ = cls._strip_protocol(path).rpartition("/")
        return str(parent + slash if parent.endswith(("/", ":")) else parent)

    def _lease(self, path: str) -> Lease:
        return Lease(self._address(path))

    def _address(self, path: str) -> str:
        return self._access.added_to(expanded(self._strip_protocol(path)))

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        """The bytes of one file, or of one range of it; as :meth:`cat_ranges`."""
        (content,) = self._cat_of_one(path, [(start, end)])
        return content

    def cat_ranges(
        self,
        paths: list[str],
        starts: int | list[int | None] | None,
        ends: int | list[int | None] | None,
        max_gap: int | None = None,
        batch_size: int | None = None,
        on_error: str = "return",
        **_: Any,
    ) -> list[Any]:
        """The bytes of many ranges: those of one file are asked for together, several files are
        opened side by side.

        Args:
            starts, ends: First and last byte (half open) of each; None is the beginning or the
                end of the file, negative numbers count from its end.
            max_gap, batch_size: Taken, and without effect: farroot itself decides what is asked
                for together.
            on_error: ``"return"`` gives the exception in place of the bytes of each range of a
                file that cannot be read; ``"raise"`` raises it.
        """
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(paths) == len(starts) == len(ends):
            raise ValueError("as many starts and ends are needed as there are paths")
        wanted: dict[str, list[int]] = {}
        for number, path in enumerate(paths):
            wanted.setdefault(path, []).append(number)

        def read(path: str) -> list[Any]:
            ranges = [(starts[number], ends[number]) for number in wanted[path]]
            try:
                return self._cat_of_one(path, ranges)
            except Error as error:
                if on_error != "return":
                    raise
                return [error] * len(ranges)

        found: list[Any] = [None] * len(paths)
        for path, contents in zip(wanted, _side_by_side(read, list(wanted)), strict=True):
            for number, content in zip(wanted[path], contents, strict=True):
                found[number] = content
        return found

    def _cat_of_one(self, path: str, ranges: list[tuple[int | None, int | None]]) -> list[bytes]:
        lease = self._lease(path)
        try:
            size = lease.file.size
            within = [_within(start, end, size) for start, end in ranges]
            return [bytes(buffer) for buffer in lease.read(within)]
        finally:
            lease.close()

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """What is in a directory of a disk, an XRootD server or a bucket; a file is itself.

        Raises:
            UnsupportedError: for servers that list nothing.
        """
        path = self._strip_protocol(path)
        if path not in self.dircache:
            try:
                listed = _core.listed(self._address(path))
            except Error:
                return [self._file_info(path)] if detail else [path]
            above = path if path.endswith("/") else f"{path}/"
            self.dircache[path] = [_entry(above, *each) for each in listed]
        entries = self.dircache[path]
        return list(entries) if detail else [entry["name"] for entry in entries]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size in bytes and type; of a file also when it was changed (``mtime``).

        Raises:
            FileNotFoundError: where there is nothing of that name.
        """
        path = self._strip_protocol(path)
        try:
            return self._file_info(path)
        except (ConnectionFailedError, UnsupportedError):
            raise
        except Error as error:
            try:
                _core.listed(self._address(path))
            except Error:
                raise error from None
            return {"name": path, "size": 0, "type": "directory"}

    def _file_info(self, path: str) -> dict[str, Any]:
        lease = self._lease(path)
        file = lease.file
        lease.close()
        found = {"name": path, "size": file.size, "type": "file", "mtime": file.modified}
        return {**found, "version": file.version}

    def exists(self, path: str, **_: Any) -> bool:
        try:
            self.info(path)
        except NotFoundError:
            return False
        return True

    def glob(self, path: str, maxdepth: int | None = None, **options: Any) -> Any:
        """The files that a pattern names, with ``*``, ``[]`` and ``{a,b}``."""
        said = self._address(path).removeprefix(expanded(self._strip_protocol(path)))
        names = [each.removesuffix(said) for each in _core.matching(self._address(path))]
        if not _core.is_glob(path) and not self.exists(path):
            names = []
        return {name: self.info(name) for name in names} if options.get("detail") else names

    def modified(self, path: str) -> Any:
        from datetime import UTC, datetime

        changed = self.info(path).get("mtime")
        if changed is None:
            raise UnsupportedError(f"the server does not say when it was changed: {path}")
        return datetime.fromtimestamp(changed, UTC)

    def ukey(self, path: str) -> str:
        """What distinguishes this version of a file from others."""
        info = self.info(path)
        return f"{info['size']}-{info.get('mtime')}-{info.get('version')}"

    def _open(self, path: str, mode: str = "rb", **options: Any) -> BufferedFile:
        if mode != "rb":
            raise UnsupportedError(f"mode {mode!r}: farroot's filesystem only reads: {path}")
        options.pop("autocommit", None)
        return BufferedFile(self, path, mode, **options)


class BufferedFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file object that reads ahead, as fsspec's do; ``cache_type`` and ``block_size`` say how."""

    def __init__(self, fs: FileSystem, path: str, mode: str = "rb", **options: Any) -> None:
        self._lease = fs._lease(path)
        options.setdefault("size", self._lease.file.size)
        super().__init__(fs, path, mode, **options)

    def _fetch_range(self, start: int, end: int) -> bytes:
        (buffer,) = self._lease.read([_within(start, end, self._lease.file.size)])
        return bytes(buffer)

    def close(self) -> None:
        super().close()
        if (lease := getattr(self, "_lease", None)) is not None:
            lease.close()


def _side_by_side(read: Any, paths: list[str]) -> list[Any]:
    if len(paths) == 1:
        return [read(paths[0])]
    with ThreadPoolExecutor(min(_OPENS_MAX, len(paths) or 1)) as threads:
        return list(threads.map(read, paths))


def _within(start: int | None, end: int | None, size: int) -> Range:
    """A range as Python's slices have it."""
    first, last, _ = slice(start, end).indices(size)
    return first, max(first, last)


def _entry(
    above: str, name: str, size: int | None, is_directory: bool | None, mtime: float | None
) -> dict[str, Any]:
    kind = "directory" if is_directory else "file"
    return {"name": f"{above}{name}", "size": size, "type": kind, "mtime": mtime}
