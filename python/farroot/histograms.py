"""Histograms, profiles and efficiencies through the Unified Histogram Interface (UHI).

https://uhi.readthedocs.io; names and defaults are uproot's. Bins are in C order, the x axis
first; ``flow`` adds the bins below and above.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _html
from ._imports import package
from .errors import Error, InvalidArgumentError, OutOfRangeError, UnsupportedError
from .objects import NOTHING, Object

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAMES = "xyz"
#: hist's and boost_histogram's names of the members of histograms and axes.
_METADATA = {"name": "fName", "label": "fTitle"}
#: The error of a profile's bin, by ROOT's letter and number.
_ERROR_MODES = {"": 0, "s": 1, "i": 2, "g": 3, 0: 0, 1: 1, 2: 2, 3: 3}


class Axis(Object):
    """``TAxis``: the bins of a histogram along one dimension."""

    @property
    def low(self) -> float:
        return float(self["fXmin"])

    @property
    def high(self) -> float:
        return float(self["fXmax"])

    @property
    def width(self) -> float:
        """The mean length of the bins."""
        if len(self["fXbins"]) != len(self) + 1:
            # Not the mean of the widths, whose last bit is another one.
            return (self.high - self.low) / len(self)
        return float(self.widths().mean())

    def labels(self, flow: bool = False) -> list[str] | None:
        """Names of the bins; None where not every bin has one."""
        found = self._members.get("fLabels")
        if found is None:
            return None
        by_bin = {label["fUniqueID"]: label["fString"] for label in found._members["items"]}
        if any(number not in by_bin for number in range(1, len(self) + 1)):
            return None
        names = [by_bin[number] for number in range(1, len(self) + 1)]
        return ["underflow", *names, "overflow"] if flow else names

    def edges(self, flow: bool = False) -> NDArray[np.float64]:
        """Where bins begin, and where the last one ends."""
        bounds = self["fXbins"]
        if len(bounds) == 0:
            bounds = np.linspace(self.low, self.high, self["fNbins"] + 1)
        edges = np.asarray(bounds, dtype=np.float64)
        return np.concatenate(([-np.inf], edges, [np.inf])) if flow else edges

    def intervals(self, flow: bool = False) -> NDArray[np.float64]:
        """Both ends of each bin, as an array of shape (bins, 2)."""
        edges = self.edges(flow)
        return np.stack((edges[:-1], edges[1:]), axis=1)

    def centers(self, flow: bool = False) -> NDArray[np.float64]:
        """The middle of each bin."""
        return np.asarray(self.intervals(flow).mean(axis=1))

    def widths(self, flow: bool = False) -> NDArray[np.float64]:
        """Length of each bin."""
        if flow or len(self["fXbins"]) > 0:
            return np.diff(self.edges(flow))
        return np.full(len(self), (self.high - self.low) / len(self))

    @property
    def traits(self) -> Traits:
        return Traits(discrete=self.labels() is not None)

    def __len__(self) -> int:
        """Number of bins, without those below and above."""
        return int(self["fNbins"])

    def __getitem__(self, where: str | int) -> Any:
        """A member by its name, or a bin by its number: its label or its two ends."""
        if isinstance(where, str):
            return super().__getitem__(where)
        if not 0 <= where < len(self):
            raise OutOfRangeError(f"bin {where} of {len(self)}")
        labels = self.labels()
        return labels[where] if labels else tuple(self.intervals()[where].tolist())

    def __iter__(self) -> Iterator[Any]:
        """The value of :meth:`__getitem__` for each bin."""
        labels = self.labels()
        return iter(labels or map(tuple, self.intervals().tolist()))

    def __contains__(self, item: object) -> bool:
        """Whether a member, or a bin, is called that or has these ends."""
        return super().__contains__(item) or any(item == each for each in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        same = np.array_equal(self.edges(), other.edges())
        return bool(same) and self.labels() == other.labels()

    __hash__ = Object.__hash__


class Traits:
    """The kind of axis, for UHI."""

    def __init__(self, discrete: bool) -> None:
        self.circular = False
        self.discrete = discrete


class Binned(Object):
    """Something with axes, and a number for each bin."""

    @property
    def kind(self) -> str:
        """``"COUNT"``; ``"MEAN"`` for profiles."""
        return "COUNT"

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, x first."""
        raise NotImplementedError

    def axis(self, axis: int | str = 0) -> Axis:
        """One axis by number or name (``"x"``)."""
        names = dict(zip(_NAMES, range(3), strict=True))
        number = names.get(axis) if isinstance(axis, str) else axis
        if number is None or number not in range(-len(self.axes), len(self.axes)):
            raise InvalidArgumentError(f"no axis {axis!r} in {self!r}")
        return self.axes[number]

    @property
    def weighted(self) -> bool:
        """Whether sums of squared weights are kept."""
        raise NotImplementedError

    def _cells(self) -> NDArray[Any]:
        """Content of all bins, those below and above too, in the shape of the axes."""
        raise NotImplementedError

    def _squares(self) -> NDArray[np.float64]:
        """Squares of their errors: without weights ROOT takes the contents, whatever their sign."""
        return np.abs(np.asarray(self._cells(), dtype=np.float64))

    def _within(self, cells: NDArray[Any], flow: bool) -> NDArray[Any]:
        return cells if flow else cells[(slice(1, -1),) * cells.ndim]

    def values(self, flow: bool = False) -> NDArray[Any]:
        """Content of each bin."""
        return self._within(self._cells(), flow)

    def variances(self, flow: bool = False) -> NDArray[np.float64]:
        """Square of each bin's error: the sum of squared weights, or the content without sign."""
        return self._within(self._squares(), flow)

    def errors(self, flow: bool = False) -> NDArray[np.float64]:
        """Error of each bin."""
        with np.errstate(invalid="ignore"):
            # As ROOT, not a number where weights are negative and were taken for variances.
            return np.asarray(np.sqrt(self.variances(flow)))

    def counts(self, flow: bool = False) -> NDArray[Any]:
        """As :meth:`values`, as in uproot."""
        return self.values(flow=flow)

    def to_numpy(self, flow: bool = False, dd: bool = False) -> Any:
        """Contents and edges as ``np.histogram`` gives them, or with ``dd`` as ``histogramdd``."""
        edges = tuple(axis.edges(flow) for axis in self.axes)
        return (self.values(flow), edges) if dd else (self.values(flow), *edges)

    def to_boost(
        self, metadata: dict[str, str] | None = None, axis_metadata: dict[str, str] | None = None
    ) -> Any:
        """As a histogram of boost_histogram.

        Args:
            metadata: Attributes of the result, and the members that they come from.
            axis_metadata: The same of its axes.
        """
        boost = package("boost_histogram")
        of_axes = _METADATA if axis_metadata is None else axis_metadata
        axes = [_boost_axis(boost, axis, of_axes) for axis in self.axes]
        self._refuse_below_labels()
        out = boost.Histogram(*axes, storage=self._storage(boost))
        self._copy_to(out.view(flow=True), _reached(self.axes))
        for name, member in (_METADATA if metadata is None else metadata).items():
            setattr(out, name, self[member])
        return out

    def _refuse_below_labels(self) -> None:
        """Axes of names have no bin below, in boost_histogram: its content would be lost."""
        filled = self._filled()
        for number, axis in enumerate(self.axes):
            if axis.labels() and np.take(filled, 0, axis=number).any():
                letter = _NAMES[number] if number < len(_NAMES) else f"number {number}"
                raise UnsupportedError(
                    f"{self!r} has entries below its axis {letter}, of labels, and axes of "
                    "names in boost_histogram have no bin there: values(flow=True) has them"
                )

    def _filled(self) -> NDArray[np.bool_]:
        """Whether anything is in each bin, those below and above too."""
        filled = (self.values(flow=True) != 0) | (self.variances(flow=True) != 0)
        return np.asarray(filled)

    def _to_boost_histogram_(self) -> Any:
        """Called by ``boost_histogram.Histogram(self)``."""
        return self.to_boost()

    def _has_variances(self) -> bool:
        """Whether the contents alone do not give the variances."""
        return self.weighted or bool((self._cells() < 0).any())

    def _storage(self, boost: Any) -> Any:
        if self._has_variances():
            return boost.storage.Weight()
        whole = np.issubdtype(self._cells().dtype, np.integer)
        return boost.storage.Int64() if whole else boost.storage.Double()

    def _copy_to(self, view: Any, cells: tuple[slice, ...]) -> None:
        values = self.values(flow=True)[cells]
        if self._has_variances():
            view.value, view.variance = values, self.variances(flow=True)[cells]
        else:
            view[...] = values

    def to_hist(
        self, metadata: dict[str, str] | None = None, axis_metadata: dict[str, str] | None = None
    ) -> Any:
        """As a histogram of hist; see :meth:`to_boost`."""
        return package("hist").Hist(self.to_boost(metadata, axis_metadata))

    def _repr_html_(self) -> str | None:
        from . import _draw

        try:
            drawn = _draw.histogram(self)
            bins = " x ".join(str(len(axis)) for axis in self.axes)
        except Error:
            return None
        entries = self.get("fEntries")
        count = "" if entries is None else f", {entries:,.10g} entries"
        title = f": {self.title}" if self.title else ""
        return _html.page(f"{self!r}{title} ({bins} bins{count})", _html.drawn(drawn or ""))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = self.values()
        return values if dtype is None else values.astype(dtype)


class Histogram(Binned):
    """``TH1``, ``TH2`` and ``TH3`` of any number type."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        number = _axes_of(self.classname)
        if number is None:
            number = next(n for n in (3, 2, 1) if self.inherits(f"TH{n}"))
        return self._first_axes(number)

    def _first_axes(self, number: int) -> tuple[Axis, ...]:
        """So many of the axes.

        Raises:
            UnsupportedError: for an entry of a branch with fills that wait in its buffer: columns
                lack the bits with the bins to which these belong.
        """
        waiting = self.get("fBuffer", ())
        if len(waiting) and waiting[0] > 0:
            raise UnsupportedError(
                f"{self!r} is an entry of a branch, and {waiting[0]:g} fills wait in its buffer: "
                "they are not in its bins; its member fBuffer has their weights and values"
            )
        return tuple(self[f"f{name.upper()}axis"] for name in _NAMES[:number])

    @property
    def weighted(self) -> bool:
        """Whether sums of squared weights are kept."""
        return bool(len(self["fSumw2"]) == self["fNcells"])

    def _shaped(self, flat: NDArray[Any]) -> NDArray[Any]:
        """An array of one number a cell in the shape of the axes."""
        lengths = [len(axis) + 2 for axis in self.axes]
        return np.asarray(flat).reshape(lengths[::-1]).T

    def _cells(self) -> NDArray[Any]:
        return self._shaped(_array_part(self))

    def _squares(self) -> NDArray[np.float64]:
        if not self.weighted:
            return super()._squares()
        return self._shaped(np.asarray(self["fSumw2"], dtype=np.float64))


class TH1(Histogram):
    """``TH1`` of any number type."""


class TH2(Histogram):
    """``TH2`` of any number type."""


class TH3(Histogram):
    """``TH3`` of any number type."""


class Profile(Histogram):
    """``TProfile``, ``TProfile2D`` and ``TProfile3D``: the mean of a quantity in each bin."""

    @property
    def kind(self) -> str:
        return "MEAN"

    @property
    def axes(self) -> tuple[Axis, ...]:
        number = next(
            n for n, of in ((2, "2D"), (3, "3D"), (1, "")) if self.inherits(f"TProfile{of}")
        )
        return self._first_axes(number)

    def _means(self) -> NDArray[np.float64]:
        return ratio(_array_part(self), self["fBinEntries"])

    def _effective(self) -> NDArray[np.float64]:
        weights = np.asarray(self["fBinEntries"], dtype=np.float64)
        if not self.weighted:
            return weights
        # ROOT counts none where squares are below zero: those of weights that it took for one.
        squares = np.maximum(self._squared_weights(), 0.0)
        return ratio(weights**2, squares)

    def values(self, flow: bool = False) -> NDArray[np.float64]:
        """Mean of each bin; 0 where nothing was filled."""
        return self._bins(self._means(), flow)

    def _bins(self, flat: NDArray[Any], flow: bool) -> NDArray[Any]:
        return self._within(self._shaped(flat), flow)

    def counts(self, flow: bool = False) -> NDArray[np.float64]:
        """Effective number of entries in each bin."""
        return self._bins(self._effective(), flow)

    def errors(
        self, flow: bool = False, error_mode: str | int | None = None
    ) -> NDArray[np.float64]:
        """Error of each bin.

        Args:
            flow: Whether the bins below and above come too.
            error_mode: None for the profile's own option, as ROOT's ``GetBinError``; ``""`` for
                the error of the mean, ``"s"`` for the spread, ``"i"`` for whole numbers, ``"g"``
                for weights of Gaussian errors.
        """
        if error_mode is None:
            error_mode = self["fErrorMode"]
        if error_mode not in _ERROR_MODES:
            raise InvalidArgumentError(f'error_mode is "", "s", "i" or "g", not {error_mode!r}')
        return self._bins(self._errors(_ERROR_MODES[error_mode]), flow)

    def _errors(self, mode: int) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self._errors_of(mode)

    def _errors_of(self, mode: int) -> NDArray[np.float64]:
        weights = np.asarray(self["fBinEntries"], dtype=np.float64)
        if mode == 3:
            return ratio(np.ones(len(weights)), np.sqrt(weights))
        spread = np.sqrt(self._deviations())
        if mode == 1:
            return spread
        # In ROOT's order, so that the last digit is ROOT's, too; infinite without any weight.
        effective = self._effective()
        error = spread / np.sqrt(effective)
        if mode == 2:
            # Whole numbers that are all equal are known to a bin of one only.
            error = np.where(spread == 0, 1 / np.sqrt(12 * effective), error)
        return np.where(weights != 0, error, 0.0)

    def _deviations(self) -> NDArray[np.float64]:
        """Mean squared deviation from the mean."""
        squares = self["fSumw2"]
        if len(squares) != self["fNcells"]:
            squares = np.zeros(self["fNcells"])
        deviations = np.abs(ratio(squares, self["fBinEntries"]) - self._means() ** 2)
        return np.where(np.asarray(self["fBinEntries"]) != 0, deviations, 0.0)

    def variances(
        self, flow: bool = False, error_mode: str | int | None = None
    ) -> NDArray[np.float64]:
        """Square of each bin's error; see :meth:`errors`."""
        return np.square(self.errors(flow, error_mode))

    @property
    def weighted(self) -> bool:
        return bool(len(self._squared_weights()) == self["fNcells"])

    def _squared_weights(self) -> NDArray[np.float64]:
        """Sums of squared weights; empty without weights; older profiles have no such member."""
        return np.asarray(self.get("fBinSumw2", ()))

    def _filled(self) -> NDArray[np.bool_]:
        # Values of zero leave entries only.
        members = (_array_part(self), self["fSumw2"], self["fBinEntries"], self._squared_weights())
        cells = [each for each in members if len(each) == self["fNcells"]]
        return np.asarray(np.any([self._shaped(each) != 0 for each in cells], axis=0))

    def _storage(self, boost: Any) -> Any:
        return boost.storage.WeightedMean() if self.weighted else boost.storage.Mean()

    def _copy_to(self, view: Any, cells: tuple[slice, ...]) -> None:
        weights = np.asarray(self["fBinEntries"], dtype=np.float64)
        if not self.weighted and (weights < 0).any():
            raise UnsupportedError(
                f"{self!r} has bins with a negative number of entries: weights below zero whose "
                "squares it does not keep; hist and boost_histogram have no such bins"
            )
        squares = self["fSumw2"] if len(self["fSumw2"]) == len(weights) else weights
        deviations = squares - weights * self._means() ** 2
        # Below zero by rounding, but for negative weights.
        rounded = (deviations < 0) & (deviations > -1e-12 * np.abs(squares))
        deviations = np.where(rounded, 0.0, deviations)
        columns = {"count": weights, "_sum_of_deltas_squared": deviations}
        if self.weighted:
            columns = {
                "sum_of_weights": weights,
                "sum_of_weights_squared": self._squared_weights(),
                "_sum_of_weighted_deltas_squared": deviations,
            }
        for name, flat in {**columns, "value": self._means()}.items():
            view[name] = self._bins(flat, flow=True)[cells]


class TProfile(Profile):
    """``TProfile``: along one axis."""


class TProfile2D(Profile):
    """``TProfile2D``: along two axes."""


class TProfile3D(Profile):
    """``TProfile3D``: along three axes."""


def ratio(above: Any, below: Any) -> NDArray[np.float64]:
    """The quotient, 0 where the divisor is."""
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    return np.asarray(np.divide(above, below, out=np.zeros(len(above)), where=below != 0))


@functools.cache
def _axes_of(classname: str) -> int | None:
    """How many axes histograms of one of ROOT's own classes have; None of other classes."""
    plain = re.fullmatch(r"TH([123])[CSIFDL]", classname)
    return int(plain[1]) if plain else None


def _array_part(histogram: Object) -> NDArray[Any]:
    """The numbers of the ``TArray`` that a histogram derives from."""
    if _axes_of(histogram.classname) is not None:
        alone: Any = histogram._alone("fArray")
        if alone is not NOTHING:
            return np.asarray(alone)
    for name, member in histogram._known().items():
        if name.startswith("TArray"):
            # Of a column of histograms, where base classes are members.
            return np.asarray(member)
    bases = [base for base in histogram.bases if isinstance(base, Object)]
    for base in bases:
        if base.classname.startswith("TArray"):
            contents: NDArray[Any] = base._known()["fArray"]
            return contents
    for base in bases:
        if base.inherits("TH1"):
            try:
                return _array_part(base)
            except UnsupportedError:
                continue
    raise UnsupportedError(f"{histogram!r} has no contents")


def _boost_axis(boost: Any, axis: Axis, metadata: dict[str, str]) -> Any:
    labels = axis.labels()
    if not axis.low < axis.high:
        said = "ROOT chooses the limits of the axis when something is filled in"
        raise UnsupportedError(f"{axis!r} from {axis.low} to {axis.high}: {said}")
    if labels and all(re.fullmatch(r"\s*[-+]?\d+\s*", label) for label in labels):
        out = boost.axis.IntCategory([int(label) for label in labels])
    elif labels:
        out = boost.axis.StrCategory(labels, overflow=True)
    elif len(axis["fXbins"]):
        out = boost.axis.Variable(axis.edges(), underflow=True, overflow=True)
    else:
        out = boost.axis.Regular(len(axis), axis.low, axis.high, underflow=True, overflow=True)
    for name, member in metadata.items():
        setattr(out, name, axis[member])
    return out


def _reached(axes: Sequence[Axis]) -> tuple[slice, ...]:
    """The cells that axes of boost_histogram have: those of names lack one below."""
    return tuple(slice(1, None) if axis.labels() else slice(None) for axis in axes)
