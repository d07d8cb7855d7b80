"""Trees and RNTuples that are being written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self, TextIO

import numpy as np

from .. import _core
from .. import compression as compressions
from .._awkward import ak
from .._ours import by_caller, ours
from .._shown import shown
from .._uproot import Explaining
from ..errors import ArgumentTypeError, InvalidArgumentError, UnsupportedError
from . import _types
from ._arguments import flag, text
from ._columns import to_layout
from ._frames import INDEX, FrameColumns
from ._tables import Columns, batches, is_counted, is_list, is_whole, types_of

if TYPE_CHECKING:
    from ..compression import Compression
    from ._types import Type
    from .writable import WritableFile


#: The fields of an attribute set: first entry and length of each range, and the notes.
START, LENGTH, USER_DATA = "_rangeStart", "_rangeLen", "_userData"


def counter_name(counted: str) -> str:
    """The name of the branch that counts a column's lists, where the user gives no other."""
    return "n" + counted


def field_name(outer: str, inner: str) -> str:
    """The name of the branch of a record's field, where the user gives no other."""
    return inner if outer == "" else f"{outer}_{inner}"


class Within(Explaining):
    """Something in a file that is being written; as a context manager, it closes the file."""

    def __init__(self, file: WritableFile, path: tuple[str, ...]) -> None:
        self._file = file
        self._path = path

    @property
    def file(self) -> WritableFile:
        """The file that is being written."""
        return self._file

    @property
    def file_path(self) -> str | None:
        """The path or address of the file; None for a file-like object."""
        return self._file.file_path

    @property
    def closed(self) -> bool:
        """Whether the file has been closed."""
        return self._file.closed

    def close(self) -> None:
        """Writes the rest and gives the file its name: before, there is no such file."""
        self._file.close()

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._file.__exit__(*raised)


class Open(NamedTuple):
    """A table that a file has open. It does not know the file, which would then keep itself."""

    kind: type[WritableTable]
    path: tuple[str, ...]
    core: _core.TableOutput
    columns: Columns
    names: TreeNames
    compressions: Compressions


class Compressions:
    """How the columns of a table are compressed: all alike, but for single ones."""

    def __init__(self, of_all: Compression | None) -> None:
        self.of_all = of_all
        self.of_column: dict[str, Compression | None] = {}


class TableWithin(Within):
    """A table of a file that is being written."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {shown('/'.join(('', *self._path)))!r}>"

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the directories that it is in, and its own."""
        return self._path

    @property
    def object_path(self) -> str:
        """The path of the table in the file."""
        return "/".join(self._path)


class WritableTable(TableWithin):
    """A table that is being written: the common part of trees and RNTuples."""

    #: Whether values may be missing, or of several types.
    _has_options = False
    _kind = "tree"

    def __init__(self, file: WritableFile, table: Open) -> None:
        super().__init__(file, table.path)
        self._core = table.core
        self._columns = table.columns
        self._names = table.names
        self._compressions = table.compressions
        # Few entries of plain types go a short way, without a progress bar or counters.
        has_counters = not self._columns.types.keys().isdisjoint(self._names.counters.values())
        self._takes_plain = not (file.is_told or has_counters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WritableTable) and self._core is other._core

    __hash__ = object.__hash__

    @property
    def compression(self) -> Compression | dict[str, Compression | None] | None:
        """As of the file when the table was made; of a tree, the value that was set."""
        return self._compressions.of_all

    @property
    def num_entries(self) -> int:
        """Entries so far."""
        return self._core.num_entries

    def keys(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns.types)

    @property
    def typenames(self) -> dict[str, str]:
        """Types of the columns, as Awkward spells them."""
        return {name: str(type_) for name, type_ in self._columns.types.items()}

    @ours
    def extend(self, data: Any, *, accept_new_fields: bool = False) -> None:
        """Adds entries. They may be few: the file does not depend on it.

        Args:
            data: A dict of arrays, one for each column and of one length; a DataFrame; records
                of Awkward; a structured array; whatever gives Arrow's C stream (polars, DuckDB,
                pyarrow); or an iterator of such batches. The arrays are copied.
            accept_new_fields: Whether columns that the table lacks are added to it. Its entries so
                far then have zeros, empty texts and empty lists in them, or missing values where
                the type has these.

        Raises:
            InvalidArgumentError: for columns that lack or are of another type or length. Nothing
                of that batch is then added.
        """
        if self._takes_plain and type(data) is dict and self._core.extend_plain(data):
            return
        self._file.ensure_open()
        for batch in batches(data):
            if flag(accept_new_fields, "accept_new_fields"):
                self._add_lacking(batch)
            self.add(batch)

    def _add_lacking(self, batch: dict[str, Any]) -> None:
        """Adds the columns of a batch that the table lacks, of zeros."""
        known = {*self._columns.types, *self._names.counters.values()}
        lacking = {name: batch[name] for name in batch if name not in known}
        if lacking:
            types = Columns.of(lacking, self._has_options).types
            zeros = {name: _types.zeros(each, self.num_entries) for name, each in types.items()}
            self._add_columns(zeros)

    def _add_columns(self, data: Any) -> None:
        """Adds columns, with values for all entries."""
        self._file.ensure_open()
        first, *more = batches(data)
        if more:
            raise InvalidArgumentError("the values of new columns come in one batch")
        for name in first:
            if self._is_there(name) or name in self._names.counters.values():
                raise InvalidArgumentError(f"a column {name!r} already exists in {self!r}")
        columns = Columns.of(first, self._has_options)
        length = len(next(iter(first.values()), ()))
        if length != self.num_entries:
            said = f"{self!r} has {self.num_entries} entries"
            raise InvalidArgumentError(f"new columns have {length} entries: {said}")
        names = self._new_names(columns)
        arrays = columns.arrays(columns.layouts(first, self._kind))
        self._file.add_columns(self._core, columns, arrays)
        self._columns.add(columns, within=self._has_options)
        self._names.add(names)
        self._takes_plain = False

    def _is_there(self, name: str) -> bool:
        """Whether it has a column of that name."""
        return name in self._columns.types

    def _new_names(self, columns: Columns) -> TreeNames:
        """The names of the branches that new columns become."""
        return TreeNames({})

    def add(self, batch: dict[str, Any]) -> None:
        """Adds the entries of one batch, as columns by name; for the package only."""
        has_row_numbers = isinstance(batch, FrameColumns) and batch.has_row_numbers
        if has_row_numbers and INDEX not in self._columns.types:
            # The types of the table were given without a column for the numbers of rows.
            del batch[INDEX]
        self._add(batch)

    def _add(self, batch: dict[str, Any]) -> None:
        self._file.ensure_open()
        layouts = self._columns.layouts(batch, self._kind)
        for run in self._columns.runs(layouts, self._names.alike):
            self._file.telling(partial(self._core.extend, run))

    def show(self, *, stream: TextIO | None = None) -> None:
        """Prints names and types of the columns."""
        width = max((len(name) for name in self.keys()), default=0)
        for name, type_ in self.typenames.items():
            print(f"{shown(name):<{width}} | {type_}", file=stream or sys.stdout)


class UngrownTable(TableWithin):
    """A tree or RNTuple of the file as it was that gets no entries and columns: one of an older
    cycle, or with columns of a form that farroot does not write. It can still be looked at.

    Example:
        >>> with farroot.recreate("twice.root") as file:
        ...     first, second = (file.mktree("t", {"x": np.arange(n)}) for n in (3, 4))
        >>> with farroot.update("twice.root") as file:
        ...     file["t;1"].num_entries, file["t;2"].num_entries
        (3, 4)
    """

    def __init__(
        self, file: WritableFile, path: tuple[str, ...], before: Any, why: UnsupportedError
    ) -> None:
        super().__init__(file, path)
        self._before = before
        self._why = why

    @property
    def num_entries(self) -> int:
        """Entries that it has."""
        entries: int = self._before.num_entries
        return entries

    def keys(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = self._before.keys()
        return names

    def show(self, *, stream: TextIO | None = None) -> None:
        """Prints names and types of the columns."""
        self._before.show(stream=stream or sys.stdout)

    def extend(self, data: Any, *, accept_new_fields: bool = False) -> NoReturn:
        """
        Raises:
            UnsupportedError: always; the reason.
        """
        raise self._why

    def add_branches(self, branches: Any) -> NoReturn:
        """As :meth:`extend`."""
        raise self._why

    def add_fields(self, fields: Any) -> NoReturn:
        """As :meth:`extend`."""
        raise self._why


class WritableBranch(Explaining):
    """A branch of a tree that is being written.

    Example:
        >>> with farroot.recreate("new.root") as file:
        ...     tree = file.mktree("t", {"x": "float32", "y": "float32"})
        ...     tree["x"].compression = farroot.LZ4(1)
        ...     tree["x"]
        <WritableBranch 'x' in 't'>
    """

    def __init__(self, tree: WritableTree, name: str, type_: Type) -> None:
        self._tree, self._name, self._type = tree, name, type_

    def __repr__(self) -> str:
        return f"<WritableBranch {shown(self._name)!r} in {self._tree.object_path!r}>"

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self._name

    @property
    def type(self) -> str:
        """As Awkward spells it."""
        return str(self._type)

    @property
    def compression(self) -> Compression | None:
        """Set it before the first entries.

        Raises:
            UnsupportedError: after them.
        """
        return self._tree.compression_of(self._name)

    @compression.setter
    def compression(self, compression: object) -> None:
        self._tree.compression = {self._name: compression}


class WritableTree(WritableTable):
    """A TTree that is being written; :meth:`WritableDirectory.mktree` makes it.

    Example:
        >>> with farroot.recreate("new.root") as file:
        ...     tree = file.mktree("t", {"x": "float32", "list": "var * int32"})
        ...     tree.extend({"x": [1.5, 2.5], "list": [[1, 2], []]})
        ...     tree.num_entries
        2
    """

    @property
    def compression(self) -> Compression | dict[str, Compression | None] | None:
        """One for all branches, or a dict where they differ. Set it before the first entries, to
        one, or to a dict of some branches.

        Raises:
            UnsupportedError: after the first entries.
        """
        known = self._compressions
        each = {name: self.compression_of(name) for name in self._columns.types}
        return each if set(known.of_column.values()) - {known.of_all} else known.of_all

    @compression.setter
    @ours
    def compression(self, compression: object) -> None:
        self._file.ensure_open()
        known = self._compressions
        if not isinstance(compression, Mapping):
            chosen = compressions.of(compression)
            self._core.set_compression(None, compressions.number_and_level(chosen))
            known.of_all, known.of_column = chosen, {}
            return
        numbers = {name: number for number, name in enumerate(self._columns.types)}
        for name, each in compression.items():
            self[name]
            chosen = compressions.of(each)
            self._core.set_compression(numbers[name], compressions.number_and_level(chosen))
            known.of_column[name] = chosen

    def compression_of(self, name: str) -> Compression | None:
        """Of one branch."""
        return self._compressions.of_column.get(name, self._compressions.of_all)

    def __getitem__(self, where: str) -> WritableBranch:
        if text(where, "the name of a branch") not in self._columns.types:
            raise InvalidArgumentError(f"there is no branch {where!r} in {self!r}")
        return WritableBranch(self, where, self._columns.types[where])

    def _add(self, batch: dict[str, Any]) -> None:
        batch = self._with_branches_of_records(batch)
        counted: dict[str, Any] = {}
        for column, counter in self._names.counters.items():
            if column not in batch or (counter not in batch and counter not in self._columns.types):
                continue
            lists = ak.Array(to_layout(batch[column]))
            if lists.ndim < 2 and len(lists) > 0:
                # No lists at all: the error is the column's.
                continue
            lengths = np.asarray(ak.num(lists, axis=1) if lists.ndim > 1 else [], dtype=np.int64)
            said = ak.Array(to_layout(batch.get(counter, counted.get(counter, lengths))))
            if not np.array_equal(lengths, ak.to_numpy(said)):
                wrong = f"{counter!r} is not how many items {column!r} has"
                raise InvalidArgumentError(f"counts and lists disagree: {wrong}")
            counted[counter] = lengths
        # Counts that are no column of their own follow from the lists.
        batch = {**batch, **counted}
        unneeded = counted.keys() - self._columns.types.keys()
        super()._add({name: each for name, each in batch.items() if name not in unneeded})

    def _with_branches_of_records(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The batch with a column for each field of records, where a tree of an existing file has
        branches of their names: it does not say which of them were a record."""
        columns: dict[str, Any] = {}
        for name, value in batch.items():
            fields = value if isinstance(value, Mapping) else getattr(value, "fields", ())
            parts = {field_name(name, field): value[field] for field in fields}
            is_known = name in self._columns.types or not parts
            columns |= {name: value} if is_known or parts.keys() - self._columns.types else parts
        return columns

    @ours
    def add_branches(self, branches: Any) -> None:
        """Adds branches, with values for all entries that the tree has. From then on
        :meth:`extend` takes values of these, too.

        Args:
            branches: As for :meth:`extend`, of as many entries as the tree has.

        Raises:
            InvalidArgumentError: for a name that is there, and for arrays of another length.
                Nothing is then added.

        Example:
            >>> with farroot.recreate("grows.root") as file:
            ...     file.mktree("t", {"x": np.arange(3)})
            <WritableTree '/t'>
            >>> with farroot.update("grows.root") as file:
            ...     file["t"].add_branches({"y": np.array([1.5, 2.5, 3.5])})
            ...     file["t"].extend({"x": [3], "y": [4.5]})
            >>> farroot.open("grows.root:t").arrays().tolist()[-1]
            {'x': 3, 'y': 4.5}
        """
        self._add_columns(branches)

    def _new_names(self, columns: Columns) -> TreeNames:
        return TreeNames(columns.types)


class WritableNTuple(WritableTable):
    """An RNTuple that is being written; :meth:`WritableDirectory.mkrntuple` makes it.

    Example:
        >>> with farroot.recreate("new.root") as file:
        ...     table = file.mkrntuple("n", {"name": "string", "scores": "var * float64"})
        ...     table.extend({"name": ["Ada"], "scores": [[1.5, 2.5]]})
        ...     table.typenames
        {'name': 'string', 'scores': 'var * float64'}
    """

    _has_options = True
    _kind = "RNTuple"

    @ours
    def add_fields(self, fields: Any) -> None:
        """Adds fields to an RNTuple of the file as it was, with values for all entries that it
        has. From then on :meth:`extend` takes values of these, too.

        Args:
            fields: As for :meth:`extend`, of as many entries as the RNTuple has; or types by name,
                as for :meth:`WritableDirectory.mkrntuple`, of which entries so far have zeros,
                empty texts and lists, and missing values. A name as ``"muon.pt"`` adds a field to
                a record.

        Raises:
            InvalidArgumentError: for a name that is there, for arrays of another length, and for a
                field within one that is not a record of each entry: items of lists would need
                values of their own.
            UnsupportedError: for a field within an object of a C++ class, and for an RNTuple that
                has been made in this update. Nothing is added.

        Example:
            >>> with farroot.recreate("grows.root") as file:
            ...     file["n"] = {"x": np.arange(3)}
            >>> with farroot.update("grows.root") as file:
            ...     file["n"].add_fields({"y": np.array([1.5, 2.5, 3.5])})
            ...     file["n"].extend({"x": [3], "y": [4.5]})
            >>> farroot.open("grows.root:n").arrays().tolist()[-1]
            {'x': 3, 'y': 4.5}
        """
        types = types_of(fields)
        zeros = {name: _types.zeros(each, self.num_entries) for name, each in (types or {}).items()}
        self._add_columns(fields if types is None else zeros)

    def _is_there(self, name: str) -> bool:
        return self._columns.has(name)

    @ours
    def mkattributes(self, name: str, types: Any, description: str = "") -> WritableAttributeSet:
        """An attribute set of the RNTuple: notes on ranges of its entries, such as their run.

        ROOT reads it with ``RNTupleReader::OpenAttributeSet``, and farroot with
        :attr:`RNTuple.attributes`.

        Args:
            name: Of the set; each name once.
            types: Types of the noted values, by name, as for :meth:`WritableDirectory.mkrntuple`.
            description: Of the set.

        Raises:
            UnsupportedError: for a name that is there.

        Example:
            >>> with farroot.recreate("noted.root") as file:
            ...     events = file.mkrntuple("events", {"x": np.arange(5)})
            ...     runs = events.mkattributes("runs", {"run": "int32"})
            ...     runs.extend({"run": [7, 8]}, [(0, 3), (3, 5)])
            >>> runs = farroot.open("noted.root:events").attributes["runs"]
            >>> runs["run"].array()[runs.containing(4)].tolist()
            [8]
        """
        self._file.ensure_open()
        noted = types_of(types)
        if not noted:
            raise ArgumentTypeError(f"an attribute set has types by name, not {types!r}")
        set_name = text(name, "name")
        user = ak.types.RecordType(list(noted.values()), list(noted))
        whole = ak.types.NumpyType("uint64")
        columns = Columns({START: whole, LENGTH: whole, USER_DATA: user})
        about = text(description, "description")
        core = self._file.make_attribute_set(self._core, set_name, columns, about)
        of_all = Compressions(self._compressions.of_all)
        path = (*self._path, set_name)
        table = Open(WritableTable, path, core, columns, TreeNames({}), of_all)
        return WritableAttributeSet(self._file, table, self, list(noted))


class WritableAttributeSet(Within):
    """An attribute set that is being written; :meth:`WritableNTuple.mkattributes` makes it.

    Example:
        >>> with farroot.recreate("noted.root") as file:
        ...     events = file.mkrntuple("events", {"x": np.arange(5)})
        ...     runs = events.mkattributes("runs", {"run": "int32"})
        ...     runs.extend({"run": [7]}, [(0, 5)])
        ...     runs.num_entries
        1
    """

    def __init__(
        self, file: WritableFile, table: Open, above: WritableNTuple, names: list[str]
    ) -> None:
        super().__init__(file, table.path)
        self._table = WritableTable(file, table)
        self._above = above
        self._names = names

    def __repr__(self) -> str:
        return f"<WritableAttributeSet {shown(self._path[-1])!r} of {self._above!r}>"

    @property
    def name(self) -> str:
        """Its name."""
        return self._path[-1]

    @property
    def num_entries(self) -> int:
        """Entries so far."""
        return self._table.num_entries

    def keys(self) -> list[str]:
        """Names of the noted values."""
        return list(self._names)

    @ours
    def extend(self, data: Any, ranges: Any) -> None:
        """Adds notes.

        Args:
            data: The noted values, as for :meth:`WritableNTuple.extend`, in one batch.
            ranges: For each note a pair of the first and the last entry (half open) of the RNTuple
                that it is about, as :attr:`AttributeSet.ranges` has them. Ranges may be empty, and
                may overlap.

        Raises:
            InvalidArgumentError: for another number of ranges than of notes, and for a range that
                is not within the entries that the RNTuple has. Nothing is then added.
        """
        self.file.ensure_open()
        batch, *more = batches(data)
        if more:
            raise InvalidArgumentError("the notes of an attribute set come in one batch")
        if set(batch) != set(self._names):
            said = f"{self!r} has {', '.join(self._names)}"
            raise InvalidArgumentError(f"extend is given an array for every column: {said}")
        starts, stops = _ranges(ranges, self._above.num_entries)
        columns = [to_layout(batch[name]) for name in self._names]
        lengths = {name: len(each) for name, each in zip(self._names, columns, strict=True)}
        for name, length in lengths.items():
            if length != len(starts):
                raise InvalidArgumentError(f"{len(starts)} ranges, and {name!r} has {length} notes")
        user = ak.contents.RecordArray(columns, self._names, length=len(starts))
        self._table.add({START: starts, LENGTH: stops - starts, USER_DATA: user})


def _ranges(ranges: Any, entries: int) -> tuple[Any, Any]:
    """First and last entries of ranges within some entries."""
    pairs = np.asarray(ranges)
    if pairs.size == 0:
        pairs = pairs.astype(np.int64).reshape(0, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidArgumentError("ranges are pairs of the numbers of two entries")
    starts, stops = pairs.T
    wrong = np.flatnonzero((starts < 0) | (starts > stops) | (stops > entries))
    if len(wrong) > 0:
        start, stop = pairs[wrong[0]].tolist()
        said = f"range {start} to {stop} of an RNTuple that has {entries} entries"
        raise InvalidArgumentError(f"{said} so far")
    return starts.astype(np.uint64), stops.astype(np.uint64)


class TreeNames:
    """The names of the branches that a tree's columns become, as the user's functions give them."""

    def __init__(
        self,
        types: dict[str, Type],
        counter_name: Callable[[str], str] = counter_name,
        field_name: Callable[[str, str], str] = field_name,
        is_vector: bool = False,
    ) -> None:
        #: The branch with the lengths of a column of lists, as far as lists are no vectors.
        self.counters: dict[str, str] = {}
        #: Columns of lists that one branch counts, in pairs.
        self.alike: list[tuple[str, str]] = []
        #: The branch of a field, by the names of the column and the field.
        self.fields: dict[tuple[str, str], str] = {}
        first: dict[str, str] = {}
        for name, type_ in types.items():
            if is_counted(type_, is_vector):
                with by_caller():
                    counter = counter_name(name)
                self.counters[name] = text(counter, "the result of counter_name")
                one = first.setdefault(counter, name)
                self.alike += [(one, name)] if one != name else []
            content = type_.content if is_list(type_) else type_
            if isinstance(content, ak.types.RecordType):
                for field in content.fields:
                    with by_caller():
                        branch = field_name(name, field)
                    self.fields[name, field] = text(branch, "the result of field_name")

    @classmethod
    def of_counters(cls, counters: dict[str, str]) -> TreeNames:
        """Those of a tree of an existing file, of which the counters are known.

        Args:
            counters: The branch with the lengths of each column that has one.
        """
        names = cls({})
        names.counters = counters
        first: dict[str, str] = {}
        for name, counter in counters.items():
            one = first.setdefault(counter, name)
            names.alike += [(one, name)] if one != name else []
        return names

    def add(self, others: TreeNames) -> None:
        """Adds those of further columns."""
        self.counters.update(others.counters)
        self.fields.update(others.fields)
        self.alike += others.alike

    def refuse_collisions(self, types: dict[str, Type]) -> None:
        """
        Raises:
            InvalidArgumentError: a branch that counts has the name of one that holds other things
                than whole numbers, which would both be in the tree.
        """
        others = {name for name, type_ in types.items() if not is_whole(type_)}
        others.update(self.fields.values())
        for column, counter in self.counters.items():
            if counter in others:
                said = f"the counter {counter!r} of {column!r} collides with a branch of that name"
                raise InvalidArgumentError(f"{said}: counter_name= gives it another")
