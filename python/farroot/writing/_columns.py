"""Arrays as columns for the engine: users' arrays, converted to the column's type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._awkward import ak
from ..errors import ArgumentTypeError, InvalidArgumentError
from . import _frames, _types
from ._arrow import from_arrow
from ._exact import cast
from ._lists import is_array, of_lists
from ._types import Type

if TYPE_CHECKING:
    from .._core import Column


def to_layout(array: Any) -> Any:
    """An array of any library, or nested lists of Python, as a layout of Awkward.

    The form of the layout follows from the type that the array declares, never from the values of
    one batch; only values of Python have no type but their own.

    Raises:
        ArgumentTypeError: where no array can be made of it.
        InvalidArgumentError: where values would change.
        UnsupportedError: for numbers that ROOT has no type for.
    """
    if isinstance(array, (ak.Array, ak.contents.Content)):
        return _of_awkward(array)
    if isinstance(array, np.ndarray):
        return _of_numpy(array)
    if isinstance(array, Mapping):
        return _of_dict(array)
    if isinstance(array, range):
        return _of_numpy(np.asarray(array))
    if not is_array(array):
        return of_lists(array, to_layout)
    if _frames.is_frame(array):
        return _of_dict(_frames.columns(array))
    if _frames.is_of_pandas(array):
        array = _frames.values(array)
        if isinstance(array, np.ndarray):
            return _of_numpy(array)
    if hasattr(array, "__arrow_c_array__") or hasattr(array, "__arrow_c_stream__"):
        return from_arrow(array)
    try:
        numbers = np.asarray(array)
    except Exception as error:
        kind = type(array).__name__
        raise ArgumentTypeError(f"NumPy makes no array of a {kind}: {error}") from error
    return _of_numpy(numbers)


def _of_dict(columns: Mapping[Any, Any]) -> Any:
    """A dict of arrays, as records."""
    if not columns:
        raise ArgumentTypeError("a dict without columns, which does not say how many entries")
    for name in columns:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"the name of a field is a string, not {name!r}")
    fields = [to_layout(each) for each in columns.values()]
    lengths = {name: len(field) for name, field in zip(columns, fields, strict=True)}
    if len(set(lengths.values())) > 1:
        raise InvalidArgumentError(f"fields of records are of one length, not of {lengths}")
    return ak.contents.RecordArray(fields, list(columns))


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
        records = ak.contents.RecordArray(
            [_flat(field, array.ndim) for field in fields], list(array.dtype.names), array.size
        )
        return _shaped(records, array.shape)
    if isinstance(array, np.ma.MaskedArray):
        return _of_masked(array)
    if array.dtype.kind in "US":
        return _shaped(of_lists(array.reshape(-1).tolist(), to_layout), array.shape)
    if array.dtype.kind == "O" or array.dtype.char == "T":
        return _shaped(of_lists(array.reshape(-1).tolist(), to_layout), array.shape)
    return ak.contents.NumpyArray(array.astype(_types.number(array.dtype), copy=False))


def _of_masked(array: Any) -> Any:
    """An array of ``numpy.ma``, each of whose values may be missing."""
    values = _of_numpy(np.ma.getdata(array).reshape(-1))
    mask = ak.index.Index8(np.ma.getmaskarray(array).reshape(-1).astype(np.int8))
    masked = ak.contents.ByteMaskedArray.simplified(mask, values, valid_when=False)
    return _shaped(masked, array.shape)


def _flat(layout: Any, dimensions: int) -> Any:
    """The items of an array of so many dimensions, one after the other."""
    for _ in range(dimensions - 1):
        layout = layout.to_RegularArray() if layout.is_numpy else layout
        layout = layout.content
    return layout


def _shaped(items: Any, shape: tuple[int, ...]) -> Any:
    """Items in the shape of an array."""
    lengths = [int(np.prod(shape[:at])) for at in range(1, len(shape))]
    for size, length in reversed(list(zip(shape[1:], lengths, strict=True))):
        items = ak.contents.RegularArray(items, size, zeros_length=length)
    return items


def type_of(layout: Any, has_options: bool = True) -> Type:
    """The type of a layout's entries, as it is written: no record may be missing, of which ROOT
    has no type.

    Args:
        has_options: Whether values may be missing, or of several types.
    """
    return _types.without_optional_records(_types.plain(layout.form.type, has_options))


def size_of(layout: Any) -> int:
    """Bytes of the entries, about: of lists that are a part of others not all."""
    if layout.is_record:
        return sum(size_of(content) for content in layout.contents)
    # NumPy's buffers: for a small batch, Awkward's wrappers around them take most of the time.
    if isinstance(layout, ak.contents.ListOffsetArray):
        offsets = layout.offsets.data
        items = int(offsets[-1]) - int(offsets[0])
        inner = size_of(layout.content) * items // max(len(layout.content), 1)
        return int(offsets.nbytes) + inner
    if layout.is_option and not layout.is_indexed:
        return size_of(layout.content) + len(layout) * 8
    return int(layout.data.nbytes if layout.is_numpy else layout.nbytes)


def is_in_order(layout: Any) -> bool:
    """Whether some entries have one run of the content of all: no index leads elsewhere."""
    if layout.is_record:
        return all(is_in_order(content) for content in layout.contents)
    in_order = (ak.contents.ListOffsetArray, ak.contents.RegularArray, ak.contents.UnmaskedArray)
    if isinstance(layout, (*in_order, ak.contents.ByteMaskedArray)):
        return is_in_order(layout.content)
    return bool(layout.is_numpy)


def complete(layout: Any) -> Any:
    """The values of a layout of which some might be missing, where none is."""
    if not layout.is_option or layout.mask_as_bool(valid_when=False).any():
        return layout
    return layout.project()


def fields_of(layout: Any) -> dict[str, Any]:
    """The fields of records, by name: Awkward itself finds each by going over all names."""
    if layout.is_indexed:
        layout = layout.project()
    return {name: layout.content(number) for number, name in enumerate(layout.fields)}


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
            how = _types.instead_of_missing(type_)
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
    # Awkward itself would copy the content of some entries of an array, item by item.
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
    for tag, content in enumerate(contents):
        if layout.is_union and content.is_option:
            # Missing values that no entry refers to do not count.
            content = layout.project(tag)
            index[tags == tag] = np.arange(len(content))
        number = _alternative(content, type_)
        if number is None or number in numbers:
            raise _other_type(layout, type_)
        columns[number] = to_column(content, type_.contents[number])
        numbers.append(number)
    return _core.Union(np.asarray(numbers, np.int8)[tags], index, columns)


def _alternative(layout: Any, type_: Any) -> int | None:
    """The number of the alternative that a layout is."""
    wanted = _types.required(type_of(layout))
    for number, each in enumerate(type_.contents):
        if wanted == _types.required(each):
            return number
    return None


def _strings(layout: Any, type_: Type) -> Column:
    if not (layout.is_list and _types.is_string(layout)):
        raise _other_type(layout, type_)
    offsets, characters = _offsets(layout)
    return _core.Strings(offsets, np.asarray(characters.data))


def _record(layout: Any, type_: Any) -> Column:
    own = fields_of(layout)
    if set(type_.fields) != set(own):
        raise _other_type(layout, type_)
    contents = zip(type_.fields, type_.contents, strict=True)
    fields = [(name, to_column(own[name], content)) for name, content in contents]
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
    if numbers.dtype.kind not in "biuf" or numbers.dtype.itemsize > 8:
        _types.number(numbers.dtype)
    return cast(numbers, dtype)


def _other_type(layout: Any, type_: Type) -> InvalidArgumentError:
    return InvalidArgumentError(f"entries of type {layout.form.type}, the column has {type_}")
