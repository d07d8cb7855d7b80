"""A collection of Dask, written as one file for each partition."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .._addresses import absolute, is_local
from .._imports import package
from .._ours import by_caller
from .._uproot import taken
from ..compression import LZ4, LZMA, ZLIB, ZSTD
from ..errors import ArgumentTypeError, InvalidArgumentError
from . import tables
from ._arguments import text
from ._folders import FolderAddress
from ._options import DEFAULT_COMPRESSION, Options
from .writable import begin_shared

if TYPE_CHECKING:
    from .._addresses import Address

#: uproot's names of the algorithms.
_ALGORITHMS = {"zlib": ZLIB, "lzma": LZMA, "lz4": LZ4, "zstd": ZSTD}


@taken
def dask_write(
    array: Any,
    destination: Address,
    compute: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    prefix: str | None = None,
    tree_name: str = "tree",
    title: str = "",
    field_name: Callable[[str, str], str] = tables.field_name,
    initial_basket_capacity: int | None = None,
    counter_name: Callable[[str], str] = tables.counter_name,
    resize_factor: float | None = None,
    compression: object = DEFAULT_COMPRESSION,
    compression_level: int | None = None,
    *,
    format: Literal["tree", "rntuple"] = "tree",  # noqa: A002
    **options: Any,
) -> Any:
    """Writes a collection of Dask as one file for each of its partitions, as ``uproot.dask_write``.

    The workers write the files ``part0.root``, ``part1.root``, ... of a folder. Each gets its name
    when it is complete, so a partition that Dask computes again replaces its file.
    :class:`SharedOutput` makes one file of all of them.

    Args:
        array: A collection of dask-awkward, a ``dask.dataframe``, or any other whose partitions
            (``to_delayed``) are data as :meth:`WritableTree.extend` takes them; or a list of
            ``dask.delayed``, such as :func:`farroot.dask` returns for partitions.
        destination: The folder: a path or an address to which all workers can write.
        compute: Whether the files are written at once.
        storage_options: uproot's, for fsspec: the address says where and how files are written.
        prefix: Names the files ``prefix-part0.root``, ...
        tree_name: The name of the table in each file, or its path.
        title: Of the table.
        field_name, counter_name, initial_basket_capacity, resize_factor: As for
            :meth:`WritableDirectory.mktree`.
        compression: As for :func:`farroot.recreate`; or, as in uproot, the name of an algorithm
            whose level is ``compression_level``.
        compression_level: The level of an algorithm that ``compression`` names, without it 1.
        format: The kind of table, ``"tree"`` or ``"rntuple"``.
        options: Further options of :func:`farroot.recreate`.

    Returns:
        The addresses of the files in the order of the partitions; with ``compute=False`` a
        ``dask.delayed`` that writes the files and has these as its result.

    Raises:
        InvalidArgumentError: for a collection without partitions.

    Example:
        >>> files = ["events.root:Events", "more.root:Events"]
        >>> events = farroot.dask(farroot.partitions(files, "MET_pt"))
        >>> [path.rpartition("/")[2] for path in farroot.dask_write(events, "parts", prefix="met")]
        ['met-part0.root', 'met-part1.root']
    """
    dask = package("dask.delayed", "'farroot[dask]'")
    if storage_options:
        raise InvalidArgumentError(
            "farroot takes no storage_options: the address says where files are written, and "
            "farroot.config has settings and credentials"
        )
    partitions = _partitions_of(array)
    if format not in ("tree", "rntuple"):
        raise InvalidArgumentError(f'format is "tree" or "rntuple", not {format!r}')
    made = {"compression": _compression(compression, compression_level), **options}
    Options.of(made)
    names = {"counter_name": counter_name, "field_name": field_name}
    table = {"title": text(title, "title"), **(names if format == "tree" else {})}
    write = _PartWriter(
        _folder(os.fspath(destination)),
        "" if prefix is None else text(prefix, "prefix") + "-",
        len(str(len(partitions) - 1)),
        text(tree_name, "tree_name"),
        "mktree" if format == "tree" else "mkrntuple",
        table,
        made,
    )
    task = dask.delayed(write, name="farroot.dask_write", pure=False)
    parts = [task(partition, number) for number, partition in enumerate(partitions)]
    written = dask.delayed(list, name="farroot.dask_write-all", pure=False)(parts)
    if not compute:
        return written
    with by_caller():
        return written.compute()


@dataclass(frozen=True)
class _PartWriter:
    """Writes a partition as a file; Dask sends it to its workers."""

    folder: FolderAddress
    prefix: str
    digits: int
    table: str
    make: str
    table_options: dict[str, Any]
    options: dict[str, Any]

    def __call__(self, data: Any, number: int) -> str:
        if is_local(self.folder.folder):
            os.makedirs(self.folder.folder, exist_ok=True)
        name = f"{self.prefix}part{number:0{self.digits}}.root"
        options = dict(self.table_options)
        if self.make == "mkrntuple":
            options["description"] = options.pop("title")
        # A scheduler starts a task again that a lost or slow worker may still run.
        with begin_shared(self.folder.file(name), Options.of(self.options)) as file:
            getattr(file, self.make)(self.table, data, **options)
        # Without the secrets of the address.
        return f"{self.folder.folder}/{name}"


def _folder(destination: str) -> FolderAddress:
    if is_local(destination):
        return FolderAddress(absolute(destination))
    path, mark, query = destination.partition("?")
    return FolderAddress(path.rstrip("/"), mark + query)


def _partitions_of(array: Any) -> list[Any]:
    """The delayed partitions of a collection."""
    if isinstance(array, (list, tuple)):
        partitions = list(array)
    elif hasattr(array, "to_delayed"):
        found = array.to_delayed()
        # An array of Dask has an array of them.
        partitions = list(found.ravel() if hasattr(found, "ravel") else found)
    else:
        raise ArgumentTypeError(
            f"farroot.dask_write writes a collection of Dask, not a {type(array).__name__}"
        )
    if not partitions:
        raise InvalidArgumentError("a collection without partitions")
    return partitions


def _compression(said: object, level: int | None) -> object:
    """A compression, of which uproot gives the name and the level."""
    if not isinstance(said, str) or said.lower() not in _ALGORITHMS:
        if level is not None:
            names = ", ".join(sorted(_ALGORITHMS))
            raise InvalidArgumentError(
                f"compression_level is the level of an algorithm that compression names: {names}"
            )
        return said
    return _ALGORITHMS[said.lower()](1 if level is None else level)
