"""How large trees and branches are: of a chain, in all of its files together."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from . import _core

if TYPE_CHECKING:
    from .tree import Tree


class Stored(NamedTuple):
    """Bytes of baskets in files, as these keep them."""

    compressed: int = 0
    uncompressed: int = 0
    baskets: int = 0

    @property
    def ratio(self) -> float:
        """Uncompressed by compressed bytes; 1.0 where there are none."""
        return self.uncompressed / self.compressed if self.compressed else 1.0

    def plus(self, *figures: int) -> Stored:
        """Both together."""
        return Stored(*(sum(pair) for pair in zip(self, figures, strict=False)))


def of_chain(tree: Tree) -> tuple[Stored, dict[str, Stored]]:
    """Of all trees of a chain, opened side by side: the whole, and each branch by its path."""
    whole, branches = Stored(), defaultdict[str, Stored](Stored)
    opens = _core.open_tables([link[:2] for link in tree.links])
    while (each := opens.next()) is not None:
        if isinstance(each, _core.Ntuple):
            continue
        whole = whole.plus(*each.bytes(), 0)
        paths: list[str] = []
        for number, (name, above) in enumerate(each.branches()):
            path = name if above is None else f"{paths[above]}/{name}"
            paths.append(path)
            branches[path] = branches[path].plus(*each.branch_bytes(number))
    return whole, dict(branches)
