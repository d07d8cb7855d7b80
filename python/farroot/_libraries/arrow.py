"""Columns as Arrow arrays, by pyarrow: numbers, offsets and texts keep the engine's own memory.

Through the C interfaces that these have, polars, DuckDB and whatever else reads Arrow take them
over without copying. Bits and optional values are laid out differently in Arrow: copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from .. import _core
from ..errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Column
    from .._entries import EntrySelection


class Arrow:
    name: ClassVar[str] = "pa"

    @property
    def of_columns(self) -> Arrow:
        return self

    def array(self, column: Column, rows: EntrySelection) -> Any:
        return to_arrow(column)

    of_branch = array

    def computed(self, value: Any, rows: EntrySelection) -> Any:
        if isinstance(value, np.ndarray):
            return _numbers(value)
        from .._awkward import ak

        return ak.to_arrow(value, extensionarray=False)

    def table(self, arrays: dict[str, Any], rows: EntrySelection) -> Any:
        return pa.table(list(arrays.values()), names=list(arrays))

    def nested(self, arrays: dict[str, Any]) -> Any:
        return _struct(list(arrays.items()), len(next(iter(arrays.values()), ())))

    def zipped(self, arrays: dict[str, Any]) -> Any:
        raise InvalidArgumentError('how="zip" needs library="ak"')

    def documented(self, array: Any, texts: dict[str, Any]) -> Any:
        return array

    def concatenate(self, tables: Sequence[Any]) -> Any:
        if isinstance(tables[0], pa.Table):
            if any(table.schema.names != tables[0].schema.names for table in tables):
                return pa.concat_tables(tables, promote_options="permissive")
            schema = _common([table.schema for table in tables])
            return pa.concat_tables(
                [table if table.schema == schema else table.cast(schema) for table in tables]
            )
        kind = _common([pa.schema([("", one.type)]) for one in tables]).field(0).type
        return pa.concat_arrays([one if one.type == kind else one.cast(kind) for one in tables])


def _common(schemas: list[Any]) -> Any:
    """Types that hold those of all files."""
    if all(one == schemas[-1] for one in schemas):
        return schemas[-1]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Those of columns only become wider from file to file, so that the last ones hold all.
        return schemas[-1]


def to_arrow(column: Column) -> Any:
    """One column."""
    match column:
        case _core.Numbers(array):
            return _numbers(array)
        case _core.List(offsets, content):
            return pa.LargeListArray.from_arrays(pa.array(offsets), to_arrow(content))
        case _core.Strings(offsets, encoded):
            return _strings(offsets, encoded)
        case _core.Record(_, length, fields):
            return _struct([(name, to_arrow(field)) for name, field in fields], length)
        case _core.Regular(size, length, content):
            return _fixed(to_arrow(content), size, length)
        case _core.Optional(index, content):
            return to_arrow(content).take(pa.array(index, mask=index < 0))
        case _core.Union(tags, _, []):
            return pa.nulls(len(tags))
        case _core.Union(tags, index, contents):
            # The first alternative is to have no value.
            offsets = np.where(tags < 0, 0, index).astype(np.int32)
            children = [pa.nulls(1), *(to_arrow(content) for content in contents)]
            return pa.UnionArray.from_dense(
                pa.array(tags + np.int8(1)), pa.array(offsets), children
            )
        case _core.WithParameter(_, content):
            return to_arrow(content)


def stream(schema: Any, tables: Iterator[Any]) -> Any:
    """Tables as they come, as a reader with the C stream interface."""
    batches = (batch for table in tables for batch in _same(schema, table).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _same(schema: Any, table: Any) -> Any:
    """The table, if its types are those of the first one: a stream has one type for each column."""
    for known, found in zip(schema, table.schema, strict=True):
        if known.type != found.type:
            raise UnsupportedError(
                f"{found.name} holds objects of other classes than in the batches before: it is "
                f"{found.type}, and was {known.type}; larger steps may have all classes in the "
                'first, and arrays(library="arrow") has one type for all'
            )
    return table


def _numbers(array: NDArray[Any]) -> Any:
    """A NumPy array of any shape, its inner dimensions as lists of fixed length."""
    flat = array.reshape(-1)
    layout: Any = _complex(flat) if np.iscomplexobj(flat) else pa.array(flat)
    lengths = array.shape
    for axis in range(len(lengths) - 1, 0, -1):
        layout = _fixed(layout, lengths[axis], int(np.prod(lengths[:axis])))
    return layout


def _complex(flat: NDArray[Any]) -> Any:
    """Complex numbers as the members of ``std::complex``: Arrow has none of its own."""
    parts = {"_real": np.ascontiguousarray(flat.real), "_imag": np.ascontiguousarray(flat.imag)}
    return _struct([(name, pa.array(part)) for name, part in parts.items()], len(flat))


def _fixed(content: Any, size: int, length: int) -> Any:
    kind = pa.list_(content.type, size)
    return pa.Array.from_buffers(kind, length, [None], children=[content])


def _struct(fields: list[tuple[str, Any]], length: int) -> Any:
    kind = pa.struct([(name, field.type) for name, field in fields])
    children = [field for _, field in fields]
    return pa.Array.from_buffers(kind, length, [None], children=children)


def _strings(offsets: NDArray[np.int64], encoded: NDArray[np.uint8]) -> Any:
    """Texts, which Arrow has in UTF-8 only."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(encoded)]
    array = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        whole = encoded.tobytes()
        wrong = next(t for t in (whole[a:b] for a, b in pairwise(offsets)) if not _is_utf_8(t))
        said = f"the text {wrong[:40]!r} is not UTF-8, which Arrow's texts are"
        raise UnsupportedError(f'{said}: library="np" and library="ak" keep it') from None
    return array


def _is_utf_8(encoded: bytes) -> bool:
    try:
        encoded.decode()
    except UnicodeDecodeError:
        return False
    return True
