# ruff: noqa: N802, N803
"""Objects of ROOT from those of Python: under uproot's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._by_root import NAME, is_pyroot, is_uproots, written_by_root, written_by_uproot
from .._ours import ours
from ..containers import Container
from ..errors import ArgumentTypeError, InvalidArgumentError, UnsupportedError
from ..file import File
from ..objects import Object
from . import _exact, _histograms, _members
from ._arguments import count, text
from .objects import (
    AUTOMATIC,
    Copied,
    ObjectList,
    Text,
    Writable,
    WritableAxis,
    WritableGraph,
    WritableHistogram,
    histogram_class,
)

__all__ = [
    "as_TGraph",
    "to_TAxis",
    "to_TH1x",
    "to_TH2x",
    "to_TH3x",
    "to_TList",
    "to_TObjString",
    "to_TProfile",
    "to_TProfile2D",
    "to_TProfile3D",
    "to_writable",
]


@ours
def to_writable(what: Any) -> Writable:
    """An object as one that can be written.

    Raises:
        ArgumentTypeError: for an object for which ROOT has no class.

    Example:
        >>> written = farroot.to_writable(np.histogram([1.0, 2.0, 2.0], bins=2))
        >>> written.classname
        'TH1D'
    """
    if hasattr(what, "core") and hasattr(what, "classname"):
        written: Writable = what
        return written
    if isinstance(what, str):
        return Text(what)
    if is_pyroot(what):
        # UHI has not all: a histogram would lose its titles and sums.
        with written_by_root(what) as file:
            return _of_file(file)
    if is_uproots(what) and (found_by_uproot := _by_uproot(what)) is not None:
        return found_by_uproot
    if isinstance(what, (tuple, list)) and (found := _histograms.of_numpy(what)) is not None:
        return found
    if isinstance(what, Object):
        return _of_record(what) or _members.of_object(what)
    if hasattr(what, "member") and hasattr(what, "classname"):
        return _members.of_object(what)
    if all(hasattr(what, name) for name in ("axes", "kind", "values", "variances")):
        return _histograms.of_uhi(what)
    if isinstance(what, Container):
        raise ArgumentTypeError(f"a {type(what).__name__} is not written: copy_from copies it")
    kinds = "histograms, graphs, texts, tables and objects that were read are"
    raise ArgumentTypeError(f"a {type(what).__name__} is not written: {kinds}")


def _of_record(obj: Object) -> Copied | None:
    """An object that was read, as its record has it; None where there is no record any more, or
    one that is not understood in all its parts."""
    stored = obj.stored()
    if stored is None:
        return None
    place, position = stored
    try:
        file = _core.open_file(place.url)
        if place.version != (file.uuid, file.size):
            return None
        record = _core.CopiedObject.of(file, place.path, position, obj.classname)
        return Copied(obj, record, classname=obj.classname, name=obj.name)
    except (UnsupportedError, FileNotFoundError):
        return None


def _of_file(file: File) -> Writable:
    """The object that another package has put into a file, as its record has it; a histogram of
    which not all is understood without that."""
    read = file[NAME]
    try:
        record = _core.CopiedObject.of(file._live(), NAME, 0, "")
    except UnsupportedError:
        return to_writable(read)
    name = read.name if isinstance(read, Object) else ""
    return Copied(read, record, classname=file.classname_of(NAME), name=name)


def _by_uproot(obj: Any) -> Writable | None:
    """An object of uproot's, as uproot writes it; None of one that it does not write."""
    try:
        with written_by_uproot(obj) as file:
            return _of_file(file)
    except NotImplementedError:
        return None


@ours
def to_TObjString(string: Any) -> Text:
    return string if isinstance(string, Text) else Text(text(string, "a TObjString"))


@ours
def to_TList(data: Any, name: str = "") -> ObjectList:
    if isinstance(data, str):
        raise ArgumentTypeError("a TList is made of objects, in a list")
    return ObjectList([_item(each) for each in data], text(name, "a name"))


def _item(item: Any) -> Writable:
    if isinstance(item, str):
        raise ArgumentTypeError("items of a TList are objects: to_TObjString makes one of a text")
    return to_writable(item)


@ours
def as_TGraph(
    df: Any,
    title: str = "",
    xAxisLabel: str = "",
    yAxisLabel: str = "",
    minY: float | None = None,
    maxY: float | None = None,
) -> WritableGraph:
    """A graph of columns: ``x`` and ``y``; of ``x_errors`` and ``y_errors`` too, or of
    ``x_errors_low``, ``x_errors_high``, ``y_errors_low`` and ``y_errors_high``.

    Args:
        df: A DataFrame, or a dict of arrays.
        title, xAxisLabel, yAxisLabel: The texts on it.
        minY, maxY: Limits of y for drawing; ROOT chooses those that are not given.

    Example:
        >>> points = farroot.as_TGraph({"x": [1.0, 2.0], "y": [1.0, 4.0]}, title="squares")
        >>> with farroot.recreate("new.root") as file:
        ...     file["points"] = points
        >>> farroot.open("new.root:points").values("y")
        array([1., 4.])
    """
    for each in (title, xAxisLabel, yAxisLabel):
        text(each, "a title")
    if not hasattr(df, "get"):
        kind = type(df).__name__
        raise ArgumentTypeError(f"a graph is made of a DataFrame or a dict of arrays, not a {kind}")
    both, sides = ("x_errors", "y_errors"), ("_low", "_high")
    found = [df.get(name) for name in ("x", "y")]
    if any(each is None for each in found):
        raise InvalidArgumentError("a graph has the columns x and y")
    classname: str = "TGraph"
    names: tuple[str, ...] = ()
    if any(df.get(name) is not None for name in both):
        classname, names = "TGraphErrors", both
    if any(df.get(name + side) is not None for name in both for side in sides):
        if names:
            raise InvalidArgumentError("errors of a graph are symmetric, or have two sides")
        classname, names = "TGraphAsymmErrors", tuple(n + side for n in both for side in sides)
    errors = [df.get(name) for name in names]
    if any(each is None for each in errors):
        raise InvalidArgumentError(f"a {classname} has all of {', '.join(names)}")
    y = _reals(found[1], "y of a graph")
    if len(y) == 0:
        raise InvalidArgumentError("a graph without points is not written")
    shown = f"{title};{xAxisLabel};{yAxisLabel}" if xAxisLabel or yAxisLabel else title
    low, high = (
        AUTOMATIC if limit is None else _exact.single(limit, name)
        for limit, name in ((minY, "minY"), (maxY, "maxY"))
    )
    x = _reals(found[0], "x of a graph")
    spread = [_reals(each, "errors of a graph") for each in errors]
    return WritableGraph(classname, shown, x, y, spread, low, high)


@ours
def to_TAxis(
    fName: str,
    fTitle: str,
    fNbins: int,
    fXmin: float,
    fXmax: float,
    fXbins: Any = None,
    fLabels: Any = None,
    **_: Any,
) -> WritableAxis:
    """An axis; further members of uproot's are taken, and left as ROOT has them at first."""
    edges = _reals(fXbins, "fXbins")
    labels = [] if fLabels is None else [item.text for item in fLabels.items]
    bins = count(_exact.whole_number(fNbins, "fNbins"), "fNbins")
    low, high = _exact.single(fXmin, "fXmin"), _exact.single(fXmax, "fXmax")
    names = text(fName, "fName"), text(fTitle, "fTitle")
    return WritableAxis(*names, bins, low, high, edges, labels)


def _histogram(
    classname: str | None,
    dimensions: int,
    fTitle: str,
    data: Any,
    given: dict[str, Any],
) -> WritableHistogram:
    cells = _exact.whole(data, "the contents of a histogram")
    cells = cells.astype(cells.dtype.newbyteorder("="))
    axes: list[Any] = [given.get(f"f{letter}axis") for letter in "XYZ"[:dimensions]]
    if not all(isinstance(axis, WritableAxis) for axis in axes):
        raise ArgumentTypeError(
            f"fXaxis=... to f{'XYZ'[dimensions - 1]}axis=... are made by to_TAxis"
        )
    reals = {name: _reals(given.get(name), name) for name in ("fSumw2", "fBinEntries", "fBinSumw2")}
    found = {
        name: _exact.single(value, name)
        for name, value in given.items()
        if value is not None and (name == "fEntries" or name.startswith("fTsumw"))
    }
    return WritableHistogram(
        classname or histogram_class(dimensions, cells.dtype),
        fTitle,
        axes,
        cells,
        reals["fSumw2"],
        found,
        reals["fBinEntries"],
        reals["fBinSumw2"],
        _exact.whole_number(given.get("fErrorMode") or 0, "fErrorMode"),
    )


def _reals(values: Any, of: str) -> Any:
    return np.empty(0) if values is None else _exact.reals(values, of)


@ours
def to_TH1x(fName: Any, fTitle: str, data: Any, **given: Any) -> WritableHistogram:
    """``TH1D`` or another, by the type of ``data``, with members by their names in ROOT."""
    return _histogram(None, 1, fTitle, data, given)


@ours
def to_TH2x(fName: Any, fTitle: str, data: Any, **given: Any) -> WritableHistogram:
    return _histogram(None, 2, fTitle, data, given)


@ours
def to_TH3x(fName: Any, fTitle: str, data: Any, **given: Any) -> WritableHistogram:
    return _histogram(None, 3, fTitle, data, given)


@ours
def to_TProfile(fName: Any, fTitle: str, data: Any, **given: Any) -> WritableHistogram:
    return _histogram("TProfile", 1, fTitle, data, given)


@ours
def to_TProfile2D(fName: Any, fTitle: str, data: Any, **given: Any) -> WritableHistogram:
    return _histogram("TProfile2D", 2, fTitle, data, given)


@ours
def to_TProfile3D(fName: Any, fTitle: str, data: Any, **given: Any) -> WritableHistogram:
    return _histogram("TProfile3D", 3, fTitle, data, given)
