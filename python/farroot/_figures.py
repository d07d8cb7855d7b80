"""Sizes of trees and branches: of a chain, in all of its files together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from . import _core


class Stored(NamedTuple):
    """Bytes of baskets in files, as these keep them."""

    compressed: int = 0
    uncompressed: int = 0
    baskets: int = 0

    @property
    def ratio(self) -> float:
        """Uncompressed by compressed bytes; 1.0 where there are none."""
        return self.uncompressed / self.compressed if self.compressed else 1.0

    @classmethod
    def of(cls, core: _core.StoredBytes) -> Stored:
        """The engine's own."""
        return cls(core.compressed, core.uncompressed, core.baskets)

    def plus(self, core: _core.StoredBytes) -> Stored:
        """Both together."""
        return Stored(*map(sum, zip(self, Stored.of(core), strict=True)))


def of_chain(files: Iterable[tuple[str, str]]) -> tuple[Stored, dict[str, Stored]]:
    """Of all trees of a chain, opened side by side: the whole, and each branch by its path."""
    whole, branches = Stored(), defaultdict[str, Stored](Stored)
    opens = _core.open_tables(list(files))
    while (each := opens.next()) is not None:
        if not each.is_tree:
            continue
        whole = whole.plus(each.stored())
        for info in each.columns():
            branches[info.path] = branches[info.path].plus(info.stored())
    return whole, dict(branches)
