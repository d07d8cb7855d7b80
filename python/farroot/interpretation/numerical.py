"""Numbers: ``AsDtype``, ``AsDouble32`` and ``AsFloat16``.

``branch.array(AsDtype(">u4"))``, ``tree.arrays({"x": ">u4"})``: the bytes of a branch of numbers as
numbers of another type, as many bytes an entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from farroot.errors import ArgumentTypeError, InvalidArgumentError
from farroot.interpretation import Interpretation

__all__ = ["AsDouble32", "AsDtype", "AsDtypeInPlace", "AsFloat16", "Numerical"]


def _dtype(given: Any) -> np.dtype[Any]:
    """The dtype that NumPy makes of an argument."""
    try:
        dtype: np.dtype[Any] = np.dtype(given)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{given!r} is no dtype of NumPy: {error}") from None
    return dtype


class Numerical(Interpretation):
    """Numbers, as many in each entry."""


class AsDtype(Numerical):
    """The bytes of an entry as a NumPy dtype, which may have a shape or fields.

    Args:
        from_dtype: The type in the file; big-endian is ``">"``.
        to_dtype: The type of the array; None is the same in the order of this machine.

    Example:
        >>> branch = farroot.open("events.root:Events")["MET_pt"]
        >>> branch.interpretation
        AsDtype('>f8')
        >>> branch.array(farroot.AsDtype(">u8"), entry_stop=1)
        <Array [4621819117588971520] type='1 * uint64'>
    """

    def __init__(self, from_dtype: Any, to_dtype: Any = None) -> None:
        self.from_dtype: np.dtype[Any] = _dtype(from_dtype)
        if self.from_dtype.hasobject or self.from_dtype.itemsize == 0:
            raise InvalidArgumentError(f"no bytes of a file are {self.from_dtype!r}")
        native = self.from_dtype.newbyteorder("=")
        self.to_dtype: np.dtype[Any] = native if to_dtype is None else _dtype(to_dtype)

    @property
    def itemsize(self) -> int:
        """Bytes of an entry in the file."""
        return self.from_dtype.itemsize

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """Lengths of the array in an entry."""
        return self.from_dtype.shape

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The type of the array."""
        return self.to_dtype

    def inplace(self, array: Any) -> AsDtypeInPlace:
        """The same, written into an array that is there already."""
        return AsDtypeInPlace(array, self.from_dtype)

    def _state(self) -> tuple[Any, ...]:
        return self.from_dtype, self.to_dtype

    def __repr__(self) -> str:
        if self.to_dtype == self.from_dtype.newbyteorder("="):
            return f"AsDtype({str(self.from_dtype)!r})"
        return f"AsDtype({str(self.from_dtype)!r}, {str(self.to_dtype)!r})"


class AsDtypeInPlace(AsDtype):
    """As :class:`AsDtype`, written into an array that is there already (``library="np"``).

    Example:
        >>> branch = farroot.open("events.root:Events")["MET_pt"]
        >>> target = np.zeros(4)
        >>> found = branch.array(farroot.AsDtypeInPlace(target, ">f8"), library="np")
        >>> target
        array([10., 55., 20., 80.])
    """

    def __init__(self, array: Any, from_dtype: Any) -> None:
        super().__init__(from_dtype, array.dtype)
        self.to_fill = array

    def _state(self) -> tuple[Any, ...]:
        return id(self.to_fill), self.from_dtype


class _Truncated(Numerical):
    """Reals in fewer bits: between two bounds or, where both are 0, with a shorter mantissa."""

    def __init__(
        self, low: float, high: float, num_bits: int, to_dims: tuple[int, ...] = ()
    ) -> None:
        self.low, self.high, self.num_bits, self.to_dims = low, high, num_bits, to_dims

    @property
    def is_truncated(self) -> bool:
        """Whether the mantissa is shorter."""
        return self.low == self.high == 0

    def _state(self) -> tuple[Any, ...]:
        return self.low, self.high, self.num_bits, self.to_dims

    def __repr__(self) -> str:
        dims = f", to_dims={self.to_dims}" if self.to_dims else ""
        return f"{type(self).__name__}({self.low}, {self.high}, {self.num_bits}{dims})"


class AsDouble32(_Truncated):
    """``Double32_t`` with bounds or bits; without either it is an :class:`AsDtype`.

    Example:
        >>> tree = farroot.open("members.root:events")
        >>> tree["event/stepped"].interpretation
        AsDouble32(0.0, 10.0, 12)
    """

    @property
    def to_dtype(self) -> np.dtype[Any]:
        """The type of the array."""
        return np.dtype((np.float64, self.to_dims))


class AsFloat16(_Truncated):
    """``Float16_t``.

    Example:
        >>> tree = farroot.open("members.root:events")
        >>> tree["event/truncated"].interpretation
        AsFloat16(0.0, 0.0, 12)
    """

    @property
    def to_dtype(self) -> np.dtype[Any]:
        """The type of the array."""
        return np.dtype((np.float32, self.to_dims))
