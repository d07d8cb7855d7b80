"""Objects of classes, and containers of more than numbers."""

from __future__ import annotations

from typing import Any

from farroot.containers import shown
from farroot.interpretation import Interpretation

__all__ = ["AsObjects", "AsStridedObjects"]


class AsObjects(Interpretation):
    """An object or a container (:mod:`farroot.containers`) an entry."""

    def __init__(self, model: Any, branch: Any = None) -> None:
        self.model, self.branch = model, branch

    def _state(self) -> tuple[Any, ...]:
        return (self.model,)

    def __repr__(self) -> str:
        return f"AsObjects({shown(self.model)})"


class AsStridedObjects(Interpretation):
    """Objects of which each takes as many bytes."""

    def __init__(self, model: Any, inner_shape: tuple[int, ...] = ()) -> None:
        self.model, self.inner_shape = model, inner_shape

    def _state(self) -> tuple[Any, ...]:
        return self.model, self.inner_shape

    def __repr__(self) -> str:
        shape = f", {self.inner_shape}" if self.inner_shape else ""
        return f"AsStridedObjects({shown(self.model)}{shape})"
