"""Columns as Awkward arrays, on the engine's own memory: no buffer is copied."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .. import _core
from .._awkward import ak
from .._entries import EntrySelection
from ..errors import UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._core import Column


class Awkward:
    name: ClassVar[str] = "ak"

    @property
    def of_columns(self) -> Layouts:
        return Layouts()

    def array(self, column: Column, rows: EntrySelection) -> Any:
        return ak.Array(to_layout(column))

    of_branch = array

    def computed(self, value: Any, rows: EntrySelection) -> Any:
        return ak.Array(value)

    def table(self, arrays: dict[str, Any], rows: EntrySelection) -> Any:
        return ak.Array(_record(arrays, rows))

    def nested(self, arrays: dict[str, Any]) -> Any:
        return self.table(arrays, EntrySelection(0, 0))

    def zipped(self, arrays: dict[str, Any]) -> Any:
        """Lists whose counts agree become one list of records, named by the beginning that their
        names share."""
        flat = {name: array for name, array in arrays.items() if not _is_list(array)}
        together: list[dict[str, Any]] = []
        for name, array in arrays.items():
            if name in flat:
                continue
            for lists in together:
                if _same_counts(array, next(iter(lists.values()))):
                    lists[name] = array
                    break
            else:
                together.append({name: array})
        table = dict(flat)
        for number, lists in enumerate(together):
            common = _common_name(list(lists))
            name = common.strip("_./")
            if not name or name in table:
                table[f"jagged{number}"] = ak.zip(lists)
            else:
                inner = {each[len(common) :].strip("_./"): a for each, a in lists.items()}
                table[name] = ak.zip(inner)
        return self.table(table, EntrySelection(0, 0))

    def documented(self, array: Any, texts: dict[str, Any]) -> Any:
        parameters = {**array.layout.parameters, **texts}
        return ak.Array(array.layout.copy(parameters=parameters))

    def concatenate(self, tables: Sequence[Any]) -> Any:
        return ak.concatenate(tables)


class Layouts(Awkward):
    """Columns as layouts: an array of each costs more than its layout, and is not looked at."""

    def array(self, column: Column, rows: EntrySelection) -> Any:
        return to_layout(column)

    of_branch = array

    def computed(self, value: Any, rows: EntrySelection) -> Any:
        return ak.Array(value).layout

    def nested(self, arrays: dict[str, Any]) -> Any:
        return _record(arrays, EntrySelection(0, 0))

    def documented(self, array: Any, texts: dict[str, Any]) -> Any:
        return array.copy(parameters={**array.parameters, **texts})


def _record(arrays: dict[str, Any], rows: EntrySelection) -> Any:
    """Arrays, or layouts, as a layout with a field of each."""
    layouts = [array.layout if isinstance(array, ak.Array) else array for array in arrays.values()]
    length = None if layouts else len(rows)
    return ak.contents.RecordArray(layouts, list(arrays), length=length)


def to_layout(column: Column) -> Any:
    """One column as an Awkward layout; a record of objects carries the name of their class."""
    match column:
        case _core.Numbers(array):
            return to_regular(array)
        case _core.List(offsets, content):
            return ak.contents.ListOffsetArray(ak.index.Index64(offsets), to_layout(content))
        case _core.Strings(offsets, encoded):
            characters = ak.contents.NumpyArray(encoded, parameters={"__array__": "char"})
            return ak.contents.ListOffsetArray(
                ak.index.Index64(offsets), characters, parameters={"__array__": "string"}
            )
        case _core.Record(name, length, fields):
            names = [field for field, _ in fields]
            # Members of a tuple are numbered. Without any it is one in RNTuples, as uproot has it.
            numbered = names == [str(number) for number in range(len(names))]
            is_tuple = numbered and (bool(names) or name is None)
            return ak.contents.RecordArray(
                [to_layout(field) for _, field in fields],
                None if is_tuple else names,
                length=length,
                parameters=None if name is None else {"__record__": name},
            )
        case _core.Regular(size, length, content):
            return ak.contents.RegularArray(to_layout(content), size, zeros_length=length)
        case _core.Optional(index, content):
            return _optional(index, content)
        case _core.Union(tags, index, contents):
            return _union(*_flat(tags, index, contents))
        case _core.WithParameter("objects", _core.Union(_, index, [])):
            nothing = ak.contents.EmptyArray()
            if len(index) == 0:
                return nothing
            return ak.contents.IndexedOptionArray(ak.index.Index64(index), nothing)
        case _core.WithParameter("objects", _core.Union(tags, index, contents)) if (
            tags >= 0
        ).all():
            # Parts with and without a missing alternative are not joined well.
            return ak.contents.UnionArray(
                ak.index.Index8(tags),
                ak.index.Index64(index),
                [to_layout(content) for content in contents],
            )
        case _core.WithParameter("objects", content):
            return to_layout(content)
        case _core.WithParameter(parameter, content):
            layout = to_layout(content)
            return layout.copy(parameters={**layout.parameters, "__array__": parameter})


def _optional(index: NDArray[np.int64], content: Column) -> Any:
    """Optional values. Awkward has no options of options, nor of unions: these take them in."""
    present = index >= 0
    at = np.where(present, index, 0)
    match content:
        case _core.Optional(inner, innermost) if len(inner):
            return _optional(np.where(present, inner[at], -1), innermost)
        case _core.Optional(_, innermost):
            return _optional(index, innermost)
        case _core.Union(tags, positions, contents) if len(tags):
            tags = np.where(present, tags[at], -1).astype(np.int8)
            return _union(*_flat(tags, positions[at], contents))
        case _core.Union(_, _, contents):
            return _union(*_flat(index.astype(np.int8), index, contents))
    return ak.contents.IndexedOptionArray(ak.index.Index64(index), to_layout(content))


def _flat(
    tags: NDArray[np.int8], index: NDArray[np.int64], contents: list[Column]
) -> tuple[NDArray[np.int8], NDArray[np.int64], list[Any]]:
    """The alternatives of a union, those of unions among them in their place."""
    layouts = [to_layout(content) for content in contents]
    if not any(layout.is_union for layout in layouts):
        return tags, index, layouts
    all_tags, all_index = np.full(len(tags), -1), np.zeros(len(tags), dtype=np.int64)
    alternatives: list[Any] = []
    for number, layout in enumerate(layouts):
        chosen = np.flatnonzero(tags == number)
        at = index[chosen]
        if layout.is_union:
            # The first one is to have no value.
            inner = layout.tags.data[at].astype(np.int64)
            all_tags[chosen] = np.where(inner > 0, inner - 1 + len(alternatives), -1)
            all_index[chosen] = layout.index.data[at]
            alternatives += layout.contents[1:]
        else:
            all_tags[chosen], all_index[chosen] = len(alternatives), at
            alternatives.append(layout)
    if len(alternatives) > np.iinfo(np.int8).max - 1:
        message = f"a variant of variants with {len(alternatives)} alternatives"
        raise UnsupportedError(message)
    return all_tags.astype(np.int8), all_index, alternatives


def _union(tags: NDArray[np.int8], index: NDArray[np.int64], contents: list[Any]) -> Any:
    """A union whose first alternative is to have no value, as uproot builds it."""
    none = ak.index.Index64(np.array([-1], dtype=np.int64))
    missing = ak.contents.IndexedOptionArray(none, ak.contents.EmptyArray())
    optional = [
        content if content.is_option else ak.contents.UnmaskedArray(content) for content in contents
    ]
    return ak.contents.UnionArray(
        ak.index.Index8(tags + np.int8(1)),
        ak.index.Index64(np.where(tags < 0, 0, index)),
        [missing, *optional],
    )


def to_regular(array: NDArray[Any]) -> Any:
    """A NumPy array of any shape, its inner dimensions as regular lists."""
    lengths = array.shape
    if len(lengths) == 1:
        return ak.contents.NumpyArray(array)
    layout: Any = ak.contents.NumpyArray(array.reshape(-1))
    for axis in range(len(lengths) - 1, 0, -1):
        outer = prod(lengths[:axis])
        layout = ak.contents.RegularArray(layout, lengths[axis], zeros_length=outer)
    return layout


def _is_list(array: Any) -> bool:
    """Whether an entry is a list of single things, of which counts can be compared."""

    def is_jagged(layout: Any) -> bool:
        return isinstance(layout, ak.contents.ListOffsetArray)

    return (
        is_jagged(array.layout)
        and array.layout.parameter("__array__") is None
        and not is_jagged(array.layout.content)
    )


def _same_counts(a: Any, b: Any) -> bool:
    one, other = a.layout.offsets.data, b.layout.offsets.data
    are_arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    if are_arrays and (one.ctypes.data, len(one)) == (other.ctypes.data, len(other)):
        return True
    return bool(np.array_equal(ak.num(a, axis=1), ak.num(b, axis=1)))


def _common_name(names: list[str]) -> str:
    """The beginning that all names share, up to a separator; empty if there is none."""
    if len(names) == 1:
        return names[0][: max(names[0].rfind(separator) for separator in "_./") + 1]
    common = commonprefix(names)  # noqa: RUF071, not of paths
    return common[: max(common.rfind(separator) for separator in "_./") + 1]
