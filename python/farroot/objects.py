"""Objects of a file that are no trees: histograms, graphs, and anything else by its members."""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Iterator
from typing import Any

from .errors import KeyInFileError, UnsupportedError


class Object:
    """An object by its members, those of base classes included: ``object[name]``.

    ``dict(object)`` has them all. It is no ``Mapping`` only because ``values`` of histograms are
    the contents of their bins.

    Numbers and strings are Python's, arrays of numbers NumPy's; collections of pointers are
    lists, a ``TMap`` is a dict, a ``TObjString`` a ``str``; a null pointer is None.
    """

    def __init__(self, classname: str, version: int) -> None:
        self._classname = classname
        self._version = version
        self._members: dict[str, Any] = {}
        self._bases: list[Any] = []
        self._lacking: str | None = None

    def fill(self, members: dict[str, Any], bases: list[Any]) -> None:
        """Takes what was read; the engine calls it once."""
        self._members = members
        self._bases = bases

    def lack(self, why: str) -> None:
        """Takes why nothing was read."""
        self._lacking = why

    @property
    def classname(self) -> str:
        return self._classname

    @property
    def class_version(self) -> int:
        """Version of the class that wrote the object."""
        return self._version

    @property
    def bases(self) -> list[Any]:
        """The parts that are of base classes."""
        return list(self._bases)

    @property
    def members(self) -> dict[str, Any]:
        """The members of the class itself."""
        return {name: _plain(value) for name, value in self._known().items()}

    @property
    def all_members(self) -> dict[str, Any]:
        """The members of base classes, then those of the class itself."""
        found: dict[str, Any] = {}
        for base in self._bases:
            if isinstance(base, Object):
                found |= base.all_members
        return found | self.members

    def member(self, name: str) -> Any:
        """As ``self[name]``; uproot's name for it."""
        return self[name]

    def _known(self) -> dict[str, Any]:
        if self._lacking is not None:
            raise UnsupportedError(self._lacking)
        return self._members

    def inherits(self, classname: str) -> bool:
        """Whether the object is of that class or of one that derives from it."""
        mine = self._classname == classname
        return mine or any(isinstance(b, Object) and b.inherits(classname) for b in self._bases)

    def __getitem__(self, name: str) -> Any:
        known = self._known()
        if name in known:
            return _plain(known[name])
        for base in self._bases:
            if isinstance(base, Object) and name in base:
                return base[name]
        raise KeyInFileError(f"no member is called {name!r} in a {self._classname}")

    def keys(self) -> list[str]:
        """Names of all members."""
        return list(self.all_members)

    def items(self) -> list[tuple[str, Any]]:
        """Names and values of all members."""
        return list(self.all_members.items())

    def get(self, name: str, default: Any = None) -> Any:
        """The member of that name, or the default."""
        return self.all_members.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self.all_members

    def __iter__(self) -> Iterator[str]:
        return iter(self.all_members)

    def __len__(self) -> int:
        return len(self.all_members)

    def __bool__(self) -> bool:
        return True

    @property
    def name(self) -> str:
        """The object's own name; empty where it has none."""
        return self._text("fName")

    @property
    def title(self) -> str:
        """The object's own title; empty where it has none."""
        return self._text("fTitle")

    def _text(self, name: str) -> str:
        """A member as a string; empty where there is none, or none that could be read."""
        if name in self._members:
            return str(_plain(self._members[name]))
        found = (base._text(name) for base in self._bases if isinstance(base, Object))
        return next(filter(None, found), "")

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        unread = " (unread)" if self._lacking is not None else ""
        return f"<{self._classname}{named}{unread}>"


class Parameter(Object):
    """``TParameter`` of any type."""

    @property
    def value(self) -> Any:
        return self["fVal"]

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __float__(self) -> float:
        return float(self.value)


class Datime(Object):
    """``TDatime``: a day and a time to the second, of no time zone."""

    def to_datetime(self) -> datetime.datetime:
        code = self["fDatime"]
        fields = [code >> shift & (1 << bits) - 1 for shift, bits in _DATIME]
        return datetime.datetime(1995 + fields[0], *fields[1:])


#: Where year, month, day, hour, minute and second are in a ``TDatime``, and their bits.
_DATIME = ((26, 6), (22, 4), (17, 5), (12, 5), (6, 6), (0, 6))


class Graph(Object):
    """``TGraph`` and those with errors."""

    def values(self, axis: str | int = "both") -> Any:
        """The coordinates of the points: x and y, or those of one axis (``"x"`` or ``"y"``)."""
        if axis == "both":
            return self["fX"], self["fY"]
        return self[_member(axis, "fX", "fY")]

    def errors(self, which: str = "mean", axis: str | int = "both") -> Any:
        """What the points may be off by: ``which`` is ``"low"``, ``"high"`` or ``"mean"``."""
        if axis == "both":
            return self.errors(which, "x"), self.errors(which, "y")
        if "fEX" in self:
            return self[_member(axis, "fEX", "fEY")]
        if "fEXlow" not in self:
            raise UnsupportedError(f"{self!r} has no errors")
        low, high = (
            self[_member(axis, "fEXlow", "fEYlow")],
            self[_member(axis, "fEXhigh", "fEYhigh")],
        )
        if which not in ("low", "high", "mean"):
            raise KeyInFileError(f"errors are low, high or mean, not {which!r}")
        return {"low": low, "high": high, "mean": (low + high) / 2}[which]


def _member(axis: str | int, x: str, y: str) -> str:
    names = {"x": x, 0: x, "y": y, 1: y, -1: y, -2: x}
    if axis not in names:
        raise KeyInFileError(f"a graph has the axes x and y, not {axis!r}")
    return names[axis]


#: Collections, and the member that holds their items.
_COLLECTIONS = (
    "TList",
    "THashList",
    "TSortedList",
    "TOrdCollection",
    "TObjArray",
    "TClonesArray",
)
#: The member of a record that is a collection of the standard library.
_ELEMENTS = "(elements)"


def _plain(value: Any) -> Any:
    """What a user gets for a member: Python's own types for ROOT's simple ones."""
    match value:
        case list():
            return [_plain(item) for item in value]
        case tuple():
            return tuple(_plain(item) for item in value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case Object() if value._lacking is None:
            return _plain_object(value)
    return value


def _plain_object(value: Object) -> Any:
    if _ELEMENTS in value._members:
        return _plain(value._members[_ELEMENTS])
    match value.classname:
        case "TObjString":
            return value["fString"]
        case name if name in _COLLECTIONS:
            return [_plain(item) for item in value._members["items"]]
        case "TMap":
            pairs = [(_plain(key), _plain(item)) for key, item in value._members["items"]]
            return dict(pairs)
        case name if re.fullmatch(r"TArray(C|S|I|L|L64|F|D)", name):
            return value._members["fArray"]
        case "TString" | "string":
            return value._members["text"]
    return value


def make(classname: str, version: int) -> Object:
    """An object of a class, to be filled."""
    from .histograms import Axis, Efficiency, Histogram, Profile

    kind: type[Object] = Object
    if re.fullmatch(r"TH[123][CSIFDL]|TH1K", classname):
        kind = Histogram
    elif re.fullmatch(r"TProfile([23]D)?", classname):
        kind = Profile
    elif classname == "TAxis":
        kind = Axis
    elif classname == "TEfficiency":
        kind = Efficiency
    elif classname.startswith("TGraph") and not classname.startswith(("TGraph2D", "TGraphTime")):
        kind = Graph
    elif classname.startswith("TParameter<"):
        kind = Parameter
    elif classname == "TDatime":
        kind = Datime
    return kind(classname, version)


def read(file: Any, path: str) -> Any:
    """The object at a path of the engine's file."""
    return _plain(file.object(path, make))
