"""RNTuples and their fields."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _core
from ._arrays import Readable
from ._kinds import makes
from ._leaves import Leaf
from ._locks import cached_property
from ._reading import Selection
from ._selection import Chosen, ColumnQuery, Place
from ._shown import shown
from ._table import ColumnOf, InFile
from .errors import KeyInFileError
from .pages import ColumnPages

if TYPE_CHECKING:
    from ._types import LibraryName
    from .attributes import AttributeSets


class HasFields(Readable["Field"]):
    """A mapping from names to fields."""

    _separator = "."
    _kind = "field"
    _table: RNTuple

    @property
    def ntuple(self) -> RNTuple:
        """The RNTuple itself, or the one that the field is in."""
        return self._table

    @property
    def fields(self) -> list[Field]:
        """The fields directly below, in the order of the file."""
        return self._direct()

    def _size_of(self, selection: Selection, start: int, stop: int) -> tuple[int, int]:
        planned = selection.plan(start, stop)
        decoded = sum(column.decoded_bytes for each in planned for column in each.columns)
        return decoded, stop - start


@makes("ntuple")
class RNTuple(InFile["Field"], HasFields):  # type: ignore[override]
    """An RNTuple of an open file: a mapping from names to fields, with entries to be read.

    It survives ``pickle`` and ``os.fork`` by its address: in another process, it is opened again
    when first used.

    A chain of RNTuples is one too, with the fields of the first and the entries of all.

    Example:
        >>> staff = farroot.open("staff.root:Staff")
        >>> staff.keys()
        ['name', 'age']
        >>> staff.arrays("name", "age > 35").tolist()
        [{'name': 'Ada'}, {'name': 'Bo'}]
    """

    _called, _parts = "RNTuple", "fields"

    def _made_of(self, number: int) -> Field:
        return Field(self, number)

    @property
    def classname(self) -> str:
        """``ROOT::RNTuple``."""
        return self._live().file.class_at(self._object_path)

    @property
    def description(self) -> str:
        """The description in the file."""
        return self._live().title

    @cached_property
    def all_members(self) -> dict[str, int]:
        """The members of its anchor, by ROOT's names: format version, places of its envelopes."""
        return dict(self._live().anchor())

    def member(self, name: str) -> int:
        """One of :attr:`all_members`.

        Raises:
            KeyInFileError: where there is none of that name.
        """
        if name not in self.all_members:
            raise KeyInFileError(
                f"an RNTuple has no member {name!r}; it has {', '.join(self.all_members)}"
            )
        return self.all_members[name]

    @cached_property
    def page_link_list(self) -> list[list[ColumnPages]]:
        """Where the pages of each column are, cluster by cluster.

        A field has no column or several; :meth:`File.map` names the field of each page.
        """
        lists = self._live().page_lists()
        return [[ColumnPages.of(column) for column in cluster] for cluster in lists]

    @property
    def attributes(self) -> AttributeSets:
        """The attribute sets that are linked to it, by name: RNTuples about ranges of entries.

        Of a chain there are none: look at the RNTuples of its files.
        """
        from .attributes import AttributeSets

        return AttributeSets(self)


class Field(ColumnOf["Field"], HasFields):
    """A field of an RNTuple; itself a mapping to the fields in it.

    Example:
        >>> field = farroot.open("staff.root:Staff")["age"]
        >>> field.typename, field.array(library="np")
        ('std::int64_t', array([36, 41, 29]))
    """

    @property
    def description(self) -> str:
        """The description in the file."""
        return self._info.title

    @property
    def interpretation(self) -> str:
        """The type of an entry in Awkward's spelling; ``unsupported`` without one."""
        return self._shape_shown

    def array(
        self,
        entry_start: float | None = None,
        entry_stop: float | None = None,
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
        column = Chosen(self.name, Leaf(self._info))
        return self._alone(column, entry_start, entry_stop, library, ak_add_doc)

    async def aarray(
        self,
        entry_start: float | None = None,
        entry_stop: float | None = None,
        *,
        library: LibraryName = "ak",
        ak_add_doc: bool = False,
    ) -> Any:
        """As :meth:`array`, with its arguments, to be awaited in a program of asyncio.

        Cancelling the task ends the read.
        """
        from ._awaited import awaited

        entries = entry_start, entry_stop
        read = partial(self.array, *entries, library=library, ak_add_doc=ak_add_doc)
        return await awaited(read)

    def _asked(self, query: ColumnQuery) -> tuple[Place, ColumnQuery]:
        """In the RNTuple, with the paths of the chosen fields in this one."""
        return self._table, replace(
            query,
            expressions=self._paths(query),
            filter_name=None,
            filter_typename=None,
            filter_column=None,
        )

    def _paths(self, query: ColumnQuery) -> list[str]:
        filters = (query.filter_name, query.filter_typename, query.filter_column)
        if query.expressions is None:
            if not any(filters):
                return [self.path]
            return [field.path for _, field in self._items(*filters)]
        paths = []
        for name in query.names():
            matching = self.values(filter_name=name) if _core.is_glob(name) else []
            if not matching or name in self:
                matching = [self[name]]
            paths += [field.path for field in matching]
        return paths

    def __repr__(self) -> str:
        return shown(f"<Field {self.path!r} ({self.typename}) of {self._table!r}>")
