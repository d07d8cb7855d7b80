"""coffea's Runner with files opened and read by farroot: preprocessing, and work on a chunk."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import cloudpickle
import lz4.frame
from coffea import processor
from coffea.nanoevents.util import key_to_tuple
from coffea.processor.accumulator import set_accumulator
from coffea.processor.executor import FileMeta, UprootMissTreeError, WorkItem

from .. import _core
from .._addresses import path_text
from .._credentials import Access
from .._kinds import as_table
from .._limits import TABLES_MAX
from ..errors import ChangedError, Error, InvalidArgumentError, KeyInFileError
from ..scaleout import OPEN
from ._factory import factory, habit_key
from ._queue import Queue
from ._reader import HABITS

if TYPE_CHECKING:
    from ..ntuple import RNTuple
    from ..scaleout import Partition
    from ..tree import Tree


class Runner(processor.Runner):  # type: ignore[misc]
    """``coffea.processor.Runner`` whose files are opened and read by farroot.

    All arguments are coffea's; ``uproot_options`` are those of :func:`from_root`. Preprocessing
    opens many files at the same time. Each worker keeps its files open, and prefetches, for the
    next chunks, the columns that a processor has accessed.

    It takes partitions as chunks: ``run(farroot.coffea.work_items(partitions), processor)``.
    """

    #: The chunks of the present run.
    _queue = Queue()

    def _run_impl(self, fileset: Any, processor_instance: Any, **options: Any) -> Any:
        if isinstance(fileset, (Mapping, str)):
            chosen = {name: options.get(name) for name in ("treename", "uproot_options", "trace")}
            fileset = self.preprocess(fileset, processor_instance=processor_instance, **chosen)
        items = list(fileset)
        self._queue = Queue(items)
        try:
            return super()._run_impl(_each(items), processor_instance, **options)
        finally:
            self._queue.close()

    def _preprocess_fileset_root(
        self, fileset: list[FileMeta], uproot_options: Mapping[str, Any]
    ) -> None:
        missing = [each for each in fileset if not each.populated(clusters=self.align_clusters)]
        opened = set_accumulator()
        for meta, table in _opened(missing, Access.among(uproot_options)):
            opened.add(_counted(meta, table, self.align_clusters))
        self._cache_and_populate(fileset, opened)
        # coffea tries again to open the files that failed, and reports their errors.
        super()._preprocess_fileset_root(fileset, uproot_options)

    @staticmethod
    def metadata_fetcher_root(
        xrootdtimeout: int, align_clusters: bool, uproot_options: Mapping[str, Any], item: FileMeta
    ) -> Any:
        """Entries, UUID and clusters of one file; coffea calls this on a worker."""
        url = Access.among(uproot_options).added_to(path_text(item.filename))
        try:
            core = _core.open_table(url, item.treename)
            table = cast("Tree | RNTuple", as_table(core, url, item.treename))
        except KeyInFileError as error:
            raise UprootMissTreeError(str(error)) from error
        return set_accumulator([_counted(item, table, align_clusters)])

    @property
    def _work_function(self) -> Callable[..., Any]:
        """The function that a worker calls for each chunk."""
        return partial(_work, self._queue)


def _each(items: list[WorkItem]) -> Generator[WorkItem]:
    yield from items


def _opened(metas: list[FileMeta], access: Access) -> Generator[tuple[FileMeta, Tree | RNTuple]]:
    """Each file that can be opened, with its tree; many are opened at the same time."""
    places = [(access.added_to(path_text(meta.filename)), meta.treename) for meta in metas]
    opens = _core.open_tables(places)
    for number, (meta, (url, path)) in enumerate(zip(metas, places, strict=True)):
        try:
            core = opens.next()
        except Error:
            continue
        if core is not None:
            table = cast("Tree | RNTuple", as_table(core, url, path))
            if number < TABLES_MAX:
                # The first chunks use this open table.
                OPEN.put(table, url, path)
            yield meta, table


def _counted(meta: FileMeta, table: Tree | RNTuple, align_clusters: bool) -> FileMeta:
    """The file with the metadata from which coffea makes chunks."""
    number = table.file.uuid
    metadata = {
        **(meta.metadata or {}),
        "numentries": table.num_entries,
        "uuid": b"" if number is None else number.bytes,
    }
    if align_clusters:
        metadata["clusters"] = _clusters(table)
    return FileMeta(meta.dataset, meta.filename, meta.treename, metadata)


def _clusters(table: Tree | RNTuple) -> list[int]:
    """Entries at which coffea may begin a chunk, and the number of entries."""
    core = table._live()
    if core.is_tree:
        offsets: list[int] = table.common_entry_offsets()  # type: ignore[union-attr]
        return offsets
    return sorted({*core.cluster_starts(), table.num_entries})


def work_items(
    partitions: Iterable[Partition],
    dataset: str = "dataset",
    metadata: Mapping[str, Any] | None = None,
) -> list[WorkItem]:
    """Partitions as chunks, which any Runner of coffea takes in place of a fileset.

    Args:
        dataset: The value of ``events.metadata["dataset"]`` in the processor.
        metadata: Further items of ``events.metadata``.

    Raises:
        InvalidArgumentError: for blind partitions, whose entries are unknown, and for partitions
            with a cut: apply it in the processor.
    """
    items = []
    for each in partitions:
        if each.entries is None or each.identity is None or each.object_path is None:
            raise InvalidArgumentError("entries are not known: make the partitions without blind")
        if each.cut is not None:
            raise InvalidArgumentError("a chunk has all its entries: make partitions without a cut")
        number = b"" if each.identity.uuid is None else bytes.fromhex(each.identity.uuid)
        preload = None if each.expressions is None else frozenset(each.expressions)
        user = dict(metadata or {})
        items.append(
            WorkItem(dataset, each.address, each.object_path, *each.entries, number, user, preload)
        )
    return items


def _work(
    queue: Queue,
    format: str,  # noqa: A002, coffea's name
    xrootdtimeout: int,
    schema: Any,
    use_dataframes: bool,
    savemetrics: bool,
    item: Any,
    processor_instance: Any,
    uproot_options: Mapping[str, Any],
    iteritems_options: Mapping[str, Any],
    checkpointer: Any,
    cache_function: Callable[[], MutableMapping[str, Any] | None],
) -> Any:
    """Processes a chunk as ``coffea.processor.Runner`` does, with events from farroot."""
    if format != "root":
        # Not processor.Runner, which a program may have replaced by this class.
        return Runner.__bases__[0]._work_function(
            *(format, xrootdtimeout, schema, use_dataframes, savemetrics, item),
            processor_instance=processor_instance,
            uproot_options=uproot_options,
            iteritems_options=iteritems_options,
            checkpointer=checkpointer,
            cache_function=cache_function,
        )
    if processor_instance == "heavy":
        item, processor_instance = item
    if isinstance(processor_instance, bytes):
        processor_instance = cloudpickle.loads(lz4.frame.decompress(processor_instance))
    metadata = _metadata(item)
    if checkpointer is not None:
        known = checkpointer.load(metadata, processor_instance)
        if known is not None:
            return known
    chunk = _Chunk(queue, item, processor_instance, uproot_options)
    log: list[Any] = []
    made = chunk.factory(
        schemaclass=schema,
        metadata=metadata,
        iteritems_options=iteritems_options,
        buffer_cache=cache_function(),
        access_log=log,
    )
    out = chunk.processed(made, log, savemetrics)
    if use_dataframes:
        out = out["out"]
    if checkpointer is not None:
        checkpointer.save(out, metadata, processor_instance)
    return out


def _metadata(item: WorkItem) -> dict[str, Any]:
    """The ``events.metadata`` of a chunk."""
    return {
        "dataset": item.dataset,
        "filename": item.filename,
        "treename": item.treename,
        "entrystart": item.entrystart,
        "entrystop": item.entrystop,
        "fileuuid": str(uuid.UUID(bytes=item.fileuuid)) if item.fileuuid else "",
        **(item.usermeta or {}),
    }


def _table(access: Access, item: WorkItem) -> Tree | RNTuple:
    """The tree of a chunk, which the worker keeps open."""
    url = access.added_to(path_text(item.filename))

    def is_same(table: Tree | RNTuple) -> bool:
        number = table.file.uuid
        return number is None or not item.fileuuid or number.bytes == item.fileuuid

    table: Tree | RNTuple = OPEN.same(url, item.treename, is_same)
    if not is_same(table):
        error = ChangedError(f"another file than when the chunks were made; in {table.url}")
        error.url = table.url
        raise error
    return table


class _Chunk:
    """A chunk that a worker processes; errors are wrapped as coffea wraps them."""

    def __init__(
        self, queue: Queue, item: WorkItem, function: Any, uproot_options: Mapping[str, Any]
    ) -> None:
        self._queue = queue
        self._item = item
        self._function = function
        self._opened = partial(_table, Access.among(uproot_options))
        try:
            self._reader = queue.take(item, self._opened)
        except Exception as error:
            raise Exception(f"Failed to open file: {item!r}. The error was: {error!r}.") from error

    def factory(self, *, metadata: dict[str, Any], schemaclass: Any, **options: Any) -> Any:
        """coffea's factory of its events; begins to prefetch the next chunks."""
        item, reader = self._item, self._reader
        try:
            self._habit = habit_key(metadata, reader.table, schemaclass, _program(self._function))
            names = HABITS.likely(self._habit, reader.table) | set(item.preload or ())
            reader.want(names)
            self._queue.read_ahead(item, reader, names, self._opened)
            reader.on_new = partial(self._queue.read_ahead, item, opened=self._opened)
            return factory(
                reader,
                self._habit,
                mode="virtual",
                preload=item.preload,
                metadata=metadata,
                **options,
            )
        except Exception as error:
            raise Exception(
                f"Failed creating nanoevents: {item!r}. The error was: {error!r}."
            ) from error

    def processed(self, made: Any, log: list[Any], savemetrics: bool) -> Any:
        """The processor's output for the events, in the dict that coffea's Runner accumulates."""
        item, function, events = self._item, self._function, made.events()
        begin = time.time()
        try:
            is_processor = isinstance(function, processor.ProcessorABC)
            out = function.process(events) if is_processor else function(events)
        except Exception as error:
            raise Exception(
                f"Failed processing file: {item!r}. The error was: {error!r}."
            ) from error
        if out is None:
            raise ValueError(
                "Output of process() should not be None. Make sure your processor's process() "
                "function returns an accumulator."
            )
        HABITS.keep(self._habit, self._reader.table, {each.branch for each in log})
        done: dict[str, Any] = {"out": out, "processed": {item}}
        if savemetrics:
            done["metrics"] = {
                "bytesread": self._reader.stored_bytes({each.branch for each in log}),
                "columns": {f"{each.branch}-{key_to_tuple(each.buffer_key)[3]}" for each in log},
                "entries": len(events),
                "processtime": time.time() - begin,
            }
        return done


def _program(function: Any) -> str:
    """The name of a processor, under which the store keeps the columns that it accesses."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"
