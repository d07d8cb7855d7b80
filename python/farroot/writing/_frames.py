"""DataFrames of pandas: their columns, and their index as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentTypeError, Error, InvalidArgumentError

#: The name of an index that has none, as in uproot.
INDEX = "index"


class FrameColumns(dict[str, Any]):
    """The columns of a DataFrame. One that only numbers the rows may be left out."""

    #: Whether the column ``index`` is that of a frame whose index nobody has named.
    has_row_numbers = False


def is_of_pandas(data: Any) -> bool:
    """Whether a class of pandas has it."""
    return type(data).__module__.partition(".")[0] == "pandas"


def is_frame(data: Any) -> bool:
    """Whether it is a DataFrame of pandas."""
    return is_of_pandas(data) and hasattr(data, "columns")


def columns(frame: Any) -> FrameColumns:
    """The columns of a DataFrame, behind the levels of its index.

    Raises:
        InvalidArgumentError: for two columns of one name.
        ArgumentTypeError: for names that are no text.
    """
    found = FrameColumns()
    index = frame.index
    for name, level in _levels(index):
        _add(found, name, level, "its index: frame.reset_index(drop=True) leaves it out")
    is_numbers = getattr(getattr(index, "dtype", None), "kind", "") in "iu"
    found.has_row_numbers = index.nlevels == 1 and index.name is None and is_numbers
    for number, name in enumerate(frame.columns):
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
            name = str(name)
        _add(found, name, frame.iloc[:, number], "one of its columns")
    return found


def _add(found: FrameColumns, name: Any, values: Any, which: str) -> None:
    if not isinstance(name, str):
        said = "frame.columns = [...] names columns, frame.index.names = [...] levels"
        raise ArgumentTypeError(f"the name of a column is a string, not {name!r}: {said}")
    if name in found:
        said = f"a DataFrame has two columns of this name, of which the second is {which}"
        raise InvalidArgumentError(f"column {name!r}: {said}; rename one")
    found[name] = values


def _levels(index: Any) -> list[tuple[Any, Any]]:
    """Names, which are those of ``reset_index`` where none are given, and values."""
    if index.nlevels == 1:
        return [(INDEX if index.name is None else index.name, _index(index))]
    names = [f"level_{at}" if name is None else name for at, name in enumerate(index.names)]
    return [(name, _index(index.get_level_values(at))) for at, name in enumerate(names)]


def _index(level: Any) -> Any:
    """The values of a level of an index.

    Raises:
        Error: where they cannot be written.
    """
    from ._columns import to_layout

    try:
        return to_layout(level)
    except Error as error:
        said = "frame.reset_index(drop=True) leaves the index out"
        raise type(error)(f"the index of a DataFrame: {error}; {said}") from None


def values(array: Any) -> Any:
    """The values of a Series, an index or an extension array: an array of NumPy where there is
    one, which alone says that no value is missing; otherwise a Series, which Arrow takes."""
    import pandas as pd

    try:
        series = pd.Series(array)
        # Arrow knows no sparse values.
        is_plain = isinstance(series.dtype, (np.dtype, pd.SparseDtype))
        return series.to_numpy() if is_plain else series
    except Exception as error:
        kind = type(array).__name__
        raise ArgumentTypeError(f"a {kind} of pandas is no column: {error}") from error
