"""Ranges of entries, and steps through them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _core
from ._numbers import whole, without_point
from ._types import StepSize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._places import ChainFile


def entry_range(
    entries: int, entry_start: float | None, entry_stop: float | None
) -> tuple[int, int]:
    """Entries as a half-open range within ``0..entries``; negative ones count from the end."""

    def position(given: float | None, default: int) -> int:
        if given is None:
            return default
        given = whole(given, "an entry")
        return min(entries, max(0, given + entries if given < 0 else given))

    start = position(entry_start, 0)
    return start, max(start, position(entry_stop, entries))


def steps_of_files(links: Iterable[ChainFile], start: int, stop: int, step_entries: int) -> int:
    """How many steps a range of entries is read in, where none reaches over the end of a file."""
    overlaps = (min(stop, link.entry_stop) - max(start, link.entry_start) for link in links)
    return sum(-(-entries // step_entries) for entries in overlaps if entries > 0)


def step_of(size: StepSize) -> _core.StepSize:
    """Entries, or bytes with a unit, as the engine takes them."""
    return _core.StepSize(without_point(size))


def memory(size: StepSize) -> int:
    """Bytes, where a number is one of bytes and not of entries."""
    given = step_of(size)
    return given.bytes or given.entries or 0


@dataclass(frozen=True)
class EntrySelection:
    """Which entries arrays hold: all of a range, or those of it that pass a cut."""

    start: int
    stop: int
    #: First and last entry (half open) of each run that is left, counted in the tree.
    survivors: NDArray[np.int64] | None = None
    #: Entries before those of the tree.
    offset: int = 0

    def __len__(self) -> int:
        if self.survivors is None:
            return self.stop - self.start
        return int((self.survivors[1::2] - self.survivors[::2]).sum())

    def numbers(self) -> range | NDArray[np.int64]:
        """The number of each entry, counted from the first file's first."""
        if self.survivors is None:
            return range(self.start + self.offset, self.stop + self.offset)
        import numpy as np

        starts, lengths = self.survivors[::2], self.survivors[1::2] - self.survivors[::2]
        # Each run counts on from its own first entry.
        before = np.cumsum(lengths) - lengths
        numbers: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(len(self))
        return numbers + self.offset
