"""Matrices and vectors of ROOT, and sets of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .objects import Object

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Array(Object):
    """Something that is an array of NumPy, too: ``numpy.asarray(object)``."""

    def to_numpy(self) -> NDArray[Any]:
        """All of it."""
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = self.to_numpy()
        return values if dtype is None else values.astype(dtype)


class Vector(Array):
    """``TVectorT``."""

    def to_numpy(self) -> NDArray[Any]:
        """The elements."""
        return np.asarray(self["fElements"])


class Matrix(Array):
    """``TMatrixT``, ``TMatrixTSym`` and ``TMatrixTSparse``."""

    def to_numpy(self) -> NDArray[Any]:
        """The elements, in an array of shape (rows, columns)."""
        shape = self["fNrows"], self["fNcols"]
        stored = self["fElements"]
        elements = np.asarray(() if stored is None else stored)
        if self.classname.startswith("TMatrixTSym"):
            # Of each row, the elements from the diagonal on.
            above = np.triu_indices(shape[0])
            whole = np.zeros(shape, dtype=elements.dtype)
            whole[above] = whole.T[above] = elements
            return whole
        if self.classname.startswith("TMatrixTSparse"):
            whole = np.zeros(shape, dtype=elements.dtype)
            if len(elements):
                rows = np.repeat(np.arange(shape[0]), np.diff(self["fRowIndex"]))
                whole[rows, self["fColIndex"]] = elements
            return whole
        return elements.reshape(shape)


class Bits(Array):
    """``TBits``."""

    def to_numpy(self) -> NDArray[np.bool_]:
        """Each bit."""
        stored = np.asarray(self["fAllBits"], dtype=np.uint8)
        return np.unpackbits(stored, count=self["fNbits"], bitorder="little").astype(bool)
