"""Files of any kind, read as ranges of bytes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Unpack

from . import _core
from ._addresses import Address, path_text
from ._credentials import Access
from ._locks import cached_property
from ._ours import called, function_of
from ._process import Live, NothingToClose
from ._shown import shown
from ._uproot import Explained, taken
from .errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from ._types import Credentials

#: First and last byte, half open.
Range = tuple[int, int]
#: Called with the position of a range among the requested ones, and its bytes.
OnArrival = Callable[[int, memoryview], object]


@taken
def open_bytes(
    path: Address,
    ranges: Iterable[Range] = (),
    **credentials: Unpack[Credentials],
) -> ByteFile:
    """Opens a file of any kind, to read ranges of its bytes.

    Args:
        path: A URL or a local path, as for :func:`farroot.open`, but with nothing after it: a colon
            belongs to the name.
        ranges: The ranges that :meth:`ByteFile.read` will read first, pairs of first and last byte
            (half open): their request leaves together with the open and, where the server is
            known, costs no round trip of its own.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Raises:
        NotFoundError: no such file.
        InvalidArgumentError: for ranges that are none, or reach beyond the end of the file.

    Example:
        >>> with farroot.open_bytes("events.root") as file:
        ...     bytes(file.read([(0, 4)])[0])
        b'root'
    """
    access = Access(**credentials)
    return ByteFile(access.added_to(path_text(path)), ranges)


class ByteFile(NothingToClose, Explained):
    """An open file of any kind; :func:`open_bytes` opens it.

    It can be pickled, and used in several threads at a time.

    Example:
        >>> with farroot.open_bytes("events.root") as file:
        ...     head, tail = file.read([(0, 4), (file.size - 4, file.size)])
        >>> bytes(head)
        b'root'
    """

    #: Ranges that have left with the open, until they are read.
    _begun: tuple[list[Range], _core.Ranges] | None

    def __init__(self, url: str, ranges: Iterable[Range] = ()) -> None:
        first = checked(ranges)
        url = _core.for_others(url)
        core, begun = self._opened(url, first)
        self._take(core, url)
        self._within(first)
        self._begun = None if begun is None or not first else (first, begun)

    def _take(self, core: _core.ByteFile | None, url: str) -> None:
        self._url = url
        self._url_shown = _core.shown_address(url) if core is None else core.url
        self._core: Live[_core.ByteFile] | None = Live(core, lambda: self._opened(url, [])[0])
        self._begun = None
        if core is not None:
            # Stays when the file is closed.
            self._info = core.info()

    @cached_property
    def _info(self) -> tuple[int, int | None, str | None]:
        """Size, time and version as they were when it was opened first."""
        return self._live().info()

    @staticmethod
    def _opened(url: str, first: list[Range]) -> tuple[_core.ByteFile, _core.Ranges | None]:
        """The engine's file, and the ranges that have left with the open."""
        return _core.open_bytes(url, first)

    @property
    def url(self) -> str:
        """The file's address, without secrets."""
        return self._url_shown

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return self._info[0]

    @property
    def modified(self) -> int | None:
        """When it was changed last, seconds since 1970; None where the server does not report
        it."""
        return self._info[1]

    @property
    def version(self) -> str | None:
        """Another mark of this version, in the server's words: ``ETag`` of HTTP, the id of
        XRootD's ``stat``; None where the server gives none."""
        return self._info[2]

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return shown(f"<{type(self).__name__} {self._url_shown!r}, {self.size} bytes>")

    def read(
        self, ranges: Iterable[Range], on_arrival: OnArrival | None = None
    ) -> list[memoryview]:
        """Reads ranges, all of which are requested together.

        Args:
            ranges: Pairs of first and last byte, half open; they may overlap.
            on_arrival: Called with the position of a range in ``ranges`` and its bytes, as soon as
                it is complete: in the order in which they come.

        Returns:
            The bytes of each, in the order of ``ranges``: read-only, over the memory in which they
            have come. ``bytes(...)`` copies one.

        Raises:
            InvalidArgumentError: for ranges that are none, or reach beyond the end of the file.
            ChangedError: the file has been replaced since it was opened.
        """
        wanted = checked(ranges)
        tell = None if on_arrival is None else called(function_of(on_arrival, "on_arrival"))
        buffers: list[memoryview | None] = [None] * len(wanted)
        for position, buffer in self.begin(wanted):
            buffers[position] = buffer
            if tell is not None:
                tell(position, buffer)
        return [buffer for buffer in buffers if buffer is not None]

    def begin(self, ranges: Iterable[Range]) -> Iterator[tuple[int, memoryview]]:
        """Requests ranges at once, and gives position and bytes of each as it arrives.

        The arguments and errors are those of :meth:`read`.
        """
        wanted = checked(ranges)
        self._within(wanted)
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == wanted:
            return _arriving(begun[1])
        return _arriving(self._live().read(wanted))

    def _within(self, ranges: list[Range]) -> None:
        for start, stop in ranges:
            if stop > self.size:
                raise InvalidArgumentError(
                    f"bytes {start} to {stop} reach beyond the end of the file, which has "
                    f"{self.size} bytes: {self._url_shown}"
                )

    def _live(self) -> _core.ByteFile:
        if self._core is None:
            raise InvalidArgumentError(f"the file was closed: {self._url_shown}")
        return self._core.here()

    @property
    def closed(self) -> bool:
        """Whether the file has been closed."""
        return self._core is None

    def close(self) -> None:
        """Lets go of the file; buffers that were read stay."""
        self._core = self._begun = None

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _later, (type(self), self._url)


def _later(kind: type[ByteFile], url: str) -> ByteFile:
    """A file that is opened when it is first used."""
    file = kind.__new__(kind)
    file._take(None, url)
    return file


class WatchedFile(ByteFile):
    """A file of which the engine prefetches the ranges that the reads so far make likely:
    metadata, and the next entries of the columns that are read."""

    @staticmethod
    def _opened(url: str, first: list[Range]) -> tuple[_core.ByteFile, _core.Ranges | None]:
        return _core.watch(url), None


def checked(ranges: Iterable[Range]) -> list[Range]:
    """Pairs of numbers, as they are requested.

    Raises:
        ArgumentTypeError: for anything but pairs of whole numbers.
        InvalidArgumentError: for a range that begins before 0 or ends before it begins.
    """
    found = []
    for each in ranges:
        try:
            start, stop = map(operator.index, each)
        except (TypeError, ValueError):
            raise ArgumentTypeError(
                f"a range is a pair of its first and last byte (half open), not {each!r}"
            ) from None
        if not 0 <= start <= stop:
            raise InvalidArgumentError(f"bytes {start} to {stop} are no range")
        found.append((start, stop))
    return found


def _arriving(ranges: _core.Ranges) -> Iterator[tuple[int, memoryview]]:
    while (come := ranges.next()) is not None:
        position, array = come
        yield position, array.data
