"""Complex numbers of C++ whose real and imaginary parts are columns of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from ._core import Column

_DTYPES = {"complex<float>": np.complex64, "complex<double>": np.complex128}


def dtype_of(typename: str) -> Any:
    """NumPy's type for a ``std::complex``, or for a list of them; None for any other type."""
    name = typename.replace("std::", "").replace(" ", "")
    if name.startswith("vector<") and name.endswith(">"):
        name = name[len("vector<") : -1]
    return _DTYPES.get(name)


def joined(dtype: Any, real: Column | None, imaginary: Column | None) -> Column | None:
    """One column of both parts; None where they do not fit together."""
    match real, imaginary:
        case _core.Numbers(first), _core.Numbers(second) if first.shape == second.shape:
            numbers = np.empty(first.shape, dtype)
            numbers.real, numbers.imag = first, second
            return _core.Numbers(numbers)
        case _core.List(offsets, first), _core.List(others, second):
            content = joined(dtype, first, second)
            same = np.array_equal(offsets, others)
            return _core.List(offsets, content) if same and content is not None else None
    return None
