"""Attribute sets of RNTuples: notes on ranges of entries (written in :mod:`.writing.tables`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from . import _core
from ._locks import cached_property
from .ntuple import RNTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
from ._uproot import public


class AttributeSet(RNTuple):
    """An RNTuple each of whose entries is about a range of entries of another one.

    The noted values are in the fields of ``_userData``: ``runs["run"].array()``. It can be opened
    by its path, too, ``farroot.open("f.root:Events/runs")``, and is then an :class:`RNTuple` only.

    Example:
        >>> sets = farroot.open("staff.root:Staff").attributes
        >>> [one.name for one in sets.values()]
        []
    """

    def __init__(self, core: _core.Table | None, url: str, object_path: str, name: str) -> None:
        again = partial(_opened, url, object_path, name)
        super().__init__(core, url, f"{object_path}/{name}", again)
        self._made_here = False
        self._above = object_path
        self._set_name = name

    @property
    def schema_version(self) -> tuple[int, int]:
        """Major and minor version of the meaning of its fields; ROOT writes 1.0."""
        return self._live().schema_version()

    @cached_property
    def ranges(self) -> npt.NDArray[np.int64]:
        """The entries (half open) of the main RNTuple that each entry is about.

        Returns:
            A row of first and last entry for each entry, in the order in which they were written.
            A range may be empty, and ranges may overlap.

        Raises:
            UnsupportedError: for another version of the schema than 1.x.
        """
        return self._live().ranges().reshape(-1, 2)

    def containing(self, start: int, stop: int | None = None) -> npt.NDArray[np.int64]:
        """The entries about ranges that contain all of some entries of the main RNTuple.

        Args:
            start, stop: Half-open range of entries; without ``stop`` the one entry ``start``.

        Returns:
            Numbers of entries, ordered by where their ranges start.
        """
        stop = start + 1 if stop is None else stop
        first, last = self.ranges.T
        return self._ordered((first <= start) & (last >= stop) & (start < stop) & (first < last))

    def within(self, start: int, stop: int) -> npt.NDArray[np.int64]:
        """The entries about ranges in some entries of the main RNTuple, but for empty ranges.

        Args:
            start, stop: Half-open range of entries.

        Returns:
            Numbers of entries, ordered by where their ranges start.
        """
        first, last = self.ranges.T
        return self._ordered((first >= start) & (last <= stop) & (first < last))

    def _ordered(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        import numpy as np

        numbers = np.flatnonzero(chosen)
        return numbers[np.argsort(self.ranges[numbers, 0], kind="stable")]

    def _again_as(self, core: _core.Table) -> Self:
        return type(self)(core, self._url, self._above, self._set_name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _later, (self._url, self._above, self._set_name, self._added)


@public
class AttributeSets(Mapping[str, AttributeSet]):
    """The attribute sets of an RNTuple by name, each opened at its first use.

    Example:
        >>> sets = farroot.open("staff.root:Staff").attributes
        >>> list(sets)
        []
    """

    def __init__(self, above: RNTuple) -> None:
        self._above = above
        self._names = above._live().attribute_sets()

    def __getitem__(self, name: str) -> AttributeSet:
        core = self._above._live().attribute_set(name)
        return AttributeSet(core, self._above._url, self._above._object_path, name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<AttributeSets {self._names} of {self._above!r}>"


def _opened(url: str, above: str, name: str) -> _core.Table:
    return _core.open_file(url).table(above).attribute_set(name)


def _later(url: str, above: str, name: str, friends: dict[str, Any]) -> AttributeSet:
    """A set that is opened when it is first used."""
    later = AttributeSet(None, url, above, name)
    later._added = friends
    return later
