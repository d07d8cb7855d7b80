"""Lists of numbers or of objects of fixed size."""

from __future__ import annotations

from typing import Any

from farroot.interpretation import Interpretation

__all__ = ["AsJagged"]


class AsJagged(Interpretation):
    """A list an entry.

    Args:
        content: The interpretation of the lists' content.
        header_bytes: How many bytes stand before each of them: 10 of a ``std::vector``.

    Example:
        >>> farroot.open("events.root:Events")["Muon_pt"].interpretation
        AsJagged(AsDtype('>f8'))
    """

    def __init__(self, content: Interpretation, header_bytes: int = 0, **_: Any) -> None:
        self.content, self.header_bytes = content, header_bytes

    def _state(self) -> tuple[Any, ...]:
        return self.content, self.header_bytes

    def __repr__(self) -> str:
        header = f", header_bytes={self.header_bytes}" if self.header_bytes else ""
        return f"AsJagged({self.content!r}{header})"
