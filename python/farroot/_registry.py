"""Classes whose bytes only the user understands: those with streamers written by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import Column

#: Gives an array of one element an entry.
Decoder = Callable[["Column"], Any]

_decoders: dict[str, Decoder] = {}


def register(typename: str, decode: Callable[[list[bytes]], Any]) -> None:
    """Has branches of a type read by a function.

    Args:
        typename: The type as :attr:`Branch.typename` spells it.
        decode: Is called for each run of entries with their bytes as they are in the file, headers
            included; gives a NumPy or Awkward array of as many elements. It goes before what
            farroot knows of the type.
    """

    def of_column(column: Any) -> Any:
        stored = bytes(column.bytes)
        bounds = column.offsets.tolist()
        return decode([stored[start:stop] for start, stop in pairwise(bounds)])

    _decoders[typename] = of_column


def unregister(typename: str) -> None:
    """Forgets a type; trees that were opened before keep it as bytes."""
    _decoders.pop(typename, None)


def registered(typename: Callable[[], str]) -> Decoder | None:
    """What was registered for a type, which is looked up only where there is anything."""
    return _decoders.get(typename()) if _decoders else None
