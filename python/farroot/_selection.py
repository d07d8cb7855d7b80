"""Columns that a call selects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from . import _complex, _core, _reinterpreted
from ._filters import Filter, column_filter
from ._formulas import Cut, EachFiles, Formula, formula
from ._leaves import AliasInfo, Leaf
from ._registry import custom_interpretation, has_interpretations
from .errors import (
    ArgumentTypeError,
    HiddenAliasWarning,
    InvalidArgumentError,
    KeyInFileError,
    UnreadableWarning,
    warn,
)

if TYPE_CHECKING:
    from ._core import ColumnInfo
    from ._entries import EntrySelection
    from ._libraries import Library
    from ._protocols import Branch, Table
    from ._types import ColumnOptions
    from .interpretation import Interpretation


Column = TypeVar("Column", "Chosen", "Chosen | Computed")
Ordered = TypeVar("Ordered", bound="Chosen | Computed")


class Place(Protocol):
    """Where names are looked up: a tree, a branch or an RNTuple."""

    @property
    def num_entries(self) -> int: ...

    @property
    def table(self) -> Table:
        """The table that is read."""

    @property
    def _number(self) -> int | None:
        """Below which of the table's columns names are looked up first."""

    def _filtered(self, choice: ColumnQuery) -> list[tuple[str, ColumnInfo]]:
        """The columns that the filters of a call accept, by name."""


@dataclass(frozen=True)
class Chosen:
    """A column of the result that is read: one, or several under the name of their parent."""

    name: str
    leaf: Leaf
    parts: tuple[Chosen, ...] | None = None
    #: Whether it is left out where its data cannot be read, since the caller did not name it.
    optional: bool = False
    #: The branch and how its bytes are read, where not as the branch's own type says.
    reinterpreted: tuple[Branch, Interpretation] | None = None
    #: Whether another column has its name and its path, so that it has its address for a name.
    is_double: bool = False

    @property
    def title(self) -> str | None:
        """The title of a branch in the file."""
        return self.leaf.column.title if self.leaf.info.is_branch else None

    def leaves(self) -> Iterator[Leaf]:
        """The columns that are read for it."""
        if self.parts is None:
            yield self.leaf
        else:
            for part in self.parts:
                yield from part.leaves()

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""
        if self.parts is not None:
            there = [part for part in self.parts if part.is_in(columns)]
            numbers = self._complex(columns)
            if numbers is not None:
                return into.array(numbers, rows)
            return into.nested({part.name: part.array(columns, into, rows) for part in there})
        column, decode = columns[self.leaf.key], self.leaf.decoder
        if self.reinterpreted is not None:
            entries = rows.start, rows.stop
            array = _reinterpreted.array(column, *self.reinterpreted, into, entries)
            return into.computed(array, rows)
        if decode is not None:
            return into.computed(decode(column), rows)
        is_branch = self.leaf.info.is_branch
        return into.of_branch(column, rows) if is_branch else into.array(column, rows)

    def _complex(self, columns: Mapping[Any, _core.Column]) -> _core.Column | None:
        """The numbers of a ``std::complex`` that was split into its real and imaginary parts."""
        parts = self.parts or ()
        names = [part.name.rpartition(".")[2] for part in parts]
        dtype = _complex.dtype_of(self.leaf.info.typename)
        if names != ["_real", "_imag"] or dtype is None:
            return None
        found = [columns.get(part.leaf.key) for part in parts if part.parts is None]
        return _complex.joined(dtype, *found) if len(found) == 2 else None

    def is_in(self, columns: Mapping[Any, _core.Column]) -> bool:
        """Whether any of it has been read."""
        return any(leaf.key in columns for leaf in self.leaves())


@dataclass(frozen=True)
class Computed:
    """A column of the result that is computed from others."""

    name: str
    formula: Formula
    optional: bool = False

    def leaves(self) -> Iterator[Leaf]:
        """The columns that are read for it."""
        return self.formula.leaves()

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from the engine's columns by key: itself or, of columns with decoders, those
        that it is computed from."""
        if not self.formula.is_decoded:
            return into.array(columns[self.name], rows)
        used = {leaf.key: columns[leaf.key] for leaf in self.leaves()}
        return into.array(self.formula.column(used, rows), rows)


@dataclass(frozen=True)
class ColumnQuery:
    """A call's choice of columns and entries."""

    expressions: str | Iterable[str] | None = None
    filter_name: Filter = None
    filter_typename: Filter = None
    filter_column: Callable[[Any], bool] | None = None
    cut: str | None = None
    aliases: Mapping[str, str] | None = None
    #: Whether it is of many files, each of which has aliases of its own.
    of_many: bool = False

    @classmethod
    def of(
        cls, expressions: str | Iterable[str] | None, cut: str | None, options: ColumnOptions
    ) -> ColumnQuery:
        """The columns that a call with these options names."""
        return cls(
            expressions,
            options.get("filter_name"),
            options.get("filter_typename"),
            column_filter(options.get("filter_branch"), options.get("filter_field")),
            cut,
            options.get("aliases"),
        )

    def __post_init__(self) -> None:
        """Raises:
        ArgumentTypeError: for arguments of other types.
        """
        if not isinstance(self.cut, str | None):
            raise ArgumentTypeError(
                f'a cut is a formula as text, as "(n > 1) & (x > 20)", not {self.cut!r}'
            )
        if not isinstance(self.aliases, Mapping | None):
            raise ArgumentTypeError(f"aliases are a dict of names and texts, not {self.aliases!r}")

    def decides(self, place: Place) -> Cut | None:
        """The cut of entries.

        Raises:
            InvalidArgumentError: for a cut that cannot be read, or may not be evaluated.
            KeyInFileError: for a name in it that no column has.
        """
        if self.cut is None:
            return None
        decides = _formula(self.cut, place, self.all_aliases(place))
        if decides.total is None:
            return Cut(decides)
        if place.table.is_chain:
            raise InvalidArgumentError(
                f"the cut {self.cut!r} counts entries, which in a chain are those of each file: "
                "read its files one by one"
            )
        return Cut(decides, None if decides.meant else _any_leaf(place))

    def all_aliases(self, place: Place) -> Mapping[str, str]:
        """The call's own aliases and those of the file, as far as no column has their name."""
        kept: Mapping[str, str] = place.table.aliases
        if self.of_many:
            kept = {name: EachFiles(text) for name, text in kept.items()}
        found = {**kept, **(self.aliases or {})}
        return _Unhidden(place, found) if found else found

    def overrides(self) -> list[tuple[str, str]]:
        """The call's own aliases where each of many files has others."""
        return list((self.aliases or {}).items()) if self.of_many else []

    def names(self) -> list[str]:
        """The expressions, one by one.

        Raises:
            InvalidArgumentError: where one is no string.
        """
        if self.expressions is None:
            return []
        if (interpreted := self.interpretations()) is not None:
            return list(interpreted)
        if not isinstance(self.expressions, Iterable):
            raise ArgumentTypeError(
                f"expressions are a text or several of them, not {self.expressions!r}"
            )
        names = [self.expressions] if isinstance(self.expressions, str) else [*self.expressions]
        for name in names:
            if not isinstance(name, str):
                raise ArgumentTypeError(f"an expression is a string, not {name!r}")
        return names

    def interpretations(self) -> dict[str, Interpretation | None] | None:
        """How the bytes of each are read, where the call gives it.

        Raises:
            ArgumentTypeError: for anything but an interpretation.
        """
        is_text = isinstance(self.expressions, str | None)
        return None if is_text else _reinterpreted.pairs(self.expressions)

    def in_order(self, columns: Sequence[Ordered]) -> Sequence[Ordered]:
        """The columns as often as they are named, in the order of the names."""
        by_name = {column.name: column for column in columns}
        names = self.names()
        if set(names) != set(by_name):
            # Of globs and of branches under longer names, each comes once.
            return columns
        return [by_name[name] for name in names]


class _Unhidden(Mapping[str, str]):
    """Aliases; one that has the name of a column is none: as in ROOT and uproot, the column is
    read, with a warning."""

    def __init__(self, place: Place, aliases: Mapping[str, str]) -> None:
        self._place = place
        self._aliases = aliases
        self._seen: dict[str, bool] = {}

    def __getitem__(self, name: str) -> str:
        formula = self._aliases[name]
        if self._is_hidden(name):
            raise KeyError(name)
        return formula

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._aliases if not self._is_hidden(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _is_hidden(self, name: str) -> bool:
        if name not in self._seen:
            core = self._place.table._live()
            self._seen[name] = core.has_column(name, self._place._number)
            if self._seen[name]:
                warn(
                    f"{name!r} is a column and an alias, {self._aliases[name]!r}: the column is "
                    f"read; give the alias another name; in {self._place.table.address}",
                    HiddenAliasWarning,
                )
        return self._seen[name]


def chosen_columns(place: Place, choice: ColumnQuery) -> list[Chosen | Computed]:
    """The columns that a call means, each under another name: of an RNTuple first its own fields,
    in the order of the file.

    Raises:
        KeyInFileError: for a name that no column has, or a glob that none matches.
    """
    core = place.table._live()
    is_tree = core.is_tree
    if choice.expressions is None:
        accepted = place._filtered(choice)
        return _distinct(_accepted(place, accepted) if is_tree else _readable(place, accepted))
    aliases = choice.all_aliases(place)
    interpreted = choice.interpretations() or {}
    fields: list[ColumnInfo] = []
    found: list[Chosen | Computed] = []
    for text in choice.names():
        wanted = interpreted.get(text)
        infos = [] if text in aliases else core.resolve(text, place._number)
        columns: Sequence[Chosen | Computed]
        if infos and not is_tree and infos[0].friend is None:
            if wanted is not None:
                raise InvalidArgumentError(f"the field {text!r} is read as its type says only")
            fields += infos
            continue
        columns = _columns(place, text, infos)
        if not columns:
            columns = [_computed(place, text, aliases)]
        if wanted is None:
            found += [as_registered(place.table, column) for column in columns]
        else:
            found += [reinterpret(place, column, wanted) for column in columns]
    return _distinct([*_pruned(place, fields), *found])


def _columns(place: Place, text: str, infos: list[ColumnInfo]) -> list[Chosen]:
    """The columns that a text stands for: the one of this name, or those that match a glob."""
    if not infos:
        return []
    if not _core.is_glob(text) or infos[0].path == text:
        return [one(text, infos[0])]
    if not infos[0].is_branch:
        return [one(info.path, info) for info in infos]
    prefix = "" if infos[0].friend is None else f"{infos[0].friend}."
    return _accepted(place, [(prefix + info.name, info) for info in infos])


def _computed(place: Place, text: str, aliases: Mapping[str, str]) -> Computed:
    try:
        return Computed(text, _formula(text, place, aliases))
    except (InvalidArgumentError, KeyInFileError) as error:
        if not _core.is_glob(text) or text in aliases:
            raise
        nothing = f"nothing that can be read matches {text!r}"
        if isinstance(error, KeyInFileError):
            # It may have been meant as a product.
            raise KeyInFileError(f"{nothing}, and as a formula: {error}") from None
    raise KeyInFileError(f"{nothing}; in {place.table.address}")


def _formula(text: str, place: Place, aliases: Mapping[str, str]) -> Formula:
    """Reads a formula; errors as :func:`formula`, and `KeyInFileError` for an unknown name."""

    def leaf(name: str, of_root: bool) -> Leaf:
        if name in aliases:
            return Leaf(AliasInfo(name))
        return Leaf(place.table._live().column(name, place._number, of_root=of_root))

    return formula(text, leaf, aliases, lambda: place.num_entries)


def _any_leaf(place: Place) -> Leaf | None:
    """A column that can be read as it is."""
    leaves = (Leaf(info) for info in place.table._columns() if not info.is_group)
    return next((leaf for leaf in leaves if leaf.decoder is None and leaf.shape), None)


def reinterpret(place: Place, column: Chosen | Computed, wanted: Interpretation) -> Chosen:
    """The column with its bytes read so.

    Raises:
        InvalidArgumentError: where they cannot be.
    """
    if not isinstance(column, Chosen) or column.parts is not None:
        raise InvalidArgumentError(
            f"{column.name!r} is no single branch whose bytes could be read as {wanted!r}"
        )
    branch = place.table._column_of(column.leaf.column)
    if _reinterpreted.is_of_bytes(wanted):
        return _of_bytes(column, branch, wanted)
    if wanted == _reinterpreted.stored(branch):
        return column
    _reinterpreted.check(branch, wanted)
    return replace(column, reinterpreted=(branch, wanted))


def as_registered(table: Table, column: Column) -> Column:
    """The column, read by the interpretation that the program has registered for its branch, if
    any."""
    if not isinstance(column, Chosen) or not has_interpretations():
        return column
    if column.parts is not None:
        return replace(column, parts=tuple(as_registered(table, part) for part in column.parts))
    found = _registered(table, column.leaf.column)
    return column if found is None else _of_bytes(column, *found)


def _registered(table: Table, info: ColumnInfo) -> tuple[Branch, Interpretation] | None:
    """A branch and the registered interpretation that matches it; None without one."""
    if not info.is_branch or not has_interpretations():
        return None
    branch = table._column_of(info)
    found = custom_interpretation(branch)
    return None if found is None else (branch, found)


def _of_bytes(column: Chosen, branch: Branch, wanted: Interpretation) -> Chosen:
    return replace(column, leaf=replace(column.leaf, is_raw=True), reinterpreted=(branch, wanted))


def one(name: str, info: ColumnInfo, optional: bool = False) -> Chosen:
    """A column of its own; a branch that only groups others as those, nested."""
    if not info.is_group:
        return Chosen(name, Leaf(info), None, optional)
    parts = _distinct([one(child.name, child, optional) for child in info.children()])
    return Chosen(name, Leaf(info), tuple(parts), optional)


def _accepted(place: Place, items: list[tuple[str, ColumnInfo]]) -> list[Chosen]:
    """Columns of branches that a filter has let through.

    A branch that only groups others is left out where each of those comes by itself. A branch that
    cannot be read is left out with a warning.
    """
    leaves = {info.number for _, info in items if not info.is_group}
    chosen: list[Chosen] = []
    nested: set[int] = set()
    unreadable: list[ColumnInfo] = []
    for name, info in items:
        if info.number in nested:
            continue
        if info.is_group:
            below = list(_below(info))
            own = [each for each in below if not each.is_group]
            is_whole = all(each.number in leaves for each in own)
            if is_whole or not all(_is_readable(place, each) for each in own):
                continue
            nested.update(each.number for each in below)
            chosen.append(as_registered(place.table, one(name, info, optional=True)))
        elif _is_readable(place, info):
            chosen.append(as_registered(place.table, one(name, info, optional=True)))
        else:
            unreadable.append(info)
    _warn(place, unreadable)
    return chosen


def _is_readable(place: Place, info: ColumnInfo) -> bool:
    return Leaf(info).is_readable or _registered(place.table, info) is not None


def _below(info: ColumnInfo) -> Iterator[ColumnInfo]:
    """All columns in one, depth first."""
    for child in info.children():
        yield child
        yield from _below(child)


def _pruned(place: Place, fields: list[ColumnInfo]) -> list[Chosen]:
    """Fields at the top, each with the requested parts of it."""
    if not fields:
        # Listing the columns of a tree takes longer than finding some by name.
        return []
    infos = place.table._columns()
    keep: dict[int, list[str]] = {}
    for field in fields:
        top = field
        while (above := top.parent) is not None:
            top = infos[above]
        keep.setdefault(top.number, []).append(field.address)
    tops = sorted(keep)
    return [Chosen(infos[top].name, Leaf(infos[top], tuple(keep[top]))) for top in tops]


def _readable(place: Place, fields: list[tuple[str, ColumnInfo]]) -> list[Chosen]:
    columns = _pruned(place, [info for _, info in fields])
    _warn(place, [column.leaf.column for column in columns if not column.leaf.is_readable])
    return [column for column in columns if column.leaf.is_readable]


def _warn(place: Place, unreadable: list[ColumnInfo]) -> None:
    if not unreadable:
        return
    shown = ", ".join(f"{info.path} ({info.typename})" for info in unreadable[:5])
    more = f" and {len(unreadable) - 5} more" if len(unreadable) > 5 else ""
    warn(
        f"left out, since this version cannot read them: {shown}{more}; in {place.table.address}",
        UnreadableWarning,
    )


def without_doubles(table: Table, columns: Sequence[Ordered]) -> list[Ordered]:
    """The columns without those whose names others have, with a warning."""
    doubles = [each.name for each in columns if isinstance(each, Chosen) and each.is_double]
    if doubles:
        warn(
            f"left out, since another column has the same name: {', '.join(doubles)}; how=tuple "
            f"and how=list have both; in {table.address}",
            UnreadableWarning,
        )
    return [each for each in columns if each.name not in doubles]


def _distinct(columns: Sequence[Column]) -> list[Column]:
    """The same columns, each branch once; of those of one name, later ones by their path, and of
    those of one path by their address."""
    taken: dict[str, Column] = {}
    for each in columns:
        before = taken.get(each.name)
        if before is None:
            taken[each.name] = each
        elif not isinstance(each, Chosen) or not isinstance(before, Chosen):
            continue
        elif before.leaf.key == each.leaf.key:
            taken[each.name] = replace(before, optional=before.optional and each.optional)
        elif each.leaf.path not in taken:
            taken[each.leaf.path] = replace(each, name=each.leaf.path)
        elif (address := each.leaf.info.address) not in taken:
            taken[address] = replace(each, name=address, is_double=True)
    return list(taken.values())
