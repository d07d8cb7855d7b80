"""Files that are being written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .. import _core, _unfinished
from .. import compression as compressions
from .._addresses import Address
from .._kinds import as_file
from .._ours import by_caller, ours
from .._progress import Progress, Telling, Wanted, is_wanted, while_waiting
from .._shown import shown
from .._uproot import Explaining, taken
from ..compression import Compression
from ..errors import ExistsError, InvalidArgumentError, UnsupportedError, caller
from . import _options
from ._keys import DIRECTORY, Keys
from ._options import Options
from ._report import WriteReport
from ._spool import TemporaryCopy, place
from ._streamers import described
from ._tables import Columns
from ._types import to_type
from .directories import WritableDirectory
from .tables import Compressions, Open, TreeNames, WritableTable

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")


@taken
def recreate(
    path: Address | Any,
    *,
    compression: object = _options.DEFAULT_COMPRESSION,
    title: str = "",
    cluster: str | int | None = None,
    jagged: str = "counter",
    threads: int | None = None,
    memory: str | int | None = None,
    reproducible: bool = False,
    keep_partial: bool = False,
    checkpoint: str | int | None = None,
    progress: Wanted = None,
) -> WritableDirectory:
    """Begins a file, in the place of one of that name when it is closed.

    Use it in ``with``: under its name there is nothing, or the file from before, until the block
    ends. An exception in the block leaves it so.

    Args:
        path: A local path, an address (``root://``, ``https://``, ``s3://``), or a file-like
            object, which the whole file is written to at the end.
        compression: ROOT's number, :func:`farroot.ZSTD` and its like, or None. 505 means the
            sizes that ROOT reaches with it.
        title: Of the file.
        cluster: Compressed bytes of the entries that a reader finds together (``"30 MB"``), or
            their number.
        jagged: How lists of numbers go into trees: ``"counter"``, as arrays with a branch that
            counts (``nMuon``), or ``"vector"``, as ``std::vector``.
        threads: Threads that compress; those that decode where None. The bytes are the same.
        memory: Bytes that may wait for threads and the disk, at most; without it, 144 MiB, or
            48 MiB where nothing is compressed.
        reproducible: The same entries give the same bytes: no times, no random numbers.
        keep_partial: Whether an exception in the ``with`` block ends the file with the entries it
            has, in place of no file.
        checkpoint: Bytes (``"1 GB"``) after which, again and again, the written part of a new
            local file can be read: a crash leaves it beside the file's place, as ``.NAME.*.part``,
            with all clusters up to the last checkpoint. Give it another name then: the next writer
            of the same file removes it.
        progress: As for :meth:`Tree.arrays`; it reports the entries that have been taken and the
            bytes of the file that its place has.

    Raises:
        PermissionDeniedError: the place cannot be written to.

    Example:
        >>> with farroot.recreate("new.root") as file:
        ...     tree = file.mktree("t", {"x": np.arange(3), "list": ak.Array([[1.5], [], [2.5]])})
        ...     tree.extend({"x": [3], "list": [[4.5, 5.5]]})
        ...     file["histogram"] = np.histogram([1, 2, 2])
        >>> farroot.open("new.root:t").arrays().tolist()[-1]
        {'x': 3, 'nlist': 2, 'list': [4.5, 5.5]}
    """
    options = Options(
        *(compression, title, cluster, jagged, threads),
        *(memory, reproducible, keep_partial, checkpoint, progress),
    )
    return _begin(path, True, options)


@ours
def create(path: Address | Any, **options: Any) -> WritableDirectory:
    """As :func:`recreate`, with its options, of a file that is not there yet.

    Raises:
        FileExistsError: the file is there.

    Example:
        >>> with farroot.create("first.root") as file:
        ...     file["note"] = "only where there is no such file"
        >>> farroot.open("first.root")["note"]
        'only where there is no such file'
    """
    return _begin(path, False, Options.of(options))


@ours
def update(path: Address | Any, **options: Any) -> WritableDirectory:
    """Adds to a file that is there, with the options of :func:`recreate`.

    Objects are compressed as the file says. At every moment it is a whole file: as it was before
    or, at the end, as it becomes.

    Raises:
        NotFoundError: no such file.

    Example:
        >>> with farroot.recreate("grows.root") as file:
        ...     file["one"] = "1"
        >>> with farroot.update("grows.root") as file:
        ...     file["two"] = "2"
        >>> farroot.open("grows.root").keys()
        ['one;1', 'two;1']
    """
    given = Options.of(options)
    address, copy = place(path, is_read=True)
    if copy is None:
        _unfinished.complete(address)
    file = WritableFile(address, _core.FileOutput.update(address, given.core()), given, copy)
    file.take_keys()
    return file.root_directory


def begin_shared(path: Any, options: Options) -> WritableDirectory:
    """Begins a file that others, also of this process, may write at the same time: the last that is
    closed keeps the name."""
    address, copy = place(path, is_read=False)
    core = _core.FileOutput.create(address, True, options.core().shared())
    return WritableFile(address, core, options, copy).root_directory


def _begin(path: Any, overwrite: bool, options: Options) -> WritableDirectory:
    address, copy = place(path, is_read=False)
    if copy is None:
        (_unfinished.begin_again if overwrite else _unfinished.complete)(address)
    is_there = os.path.exists(address) if copy is None else copy.exists()
    if is_there and not overwrite:
        if copy is not None:
            copy.close()
        said = "farroot.recreate replaces it, farroot.update adds to it"
        raise ExistsError(f"{path!r} is there: {said}")
    core = _core.FileOutput.create(address, overwrite, options.core())
    return WritableFile(address, core, options, copy).root_directory


class WritableFile(Explaining):
    """A file that is being written; its directories write.

    Under its name there is nothing, or the file from before, until :meth:`close`.

    Example:
        >>> with farroot.recreate("new.root") as directory:
        ...     directory["x"] = "a text"
        ...     file = directory.file
        >>> file.closed, file.file_path
        (True, 'new.root')
    """

    def __init__(
        self, address: str, core: _core.FileOutput, options: Options, copy: TemporaryCopy | None
    ) -> None:
        #: The engine's own; for the package only.
        self.core = core
        self._address = address
        self._options = options
        self._spool = copy
        self._compression = compressions.of(options.compression)
        self._keys = Keys()
        self._before: Any = None
        self._report: WriteReport | None = None
        #: Whether progress is reported.
        self.is_told = is_wanted(options.progress)
        self._telling = Telling(options.progress, Progress()) if self.is_told else None
        self._closed = False
        #: Whether a `with` block closes it.
        self.is_in_with = False
        self._pid = os.getpid()
        #: Where the program has begun it, for warnings.
        self.begun_at = caller()
        self._number = _unfinished.begun(self)

    def __repr__(self) -> str:
        return shown(f"<WritableFile {self.file_path!r}>")

    @property
    def file_path(self) -> str | None:
        """The path or address; None of a file-like object."""
        return self._address if self._spool is None else None

    @property
    def root_directory(self) -> WritableDirectory:
        """The directory at the top of the file."""
        return WritableDirectory(self, (), self._keys)

    @property
    def options(self) -> dict[str, Any]:
        """The keywords that it was begun with, and their defaults."""
        return dict(vars(self._options))

    @property
    def compression(self) -> Compression | None:
        """Of objects that are written from now on."""
        return self._compression

    @compression.setter
    @ours
    def compression(self, compression: object) -> None:
        self._compression = compressions.of(compression)

    @property
    def fCompress(self) -> int:  # noqa: N802
        """The same as ROOT's number."""
        return compressions.code(self._compression)

    @property
    def closed(self) -> bool:
        """Whether the file has been closed, or abandoned after an error."""
        return self._closed

    @property
    def report(self) -> WriteReport:
        """The cost of writing.

        Raises:
            InvalidArgumentError: as long as it is not closed.
        """
        if self._report is None:
            raise InvalidArgumentError(f"{self!r} has not been written to its end")
        return self._report

    def ensure_open(self) -> None:
        """
        Raises:
            InvalidArgumentError: after :meth:`close`.
        """
        if self._closed:
            raise InvalidArgumentError(f"{self!r} has been closed")

    @ours
    def close(self) -> None:
        """Writes the rest and gives the file its name: before, there is no such file.

        Raises:
            Error: why it could not be written. There is then no such file.
        """
        if self._closed:
            return
        self._end()
        try:
            self._report = WriteReport(self.telling(self.core.finish))
            if self._spool is not None:
                self._spool.pour()
        finally:
            self._let_go()

    def abandon(self) -> None:
        """Leaves none of the written data; a file from before stays as it was."""
        if not self._closed:
            self._end()
            self.core.abandon()
            self._let_go()

    def _let_go(self) -> None:
        if self._before is not None:
            # A server that locks files would refuse the next writer.
            self._before.close()
        if self._spool is not None:
            self._spool.close()
        if self._telling is not None:
            self._telling.close()

    def telling(self, function: Callable[[], T]) -> T:
        """Calls a function, and reports the progress of the file also while this thread waits in
        it."""
        telling = self._telling
        if telling is None:
            return function()

        def tell() -> None:
            entries, size = self.core.progress()
            with by_caller():
                telling.tell(entries=entries, bytes=size)

        with while_waiting(tell):
            result = function()
        tell()
        return result

    def _end(self) -> None:
        self._closed = True
        _unfinished.ended(self._number)

    def __enter__(self) -> Self:
        self.is_in_with = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None or (self._options.keep_partial and issubclass(kind, Exception)):
            self.close()
        else:
            self.abandon()

    def __del__(self) -> None:
        if not self.__dict__.get("_closed", True) and self.is_of_this_process():
            _unfinished.close(self)

    def is_of_this_process(self) -> bool:
        """Whether it was begun here, and not before a fork."""
        return self._pid == os.getpid()

    @ours
    def update_streamers(self, streamers: Any) -> None:
        """Adds descriptions of classes (ROOT: ``TStreamerInfo``). Objects that farroot writes need
        none: they bring their own.

        Args:
            streamers: A file that farroot has opened, for all its descriptions; or several that
                uproot has read from files.

        Raises:
            UnsupportedError: where a class is described otherwise already, and in an updated file
                without any objects.
        """
        self.ensure_open()
        if self._before is not None and not self._keys.names():
            # ROOT looks for lost objects in such a file, and takes its records for free space.
            raise UnsupportedError(f"{self!r} has no objects: put one into it first")
        for source, classes in described(streamers):
            self.core.describe(source._live(), classes)

    # Calls of directories.

    def take_keys(self) -> None:
        """Knows the keys of the file as it was."""
        self._before = as_file(self.core.before(), self._address)
        for key, classname in self._before.classnames().items():
            path, _, cycle = key.rpartition(";")
            *above, name = path.split("/")
            keys = self._keys
            for step in above:
                keys = keys.directory(step)
            if classname.startswith(DIRECTORY):
                keys.directory(name)
            else:
                keys.add(name, classname, None, int(cycle))

    def before(self, key: str) -> Any:
        """The object that was at that key before."""
        return self._before[key]

    def make_tree(
        self,
        path: str,
        columns: Columns,
        names: TreeNames,
        titles: Mapping[str, str],
        options: dict[str, Any],
    ) -> _core.TableOutput:
        choice = self._choice(options, names.counters, names.fields)
        return self.core.make_tree(path, _described(columns, titles), choice)

    def make_ntuple(
        self, path: str, columns: Columns, titles: Mapping[str, str], options: dict[str, Any]
    ) -> _core.TableOutput:
        within = {path: doc for path, doc in columns.docs.items() if path not in columns.types}
        choice = self._choice(options, descriptions=within)
        return self.core.make_ntuple(path, _described(columns, titles), choice)

    def make_attribute_set(
        self, ntuple: _core.TableOutput, name: str, columns: Columns, title: str
    ) -> _core.TableOutput:
        choice = self._choice({"title": title, "cluster": None})
        return self.core.make_attribute_set(ntuple, name, _described(columns, {}), choice)

    def grow_table(self, kind: type[WritableTable], path: tuple[str, ...]) -> Open:
        """A table of the file as it was, for further entries and columns."""
        options = {"title": "", "cluster": None}
        core, types, counters = self.core.grow("/".join(path), self._choice(options))
        columns = Columns({name: to_type(spelt) for name, spelt in types})
        names = TreeNames.of_counters(counters)
        return Open(kind, path, core, columns, names, Compressions(self._compression))

    def add_columns(
        self, table: _core.TableOutput, columns: Columns, arrays: list[_core.Array]
    ) -> None:
        """Adds columns to a table, with values for all its entries."""
        described = _described(columns, {})
        self.telling(lambda: table.add_columns(described, arrays))

    def _choice(
        self,
        options: dict[str, Any],
        counters: dict[str, str] | None = None,
        fields: dict[tuple[str, str], str] | None = None,
        descriptions: dict[str, str] | None = None,
    ) -> _options.TableChoice:
        said = options["cluster"]
        entries, size = _options.cluster(self._options.cluster if said is None else said)
        is_vector = (options.get("jagged") or self._options.jagged) == "vector"
        compression = compressions.number_and_level(self._compression)
        return _options.TableChoice(
            *(options["title"], compression, entries, size),
            *(counters or {}, fields or {}, descriptions or {}, is_vector),
        )


def _described(columns: Columns, titles: Mapping[str, str]) -> list[tuple[str, str, _core.Array]]:
    """Name, title and an array of no entries of each column.

    Raises:
        InvalidArgumentError: for titles of others.
    """
    for name in titles.keys() - columns.types.keys():
        raise InvalidArgumentError(f"a title for {name!r}, which is no column")
    empty = zip(columns.types, columns.empty(), strict=True)
    known = {**columns.docs, **titles}
    return [(name, known.get(name, ""), array) for name, array in empty]
