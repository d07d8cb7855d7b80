"""The bytes of a branch's entries, as its baskets have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .tree import Branch


class Basket(NamedTuple):
    """Entries of a branch as bytes; :meth:`Branch.basket` gives those of one basket."""

    #: The bytes of the entries, one after the other, uncompressed.
    data: NDArray[np.uint8]
    #: Where each entry begins in ``data`` and, at last, where they end; None where all entries
    #: have as many bytes.
    byte_offsets: NDArray[np.int64] | None
    #: Number of entries.
    num_entries: int
    #: First and last entry (half open) in the tree, between which a cut may have left some out.
    entry_start_stop: tuple[int, int]
    #: Which of the branch's baskets it is; None of entries of several.
    basket_num: int | None = None


def read(branch: Branch, basket_num: int, start: int, stop: int) -> Basket:
    """Reads one basket of a branch, which has the entries ``start`` to ``stop``."""
    wanted = _core.Request([_core.ColumnRequest(branch._info.address, as_bytes=True)])
    (column,) = branch._table._live().read(wanted, start, stop).columns
    return basket_of(column, branch, (start, stop))._replace(basket_num=basket_num)


def basket_of(column: Any, branch: Branch, entries: tuple[int, int]) -> Basket:
    """What the engine has read of a branch as bytes."""
    offsets = column.offsets
    kept = offsets if _has_offsets(branch) else None
    return Basket(column.bytes, kept, len(offsets) - 1, entries)


def _has_offsets(branch: Branch) -> bool:
    """Whether ROOT keeps offsets of a branch's entries, since they may differ in length."""
    from .interpretation.identify import stored_interpretation
    from .interpretation.numerical import AsDtype

    if branch.tree.is_chain:
        # Its branches are in its files.
        return not isinstance(stored_interpretation(branch), AsDtype)
    return bool(branch.member("fEntryOffsetLen") != 0)
