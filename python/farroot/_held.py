"""Files that stay open for a while, for programs that open the same ones again and again.

coffea opens a file for each of its chunks, and fsspec for each of its calls. Far away, that costs
round trips each time; a file that is held costs none.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

from ._addresses import is_local
from ._limits import FILES_MAX, SECONDS_MAX
from ._locks import Lock
from .errors import Error
from .ranges import ByteFile, Range, WatchedFile


@dataclass
class _Entry:
    file: ByteFile
    users: int = 0
    idle_since: float = 0.0


class Held:
    """Far files by address, each shared by all who have it open."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[str, _Entry] = {}

    def take(self, url: str) -> ByteFile:
        """The file at an address, opened where it is not; :meth:`give_back` has to follow."""
        with self._lock:
            self._let_go()
            if (entry := self._entries.get(url)) is not None:
                entry.users += 1
                return entry.file
        # Outside of the lock: other threads open other files meanwhile.
        file = WatchedFile(url)
        with self._lock:
            entry = self._entries.setdefault(url, _Entry(file))
            entry.users += 1
            return entry.file

    def give_back(self, url: str, file: ByteFile) -> None:
        """One of those who have taken the file needs it no longer."""
        with self._lock:
            entry = self._entries.get(url)
            if entry is not None and entry.file is file:
                entry.users -= 1
                entry.idle_since = time.monotonic()
            self._let_go()

    def forget(self, url: str, file: ByteFile) -> None:
        """The file could not be read: the next reader opens it anew."""
        with self._lock:
            entry = self._entries.get(url)
            if entry is not None and entry.file is file:
                del self._entries[url]

    def forget_all(self, below: str | None = None) -> None:
        """The next reader opens anew each file whose address begins so; None: all files."""
        with self._lock:
            for url in [each for each in self._entries if each.startswith(below or "")]:
                entry = self._entries.pop(url)
                if entry.users == 0:
                    entry.file.close()

    def _let_go(self) -> None:
        """Drops files that have been idle for long, and the oldest of too many."""
        now = time.monotonic()
        idle = [(one.idle_since, url) for url, one in self._entries.items() if one.users == 0]
        for number, (since, url) in enumerate(sorted(idle, reverse=True)):
            if number >= FILES_MAX or now - since > SECONDS_MAX:
                del self._entries[url]


#: Those of this process.
HELD = Held()


class Lease:
    """A file as one program has it open. Local files are opened for each anew."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._is_held = not is_local(url)
        self.file = HELD.take(url) if self._is_held else ByteFile(url)
        # Programs forget to close files.
        self._end = weakref.finalize(self, _end, url, self.file, self._is_held)
        self._end.atexit = False

    def begin(self, ranges: list[Range]) -> Iterator[tuple[int, memoryview]]:
        """As :meth:`ByteFile.begin`."""
        return self._each(self.file.begin(ranges))

    def _each(self, arriving: Iterator[tuple[int, memoryview]]) -> Iterator[tuple[int, memoryview]]:
        try:
            yield from arriving
        except Error:
            if self._is_held:
                HELD.forget(self._url, self.file)
            raise

    def read(self, ranges: list[Range]) -> list[memoryview]:
        """As :meth:`ByteFile.read`."""
        come = dict(self.begin(ranges))
        return [come[position] for position in range(len(ranges))]

    def close(self) -> None:
        self._end()

    @property
    def closed(self) -> bool:
        return not self._end.alive


def _end(url: str, file: ByteFile, is_held: bool) -> None:
    if is_held:
        HELD.give_back(url, file)
    else:
        file.close()
