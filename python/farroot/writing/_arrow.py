"""Arrays and tables of Arrow, of whichever library speaks its C interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._awkward import ak
from .._imports import package
from ..errors import ArgumentTypeError, Error, InvalidArgumentError, UnsupportedError
from . import _types

if TYPE_CHECKING:
    import pyarrow as pa


def from_arrow(array: Any) -> Any:
    """One column as a layout of Awkward. Each type of Arrow may miss values, so it is optional.

    Raises:
        UnsupportedError: for types that ROOT has none for.
        ArgumentTypeError: where the library cannot give its values to Arrow.
    """
    pa = _pyarrow()
    if not isinstance(array, (pa.Array, pa.ChunkedArray)):
        has_stream = hasattr(array, "__arrow_c_stream__")
        array = _given(array, pa.chunked_array if has_stream else pa.array)
    return _whole(array, is_nullable=True)


def batches(table: Any) -> Iterator[dict[str, Any]]:
    """The record batches of a table or stream, as columns by name."""
    reader = _given(table, _pyarrow().RecordBatchReader.from_stream)
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        except Exception as error:
            raise ArgumentTypeError(f"a stream of Arrow ended with an error: {error}") from error
        yield _columns(batch)


def columns(table: Any) -> dict[str, Any]:
    """The columns of a table, or of a record batch."""
    pa = _pyarrow()
    is_batch = hasattr(table, "__arrow_c_array__")
    return _columns(_given(table, pa.record_batch if is_batch else pa.table))


def _pyarrow() -> Any:
    return package("pyarrow")


def _given(data: Any, take: Callable[[Any], Any]) -> Any:
    """The data that a library gives through Arrow's interface."""
    _refuse_addresses(data)
    try:
        return take(data)
    except Exception as error:
        kind = type(data).__name__
        raise ArgumentTypeError(f"Arrow makes nothing of a {kind}: {error}") from error


def _refuse_addresses(data: Any) -> None:
    """Of Python's objects in polars' columns Arrow gets the addresses, as bytes."""
    if not type(data).__module__.startswith("polars"):
        return
    schema = getattr(data, "schema", None)
    types = schema if isinstance(schema, Mapping) else {None: getattr(data, "dtype", None)}
    for name, type_ in types.items():
        if str(type_) == "Object":
            said = "polars' Object, Python's objects: write its .to_list(), if ROOT has such"
            raise UnsupportedError(said if name is None else f"column {name!r}: {said}")


def _columns(table: Any) -> dict[str, Any]:
    """The columns of a table or batch, as layouts: only the schema says which values may be
    missing."""
    found: dict[str, Any] = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        if field.name in found:
            said = "two columns have this name: rename one (table.rename_columns)"
            raise InvalidArgumentError(f"column {field.name!r}: {said}")
        try:
            found[field.name] = _whole(column, field.nullable)
        except Error as error:
            raise type(error)(f"column {field.name!r}: {error}") from None
    return found


def _whole(array: Any, is_nullable: bool) -> Any:
    chunks = getattr(array, "chunks", None)
    if chunks is None:
        return _layout(array, is_nullable)
    if not chunks:
        return _layout(_pyarrow().array([], array.type), is_nullable)
    layouts = [_layout(chunk, is_nullable) for chunk in chunks]
    return layouts[0] if len(layouts) == 1 else ak.concatenate(layouts, highlevel=False)


def _layout(array: pa.Array, is_nullable: bool) -> Any:
    """An array as a layout, optional where its values may be missing, or are."""
    kinds = _pyarrow().types
    if kinds.is_null(array.type):
        missing = ak.index.Index64(np.full(len(array), -1, np.int64))
        return ak.contents.IndexedOptionArray(missing, ak.contents.EmptyArray())
    if kinds.is_union(array.type):
        return _union(array)
    content = _content(array)
    # Of encoded arrays the encoded values show whether they are missing.
    if content.is_option or not (is_nullable or array.null_count):
        return content
    if array.null_count == 0:
        return ak.contents.UnmaskedArray.simplified(content)
    is_missing = array.is_null().to_numpy(zero_copy_only=False).astype(np.int8)
    mask = ak.index.Index8(is_missing)
    return ak.contents.ByteMaskedArray.simplified(mask, content, valid_when=False)


def _content(array: Any) -> Any:
    """The values of an array; of those that are missing anything."""
    pa = _pyarrow()
    kinds, type_ = pa.types, array.type
    if isinstance(type_, pa.BaseExtensionType):
        return _extension(array)
    if kinds.is_dictionary(type_):
        index = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        values = _layout(array.dictionary, is_nullable=False)
        if len(values) == 0 < len(array):
            # Nothing but missing values: an index would lead nowhere.
            nowhere = ak.index.Index64(np.full(len(array), -1, np.int64))
            return ak.contents.IndexedOptionArray.simplified(nowhere, values)
        return values._carry(ak.index.Index64(index), False)
    if kinds.is_run_end_encoded(type_):
        places = np.arange(array.offset, array.offset + len(array))
        index = np.searchsorted(array.run_ends.to_numpy(), places, side="right")
        values = _layout(array.values, is_nullable=True)
        return values._carry(ak.index.Index64(index.astype(np.int64)), False)
    if kinds.is_struct(type_):
        return _struct(array)
    if kinds.is_fixed_size_list(type_):
        first, size = array.offset * type_.list_size, len(array) * type_.list_size
        items = _layout(array.values.slice(first, size), type_.value_field.nullable)
        return ak.contents.RegularArray(items, type_.list_size, zeros_length=len(array))
    if kinds.is_list(type_) or kinds.is_large_list(type_):
        items = _layout(array.values, type_.value_field.nullable)
        return ak.contents.ListOffsetArray(_index(array.offsets), items)
    if kinds.is_list_view(type_) or kinds.is_large_list_view(type_):
        items = _layout(array.values, type_.value_field.nullable)
        starts, sizes = _index(array.offsets), _index(array.sizes)
        stops = ak.index.Index64(starts.data + sizes.data)
        return ak.contents.ListArray(starts, stops, items)
    if kinds.is_boolean(type_):
        return ak.contents.NumpyArray(array.fill_null(False).to_numpy(zero_copy_only=False))
    return _text(array) if _is_text(kinds, type_) else _numbers(array)


def _index(offsets: Any) -> Any:
    return ak.index.Index64(offsets.to_numpy().astype(np.int64))


def _is_text(kinds: Any, type_: Any) -> bool:
    is_text = kinds.is_string(type_) or kinds.is_large_string(type_) or kinds.is_string_view(type_)
    is_binary = kinds.is_binary(type_) or kinds.is_large_binary(type_)
    is_odd = kinds.is_binary_view(type_) or kinds.is_fixed_size_binary(type_)
    return bool(is_text or is_binary or is_odd)


def _text(array: Any) -> Any:
    """Texts and bytes."""
    whole = array.cast(_pyarrow().large_binary())
    _, offsets, letters = whole.buffers()
    count = len(whole) + 1
    ends = np.frombuffer(offsets, np.int64, count, whole.offset * 8) if offsets else np.zeros(1)
    empty = np.empty(0, np.uint8)
    characters = np.frombuffer(letters, np.uint8) if letters else empty
    return _types.texts(ends.astype(np.int64), characters)


def _numbers(array: Any) -> Any:
    """Numbers, of which missing ones stay missing.

    Raises:
        UnsupportedError: for anything but numbers.
    """
    kinds, type_ = _pyarrow().types, array.type
    if not (kinds.is_integer(type_) or kinds.is_floating(type_)):
        raise UnsupportedError(f"ROOT has no type for Arrow's {type_}: {_instead(type_)}")
    dtype = np.dtype(type_.to_pandas_dtype())
    values = array.buffers()[1]
    if values is None:
        numbers = np.zeros(len(array), dtype)
    else:
        numbers = np.frombuffer(values, dtype, len(array), array.offset * dtype.itemsize)
    return ak.contents.NumpyArray(numbers.astype(_types.number(dtype), copy=False))


def _instead(type_: Any) -> str:
    kinds = _pyarrow().types
    if kinds.is_decimal(type_):
        return "cast it to float64 or int64, whichever has its values"
    if kinds.is_temporal(type_):
        return "cast it to int64, and write the unit into the title"
    if kinds.is_map(type_):
        return "write its keys and its items as two columns of lists"
    return "cast it to a number or a text, or write its parts as columns"


def _struct(array: Any) -> Any:
    fields = list(array.type)
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(f"two fields of {array.type} have one name: rename one")
    contents = [_layout(array.field(at), field.nullable) for at, field in enumerate(fields)]
    return ak.contents.RecordArray(contents, names, length=len(array))


def _union(array: Any) -> Any:
    fields = list(array.type)
    codes = np.zeros(256, np.int8)
    codes[np.asarray(array.type.type_codes)] = np.arange(len(fields))
    tags = codes[array.type_codes.to_numpy()]
    if array.type.mode == "dense":
        index = array.offsets.to_numpy().astype(np.int64)
    else:
        index = np.arange(len(array), dtype=np.int64)
    contents = [_layout(array.field(at), field.nullable) for at, field in enumerate(fields)]
    if not contents:
        raise UnsupportedError("a union of no types has no values")
    return ak.contents.UnionArray.simplified(
        ak.index.Index8(tags), ak.index.Index64(index), contents, mergebool=False
    )


def _extension(array: Any) -> Any:
    """Those of Arrow's own types whose values are numbers or texts.

    Raises:
        UnsupportedError: for others, whose storage means something else than its numbers.
    """
    type_ = array.type
    name = getattr(type_, "extension_name", str(type_))
    if name == "arrow.bool8":
        numbers = _content(array.storage)
        return ak.contents.NumpyArray(numbers.data != 0)
    if name == "arrow.json":
        return _text(array.storage)
    if name == "arrow.fixed_shape_tensor":
        in_order = list(range(len(type_.shape)))
        if list(type_.permutation or in_order) == in_order:
            return _tensor(array)
    said = "write its .storage, if that has the values, or cast it to a number or a text"
    raise UnsupportedError(f"ROOT has no type for Arrow's extension {name} ({type_}): {said}")


def _tensor(array: Any) -> Any:
    content = _content(array.storage)
    items, length = content.content, len(array)
    for size, inner in zip(array.type.shape[:0:-1], _products(array.type.shape), strict=True):
        items = ak.contents.RegularArray(items, size, zeros_length=length * inner)
    return ak.contents.RegularArray(items, array.type.shape[0], zeros_length=length)


def _products(shape: Any) -> list[int]:
    """How many arrays of each inner dimension an entry has, the innermost first."""
    counts = np.cumprod(shape[:-1])
    return [int(count) for count in counts[::-1]]
