"""Objects of classes, and containers of more than numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from farroot.containers import shown
from farroot.errors import InvalidArgumentError
from farroot.interpretation import Interpretation

__all__ = ["AsObjects", "AsStridedObjects"]


class AsObjects(Interpretation):
    """An object or a container (:mod:`farroot.containers`) an entry.

    Example:
        >>> farroot.open("members.root:events")["event/nested"].interpretation
        AsObjects(AsVector(True, AsVector(False, dtype('>i2'))))
    """

    def __init__(self, model: Any, branch: Any = None) -> None:
        self.model, self.branch = model, branch

    def _state(self) -> tuple[Any, ...]:
        return (self.model,)

    def __repr__(self) -> str:
        return f"AsObjects({shown(self.model)})"


class AsStridedObjects(Interpretation):
    """Objects that all take the same number of bytes.

    Args:
        model: The class.
        inner_shape: Shape of the array of objects in an entry.
        stored: Returns the dtype of one object in the file; None if no file describes the class.

    Example:
        >>> farroot.open("members.root:events")["point"].interpretation
        AsStridedObjects(Model_TVector2_v3)
    """

    def __init__(
        self,
        model: Any,
        inner_shape: tuple[int, ...] = (),
        stored: Callable[[], np.dtype[Any]] | None = None,
    ) -> None:
        self.model, self.inner_shape, self._stored = model, inner_shape, stored

    @property
    def from_dtype(self) -> np.dtype[Any]:
        """The dtype of an entry's bytes: a field for each member, ``fP/fX`` for member objects.
        Names that begin with ``@`` belong to headers.

        Raises:
            InvalidArgumentError: for an interpretation that was made without a file.
            UnsupportedError: for a class that the file does not describe, or whose objects differ
                in length.
        """
        if self._stored is None:
            raise InvalidArgumentError(
                f"{self!r} is of no file, which would say what its bytes are"
            )
        return np.dtype((self._stored(), self.inner_shape))

    def _state(self) -> tuple[Any, ...]:
        return self.model, self.inner_shape

    def __repr__(self) -> str:
        shape = f", {self.inner_shape}" if self.inner_shape else ""
        return f"AsStridedObjects({shown(self.model)}{shape})"
