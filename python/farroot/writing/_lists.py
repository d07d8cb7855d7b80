"""Values of Python, in lists and arrays of objects, as layouts: lists are of any length, whatever
those of one batch have."""

from __future__ import annotations

import array as arrays
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import chain
from typing import Any

import numpy as np

from .._awkward import ak
from ..errors import ArgumentTypeError, InvalidArgumentError
from . import _types

#: Lists within lists, at most.
_DEPTH = 60

#: Makes a layout of an array of a library.
OfArray = Callable[[Any], Any]


def is_array(data: Any) -> bool:
    """Whether its own type names that of its items."""
    if isinstance(data, (np.generic, str)):
        return False
    if isinstance(data, (ak.Array, ak.contents.Content, arrays.array, memoryview)):
        return True
    has = ("__array__", "__arrow_c_array__", "__arrow_c_stream__")
    return any(hasattr(data, name) for name in has)


def of_lists(data: Any, of_array: OfArray) -> Any:
    """A layout of a list, or of whatever else has items in an order.

    Args:
        of_array: Makes layouts of arrays in it.

    Raises:
        ArgumentTypeError: for anything but a list, and for items that no column can have.
        InvalidArgumentError: for numbers that would change.
    """
    if isinstance(data, (str, bytes, bytearray)) or not isinstance(data, Iterable):
        kind = type(data).__name__
        raise ArgumentTypeError(f"a {kind}, of which no array can be made: a column is an array")
    return _Lists(of_array).layout(_items(data), 0)


def _items(data: Any) -> list[Any]:
    if isinstance(data, Set):
        kind = type(data).__name__
        raise ArgumentTypeError(f"a {kind} has its items in no order: sorted(...) gives them one")
    return list(data)


def _is_missing(item: Any) -> bool:
    return item is None or item is np.ma.masked or type(item).__name__ == "NAType"


def _kind(type_: type) -> str:
    """The kind of the items of a type; that of a type that no column holds is its name."""
    if type_ is np.ma.core.MaskedConstant or type_.__name__ in ("NoneType", "NAType"):
        return "missing"
    if issubclass(type_, (np.timedelta64, np.datetime64, np.complexfloating)):
        return "other"
    if issubclass(type_, (bool, np.bool_, int, np.integer, float, np.floating)):
        return "number"
    if issubclass(type_, (str, bytes, bytearray)):
        return "text"
    if issubclass(type_, (Mapping, ak.Record, np.void)):
        return "record"
    if issubclass(type_, tuple):
        return "tuple"
    if issubclass(type_, (np.generic, Set)) or not issubclass(type_, Iterable):
        return "other"
    return "list"


class _Lists:
    """Makes layouts of values of Python."""

    def __init__(self, of_array: OfArray) -> None:
        self._of_array = of_array

    def layout(self, items: list[Any], depth: int) -> Any:
        """The layout of a list of items."""
        if depth > _DEPTH:
            raise ArgumentTypeError(f"lists are within lists, more than {_DEPTH} deep")
        types = set(map(type, items))
        kind_of = {type_: _kind(type_) for type_ in types}
        kinds = sorted(set(kind_of.values()))
        if "missing" in kinds:
            return self._optional(items, depth)
        match kinds:
            case []:
                return ak.contents.EmptyArray()
            case ["number"]:
                return _numbers(items, types)
            case ["text"]:
                return _texts(items)
            case ["record"]:
                return self._records(items, depth)
            case ["tuple"]:
                return self._tuples(items, depth)
            case ["list"]:
                return self._of_each(items, depth)
            case ["other"]:
                return _others(items)
        return self._union(items, [kind_of[type(item)] for item in items], depth)

    def _optional(self, items: list[Any], depth: int) -> Any:
        there = [item for item in items if not _is_missing(item)]
        has = np.array([not _is_missing(item) for item in items])
        index = np.where(has, np.cumsum(has) - 1, -1).astype(np.int64)
        content = self.layout(there, depth)
        return ak.contents.IndexedOptionArray.simplified(ak.index.Index64(index), content)

    def _union(self, items: list[Any], kinds: list[str], depth: int) -> Any:
        """Values of several kinds."""
        groups: dict[str, list[Any]] = {kind: [] for kind in kinds}
        index = []
        for item, kind in zip(items, kinds, strict=True):
            index.append(len(groups[kind]))
            groups[kind].append(item)
        numbers = {kind: number for number, kind in enumerate(groups)}
        tags = ak.index.Index8(np.array([numbers[kind] for kind in kinds], np.int8))
        contents = [self.layout(group, depth) for group in groups.values()]
        return ak.contents.UnionArray.simplified(
            tags, ak.index.Index64(np.array(index, np.int64)), contents, mergebool=False
        )

    def _records(self, items: list[Any], depth: int) -> Any:
        """Dicts and records: a field that some of them lack may be missing."""
        dicts = [_dict(item) for item in items]
        fields = list(dict.fromkeys(chain.from_iterable(dicts)))
        for field in fields:
            if not isinstance(field, str):
                raise ArgumentTypeError(f"the name of a field is a string, not {field!r}")
        contents = [self.layout([item.get(field) for item in dicts], depth + 1) for field in fields]
        return ak.contents.RecordArray(contents, fields, length=len(items))

    def _tuples(self, items: list[Any], depth: int) -> Any:
        """Tuples of numbers are arrays, of one shape where they are of one length, as NumPy has
        it; other tuples are records of fields without names."""
        sizes = {len(item) for item in items}
        numbers = [_is_numeric(item) for item in items]
        if all(numbers):
            if len(sizes) > 1 or sizes == {0}:
                return self._of_each(items, depth)
            content = self.layout(list(chain.from_iterable(items)), depth + 1)
            return ak.contents.RegularArray(content, sizes.pop(), zeros_length=len(items))
        if len(sizes) > 1:
            return self._union(items, [f"tuple of {len(item)}" for item in items], depth)
        fields = [self.layout(list(column), depth + 1) for column in zip(*items, strict=True)]
        return ak.contents.RecordArray(fields, None, length=len(items))

    def _of_each(self, items: list[Any], depth: int) -> Any:
        """Lists, and arrays in a list: of any length."""
        if all(map(is_array, items)) and (found := self._arrays(items)) is not None:
            return found
        lists = [_items(item) for item in items]
        offsets = np.cumsum([0, *map(len, lists)])
        content = self.layout(list(chain.from_iterable(lists)), depth + 1)
        return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)

    def _arrays(self, items: list[Any]) -> Any | None:
        """Arrays of one type, which their items keep; None where they are of several."""
        if any(getattr(item, "ndim", 1) == 0 for item in items):
            raise ArgumentTypeError("a number in an array of no dimension, among arrays")
        if all(type(item) is np.ndarray and item.dtype == items[0].dtype for item in items):
            is_plain = items[0].dtype.kind in "biuf" and all(item.ndim == 1 for item in items)
            if is_plain:
                content = self._of_array(np.concatenate(items))
                offsets = np.cumsum([0, *map(len, items)])
                return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)
        layouts = [self._of_array(item) for item in items]
        offsets = np.cumsum([0, *map(len, layouts)])
        layouts = [each for each in layouts if not each.is_unknown] or layouts[:1]
        # Numbers of several types would become those of a common one.
        if any(str(each.form.type) != str(layouts[0].form.type) for each in layouts):
            return None
        content = ak.concatenate(layouts, highlevel=False) if len(layouts) > 1 else layouts[0]
        return ak.contents.ListOffsetArray(ak.index.Index64(offsets), content)


def _dict(item: Any) -> dict[Any, Any]:
    if isinstance(item, ak.Record):
        item = ak.to_list(item)
        return item if isinstance(item, dict) else dict(enumerate(item))
    if isinstance(item, np.void):
        if item.dtype.names is None:
            raise ArgumentTypeError(f"ROOT has no type for NumPy's {item.dtype}")
        return {name: item[name] for name in item.dtype.names}
    return dict(item)


def _is_numeric(item: Any) -> bool:
    """Whether a tuple has numbers only, or such tuples only."""
    if item and all(isinstance(each, tuple) for each in item):
        return all(map(_is_numeric, item))
    return all(_kind(type(each)) == "number" for each in item)


def _numbers(items: list[Any], types: set[type]) -> Any:
    """Numbers of Python and NumPy, of one type that has all of them.

    Raises:
        InvalidArgumentError: where none has.
    """
    numbers = np.asarray(items)
    integers = [type_ for type_ in types if issubclass(type_, (int, np.integer))]
    if numbers.dtype.kind == "f" and any(not issubclass(type_, bool) for type_ in integers):
        for item, number in zip(items, numbers.tolist(), strict=True):
            if isinstance(item, (int, np.integer)) and int(number) != int(item):
                said = f"{item} among reals, or negative numbers, is not kept by {numbers.dtype}"
                raise InvalidArgumentError(f"{said}: give an array of a type that has all")
    if numbers.dtype.kind not in "biuf":
        largest = max(items, key=abs)
        raise InvalidArgumentError(f"{largest} does not fit into int64 or uint64")
    return ak.contents.NumpyArray(numbers.astype(_types.number(numbers.dtype), copy=False))


def _texts(items: list[Any]) -> Any:
    """Texts, and bytes as those of texts."""
    try:
        # As uproot decodes bytes that are no UTF-8.
        encoded = [
            item.encode("utf-8", "surrogateescape") if isinstance(item, str) else bytes(item)
            for item in items
        ]
    except UnicodeEncodeError as error:
        said = f"a text that UTF-8 has no bytes for: {error}"
        raise InvalidArgumentError(said) from None
    offsets = np.cumsum([0, *map(len, encoded)])
    return _types.texts(offsets, np.frombuffer(b"".join(encoded), np.uint8))


def _others(items: list[Any]) -> Any:
    """Dates and complex numbers, of which a type is made that is refused with advice."""
    for item in items:
        if isinstance(item, Set):
            _items(item)
    try:
        return ak.to_layout(ak.from_iter(items))
    except Exception:
        kinds = ", ".join(sorted({type(item).__name__ for item in items}))
        said = "write numbers, texts, lists or records instead"
        raise ArgumentTypeError(f"items of type {kinds}, which no column holds: {said}") from None
