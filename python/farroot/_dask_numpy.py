"""Arrays of ``dask.array`` whose chunks are columns of partitions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ._imports import package

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .scaleout import Partition

#: The names that lead to an array: of a branch that groups others, theirs too.
Names = tuple[str, ...]


def arrays_of(partitions: Sequence[Partition]) -> dict[str, Any]:
    """One array for each column, in a dict; of the first partition only metadata are read."""
    package("dask.array", "'farroot[dask]'")
    empty = replace(partitions[0], entries=(0, 0), share=None).arrays(library="np")
    return {name: _of(partitions, (name,), array) for name, array in empty.items()}


def _of(partitions: Sequence[Partition], names: Names, empty: Any) -> Any:
    """The array of a column, which is like the one without entries."""
    if isinstance(empty, dict):
        return {name: _of(partitions, (*names, name), part) for name, part in empty.items()}
    import dask.array
    from dask.delayed import delayed

    read = delayed(_read, name="farroot.array", pure=True)
    chunks = [
        dask.array.from_delayed(
            read(replace(one, expressions=names[:1]), names),
            shape=(_length(one), *empty.shape[1:]),
            meta=empty,
        )
        for one in partitions
    ]
    return dask.array.concatenate(chunks)


def _length(partition: Partition) -> float:
    """How many entries a partition has; not a number where that shows when it is read."""
    count = partition.num_entries
    return math.nan if count is None or partition.cut is not None else count


def _read(partition: Partition, names: Names) -> Any:
    found = partition.arrays(library="np")
    for name in names:
        found = found[name]
    return found
