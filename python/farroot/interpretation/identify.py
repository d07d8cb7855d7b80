"""The interpretation of a branch, from its type in the file."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from farroot import containers
from farroot._registry import custom_interpretation
from farroot.errors import InvalidArgumentError, UnsupportedError
from farroot.interpretation import Interpretation
from farroot.interpretation.grouped import AsGrouped
from farroot.interpretation.jagged import AsJagged
from farroot.interpretation.numerical import AsDouble32, AsDtype, AsFloat16
from farroot.interpretation.objects import AsObjects, AsStridedObjects
from farroot.interpretation.strided import Strides
from farroot.interpretation.strings import AsStrings
from farroot.objects import Object

if TYPE_CHECKING:
    from farroot._protocols import Branch

__all__ = ["UnknownInterpretation", "interpretation_of", "parse_typename"]

#: Words of a type without effect on its bytes.
_QUALIFIERS = ("const", "class", "struct")
#: Numbers in the file, by their names in C++ and in ROOT.
_NUMBERS = {
    **dict.fromkeys(("bool", "Bool_t"), "?"),
    **dict.fromkeys(("char", "signed char", "int8_t", "Char_t"), "i1"),
    **dict.fromkeys(("unsigned char", "uint8_t", "UChar_t", "Byte_t"), "u1"),
    **dict.fromkeys(("short", "int16_t", "Short_t"), ">i2"),
    **dict.fromkeys(("unsigned short", "uint16_t", "UShort_t"), ">u2"),
    **dict.fromkeys(("int", "int32_t", "Int_t"), ">i4"),
    **dict.fromkeys(("unsigned int", "unsigned", "uint32_t", "UInt_t"), ">u4"),
    **dict.fromkeys(("long", "long long", "int64_t", "Long_t", "Long64_t"), ">i8"),
    **dict.fromkeys(
        ("unsigned long", "unsigned long long", "uint64_t", "ULong_t", "ULong64_t"), ">u8"
    ),
    **dict.fromkeys(("float", "Float_t"), ">f4"),
    **dict.fromkeys(("double", "Double_t"), ">f8"),
}
#: Reals that are packed; without bounds or bits they are a float in the file.
_PACKED = {"Double32_t": AsDouble32, "Float16_t": AsFloat16}
#: The class of a type with angle brackets, by the name before them.
_LISTS = {
    "vector": containers.AsVector,
    "list": containers.AsList,
    "RVec": containers.AsRVec,
    "set": containers.AsSet,
    "unordered_set": containers.AsSet,
    "multiset": containers.AsSet,
}
_MAPS = ("map", "unordered_map", "multimap")
_STRINGS = ("string", "TString", "char*")
#: Bounds and bits in the title of a packed real: ``fX[0,10,8]``.
_BOUNDS = re.compile(r"\[([^\[\],]*),([^\[\],]*)(?:,([^\[\],]*))?\]")


class UnknownInterpretation(Interpretation):
    """Of a branch that cannot be read; ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def _state(self) -> tuple[Any, ...]:
        return (self.reason,)

    def __repr__(self) -> str:
        return f"<UnknownInterpretation {self.reason!r}>"


class OfCpp(type):
    """The metaclass of Python classes for C++ classes: ``isinstance`` compares the C++ names."""

    _cpp_name: str
    _cpp_version: int | None

    def __instancecheck__(cls, one: Any) -> bool:
        if not isinstance(one, Object) or not one.inherits(cls._cpp_name):
            return False
        own = one.class_version if one.classname == cls._cpp_name else None
        return own is None or cls._cpp_version in (None, own)

    def strided_interpretation(cls, file: Any = None, **_: Any) -> AsStridedObjects:
        """The interpretation of consecutive objects of the class.

        Args:
            file: The :class:`~farroot.File` whose streamer infos describe the class; without it,
                ``from_dtype`` raises. Further arguments, which uproot takes, are ignored.
        """
        if file is None:
            return AsStridedObjects(cls)
        strides = Strides(file.streamers, _NUMBERS)
        return AsStridedObjects(
            cls, stored=functools.partial(strides.dtype, cls._cpp_name, cls._cpp_version)
        )


@functools.cache
def model_named(classname: str, version: int | None = None, prefix: str = "Model_") -> OfCpp:
    """The class of Python by which an interpretation names one of C++, as uproot spells it."""

    def hexadecimal(found: re.Match[bytes]) -> bytes:
        return b"_" + b"".join(b"%02x" % each for each in found[0]) + b"_"

    encoded = re.sub(rb"[^a-zA-Z0-9]+", hexadecimal, classname.encode()).decode()
    ending = "" if version is None else f"_v{version}"
    known = {"__doc__": f"``{classname}``.", "_cpp_name": classname, "_cpp_version": version}
    return OfCpp(f"{prefix}{encoded}{ending}", (Object,), known)


def parse_typename(typename: str) -> Any:
    """The form of a type of C++ in the bytes of a branch: a dtype, a container or a class.

    Raises:
        InvalidArgumentError: for a text that is no type.
    """
    parser = _Parser(typename)
    found = parser.content(header=True)
    parser.end()
    return found


class _Parser:
    """Reads a type of C++ from left to right."""

    def __init__(self, text: str, described: Any = None) -> None:
        self._text = text
        self._words = re.findall(r"[^\s<>,*]+|[<>,*]", re.sub(r"\s*::\s*", "::", text))
        self._at = 0
        #: Classes that the file describes; None where they are not considered.
        self._described = described

    def _next(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _take(self, word: str) -> None:
        if self._next() != word:
            raise InvalidArgumentError(f"{self._text!r} is no type: {word!r} is missing")
        self._at += 1

    def end(self) -> None:
        """Raises InvalidArgumentError where something is left."""
        if self._at < len(self._words):
            raise InvalidArgumentError(f"{self._text!r} is no type: {self._next()!r} is too much")

    def _name(self) -> str:
        words: list[str] = []
        while self._next() and self._next() not in "<>,*":
            if self._next() not in _QUALIFIERS:
                words.append(self._next())
            self._at += 1
        if not words:
            raise InvalidArgumentError(f"{self._text!r} is no type")
        return " ".join(words).removeprefix("std::").removeprefix("ROOT::VecOps::")

    def content(self, header: bool, in_map: bool = False) -> Any:
        begin = self._at
        found = self._plain(self._name(), begin, header, in_map)
        while self._next() == "*":
            self._at += 1
            is_text = isinstance(found, np.dtype) and found == np.dtype("i1")
            if is_text:
                found = containers.AsString(False, length_bytes="4")
            else:
                found = containers.AsPointer(found)
        return found

    def _plain(self, name: str, begin: int, header: bool, in_map: bool) -> Any:
        if name in _NUMBERS:
            return np.dtype(_NUMBERS[name])
        if name in _PACKED:
            return np.dtype(">f4")
        if name in ("string", "TString"):
            return containers.AsString(in_map and name == "string")
        if name == "bitset":
            self._take("<")
            bits = int(self._name())
            self._take(">")
            return containers.AsBitSet(header, bits)
        if name in _LISTS:
            (inner,) = self._arguments(1, header=False)
            return _LISTS[name](header, inner)
        if name in _MAPS:
            return containers.AsMap(header, *self._arguments(2, header=True, in_map=True))
        while self._next() == "<":
            self._skip_arguments()
        words = self._words[begin : self._at]
        while words[0] in _QUALIFIERS:
            del words[0]
        classname = _joined(words)
        is_roots = re.fullmatch(r"T[A-Z]\w*", classname) is not None
        known = is_roots or self._described is None or classname in self._described
        return model_named(classname, None, "Model_" if known else "Unknown_")

    def _arguments(self, number: int, *, header: bool, in_map: bool = False) -> list[Any]:
        self._take("<")
        found = [self.content(header, in_map)]
        while self._next() == ",":
            self._at += 1
            # Comparisons and allocators have no effect on the bytes.
            found.append(self.content(header, in_map))
        self._take(">")
        if len(found) < number:
            raise InvalidArgumentError(f"{self._text!r} is no type: it has too few arguments")
        return found[:number]

    def _skip_arguments(self) -> None:
        depth = 0
        while self._next():
            depth += {"<": 1, ">": -1}.get(self._next(), 0)
            self._at += 1
            if depth == 0:
                return
        raise InvalidArgumentError(f"{self._text!r} is no type: a bracket is not closed")


def _joined(words: list[str]) -> str:
    text = " ".join(words)
    return re.sub(r"\s*([<>,*])\s*", r"\1", text)


# -- of a branch -----------------------------------------------------------------------------------


def interpretation_of(branch: Branch, context: Any = None, simplify: bool = True) -> Interpretation:
    """How the bytes of a branch are read.

    Args:
        context, simplify: uproot's; farroot has one interpretation of a branch.
    """
    found = custom_interpretation(branch) or stored_interpretation(branch)
    found._of = branch
    return found


def stored_interpretation(branch: Branch) -> Interpretation:
    """The interpretation that a branch has by its type, without registered ones."""
    if branch.is_group:
        return AsGrouped(branch, {below.name: below.interpretation for below in branch})
    try:
        datashape = branch.datashape
    except UnsupportedError as error:
        return UnknownInterpretation(str(error))
    typename = branch.typename
    if typename.startswith("struct {"):
        return AsDtype(list(_leaves(typename)))
    base, is_jagged, dims = _dimensions(typename)
    if base in _STRINGS and not is_jagged:
        header = 6 if base == "string" and branch.parent is not branch.tree else 0
        return AsStrings(header)
    numbers: Interpretation | None = _numbers(base, dims, branch, datashape)
    if numbers is not None:
        return AsJagged(numbers, _mark_bytes(branch)) if is_jagged else numbers
    return _objects(branch, (base, is_jagged, dims), datashape)


def _mark_bytes(branch: Branch) -> int:
    """Bytes before each list: of a member that is a pointer to an array, whether there is one."""
    if branch.tree.is_chain or branch.classname != "TBranchElement":
        return 0
    # ROOT: TStreamerInfo::kOffsetP, and the types beyond.
    return 1 if 40 < branch.member("fStreamerType") < 61 else 0


def _dimensions(typename: str) -> tuple[str, bool, tuple[int, ...]]:
    """The type of an array's items, whether entries differ in length, and its fixed lengths."""
    found = re.search(r"(\[\d*\])+$", typename)
    base = typename[: found.start()] if found else typename
    lengths = re.findall(r"\[(\d*)\]", found[0]) if found else []
    is_jagged = "" in lengths
    return base.removeprefix("std::"), is_jagged, tuple(int(each) for each in lengths if each)


def _numbers(base: str, dims: tuple[int, ...], branch: Branch, datashape: str) -> Any:
    if base in _PACKED:
        bounds = _BOUNDS.search(branch.title) or _BOUNDS.search(_leaf_title(branch))
        if bounds is not None:
            low, high, bits = (_number(each) for each in bounds.groups("32"))
            return _PACKED[base](low, high, int(bits), dims)
        if base == "Float16_t":
            return AsFloat16(0.0, 0.0, 12, dims)
        return AsDtype((">f4", dims), (np.float64, dims))
    if base == "float" and datashape.endswith("float64"):
        # A `Double32_t` that the branch says is a float.
        return AsDtype((">f4", dims), (np.float64, dims))
    return AsDtype((_NUMBERS[base], dims)) if base in _NUMBERS else None


def _number(text: str) -> float:
    """A bound as titles write them: ``-2.71``, ``pi``, ``2*pi``, ``-pi/2``."""
    sign = -1.0 if text.strip().startswith("-") else 1.0
    factors = re.split(
        r"([*/])", text.strip().lstrip("+-").replace(" ", "").replace("twopi", "2*pi")
    )
    value = 1.0
    for operation, factor in zip(["*", *factors[1::2]], factors[::2], strict=True):
        number = np.pi if factor.lower() == "pi" else float(factor or 0)
        value = value * number if operation == "*" else value / number
    return sign * value


def _leaf_title(branch: Branch) -> str:
    """The title of a packed member of that name in the file's classes; empty where they differ."""
    name = branch.name.rpartition(".")[2].partition("[")[0]
    titles = {
        element.title
        for versions in branch.tree.file.streamers.values()
        for info in versions.values()
        for element in info.elements
        if element.name == name and element.typename in _PACKED and _BOUNDS.search(element.title)
    }
    return titles.pop() if len(titles) == 1 else ""


def _leaves(typename: str) -> Iterator[tuple[Any, ...]]:
    """Names and dtypes of a leaf list: ``struct {int32_t n; float[3] x;}``."""
    for leaf in typename[len("struct {") : -1].split(";"):
        if leaf.strip():
            of, name = leaf.strip().rsplit(" ", 1)
            base, _, dims = _dimensions(of)
            yield name, _NUMBERS.get(base, ">f4"), dims


def _objects(
    branch: Branch, typed: tuple[str, bool, tuple[int, ...]], datashape: str
) -> Interpretation:
    base, is_jagged, dims = typed
    streamers = branch.tree.file.streamers
    described = {_joined([name]): versions for name, versions in streamers.items()}
    parser = _Parser(base, described)
    try:
        model = parser.content(header=not is_jagged)
        parser.end()
    except InvalidArgumentError as error:
        return UnknownInterpretation(str(error))
    listed = re.fullmatch(r"(vector|RVec)<(.*)>", base)
    if not is_jagged and listed and isinstance(model.values, np.dtype):
        if listed[2] == "Double32_t":
            return AsJagged(AsDtype(">f4", "f8"), header_bytes=10)
        return AsJagged(AsDtype(model.values), header_bytes=10)
    one = model.values if listed and not is_jagged else model
    if isinstance(one, type) and _is_of_fixed_size(datashape, is_jagged or bool(listed)):
        classname = listed[2] if listed and not is_jagged else base
        versions = described.get(classname)
        version = max(versions) if versions else None
        strided = AsStridedObjects(
            model_named(classname, version),
            dims,
            functools.partial(Strides(described, _NUMBERS).dtype, classname, version),
        )
        if is_jagged:
            return AsJagged(strided)
        return AsJagged(strided, header_bytes=10) if listed else strided
    if is_jagged:
        has_header = isinstance(model, containers.AsContainer)
        return AsObjects(containers.AsArray(has_header, False, model, dims), branch)
    return AsObjects(model, branch)


def _is_of_fixed_size(datashape: str, is_listed: bool) -> bool:
    """Whether each object takes as many bytes: nothing in it is a list, a text or a pointer."""
    inner = datashape.removeprefix("var * ") if is_listed else datashape
    is_bare = is_listed and inner == "{}"
    return not is_bare and not re.search(r"\bvar\b|string|\?|unknown|union|\(", inner)
