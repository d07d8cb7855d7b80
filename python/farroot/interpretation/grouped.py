"""Branches that only group others."""

from __future__ import annotations

from typing import Any

from farroot.interpretation import Interpretation

__all__ = ["AsGrouped"]


class AsGrouped(Interpretation):
    """Branches together, each by its name.

    Example:
        >>> list(farroot.open("members.root:events")["single"].interpretation.subbranches)
        ['a', 'b']
    """

    def __init__(self, branch: Any, subbranches: dict[str, Interpretation]) -> None:
        self.branch, self.subbranches = branch, subbranches

    def _state(self) -> tuple[Any, ...]:
        return self.branch, self.subbranches

    def __repr__(self) -> str:
        return f"AsGroup({self.branch!r}, {self.subbranches!r})"
