"""Reports on the cost of reading: bytes, requests, round trips, and the parts of the time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

from . import _core, _html
from ._account import Account
from ._progress import Progress
from ._uproot import public, taken
from .errors import InvalidArgumentError, UnsupportedError


@public
class IoReport(Account):
    """A mapping of figures; as text, a short account.

    Keys:
        wall_s: Seconds from the first call to the last answer.
        time_s: Its parts, a dict whose values sum up to ``wall_s``: waits while ``connecting``,
            ``opening``, for ``metadata``, for ``bytes`` of baskets, for ``decoding`` and for
            ``joining`` baskets to columns; and the time that was no wait, the ``caller``'s own
            (making arrays is part of it; in the report of one file, waits for others too).
        transfer_s: Seconds with a request unanswered, whatever else went on.
        decoding_s: Seconds that decoding took, all threads added up, whatever else went on.
        bytes_slowly_decompressed: Bytes that came out of LZMA, which is slow.
        bytes_received: Bytes that have arrived from all servers.
        bytes_cached: Bytes that were read from the cache on a disk of this machine.
        bytes_baskets, bytes_metadata: Those of them that were wanted; the ends of a file, which
            come with its open, count as metadata.
        over_read: ``(bytes_received + bytes_cached) / (bytes_baskets + bytes_metadata) - 1``.
        requests, segments: Requests sent, and the ranges of bytes in them.
        connections: Connections begun.
        serial_round_trips: Times at which a connection was begun or a request left while
            nothing was under way: waits for the distance that nothing else hid.
        stalls: Times at which a caller waited for a batch whose bytes had not all come.
        sources: For each server a dict of ``name``, ``bytes_received``, ``requests``,
            ``failures``, ``damaged_pages`` (4 KiB each, that did not match their checksums and
            were requested again), ``hedges`` (requests for bytes that were late elsewhere),
            ``hedge_bytes`` that they brought first, ``connections``, ``connect_s`` and
            ``first_byte_s`` at best, ``transfer_s``, ``rate`` in bytes a second of it, and where
            there are several servers ``history``: ``rates`` in each tenth of the time, ``states``
            with their times.
        notes: Things worth knowing: redirections, servers without ranges.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> report = tree.report()
        >>> report["sources"][0]["name"]
        'file://'
    """

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._text)

    def _repr_html_(self) -> str:
        return _html.report(self)


@taken
def report() -> IoReport:
    """The cost of everything that this process has read; see :class:`IoReport`.

    Example:
        >>> arrays = farroot.open("events.root:Events").arrays()
        >>> farroot.report()["bytes_received"] > 0
        True
    """
    return IoReport(_core.report(None))


@public
class Reporting(IoReport):
    """The report of a block: ``with farroot.reporting() as report: ...``.

    Within the block it covers the work so far, after it all work of the block, by this process as
    a whole. Sources have the best ``connect_s`` and ``first_byte_s`` that they ever had.

    Example:
        >>> with farroot.reporting() as report:
        ...     file = farroot.open("events.root")
        >>> sorted(report["time_s"])
        ['bytes', 'caller', 'connecting', 'decoding', 'joining', 'metadata', 'opening']
    """

    def __init__(self) -> None:
        self._mark: _core.Mark | None = None

    def __enter__(self) -> Reporting:
        self._mark = _core.mark(None)
        return self

    def __exit__(self, *_: object) -> None:
        super().__init__(self._since())
        self._mark = None

    def _since(self) -> tuple[str, str]:
        if self._mark is None:
            raise InvalidArgumentError("it is for: with farroot.reporting() as report: ...")
        return self._mark.since()

    def __getattr__(self, name: str) -> Any:
        if name not in ("_figures", "_text"):
            raise AttributeError(name)
        figures, text = self._since()
        return text if name == "_text" else json.loads(figures)


@taken
def reporting() -> Reporting:
    """The cost of the reads of a block: bytes, requests, round trips, time.

    ``tree.report()`` is of a file since it was opened, :func:`report` of the whole process;
    this is of one call, or of as many as the block has.

    Example:
        >>> with farroot.reporting() as report:
        ...     arrays = farroot.open("events.root:Events").arrays("MET_pt")
        >>> report["bytes_received"] > 0
        True
    """
    return Reporting()


@public
class Timeline(str):
    """The requests of a file over time, as text; notebooks show the picture, :attr:`svg`.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> arrays = tree.arrays()
        >>> timeline = tree.timeline("read.svg")
        >>> timeline.svg[:4]
        '<svg'
    """

    svg: str

    def _repr_html_(self) -> str:
        return _html.picture(self.svg)


def timeline(file: _core.File, path: str | os.PathLike[str] | None, width: int) -> Timeline:
    """The timeline of an open file; drawn to a path, where one is given."""
    svg, text = _core.timeline(file, width)
    if path is not None:
        _core.write_file(os.path.expanduser(path), svg.encode())
    drawn = Timeline(text)
    drawn.svg = svg
    return drawn


@public
class LiveTimeline:
    """A timeline in a notebook that is redrawn during a read.

    ``progress=`` takes it: ``tree.arrays(columns, progress=tree.live_timeline())``. Drawing takes
    at most a tenth of the time.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> arrays = tree.arrays(progress=tree.live_timeline())  # doctest: +SKIP
    """

    def __init__(self, draw: Callable[[], Timeline], every: float) -> None:
        self._draw, self._every = draw, every
        self._due = 0.0
        shown = _html.displayed(draw())
        if shown is None:
            raise UnsupportedError(
                "a timeline grows in a notebook only; timeline() draws it when the read has ended"
            )
        self._shown = shown

    def __call__(self, now: Progress) -> None:
        is_last = now.entries_total is not None and now.entries == now.entries_total
        begun = time.monotonic()
        if begun < self._due and not is_last:
            return
        self._shown.update(self._draw())
        ended = time.monotonic()
        self._due = ended + max(self._every, 9 * (ended - begun))
