"""What is remembered of a file, in a partition: no metadata are asked for where it is read."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _core
from .errors import InvalidArgumentError


@dataclass(frozen=True)
class Metadata:
    """A file's metadata as they are stored in it, and what is known of its server.

    All partitions of a file share one. They are believed only where the file's own first bytes and
    what its server says of it are as they were.
    """

    stored: bytes = field(repr=False)
    #: What an XRootD server allows at the beginning of a connection.
    server: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str) -> Metadata | None:
        """Those of a file that this process has opened; None of local files, and of servers that
        do not say when a file changed."""
        found = _core.remembered(url)
        return None if found is None else cls(*found)

    def remember(self, url: str) -> None:
        """Has this machine remember them, where it knows nothing of the file.

        Raises:
            InvalidArgumentError: for what another version of farroot has made.
        """
        _core.remember(url, self.stored, self.server)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"stored": b64encode(self.stored).decode(), "server": self.server}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Metadata:
        """What :meth:`as_dict` has told."""
        return cls(b64decode(told["stored"], validate=True), told.get("server"))


def check_kept() -> None:
    """Metadata come from the store, which has to keep them.

    Raises:
        InvalidArgumentError: where it keeps nothing.
    """
    if _core.configure()["store"] == 0:
        raise InvalidArgumentError(
            'metadata="embed" takes them from the store of metadata, which is off here: '
            'farroot.config(store="100 MB")'
        )
