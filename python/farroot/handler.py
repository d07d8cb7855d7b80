"""farroot under uproot: ``uproot.open(..., handler=farroot.Source)`` reads through farroot."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ._addresses import expanded, path_text
from ._credentials import Access
from ._held import Lease
from ._locks import cached_property
from .errors import NotInstalledError
from .ranges import Range

try:
    from uproot.source import chunk as uproots
except ImportError as error:
    raise NotInstalledError("farroot.Source is for uproot 5: pip install 'uproot>=5.2'") from error

if TYPE_CHECKING:
    from queue import Queue


class Source(uproots.Source):  # type: ignore[misc]
    """Where uproot's bytes come from: ``uproot.open(path, handler=farroot.Source)``.

    Metadata come with the open, all ranges of a read are requested together, and the ranges that
    reads of the same columns will need next are on their way meanwhile. Files far away are shared
    with all others of this process that have them open, and stay open for up to a minute after the
    last has closed them: opening one again costs no round trip. After two files of a numbered
    sequence the next one is opened before uproot opens it, and closed if it does not within 10 s.

    uproot makes it, of a path and all options of ``uproot.open``, of which it takes ``token``,
    ``proxy``, ``ticket_cache``, ``s3_profile``, ``auth`` and ``insecure``, as :func:`farroot.open`
    has them. Timeouts and connections are set by :func:`farroot.config`.

    Raises:
        Error: those of :func:`farroot.open`; a file that is not there is a ``FileNotFoundError``.

    Example:
        >>> import uproot
        >>> with uproot.open("events.root", handler=farroot.Source) as file:
        ...     file["Events"]["MET_pt"].array(library="np")
        array([10., 55., 20., 80.])
    """

    def __init__(self, file_path: str, **options: Any) -> None:
        super().__init__()
        # Without secrets: uproot's errors name it.
        self._file_path = expanded(path_text(file_path))
        self._access = Access.among(options)
        _ = self._lease

    @cached_property
    def _lease(self) -> Lease:
        """The file, opened with its first use where the source comes out of a pickle."""
        return Lease(self._access.added_to(self._file_path))

    def chunk(self, start: int, stop: int) -> uproots.Chunk:
        """The bytes of one range; fewer where the file ends before."""
        ((_, buffer),) = self._begin([(start, stop)])
        future: Future[memoryview] = Future()
        future.set_result(buffer)
        return uproots.Chunk(self, start, stop, future)

    def chunks(self, ranges: Iterable[Range], notifications: Queue[Any]) -> list[uproots.Chunk]:
        """The bytes of several ranges, each of which is put on the queue when it has come."""
        ranges = list(ranges)
        arriving = self._begin(ranges)
        chunks, futures = [], []
        for start, stop in ranges:
            future: Future[memoryview] = Future()
            one = uproots.Chunk(self, start, stop, future)
            future.add_done_callback(uproots.notifier(one, notifications))
            chunks.append(one)
            futures.append(future)
        if ranges:
            threading.Thread(target=_deliver, args=(arriving, futures), daemon=True).start()
        return chunks

    def _begin(self, ranges: list[Range]) -> Iterator[tuple[int, memoryview]]:
        """Requests ranges, as far as the file has them."""
        if self.closed:
            raise OSError(f"file {self._file_path!r} is closed")
        self._num_requests += 1
        self._num_requested_chunks += len(ranges)
        self._num_requested_bytes += sum(int(stop - start) for start, stop in ranges)
        size = self._lease.file.size
        return self._lease.begin([(min(start, size), min(stop, size)) for start, stop in ranges])

    @property
    def num_bytes(self) -> int:
        """Bytes of the whole file."""
        return self._lease.file.size

    @property
    def closed(self) -> bool:
        return self._lease.closed

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._lease.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lease"}

    def __repr__(self) -> str:
        return f"<farroot.Source of {self._lease.file!r}>"


def _deliver(arriving: Iterator[tuple[int, memoryview]], futures: list[Future[memoryview]]) -> None:
    """Waits for ranges in a thread of its own, and completes the future of each."""
    try:
        for position, buffer in arriving:
            futures[position].set_result(buffer)
    except BaseException as error:
        # Of any kind: uproot waits for it.
        for future in futures:
            if not future.done():
                future.set_exception(error)
