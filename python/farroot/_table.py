"""What trees and RNTuples have in common: a place in a file, columns, friends, an address."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from . import _core
from ._entries import StepSize
from ._process import Live, NothingToClose
from ._uproot import taken
from .errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from ._core import ColumnInfo
    from ._filters import Filter
    from ._selection import ColumnQuery
    from .dataset import Report
    from .file import File
    from .friends import Friends
    from .ntuple import RNTuple
    from .plans import Plan
    from .report import IoReport, Timeline
    from .tree import Branch, Tree


class ChainFile(NamedTuple):
    """One tree or RNTuple of a chain, and which of the chain's entries (half open) it has."""

    file_path: str
    object_path: str
    entry_start: int
    entry_stop: int

    @classmethod
    def of(cls, core: _core.ChainFile) -> ChainFile:
        """The engine's own."""
        return cls(core.url, core.path, core.entry_start, core.entry_stop)


class InFile(NothingToClose):
    """Something with entries in an open file, to which entries of others may belong."""

    def __init__(
        self,
        core: _core.Table,
        url: str,
        object_path: str,
        again: Callable[[], _core.Table] | None = None,
    ) -> None:
        self._again = again or (lambda: _core.open_file(url).table(object_path))
        self._shared = Live(core, self._again)
        self._url = url
        self._object_path = object_path
        self._num_entries = core.num_entries
        files = core.chain_files()
        self._links = None if files is None else [ChainFile.of(one) for one in files]
        #: Not kept in a file.
        self._made_here = again is not None
        #: Friends that the caller added, by name.
        self._added: dict[str, Tree | RNTuple] = {}
        self._known_file: File | None = None
        self._known_friends: Friends | None = None
        self._listed: tuple[_core.Table, list[ColumnInfo]] | None = None

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
        """What is directly in each of the columns, and at the top."""
        children: dict[int | None, list[int]] = {}
        for info in self._columns():
            children.setdefault(info.parent, []).append(info.number)
        return children

    def _branch_of(self, info: ColumnInfo) -> Branch:
        """The branch of a tree, or of a friend, that the engine has found."""
        from .tree import Branch

        tree: Any = self if info.friend is None else self.friends[info.friend]
        return Branch(tree, info.number)

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

    @property
    def object_path(self) -> str:
        """Where it is in the file, as it was asked for."""
        return self._object_path

    @property
    def url(self) -> str:
        """The file's address, without secrets."""
        return self._url if self.is_chain else self._live().file.url

    #: As uproot calls it.
    file_path = url

    @property
    def table(self) -> Self:
        """What is read of: itself."""
        return self

    @property
    def aliases(self) -> dict[str, str]:
        """Names and formulas that the file keeps with the tree (``TTree::SetAlias``)."""
        return dict(self._live().aliases)

    @property
    def file(self) -> File:
        """The file that it is in; of a chain, the first one."""
        from .file import File

        if self._known_file is None:
            self._known_file = File.of(self._live().file, self._url)
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
        """The files of a chain; of what is no chain, none."""
        return self._links or []

    @property
    def friends(self) -> Friends:
        """Others whose entries belong to those of this one (``TTree::AddFriend``).

        Their columns are read with its own: ``tree.arrays(["x", "friend.y"])``, or ``"y"`` where
        only one friend has it and the tree itself has not.
        """
        if self._known_friends is None:
            from .friends import Friends

            self._known_friends = Friends(self)
        return self._known_friends

    @taken
    def add_friend(self, other: Any, name: str | None = None) -> Tree | RNTuple:
        """Adds another tree whose entries belong to those of this one (``TTree::AddFriend``).

        Args:
            other: A tree or an RNTuple, open or by its address (``"w.root:weights"``), from any
                file and server; a chain, or several files as :func:`farroot.chain` takes them.
            name: What stands before the dot in ``friend.branch``; None is its own name.

        Its entry of the same number belongs to each of the tree's or, where it has an index
        (``TTree::BuildIndex``) of numbers that the tree has too, the entry with these. Where there
        is none, values are missing: None. It is added to this object, not to the file.

        Returns:
            The friend, open.

        Raises:
            InvalidArgumentError: where there is a friend of that name.
        """
        from .friends import opened

        friend = opened(other)
        called = friend.name if name is None else name
        if called in self.friends:
            raise InvalidArgumentError(
                f"there is a friend {called!r} already; give this one another name"
            )
        self._added[called] = friend
        return friend

    @taken
    def plan(
        self,
        expressions: str | Iterable[str] | None = None,
        *,
        filter_name: Filter = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
    ) -> Plan:
        """What :meth:`arrays` with these arguments would fetch, without reading it.

        Returns:
            For the tree itself and each of its friends, of a chain file after file: its address,
            and what is fetched of it, column by column.
        """
        from ._selection import ColumnQuery

        return self._planned(ColumnQuery(expressions, filter_name), entry_start, entry_stop)

    def _planned(
        self, choice: ColumnQuery, entry_start: int | None, entry_stop: int | None
    ) -> Plan:
        """What would be fetched for a choice of columns, and to decide on entries."""
        from ._entries import entry_range
        from ._selection import ReadRequest, request
        from .plans import Plan, Planned

        place: Any = self
        selection = ReadRequest.checked(choice, "np", None).of(place)
        start, stop = entry_range(self._num_entries, entry_start, entry_stop)
        requests = [request(leaf) for leaf in selection.leaves_with_cut]
        plans = self._live().plan(requests, start, stop)
        return Plan(Planned.of(one) for one in plans)

    @taken
    def to_arrow(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        step_size: StepSize = "100 MB",
        **options: Any,
    ) -> Any:
        """Reads columns as a stream of Arrow record batches, each made when it is taken.

        What reads Arrow (polars, DuckDB, pyarrow) takes it by its C stream interface, without
        copying; what comes next is fetched and decoded meanwhile.

        Args:
            step_size: Entries in a batch, or the bytes that they take decoded, as ``"100 MB"``.
            options: Further arguments of ``iterate``.

        Returns:
            A ``pyarrow.RecordBatchReader``.
        """
        from ._libraries.arrow import stream

        table: Any = self
        like = {key: value for key, value in options.items() if not key.startswith("entry_")}
        steps = table.iterate(expressions, cut, step_size=step_size, library="arrow", **options)
        # Only the data may show that a column cannot be read: the first step has the schema.
        for first in steps:
            return stream(first.schema, chain([first], steps))
        nothing = table.arrays(expressions, cut, entry_stop=0, library="arrow", **like)
        return stream(nothing.schema, iter(()))

    def report(self) -> IoReport:
        """What reading the file has cost so far: bytes, requests, round trips, time.

        Of a chain, what everything has cost that this process has read.
        """
        from .report import IoReport

        return IoReport(_core.report(None if self.is_chain else self._live().file))

    @taken
    def timeline(self, path: str | os.PathLike[str] | None = None, *, width: int = 72) -> Timeline:
        """The requests for the file over time, one line a connection; a picture in notebooks.

        A dot is a request on its way, ``#`` bytes arriving.

        Args:
            path: Where to draw the same as an SVG picture, offset in the file over time.
            width: Characters of a line.

        Raises:
            UnsupportedError: for a chain, whose files have one each.
        """
        from .report import timeline

        if self.is_chain:
            raise UnsupportedError(
                "a chain has no timeline of its own: farroot.open(chain.links[0].file_path) and "
                "the like read one of its files"
            )
        return timeline(self._live().file, path, width)

    def _report(self, start: int, stop: int) -> Report:
        """Which entries a step holds."""
        from .dataset import Report

        return Report(self.url, self.object_path, start, stop)
