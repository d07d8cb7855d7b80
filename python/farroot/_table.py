"""What trees and RNTuples have in common: a place in a file, and an address."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import _core
from ._befriended import Befriended
from ._entries import StepSize
from ._process import Live, NothingToClose
from ._uproot import taken
from .errors import UnsupportedError

if TYPE_CHECKING:
    from .dataset import Report
    from .file import File
    from .report import IoReport, Timeline

Core = TypeVar("Core", bound=_core.Tree | _core.Ntuple)


class InFile(NothingToClose, Befriended, Generic[Core]):
    """Something with entries in an open file."""

    def __init__(self, core: Core, url: str, object_path: str, again: Callable[[], Core]) -> None:
        self._shared = Live(core, again)
        self._url = url
        self._object_path = object_path
        self._known_file: File | None = None

    def _live(self) -> Core:
        """The engine's own, opened again after a fork."""
        return self._shared.here()

    @property
    def name(self) -> str:
        """Its own name, without directory and cycle."""
        return self._live().name

    @property
    def object_path(self) -> str:
        """Where it is in the file, as it was asked for."""
        return self._object_path

    @property
    def url(self) -> str:
        """The file's address, without secrets."""
        return self._url if self.is_chain else self._live().file.url

    #: As uproot calls it.
    file_path = url

    @property
    def file(self) -> File:
        """The file that it is in; of a chain, the first one."""
        from .file import File

        if self._known_file is None:
            self._known_file = File.of(self._live().file, self._url)
        return self._known_file

    @property
    def address(self) -> str:
        """File and object, as :func:`farroot.open` takes them."""
        return f"{self.url}:{self._object_path}"

    @taken
    def to_arrow(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        step_size: StepSize = "100 MB",
        **options: Any,
    ) -> Any:
        """Reads columns as a stream of Arrow record batches, each made when it is taken.

        What reads Arrow (polars, DuckDB, pyarrow) takes it by its C stream interface, without
        copying; what comes next is fetched and decoded meanwhile.

        Args:
            step_size: Entries in a batch, or the bytes that they take decoded, as ``"100 MB"``.
            options: Further arguments of ``iterate``.

        Returns:
            A ``pyarrow.RecordBatchReader``.
        """
        from ._libraries.arrow import stream

        table: Any = self
        like = {key: value for key, value in options.items() if not key.startswith("entry_")}
        steps = table.iterate(expressions, cut, step_size=step_size, library="arrow", **options)
        # Only the data may show that a column cannot be read: the first step has the schema.
        for first in steps:
            return stream(first.schema, chain([first], steps))
        nothing = table.arrays(expressions, cut, entry_stop=0, library="arrow", **like)
        return stream(nothing.schema, iter(()))

    def report(self) -> IoReport:
        """What reading the file has cost so far: bytes, requests, round trips, time.

        Of a chain, what everything has cost that this process has read.
        """
        from .report import IoReport

        return IoReport(_core.report(None if self.is_chain else self._live().file))

    @taken
    def timeline(self, path: str | os.PathLike[str] | None = None, *, width: int = 72) -> Timeline:
        """The requests for the file over time, one line a connection; a picture in notebooks.

        A dot is a request on its way, ``#`` bytes arriving.

        Args:
            path: Where to draw the same as an SVG picture, offset in the file over time.
            width: Characters of a line.

        Raises:
            UnsupportedError: for a chain, whose files have one each.
        """
        from .report import timeline

        if self.is_chain:
            raise UnsupportedError(
                "a chain has no timeline of its own: farroot.open(chain.links[0].file_path) and "
                "the like read one of its files"
            )
        return timeline(self._live().file, path, width)

    def _report(self, start: int, stop: int) -> Report:
        """Which entries a step holds."""
        from .dataset import Report

        return Report(self.url, self.object_path, start, stop)
