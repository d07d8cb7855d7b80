"""Objects with more, or fewer, dimensions than one to three, and efficiencies."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ._limits import DENSE_MAX
from .errors import (
    CorruptError,
    InvalidArgumentError,
    LimitReachedError,
    UnsupportedError,
)
from .histograms import Axis, Binned, ratio
from .objects import Object

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The option of profiles whose errors are the spread of values (ROOT: ``kERRORSPREAD``).
_SPREAD = 1


class _Manifold(Binned):
    """``THnBase``."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(self["fAxes"])

    @property
    def weighted(self) -> bool:
        return bool(self["fTsumw2"] >= 0)

    def _unweighted(self) -> NDArray[np.float64]:
        """Squares of errors without sums of squared weights: ROOT takes the contents here, with
        their sign, and has no error of contents below zero."""
        return np.asarray(self._cells(), dtype=np.float64)


class Dense(_Manifold):
    """``THn``: a histogram of any number of dimensions."""

    def _shaped(self, name: str) -> NDArray[Any]:
        lengths = [len(axis) + 2 for axis in self.axes]
        array = self[name]
        data = array["fData"]
        # Nothing was ever filled.
        return np.zeros(lengths) if data is None or len(data) == 0 else data.reshape(lengths)

    def _cells(self) -> NDArray[Any]:
        return self._shaped("fArray")

    def _squares(self) -> NDArray[np.float64]:
        if not self.weighted:
            return self._unweighted()
        return np.asarray(self._shaped("fSumw2"), dtype=np.float64)


class Sparse(_Manifold):
    """``THnSparse``: a histogram of any number of dimensions that keeps only bins with content.

    :attr:`coordinates` and :attr:`contents` are those; :meth:`values` and every other method that
    gives an array of all bins raises :class:`~farroot.LimitReachedError` above 2**27 of them.
    """

    @property
    def coordinates(self) -> NDArray[np.int64]:
        """The bins with content, as an array of shape (bins, dimensions).

        Along an axis 0 is below, 1 the first bin, and one more than the last bin above.
        """
        counts = [len(axis) + 2 for axis in self.axes]
        widths = [count.bit_length() for count in counts]
        found = []
        for chunk in self["fBinContent"]:
            size = chunk["fSingleCoordinateSize"]
            packed = np.asarray(chunk["fCoordinates"]).view(np.uint8).reshape(-1, size)
            # The first axis is in the lowest bits.
            bits = np.unpackbits(packed, axis=1, bitorder="little")
            starts = np.cumsum([0, *widths])
            columns = [
                bits[:, start:stop] @ (1 << np.arange(stop - start, dtype=np.int64))
                for start, stop in pairwise(starts)
            ]
            found.append(np.stack(columns, axis=1))
        none = np.empty((0, len(counts)), dtype=np.int64)
        return np.concatenate([none, *found])[: self["fFilledBins"]]

    @property
    def contents(self) -> NDArray[Any]:
        """The contents of the bins of :attr:`coordinates`."""
        return self._of_chunks("fContent")

    def _of_chunks(self, name: str) -> NDArray[Any]:
        found = []
        for chunk in self["fBinContent"]:
            filled = chunk["fCoordinatesSize"] // chunk["fSingleCoordinateSize"]
            if chunk[name] is None:
                raise CorruptError(f"{self!r} has a chunk of bins without {name}")
            found.append(np.asarray(chunk[name])[:filled])
        return np.concatenate(found)[: self["fFilledBins"]] if found else np.empty(0)

    def _laid_out(self, contents: NDArray[Any]) -> NDArray[Any]:
        lengths = [len(axis) + 2 for axis in self.axes]
        total = int(np.prod(lengths, dtype=object))
        if total > DENSE_MAX:
            raise LimitReachedError(
                f"{self!r} has {total} bins, of which {len(contents)} have content: "
                "see its coordinates and contents"
            )
        cells = np.zeros(lengths, dtype=contents.dtype)
        cells[tuple(self.coordinates.T)] = contents
        return cells

    def _cells(self) -> NDArray[Any]:
        return self._laid_out(self.contents)

    def _squares(self) -> NDArray[np.float64]:
        if not self.weighted:
            return self._unweighted()
        return self._laid_out(np.asarray(self._of_chunks("fSumw2"), dtype=np.float64))


class Polygons(Object):
    """``TH2Poly`` and ``TProfile2Poly``: bins of any shape in a plane, which is no grid."""

    @property
    def kind(self) -> str:
        """``"COUNT"``; ``"MEAN"`` for profiles."""
        return "MEAN" if self.inherits("TProfile2Poly") else "COUNT"

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The extent of the plane along x and y; their bins are not those of the histogram."""
        return self["fXaxis"], self["fYaxis"]

    def axis(self, axis: int | str) -> Axis:
        """One axis by number or name."""
        names = {0: 0, -2: 0, "x": 0, 1: 1, -1: 1, "y": 1}
        if axis not in names:
            raise InvalidArgumentError(f"no axis {axis!r} in {self!r}")
        return self.axes[names[axis]]

    def _bins(self) -> list[Any]:
        return sorted(self["fBins"] or [], key=lambda each: each["fNumber"])

    @property
    def polygons(self) -> list[Any]:
        """The bins in the order of their numbers: a ``TGraph``, or a ``TMultiGraph`` of several."""
        return [each["fPoly"] for each in self._bins()]

    def values(self, flow: bool = False) -> NDArray[np.float64]:
        """Content of each of :attr:`polygons`; of profiles their mean.

        With ``flow`` those of the nine regions around and between them come first, in the order of
        ROOT's bins -1 to -9.
        """
        if self.kind == "MEAN":
            return np.array([each["fAverage"] for each in self._all(flow)], dtype=np.float64)
        contents = [each["fContent"] for each in self._bins()]
        return np.array([*(self["fOverflow"] if flow else ()), *contents], dtype=np.float64)

    def _all(self, flow: bool) -> list[Any]:
        """Bins of a profile."""
        return [*(self["fOverflowBins"] if flow else ()), *self._bins()]

    def errors(self, flow: bool = False) -> NDArray[np.float64]:
        """Error of each of :meth:`values`; of profiles by their own option."""
        if self.kind == "MEAN":
            return self._errors_of_means(flow)
        return np.sqrt(self.variances(flow))

    def _errors_of_means(self, flow: bool) -> NDArray[np.float64]:
        bins = self._all(flow)
        spreads = np.array([each["fError"] for each in bins], dtype=np.float64)
        if self["fErrorMode"] == _SPREAD:
            return spreads
        sums = np.array([each["fSumw"] for each in bins], dtype=np.float64)
        effective = ratio(sums**2, [each["fSumw2"] for each in bins])
        return ratio(spreads, np.sqrt(effective))

    def variances(self, flow: bool = False) -> NDArray[np.float64]:
        """Square of each error: the sum of squared weights, or the content without sign."""
        if self.kind == "MEAN":
            return np.square(self.errors(flow))
        squares = np.asarray(self["fSumw2"], dtype=np.float64)
        if len(squares) == 0:
            return np.abs(self.values(flow))
        # The first nine are of the regions outside, but for versions that had none of them.
        outside = max(len(squares) - len(self._bins()), 0)
        inner = squares[outside:]
        return np.concatenate((squares[:outside], inner)) if flow else inner

    def to_hist(self, **_: Any) -> Any:
        """Not there: hist and boost_histogram know rectangles only."""
        raise UnsupportedError(f"the bins of {self!r} are polygons; see its polygons and values()")

    to_boost = to_numpy = to_hist
