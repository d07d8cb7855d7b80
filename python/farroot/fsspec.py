"""A filesystem of fsspec over farroot: ``farroot://host//path``, and the protocols of `install`.

Its paths are addresses with their protocol, as those of fsspec's HTTP filesystem are.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any

from . import _core
from ._addresses import expanded
from ._credentials import Access
from ._held import HELD, Lease
from ._limits import OPENS_MAX
from ._locks import cached_property
from ._shown import shown
from ._types import CREDENTIALS
from .errors import (
    ConnectionFailedError,
    Error,
    ExistsError,
    IgnoredArgumentWarning,
    InvalidArgumentError,
    NotFoundError,
    NotInstalledError,
    ReadError,
    UnsupportedError,
    warn,
)

try:
    from fsspec.callbacks import DEFAULT_CALLBACK
    from fsspec.core import has_magic
    from fsspec.spec import AbstractBufferedFile, AbstractFileSystem
except ImportError as error:
    raise NotInstalledError(
        "farroot.fsspec is for fsspec: pip install 'farroot[fsspec]'"
    ) from error

if TYPE_CHECKING:
    from .ranges import Range

#: Options of every filesystem, which fsspec itself takes.
_OPTIONS = frozenset(
    (
        *("use_listings_cache", "listings_expiry_time", "max_paths", "skip_instance_cache"),
        *("asynchronous", "loop", "batch_size", "add_docs", "add_aliases"),
    )
)
#: Addresses as they were before their secrets were left out, of this process.
_WHOLE: dict[str, str] = {}
#: Addresses of which a directory can be opened as a file can.
_WITH_PAGES = ("http:", "https:", "dav:", "davs:", "osdf:", "pelican:")


class FileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Files of all protocols that farroot reads, for those who read through fsspec.

    ``farroot://host//path`` is ``root://host//path``; behind ``farroot::`` or
    :func:`farroot.install` addresses keep their own protocol. A file that is written is whole under
    its name, or not there. Each file far away stays open for up to a minute after its last use, so
    that reading more of it costs no second open.

    Args:
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`, for all files.
        hostid: As fsspec-xrootd has it: the server, ``host`` or ``host:port``, of paths without a
            protocol, which are otherwise those of the local disk.
        options: Those of fsspec. Options of other filesystems have no effect, with an
            :class:`~farroot.IgnoredArgumentWarning`.
    """

    protocol = ("farroot", "root", "roots", "xroot", "xroots")
    root_marker = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        others = {name: options[name] for name in options.keys() - CREDENTIALS - {"hostid"}}
        super().__init__(*args, **others)
        self._access = Access.among(options)
        self._hostid: str | None = options.get("hostid")
        if not isinstance(self._hostid, str | None):
            raise InvalidArgumentError(f"hostid is host or host:port, not {self._hostid!r}")
        if unknown := sorted(others.keys() - _OPTIONS):
            said = f"options that farroot's filesystem does not have: {', '.join(unknown)}"
            warn(said, IgnoredArgumentWarning)

    def __reduce__(self) -> tuple[Any, ...]:
        options = self.storage_options
        others = {name: options[name] for name in options.keys() - CREDENTIALS}
        return _file_system, (type(self), self.storage_args, others, self._access)

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        address = os.fspath(path)
        if address.startswith("farroot://"):
            address = f"root://{address.removeprefix('farroot://')}"
        if "://" in address and (told := _core.for_others(address)) != address:
            # Names are given on, also in pickles.
            _WHOLE[told] = address
            return told
        return address if address.endswith("//") else address.rstrip("/")

    def unstrip_protocol(self, name: str) -> str:
        return str(self._strip_protocol(name))

    @classmethod
    def _parent(cls, path: str) -> str:
        parent, slash, _ = cls._strip_protocol(path).rpartition("/")
        return str(parent + slash if parent.endswith(("/", ":")) else parent)

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        """Called for an address that a user gives; there are no options in it."""
        scheme, mark, rest = os.fspath(path).partition("://")
        # Of `farroot::https://...` the first part is an address without a server.
        if mark and not rest and scheme != "farroot":
            raise InvalidArgumentError(f"an address names a server: {scheme}://host//path")
        return {}

    def _lease(self, path: str) -> Lease:
        return Lease(self._address(path))

    def _address(self, path: str) -> str:
        address = self._strip_protocol(path)
        if self._hostid is not None and "://" not in address:
            address = f"root://{self._hostid}//{address.lstrip('/')}"
        return self._access.added_to(expanded(address))

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
        """The bytes of many ranges: those of one file are requested together, several files are
        opened side by side.

        Args:
            starts, ends: First and last byte (half open) of each; None is the beginning or the
                end of the file, negative numbers count from its end.
            max_gap, batch_size: Taken, and without effect: farroot itself decides which ranges are
                requested together.
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

    def ls(self, path: str, detail: bool = True, refresh: bool = False, **_: Any) -> list[Any]:
        """Files and directories in a directory of a disk, an XRootD server or a bucket; of a file
        the file itself.

        Args:
            refresh: Whether a directory that has been listed is requested from the server again.

        Raises:
            FileNotFoundError: where there is nothing of that name.
            UnsupportedError: for servers that list nothing.
        """
        path = self._strip_protocol(path)
        entries = None if refresh else self._ls_from_cache_of(path)
        if entries is None:
            try:
                listed = _core.listed(self._address(path))
            except ConnectionFailedError:
                raise
            except Error:
                # Also a file is listed; of anything else this error says what is wrong.
                info = self._file_info(path)
                return [info] if detail else [path]
            above, mark, query = _WHOLE.get(path, path).partition("?" if "://" in path else "\0")
            above = above if above.endswith("/") else f"{above}/"
            # The cache of listings may keep none.
            entries = [_entry(above, *each) for each in listed]
            for entry in entries:
                entry["name"] = self._strip_protocol(entry["name"] + mark + query)
            self.dircache[path] = entries
        return list(entries) if detail else [entry["name"] for entry in entries]

    def tree(self, path: str = "/", *args: Any, **options: Any) -> str:
        # fsspec begins with the path as it is given.
        return str(super().tree(self._strip_protocol(path), *args, **options))

    def _ls_from_cache_of(self, path: str) -> list[Any] | None:
        try:
            return list(self.dircache[path])
        except KeyError:
            return None

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forgets directories that have been listed, and files that are open between calls.

        Args:
            path: Of this file or directory, and of all below it; None is all.
        """
        if path is None:
            self.dircache.clear()
            HELD.forget_all()
        else:
            path = self._strip_protocol(path)
            for known in [each for each in self.dircache if each.startswith(path)]:
                self.dircache.pop(known)
            self.dircache.pop(self._parent(path), None)
            self.dircache.pop(self._parent(path).rstrip("/"), None)
            HELD.forget_all(self._address(path))
        super().invalidate_cache(path)

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Name, size in bytes and type; of a file also when it was changed (``mtime``).

        Raises:
            FileNotFoundError: where there is nothing of that name.
        """
        path = self._strip_protocol(path)
        # Servers of HTTP answer requests for a directory with a page, as for a file.
        if self._address(path).startswith(_WITH_PAGES) and self._is_listed(path):
            return _folder(path)
        try:
            return self._file_info(path)
        except (ConnectionFailedError, UnsupportedError):
            raise
        except Error:
            if not self._is_listed(path):
                raise
            return _folder(path)

    def _is_listed(self, path: str) -> bool:
        try:
            _core.listed(self._address(path))
        except ConnectionFailedError:
            raise
        except Error:
            return False
        return True

    def _file_info(self, path: str) -> dict[str, Any]:
        lease = self._lease(path)
        file = lease.file
        lease.close()
        return {"name": path, "size": file.size, "type": "file", "mtime": file.modified}

    def exists(self, path: str, **_: Any) -> bool:
        try:
            self.info(path)
        except NotFoundError:
            return False
        return True

    def glob(self, path: str, maxdepth: int | None = None, **options: Any) -> Any:
        """The files that a pattern names, with ``*``, ``**``, ``[]`` and ``{a,b}``."""
        _, mark, query = path.partition("?")
        is_letter = bool(mark) and "=" not in query
        if "**" in path or maxdepth is not None or is_letter:
            # fsspec's meaning of them: `**` also stands for files, and `?` for a letter.
            return super().glob(path, maxdepth=maxdepth, **options)
        address, plain = self._address(path), self._strip_protocol(path)
        found = _core.matching(address)
        if self._hostid is not None and "://" not in plain:
            server = f"root://{self._hostid}//"
            said = address.removeprefix(server + plain.lstrip("/"))
            slash = "/" if plain.startswith("/") else ""
            names = [slash + each.removesuffix(said).removeprefix(server) for each in found]
        else:
            said = address.removeprefix(expanded(plain))
            names = [each.removesuffix(said) for each in found]
        if not _core.is_glob(path):
            names = [name for name in names if self.exists(name)]
        return {name: self.info(name) for name in names} if options.get("detail") else names

    def modified(self, path: str) -> Any:
        from datetime import UTC, datetime

        changed = self.info(path).get("mtime")
        if changed is None:
            raise UnsupportedError(f"the server does not say when it was changed: {path}")
        return datetime.fromtimestamp(changed, UTC)

    def ukey(self, path: str) -> str:
        """A text that distinguishes this version of a file from others."""
        info = self.info(path)
        version = None
        if info["type"] == "file":
            lease = self._lease(self._strip_protocol(path))
            version = lease.file.version
            lease.close()
        return f"{info['size']}-{info.get('mtime')}-{version}"

    def mkdir(self, path: str, create_parents: bool = True, **_: Any) -> None:
        """Makes a directory, with those above it unless ``create_parents`` is false. S3 has none.

        Raises:
            ExistsError: where something has this name.
            NotFoundError: where the directory above is missing, and is not to be made.
        """
        path = self._strip_protocol(path)
        if self.exists(path):
            raise ExistsError(f"it is there already: {path}")
        if not create_parents and not self.isdir(self._parent(path)):
            raise NotFoundError(f"the directory above is not there: {path}")
        self._change(lambda: _core.make_folder(self._address(path)), path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Makes a directory, with those above it. S3 has none.

        Raises:
            ExistsError: where something has this name, unless it is a directory and may be there.
        """
        path = self._strip_protocol(path)
        if self.exists(path):
            if exist_ok and self.isdir(path):
                return
            raise ExistsError(f"it is there already: {path}")
        self._change(lambda: _core.make_folder(self._address(path)), path)

    def rmdir(self, path: str) -> None:
        """Removes an empty directory."""
        self._change(lambda: _core.remove_folder(self._address(path)), path)

    def rm_file(self, path: str) -> None:
        """Removes a file."""
        self._change(lambda: _core.remove(self._address(path)), path)

    def rm(
        self, path: str | list[str], recursive: bool = False, maxdepth: int | None = None
    ) -> None:
        """Removes files; with ``recursive`` also directories, with all that is below them."""
        for each in reversed(self.expand_path(path, recursive=recursive, maxdepth=maxdepth)):
            if recursive and self.isdir(each):
                self.rmdir(each)
            else:
                self.rm_file(each)

    def mv(
        self,
        path1: str,
        path2: str,
        recursive: bool = False,
        maxdepth: int | None = None,
        **options: Any,
    ) -> None:
        """Renames a file or directory; where a server renames nothing, it is copied and removed."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if source == target:
            return
        if not has_magic(source) and maxdepth is None:
            if path2.endswith("/") or self.isdir(target):
                target = f"{target.rstrip('/')}/{source.rstrip('/').rpartition('/')[2]}"
            try:
                renamed = self._address(source), self._address(target)
                self._change(lambda: _core.rename(*renamed), source, target)
            except UnsupportedError:
                pass
            else:
                return
        super().mv(path1, path2, recursive=recursive, maxdepth=maxdepth, **options)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """Copies a file, or makes a directory where ``path1`` is one."""
        source, target = self._strip_protocol(path1), self._strip_protocol(path2)
        if self.isdir(source):
            self.makedirs(target, exist_ok=True)
        else:
            self._put(self._address(source), target)

    def put_file(
        self,
        lpath: str,
        rpath: str,
        callback: Any = DEFAULT_CALLBACK,
        mode: str = "overwrite",
        **_: Any,
    ) -> None:
        """Copies a file of the local disk here; ``mode="create"`` replaces none."""
        if os.path.isdir(lpath):
            self.makedirs(rpath, exist_ok=True)
            return
        size = os.path.getsize(lpath)
        callback.set_size(size)
        local = Path(os.path.abspath(lpath)).as_uri().replace("|", "%7C")
        if local.endswith((".meta4", ".metalink")):
            # The Metalink itself, not the file that it leads to.
            with open(lpath, "rb") as source, self.open(rpath, _written_as(mode)) as target:
                copyfileobj(source, target)
            return
        self._put(local, self._strip_protocol(rpath), mode != "create")
        callback.absolute_update(size)

    def _put(self, source: str, target: str, overwrite: bool = True) -> None:
        """Copies one file, whatever its name ends with."""
        if overwrite is False and self.exists(target):
            raise ExistsError(f"it is there already: {target}")
        address = self._address(target)
        self._make_parent(target)
        how = overwrite, False, False, False, False, None, None

        def copied() -> None:
            (outcome,) = _core.copy([source], address, *how)
            if isinstance(outcome, Error):
                raise outcome

        self._change(copied, target)

    def touch(self, path: str, truncate: bool = True, **options: Any) -> None:
        """Makes an empty file; without ``truncate`` one that is there is an error.

        Raises:
            UnsupportedError: where a file would only get another time.
        """
        if not truncate and self.exists(path):
            raise UnsupportedError(f"the time of a file is not changed, only its bytes: {path}")
        super().touch(path, truncate=truncate, **options)

    def _make_parent(self, path: str) -> None:
        """Of servers of XRootD a file comes with the directories above it, and S3 has none."""
        parent = self._parent(path).rstrip("/")
        with_parents = ("root:", "roots:", "xroot:", "xroots:", "s3:")
        if parent and not self._address(path).startswith(with_parents) and not self.isdir(parent):
            _core.make_folder(self._address(parent))

    def _change(self, change: Callable[[], None], *paths: str) -> None:
        """Changes something; its cached facts are dropped. Where it is of another kind than the
        call is for, that is an OSError."""
        try:
            change()
        except InvalidArgumentError as error:
            raise ReadError(str(error)) from None
        finally:
            # Directories above it may have come, too.
            self.dircache.clear()
            for path in paths:
                HELD.forget_all(self._address(self._strip_protocol(path)))

    def _open(self, path: str, mode: str = "rb", **options: Any) -> BufferedFile:
        if mode == "rb":
            options.pop("autocommit", None)
            return BufferedFile(self, path, mode, **options)
        if mode not in ("wb", "xb", "ab"):
            raise UnsupportedError(f"mode {mode!r}: files are opened by rb, wb, xb or ab: {path}")
        if mode == "xb" and self.exists(path):
            raise ExistsError(f"it is there already: {path}")
        if self.isdir(path):
            raise ReadError(f"it is a directory: {path}")
        self._make_parent(path)
        return WrittenFile(self, path, mode, **options)


class BufferedFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file object with read-ahead, as fsspec's; ``cache_type`` and ``block_size`` choose how."""

    def __init__(self, fs: FileSystem, path: str, mode: str = "rb", **options: Any) -> None:
        self._leased = fs, path
        if options.get("size") is None:
            options["size"] = self._lease.file.size
        super().__init__(fs, path, mode, **options)

    @cached_property
    def _lease(self) -> Lease:
        """The file, opened with its first use where it comes out of a pickle."""
        fs, path = self._leased
        return fs._lease(path)

    def __reduce__(self) -> tuple[Any, ...]:
        again, (fs, path, *others) = super().__reduce__()
        return again, (fs, expanded(path), *others)

    def __str__(self) -> str:
        return shown(super().__str__())

    __repr__ = __str__

    def _fetch_range(self, start: int, end: int) -> bytes:
        (buffer,) = self._lease.read([_within(start, end, self._lease.file.size)])
        return bytes(buffer)

    def close(self) -> None:
        super().close()
        if (lease := self.__dict__.get("_lease")) is not None:
            lease.close()


class WrittenFile(AbstractBufferedFile):  # type: ignore[misc]
    """A file that is written forward. It has its name when it is closed; after an exception within
    ``with``, and when it is given up, nothing of it is left."""

    _upload: _core.Upload | None = None

    def _initiate_upload(self) -> None:
        append = self.mode == "ab" and self.fs.exists(self.path)
        address = self.fs._address(self.path)
        # Servers let no one write a file that is open for reading.
        HELD.forget_all(address)
        self._upload = _core.Upload(address, self.mode != "xb", append)

    def _upload_chunk(self, final: bool = False) -> bool:
        assert self._upload is not None
        if written := self.buffer.getvalue():
            self._upload.write(written)
        if final and self.autocommit:
            self.commit()
        return True

    def commit(self) -> None:
        """Gives the file its name."""
        if (upload := self._upload) is not None:
            self._upload = None
            self.fs._change(upload.finish, self.path)

    def discard(self) -> None:
        """Leaves nothing of it behind."""
        if (upload := self._upload) is not None:
            self._upload = None
            upload.abandon()

    def __exit__(self, *raised: Any) -> None:
        if raised[0] is not None:
            self.discard()
            self.closed = True
        self.close()


def _written_as(mode: str) -> str:
    return "xb" if mode == "create" else "wb"


def _folder(path: str) -> dict[str, Any]:
    return {"name": path, "size": 0, "type": "directory"}


def _file_system(
    kind: type[FileSystem], args: tuple[Any, ...], options: dict[str, Any], access: Access
) -> FileSystem:
    said = {name: getattr(access, name) for name in CREDENTIALS}
    usual = {field.name: field.default for field in fields(Access)}
    return kind(*args, **options, **{k: v for k, v in said.items() if v != usual[k]})


def _side_by_side(read: Any, paths: list[str]) -> list[Any]:
    if len(paths) == 1:
        return [read(paths[0])]
    with ThreadPoolExecutor(min(OPENS_MAX, len(paths) or 1)) as threads:
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
