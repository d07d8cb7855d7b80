"""Makes coffea's NanoEvents from files that farroot reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Literal, cast

from coffea.nanoevents import NanoEventsFactory
from coffea.nanoevents.schemas import EDM4HEPSchema, NanoAODSchema
from coffea.nanoevents.schemas.edm4hep import podio_collection_types
from coffea.nanoevents.util import tuple_to_key

from .._addresses import split
from .._credentials import Access
from .._kinds import is_table, open_table
from .._ours import called
from .._uproot import taken
from ..errors import InvalidArgumentError
from ..file import Directory
from ._forms import columns_of, names_in, schema_of
from ._mapping import SourceMapping, uuid_text
from ._reader import HABITS, HabitKey, Reader

if TYPE_CHECKING:
    from ..ntuple import RNTuple
    from ..tree import Tree

#: Branches or fields to read at once, in one read: names, or a function of a branch or field.
Preload = Callable[[Any], bool] | Iterable[str]


@taken
def from_root(
    file: Any,
    *,
    mode: Literal["virtual", "eager"] = "virtual",
    treepath: str | None = None,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    preload: Preload | None = None,
    buffer_cache: MutableMapping[str, Any] | None = None,
    schemaclass: Any = NanoAODSchema,
    metadata: Mapping[str, Any] | None = None,
    uproot_options: Mapping[str, Any] | None = None,
    iteritems_options: Mapping[str, Any] | None = None,
    access_log: list[Any] | None = None,
    use_ak_forth: bool = True,
    known_base_form: Any = None,
) -> NanoEventsFactory:
    """NanoEvents of a tree or an RNTuple, as coffea's ``NanoEventsFactory.from_root`` makes them.

    Forms are made from the metadata of the file and kept in the process, by the list of columns.
    Columns that were accessed in the last chunks of the same dataset (``metadata["dataset"]``) and
    schema are prefetched for this chunk, in one read; others are read when they are accessed.

    The factory's ``file_handle`` is the open file that the caller passed. For an address it is a
    file of uproot, as in coffea, which reads through farroot and is opened at the first access.

    Args:
        file: An address with ``:tree`` after it, or a dict of one address and the path of the tree
            in it; an open tree, RNTuple, file or directory of farroot; or an open file of uproot,
            whose address farroot opens.
        mode: ``"virtual"`` reads columns when they are accessed, ``"eager"`` all in one read.
        treepath: The path of the tree, if ``file`` does not name it.
        entry_start, entry_stop: Half-open range of entries, from the first and to the last one by
            default; entries beyond the table are left out.
        preload: Columns to read at once, in one read: names of branches or fields, or a function
            of the :class:`~farroot.Branch` or :class:`~farroot.Field`.
        buffer_cache: A mapping in which coffea keeps buffers by their keys.
        schemaclass: Any of coffea's schemas.
        metadata: The ``metadata`` of the events; chunks with the same ``dataset`` share the record
            of accessed columns.
        uproot_options: ``token``, ``proxy``, ``ticket_cache``, ``s3_profile``, ``auth`` and
            ``insecure`` are those of :func:`farroot.open`; other options are ignored.
        iteritems_options: Filters of columns, as ``tree.items`` takes them.
        access_log: A list to which each access to a column is appended.
        use_ak_forth, known_base_form: Ignored.

    Raises:
        Error: those of :func:`farroot.open`.
        InvalidArgumentError: for ``mode="dask"``, and if no tree is named.
    """
    if mode not in ("virtual", "eager"):
        raise InvalidArgumentError(
            f'mode is "virtual" or "eager", not {mode!r}; for Dask, coffea\'s own from_root takes '
            'uproot_options={"handler": farroot.Source}'
        )
    options = uproot_options or {}
    access = Access.among(options)
    table = _table(file, treepath, access)
    return factory(
        Reader(table, *chunk_entries(table, entry_start, entry_stop)),
        habit_key(metadata, table, schemaclass),
        mode=mode,
        preload=preload,
        metadata=metadata,
        iteritems_options=iteritems_options or {},
        buffer_cache=buffer_cache,
        access_log=access_log,
        file_handle=_handle(file),
    )


def factory(
    reader: Reader,
    habit: HabitKey,
    *,
    metadata: Mapping[str, Any] | None,
    iteritems_options: Mapping[str, Any],
    preload: Preload | None,
    mode: str,
    **options: Any,
) -> NanoEventsFactory:
    """The factory of a chunk; its reader may have begun to read columns already.

    Args:
        habit: The key of chunks that probably access the same columns; has the schema class.
        options: Those of coffea's mapping: ``buffer_cache``, ``access_log``, ``file_handle``.
    """
    table, schemaclass = reader.table, habit.schemaclass
    preloaded = None if preload is None else _preloaded(table, preload)
    # These columns are read while the forms are made.
    reader.want(HABITS.likely(habit, table) | (preloaded or set()))
    columns = columns_of(table, iteritems_options)
    podio = None
    if isinstance(schemaclass, type) and issubclass(schemaclass, EDM4HEPSchema):
        podio = podio_collection_types(_ForPodio(table))
    schema = schema_of(columns, schemaclass, metadata, podio)
    if mode == "eager":
        reader.want(names_in(schema.form))
    # Eager chunks read every column: they do not show which ones a processor accesses.
    touched: set[str] = set() if mode == "eager" else HABITS.begin(habit)
    mapping = SourceMapping(
        reader,
        touched,
        preloaded,
        virtual=mode == "virtual",
        **options,
    )
    partition = uuid_text(table), table.object_path, "{}-{}".format(*reader.entries)
    return NanoEventsFactory(schema, mapping, tuple_to_key(partition), mode=mode)


def habit_key(
    metadata: Mapping[str, Any] | None,
    table: Tree | RNTuple,
    schemaclass: Any,
    program: str | None = None,
) -> HabitKey:
    """A key that is equal for chunks whose processors probably access the same columns."""
    dataset = str((metadata or {}).get("dataset"))
    return HabitKey(dataset, table._object_path, schemaclass, program)


def chunk_entries(table: Tree | RNTuple, start: int | None, stop: int | None) -> tuple[int, int]:
    """The range of entries as coffea defines it: entries beyond the table are left out."""
    total = table.num_entries
    start = 0 if start is None or start < 0 else start
    stop = total if stop is None or stop > total else stop
    return start, stop


def _table(file: Any, treepath: str | None, access: Access) -> Tree | RNTuple:
    if is_table(file):
        return cast("Tree | RNTuple", file)
    if isinstance(file, Directory):
        found = file[_required(treepath)]
    elif _is_open(file):
        # An open file of uproot: its path has no escaped characters.
        within = "/".join([*getattr(file, "path", ()), _required(treepath)])
        found = open_table(access.added_to(file.file_path), within)
    else:
        url, path = split(os.fspath(file) if isinstance(file, os.PathLike) else file)
        found = open_table(access.added_to(url), path or treepath)
    if not is_table(found):
        raise InvalidArgumentError(f"NanoEvents are of a tree or an RNTuple, not of {found!r}")
    return cast("Tree | RNTuple", found)


def _is_open(file: Any) -> bool:
    """Whether it is an open file or directory of farroot or uproot, not an address."""
    return not is_table(file) and hasattr(file, "file_path") and hasattr(file, "object_path")


def _handle(file: Any) -> Any:
    """The open file, or that of the table, which the caller passed; None for an address."""
    if is_table(file):
        return file.file
    return file if _is_open(file) else None


def _required(treepath: str | None) -> str:
    if treepath is None:
        raise InvalidArgumentError("treepath has to say which tree of the open file is meant")
    return treepath


def _preloaded(table: Tree | RNTuple, preload: Preload) -> set[str]:
    if callable(preload):
        return {name for name, column in table.items() if called(preload)(column)}
    names = frozenset(preload)
    return {name for name, column in table.items() if column.name in names}


class _ForPodio:
    """A tree with the attributes that ``podio_collection_types`` uses."""

    def __init__(self, table: Tree | RNTuple) -> None:
        self.name = table.name
        self.file = self
        self.root_directory = table.file
