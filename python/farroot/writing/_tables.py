"""Columns by name from every kind of table, and tables that take them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .._awkward import ak
from .._limits import COLUMN_RUN_BYTES, RUN_BYTES, WIDE_RUN_BYTES
from .._ours import each_of
from ..errors import ArgumentTypeError, Error, InvalidArgumentError, UnsupportedError
from . import _arrow, _columns, _frames, _types
from ._arguments import text
from ._types import Type

if TYPE_CHECKING:
    from .._core import Column

#: The type of the column that counts the items of lists.
COUNTER: Type = ak.types.NumpyType("int32")


def batches(data: Any) -> Iterator[dict[str, Any]]:
    """Users' data as columns by name, batch after batch.

    Args:
        data: A dict of arrays, a DataFrame, records of Awkward, a structured array, whatever
            gives Arrow's C stream, or an iterator of any of these.

    Raises:
        ArgumentTypeError: for anything else.
    """
    if isinstance(data, Iterator) and not isinstance(data, io.IOBase):
        for batch in each_of(data):
            yield from batches(batch)
    elif _is_stream(data):
        yield from _arrow.batches(data)
    else:
        yield _columns_of(data)


def _is_stream(data: Any) -> bool:
    """Whether it comes in batches, and knows them: not a table that is whole in memory."""
    if (
        _frames.is_frame(data)
        or isinstance(data, Mapping)
        or not hasattr(data, "__arrow_c_stream__")
    ):
        return False
    return not hasattr(data, "__arrow_c_array__") and not hasattr(data, "__len__")


def _columns_of(data: Any) -> dict[str, Any]:
    if isinstance(data, Mapping):
        return {_name(name): column for name, column in data.items()}
    if _frames.is_frame(data):
        return _frames.columns(data)
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return {name: data[name] for name in data.dtype.names}
    if isinstance(data, (ak.Array, ak.contents.Content)):
        layout = _columns.to_layout(data)
        if layout.is_record or (layout.is_indexed and layout.content.is_record):
            _types.refuse_twice(layout.fields)
            return _columns.fields_of(layout)
        return {"": layout}
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _arrow.columns(data)
    kind = type(data).__name__
    kinds = "a dict of arrays, a DataFrame, records of Awkward, a structured array or Arrow's"
    raise ArgumentTypeError(f"a table is {kinds}, not a {kind}")


def _name(name: Any) -> str:
    return text(name, "the name of a column")


def is_table(data: Any) -> bool:
    """Whether something that is written under a name is a table."""
    if isinstance(data, Mapping):
        return all(isinstance(name, str) for name in data)
    if isinstance(data, np.ndarray):
        return data.dtype.names is not None
    if isinstance(data, ak.contents.Content) and not data.is_record and not data.is_indexed:
        raise ArgumentTypeError(f"a table has columns with names, and {data.form.type} has none")
    is_awkward = isinstance(data, (ak.Array, ak.contents.Content, ak.forms.Form))
    is_arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
    return is_awkward or is_arrow or isinstance(data, Iterator) or _frames.is_frame(data)


def types_of(said: Any) -> dict[str, Type] | None:
    """The types of the columns where they are given; None where there are data in their place."""
    if isinstance(said, ak.types.ArrayType):
        said = said.content
    if isinstance(said, ak.forms.Form):
        said = said.type
    if isinstance(said, ak.types.RecordType):
        said = dict(zip(said.fields, said.contents, strict=True))
    if isinstance(said, np.dtype) and said.names is not None:
        said = {name: said[name] for name in said.names}
    if isinstance(said, (list, tuple)) and all(_is_pair(each) for each in said):
        said = dict(said)
    if not isinstance(said, Mapping) or not _types.is_type(said):
        return None
    types = {}
    for name, each in said.items():
        try:
            types[_name(name)] = _types.to_type(each)
        except Error as error:
            raise within(name, error) from None
    return types


def docs_of(said: Any) -> dict[str, str]:
    """Awkward's ``__doc__`` of columns whose types are given."""
    if isinstance(said, ak.types.ArrayType):
        said = said.content
    if isinstance(said, ak.forms.RecordForm | ak.types.RecordType):
        said = dict(zip(said.fields, said.contents, strict=True))
    if not isinstance(said, Mapping):
        return {}
    docs = {}
    for name, each in said.items():
        if doc := doc_of(each):
            docs[name] = doc
        docs.update(docs_within(name, each))
    return docs


def docs_within(path: str, type_: Any) -> dict[str, str]:
    """The same of the fields within a column, by the fields of an RNTuple that lead to them.

    Args:
        path: The column, or the field that has it.
        type_: A type or form.
    """
    if isinstance(type_, ak.forms.Form):
        type_ = type_.type
    if isinstance(type_, ak.types.ArrayType):
        type_ = type_.content
    docs = {}
    for name, each in _parts(type_):
        within = f"{path}.{name}"
        if doc := doc_of(each):
            docs[within] = doc
        docs.update(docs_within(within, each))
    return docs


def _parts(type_: Any) -> list[tuple[str, Type]]:
    """The fields of an RNTuple within one of a type, and their types."""
    match type_:
        case ak.types.RecordType(is_tuple=True):
            return [(f"_{number}", each) for number, each in enumerate(type_.contents)]
        case ak.types.RecordType():
            return list(zip(type_.fields, type_.contents, strict=True))
        case ak.types.UnionType():
            return [(f"_{number}", each) for number, each in enumerate(type_.contents)]
        case ak.types.ListType() | ak.types.RegularType() | ak.types.OptionType():
            return [] if _types.is_string(type_) else [("_0", type_.content)]
    return []


def doc_of(data: Any) -> str:
    """Awkward's ``__doc__`` of an array, a type or a form; of others nothing."""
    if isinstance(data, ak.Array):
        data = data.layout
    if isinstance(data, ak.types.ArrayType):
        data = data.content
    is_awkward = isinstance(data, ak.contents.Content | ak.forms.Form | ak.types.Type)
    doc = data.parameter("__doc__") if is_awkward else None
    return doc if isinstance(doc, str) else ""


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


def within(column: str, error: Error) -> Error:
    """The same error, with the column that it is about."""
    return type(error)(f"column {column!r}: {error}")


def is_list(type_: Type) -> bool:
    """Whether entries are lists of any length, and no texts."""
    return isinstance(type_, ak.types.ListType) and not _types.is_string(type_)


def is_counted(type_: Type, is_vector: bool) -> bool:
    """Whether a branch of a tree counts the items of such lists: those of numbers, unless they
    become vectors, of arrays of numbers, and of records with such fields."""
    return is_list(type_) and _is_counted_item(type_.content, is_vector)


def _is_counted_item(type_: Type, is_vector: bool) -> bool:
    if isinstance(type_, ak.types.RecordType):
        return any(_is_counted_item(each, is_vector) for each in type_.contents)
    if isinstance(type_, ak.types.RegularType) and not _types.is_string(type_):
        return _is_counted_item(type_.content, False)
    return isinstance(type_, ak.types.NumpyType) and not is_vector


def is_whole(type_: Type) -> bool:
    """Whether entries are whole numbers."""
    if not isinstance(type_, ak.types.NumpyType):
        return False
    return np.dtype(type_.primitive).kind in "iu"


class Columns:
    """The columns of a table that is written."""

    def __init__(self, types: dict[str, Type], docs: dict[str, str] | None = None) -> None:
        self.types = types
        #: Awkward's ``__doc__`` of them, and of the fields within them by their paths.
        self.docs = docs or {}

    @classmethod
    def of(cls, batch: dict[str, Any], has_options: bool) -> Columns:
        """Those of a first batch, whose columns are kept as layouts in it.

        Args:
            has_options: Whether values may be missing, or of several types.
        """
        types, docs = {}, {}
        for name, column in batch.items():
            try:
                batch[name] = layout = _columns.to_layout(column)
                types[name] = _columns.type_of(layout, has_options)
                if doc := doc_of(layout):
                    docs[name] = doc
                docs.update(docs_within(name, layout.form))
            except Error as error:
                raise within(name, error) from None
        return cls(types, docs)

    def has(self, path: str) -> bool:
        """Whether there is such a column, or a field of a record: ``"muon.pt"``.

        Raises:
            InvalidArgumentError: for a field of a column that is not there, or is not a record.
            UnsupportedError: for one of values of several types.
        """
        above, _, name = path.rpartition(".")
        return name in (self.types if not above else self._record(above).fields)

    def _record(self, path: str) -> Any:
        """The type of the records at a path."""
        top, *parts = path.split(".")
        if top not in self.types:
            raise InvalidArgumentError(f"the column {top!r} is not found")
        found = self.types[top]
        for at, part in enumerate((*parts, None)):
            where = ".".join((top, *parts[:at]))
            if isinstance(found, ak.types.UnionType):
                raise UnsupportedError(f"{where!r} is a variant, which gets no new fields")
            if not isinstance(found, ak.types.RecordType):
                raise InvalidArgumentError(f"{where!r} is not a record, but of type {found}")
            if part is None:
                break
            if part not in found.fields:
                raise InvalidArgumentError(f"the field {part!r} of {where!r} is not found")
            found = found.content(part)
        return found

    def add(self, others: Columns, within: bool = False) -> None:
        """Adds further columns behind these; with ``within`` also fields to records."""
        for path, type_ in others.types.items():
            top, *parts = path.split(".") if within else (path,)
            if parts:
                self.types[top] = _types.with_field(self.types[top], parts, type_)
            else:
                self.types[path] = type_
        self.docs.update(others.docs)

    def empty(self) -> list[_core.Array]:
        """An array without entries for each column; the many columns of one type share one."""
        known: dict[str, _core.Array] = {}
        for name, type_ in self.types.items():
            spelled = str(type_)
            if spelled not in known:
                known[spelled] = self._array(name, _types.empty(type_))
        return [known[str(type_)] for type_ in self.types.values()]

    def layouts(self, batch: dict[str, Any], table: str) -> dict[str, Any]:
        """The columns of a batch, in their order, as they are.

        Args:
            table: The kind of the table, for errors.

        Raises:
            InvalidArgumentError: for columns that lack, or that are not known.
        """
        lack = [name for name in self.types if name not in batch]
        if lack:
            raise InvalidArgumentError(
                f"extend is given an array for every column: {lack[0]!r} is missing"
            )
        unknown = [name for name in batch if name not in self.types]
        if unknown:
            said = f"it is not in this {table}, and accept_new_fields=True adds it"
            raise InvalidArgumentError(f"there is no column {unknown[0]!r} to extend: {said}")
        layouts = {}
        for name in self.types:
            try:
                layouts[name] = _columns.to_layout(batch[name])
            except Error as error:
                raise within(name, error) from None
            if not isinstance(self.types[name], ak.types.OptionType):
                layouts[name] = _columns.complete(layouts[name])
        return layouts

    def arrays(self, layouts: dict[str, Any]) -> list[_core.Array]:
        """The same as arrays for the engine.

        Raises:
            InvalidArgumentError: for columns of another type, or of different lengths.
        """
        arrays = [self._array(name, layout) for name, layout in layouts.items()]
        lengths = [len(array) for array in arrays]
        for name, length in zip(self.types, lengths, strict=True):
            if length != lengths[0]:
                first = next(iter(self.types))
                said = f"column {name!r} has {length} entries, {first!r} {lengths[0]}"
                raise InvalidArgumentError(f"all columns are of one length: {said}")
        return arrays

    def runs(
        self, layouts: dict[str, Any], alike: list[tuple[str, str]]
    ) -> Iterator[list[_core.Array]]:
        """The arrays of a batch for the engine. A large batch is divided into runs of entries: the
        engine compresses one run while the next one is copied. A batch of which a value may be
        refused is one run.

        Args:
            alike: Columns of lists of the same lengths, in pairs.
        """
        size = sum(_columns.size_of(layout) for layout in layouts.values())
        run_bytes = max(RUN_BYTES, min(COLUMN_RUN_BYTES * len(layouts), WIDE_RUN_BYTES))
        if size <= run_bytes or not self._is_sure(layouts, alike):
            yield self.arrays(layouts)
            return
        length = len(next(iter(layouts.values())))
        step = max(length * run_bytes // size, 1)
        columns = [self._column(name, layout) for name, layout in layouts.items()]
        for start in range(0, length, step):
            yield _core.Array.parts(columns, start, min(start + step, length))

    def _is_sure(self, layouts: dict[str, Any], alike: list[tuple[str, str]]) -> bool:
        """Whether columns are of just their types, of one length, and easily divided."""
        lengths = {len(layout) for layout in layouts.values()}
        are_exact = all(
            layouts[name].form.type == type_ and _columns.is_in_order(layouts[name])
            for name, type_ in self.types.items()
        )
        if len(lengths) > 1 or not are_exact:
            return False
        return all(_columns.counts_agree(layouts[one], layouts[other]) for one, other in alike)

    def _array(self, name: str, layout: Any) -> _core.Array:
        column = self._column(name, layout)
        try:
            return _core.Array(column)
        except Error as error:
            raise within(name, error) from None

    def _column(self, name: str, layout: Any) -> Column:
        try:
            return _columns.to_column(layout, self.types[name])
        except Error as error:
            raise within(name, error) from None
