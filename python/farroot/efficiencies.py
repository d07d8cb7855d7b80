"""Efficiencies, and between which bounds they are: the intervals of ROOT's ``TEfficiency``."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _beta
from ._locks import cached_property
from .errors import InvalidArgumentError, UnsupportedError
from .histograms import Axis, Binned, Histogram, ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A lower or upper bound from all entries, those that passed and the confidence level.
Bound = Callable[[float, float, float, bool], float]

#: Bits of ``fBits`` (ROOT: ``TEfficiency::EStatusBits``).
_BAYESIAN, _MODE, _SHORTEST, _BIN_PRIOR, _WEIGHTED = (1 << bit for bit in range(14, 19))
#: ``TEfficiency::kFNormal``, which weights have, too.
_NORMAL = 1


class Efficiency(Binned):
    """``TEfficiency``: the part of all entries that passed, in each bin.

    Values and errors are those that ROOT's statistic option of the object gives.
    """

    @property
    def passed(self) -> Histogram:
        histogram: Histogram = self["fPassedHistogram"]
        return histogram

    @property
    def total(self) -> Histogram:
        histogram: Histogram = self["fTotalHistogram"]
        return histogram

    @property
    def kind(self) -> str:
        return "MEAN"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.total.axes

    @property
    def weighted(self) -> bool:
        """True: the variances are not the contents."""
        return True

    def _has(self, bit: int) -> bool:
        return bool(self["fBits"] & bit)

    def _cells(self) -> NDArray[np.float64]:
        """The efficiency of each bin; in an empty one 0, or that of a prior."""
        return self._by_bin[0]

    def _squares(self) -> NDArray[np.float64]:
        return np.asarray(self._mean_errors() ** 2)

    def _mean_errors(self) -> NDArray[np.float64]:
        _, low, high = self._by_bin
        return (low + high) / 2

    def errors(self, flow: bool = False, which: str = "mean") -> NDArray[np.float64]:
        """Error of each bin (ROOT: ``GetEfficiencyErrorLow`` and ``GetEfficiencyErrorUp``).

        Args:
            flow: Whether the bins below and above come too.
            which: ``"low"``, ``"high"``, their ``"mean"``, or ``"diff"``, by how much the high one
                is larger.

        Raises:
            InvalidArgumentError: for another word.
        """
        _, low, high = self._by_bin
        kinds = {"low": low, "high": high, "mean": self._mean_errors(), "diff": high - low}
        if which not in kinds:
            raise InvalidArgumentError(f"errors are low, high, mean or diff, not {which!r}")
        return self._within(kinds[which], flow)

    def counts(self, flow: bool = False) -> NDArray[Any]:
        """Number of all entries in each bin, passed or not."""
        return self.total.values(flow)

    @cached_property
    def _by_bin(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Efficiencies, and their lower and upper errors, flow included."""
        total, passed = self.total.values(flow=True), self.passed.values(flow=True)
        made = self._bayesian if self._has(_BAYESIAN) else self._frequentist
        if self._has(_WEIGHTED) and not self._has(_BAYESIAN):
            return self._of_weights()
        rows = [made(*cell) for cell in self._flat(total, passed)]
        value, low, high = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        # `_flat` goes through the first axis fastest, as ROOT numbers bins.
        shape = total.shape[::-1]
        return value.reshape(shape).T, low.reshape(shape).T, high.reshape(shape).T

    def _flat(self, *arrays: NDArray[Any]) -> list[tuple[int, float, float]]:
        """Number, all and passed of each bin, in ROOT's order."""
        total, passed = (array.T.reshape(-1).tolist() for array in arrays)
        return list(zip(range(len(total)), total, passed, strict=True))

    @property
    def _level(self) -> float:
        return float(self["fConfLevel"])

    def _frequentist(self, _: int, total: float, passed: float) -> tuple[float, float, float]:
        bound = _BOUNDS.get(self["fStatisticOption"])
        if bound is None:
            raise UnsupportedError(
                f"the statistic option {self['fStatisticOption']} of {self!r} is not known"
            )
        value = passed / total if total else 0.0
        low, high = (bound(total, passed, self._level, is_upper) for is_upper in (False, True))
        return value, value - low, high - value

    def _of_weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Of weights ROOT has the normal approximation only."""
        total, passed = self.total.values(flow=True), self.passed.values(flow=True)
        value = _quotient(passed, total)
        squares = self.passed.variances(flow=True), self.total.variances(flow=True)
        spread = squares[0] * (1 - 2 * value) + squares[1] * value**2
        with np.errstate(invalid="ignore"):
            # As ROOT, not a number where nothing was filled.
            sigma = np.sqrt(np.abs(spread) / np.asarray(total, dtype=np.float64) ** 2)
        delta = _normal(self._level) * sigma
        return value, np.minimum(delta, value), np.minimum(delta, 1 - value)

    def _bayesian(self, number: int, total: float, passed: float) -> tuple[float, float, float]:
        alpha, beta = float(self["fBeta_alpha"]), float(self["fBeta_beta"])
        if self._has(_BIN_PRIOR):
            pair = self["fBeta_bin_params"][number]
            alpha, beta = pair["first"], pair["second"]
        if self._has(_WEIGHTED):
            squares = self._weights_squared[number]
            if squares <= 0:
                # As ROOT, where nothing was filled.
                value = passed / total if total else np.nan
                return value, 0.0, 0.0
            scale = total / squares
            total, passed = total * scale, passed * scale
        a, b = passed + alpha, total - passed + beta
        value = _beta.mode(a, b) if self._has(_MODE) else a / (a + b)
        interval = _beta.shortest if self._has(_SHORTEST) else _beta.central
        low, high = interval(self._level, a, b)
        return value, value - low, high - value

    @cached_property
    def _weights_squared(self) -> list[float]:
        squares: list[float] = np.asarray(self.total["fSumw2"], dtype=np.float64).tolist()
        return squares


def _quotient(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    return ratio(above.reshape(-1), below.reshape(-1)).reshape(above.shape)


def _normal(level: float) -> float:
    """How many standard deviations to either side hold that part of all."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _clopper_pearson(total: float, passed: float, level: float, is_upper: bool) -> float:
    tail = (1 - level) / 2
    if is_upper:
        at_end = passed == total
        return 1.0 if at_end else _beta.quantile(1 - tail, passed + 1, total - passed)
    return 0.0 if passed == 0 else _beta.quantile(tail, passed, total - passed + 1)


def _clipped(middle: float, delta: float, is_upper: bool) -> float:
    return min(1.0, middle + delta) if is_upper else max(0.0, middle - delta)


def _gaussian(total: float, passed: float, level: float, is_upper: bool) -> float:
    if total == 0:
        return float(is_upper)
    average = passed / total
    return _clipped(average, _normal(level) * (average * (1 - average) / total) ** 0.5, is_upper)


def _wilson(total: float, passed: float, level: float, is_upper: bool) -> float:
    if total == 0:
        return float(is_upper)
    average, kappa = passed / total, _normal(level)
    middle = (passed + kappa**2 / 2) / (total + kappa**2)
    root = (total * average * (1 - average) + kappa**2 / 4) ** 0.5
    return _clipped(middle, kappa / (total + kappa**2) * root, is_upper)


def _agresti_coull(total: float, passed: float, level: float, is_upper: bool) -> float:
    kappa = _normal(level)
    middle = (passed + kappa**2 / 2) / (total + kappa**2)
    delta = kappa * (middle * (1 - middle) / (total + kappa**2)) ** 0.5
    return _clipped(middle, delta, is_upper)


def _feldman_cousins(total: float, passed: float, level: float, is_upper: bool) -> float:
    """The last true value that accepts so many, by the order of likelihood ratios."""
    number = int(total)
    counts = np.arange(number + 1)
    log_of_all = _beta.log_choose(number)
    best = _log_likelihood(counts, number, counts / max(number, 1))

    def accepted(true: float) -> tuple[int, int]:
        here = _log_likelihood(counts, number, np.full(number + 1, true))
        order = np.argsort(best - here, kind="stable")
        sums = np.cumsum(np.exp(here + log_of_all)[order])
        taken = order[: np.searchsorted(sums, level) + 1]
        return int(taken.min()), int(taken.max())

    low, high = 0.0, 1.0
    while high - low > 1e-9:
        true = (low + high) / 2
        first, last = accepted(true)
        is_below = first <= passed if is_upper else last < passed
        low, high = (true, high) if is_below else (low, true)
    return (low + high) / 2


def _log_likelihood(
    counts: NDArray[Any], number: int, true: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of so many that passed, without the factor that does not depend on the true value."""
    with np.errstate(divide="ignore", invalid="ignore"):
        passed = np.where(counts > 0, counts * np.log(true), 0.0)
        failed = np.where(counts < number, (number - counts) * np.log1p(-true), 0.0)
    return np.asarray(passed + failed)


def _mid_p(total: float, passed: float, level: float, is_upper: bool) -> float:
    """As Clopper and Pearson, with half of the probability of the observed count."""
    if 0 < passed < 1:
        ends = [_mid_p(total, each, level, is_upper) for each in (0.0, 1.0)]
        return (ends[1] - ends[0]) * passed + ends[0]
    wanted = (1 - level) / 2 if is_upper else (1 + level) / 2
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        true = (low + high) / 2
        part = _beta.density(true, passed + 1, total - passed + 1) / (total + 1) / 2
        if passed >= 1:
            part += 1 - _beta.cumulative(true, passed, total - passed + 1)
        low, high = (true, high) if part > wanted else (low, true)
    return (low + high) / 2


#: By ROOT's number of the statistic option (``TEfficiency::EStatOption``).
_BOUNDS: dict[int, Bound] = {
    0: _clopper_pearson,
    _NORMAL: _gaussian,
    2: _wilson,
    3: _agresti_coull,
    4: _feldman_cousins,
    8: _mid_p,
}
