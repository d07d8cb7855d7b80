"""Objects of a file that are no trees: histograms, graphs, and anything else by its members."""

from __future__ import annotations

import datetime
import operator
import os
import re
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from . import _core, _html
from ._locks import cached_property
from ._registry import decoded
from ._shown import shown
from ._uproot import HELPERS, Public, no_attribute
from .errors import Error, InvalidArgumentError, KeyInFileError, UnsupportedError


class Filling(Protocol):
    """Where the members of one object are."""

    def fill(self, instance: Any) -> None:
        """Gives them to the object, once."""


#: Attributes of an object that are there when it has been filled.
_READ = frozenset(("_members", "_bases", "_lacking", "_stored"))
#: Where there is no member.
NOTHING = object()
#: Threads wait here for an object that another thread fills. All objects share it: it is held only
#: to look whether one is filled, not while one is.
_FILLED = threading.Condition()


def _after_fork() -> None:
    """The child has no thread that could release a lock that one held at the fork."""
    global _FILLED
    _FILLED = threading.Condition()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Origin(NamedTuple):
    """The file that an object was read from, which goes with it into pickles and copies."""

    #: Address, without secrets.
    file_path: str


class Stored(NamedTuple):
    """Where the record of an object is, to copy it from there."""

    #: Address as the caller gave it.
    url: str
    #: Path and cycle.
    path: str
    #: The number and the size of the file: it may have been written since, or be another one.
    version: tuple[int | None, int]


class Object(Public):
    """An object by its members, those of base classes included: ``object[name]``.

    ``dict(object)`` has them all. It is no ``Mapping`` only because ``values`` of histograms are
    the contents of their bins.

    Numbers and strings are Python's, arrays of numbers NumPy's; collections of pointers are
    lists, a ``TMap`` is a dict, a ``TObjString`` a ``str``; a null pointer is None.

    Example:
        >>> histogram = farroot.open("events.root:pt")
        >>> histogram.classname, histogram.member("fEntries")
        ('TH1D', 4.0)
        >>> histogram.to_numpy()
        (array([2., 0., 1., 1.]), array([ 0., 15., 30., 45., 60.]))
    """

    _members: dict[str, Any]
    _bases: list[Any]
    _lacking: str | None
    _stored: bytes

    def __init__(self, classname: str, version: int | None, source: Filling | None = None) -> None:
        self._classname = classname
        self._version = version
        self._source = source

    def __getattr__(self, name: str) -> Any:
        """The members are requested when they are needed first."""
        known = self.__dict__
        if name not in _READ or "_classname" not in known:
            raise no_attribute(self, name)
        with _FILLED:
            # Without a source another thread fills it, and puts the source back where it fails.
            _FILLED.wait_for(lambda: name in known or "_source" in known)
            if name in known:
                return known[name]
            source = known.pop("_source")
        try:
            source.fill(self)
            known["_filled_by"] = source
            known.pop("_apart", None)
        except BaseException:
            known["_source"] = source
            raise
        finally:
            with _FILLED:
                _FILLED.notify_all()
        return known[name]

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in HELPERS]

    def __getstate__(self) -> dict[str, Any]:
        """All that was read: sources are of their process."""
        _ = self._lacking
        return {name: value for name, value in self.__dict__.items() if name != "_filled_by"}

    def fill(self, members: dict[str, Any], bases: list[Any]) -> None:
        """Takes the members; the engine calls it once."""
        self._members, self._bases, self._lacking, self._stored = members, bases, None, b""

    def lack(self, why: str, stored: bytes) -> None:
        """Takes why nothing was read, and the bytes."""
        self._members, self._bases, self._lacking, self._stored = {}, [], why, stored

    @property
    def classname(self) -> str:
        """The name of the class in C++."""
        return self._classname

    @property
    def file(self) -> Origin | None:
        """The file that the object was read from; None of a part of another object."""
        return self.__dict__.get("_origin")

    def read_from(self, origin: Origin, stored: Stored) -> None:
        """Notes where the object was read from, for the objects in it too."""
        self._origin = origin
        source = self.__dict__.get("_source") or self.__dict__.get("_filled_by")
        if isinstance(source, _core.Source):
            source.record_is(stored)

    def stored(self) -> tuple[Stored, int] | None:
        """Where its record is, and the object's position in it; None of objects without a record
        of their own: entries of branches, and pickled ones."""
        source = self.__dict__.get("_source") or self.__dict__.get("_filled_by")
        if not isinstance(source, _core.Source) or source.record is None:
            return None
        return source.record, source.position

    @property
    def class_version(self) -> int | None:
        """Version of the class that wrote the object; None in a column, where it is not kept."""
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
        """The members of base classes, then those of the class itself. Of several with one name,
        those of base classes have the class in front, as ``Base::x``."""
        return {name: _plain(value) for name, value in self._told_apart().items()}

    def member(self, name: str, all: bool = True, none_if_missing: bool = False) -> Any:  # noqa: A002
        """As ``self[name]``; uproot's name for it.

        Args:
            name: The name of the member.
            all: Whether members of base classes count too.
            none_if_missing: Whether a member that is not there is None, and no error.
        """
        if none_if_missing and not self.has_member(name, all=all):
            return None
        if not all and name not in self._known():
            raise self._no_such(name)
        return self[name]

    def has_member(self, name: str, all: bool = True) -> bool:  # noqa: A002
        """Whether there is a member of that name; with ``all`` in base classes too."""
        return name in (Object.keys(self) if all else self._known())

    @property
    def member_names(self) -> list[str]:
        """Names of the members of the class itself."""
        return list(self._known())

    @property
    def instance_version(self) -> int | None:
        """As :attr:`class_version`; uproot's name for it."""
        return self._version

    def base(self, *classnames: str) -> list[Any]:
        """The parts that are of base classes, at any depth, or of those of these names."""
        found: list[Any] = []
        for base in self._bases:
            if isinstance(base, Object):
                if not classnames or base.classname in classnames:
                    found.append(_kinded(base))
                found += base.base(*classnames)
        return found

    @property
    def behaviors(self) -> tuple[type[Object], ...]:
        """The classes of Python that it has its methods from, the closest first; uproot's name."""
        return tuple(
            kind for kind in type(self).__mro__ if issubclass(kind, Object) and kind is not Object
        )

    def is_instance(self, *classnames: str) -> bool:
        """Whether the object is of one of these classes, or of one that derives from it."""
        return any(self.inherits(name) for name in classnames)

    def _told_apart(self) -> dict[str, Any]:
        """Its members and those of base classes, as they were read, by names of their own."""
        fields = list(self._fields())
        names = [name for name, _, _ in fields]
        if len(set(names)) < len(names):
            others = _core.told_apart([(name, bases) for name, bases, _ in fields])
            for at, name in others:
                names[at] = name
        return {name: value for name, (_, _, value) in zip(names, fields, strict=True)}

    def _fields(self) -> Iterator[tuple[str, list[str], Any]]:
        """All members, each with the base classes that it came through, the nearest first."""
        own = self._known()
        for base in self._bases:
            if isinstance(base, Object):
                for name, bases, value in base._fields():
                    yield name, [base._classname, *bases], value
        for name, value in own.items():
            yield name, [], value

    def _known(self) -> dict[str, Any]:
        if self._lacking is not None:
            raise UnsupportedError(self._lacking)
        return self._members

    def inherits(self, classname: str) -> bool:
        """Whether the object is of that class or of one that derives from it."""
        mine = self._classname == classname
        return mine or any(isinstance(b, Object) and b.inherits(classname) for b in self._bases)

    def __getitem__(self, name: str) -> Any:
        found = self._find(name)
        if found is NOTHING:
            raise self._no_such(name)
        return _plain(found)

    def _find(self, name: object) -> Any:
        """A member as it was read, its own or that of a base class."""
        alone = self._alone(name)
        if alone is not NOTHING:
            return alone
        known = self._known()
        if name in known:
            return known[name]
        bases = (base for base in self._bases if isinstance(base, Object))
        found = (base._find(name) for base in bases)
        first = next((each for each in found if each is not NOTHING), NOTHING)
        if first is NOTHING and isinstance(name, str) and "::" in name:
            return self._told_apart().get(name, NOTHING)
        return first

    def _alone(self, name: object) -> Any:
        """The same of an object that has not been filled, without the other members: of many
        histograms few are looked at. ``NOTHING`` where all of them have to be looked at."""
        known = self.__dict__
        source = known.get("_source")
        if type(source) is _core.Source and type(name) is str:
            return source.find(name, known.setdefault("_apart", {}), NOTHING)
        return NOTHING

    def _no_such(self, name: str) -> KeyInFileError:
        return KeyInFileError(f"no member is called {name!r} in a {self._classname}")

    def keys(self) -> list[str]:
        """Names of all members."""
        return list(self.all_members)

    def items(self) -> list[tuple[str, Any]]:
        """Names and values of all members."""
        return list(self.all_members.items())

    def get(self, name: str, default: Any = None) -> Any:
        """The member of that name, or the default."""
        found = self._find(name)
        return default if found is NOTHING else _plain(found)

    def __contains__(self, name: object) -> bool:
        return self._find(name) is not NOTHING

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
        alone = self._alone(name)
        if alone is not NOTHING and (text := str(_plain(alone))):
            return text
        if name in self._members:
            return str(_plain(self._members[name]))
        found = (base._text(name) for base in self._bases if isinstance(base, Object))
        return next(filter(None, found), "")

    def __repr__(self) -> str:
        named = f" {self.name!r}" if self.name else ""
        unread = " (unread)" if self._lacking is not None else ""
        return shown(f"<{self._classname}{named}{unread}>")


class Registered(Object):
    """An object of a class for which :func:`farroot.register` was called."""

    @cached_property
    def decoded(self) -> Any:
        """The result of the registered decoder."""
        return decoded(self._classname, self._stored)


class Parameter(Object):
    """``TParameter`` of any type.

    Example:
        >>> import ROOT
        >>> parameter = farroot.from_pyroot(ROOT.TParameter["double"]("mass", 125.0))
        >>> float(parameter)
        125.0
    """

    @property
    def value(self) -> Any:
        """The value: a number, a bool or a text."""
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
        return datetime_of(self["fDatime"])


def datetime_of(code: int) -> datetime.datetime:
    """The time of a packed ``TDatime``, without time zone.

    Raises:
        ValueError: for a code that is no valid time, such as 0.
    """
    fields = (code >> shift & (1 << bits) - 1 for shift, bits in _DATIME)
    years, month, day, hour, minute, second = fields
    return datetime.datetime(1995 + years, month, day, hour, minute, second)


#: Where year, month, day, hour, minute and second are in a ``TDatime``, and their bits.
_DATIME = ((26, 6), (22, 4), (17, 5), (12, 5), (6, 6), (0, 6))


class TimeStamp(Object):
    """``TTimeStamp``: a time to the nanosecond."""

    def to_datetime(self) -> datetime.datetime:
        """The time in UTC, to the microsecond."""
        begin = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        since = datetime.timedelta(seconds=self["fSec"], microseconds=self["fNanoSec"] // 1000)
        return begin + since


class Counted(Object):
    """Arrays and collections, whose number of items has a name in ROOT too."""

    def fill(self, members: dict[str, Any], bases: list[Any]) -> None:
        for items, count in (("fArray", "fN"), ("items", "fSize"), ("fUIDs", "fSize")):
            if items in members:
                members.setdefault(count, len(members[items]))
        super().fill(members, bases)


class Numbers(Counted):
    """``TArrayD`` and its like."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        values = self._known()["fArray"]
        return values if dtype is None else values.astype(dtype)


class RefArray(Counted):
    """``TRefArray``: numbers of objects elsewhere."""

    @property
    def refs(self) -> Any:
        """The numbers that they have."""
        return self["refs"] if "refs" in self else self["fUIDs"]


class Table(Object):
    """``TTable``, of STAR's data: rows of numbers."""

    @property
    def data(self) -> Any:
        """The rows as a NumPy array of records."""
        import numpy as np

        columns = np.frombuffer(self["descriptor"]["columns"], dtype=_COLUMN)
        formats: list[Any] = []
        for column in columns:
            kind = _COLUMN_TYPES.get(int(column["type"]))
            if kind is None:
                raise UnsupportedError(f"a column of type {int(column['type'])} in {self!r}")
            number = np.dtype(kind)
            many = int(column["size"]) // number.itemsize
            formats.append((number, (many,)) if column["dimensions"] else number)
        layout = {
            "names": [column["name"].decode() for column in columns],
            "formats": formats,
            "offsets": [int(column["offset"]) for column in columns],
            "itemsize": self["fSize"],
        }
        return np.frombuffer(self["rows"], dtype=np.dtype(layout))  # type: ignore[call-overload]


#: How a column of a ``TTable`` is described: 64 bytes each.
_COLUMN = [
    ("name", "S32"),
    ("index", ">i4", (3,)),
    ("offset", ">i4"),
    ("size", ">i4"),
    ("type_size", ">i4"),
    ("dimensions", ">i4"),
    ("type", ">i4"),
]
#: Numbers of a column's type (ROOT: ``TTable::EColumnType``).
_COLUMN_TYPES = {
    1: ">f4",
    2: ">i4",
    3: ">i8",
    4: ">i2",
    5: ">f8",
    6: ">u4",
    7: ">u8",
    8: ">u2",
    9: "u1",
    10: "i1",
    12: "?",
}


class Graph(Object):
    """``TGraph`` and those with errors.

    Example:
        >>> x, y = farroot.open("events.root:points").values()
        >>> y
        array([1., 4.])
    """

    def values(self, axis: str | int = "both") -> Any:
        """The coordinates of the points: x and y, or those of one axis (``"x"`` or ``"y"``)."""
        if axis == "both":
            return self["fX"], self["fY"]
        return self[_member(axis, "fX", "fY")]

    def errors(self, which: str = "mean", axis: str | int = "both") -> Any:
        """The errors of the points.

        Args:
            which: ``"low"``, ``"high"``, their ``"mean"``, or ``"diff"``, by how much the high one
                is larger.
            axis: See :meth:`values`.
        """
        if axis == "both":
            return self.errors(which, "x"), self.errors(which, "y")
        if which not in ("low", "high", "mean", "diff"):
            raise InvalidArgumentError(f"errors are low, high, mean or diff, not {which!r}")
        low, high = self._bounds(axis)
        return {"low": low, "high": high, "mean": (low + high) / 2, "diff": high - low}[which]

    def _repr_html_(self) -> str | None:
        from . import _draw

        try:
            drawn = _draw.graph(self)
            points = len(self["fX"])
        except Error:
            return None
        title = f": {self.title}" if self.title else ""
        return _html.page(f"{self!r}{title} ({points:,} points)", _html.drawn(drawn or ""))

    def _bounds(self, axis: str | int) -> tuple[Any, Any]:
        """By how much the points of an axis may be lower, and higher."""
        if "fEX" in self:
            both = self[_member(axis, "fEX", "fEY")]
            return both, both
        if "fEXlow" not in self:
            raise UnsupportedError(f"{self!r} has no errors")
        low = self[_member(axis, "fEXlow", "fEYlow")]
        return low, self[_member(axis, "fEXhigh", "fEYhigh")]


def _member(axis: str | int, x: str, y: str) -> str:
    names = {"x": x, 0: x, "y": y, 1: y, -1: y, -2: x}
    if axis not in names:
        raise InvalidArgumentError(f"a graph has the axes x and y, not {axis!r}")
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
    """A member as users get it: Python's own types for ROOT's simple ones."""
    match value:
        case list():
            return [_plain(item) for item in value]
        case tuple():
            return tuple(_plain(item) for item in value)
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case Registered() if value._lacking is not None:
            return value.decoded
        case Object():
            return _plain_object(value)
    return value


def _kinded(value: Object) -> Object:
    """The object, with the methods of the base class that has any."""
    if type(value) is Object:
        for base in value._bases:
            if isinstance(base, Object) and type(_kinded(base)) not in (Object, Counted, Numbers):
                value.__class__ = type(base)
                break
    return value


def _plain_object(value: Object) -> Any:
    kind = type(value)
    if kind not in (Object, Counted, Numbers) or value._lacking is not None:
        # Nothing of it has to be read here.
        return value
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
        case "TExMap":
            return value._members["items"]
        case name if re.fullmatch(r"TArray(C|S|I|L|L64|F|D)", name):
            return value._members["fArray"]
        case "TString" | "string":
            return value._members["text"]
    return _kinded(value)


def made(value: Any) -> Any:
    """An object that the engine has read with :func:`make`, as it is handed out."""
    return _plain(value)
