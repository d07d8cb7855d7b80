"""Descriptions of classes in a file (ROOT: ``TStreamerInfo``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ._uproot import public

#: The types behind ROOT's names for basic types (ROOT: ``RtypesCore.h``).
_STANDS_FOR = {
    "Char_t": "char",
    "UChar_t": "unsigned char",
    "Short_t": "short",
    "UShort_t": "unsigned short",
    "Int_t": "int",
    "UInt_t": "unsigned int",
    "Seek_t": "int",
    "Long_t": "long",
    "ULong_t": "unsigned long",
    "Float_t": "float",
    "Double_t": "double",
    "LongDouble_t": "long double",
    "Text_t": "char",
    "Bool_t": "bool",
    "Byte_t": "unsigned char",
    "Version_t": "short",
    "Option_t": "const char",
    "Ssiz_t": "int",
    "Real_t": "float",
    "Long64_t": "long long",
    "ULong64_t": "unsigned long long",
    "Axis_t": "double",
    "Stat_t": "double",
    "Font_t": "short",
    "Style_t": "short",
    "Marker_t": "short",
    "Width_t": "short",
    "Color_t": "short",
    "SCoord_t": "short",
    "Coord_t": "double",
    "Angle_t": "float",
    "Size_t": "float",
}
#: The class of the element that describes a base class.
_BASE = "TStreamerBase"


class StreamerElement(NamedTuple):
    """One base class or member."""

    #: The element's own class: ``TStreamerBasicType``, ``TStreamerSTL``, ...
    classname: str
    #: The member's name, or the base class's.
    name: str
    #: The comment behind the member.
    title: str
    #: Type of the member in C++, basic types as C++ calls them; ``BASE`` of a base class.
    typename: str
    #: ROOT's number for how it is written (``TVirtualStreamerInfo::EReadWrite``).
    type_code: int
    #: Lengths of a fixed array, the slowest first.
    dimensions: tuple[int, ...]
    #: Version of a base class.
    base_version: int


@public
class StreamerInfo(NamedTuple):
    """How one version of a class is written."""

    name: str
    class_version: int
    checksum: int
    #: Base classes, then members, in the order in which they are written.
    elements: tuple[StreamerElement, ...]

    @property
    def typename(self) -> str:
        """As ``name``; uproot's name for it."""
        return self.name

    def element(self, name: str) -> StreamerElement:
        """The base class or member of that name; raises ``KeyError`` where there is none."""
        for each in self.elements:
            if each.name == name:
                return each
        raise KeyError(name)

    def text(self) -> str:
        """The class and its base classes in a line, and a line for each member."""
        bases = [each for each in self.elements if each.classname == _BASE]
        named = ", ".join(f"{each.name} (v{each.base_version})" for each in bases)
        head = f"{self.name} (v{self.class_version})" + (f": {named}" if named else "")
        members = (
            f"    {each.name}: {each.typename} ({each.classname})"
            for each in self.elements
            if each.classname != _BASE
        )
        return "\n".join([head, *members, ""])


def _cpp(typename: str) -> str:
    return re.sub(r"\w+_t\b", lambda found: _STANDS_FOR.get(found[0], found[0]), typename)


_Told = tuple[str, int, int, list[tuple[str, str, str, str, int, list[int], int]]]


def streamers_of(told: Iterable[_Told]) -> dict[str, dict[int, StreamerInfo]]:
    """The engine's descriptions of classes, by class and version."""
    found: dict[str, dict[int, StreamerInfo]] = {}
    for name, version, checksum, elements in told:
        parts = tuple(
            StreamerElement(kind, member, title, _cpp(typename), code, tuple(dimensions), base)
            for kind, member, title, typename, code, dimensions, base in elements
        )
        found.setdefault(name, {})[version] = StreamerInfo(name, version, checksum, parts)
    return found


#: Written by hand in every version of ROOT: few files describe it.
_TSTRING = StreamerInfo("TString", 2, 0, ())


def dependencies(
    known: dict[str, dict[int, StreamerInfo]], info: StreamerInfo
) -> list[StreamerInfo]:
    """The classes of a class's members and bases as far as the file describes them, and itself at
    last."""
    found: dict[tuple[str, int], StreamerInfo] = {}
    left = [info]
    while left:
        each = left.pop()
        if (each.name, each.class_version) in found:
            continue
        found[each.name, each.class_version] = each
        # Taken from the end: the first element comes first.
        left += [part for one in reversed(each.elements) for part in _made_of(known, one)]
    return list(found.values())[::-1]


def _made_of(
    known: dict[str, dict[int, StreamerInfo]], element: StreamerElement
) -> list[StreamerInfo]:
    if element.classname == _BASE:
        name, version = element.name, element.base_version
    else:
        name, version = element.typename.rstrip("*"), -1
    versions = known.get(name, {_TSTRING.class_version: _TSTRING} if name == "TString" else {})
    if version in versions:
        return [versions[version]]
    return [versions[max(versions)]] if versions else []
