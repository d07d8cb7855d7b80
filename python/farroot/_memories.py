"""A file's metadata within a partition, so that the process that reads it need not fetch them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _core
from .errors import InvalidArgumentError


@dataclass(frozen=True)
class Metadata:
    """A file's metadata as they are stored in it, and the notes about its server.

    All partitions of a file share one object. The metadata are used only if the first bytes of the
    file, and its size, time and version at the server, have not changed.
    """

    stored: bytes = field(repr=False)
    #: The features of an XRootD server at the beginning of a connection.
    server: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str) -> Metadata | None:
        """The metadata of a file that this process has opened; None for local files, and if the
        server does not report when a file changed."""
        found = _core.remembered(url)
        return None if found is None else cls(*found)

    def remember(self, url: str) -> None:
        """Puts them into this machine's store of metadata, unless the file is there already.

        Raises:
            InvalidArgumentError: for metadata that another version of farroot has stored.
        """
        _core.remember(url, self.stored, self.server)

    def as_dict(self) -> dict[str, Any]:
        """The fields, for JSON."""
        return {"stored": b64encode(self.stored).decode(), "server": self.server}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Metadata:
        """The metadata from the result of :meth:`as_dict`."""
        return cls(b64decode(fields["stored"], validate=True), fields.get("server"))


def check_kept() -> None:
    """Checks that the store of metadata, from which partitions take them, is on.

    Raises:
        InvalidArgumentError: if the setting ``store`` is 0.
    """
    if _core.configure()["store"] == 0:
        raise InvalidArgumentError(
            'metadata="embed" takes them from the store of metadata, which is off here: '
            'farroot.config(store="100 MB")'
        )
