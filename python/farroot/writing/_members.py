"""Objects that were read, as objects that can be written: by the names of their members."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnreadableWarning, UnsupportedError, warn
from ..objects import Object
from .objects import (
    AUTOMATIC,
    ObjectList,
    Text,
    Writable,
    WritableAxis,
    WritableGraph,
    WritableHistogram,
)

#: Sums that ROOT keeps, as far as a class has them.
_SUMS = (
    "fEntries",
    *(f"fTsumw{of}" for of in ("", "2", "x", "x2", "y", "y2", "xy", "z", "z2", "xz", "yz")),
    *("fTsumwt", "fTsumwt2"),
)
#: How something is drawn, and other members that are kept as they are.
_STYLE = (
    *("fLineColor", "fLineStyle", "fLineWidth", "fFillColor", "fFillStyle"),
    *("fMarkerColor", "fMarkerStyle", "fMarkerSize"),
)
_DRAWN = (
    *_STYLE,
    *("fBarOffset", "fBarWidth", "fNormFactor", "fContour", "fOption"),
    *("fBinStatErrOpt", "fStatOverflows"),
)
_DRAWN_AXIS = (
    *("fNdivisions", "fAxisColor", "fLabelColor", "fLabelFont", "fLabelOffset", "fLabelSize"),
    *("fTickLength", "fTitleOffset", "fTitleSize", "fTitleColor", "fTitleFont"),
    *("fFirst", "fLast", "fBits2", "fTimeDisplay", "fTimeFormat"),
)
_GRAPHS = {
    "TGraph": (),
    "TGraphErrors": ("fEX", "fEY"),
    "TGraphAsymmErrors": ("fEXlow", "fEXhigh", "fEYlow", "fEYhigh"),
}


def of_object(read: Any) -> Writable:
    """An object that farroot or uproot has read.

    Raises:
        UnsupportedError: for classes other than histograms, profiles, graphs, texts and lists.
    """
    classname = read.classname
    if histogram := re.fullmatch(r"TH([123])[CSIFDL]|TProfile(2D|3D)?", classname):
        profile = {None: 1, "2D": 2, "3D": 3}[histogram[2]]
        return _histogram(read, classname, int(histogram[1] or profile))
    if classname in _GRAPHS:
        return _graph(read, classname)
    if classname == "TObjString":
        return Text(str(read))
    if classname == "TList":
        return ObjectList([of_object(each) for each in read], read.member("fName"))
    kinds = "histograms, profiles, graphs, texts and lists of them are"
    raise UnsupportedError(f"a {classname} that was read is not written anew: {kinds}")


def _histogram(read: Any, classname: str, dimensions: int) -> WritableHistogram:
    is_profile = classname.startswith("TProfile")
    _warn_of_lost(read)
    axes = [_axis(read.member(f"f{letter}axis")) for letter in "XYZ"]
    weights = _reals(read, "fBinEntries")
    cells = _cells(read)
    return WritableHistogram(
        classname,
        read.member("fTitle"),
        axes[:dimensions],
        cells.astype(cells.dtype.newbyteorder("=")),
        _reals(read, "fSumw2"),
        {name: float(_member(read, name, 0.0)) for name in _SUMS},
        weights if is_profile else np.empty(0),
        _reals(read, "fBinSumw2") if is_profile else np.empty(0),
        int(_member(read, "fErrorMode", 0)),
        minimum=float(_member(read, "fMinimum", AUTOMATIC)),
        maximum=float(_member(read, "fMaximum", AUTOMATIC)),
        taken=_taken(read, dimensions) if is_profile else (0.0, 0.0),
        beyond=axes[dimensions:],
        drawn=_drawn(read, _DRAWN),
    )


def _drawn(read: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Members that a class or version has, as Python's own numbers and texts."""
    found = {name: _member(read, name, None) for name in names}
    # uproot has the bits of an object under a name of its own.
    found["fBits"] = _member(read, "fBits", _member(read, "@fBits", None))
    return {name: _own(value) for name, value in found.items() if value is not None}


def _own(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _taken(read: Any, dimensions: int) -> tuple[float, float]:
    """The range of values that a profile takes."""
    letter = "YZT"[dimensions - 1]
    low, high = (float(_member(read, f"f{letter}{end}", 0.0)) for end in ("min", "max"))
    return low, high


def _warn_of_lost(read: Any) -> None:
    """Warns of functions, which only the record of a histogram or graph has."""
    if _member(read, "fFunctions", None):
        said = f"the {read.classname} {read.name!r} is written without its functions"
        warn(f"{said}: only the file that it was read from has them", UnreadableWarning)


def _member(read: Any, name: str, default: Any) -> Any:
    """A member, or the default of a class or version that has none of that name."""
    try:
        return read.member(name)
    except KeyError:
        return default


def _reals(read: Any, name: str) -> NDArray[np.float64]:
    return np.asarray(_member(read, name, ()), dtype=np.float64)


def _cells(read: Any) -> NDArray[Any]:
    """The numbers of the array that a histogram derives from."""
    for base in read.bases:
        if base.classname.startswith("TArray"):
            return np.asarray(base.member("fArray") if "fArray" in _names(base) else base)
    for base in read.bases:
        if base.classname.startswith("TH"):
            return _cells(base)
    raise UnsupportedError(f"a {read.classname} without contents")


def _names(read: Any) -> Any:
    return getattr(read, "all_members", None) or ()


def _axis(read: Any) -> WritableAxis:
    labels = sorted(_labels(read))
    bins = int(read.member("fNbins"))
    low, high = float(read.member("fXmin")), float(read.member("fXmax"))
    edges = _reals(read, "fXbins")
    title = read.member("fTitle")
    return WritableAxis(
        read.member("fName"),
        title,
        bins,
        low,
        high,
        edges,
        [label for _, label in labels],
        [int(number) for number, _ in labels],
        _drawn(read, _DRAWN_AXIS),
    )


def _labels(axis: Any) -> Iterator[tuple[int, str]]:
    """Bins that have a name, and their names."""
    if isinstance(axis, Object):
        labels = axis._members.get("fLabels")
        for label in () if labels is None else labels._members["items"]:
            yield label["fUniqueID"], label["fString"]
    else:
        for label in _member(axis, "fLabels", None) or ():
            yield label.member("@fUniqueID"), str(label)


def _graph(read: Any, classname: str) -> WritableGraph:
    _warn_of_lost(read)
    return WritableGraph(
        classname,
        read.member("fTitle"),
        _reals(read, "fX"),
        _reals(read, "fY"),
        [_reals(read, name) for name in _GRAPHS[classname]],
        float(_member(read, "fMinimum", -1111.0)),
        float(_member(read, "fMaximum", -1111.0)),
        drawn=_drawn(read, (*_STYLE, "fOption")),
    )
