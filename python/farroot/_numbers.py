"""Whole numbers among the arguments of callers, who compute them: ``num_entries * 0.5``."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any

from .errors import ArgumentTypeError


def whole(value: Any, of: str) -> int:
    """A whole number; a float is one where it has no fraction.

    Raises:
        ArgumentTypeError: for anything else.
    """
    value = without_point(value)
    try:
        return operator.index(value)
    except TypeError:
        said = f"{of} is a whole number, not {value!r}"
    if isinstance(value, numbers.Real) and math.isfinite(value):
        said = f"{said}: int({value!r}) leaves out the fraction"
    raise ArgumentTypeError(said)


def without_point(value: Any) -> Any:
    """A float without a fraction as an ``int``; any other value unchanged."""
    is_float = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)
    return int(value) if is_float and math.isfinite(value) and value == int(value) else value
