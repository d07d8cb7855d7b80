"""The bytes of a branch's entries, as they are in its baskets when uncompressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._protocols import Branch
from ._uproot import public


@public
class Basket(NamedTuple):
    """Entries of a branch as bytes; :meth:`Branch.basket` gives those of one basket.

    Example:
        >>> basket = farroot.open("events.root:Events")["run"].basket(0)
        >>> basket.num_entries, basket.data[:4].tolist()
        (4, [0, 0, 0, 1])
    """

    #: The bytes of the entries, one after the other, uncompressed.
    data: NDArray[np.uint8]
    #: Offset of each entry in ``data``, and the end of the last entry; None where ROOT stores no
    #: offsets, since all entries have the same length.
    byte_offsets: NDArray[np.int64] | None
    #: Number of entries.
    num_entries: int
    #: First and last entry (half open) in the tree; a cut may have left out some between them.
    entry_start_stop: tuple[int, int]
    #: Number of the basket in the branch; None for entries that may be of several baskets.
    basket_num: int | None = None


def read(branch: Branch, basket_num: int, start: int, stop: int) -> Basket:
    """Reads one basket of a branch, which has the entries ``start`` to ``stop``."""
    wanted = _core.Request([_core.ColumnRequest(branch._info.address, as_bytes=True)])
    (column,) = branch.tree._live().read(wanted, start, stop).columns
    return basket_of(column, branch, (start, stop))._replace(basket_num=basket_num)


def basket_of(column: Any, branch: Branch, entries: tuple[int, int]) -> Basket:
    """A column of a branch that the engine has read as bytes, as a :class:`Basket`."""
    offsets = column.offsets
    kept = offsets if _has_offsets(branch) else None
    return Basket(column.bytes, kept, len(offsets) - 1, entries)


def _has_offsets(branch: Branch) -> bool:
    """Whether ROOT keeps offsets of a branch's entries, since they may differ in length."""
    from .interpretation.identify import stored_interpretation
    from .interpretation.numerical import AsDtype

    if branch.tree.is_chain:
        # A chain has no TBranch of its own: those of its files have the members.
        return not isinstance(stored_interpretation(branch), AsDtype)
    return bool(branch.member("fEntryOffsetLen") != 0)
