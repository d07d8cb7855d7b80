"""RNTuples and their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload

from . import _core, _libraries
from ._entries import EntrySelection, StepSize, entry_range, memory, step
from ._filters import Filter, is_glob
from ._libraries import How
from ._named import ROWS_SHOWN, Named, Writable, write_table
from ._process import NothingToClose
from ._progress import Wanted
from ._selection import ColumnQuery, Doc, Leaf, ReadRequest, request
from ._shown import shown
from ._table import InFile
from ._uproot import taken
from .errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    import awkward as ak
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from ._core import ColumnInfo
    from ._types import ArrowName, AwkwardName, LibraryName, NumPyName, Options, PandasName
    from .attributes import AttributeSets
    from .dataset import Steps
    from .file import File


class HasFields(Named["Field"]):
    """A mapping from names to fields."""

    _separator = "."
    _kind = "field"
    _ntuple: RNTuple

    def _column(self, number: int) -> Field:
        return Field(self._ntuple, number)

    def _in(self) -> RNTuple:
        return self._ntuple

    @property
    def ntuple(self) -> RNTuple:
        return self._ntuple

    @property
    def fields(self) -> list[Field]:
        """The fields directly below, in the order of the file."""
        return self._direct()

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return self._ntuple._num_entries

    @taken
    def items(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_field: Callable[[Field], bool] | None = None,
        filter_branch: Callable[[Field], bool] | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> list[tuple[str, Field]]:
        """Names and fields, each followed by those in it.

        Args:
            filter_name: None, a name, a glob, ``"/regex/flags"``, a function of a name, or
                several of these; tried on the name and on the path.
            filter_typename: The same, for the C++ type.
            filter_field: A function of the :class:`Field`, or None; ``filter_branch`` is the same.
            recursive: Whether fields of fields come too.
            full_paths: Whether these are named by their path, ``parent.child``, or by the last
                part of it.
            ignore_duplicates: Whether of several of one name only the first comes.
        """
        return self._items(
            filter_name,
            filter_typename,
            filter_field or filter_branch,
            recursive=recursive,
            full_paths=full_paths,
            ignore_duplicates=ignore_duplicates,
        )

    @taken
    def keys(self, **filters: Any) -> list[str]:
        """Names of the fields below; the arguments are those of :meth:`items`."""
        return [name for name, _ in self.items(**filters)]

    @taken
    def values(self, **filters: Any) -> list[Field]:
        """The fields below; the arguments are those of :meth:`items`."""
        return [field for _, field in self.items(**filters)]

    @taken
    def typenames(self, **filters: Any) -> dict[str, str]:
        """C++ types by name; the arguments are those of :meth:`items`."""
        return {name: field.typename for name, field in self.items(**filters)}

    @taken
    def show(
        self,
        *,
        stream: Writable | None = None,
        limit: int | None = ROWS_SHOWN,
        **filters: Any,
    ) -> None:
        """Prints a table of names, C++ types and the types of an entry as Awkward spells them.

        Args:
            stream: Where to write, an object with a ``write(str)`` method; None is ``stdout``.
            limit: Fields that are shown at most, with a line that says how many more there are;
                None shows all.
            filters: The arguments of :meth:`items`.
        """
        write_table(self.items(**filters), stream, limit)


class RNTuple(InFile, HasFields):
    """An RNTuple of an open file: a mapping from names to fields, with entries to be read.

    It survives ``pickle`` and ``os.fork`` by its address: in another process, it is opened again
    when first used.

    A chain of RNTuples is one too, with the fields of the first and the entries of all.
    """

    def __init__(
        self,
        core: _core.Table,
        url: str,
        object_path: str,
        again: Callable[[], _core.Table] | None = None,
    ) -> None:
        super().__init__(core, url, object_path, again)
        self._ntuple = self
        self._number = None

    @property
    def classname(self) -> str:
        """``ROOT::RNTuple``."""
        return self._live().file.class_at(self._object_path)

    @property
    def description(self) -> str:
        return self._live().title

    @property
    def attributes(self) -> AttributeSets:
        """The attribute sets that are linked to it, by name: RNTuples about ranges of entries.

        Of a chain there are none: look at the RNTuples of its files.
        """
        from .attributes import AttributeSets

        return AttributeSets(self)

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: AwkwardName = "ak",
        how: None = None,
        **options: Unpack[Options],
    ) -> ak.Array: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: NumPyName,
        how: None = None,
        **options: Unpack[Options],
    ) -> dict[str, NDArray[Any]]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: PandasName,
        how: None = None,
        **options: Unpack[Options],
    ) -> pd.DataFrame: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: ArrowName,
        how: None = None,
        **options: Unpack[Options],
    ) -> pa.Table: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: type[tuple[Any, ...]],
        **options: Unpack[Options],
    ) -> tuple[Any, ...]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: type[list[Any]],
        **options: Unpack[Options],
    ) -> list[Any]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: type[dict[str, Any]],
        **options: Unpack[Options],
    ) -> dict[str, Any]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: How,
        **options: Unpack[Options],
    ) -> Any: ...

    @taken
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_field: Callable[[Field], bool] | None = None,
        filter_branch: Callable[[Field], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        library: LibraryName = "ak",
        how: How = None,
        ak_add_doc: Doc = False,
        virtual: bool = False,
        access_log: list[Any] | None = None,
        progress: Wanted = None,
    ) -> Any:
        """Reads fields, all at once. A field that is in others comes in them.

        Args:
            expressions: Names, paths or globs of fields, or formulas of them; None takes all that
                the filters accept and this version can read.
            cut: A formula with one bool an entry: only entries where it is true are read. Its
                fields are read first, and of the others only pages with such entries.
            aliases: Formulas by the names that they have in ``expressions``, ``cut`` and each
                other.
            filter_name, filter_typename, filter_field, filter_branch: See :meth:`items`; only
                without ``expressions``.
            entry_start, entry_stop: Half-open range of entries; None is the beginning and the
                end, negative numbers count from the end.
            library: ``"ak"``, ``"np"``, ``"pd"`` or ``"arrow"``.
            how: None for a record array, a dict of arrays or a DataFrame; ``tuple``, ``list``
                or ``dict`` for these; ``"zip"`` as for :meth:`Tree.arrays`.
            ak_add_doc: As for :meth:`Tree.arrays`, of the RNTuple as a whole.
            virtual: Whether fields at the top are read only when they are touched, each with
                all that is asked for in it (Awkward only).
            access_log: With ``virtual``, a list to which each look is appended.
            progress: As for :meth:`Tree.arrays`.

        Raises:
            KeyInFileError: for a name that no field has.
            UnsupportedError: for a named field of a type that cannot be read.
            InvalidArgumentError: for a formula that cannot be read, or may not be evaluated.

        In formulas a field in others, ``a.b``, comes in the lists that it is in.
        """
        accepts = filter_field or filter_branch
        choice = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
        wish = ReadRequest.checked(choice, library, how, ak_add_doc)
        entries = entry_range(self.num_entries, entry_start, entry_stop)
        steps = wish.virtual_steps(self, entries, {}, virtual=virtual, log=access_log)
        if steps is not None:
            from ._virtual import whole

            arrays = whole(steps)
            if arrays is not None:
                return arrays
        return wish.read(self, *entries, progress=progress)

    @taken
    def iterate(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_field: Callable[[Field], bool] | None = None,
        filter_branch: Callable[[Field], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        step_size: StepSize = "100 MB",
        library: LibraryName = "ak",
        how: How = None,
        ak_add_doc: Doc = False,
        report: bool = False,
        on_error: Literal["raise", "report"] = "raise",
        virtual: bool = False,
        access_log: list[Any] | None = None,
        progress: Wanted = None,
    ) -> Steps:
        """Reads fields step by step; what comes next is fetched and decoded meanwhile.

        Args:
            step_size: Entries in a step, or the bytes that they take decoded at most, as
                ``"100 MB"``: such a step ends where a cluster does, if one ends in its second half.
            report: Whether to give pairs of arrays and :class:`~farroot.Report`.
            on_error: ``"report"`` goes on behind what cannot be read, as :func:`farroot.iterate`
                does.
            virtual: As for :meth:`arrays`; what is looked at in one step is fetched ahead for the
                next ones.

        The other arguments are those of :meth:`arrays`.
        """
        from .dataset import Steps, is_report, steps_with_gaps

        accepts = filter_field or filter_branch
        choice = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
        wish = ReadRequest.checked(choice, library, how, ak_add_doc)
        entries = entry_range(self.num_entries, entry_start, entry_stop)
        told = self._report if report else None
        size = step(step_size)
        goes_on = is_report(on_error)
        if goes_on and virtual:
            raise InvalidArgumentError(
                'virtual=True reads nothing that on_error="report" could tell'
            )
        steps = wish.virtual_steps(
            self, entries, size, virtual=virtual, log=access_log, report=told
        )
        if steps is not None:
            return Steps(steps, [])
        selection = wish.of(self)
        if goes_on:
            return steps_with_gaps(self, selection, entries, size, report, progress)
        return selection.steps(*entries, size, report=told, progress=progress)

    @taken
    def num_entries_for(
        self,
        memory_size: int | str,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_field: Callable[[Field], bool] | None = None,
        filter_branch: Callable[[Field], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
    ) -> int:
        """About how many entries take that much memory when decoded; no page is read for it.

        Args:
            memory_size: Bytes, or a text such as ``"100 MB"``.

        The other arguments are those of :meth:`arrays`.
        """
        size = memory(memory_size)
        start, stop = entry_range(self.num_entries, entry_start, entry_stop)
        accepts = filter_field or filter_branch
        choice = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
        planned = self._planned(choice, start, stop)
        total = sum(column.decoded_bytes for each in planned for column in each.columns)
        if total == 0:
            return stop - start
        return max(1, size * (stop - start) // total)

    def __reduce__(self) -> tuple[Any, ...]:
        from .tree import _chained, _reopen

        if self._made_here:
            return _chained, ([link[:2] for link in self.links], self._added)
        return _reopen, (self._url, self._object_path, self._added)

    def __repr__(self) -> str:
        what = f"{len(self)} fields" + (f", {len(self.links)} files" if self.is_chain else "")
        return shown(f"<RNTuple {self._object_path!r} ({what}) in {self.url}>")


class Field(NothingToClose, HasFields):
    """A field of an RNTuple; itself a mapping to the fields in it."""

    def __init__(self, ntuple: RNTuple, number: int) -> None:
        self._ntuple = ntuple
        self._number: int = number

    @property
    def _info(self) -> ColumnInfo:
        return self._ntuple._columns()[self._number]

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def typename(self) -> str:
        """The C++ type as the file has it; empty for untyped collections and records."""
        return self._info.typename

    @property
    def description(self) -> str:
        return self._info.title

    @property
    def parent(self) -> RNTuple | Field:
        """What the field is directly in."""
        above = self._info.parent
        return self._ntuple if above is None else Field(self._ntuple, above)

    @property
    def path(self) -> str:
        """Names from the top to here, with dots between."""
        return self._info.path

    @property
    def file(self) -> File:
        """The file of the RNTuple."""
        return self._ntuple.file

    @property
    def top_level(self) -> bool:
        """Whether it is in no other field."""
        return self._info.parent is None

    @property
    def index(self) -> int:
        """Its position among the fields that are directly in the same one."""
        return self.parent._numbers().index(self._number)

    @property
    def interpretation(self) -> str:
        """The type of an entry in Awkward's spelling; ``unsupported`` without one."""
        try:
            return self._info.datashape()
        except UnsupportedError:
            return "unsupported"

    #: What a table of fields shows.
    _shape_shown = interpretation

    @taken
    def array(
        self,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        library: LibraryName = "ak",
        ak_add_doc: bool = False,
    ) -> Any:
        """Reads the field, in the lists that it is in.

        Args:
            entry_start, entry_stop: Half-open range of entries; None is the beginning and the
                end, negative numbers count from the end.
            library: ``"ak"``, ``"np"``, ``"pd"`` or ``"arrow"``.
            ak_add_doc: Whether an Awkward array has the field's description as its ``__doc__``.

        Raises:
            UnsupportedError: for a type that cannot be read, naming field and type.
        """
        into = _libraries.named(library)
        start, stop = entry_range(self.num_entries, entry_start, entry_stop)
        batch = self._ntuple._live().read([request(Leaf(self._info))], start, stop)
        array = into.array(cast("_core.Column", batch.columns[0]), EntrySelection(start, stop))
        return into.documented(array, {"__doc__": self.description}) if ak_add_doc else array

    @taken
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_field: Callable[[Field], bool] | None = None,
        filter_branch: Callable[[Field], bool] | None = None,
        **options: Any,
    ) -> Any:
        """Reads fields in this one, or all of it, in a table with the field at the top.

        Args:
            expressions: Names, paths or globs of fields in this one; None takes those that the
                filters accept.
            cut: As for :meth:`RNTuple.arrays`, with names of the RNTuple.
            options: Further arguments of :meth:`RNTuple.arrays`.
        """
        wanted = self._wanted(
            expressions,
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_field=filter_field,
            filter_branch=filter_branch,
        )
        return self._ntuple.arrays(wanted, cut, **options)

    @taken
    def iterate(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_field: Callable[[Field], bool] | None = None,
        filter_branch: Callable[[Field], bool] | None = None,
        **options: Any,
    ) -> Steps:
        """As :meth:`arrays`, step by step; see :meth:`RNTuple.iterate`."""
        wanted = self._wanted(
            expressions,
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_field=filter_field,
            filter_branch=filter_branch,
        )
        return self._ntuple.iterate(wanted, cut, **options)

    def _wanted(self, expressions: str | Iterable[str] | None, **filters: Any) -> list[str]:
        """Paths of the fields in this one that a call means."""
        if expressions is None:
            if not any(filters.values()):
                return [self.path]
            return [field.path for field in self.values(**filters)]
        paths = []
        for name in [expressions] if isinstance(expressions, str) else expressions:
            matching = self.values(filter_name=name) if is_glob(name) else []
            if not matching or name in self:
                matching = [self[name]]
            paths += [field.path for field in matching]
        return paths

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Field):
            return False
        return self._ntuple is other._ntuple and self._number == other._number

    def __hash__(self) -> int:
        return hash((id(self._ntuple), self._number))

    def __repr__(self) -> str:
        return shown(f"<Field {self.path!r} ({self.typename}) of {self._ntuple!r}>")
