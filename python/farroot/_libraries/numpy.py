"""Columns as NumPy arrays.

Numbers keep the engine's own memory. Columns for which NumPy has no array become arrays of
objects, as uproot's: each list a view of the content, each string a ``str``. Of branches, objects
and containers are those of :mod:`.entries`; of fields, as uproot has them, structured arrays and
lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Column
    from .._entries import EntrySelection


class NumPy:
    name: ClassVar[str] = "np"

    @property
    def of_columns(self) -> NumPy:
        return self

    def array(self, column: Column, rows: EntrySelection) -> NDArray[Any]:
        return to_numpy(column)

    def of_branch(self, column: Column, rows: EntrySelection) -> NDArray[Any]:
        from .entries import to_entries

        return to_entries(column)

    def computed(self, value: Any, rows: EntrySelection) -> NDArray[Any]:
        return _computed(value)

    def table(self, arrays: dict[str, Any], rows: EntrySelection) -> dict[str, Any]:
        return arrays

    def nested(self, arrays: dict[str, Any]) -> dict[str, Any]:
        return arrays

    def zipped(self, arrays: dict[str, Any]) -> Any:
        raise InvalidArgumentError('how="zip" needs library="ak"')

    def documented(self, array: Any, texts: dict[str, Any]) -> Any:
        return array

    def concatenate(self, tables: Sequence[Any]) -> Any:
        if isinstance(tables[0], dict):
            return {name: self.concatenate([each[name] for each in tables]) for name in tables[0]}
        return np.concatenate(tables)


def to_numpy(column: Column) -> NDArray[Any]:
    """One column; only numbers and records of numbers are not arrays of objects."""
    match column:
        case _core.Numbers(array):
            return array
        case _core.List(offsets, content):
            return _core.slices(offsets, to_numpy(content))
        case _core.Strings(offsets, encoded):
            return _core.strings(offsets, encoded)
        case _core.Record(_, length, fields):
            return records(length, [(name, to_numpy(field)) for name, field in fields])
        case _core.Regular(size, length, content):
            return to_numpy(content).reshape(length, size)
        case _core.Optional(index, content):
            return at(index, to_numpy(content))
        case _core.Union(tags, index, contents):
            out = np.empty(len(tags), dtype=object)
            for tag, content in enumerate(contents):
                out[tags == tag] = at(index[tags == tag], to_numpy(content))
            return out
        case _core.WithParameter(_, content):
            return to_numpy(content)


def at(index: NDArray[np.int64], content: NDArray[Any]) -> NDArray[Any]:
    """The values at some positions, None at negative ones."""
    out = np.empty(len(index), dtype=object)
    there = index >= 0
    values = content[index[there]]
    out[there] = values if values.ndim == 1 else list(values)
    return out


def _computed(value: Any) -> NDArray[Any]:
    """An array of NumPy or Awkward; where entries differ in length, an array of objects."""
    if isinstance(value, np.ndarray):
        return value
    from .._awkward import ak

    try:
        return np.asarray(ak.to_numpy(value, allow_missing=False))
    except ValueError:
        out = np.empty(len(value), dtype=object)
        for entry, each in enumerate(value):
            out[entry] = _computed(each) if isinstance(each, ak.Array) else each
        return out


def records(length: int, arrays: list[tuple[str, NDArray[Any]]]) -> NDArray[Any]:
    """Arrays as the fields of a structured one."""
    dtype = np.dtype([(name, array.dtype, array.shape[1:]) for name, array in arrays])
    out = np.empty(length, dtype=dtype)
    for name, array in arrays:
        out[name] = array
    return out
