"""The beta distribution, to the last few digits: intervals of efficiencies are its quantiles.

NumPy has no such functions, and SciPy would be a large dependency for these few.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Steps after which a series or a search has ended in double precision.
_STEPS = 1000
#: In place of a divisor that is 0.
_TINY = 1e-300


def log_choose(number: int) -> NDArray[np.float64]:
    """Logarithms of the binomial coefficients of a number."""
    import numpy as np

    logs = np.array([math.lgamma(each + 1) for each in range(number + 1)])
    return np.asarray(logs[-1] - logs - logs[::-1])


def _log_density(x: float, a: float, b: float) -> float:
    norm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return norm + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


def density(x: float, a: float, b: float) -> float:
    """The probability density at ``x``, which is neither 0 nor 1."""
    return math.exp(_log_density(x, a, b))


def cumulative(x: float, a: float, b: float) -> float:
    """The probability of less than ``x`` (the regularised incomplete beta function)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - cumulative(1 - x, b, a)
    return density(x, a, b) * x * (1 - x) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction (NIST's Handbook of Mathematical Functions, 8.17.22), by Lentz."""
    value = above = _TINY
    below = 0.0
    for step in range(_STEPS):
        half = step // 2
        if step == 0:
            part = 1.0
        elif step % 2:
            part = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            part = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        below = 1 / ((1 + part * below) or _TINY)
        above = (1 + part / above) or _TINY
        value *= above * below
        if step > 0 and abs(above * below - 1) < 1e-15:
            break
    return value


def quantile(part: float, a: float, b: float) -> float:
    """The value below which that part of the probability is."""
    return _falling(lambda x: part - cumulative(x, a, b), 0.0, 1.0)


def _falling(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls from ``low`` to ``high`` is 0."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def mode(a: float, b: float) -> float:
    """Where the density is highest; of several values, ROOT's choice."""
    if a <= 1 or b <= 1:
        return 0.5 if a == b else float(a > b)
    return (a - 1) / (a + b - 2)


def central(level: float, a: float, b: float) -> tuple[float, float]:
    """The interval with as much on either side of it."""
    return quantile((1 - level) / 2, a, b), quantile((1 + level) / 2, a, b)


def shortest(level: float, a: float, b: float) -> tuple[float, float]:
    """The shortest interval of that probability."""
    highest = mode(a, b)
    if highest == 0:
        return 0.0, quantile(level, a, b)
    if highest == 1:
        return quantile(1 - level, a, b), 1.0
    if a <= 1 and b <= 1:
        return central(level, a, b)

    def end(low: float) -> float:
        return quantile(min(cumulative(low, a, b) + level, 1.0), a, b)

    def rises(low: float) -> float:
        """Above 0 as long as the density at the lower end is less than at the upper one."""
        high = end(low)
        return _log_density(high, a, b) - _log_density(low, a, b) if 0 < low < high < 1 else 1.0

    low = _falling(rises, 0.0, min(highest, quantile(1 - level, a, b)))
    return low, end(low)
