"""Special functions for expressions, which NumPy does not have: those of C, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _gamma(number: float) -> float:
    try:
        return math.gamma(number)
    except ValueError:
        # A pole, on whose sides it has different signs.
        return math.nan
    except OverflowError:
        return math.inf


def _lgamma(number: float) -> float:
    try:
        return math.lgamma(number)
    except (ValueError, OverflowError):
        return math.inf


def _factorial(number: float) -> float:
    return _gamma(np.round(number) + 1)


def _of_arrays(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of one number as one of arrays of NumPy and Awkward."""

    def of_numpy(values: Any) -> Any:
        array = np.asarray(values, dtype=np.float64)
        found = map(function, array.ravel().tolist())
        return np.fromiter(found, dtype=np.float64, count=array.size).reshape(array.shape)

    def of_any(values: Any) -> Any:
        if not hasattr(values, "layout"):
            return of_numpy(values)
        import awkward as ak

        def of_layout(layout: Any, **_: Any) -> Any:
            return ak.contents.NumpyArray(of_numpy(layout.data)) if layout.is_numpy else None

        return ak.transform(of_layout, values)

    return of_any


#: By the names that uproot has for them.
FUNCTIONS = {
    "erf": _of_arrays(math.erf),
    "erfc": _of_arrays(math.erfc),
    "factorial": _of_arrays(_factorial),
    "gamma": _of_arrays(_gamma),
    "lgamma": _of_arrays(_lgamma),
    "tgamma": _of_arrays(_gamma),
}
