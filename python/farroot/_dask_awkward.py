"""An array of dask-awkward whose partitions farroot reads: only the columns in use."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from dask_awkward.lib.io.columnar import ColumnProjectionMixin
from dask_awkward.lib.io.io import from_map
from dask_awkward.lib.unproject_layout import unproject_layout

from ._awkward import ak
from ._projected import form_of, reduced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .scaleout import Partition


class _Read(ColumnProjectionMixin):  # type: ignore[misc]
    """Reads a partition; dask-awkward's column projection calls its methods and attributes."""

    #: dask-awkward may leave out columns.
    use_optimization = True
    behavior: dict[Any, Any] | None = None
    attrs: dict[str, Any] | None = None

    def __init__(self, form: Any, columns: frozenset[str] | None = None) -> None:
        self.form = form
        #: Paths, in the form, of the columns to read; None reads all.
        self._columns = columns

    def __call__(self, partition: Partition) -> ak.Array:
        if self._columns is None:
            return partition.arrays()
        array = reduced(partition, self.form, self._columns).arrays()
        # The array has the columns that were not read, too, without values.
        return ak.Array(unproject_layout(self.form, array.layout))

    def project_columns(self, columns: frozenset[str]) -> _Read:
        return _Read(self.form, columns)


def array_of(partitions: Sequence[Partition]) -> Any:
    """The ``dask_awkward.Array`` of partitions, with the type of the first one; where the entries
    of all are known, so are its length and where they begin."""
    counts = [None if one.cut is not None else one.num_entries for one in partitions]
    known = [count for count in counts if count is not None]
    divisions = (0, *accumulate(known)) if len(known) == len(counts) else None
    read = _Read(form_of(partitions[0]))
    return from_map(read, partitions, label="farroot", divisions=divisions)
