"""The part of the extension module that reads files of any kind."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

#: First and last byte, half open.
_Range = tuple[int, int]

@final
class ByteFile:
    """An open file of any kind."""

    @property
    def url(self) -> str: ...
    def info(self) -> tuple[int, int | None, str | None]:
        """Bytes, seconds since 1970 of the last change, and the server's name for this version."""

    def read(self, ranges: Sequence[_Range]) -> Ranges:
        """Requests ranges, and does not wait for them."""

@final
class Ranges:
    """Ranges on their way."""

    def next(self) -> tuple[int, NDArray[np.uint8]] | None:
        """Position and bytes of the next range that has come; None after the last one."""

def open_bytes(address: str, ranges: Sequence[_Range]) -> tuple[ByteFile, Ranges]:
    """Opens a file; the requests for its first ranges leave together with the open."""

def watch(address: str) -> ByteFile:
    """Opens a file whose reads are watched: the ranges that they will need next are prefetched.
    Callers that have the same address open share it."""

def listed(directory: str) -> list[tuple[str, int | None, bool | None, float | None]]:
    """Name, bytes, whether it is a directory, and seconds since 1970 of the last change, of all
    that is in a directory, by name."""

def servers(addresses: Sequence[str]) -> list[list[str]]:
    """For each address, the XRootD servers that have the file (``kXR_locate``), as
    ``root://host:port``; none for other protocols."""
