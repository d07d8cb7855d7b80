"""Arrays as columns for the engine: what users have, made to be of the column's type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import awkward as ak
import numpy as np

from .. import _core
from ..errors import ArgumentTypeError, InvalidArgumentError
from . import _types
from ._arrow import from_arrow
from ._types import Type

if TYPE_CHECKING:
    from .._core import Column


def to_layout(array: Any) -> Any:
    """An array of any library, or nested lists of Python, as a layout of Awkward.

    Raises:
        ArgumentTypeError: where no array can be made of it.
        UnsupportedError: for numbers that ROOT has no type for.
    """
    if isinstance(array, (ak.Array, ak.contents.Content)):
        return _of_awkward(array)
    if isinstance(array, np.ndarray):
        return _of_numpy(array)
    if isinstance(array, Mapping):
        if not array:
            raise ArgumentTypeError("a dict without columns, which does not say how many entries")
        fields = [to_layout(each) for each in array.values()]
        return ak.contents.RecordArray(fields, [str(name) for name in array])
    if hasattr(array, "__arrow_c_array__") or hasattr(array, "__arrow_c_stream__"):
        return from_arrow(array)
    if hasattr(array, "__array__"):
        return _of_numpy(np.asarray(array))
    return _of_lists(array)


def _of_awkward(array: Any) -> Any:
    layout = array.layout if isinstance(array, ak.Array) else array
    if not getattr(layout, "is_all_materialized", True):
        layout = ak.to_layout(ak.materialize(array))
    if layout.backend.name != "cpu":
        layout = ak.to_backend(layout, "cpu", highlevel=False)
    return layout


def _of_numpy(array: np.ndarray[Any, Any]) -> Any:
    """A NumPy array, whose numbers may be in any order of bytes and memory."""
    if array.ndim == 0:
        raise ArgumentTypeError(f"one number, {array.item()!r}, where a column is an array")
    if array.dtype.names is not None:
        fields = [_of_numpy(array[name]) for name in array.dtype.names]
        return ak.contents.RecordArray(fields, list(array.dtype.names), length=len(array))
    if array.dtype.kind in "US":
        return ak.to_layout(ak.from_numpy(array))
    if array.dtype.kind == "O" or array.dtype.char == "T":
        return _of_lists(array.tolist())
    return ak.contents.NumpyArray(array.astype(_types.number(array.dtype), copy=False))


def _of_lists(lists: Any) -> Any:
    """Nested lists, or arrays in a list."""
    try:
        regular = np.asarray(lists)
    except ValueError:
        # Of several lengths.
        pass
    else:
        if regular.size > 0 and regular.ndim > 0 and regular.dtype.kind in "biuf":
            return _of_numpy(regular)
    try:
        return ak.to_layout(ak.from_iter(lists))
    except Exception as error:
        what = type(lists).__name__
        raise ArgumentTypeError(f"a {what}, of which no array can be made: {error}") from None


def type_of(layout: Any, has_options: bool = True) -> Type:
    """The type of what a layout holds, as it is written.

    Args:
        has_options: Whether values may be missing, or of several types.
    """
    return _types.plain(layout.form.type, has_options)


def size_of(layout: Any) -> int:
    """Bytes of what the entries have, about: of lists that are a part of others not all."""
    if layout.is_record:
        return sum(size_of(content) for content in layout.contents)
    # NumPy's buffers: for a small batch, Awkward's wrappers around them take most of the time.
    if isinstance(layout, ak.contents.ListOffsetArray):
        offsets = layout.offsets.data
        items = int(offsets[-1]) - int(offsets[0])
        inner = size_of(layout.content) * items // max(len(layout.content), 1)
        return int(offsets.nbytes) + inner
    return int(layout.data.nbytes if layout.is_numpy else layout.nbytes)


def is_in_order(layout: Any) -> bool:
    """Whether some entries have one run of what all have: no index leads elsewhere."""
    if layout.is_record:
        return all(is_in_order(content) for content in layout.contents)
    if isinstance(layout, (ak.contents.ListOffsetArray, ak.contents.RegularArray)):
        return is_in_order(layout.content)
    return bool(layout.is_numpy)


def counts_agree(one: Any, other: Any) -> bool:
    """Whether lists have the same lengths, entry by entry."""
    return np.array_equal(_offsets(one)[0], _offsets(other)[0])


def to_column(layout: Any, type_: Type) -> Column:
    """A layout as a column of this type.

    Numbers of another type are taken where none changes by it.

    Raises:
        InvalidArgumentError: where it is of another type.
    """
    if layout.is_indexed and not layout.is_option:
        layout = layout.project()
    if isinstance(type_, ak.types.OptionType):
        return _optional(layout, type_)
    if isinstance(type_, ak.types.UnionType):
        return _union(layout, type_)
    if layout.is_option:
        missing = np.flatnonzero(layout.mask_as_bool(valid_when=False))
        if len(missing):
            how = "ak.fill_none gives them a value, and an RNTuple can hold them"
            raise InvalidArgumentError(f"{len(missing)} missing values, of type {type_}: {how}")
        return to_column(layout.project(), type_)
    if layout.is_unknown:
        layout = _types.empty(type_)
    if _types.is_string(type_):
        return _strings(layout, type_)
    match type_:
        case ak.types.NumpyType() if layout.is_numpy and layout.purelist_depth == 1:
            return _core.Numbers(_cast(layout.data, np.dtype(type_.primitive)))
        case ak.types.RegularType():
            return _regular(layout, type_)
        case ak.types.ListType() if _is_list(layout):
            offsets, content = _offsets(layout)
            return _core.List(offsets, to_column(content, type_.content))
        case ak.types.RecordType() if layout.is_record:
            return _record(layout, type_)
    raise _other_type(layout, type_)


def _is_list(layout: Any) -> bool:
    if layout.parameter("__array__") in ("string", "bytestring"):
        return False
    return bool(layout.is_list or (layout.is_numpy and layout.purelist_depth > 1))


def _offsets(layout: Any) -> tuple[Any, Any]:
    """Offsets from zero on, and just the content that they have."""
    if layout.is_numpy:
        layout = layout.to_RegularArray()
    if not isinstance(layout, ak.contents.ListOffsetArray):
        layout = layout.to_ListOffsetArray64(True)
    offsets = np.asarray(layout.offsets.data).astype(np.int64, copy=False)
    first, last = int(offsets[0]), int(offsets[-1])
    # Awkward itself would copy what some entries of an array have, item by item.
    if first != 0:
        offsets = offsets - first
    content = layout.content
    return offsets, content if last - first == len(content) else content[first:last]


def _optional(layout: Any, type_: Any) -> Column:
    if not layout.is_option:
        index = np.arange(len(layout), dtype=np.int64)
        return _core.Optional(index, to_column(layout, type_.content))
    layout = layout.to_IndexedOptionArray64()
    index = np.asarray(layout.index.data)
    # Awkward takes every negative number for a missing value.
    return _core.Optional(np.maximum(index, -1), to_column(layout.content, type_.content))


def _union(layout: Any, type_: Any) -> Column:
    """Values of several types, of which a batch may have one only."""
    contents = [] if layout.is_unknown else [layout]
    tags, index = np.zeros(len(layout), np.int8), np.arange(len(layout))
    if layout.is_union:
        contents, tags = layout.contents, np.asarray(layout.tags.data)
        index = np.asarray(layout.index.data)[: len(tags)].astype(np.int64)
    columns = [to_column(_types.empty(each), each) for each in type_.contents]
    numbers: list[int] = []
    for content in contents:
        number = _alternative(content, type_)
        if number is None or number in numbers:
            raise _other_type(layout, type_)
        columns[number] = to_column(content, type_.contents[number])
        numbers.append(number)
    return _core.Union(np.asarray(numbers, np.int8)[tags], index, columns)


def _alternative(layout: Any, type_: Any) -> int | None:
    """The number of the alternative that a layout is."""
    wanted = type_of(layout)
    for number, each in enumerate(type_.contents):
        plain = each.content if isinstance(each, ak.types.OptionType) else each
        if wanted in (each, plain):
            return number
    return None


def _strings(layout: Any, type_: Type) -> Column:
    if not (layout.is_list and _types.is_string(layout)):
        raise _other_type(layout, type_)
    offsets, characters = _offsets(layout)
    return _core.Strings(offsets, np.asarray(characters.data))


def _record(layout: Any, type_: Any) -> Column:
    names, has = list(type_.fields), list(layout.fields)
    if set(names) != set(has):
        raise _other_type(layout, type_)
    contents = zip(names, type_.contents, strict=True)
    fields = [(name, to_column(layout[name], content)) for name, content in contents]
    return _core.Record(layout.parameter("__record__"), len(layout), fields)


def _regular(layout: Any, type_: Any) -> Column:
    """Lists of one length; numbers in them are one array with an inner shape."""
    if not _is_list(layout):
        raise _other_type(layout, type_)
    if layout.is_numpy and layout.data.shape[1:] == _shape(type_):
        return _core.Numbers(_cast(layout.data, np.dtype(_innermost(type_).primitive)))
    entries, size = len(layout), type_.size
    offsets, content = _offsets(layout)
    if not np.array_equal(offsets, np.arange(entries + 1) * size):
        raise _other_type(layout, type_)
    column = to_column(content, type_.content)
    if isinstance(column, _core.Numbers) and size > 0:
        return _core.Numbers(column.array.reshape(entries, size, *column.array.shape[1:]))
    return _core.Regular(size, entries, column)


def _shape(type_: Type) -> tuple[int, ...]:
    """Lengths of lists that are of one length each."""
    if isinstance(type_, ak.types.RegularType) and not _types.is_string(type_):
        return (type_.size, *_shape(type_.content))
    return ()


def _innermost(type_: Any) -> Any:
    return _innermost(type_.content) if isinstance(type_, ak.types.RegularType) else type_


def _cast(numbers: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers as those of another type, where none of them changes but by rounding of reals."""
    if numbers.dtype.kind in "mMc":
        _types.number(numbers.dtype)
    if numbers.dtype == dtype:
        return numbers
    with np.errstate(all="ignore"):
        cast = numbers.astype(dtype)
    rounds = numbers.dtype.kind == dtype.kind == "f"
    if not (rounds or np.can_cast(numbers.dtype, dtype)) and not np.array_equal(cast, numbers):
        changed = numbers[cast != numbers].flat[0]
        raise InvalidArgumentError(f"{changed} of {numbers.dtype} does not fit into {dtype}")
    return cast


def _other_type(layout: Any, type_: Type) -> InvalidArgumentError:
    return InvalidArgumentError(f"entries of type {layout.form.type}, the column has {type_}")
