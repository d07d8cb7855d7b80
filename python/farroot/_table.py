"""Common methods of trees and RNTuples, and of their branches and fields."""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from weakref import WeakValueDictionary

from . import _core, _libraries, _places
from ._addresses import uncycled
from ._arrays import Readable
from ._entries import entry_range
from ._filters import Filter
from ._formulas import RootFormula
from ._kinds import as_file
from ._locks import cached_property
from ._named import Column
from ._places import ChainFile
from ._process import Live, NothingToClose
from ._reading import ReadRequest, Selection
from ._selection import Chosen, ColumnQuery
from ._shown import shown
from ._steps import Report
from ._types import StepSize
from .errors import (
    InvalidArgumentError,
    KeyInFileError,
    RecoveredWarning,
    UnsupportedError,
    warn,
)
from .friends import Friends
from .plans import Plan, Planned
from .reports import IoReport, LiveTimeline, Timeline, timeline

if TYPE_CHECKING:
    from ._core import ColumnInfo
    from ._types import LibraryName
    from .file import File
    from .ntuple import RNTuple
    from .tree import Tree


class InFile(NothingToClose, Readable[Column]):
    """Something with entries in an open file, to which entries of others may belong."""

    #: The words for it, and for several of its columns.
    _called: ClassVar[str]
    _parts: ClassVar[str]

    def __init__(
        self,
        core: _core.Table | None,
        url: str,
        object_path: str,
        again: Callable[[], _core.Table] | None = None,
    ) -> None:
        self._again = again or (lambda: _core.open_file(url).table(object_path))
        self._shared = Live(core, self._again)
        self._url = url
        self._object_path = object_path
        self._number = None
        #: Not kept in a file.
        self._made_here = again is not None
        #: Friends that the caller added, by name.
        self._added: dict[str, Tree | RNTuple] = {}
        self._known_file: File | None = None
        self._listed: tuple[_core.Table, list[ColumnInfo]] | None = None
        #: Branch or field objects that the caller still refers to, by number.
        self._in_use: WeakValueDictionary[int, Any] = WeakValueDictionary()

    @property
    def _table(self) -> Any:  # type: ignore[override]
        """Itself. An attribute would be a cycle, which keeps the file open until Python looks for
        those that it can drop."""
        return self

    @cached_property
    def _num_entries(self) -> int:
        return self._shared.here().num_entries

    @cached_property
    def _links(self) -> list[ChainFile] | None:
        return ChainFile.all_of(self._shared.here())

    def _live(self) -> _core.Table:
        """The engine's own with the friends that were added; opened again after a fork."""
        core = self._shared.here()
        # Without friends of their own, which may be this one.
        added = [(name, friend._shared.here()) for name, friend in self._added.items()]
        return core.with_friends(added) if added else core

    def _columns(self) -> list[ColumnInfo]:
        """All branches or fields, each followed by those in it."""
        core = self._shared.here()
        if self._listed is None or self._listed[0] is not core:
            self._listed = core, core.columns()
        return self._listed[1]

    @cached_property
    def _children(self) -> dict[int | None, list[int]]:
        """The columns directly in each of the columns, and at the top."""
        children: dict[int | None, list[int]] = {}
        for info in self._columns():
            children.setdefault(info.parent, []).append(info.number)
        return children

    def _column(self, number: int) -> Column:
        """The branch or field: the same object as long as the caller refers to it."""
        column: Column | None = self._in_use.get(number)
        if column is None:
            column = self._in_use.setdefault(number, self._made_of(number))
        return column

    def _made_of(self, number: int) -> Column:
        """Makes the object for a branch or a field."""
        raise NotImplementedError

    def _column_of(self, info: ColumnInfo) -> Any:
        """The branch or field, also of a friend, that the engine has found."""
        table = self if info.friend is None else self.friends[info.friend]
        return table._column(info.number)

    def _beside(self, friends: dict[str, Tree | RNTuple]) -> Self:
        """The same with more friends."""
        if not friends:
            return self
        more = self._again_as(self._shared.here())
        more._added = {**self._added, **friends}
        return more

    def _again_as(self, core: _core.Table) -> Self:
        return type(self)(core, self._url, self._object_path, self._again)

    @property
    def name(self) -> str:
        """Its own name, without directory and cycle."""
        return self._live().name

    @cached_property
    def object_path(self) -> str:
        """Its path in the file with its cycle, as in uproot: ``/directory/tree;1``.

        A table that no directory lists, such as an attribute set, has no cycle.
        """
        path = uncycled(self._object_path)
        try:
            cycle = self._live().file.key(self._object_path).cycle
        except KeyInFileError:
            return f"/{path}"
        return f"/{path};{cycle}"

    @property
    def cache_key(self) -> str:
        """A text that identifies the table: UUID (or URL) of its file, and :attr:`object_path`."""
        return f"{self.file.uuid or self.url}:{self.object_path}"

    @property
    def url(self) -> str:
        """The file's address, without secrets."""
        return self._url if self.is_chain else self._live().file.url

    #: As uproot calls it.
    file_path = url

    @property
    def aliases(self) -> dict[str, str]:
        """Names and formulas that the file keeps with the tree (``TTree::SetAlias``)."""
        return {name: RootFormula(text) for name, text in self._live().aliases}

    @property
    def file(self) -> File:
        """The file that it is in; of a chain, the first one."""
        if self._known_file is None:
            self._known_file = as_file(self._live().file, self._url)
        return self._known_file

    @property
    def address(self) -> str:
        """File and object, as :func:`farroot.open` takes them."""
        return f"{self.url}:{self._object_path}"

    @property
    def is_chain(self) -> bool:
        """Whether this is trees of several files, one after the other (``TChain``)."""
        return self._links is not None

    @property
    def links(self) -> list[ChainFile]:
        """The files of a chain; of a table that is no chain, none."""
        return self._links or []

    @property
    def friends(self) -> Friends:
        """Others whose entries belong to those of this one (``TTree::AddFriend``).

        Their columns are read with its own: ``tree.arrays(["x", "friend.y"])``, or ``"y"`` where
        only one friend has it and the tree itself has not.
        """
        return Friends(self)

    def add_friend(self, other: Any, name: str | None = None) -> Tree | RNTuple:
        """Adds another tree whose entries belong to those of this one (``TTree::AddFriend``).

        Args:
            other: A tree or an RNTuple, open or by its address (``"w.root:weights"``), from any
                file and server; a chain, or several files as :func:`farroot.chain` takes them.
            name: The name before the dot in ``friend.branch``; None is its own name.

        Its entry of the same number belongs to each of the tree's or, where it has an index
        (``TTree::BuildIndex``) of numbers that the tree has too, the entry with these. Where there
        is none, values are missing: None. It is added to this object, not to the file.

        Returns:
            The friend, open.

        Raises:
            InvalidArgumentError: where there is a friend of that name.
        """
        friend = cast("Tree | RNTuple", _places.opened(other))
        called = friend.name if name is None else name
        if called in self.friends:
            raise InvalidArgumentError(
                f"there is a friend {called!r} already; give this one another name"
            )
        self._added[called] = friend
        return friend

    def plan(
        self,
        expressions: str | Iterable[str] | None = None,
        *,
        filter_name: Filter = None,
        entry_start: float | None = None,
        entry_stop: float | None = None,
    ) -> Plan:
        """The ranges that :meth:`arrays` with these arguments would fetch, without reading them.

        Returns:
            For the tree itself and each of its friends, of a chain file after file: its address,
            and the ranges that are fetched of it, column by column.
        """
        query = ColumnQuery(expressions, filter_name)
        selection = ReadRequest(query, _libraries.named("np"), None).of(self)
        entries = entry_range(self._num_entries, entry_start, entry_stop)
        return Plan(Planned.of(one) for one in selection.plan(*entries))

    def to_arrow(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        step_size: StepSize = "100 MB",
        **options: Any,
    ) -> Any:
        """Reads columns as a stream of Arrow record batches, each made when it is taken.

        Libraries that read Arrow (polars, DuckDB, pyarrow) take it by its C stream interface,
        without copying; the next batches are fetched and decoded meanwhile.

        Args:
            step_size: Entries in a batch, or the bytes that they take decoded, as ``"100 MB"``.
            options: Further arguments of ``iterate``.

        Returns:
            A ``pyarrow.RecordBatchReader``.
        """
        _libraries.named("arrow")
        from ._libraries.arrow import stream

        like = {key: value for key, value in options.items() if not key.startswith("entry_")}
        steps = self.iterate(expressions, cut, step_size=step_size, library="arrow", **options)
        # Only the data may show that a column cannot be read: the first step has the schema.
        for first in steps:
            return stream(first.schema, chain([first], steps))
        nothing = self.arrays(expressions, cut, entry_stop=0, library="arrow", **like)
        return stream(nothing.schema, iter(()))

    def report(self) -> IoReport:
        """The cost of reading the file so far: bytes, requests, round trips, time.

        Of a chain, the cost of everything that this process has read.
        """
        return IoReport(_core.report(None if self.is_chain else self._live().file))

    def timeline(self, path: str | os.PathLike[str] | None = None, *, width: int = 72) -> Timeline:
        """The requests for the file over time, one line a connection; a picture in notebooks.

        A dot is a request on its way, ``#`` bytes arriving.

        Args:
            path: Where to draw the same as an SVG picture, offset in the file over time.
            width: Characters of a line.

        Raises:
            UnsupportedError: for a chain, whose files have one each.
        """
        if self.is_chain:
            raise UnsupportedError(
                "a chain has no timeline of its own: farroot.open(chain.links[0].file_path) and "
                "the like read one of its files"
            )
        return timeline(self._live().file, path, width)

    def live_timeline(self, *, every: float = 0.5) -> LiveTimeline:
        """A timeline in a notebook that grows during a read: pass it as ``progress=``.

        Args:
            every: The least number of seconds between two pictures.

        Raises:
            UnsupportedError: outside of a notebook, and for a chain.
        """
        return LiveTimeline(self.timeline, every)

    def histogram(
        self,
        columns: str | Sequence[str],
        bins: Any,
        *,
        cut: str | None = None,
        weight: str | None = None,
        entry_start: float | None = None,
        entry_stop: float | None = None,
    ) -> Any:
        """A ``hist.Hist`` of one to three columns.

        Where entries are selected at a server (``near=``), only the histogram is transferred. Of
        lists, each item is filled.

        Args:
            columns: Names or formulas; one alone, or a list of them.
            bins: ``(number, first edge, last edge)``, or edges; of several columns a list of these.
            cut: A formula: entries of which it is false are left out.
            weight: A column or a formula; the histogram has then variances.
            entry_start, entry_stop: A half-open range of entries; negative ones count from the end.

        Raises:
            InvalidArgumentError: for a column that has other things than numbers.

        Example:
            >>> farroot.open("events.root:Events").histogram("Muon_pt", (2, 0, 40)).values()
            array([2., 1.])
        """
        from ._filled import filled

        return filled(self, columns, bins, cut, weight, (entry_start, entry_stop))

    def _report(self, start: int, stop: int) -> Report:
        """Which entries a step holds; of a chain, no step reaches over the end of a file."""
        if not self.is_chain:
            return Report(self.url, self._object_path, start, stop)
        link = next((one for one in self.links if start < one.entry_stop), self.links[-1])
        offset = link.entry_start
        return Report(link.file_path, link.object_path, start - offset, stop - offset, offset)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._made_here:
            places = [link[:2] for link in self.links]
            return _chained, (type(self), places, self._object_path, self._added)
        return _reopened, (type(self), self._url, self._object_path, self._added)

    def __repr__(self) -> str:
        extent = f"{len(self)} {self._parts}" + (f", {len(self.links)} files" * self.is_chain)
        return shown(f"<{self._called} {self._object_path!r} ({extent}) in {self.url}>")


def _reopened(kind: Any, url: str, object_path: str, added: dict[str, Any]) -> Any:
    """A tree or RNTuple that is opened when it is first used."""
    table = kind(None, url, object_path)
    table._added.update(added)
    return table


def _chained(
    kind: Any, files: list[tuple[str, str]], object_path: str, added: dict[str, Any]
) -> Any:
    """The same of a chain."""
    table = kind(None, files[0][0], object_path, _places.again(files))
    table._added.update(added)
    return table


def warn_if_recovered(file: _core.File) -> None:
    """A file that was never closed is read, but not in silence."""
    if file.is_recovered:
        warn(
            f"the file was never closed, and has only what had been saved before: {file.url}",
            RecoveredWarning,
        )


class ColumnOf(NothingToClose, Readable[Column]):
    """A branch of a tree or a field of an RNTuple; itself a mapping to those in it."""

    _number: int

    def __init__(self, table: Any, number: int) -> None:
        self._table = table
        self._number = number

    @property
    def _info(self) -> ColumnInfo:
        return self._table._columns()[self._number]

    @property
    def name(self) -> str:
        """The last part of its :attr:`path`."""
        return self._info.name

    @property
    def typename(self) -> str:
        """The C++ type: of a branch as uproot spells it (``int32_t[]``), of a field as the file
        does, where untyped collections and records have none."""
        return self._info.typename

    @property
    def parent(self) -> Any:
        """The parent that holds it directly: one of its kind, or the tree or RNTuple."""
        above = self._info.parent
        return self._table if above is None else self._column(above)

    @property
    def path(self) -> str:
        """Names from the top to here: with slashes between, of fields dots."""
        return self._info.path

    @property
    def file(self) -> File:
        """The file that it is in."""
        file: File = self._table.file
        return file

    @property
    def top_level(self) -> bool:
        """Whether it is in no other."""
        return self._info.parent is None

    @property
    def datashape(self) -> str:
        """The type of an entry in Awkward's spelling.

        Raises:
            UnsupportedError: where there is none, since a branch only groups others or cannot be
                read.
        """
        return self._info.datashape()

    @property
    def _shape_shown(self) -> str:
        """As :attr:`datashape`; ``group`` or ``unsupported`` where there is none."""
        try:
            return self.datashape
        except UnsupportedError:
            return "group" if self._info.is_group else "unsupported"

    def _facts(self) -> list[tuple[str, Any]]:
        facts = [("type", self.typename), ("of an entry", self._shape_shown)]
        return [*facts, ("title", self._info.title)] if self._info.title else facts

    @property
    def index(self) -> int:
        """Its position among those that are directly in :attr:`parent`."""
        # They ascend.
        return bisect.bisect_left(self.parent._numbers(), self._number)

    def _alone(
        self,
        column: Chosen,
        entry_start: float | None,
        entry_stop: float | None,
        library: LibraryName,
        ak_add_doc: bool,
    ) -> Any:
        """The array of one column."""
        into = _libraries.named(library)
        selection = Selection(self._table, [column], None, into, tuple)
        (array,) = selection.read(*entry_range(self.num_entries, entry_start, entry_stop))
        return into.documented(array, {"__doc__": self._info.title}) if ak_add_doc else array

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ColumnOf):
            return False
        return self._table is other._table and self._number == other._number

    def __hash__(self) -> int:
        return hash((id(self._table), self._number))
