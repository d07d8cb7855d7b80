"""Friends of a tree: other trees whose entries belong to its own; and indices of entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import KeyInFileError
from .tree import Branch, Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from . import _core


class Friends(Mapping[str, Tree]):
    """The friends of a tree by the names that stand before their branches: ``friend.branch``.

    Each is opened when it is first asked for. Its entries are its own: which of them belong to
    those of the tree is seen to where both are read together, with
    ``tree.arrays(["x", "friend.y"])``.
    """

    def __init__(self, tree: Tree) -> None:
        self._of = tree
        self._names = [name for name, *_ in tree._live().friend_places()]
        self._open: dict[str, Tree] = {}

    def __getitem__(self, name: str) -> Tree:
        """The friend of that name.

        Raises:
            KeyInFileError: where there is none, also none in the file that it is said to be in.
        """
        return self._opened(name, Tree)

    def _opened(self, name: str, kind: type[Tree]) -> Tree:
        core = self._of._live().friend(name)
        return kind(core, core.file.url, core.path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Friends {self._names} of {self._of!r}>"

    def joined(self, text: str) -> tuple[JoinedTree, str] | None:
        """The friend that a text such as ``friend.branch`` is about, and what follows its name."""
        for name in self._names:
            if text.startswith(f"{name}."):
                if name not in self._open:
                    friend = self._opened(name, JoinedTree)
                    assert isinstance(friend, JoinedTree)
                    friend.joined_as = name
                    self._open[name] = friend
                found = self._open[name]
                assert isinstance(found, JoinedTree)
                return found, text[len(name) + 1 :]
        return None


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


def joined_branch(tree: Tree, text: str) -> Branch | None:
    """The branch of a friend that a name means."""
    found = tree.friends.joined(text)
    if found is None:
        return None
    friend, name = found
    return friend.find(name) or friend.find(name.replace(".", "/"))


def joined_items(tree: Tree, text: str) -> list[tuple[str, Any]]:
    """The branches of a friend that a glob means, by their names among the tree's own."""
    found = tree.friends.joined(text)
    if found is None:
        return []
    friend, pattern = found
    items = friend.items(filter_name=pattern, full_paths=False)
    return [(f"{friend.joined_as}.{name}", branch) for name, branch in items]
