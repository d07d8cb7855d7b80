"""Friends: trees and RNTuples whose entries belong to those of another; indices of entries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._filters import is_glob
from .errors import Error, InvalidArgumentError, KeyInFileError
from .ntuple import RNTuple
from .tree import Branch, Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from . import _core
    from ._entries import EntrySelection
    from ._libraries import Library


class Friends(Mapping[str, Tree | RNTuple]):
    """The friends of a tree by the names that stand before their branches: ``friend.branch``.

    First those that were added, then those that the file names; each of these is opened when it is
    first asked for. Its entries are its own: which of them belong to those of the tree is seen to
    where both are read together, with ``tree.arrays(["x", "friend.y"])``.
    """

    def __init__(self, of: Tree | RNTuple) -> None:
        self._of = of
        self._in_file = of._friends_in_file()
        self._open: dict[str, Tree | RNTuple] = {}

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys([*self._of._added, *self._in_file]))

    def __getitem__(self, name: str) -> Tree | RNTuple:
        """The friend of that name.

        Raises:
            KeyInFileError: where there is none, also none in the file that it is said to be in.
        """
        from .file import as_table

        if name in self._of._added:
            return self._of._added[name]
        core = self._of._live_friend(name)
        return as_table(core, core.file.url, core.path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Friends {self._names} of {self._of!r}>"

    def _joined(self, name: str) -> Tree | RNTuple:
        """The friend of that name, to be read with the tree."""
        known = self._open.get(name)
        friend = self[name] if known is None else known
        if known is None and isinstance(friend, Tree):
            joined = JoinedTree(friend._live(), friend._url, friend._object_path)
            joined.joined_as = name
            friend = joined
        self._open[name] = friend
        return friend

    def _behind(self, text: str) -> tuple[str, str] | None:
        """The friend that a text such as ``friend.branch`` is about, and what follows its name."""
        for name in self._names:
            if text.startswith(f"{name}."):
                return name, text[len(name) + 1 :]
        return None

    def column(self, text: str) -> Branch | OfFriend | None:
        """The column that a name means: ``friend.branch``, or only one friend's ``branch``.

        Raises:
            InvalidArgumentError: for a name without a friend's that several of them have.
        """
        found = self._behind(text)
        if found is not None:
            return _column(found[0], self._joined(found[0]), found[1], text)
        having = {}
        for name in self._names:
            try:
                column = _column(name, self._joined(name), text, text)
            except Error:
                # It cannot be opened, which is told where it is named.
                continue
            if column is not None:
                having[name] = column
        if len(having) > 1:
            spelled = " or ".join(repr(f"{name}.{text}") for name in having)
            raise InvalidArgumentError(f"several friends have {text!r}; say which: {spelled}")
        return next(iter(having.values()), None)

    def items_like(self, text: str) -> list[tuple[str, Branch]] | list[OfFriend]:
        """The columns of a friend that a glob means, by their names among the tree's own."""
        found = self._behind(text)
        if found is None:
            return []
        name, pattern = found
        friend = self._joined(name)
        if isinstance(friend, RNTuple):
            fields = friend.items(filter_name=pattern, recursive=False)
            return [OfFriend(f"{name}.{path}", (name, path, None)) for path, _ in fields]
        items = friend.items(filter_name=pattern, full_paths=False)
        return [(f"{name}.{last}", branch) for last, branch in items]


def _column(name: str, friend: Tree | RNTuple, column: str, text: str) -> Branch | OfFriend | None:
    if isinstance(friend, RNTuple):
        if column not in friend:
            return None
        return OfFriend(text, (name, friend[column].path, None))
    return friend.find(column) or friend.find(column.replace(".", "/"))


@dataclass(frozen=True)
class OfFriend:
    """A field of a friend that is an RNTuple, as a column of the result."""

    name: str
    #: The friend, the field's path and, of a field at the top, those in it that are kept.
    key: tuple[str, str, tuple[str, ...] | None]
    optional: bool = False

    @property
    def decoder(self) -> None:
        """Types of fields are not registered."""

    @property
    def path(self) -> str:
        """As it is called among the tree's own."""
        return f"{self.key[0]}.{self.key[1]}"

    #: A field has no further ones that would be columns of their own.
    is_group = False

    def leaves(self) -> Iterator[OfFriend]:
        """What is read for it."""
        yield self

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""
        return into.array(columns[self.key], rows)


class JoinedTree(Tree):
    """A friend whose branches are read with those of the tree."""

    joined_as: str

    def _branch(self, number: int) -> Branch:
        return JoinedBranch(self, number)


class JoinedBranch(Branch):
    """A branch of a friend, as the tree reads it."""

    _tree: JoinedTree

    @property
    def key(self) -> tuple[str, str]:  # type: ignore[override]
        """What the tree's engine calls the branch."""
        return self._tree.joined_as, self._tree._paths[self._number]

    @property
    def path(self) -> str:
        """As it is called among the tree's own."""
        return f"{self._tree.joined_as}.{self._tree._paths[self._number]}"


@dataclass(frozen=True, eq=False)
class Index:
    """Which entry of a tree has which numbers (ROOT's ``TTreeIndex``)."""

    #: Expressions of the two numbers, such as ``"run"`` and ``"event"``.
    major_name: str
    minor_name: str
    #: The numbers, in ascending order of the pairs, and the entry of each pair.
    major: NDArray[np.int64]
    minor: NDArray[np.int64]
    entries: NDArray[np.int64]

    @classmethod
    def of(cls, core: _core.Tree) -> Index | None:
        found = core.index()
        return None if found is None else cls(*found)

    def __len__(self) -> int:
        return len(self.entries)

    def entry_with(self, major: int, minor: int = 0) -> int:
        """The entry with these numbers, the first one where several have them.

        Raises:
            KeyInFileError: where none has.
        """
        low, high = (self.major.searchsorted(major, side) for side in ("left", "right"))
        at = low + self.minor[low:high].searchsorted(minor)
        if at >= high or self.minor[at] != minor:
            what = f"{self.major_name} == {major} and {self.minor_name} == {minor}"
            raise KeyInFileError(f"no entry has {what}")
        return int(self.entries[at])


def opened(other: Any) -> Tree | RNTuple:
    """What somebody names as a friend: something open, an address, or several files.

    Raises:
        InvalidArgumentError: for what has no entries.
    """
    if isinstance(other, (Tree, RNTuple)):
        return other
    if isinstance(other, (str, os.PathLike)) and not is_glob(os.fspath(other)):
        from . import _core
        from .file import as_table, split

        url, path = split(other)
        return as_table(_core.open_table(url, path), url, path)
    if isinstance(other, (str, os.PathLike, Iterable)):
        from .dataset import chain

        return chain(other)
    raise InvalidArgumentError(f"a friend is a tree, an RNTuple or an address, not {other!r}")
