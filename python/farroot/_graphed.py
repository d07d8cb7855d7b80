"""An array of graphed whose partitions farroot reads: only the columns in use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import graphed
import graphed.awkward
from graphed.core import Partition as Part

from ._awkward import ak
from ._projected import form_of, reduced
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .scaleout import Partition


class Source:
    """A ``PartitionedSource`` of graphed: it lists the partitions, and reads them in the processes
    of graphed's executors."""

    def __init__(self, partitions: Sequence[Partition], name: str) -> None:
        self.form = form_of(partitions[0])
        # Of a file that is listed twice, partitions are equal, and each is read.
        self._all = list(partitions)
        self._partitions = {_part(each): each for each in partitions}
        self._name = name

    def __call__(self) -> ak.Array:
        return ak.concatenate([each.arrays() for each in self._all])

    def partitions(self, steps_per_file: int = 1) -> tuple[Part, ...]:
        """The partitions as objects of graphed.

        Raises:
            InvalidArgumentError: for other ``steps_per_file`` than 1: the partitions are fixed.
        """
        if steps_per_file != 1:
            raise InvalidArgumentError(
                "the partitions are made: step_size= or blind= of farroot.graphed says how large"
            )
        return tuple(map(_part, self._all))

    def read_partition(
        self, partition: Part, columns: Sequence[str] | None, resources: Any
    ) -> ak.Array:
        """The arrays of a partition; of all columns if ``columns`` is None."""
        found = self._partitions[partition]
        if columns is not None:
            found = reduced(found, self.form, columns)
        return found.arrays()

    def projected_columns(
        self, outputs: Sequence[Any], *, on_fail: str = "pass"
    ) -> tuple[str, ...]:
        """The columns from which some outputs can be computed."""
        projection = graphed.awkward.projection.project_buffers_many(list(outputs), on_fail=on_fail)
        paths = projection.read_buffers.get(self._name, {})
        return reduced(self._all[0], self.form, paths).expressions or ()


def _part(partition: Partition) -> Part:
    path = partition.object_path or ""
    if partition.entries is not None:
        return Part(partition.address, path, *partition.entries)
    return Part.blind(partition.address, path, *(partition.share or (0, 1)))


def array_of(partitions: Sequence[Partition]) -> Any:
    """The deferred ``graphed.Array`` of partitions, with the type of the first one."""
    name = partitions[0].object_path or "events"
    source = Source(partitions, name)
    tracer = ak.typetracer.typetracer_from_form(source.form, highlevel=True)
    session = graphed.Session(graphed.awkward.AwkwardBackend())
    return session.source(name, form=graphed.awkward.AwkwardForm(tracer), data=source)
