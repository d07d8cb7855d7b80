"""Columns as pandas Series and DataFrames, indexed by the number of the entry.

A column of plain numbers keeps the engine's own memory where pandas lets it; any other column
becomes one of objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from ..errors import InvalidArgumentError
from .numpy import NumPy, to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Column
    from .._entries import EntrySelection


class Pandas:
    name: ClassVar[str] = "pd"

    @property
    def of_columns(self) -> Pandas:
        return self

    def array(self, column: Column, rows: EntrySelection) -> Any:
        return _series(to_numpy(column), rows)

    of_branch = array

    def computed(self, value: Any, rows: EntrySelection) -> Any:
        if isinstance(value, pd.Series):
            return value.set_axis(_index(rows))
        return _series(NumPy().computed(value, rows), rows)

    def table(self, arrays: dict[str, Any], rows: EntrySelection) -> Any:
        flat = dict(_flat(arrays))
        index = _index(rows)
        try:
            frame = pd.DataFrame(flat, index=index, copy=False)
        except UnicodeEncodeError:
            made = {name: _of_objects(array, index) for name, array in flat.items()}
            frame = pd.DataFrame(made, index=index, copy=False)
        frame.columns = list(flat)
        return frame

    def nested(self, arrays: dict[str, Any]) -> Any:
        return arrays

    def zipped(self, arrays: dict[str, Any]) -> Any:
        raise InvalidArgumentError('how="zip" needs library="ak"')

    def documented(self, array: Any, texts: dict[str, Any]) -> Any:
        return array

    def concatenate(self, tables: Sequence[Any]) -> Any:
        return pd.concat(tables)


def _series(array: NDArray[Any], rows: EntrySelection) -> Any:
    if array.ndim > 1 or array.dtype.names is not None:
        objects = np.empty(len(array), dtype=object)
        for entry, row in enumerate(array):
            objects[entry] = row
        array = objects
    try:
        return pd.Series(array, index=_index(rows), copy=False)
    except UnicodeEncodeError:
        return _of_objects(array, _index(rows))


def _of_objects(array: Any, index: pd.Index) -> Any:
    """A column; texts that are no UTF-8, which pandas has no type for, stay Python's own."""
    if getattr(array, "dtype", np.dtype(float)).kind != "O":
        return array
    return pd.Series(array, index=index, dtype=object, copy=False)


def _index(rows: EntrySelection) -> Any:
    numbers = rows.numbers()
    if isinstance(numbers, range):
        return pd.RangeIndex(numbers.start, numbers.stop)
    return pd.Index(numbers)


def _flat(arrays: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Sub-branches as columns of their own, since a DataFrame does not nest."""
    columns: list[tuple[str, Any]] = []
    for name, array in arrays.items():
        if isinstance(array, dict):
            columns.extend(_flat(array, f"{prefix}{name}/"))
        else:
            columns.append((prefix + name, array))
    return columns
