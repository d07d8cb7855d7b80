"""Histograms that are filled with columns of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _imports
from ._entries import entry_range
from .errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from ._table import InFile

#: The number of bins, the first and the last edge; or all edges.
Bins = tuple[int, float, float] | Sequence[float]


def filled(
    table: InFile[Any],
    columns: str | Sequence[str],
    bins: Any,
    cut: str | None,
    weight: str | None,
    entries: tuple[float | None, float | None],
) -> Any:
    """A ``hist.Hist`` of columns, each with its axis."""
    names = [columns] if isinstance(columns, str) else list(columns)
    each = [bins] if isinstance(columns, str) else list(bins)
    if len(names) != len(each):
        raise InvalidArgumentError(f"{len(names)} columns, and bins for {len(each)}")
    axes = [(name, *_axis(one)) for name, one in zip(names, each, strict=True)]
    start, stop = entry_range(table.num_entries, *entries)
    hist = _imports.package("hist", "'farroot[hist]'")
    values, variances = table._live().histogram(axes, weight, cut, start, stop)
    made = hist.Hist(
        *(_axis_of_hist(hist, *axis) for axis in axes),
        storage=hist.storage.Double() if weight is None else hist.storage.Weight(),
    )
    view = made.view(flow=True)
    if variances is None:
        view[...] = values.reshape(view.shape)
    else:
        view.value = values.reshape(view.shape)
        view.variance = variances.reshape(view.shape)
    return made


def _axis(bins: Any) -> tuple[tuple[int, float, float] | None, list[float] | None]:
    """Equal bins, or edges."""
    if isinstance(bins, (str, bytes)) or not isinstance(bins, (Iterable, np.ndarray)):
        expected = "bins are (number, first edge, last edge) or a list of edges"
        raise ArgumentTypeError(f"{expected}, not {bins!r}")
    given: list[Any] = list(bins)
    if not all(isinstance(one, Real) for one in given):
        raise ArgumentTypeError(f"bins are numbers, not {bins!r}")
    if isinstance(bins, tuple) and len(given) == 3 and isinstance(given[0], Integral):
        if given[0] < 1:
            raise InvalidArgumentError(f"an axis has at least one bin, not {given[0]}")
        return (int(given[0]), float(given[1]), float(given[2])), None
    return None, [float(one) for one in given]


def _axis_of_hist(
    hist: Any, name: str, equal: tuple[int, float, float] | None, edges: list[float] | None
) -> Any:
    if equal is not None:
        return hist.axis.Regular(*equal, label=name)
    return hist.axis.Variable(edges, label=name)
