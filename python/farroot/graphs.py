"""Graphs with more than x, y and an error of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidArgumentError, UnsupportedError
from .objects import Graph, Object

_AXES = {"x": "X", "y": "Y", "z": "Z", 0: "X", 1: "Y", 2: "Z", -3: "X", -2: "Y", -1: "Z"}


class TGraphErrors(Graph):
    """``TGraphErrors``: an error of each x and each y."""


class TGraphAsymmErrors(Graph):
    """``TGraphAsymmErrors``: two errors of each x and each y."""


class MultiErrors(Graph):
    """``TGraphMultiErrors``: each y has several errors."""

    def _bounds(self, axis: str | int) -> tuple[Any, Any]:
        if axis in ("x", 0, -2):
            return self["fExL"], self["fExH"]
        if axis in ("y", 1, -1):
            return self._summed("fEyL"), self._summed("fEyH")
        return super()._bounds(axis)

    def _summed(self, name: str) -> Any:
        """As ROOT draws them: the first, the sum of squares, or the sum, as the graph says."""
        layers = np.asarray(self[name], dtype=np.float64)
        match self["fSumErrorsMode"]:
            case 1:
                return np.sqrt((layers**2).sum(axis=0))
            case 2:
                return layers.sum(axis=0)
        return layers[0]


class Graph2D(Object):
    """``TGraph2D`` and those with errors."""

    def values(self, axis: str | int = "all") -> Any:
        """The coordinates of the points: x, y and z, or those of one axis."""
        if axis == "all":
            return self["fX"], self["fY"], self["fZ"]
        return self["f" + _letter(axis)]

    def errors(self, which: str = "mean", axis: str | int = "all") -> Any:
        """The errors of the points.

        Args:
            which: ``"low"``, ``"high"``, their ``"mean"``, or ``"diff"``, by how much the high one
                is larger.
            axis: See :meth:`values`.
        """
        if axis == "all":
            return tuple(self.errors(which, one) for one in "xyz")
        letter = _letter(axis)
        if f"fE{letter}" in self:
            low = high = self[f"fE{letter}"]
        elif f"fE{letter}low" in self:
            low, high = self[f"fE{letter}low"], self[f"fE{letter}high"]
        else:
            raise UnsupportedError(f"{self!r} has no errors")
        kinds = {"low": low, "high": high, "mean": (low + high) / 2, "diff": high - low}
        if which not in kinds:
            raise InvalidArgumentError(f"errors are low, high, mean or diff, not {which!r}")
        return kinds[which]


def _letter(axis: str | int) -> str:
    if axis not in _AXES:
        raise InvalidArgumentError(f"such a graph has the axes x, y and z, not {axis!r}")
    return _AXES[axis]
