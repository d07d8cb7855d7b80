"""Entries of branches as objects: classes by their members, containers of C++ as Python's.

uproot's arrays of ``library="np"``, made of columns: an object is filled when it is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._classes import make
from .._locks import cached_property
from ..containers import STLBitSet, STLMap, STLSet, STLVector
from .numpy import at, records, to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Column


def to_entries(column: Column, *, nested: bool = False) -> NDArray[Any]:
    """One value an entry; numbers, and lists of these at the top, are NumPy's arrays.

    Args:
        nested: Whether it is in another list, in which a list is an ``STLVector``.
    """
    match column:
        case _core.List(offsets, _core.WithParameter("sorted_map", _core.Record(_, _, fields))):
            keys, values = (to_entries(field, nested=True) for _, field in fields)
            each = zip(_core.slices(offsets, keys), _core.slices(offsets, values), strict=True)
            return _objects(STLMap(*pair) for pair in each)
        case _core.WithParameter("set", _core.List(offsets, content)):
            inner = _core.slices(offsets, to_entries(content, nested=True))
            return _objects(map(STLSet, inner))
        case _core.WithParameter("bitset", content) | _core.Regular(
            _, _, _core.WithParameter("bitset", content)
        ):
            return _objects(map(STLBitSet, to_numpy(content)))
        case _core.List(offsets, content):
            inner = _core.slices(offsets, to_entries(content, nested=True))
            return _objects(map(STLVector, inner)) if nested or not _is_flat(content) else inner
        case _core.Regular(size, length, content):
            return to_entries(content, nested=True).reshape(length, size)
        case _core.Record(None, length, fields):
            return records(length, [(name, to_entries(field)) for name, field in fields])
        case _core.Record(str(name), length, fields):
            rows = _Rows(fields)
            return _objects(make(name, None, _Row(rows, row)) for row in range(length))
        case _core.Optional(index, content):
            return at(index, to_entries(content, nested=nested))
        case _core.Union(tags, index, contents):
            out = np.empty(len(tags), dtype=object)
            for tag, content in enumerate(contents):
                out[tags == tag] = at(index[tags == tag], to_entries(content, nested=nested))
            return out
        case _core.WithParameter(_, content):
            return to_entries(content, nested=nested)
    return to_numpy(column)


def _is_flat(content: Column) -> bool:
    """Whether lists of it are arrays of NumPy: of numbers, or of objects."""
    match content:
        case _core.Regular(_, _, inner):
            return _is_flat(inner)
    return isinstance(content, (_core.Numbers, _core.Record))


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    """An array of these objects, which NumPy would take for arrays themselves."""
    made = list(values)
    out = np.empty(len(made), dtype=object)
    for number, value in enumerate(made):
        out[number] = value
    return out


class _Rows:
    """The members of many objects of one class, column by column."""

    def __init__(self, fields: list[tuple[str, Column]]) -> None:
        self._fields = fields

    @cached_property
    def _columns(self) -> list[tuple[str, NDArray[Any]]]:
        return [(name, to_entries(field)) for name, field in self._fields]

    def members(self, row: int) -> dict[str, Any]:
        """Those of one object; numbers are Python's."""
        values = ((name, column[row]) for name, column in self._columns)
        return {
            name: value.item() if isinstance(value, np.generic) and not value.dtype.names else value
            for name, value in values
        }


class _Row:
    """Where the members of one object are."""

    def __init__(self, rows: _Rows, row: int) -> None:
        self._rows, self._row = rows, row

    def fill(self, instance: Any) -> None:
        """Gives them to the object."""
        instance.fill(self._rows.members(self._row), [])
