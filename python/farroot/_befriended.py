"""What trees and RNTuples have in common: friends, and being the first of several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ._uproot import taken
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from . import _core
    from ._filters import Filter
    from ._selection import ColumnQuery
    from .friends import Friends
    from .ntuple import RNTuple
    from .plans import Plan
    from .tree import Tree


class ChainFile(NamedTuple):
    """One tree or RNTuple of a chain, and which of the chain's entries (half open) it has."""

    file_path: str
    object_path: str
    entry_start: int
    entry_stop: int


class Befriended:
    """Something with entries to which others belong."""

    #: Those that somebody has added, by name.
    _added: dict[str, Tree | RNTuple]
    _known_friends: Friends | None = None
    _links: list[ChainFile] | None

    def _live(self) -> Any:
        raise NotImplementedError

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

            self._known_friends = Friends(self)  # type: ignore[arg-type]
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
        from ._selection import ReadRequest
        from .plans import Plan, Planned, PlannedColumn

        place: Any = self
        selection = ReadRequest.checked(choice, "np", None).of(place)
        start, stop = entry_range(place.num_entries, entry_start, entry_stop)
        asked = [place._asked(key, False) for key in selection.keys_with_cut]
        outlines = self._live().plan(asked, start, stop, friends=self._live_friends())
        return Plan(
            Planned(url, path, [PlannedColumn(*column) for column in columns], ranges)
            for url, path, columns, ranges in outlines
        )

    def _friends_in_file(self) -> list[str]:
        return []

    def _live_friend(self, name: str) -> Any:
        """The engine's own of a friend that the file names."""
        raise KeyError(name)

    def _live_friends(self) -> list[tuple[str, _core.Tree | _core.Ntuple]]:
        """The added ones, as the engine has them."""
        return [(name, friend._live()) for name, friend in self._added.items()]
