"""Data and helpers for tests of merges that fill columns which some inputs lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

import farroot

#: Entries of each input.
ENTRIES = 20

LISTS = [[float(n)] * (n % 3) for n in range(ENTRIES)]

#: For each column its values, and the value that fills entries of inputs without the column.
Columns = Mapping[str, tuple[Any, Any]]

#: Columns that are written to trees and to RNTuples.
COLUMNS: Columns = {
    "number": (np.arange(ENTRIES, dtype="i8"), 0),
    "matrix": (np.arange(ENTRIES * 6, dtype="f4").reshape(ENTRIES, 2, 3), [[0.0] * 3] * 2),
    "list": (ak.Array(LISTS), []),
    "text": (ak.Array(["x" * n for n in range(ENTRIES)]), ""),
    "nested": (ak.Array([[item, item] for item in LISTS]), []),
    "texts": (ak.Array([["a", "b" * n] for n in range(ENTRIES)]), []),
}
#: Values of a column of booleans; tests of trees and of RNTuples give it different names.
BITS = np.arange(ENTRIES) % 2 == 0


def values(columns: Columns, name: str) -> Any:
    """The values of a column as lists."""
    return ak.to_list(ak.Array(columns[name][0]))


def of_three(
    folder: Path,
    write: Callable[[Path, tuple[str, ...]], Path],
    columns: Columns,
    name: str,
    lacks: int,
) -> tuple[Path, list[Any]]:
    """Merges three inputs with the columns ``number`` and ``name``, one of them without ``name``.

    Args:
        write: Writes an input with columns of these names.
        lacks: Number of the input without the column, from 0.

    Returns:
        The output, and the values that it should have in the column.
    """
    both = ("number", name)
    inputs = [write(folder / f"{at}.root", both[: 1 + (at != lacks)]) for at in range(3)]
    output = folder / "all.root"
    with pytest.raises(farroot.UnsupportedError, match=name):
        farroot.merge(inputs, output)
    assert not output.exists()
    assert farroot.merge(inputs, output, missing="union").tables == {"Events": 3 * ENTRIES}
    there, nothing = values(columns, name), [columns[name][1]] * ENTRIES
    parts = [nothing if at == lacks else there for at in range(3)]
    return output, [*parts[0], *parts[1], *parts[2]]
