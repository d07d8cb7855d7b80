"""An array of dask-awkward whose partitions farroot reads: of each the columns that are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import awkward as ak
from dask_awkward.lib.io.columnar import ColumnProjectionMixin
from dask_awkward.lib.io.io import from_map
from dask_awkward.lib.unproject_layout import unproject_layout

from ._projected import form_of, reduced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .scaleout import Partition


class _Read(ColumnProjectionMixin):  # type: ignore[misc]
    """Reads a partition; its methods and attributes are those that dask-awkward asks for."""

    #: dask-awkward may leave out columns.
    use_optimization = True
    behavior: dict[Any, Any] | None = None
    attrs: dict[str, Any] | None = None

    def __init__(self, form: Any, columns: frozenset[str] | None = None) -> None:
        self.form = form
        #: Paths in the form of what is read; None is all.
        self._columns = columns

    def __call__(self, partition: Partition) -> ak.Array:
        if self._columns is None:
            return partition.arrays()
        array = reduced(partition, self.form, self._columns).arrays()
        # Columns that are not read are in the array, without values.
        return ak.Array(unproject_layout(self.form, array.layout))

    def project_columns(self, columns: frozenset[str]) -> _Read:
        return _Read(self.form, columns)


def array_of(partitions: Sequence[Partition]) -> Any:
    """The ``dask_awkward.Array`` of partitions, the first of which tells its type."""
    return from_map(_Read(form_of(partitions[0])), partitions, label="farroot")
