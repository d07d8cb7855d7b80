"""Histograms of other libraries as ROOT's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidArgumentError, UnsupportedError
from . import _exact
from .objects import WritableAxis, WritableHistogram, histogram_class

_NAMES = ("xaxis", "yaxis", "zaxis")


def of_numpy(parts: Sequence[Any]) -> WritableHistogram | None:
    """The results of ``numpy.histogram``, ``histogram2d`` and ``histogramdd``, and a title; None
    for anything else."""
    title = ""
    if parts and isinstance(parts[-1], str):
        *parts, title = parts
    if len(parts) == 2 and isinstance(parts[1], (tuple, list)):
        parts = [parts[0], *parts[1]]
    if len(parts) < 2 or not all(isinstance(part, np.ndarray) for part in parts):
        return None
    contents, *edges = parts
    if contents.shape != tuple(len(each) - 1 for each in edges):
        return None
    _refuse_axes(len(edges))
    contents = _exact.reals(contents, "the contents of a histogram")
    edges = [_exact.reals(each, "the edges of a histogram") for each in edges]
    axes = [_axis(number, "", np.asarray(each)) for number, each in enumerate(edges)]
    values = contents.astype(np.float64)
    with_flow = np.pad(values, 1)
    return WritableHistogram(
        histogram_class(values.ndim, values.dtype),
        title,
        axes,
        with_flow.T.reshape(-1),
        sums={"fEntries": values.sum()},
    )


def _axis(
    number: int, title: str, edges: NDArray[Any], is_regular: bool | None = None
) -> WritableAxis:
    low, high, bins = float(edges[0]), float(edges[-1]), len(edges) - 1
    if is_regular is None:
        # As ROOT computes them from the limits: any other edges are kept as they are.
        computed = low + np.arange(bins) * ((high - low) / bins)
        is_regular = np.array_equal(edges[:-1], computed)
    kept = np.empty(0) if is_regular else np.asarray(edges, dtype=np.float64)
    return WritableAxis(_NAMES[number], title, bins, low, high, kept)


def of_uhi(histogram: Any) -> WritableHistogram:
    """A histogram of hist, boost_histogram, or anything that speaks UHI."""
    if histogram.kind not in ("COUNT", "MEAN"):
        raise UnsupportedError(f"histograms of kind {histogram.kind!r} have no class in ROOT")
    _refuse_axes(len(histogram.axes))
    title = getattr(histogram, "title", getattr(histogram, "name", "")) or ""
    axes = [_uhi_axis(number, axis, histogram) for number, axis in enumerate(histogram.axes)]
    if histogram.kind == "MEAN":
        return _profile(histogram, str(title), axes)
    inner = _exact.whole(histogram.values(), "the contents of a histogram")
    values = _with_flow(histogram.values, inner, histogram.axes)
    squares = None
    if _is_weighted(histogram):
        variances = np.asarray(histogram.variances())
        squares = _with_flow(histogram.variances, variances, histogram.axes)
    return WritableHistogram(
        histogram_class(values.ndim, values.dtype),
        str(title),
        axes,
        values.T.reshape(-1),
        np.empty(0) if squares is None else squares.astype(np.float64).T.reshape(-1),
        {"fEntries": float(values.sum())},
    )


def _is_weighted(histogram: Any) -> bool:
    """Whether variances are more than the contents again."""
    storage = getattr(histogram, "storage_type", None)
    if storage is not None:
        return bool(storage.__name__ == "Weight")
    weighted = getattr(histogram, "weighted", None)
    return weighted if isinstance(weighted, bool) else histogram.variances() is not None


def _with_flow(get: Any, inner: NDArray[Any], axes: Sequence[Any]) -> NDArray[Any]:
    """Contents with the bins below and above, of zeros where the library has none."""
    try:
        full = get(flow=True)
    except TypeError:
        full = inner
    full = _held(full)
    padded = np.zeros([bins + 2 for bins in inner.shape], dtype=full.dtype)
    pairs = zip(axes, inner.shape, full.shape, strict=True)
    padded[tuple(_cells_of(axis, bins, has) for axis, bins, has in pairs)] = full
    return padded


def _cells_of(axis: Any, bins: int, has: int) -> slice:
    """ROOT's cells of an axis of so many bins, for the so many values that a library has.

    Raises:
        InvalidArgumentError: where nothing says whether one more value is below or above.
    """
    if has in (bins, bins + 2):
        return slice(1, 1 + bins) if has == bins else slice(0, has)
    traits = getattr(axis, "traits", None)
    below = getattr(traits, "underflow", None)
    if below is None and getattr(traits, "discrete", False):
        # UHI: an axis of names has none below.
        below = False
    if has != bins + 1 or below is None:
        raise InvalidArgumentError(f"an axis of {bins} bins has {has} values with flow")
    return slice(0, has) if below else slice(1, 1 + has)


def _held(contents: Any) -> NDArray[Any]:
    """Contents of a type that ROOT's histograms hold: reals, where they have another."""
    numbers = _exact.whole(contents, "the contents of a histogram")
    is_kept = numbers.dtype.str[1:] in ("i1", "i2", "i4", "f4", "f8")
    return numbers if is_kept else _exact.reals(numbers, "the contents of a histogram")


def _refuse_axes(count: int) -> None:
    """
    Raises:
        UnsupportedError: for more axes than ROOT's histograms have, or none.
    """
    if not 1 <= count <= len(_NAMES):
        said = "project it to fewer axes, or write its values as a table"
        raise UnsupportedError(f"a histogram of {count} axes, ROOT's have 1 to 3: {said}")


def _uhi_axis(number: int, axis: Any, histogram: Any) -> WritableAxis:
    title = getattr(axis, "label", None)
    if title is None:
        title = getattr(histogram, "name", "")
    labels = _labels(axis)
    edges = np.arange(len(axis) + 1.0) if labels else _edges(axis)
    is_regular = _is_regular(axis, edges)
    plain = _axis(number, str(title or ""), edges, is_regular)
    if not labels:
        return plain
    return WritableAxis(
        plain.name, plain.title, plain.bins, plain.low, plain.high, plain.edges, labels
    )


def _edges(axis: Any) -> NDArray[np.float64]:
    edges = getattr(axis, "edges", None)
    if edges is None:
        # All that UHI promises: both ends of each bin.
        ends = [axis[number] for number in range(len(axis))]
        edges = [*(low for low, _ in ends), ends[-1][1]]
    return np.asarray(edges() if callable(edges) else edges, dtype=np.float64)


def _is_regular(axis: Any, edges: NDArray[np.float64]) -> bool | None:
    """Whether bins are of one width, where the library declares so."""
    kind = next((base.__name__ for base in type(axis).__mro__ if base.__name__ in _KINDS), None)
    if kind is None:
        return None
    return _KINDS[kind] and getattr(axis, "transform", None) is None


#: Axes of boost_histogram, and whether their bins are of one width.
_KINDS = {
    "Regular": True,
    "Integer": True,
    "Boolean": True,
    "Variable": False,
    "IntCategory": True,
    "StrCategory": True,
}


def _labels(axis: Any) -> list[str]:
    """Names of the bins; none where they are numbers."""
    names = {base.__name__ for base in type(axis).__mro__}
    if names & {"IntCategory", "StrCategory"}:
        return [str(label) for label in axis]
    own = getattr(axis, "labels", None)
    found = own() if callable(own) else None
    return [str(label) for label in found] if isinstance(found, list) else []


def _profile(histogram: Any, title: str, axes: list[WritableAxis]) -> WritableHistogram:
    """Means, as a profile of boost_histogram has them."""
    if not hasattr(histogram, "view"):
        raise UnsupportedError(f"a {type(histogram).__name__} of means is not written")
    view, bins = histogram.view(flow=True), histogram.view(flow=False)
    is_weighted = "sum_of_weights" in (view.dtype.names or ())

    def column(name: str) -> NDArray[np.float64]:
        full, inner = np.asarray(view[name]), np.asarray(bins[name])
        return _with_flow(lambda flow: full, inner, histogram.axes).astype(np.float64)

    if is_weighted:
        weights, squared = column("sum_of_weights"), column("sum_of_weights_squared")
        deviations = column("_sum_of_weighted_deltas_squared")
    else:
        weights = column("count")
        squared, deviations = weights, column("_sum_of_deltas_squared")
    means = column("value")
    contents, squares = weights * means, deviations + weights * means**2
    # boost_histogram warns about metadata that the histogram does not have.
    metadata = getattr(histogram, "__dict__", {}).get("metadata")
    entries = metadata.get("fEntries") if isinstance(metadata, dict) else None
    found = {"fEntries": float(weights.sum() if entries is None else entries)}
    flat = [each.T.reshape(-1) for each in (contents, squares, weights, squared)]
    classname = "TProfile" if len(axes) == 1 else f"TProfile{len(axes)}D"
    return WritableHistogram(classname, title, axes, flat[0], flat[1], found, flat[2], flat[3])
