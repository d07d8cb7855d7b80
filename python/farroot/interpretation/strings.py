"""Strings."""

from __future__ import annotations

from typing import Any

from farroot.interpretation import Interpretation

__all__ = ["AsStrings"]


class AsStrings(Interpretation):
    """A string an entry.

    Args:
        header_bytes: How many bytes stand before each.
        length_bytes: Whether a length takes one byte or five (``"1-5"``), or always four.

    Example:
        >>> farroot.open("members.root:events")["event/text"].interpretation
        AsStrings(header_bytes=6)
    """

    def __init__(self, header_bytes: int = 0, length_bytes: str = "1-5", **_: Any) -> None:
        self.header_bytes, self.length_bytes = header_bytes, length_bytes

    def _state(self) -> tuple[Any, ...]:
        return self.header_bytes, self.length_bytes

    def __repr__(self) -> str:
        said = [f"header_bytes={self.header_bytes}"] if self.header_bytes else []
        said += [f"length_bytes={self.length_bytes!r}"] if self.length_bytes != "1-5" else []
        return f"AsStrings({', '.join(said)})"
