"""Curves and points that RooFit draws; names are uproot's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._imports import package
from .errors import InvalidArgumentError
from .objects import Graph

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Curve(Graph):
    """``RooCurve``: a function (open), or its error band (a closed line)."""

    @property
    def curve_type(self) -> str:
        """``"VALUES"`` of an open curve, ``"ERRORS"`` of a closed one."""
        x = self.values("x")
        return "ERRORS" if np.isclose(x[0], x[-1]) else "VALUES"

    def _expect(self, kind: str) -> None:
        if self.curve_type != kind:
            other = "interpolate_errors" if kind == "VALUES" else "interpolate"
            raise InvalidArgumentError(f"{self!r} is a curve of {self.curve_type}; see {other}")

    def interpolate(self, xvalues: ArrayLike) -> NDArray[np.float64]:
        """The function at these places; of an open curve."""
        self._expect("VALUES")
        x, y = self.values()
        found: NDArray[np.float64] = np.interp(np.asarray(xvalues), x, y)
        return found

    def interpolate_asymm_errors(
        self, xvalues: ArrayLike
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The first and the second half of a closed curve at these places."""
        self._expect("ERRORS")
        x, y = self.values()
        # There and back again.
        turn = np.argmax(x) + 2
        there, back = slice(None, turn), slice(None, turn - 1 if turn else None, -1)
        for part in (x[there], x[back]):
            if np.any(np.diff(part) < 0):
                raise InvalidArgumentError(f"the points of {self!r} are not in order along x")
        at = np.asarray(xvalues)
        return np.interp(at, x[there], y[there]), np.interp(at, x[back], y[back])

    def interpolate_errors(self, xvalues: ArrayLike) -> NDArray[np.float64]:
        """Half of the distance between the halves of a closed curve at these places."""
        up, down = self.interpolate_asymm_errors(xvalues)
        return np.abs((up - down) / 2)

    def to_boost(self, bin_edges: ArrayLike, error_curve: Curve | None = None) -> Any:
        """A histogram of boost_histogram with the function in the middle of each bin.

        Args:
            bin_edges: Where bins begin, and where the last one ends.
            error_curve: A closed curve that gives the variances.
        """
        edges = np.asarray(bin_edges)
        centers = (edges[1:] + edges[:-1]) / 2
        values = self.interpolate(centers)
        errors = None if error_curve is None else error_curve.interpolate_errors(centers)
        return _histogram(self, edges, values, errors)

    def to_hist(self, bin_edges: ArrayLike, error_curve: Curve | None = None) -> Any:
        """The same of hist."""
        return package("hist").Hist(self.to_boost(bin_edges, error_curve))


class Points(Graph):
    """``RooHist``: a histogram as points with errors."""

    def _edges(self) -> NDArray[np.float64]:
        x = self.values("x")
        low, high = x - self.errors("low", "x"), x + self.errors("high", "x")
        if not np.allclose(low[1:], high[:-1]):
            raise InvalidArgumentError(f"the points of {self!r} are not next to each other")
        return np.append(low, high[-1:])

    def to_numpy(self, dd: bool = False) -> Any:
        """Contents and edges as ``np.histogram`` gives them, or with ``dd`` as ``histogramdd``."""
        values, edges = self.values("y"), self._edges()
        return (values, (edges,)) if dd else (values, edges)

    def to_boost(self) -> Any:
        """As a histogram of boost_histogram; its variances are of the mean error."""
        return _histogram(self, self._edges(), self.values("y"), self.errors("mean", "y"))

    def to_hist(self) -> Any:
        """As a histogram of hist."""
        return package("hist").Hist(self.to_boost())

    def _to_boost_histogram_(self) -> Any:
        """Called by ``boost_histogram.Histogram(self)``."""
        return self.to_boost()


def _histogram(
    graph: Graph,
    edges: NDArray[np.float64],
    values: NDArray[np.float64],
    errors: NDArray[np.float64] | None,
) -> Any:
    boost = package("boost_histogram")
    axis = boost.axis.Variable(edges, underflow=False, overflow=False)
    axis.name, axis.title = graph.name, graph.title
    storage = boost.storage.Double() if errors is None else boost.storage.Weight()
    out = boost.Histogram(axis, storage=storage)
    out.name, out.title = graph.name, graph.title
    view = out.view()
    if errors is None:
        view[...] = values
    else:
        view.value, view.variance = values, np.square(errors)
    return out
