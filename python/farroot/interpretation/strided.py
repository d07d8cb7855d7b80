"""NumPy dtypes for the bytes of objects of a class that all take the same number of bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from farroot.errors import UnsupportedError

if TYPE_CHECKING:
    from farroot.streamers import StreamerElement, StreamerInfo

#: The 16 bytes before the members of a class that derives from ``TObject``: byte count and version
#: of the class, and ``TObject``'s version, ``fUniqueID`` and ``fBits`` (ROOT: TObject::Streamer).
#: Names and order are uproot's. ROOT writes these bytes in another order; only the sum is right.
_TOBJECT = (
    ("@instance_version", ">u2"),
    ("@num_bytes", ">u4"),
    ("@fUniqueID", ">u4"),
    ("@fBits", ">u4"),
    ("@pidf", ">u2"),
)

Streamers = Mapping[str, Mapping[int, "StreamerInfo"]]


class Strides:
    """Finds the dtype of a class that a file describes."""

    def __init__(self, streamers: Streamers, numbers: Mapping[str, str]) -> None:
        self._streamers = streamers
        #: The stored dtype of each C++ number type, by name.
        self._numbers = numbers

    def dtype(self, classname: str, version: int | None = None) -> np.dtype[Any]:
        """A field for each member; those of member objects as ``fP/fX``.

        Raises:
            UnsupportedError: for a class that the file does not describe, or whose objects differ
                in length.
        """
        return np.dtype(list(self._fields(classname, version, ())))

    def _fields(
        self, classname: str, version: int | None, within: tuple[str, ...]
    ) -> Iterator[tuple[str, Any]]:
        if classname == "TObject":
            yield from _TOBJECT
            return
        versions = self._streamers.get(classname)
        if not versions or classname in within:
            raise UnsupportedError(f"the file does not say how many bytes a {classname} takes")
        own = None if version is None else versions.get(version)
        info = own or versions[max(versions)]
        for element in info.elements:
            yield from self._element(info.name, element, (*within, classname))

    def _element(
        self, classname: str, element: StreamerElement, within: tuple[str, ...]
    ) -> Iterator[tuple[str, Any]]:
        if element.classname == "TStreamerBase":
            yield from self._fields(element.name, element.base_version, within)
        elif element.classname == "TStreamerBasicType" and element.typename in self._numbers:
            number = self._numbers[element.typename]
            yield element.name, np.dtype((number, element.dimensions))
        elif element.classname in ("TStreamerObject", "TStreamerObjectAny"):
            for name, field in self._fields(element.typename, None, within):
                yield f"{element.name}/{name}", field
        else:
            raise UnsupportedError(
                f"{classname}::{element.name} is a {element.typename}, which may take more bytes "
                "in one object than in another"
            )
