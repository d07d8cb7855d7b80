"""Arrays and tables of Arrow, of whichever library speaks its C interface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import awkward as ak

from ..errors import UnsupportedError

if TYPE_CHECKING:
    import pyarrow as pa


def from_arrow(array: Any) -> Any:
    """One column as a layout of Awkward; what misses nothing is not optional."""
    import pyarrow as pa

    if not isinstance(array, (pa.Array, pa.ChunkedArray)):
        has_stream = hasattr(array, "__arrow_c_stream__")
        array = pa.chunked_array(array) if has_stream else pa.array(array)
    plain = plain_type(array.type)
    if plain != array.type:
        array = array.cast(plain)
    return _complete(ak.to_layout(ak.from_arrow(array)))


def batches(table: Any) -> Iterator[dict[str, Any]]:
    """The record batches of a table or stream, as columns by name."""
    import pyarrow as pa

    for batch in pa.RecordBatchReader.from_stream(table):
        yield dict(zip(batch.schema.names, batch.columns, strict=True))


def columns(table: Any) -> dict[str, Any]:
    """The columns of a table."""
    import pyarrow as pa

    whole = pa.table(table)
    return dict(zip(whole.column_names, whole.columns, strict=True))


def plain_type(type_: pa.DataType) -> pa.DataType:
    """The same values in a type that Awkward knows: no views, no dictionaries."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(type_):
        return plain_type(type_.value_type)
    if kinds.is_string_view(type_) or kinds.is_string(type_):
        return pa.large_string()
    if kinds.is_binary_view(type_) or kinds.is_binary(type_):
        return pa.large_binary()
    if kinds.is_fixed_size_list(type_):
        return pa.list_(plain_type(type_.value_type), type_.list_size)
    if kinds.is_list(type_) or kinds.is_large_list(type_) or kinds.is_list_view(type_):
        return pa.large_list(plain_type(type_.value_type))
    if kinds.is_struct(type_):
        return pa.struct([field.with_type(plain_type(field.type)) for field in type_])
    if kinds.is_temporal(type_) or kinds.is_decimal(type_) or kinds.is_map(type_):
        instead = "cast it to a number, or write its parts as columns"
        raise UnsupportedError(f"ROOT has no type for Arrow's {type_}: {instead}")
    return type_


def _complete(layout: Any) -> Any:
    """Without options of which none is missing: every type of Arrow may miss values."""

    def action(layout: Any, **_: Any) -> Any:
        if layout.is_option and not layout.mask_as_bool(valid_when=False).any():
            return _complete(layout.project())
        return None

    return ak.transform(action, layout, highlevel=False)
