"""Friends: trees and RNTuples whose entries belong to those of another; indices of entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ._kinds import as_table
from .errors import KeyInFileError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from . import _core
    from ._protocols import Table
    from .ntuple import RNTuple
    from .tree import Tree
from ._uproot import public


@public
class Friends(Mapping[str, "Tree | RNTuple"]):
    """The friends of a tree by the names that stand before their branches: ``friend.branch``.

    First those that were added, then those that the file names; each of these is opened at its
    first use. Its entries are its own: which of them belong to those of the tree is seen to where
    both are read together, with ``tree.arrays(["x", "friend.y"])``.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> tree.add_friend("weights.root:w")
        <Tree 'w' (1 branches) in weights.root>
        >>> tree.friends
        <Friends ['w'] of <Tree 'Events' (8 branches) in events.root>>
        >>> tree.arrays(["event", "w.nominal"], entry_stop=2).tolist()
        [{'event': 0, 'w.nominal': 1.0}, {'event': 1, 'w.nominal': 0.5}]
    """

    def __init__(self, of: Table) -> None:
        self._of = of

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys([*self._of._added, *self._of._shared.here().friend_names()]))

    def __getitem__(self, name: str) -> Tree | RNTuple:
        """The friend of that name.

        Raises:
            KeyInFileError: where there is none, also none in the file that the tree names.
        """
        if name in self._of._added:
            return cast("Tree | RNTuple", self._of._added[name])
        core = self._of._live().friend(name)
        return cast("Tree | RNTuple", as_table(core, core.file.url, core.path))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Friends {self._names} of {self._of!r}>"


@public
@dataclass(frozen=True, eq=False)
class Index:
    """Which entry of a tree has which numbers (ROOT's ``TTreeIndex``).

    Example:
        >>> index = farroot.open("friends_other.root:indexed").index
        >>> index.major_name, index.minor_name
        ('run', 'event')
        >>> index.entry_with(1, 110)
        24
    """

    #: Expressions of the two numbers, such as ``"run"`` and ``"event"``.
    major_name: str
    minor_name: str
    #: The numbers, in ascending order of the pairs, and the entry of each pair.
    major: NDArray[np.int64]
    minor: NDArray[np.int64]
    entries: NDArray[np.int64]

    @classmethod
    def of(cls, core: _core.Table) -> Index | None:
        found = core.index()
        if found is None:
            return None
        return cls(found.major_name, found.minor_name, found.major, found.minor, found.entries)

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
            numbers = f"{self.major_name} == {major} and {self.minor_name} == {minor}"
            raise KeyInFileError(f"no entry has {numbers}")
        return int(self.entries[at])
