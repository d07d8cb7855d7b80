"""Steps of a read: the entries of each, and the skipped ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, Self

from ._uproot import public
from .errors import ArgumentTypeError, Error, InvalidArgumentError

#: Stands for the end of the steps.
_END = object()


@public
@dataclass(frozen=True)
class Report:
    """Which entries a step of an iteration holds.

    ``tree_entry_*`` count from the beginning of the file's tree, ``global_entry_*`` from the
    beginning of the first file's. All ranges are half open.

    Example:
        >>> steps = farroot.iterate(["events.root:Events", "more.root:Events"], "run", report=True)
        >>> _, (arrays, report) = steps
        >>> report.file_path, report.start, report.stop, report.tree_entry_start
        ('more.root', 4, 6, 0)
    """

    file_path: str
    object_path: str | None
    tree_entry_start: int
    tree_entry_stop: int
    global_offset: int = 0

    @property
    def global_entry_start(self) -> int:
        """The first entry, counted from the beginning of the first file's tree."""
        return self.tree_entry_start + self.global_offset

    @property
    def global_entry_stop(self) -> int:
        """The entry after the last one, counted in the same way."""
        return self.tree_entry_stop + self.global_offset

    #: As uproot calls them too.
    start = global_entry_start
    stop = global_entry_stop


@dataclass(frozen=True)
class Skipped:
    """Entries that ``iterate(..., on_error="report")`` has left out.

    The range is half open and counts from the beginning of the file's tree; it is None where the
    file could not even be opened, which leaves out all of it.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore", farroot.SkippedWarning)
        >>> arrays, skipped = farroot.concatenate(
        ...     ["events.root:Events", "damaged.root:Events"], "MET_pt", on_error="report"
        ... )
        >>> [(one.file_path, one.tree_entry_start, one.tree_entry_stop) for one in skipped]
        [('damaged.root', 0, 2)]
        >>> skipped[0].as_dict()["error"]
        'CorruptError'
    """

    file_path: str
    object_path: str | None
    tree_entry_start: int | None
    tree_entry_stop: int | None
    error: Error

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the error as its kind and its text."""
        return {
            "file_path": self.file_path,
            "object_path": self.object_path,
            "tree_entry_start": self.tree_entry_start,
            "tree_entry_stop": self.tree_entry_stop,
            "error": type(self.error).__name__,
            "message": str(self.error),
        }


@public
class Steps(Iterator[Any]):
    """The steps of ``iterate``, and the ranges that it has skipped so far.

    ``len(steps)`` is their number in all, those taken included, where it is known beforehand: of
    one tree or RNTuple, and of a chain in steps of entries.

    Attributes:
        skipped: In order; always empty unless ``on_error="report"`` or ``allow_missing=True``.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> steps = tree.iterate("MET_pt", step_size=3)
        >>> len(steps)
        2
        >>> [len(step) for step in steps]
        [3, 1]
        >>> steps.skipped
        []

    In a program of asyncio, ``async for step in steps`` lets other tasks run while a step is read.
    """

    def __init__(
        self, steps: Iterator[Any], skipped: list[Skipped], total: int | None = None
    ) -> None:
        self._steps = steps
        self._total = total
        self.skipped = skipped

    def __len__(self) -> int:
        if self._total is None:
            # A TypeError, as of whatever has no length: list() and its like go on without it.
            raise ArgumentTypeError(
                "how many steps there are shows only while they are read; "
                "len() knows it of one tree, and of farroot.chain() in steps of entries"
            )
        return self._total

    def __bool__(self) -> bool:
        return True

    def __next__(self) -> Any:
        return next(self._steps)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        import asyncio

        from ._awaited import awaited

        try:
            step = await awaited(partial(next, self._steps, _END))
        except asyncio.CancelledError:
            # Further steps would lack the one that was being read.
            self._steps = iter(_cancelled, None)
            raise
        if step is _END:
            raise StopAsyncIteration
        return step

    def close(self) -> None:
        """Ends the reading."""
        self._steps = iter(())


def _cancelled() -> NoReturn:
    raise InvalidArgumentError("the task that read these steps was cancelled: begin them anew")
