"""Columns as pandas Series and DataFrames, indexed by the number of the entry.

A column of plain numbers keeps the engine's own memory where pandas lets it; what is not one
number an entry becomes a column of objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import InvalidArgumentError
from .numpy import to_numpy

if TYPE_CHECKING:
    from .._core import Column


class Pandas:
    def array(self, column: Column, start: int) -> Any:
        array = to_numpy(column)
        if array.ndim > 1 or array.dtype.names is not None:
            rows = np.empty(len(array), dtype=object)
            for entry, row in enumerate(array):
                rows[entry] = row
            array = rows
        index = pd.RangeIndex(start, start + len(array))
        return pd.Series(array, index=index, copy=False)

    def table(self, arrays: dict[str, Any], start: int, stop: int) -> Any:
        flat = dict(_flat(arrays))
        frame = pd.DataFrame(flat, index=pd.RangeIndex(start, stop), copy=False)
        frame.columns = list(flat)
        return frame

    def nested(self, arrays: dict[str, Any]) -> Any:
        return arrays

    def zipped(self, arrays: dict[str, Any]) -> Any:
        raise InvalidArgumentError('how="zip" needs library="ak"')

    def concatenate(self, tables: Sequence[Any]) -> Any:
        return pd.concat(tables)


def _flat(arrays: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Sub-branches as columns of their own, since a DataFrame does not nest."""
    columns: list[tuple[str, Any]] = []
    for name, array in arrays.items():
        if isinstance(array, dict):
            columns.extend(_flat(array, f"{prefix}{name}/"))
        else:
            columns.append((prefix + name, array))
    return columns
