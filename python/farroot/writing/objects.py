"""Objects that can be written, by ROOT's names of their members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..errors import InvalidArgumentError, UnsupportedError

Reals = NDArray[np.float64]
#: A limit for drawing that ROOT chooses.
AUTOMATIC = -1111.0


class Writable(Protocol):
    """Something that can be put into a directory."""

    @property
    def classname(self) -> str: ...

    def named(self, name: str) -> Writable:
        """The same under that name."""

    def core(self) -> _core.WritableObject:
        """The same for the engine."""


class _Named:
    """Something that knows its name."""

    name: str

    def named(self, name: str) -> Any:
        """The same under that name."""
        return replace(self, name=name)  # type: ignore[type-var]


@dataclass(frozen=True)
class Text:
    """A ``TObjString``, which has no name of its own."""

    text: str

    classname = "TObjString"

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return str(other) == self.text if isinstance(other, (str, Text)) else NotImplemented

    def named(self, name: str) -> Text:
        """The same."""
        return self

    def core(self) -> _core.WritableObject:
        return _core.WritableObject.text(self.text)


@dataclass(frozen=True)
class Copied:
    """An object that was read, as its record has it."""

    read: Any
    record: _core.CopiedObject
    classname: str
    name: str = ""

    def named(self, name: str) -> Copied:
        """The same under that name."""
        return replace(self, name=name)

    def core(self) -> _core.WritableObject:
        return self.record.named(self.name)


@dataclass(frozen=True)
class ObjectList(_Named):
    """A ``TList`` of other objects."""

    items: Sequence[Writable]
    name: str = ""

    classname = "TList"

    def core(self) -> _core.WritableObject:
        return _core.WritableObject.list(self.name, [item.core() for item in self.items])


@dataclass(frozen=True)
class WritableAxis:
    """A ``TAxis``."""

    name: str
    title: str
    bins: int
    low: float
    high: float
    #: Where bins begin, and the last one ends; none of bins of one width.
    edges: Reals = field(default_factory=lambda: np.empty(0))
    #: Names of the bins; none, or one of each.
    labels: Sequence[str] = ()
    #: The bins that have the names; none where these are of the first bins.
    labelled: Sequence[int] = ()
    #: How it is drawn, by the names of members; the others have ROOT's defaults.
    drawn: Mapping[str, Any] = field(default_factory=dict)

    def borders(self, flow: bool = False) -> Reals:
        """Where bins begin, and the last one ends."""
        inner = np.asarray(self.edges)
        if len(inner) == 0:
            inner = np.linspace(self.low, self.high, self.bins + 1)
        return np.concatenate(([-np.inf], inner, [np.inf])) if flow else inner

    def core(self) -> tuple[Any, ...]:
        """The same for the engine."""
        edges = np.asarray(self.edges, dtype=np.float64)
        labels = list(self.labels), list(self.labelled)
        ends = self.low, self.high
        return self.name, self.title, self.bins, *ends, edges, *labels, dict(self.drawn)


@dataclass(frozen=True)
class WritableHistogram(_Named):
    """A ``TH1``, ``TH2`` or ``TH3`` of any number type, or a profile of as many axes."""

    classname: str
    title: str
    axes: Sequence[WritableAxis]
    #: One number a bin, those below and above too, the x axis fastest.
    cells: NDArray[Any]
    #: Sums of squared weights; none where they are the contents.
    squares: Reals = field(default_factory=lambda: np.empty(0))
    #: ``fEntries``, ``fTsumw`` and its like, by name; the others are zero, or where ``fEntries``
    #: alone is known computed from the cells.
    sums: dict[str, float] = field(default_factory=dict)
    #: Of a profile, sums of weights and of their squares in each bin.
    weights: Reals = field(default_factory=lambda: np.empty(0))
    weights_squared: Reals = field(default_factory=lambda: np.empty(0))
    error_mode: int = 0
    name: str = ""
    #: Limits for drawing.
    minimum: float = AUTOMATIC
    maximum: float = AUTOMATIC
    #: Values that a profile takes; equal where it takes all.
    taken: tuple[float, float] = (0.0, 0.0)
    #: Axes behind its own, such as that of the contents, which may have a title.
    beyond: Sequence[WritableAxis] = ()
    #: How it is drawn, by the names of members; the others have ROOT's defaults.
    drawn: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = int(np.prod([axis.bins + 2 for axis in self.axes]))
        arrays = (self.squares, self.weights, self.weights_squared)
        lengths = [len(self.cells), *(len(each) or cells for each in arrays)]
        if any(length != cells for length in lengths):
            bins = " x ".join(str(axis.bins) for axis in self.axes)
            said = f"{bins} bins have {cells} cells, those below and above among them"
            raise InvalidArgumentError(f"{said}, not {lengths[0]}")

    def values(self, flow: bool = False) -> NDArray[Any]:
        """Contents of the bins in the shape of the axes; with ``flow`` those around them, too."""
        shape = [axis.bins + 2 for axis in self.axes]
        cells = self.cells.reshape(shape[::-1]).T
        return cells if flow else cells[(slice(1, -1),) * len(shape)]

    def to_numpy(self, flow: bool = False) -> tuple[NDArray[Any], ...]:
        """Contents and edges, as ``numpy.histogram`` gives them."""
        return self.values(flow), *(axis.borders(flow) for axis in self.axes)

    def core(self) -> _core.WritableObject:
        profile = None
        if self.classname.startswith("TProfile"):
            weights, squared = (np.asarray(each, dtype=np.float64) for each in self._of_profile)
            profile = weights, squared, self.error_mode, self.taken
        return _core.WritableObject.histogram(
            self.name,
            self.title,
            ([axis.core() for axis in (*self.axes, *self.beyond)], len(self.axes)),
            _core.Array(_core.Numbers(self.cells)),
            np.asarray(self.squares, dtype=np.float64),
            float(self.sums.get("fEntries", 0.0)),
            self._sums(profile is not None),
            profile,
            (self.minimum, self.maximum),
            dict(self.drawn),
        )

    @property
    def _of_profile(self) -> tuple[Reals, Reals]:
        return self.weights, self.weights_squared

    def _sums(self, is_profile: bool) -> list[float]:
        """Those of ROOT's class, in its order; none where none is known."""
        names = list(_SUMS[: _SUMS_OF[len(self.axes)]])
        if is_profile:
            letter = "yzt"[len(self.axes) - 1]
            names += [f"fTsumw{letter}", f"fTsumw{letter}2"]
        if not any(name in self.sums for name in names):
            return []
        return [float(self.sums.get(name, 0.0)) for name in names]


@dataclass(frozen=True)
class WritableGraph(_Named):
    """A ``TGraph``, or one with errors."""

    classname: str
    title: str
    x: Reals
    y: Reals
    #: ``[x, y]`` errors, or ``[x low, x high, y low, y high]``; none of a plain graph.
    errors: Sequence[Reals] = ()
    minimum: float = AUTOMATIC
    maximum: float = AUTOMATIC
    name: str = ""
    #: How it is drawn, by the names of members; the others have ROOT's defaults.
    drawn: Mapping[str, Any] = field(default_factory=dict)

    def core(self) -> _core.WritableObject:
        arrays = [np.asarray(each, dtype=np.float64) for each in (self.x, self.y, *self.errors)]
        if any(array.shape != arrays[0].shape or array.ndim != 1 for array in arrays):
            raise InvalidArgumentError("x, y and errors of a graph are of one length")
        limits = self.minimum, self.maximum
        points = arrays[0], arrays[1]
        drawn = dict(self.drawn)
        return _core.WritableObject.graph(self.name, self.title, points, arrays[2:], limits, drawn)


#: Sums that histograms keep, in ROOT's order, and how many those of one, two and three axes have.
_SUMS = (
    *("fTsumw", "fTsumw2", "fTsumwx", "fTsumwx2", "fTsumwy", "fTsumwy2", "fTsumwxy"),
    *("fTsumwz", "fTsumwz2", "fTsumwxz", "fTsumwyz"),
)
_SUMS_OF = {1: 4, 2: 7, 3: 11}
#: The letter of a histogram's class by its numbers.
_LETTERS = {"i1": "C", "i2": "S", "i4": "I", "f4": "F", "f8": "D"}


def histogram_class(dimensions: int, dtype: np.dtype[Any]) -> str:
    """``TH1D`` and its like.

    Raises:
        UnsupportedError: for other numbers of axes, or contents of another type.
    """
    if dtype.str[1:] not in _LETTERS:
        raise UnsupportedError(f"ROOT's histograms hold no {dtype}: float64 does")
    if dimensions not in (1, 2, 3):
        raise UnsupportedError(f"ROOT's histograms have 1 to 3 axes, not {dimensions}")
    return f"TH{dimensions}{_LETTERS[dtype.str[1:]]}"
