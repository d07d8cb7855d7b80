"""Which columns a call means, and how decoded ones become its result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from . import _core, _libraries, _reinterpreted
from ._entries import EntrySelection, entry_range, steps_of_files
from ._filters import Filter, is_glob
from ._libraries import How, Library
from ._progress import Progress, Telling, Wanted, is_wanted, waited
from .errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    KeyInFileError,
    UnreadableWarning,
    warn,
)

if TYPE_CHECKING:
    from ._befriended import ChainFile
    from ._core import Mask
    from ._formulas import Cut, Formula
    from ._registry import Decoder
    from .branches import HasBranches
    from .dataset import Steps
    from .friends import OfFriend
    from .interpretation import Interpretation
    from .ntuple import RNTuple
    from .tree import Branch, Tree


Column = TypeVar("Column", "Chosen", "Chosen | Computed | OfFriend")
Ordered = TypeVar("Ordered", bound="OneColumn | Computed")

#: Whether Awkward arrays carry titles as ``__doc__``; or which attributes of the tree the whole
#: carries under which names.
Doc = bool | Mapping[str, str]


class Leaf(Protocol):
    """Something that the engine reads as one column."""

    @property
    def key(self) -> Hashable:
        """What the engine calls it."""

    @property
    def path(self) -> str:
        """What it is called in any file."""

    @property
    def decoder(self) -> Decoder | None:
        """What :func:`farroot.register` was given for its type, or None."""


class Place(Protocol):
    """Where names are looked up: a tree, a branch or an RNTuple."""

    @property
    def table(self) -> Table:
        """What is read."""

    @property
    def num_entries(self) -> int: ...

    def leaf(self, name: str, text: str) -> Leaf:
        """What a name in a formula stands for.

        Raises:
            KeyInFileError: for a name that nothing has.
            InvalidArgumentError: for one that is no column.
        """

    def chosen(self, choice: ColumnQuery) -> Sequence[OneColumn | Computed]:
        """The columns that a call means, each under another name."""


class Table(Protocol):
    """A tree or an RNTuple."""

    @property
    def aliases(self) -> Mapping[str, str]: ...

    @property
    def address(self) -> str: ...

    @property
    def is_chain(self) -> bool: ...

    @property
    def links(self) -> list[ChainFile]: ...

    def _live(self) -> Any:
        """The engine's own."""

    def _live_friends(self) -> Any:
        """Friends that were added, as the engine has them."""

    def _asked(self, key: Any, optional: bool) -> Any:
        """What the engine is told of a column; an optional one may be left out."""

    def _asked_everywhere(self, key: Any, optional: bool) -> Any:
        """The same for other files, where columns have other numbers."""


class OneColumn(Protocol):
    """A column of the result that is read, not computed."""

    @property
    def name(self) -> str: ...

    @property
    def optional(self) -> bool:
        """Whether nobody has named it: it is left out where its data cannot be read."""

    def leaves(self) -> Iterator[Leaf]:
        """What is read for it."""

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""


@dataclass(frozen=True)
class Chosen:
    """A column of the result: one branch, or several under the name of their parent."""

    name: str
    branch: Branch
    parts: tuple[Chosen, ...] | None = None
    optional: bool = False
    #: How its bytes are read, where not as the branch's own type says.
    interpretation: Interpretation | None = None

    @property
    def title(self) -> str:
        """What the file says of it."""
        return self.branch.title

    def leaves(self) -> Iterator[Branch]:
        """The branches that are read for it."""
        if self.parts is None:
            # Also tells the engine, which may be another one since the last read.
            _ = self.branch.decoder
            yield self.branch
        else:
            for part in self.parts:
                yield from part.leaves()

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""
        if self.parts is None:
            column = columns[self.branch.key]
            decode = self.branch.decoder
            if self.interpretation is not None:
                from . import _reinterpreted

                made = _reinterpreted.array(column, self.branch, self.interpretation, into)
                return into.computed(made, rows)
            return (
                into.of_branch(column, rows)
                if decode is None
                else into.computed(decode(column), rows)
            )
        there = [part for part in self.parts if part.is_in(columns)]
        return into.nested({part.name: part.array(columns, into, rows) for part in there})

    def is_in(self, columns: Mapping[Any, _core.Column]) -> bool:
        """Whether any of it has been read."""
        return any(branch.key in columns for branch in self.leaves())


@dataclass(frozen=True)
class Computed:
    """A column of the result that is computed from others."""

    name: str
    formula: Formula
    optional: bool = False

    def leaves(self) -> Iterator[Leaf]:
        """What is read for it."""
        return self.formula.leaves()

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""
        used = {leaf.key: columns[leaf.key] for leaf in self.leaves()}
        return into.computed(self.formula.evaluated(used), rows)


@dataclass(frozen=True)
class ColumnQuery:
    """What a call says about the columns and the entries that it wants."""

    expressions: str | Iterable[str] | None = None
    filter_name: Filter = None
    filter_typename: Filter = None
    filter_column: Callable[[Any], bool] | None = None
    cut: str | None = None
    aliases: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        """Raises:
        ArgumentTypeError: for what cannot be meant.
        """
        if not isinstance(self.cut, str | None):
            raise ArgumentTypeError(
                f'a cut is a formula as text, as "(n > 1) & (x > 20)", not {self.cut!r}'
            )
        if not isinstance(self.aliases, Mapping | None):
            raise ArgumentTypeError(f"aliases are a dict of names and texts, not {self.aliases!r}")
        if not (self.filter_column is None or callable(self.filter_column)):
            raise ArgumentTypeError(
                f"filter_branch and filter_field are functions, not {self.filter_column!r}"
            )

    def decides(self, place: Place) -> Cut | None:
        """What decides about entries.

        Raises:
            InvalidArgumentError: for a cut that cannot be read, or may not be evaluated.
            KeyInFileError: for a name in it that no column has.
        """
        if self.cut is None:
            return None
        from ._formulas import Cut, formula

        return Cut(formula(self.cut, place, self.all_aliases(place)))

    def all_aliases(self, place: Place) -> Mapping[str, str]:
        """The call's own aliases and those of the file."""
        return {**place.table.aliases, **(self.aliases or {})}

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
        """How the bytes of each are read, where the call says so.

        Raises:
            ArgumentTypeError: for what is no interpretation.
        """
        return _reinterpreted.pairs(self.expressions)

    def in_order(self, columns: Sequence[Ordered]) -> Sequence[Ordered]:
        """The columns as often as they are named, in the order of the names."""
        by_name = {column.name: column for column in columns}
        names = self.names()
        if set(names) != set(by_name):
            # Of globs and of branches under longer names, each comes once.
            return columns
        return [by_name[name] for name in names]


def branches_chosen(
    place: HasBranches, choice: ColumnQuery
) -> Sequence[Chosen | Computed | OfFriend]:
    """The columns that a call means, each under another name.

    Raises:
        KeyInFileError: for a name that no branch has, or a glob that none matches.
    """
    if choice.expressions is None:
        return [*_named(_accepted(_filtered(place, choice)))]
    aliases = choice.all_aliases(place)
    found: list[Chosen | Computed | OfFriend] = []
    interpreted = choice.interpretations() or {}
    for name in choice.names():
        columns = _expressed(place, name, aliases)
        wanted = interpreted.get(name)
        found.extend(columns if wanted is None else [reinterpret(each, wanted) for each in columns])
    return _named(found)


def reinterpret(column: Chosen | Computed | OfFriend, wanted: Interpretation) -> Chosen:
    """The column with its bytes read so.

    Raises:
        InvalidArgumentError: where they cannot be.
    """
    if not isinstance(column, Chosen) or column.parts is not None:
        raise InvalidArgumentError(
            f"{column.name!r} is no single branch whose bytes could be read as {wanted!r}"
        )
    if wanted == column.branch.interpretation:
        return column
    _reinterpreted.check(column.branch, wanted)
    return replace(column, interpretation=wanted)


def _filtered(place: HasBranches, choice: ColumnQuery) -> list[tuple[str, Branch]]:
    items = place.items(
        filter_name=choice.filter_name,
        filter_typename=choice.filter_typename,
        filter_branch=choice.filter_column,
        full_paths=False,
    )
    own = place.itself
    # A branch without branches stands for itself.
    return [(own.name, own)] if own is not None and not len(place) else items


def _expressed(
    place: HasBranches, text: str, aliases: Mapping[str, str]
) -> Sequence[Chosen | Computed | OfFriend]:
    branch = None if text in aliases else place.find(text)
    if branch is not None:
        return [one(text, branch)]
    if text not in aliases and (others := columns_of_friends(place.tree, text)):
        return others
    if is_glob(text):
        matching = _accepted(place.items(filter_name=text, full_paths=False))
        if matching:
            return matching
    if text not in aliases and not is_computed(text):
        if is_glob(text):
            raise KeyInFileError(f"no readable branch matches {text!r}; in {place.tree.address}")
        raise place.no_such(text)
    from ._formulas import formula

    return [Computed(text, formula(text, place, aliases))]


def columns_of_friends(place: RNTuple | Tree, text: str) -> list[Chosen | OfFriend]:
    """The columns of friends that a name, or a glob with a friend's name before it, means."""
    from .friends import OfFriend

    friends = place.friends
    if not len(friends) or (is_computed(text) and not is_glob(text)):
        return []
    column = None if is_glob(text) else friends.column(text)
    if isinstance(column, OfFriend):
        return [column]
    if column is not None:
        return [one(text, column)]
    found: list[Chosen | OfFriend] = []
    branches: list[tuple[str, Branch]] = []
    for each in friends.items_like(text) if is_glob(text) else ():
        if isinstance(each, OfFriend):
            found.append(each)
        else:
            branches.append(each)
    return [*found, *_accepted(branches)]


def is_computed(text: str) -> bool:
    """Whether a text is an expression of more than a name."""
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return not isinstance(root, (ast.Name, ast.Attribute, ast.Constant))


def one(name: str, branch: Branch, optional: bool = False) -> Chosen:
    """A branch as a column of its own; one that only groups others as those, nested."""
    if not branch.is_group:
        return Chosen(name, branch, None, optional)
    parts = [one(child.name, child, optional) for child in branch.branches]
    return Chosen(name, branch, tuple(_named(parts)), optional)


def _accepted(items: list[tuple[str, Branch]]) -> list[Chosen]:
    """Columns of branches that a filter has let through.

    A branch that only groups others is left out where each of those comes by itself.
    What cannot be read is left out with a warning.
    """
    leaves = {branch.number for _, branch in items if not branch.is_group}
    chosen: list[Chosen] = []
    nested: set[int] = set()
    unreadable: list[Branch] = []
    for name, branch in items:
        if branch.number in nested:
            continue
        if branch.is_group:
            below = branch.values()
            own = [b for b in below if not b.is_group]
            if all(b.number in leaves for b in own) or not all(b.is_readable for b in own):
                continue
            nested.update(b.number for b in below)
            chosen.append(one(name, branch, optional=True))
        elif branch.is_readable:
            chosen.append(one(name, branch, optional=True))
        else:
            unreadable.append(branch)
    if unreadable:
        _warn(unreadable)
    return chosen


def _warn(unreadable: list[Branch]) -> None:
    shown = ", ".join(f"{branch.path} ({branch.typename})" for branch in unreadable[:5])
    more = f" and {len(unreadable) - 5} more" if len(unreadable) > 5 else ""
    warn(
        f"left out, since this version cannot read them: {shown}{more}; "
        f"in {unreadable[0].tree.address}",
        UnreadableWarning,
    )


def _named(chosen: Sequence[Column]) -> list[Column]:
    """The same columns, each branch once; of those of one name, later ones by their path."""
    taken: dict[str, Column] = {}
    for each in chosen:
        before = taken.get(each.name)
        if before is None:
            taken[each.name] = each
        elif not isinstance(each, Chosen) or not isinstance(before, Chosen):
            continue
        elif before.branch.key == each.branch.key:
            taken[each.name] = replace(before, optional=before.optional and each.optional)
        elif each.branch.path not in taken:
            taken[each.branch.path] = replace(each, name=each.branch.path)
    return list(taken.values())


@dataclass(frozen=True)
class ReadRequest:
    """What a call of `arrays`, `iterate` or `concatenate` says, checked before anything is read."""

    choice: ColumnQuery
    into: Library
    how: How
    doc: Doc = False

    @classmethod
    def checked(cls, choice: ColumnQuery, library: str, how: How, doc: Doc = False) -> ReadRequest:
        """Raises:
        InvalidArgumentError: for a library that there is not.
        """
        return cls(choice, _libraries.named(library), how, doc)

    def of(self, place: Place) -> Selection:
        """The columns of one table; errors as `Place.chosen`."""
        cut = self.choice.decides(place)
        chosen = place.chosen(self.choice)
        if self.how is tuple or self.how is list:
            chosen = self.choice.in_order(chosen)
        return Selection(place.table, chosen, cut, self.into, self.how, self.doc)

    def virtual_steps(
        self,
        place: Place,
        entries: tuple[int, int],
        step: dict[str, int],
        *,
        virtual: bool,
        log: list[Any] | None,
        report: Callable[[int, int], Any] | None = None,
    ) -> Iterator[Any] | None:
        """Steps whose columns are read when somebody looks at them; None where all are read.

        Raises:
            InvalidArgumentError: for what cannot go together with ``virtual=True``.
        """
        if not virtual:
            if log is not None:
                raise InvalidArgumentError("access_log needs virtual=True")
            return None
        from ._virtual import check

        check(self)
        return self.of(place).virtual_steps(*entries, step, log, report=report)

    def read(
        self,
        place: Place,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        progress: Wanted = None,
    ) -> Any:
        """Columns of a range of entries, all at once."""
        selection = self.of(place)
        start, stop = entry_range(place.num_entries, entry_start, entry_stop)
        telling = selection.telling(progress, start, stop, 1)
        if telling is None:
            return selection.read(start, stop)
        try:
            arrays = telling.waited(lambda: selection.read(start, stop))
            telling.step(stop - start)
        finally:
            telling.close()
        return arrays


@dataclass(frozen=True)
class Selection:
    """Columns of one table, and what becomes of them."""

    table: Table
    chosen: Sequence[OneColumn | Computed]
    cut: Cut | None
    into: Library
    how: How
    #: Which texts of the file the arrays carry.
    doc: Doc = False

    @property
    def keys(self) -> list[Hashable]:
        """What is to be read, each once."""
        keys = (leaf.key for each in self.chosen for leaf in each.leaves())
        return list(dict.fromkeys(keys))

    @property
    def keys_with_cut(self) -> list[Hashable]:
        """The same and what only the cut needs."""
        return list(dict.fromkeys([*self.keys, *([] if self.cut is None else self.cut.keys)]))

    def _asked(self, of_table: Callable[[Any, bool], Any]) -> list[Any]:
        """What the engine is told of the keys; required is what only one column requires."""
        named = {leaf.key for each in self.chosen if not each.optional for leaf in each.leaves()}
        return [of_table(key, key not in named) for key in self.keys]

    @property
    def asked(self) -> list[Any]:
        """The columns as they are asked for of the table itself."""
        return self._asked(self.table._asked)

    @property
    def asked_everywhere(self) -> list[Any]:
        """The columns as they are asked for in any file."""
        return self._asked(self.table._asked_everywhere)

    @property
    def decision(self) -> tuple[list[Hashable], Mask] | None:
        """What the engine is told of the cut: the columns that decide, and how."""
        return None if self.cut is None else (self.cut.keys, self.cut.mask)

    @property
    def decision_by_path(self) -> tuple[list[str], Mask] | None:
        """The same for other files."""
        if self.cut is None:
            return None
        paths = [leaf.path for leaf in self.cut.leaves()]
        return paths, self.cut.mask

    def read(self, start: int, stop: int) -> Any:
        """Columns of the entries ``start`` to ``stop``, all at once."""
        friends = self.table._live_friends()
        core = self.table._live()
        survivors, columns = core.read(self.asked, start, stop, self.decision, friends=friends)
        self.warn_of(columns)
        return self.assemble(columns, EntrySelection(start, stop, survivors))

    def telling(self, progress: Wanted, start: int, stop: int, steps: int | None) -> Telling | None:
        """What tells how far reading these entries in so many steps is, where that is wanted."""
        if not is_wanted(progress):
            return None
        core, is_chain = self.table._live(), self.table.is_chain
        friends = self.table._live_friends()
        begun = Progress(entries_total=stop - start, steps_total=steps)
        if is_chain:
            return Telling(progress, begun)
        tables = core.plan(self.asked, start, stop, friends=friends)
        if self.cut is None:
            stored = sum(column[2] for *_, columns, _ in tables for column in columns)
            begun = replace(begun, bytes_total=stored)
        return Telling(progress, begun, core.file if len(tables) == 1 else None)

    def steps(
        self,
        start: int,
        stop: int,
        step: dict[str, int],
        *,
        report: Callable[[int, int], Any] | None = None,
        progress: Wanted = None,
    ) -> Steps:
        """Columns step by step; reading begins with the call.

        Args:
            report: Says with each step which entries it holds.
            progress: Who is told how far it is.
        """
        from .dataset import Steps

        if not self.chosen:
            return Steps(iter(()), [], 0)
        friends = self.table._live_friends()
        core = self.table._live()
        batches = core.batches(self.asked, start, stop, self.decision, friends=friends, **step)
        total = batches.steps
        if total is None and "step_entries" in step:
            total = steps_of_files(self.table.links, start, stop, step["step_entries"])
        telling = self.telling(progress, start, stop, total)
        return Steps(self._steps(batches, report, telling), [], total)

    def _steps(
        self,
        batches: _core.Batches,
        report: Callable[[int, int], Any] | None,
        telling: Telling | None,
    ) -> Iterator[Any]:
        is_first = True
        try:
            while (batch := waited(telling, batches.next)) is not None:
                start, stop, survivors, columns = batch
                if is_first:
                    self.warn_of(columns)
                is_first = False
                made = [self.assemble(columns, EntrySelection(start, stop, survivors))]
                # While the caller works on a step, and on the next one, only the caller has it.
                del batch, columns
                if telling is not None:
                    telling.step(stop - start)
                yield made.pop() if report is None else (made.pop(), report(start, stop))
        finally:
            if telling is not None:
                telling.close()

    def virtual_steps(
        self,
        start: int,
        stop: int,
        step: dict[str, int],
        log: list[Any] | None,
        *,
        report: Callable[[int, int], Any] | None = None,
    ) -> Iterator[Any]:
        """As `steps`, of columns that are read when somebody looks at them."""
        from ._virtual import column

        keys = self.keys
        friends = self.table._live_friends()
        lazy = self.table._live().lazy(keys, start, stop, friends=friends, **step)

        def unread(leaf: Leaf, begin: int, end: int) -> Any:
            return column(lazy, leaf, keys.index(leaf.key), begin, end, log)

        while (batch := lazy.next()) is not None:
            begin, end = batch
            read = partial(unread, begin=begin, end=end)
            arrays = {each.name: _virtual(each, read) for each in self.chosen}
            made = [self.into.table(arrays, EntrySelection(begin, end))]
            del arrays
            yield made.pop() if report is None else (made.pop(), report(begin, end))

    def warn_of(self, columns: Sequence[_core.Column | _core.LeftOut]) -> None:
        """Tells of the columns that only their data have shown to be unreadable."""
        for column in columns:
            if isinstance(column, _core.LeftOut):
                what = "left out, since this version cannot read its data"
                warn(f"{what}: {column.reason}; in {self.table.address}", UnreadableWarning)

    def assemble(
        self, columns: Sequence[_core.Column | _core.LeftOut], rows: EntrySelection
    ) -> Any:
        """Decoded columns, in the order of `keys`, as the caller wants them."""
        by_key = {
            key: column
            for key, column in zip(self.keys, columns, strict=True)
            if not isinstance(column, _core.LeftOut)
        }
        chosen = [
            each
            for each in self.chosen
            if not each.optional or any(leaf.key in by_key for leaf in each.leaves())
        ]
        columns_by_name = {each.name: each for each in chosen}
        arrays = {
            name: self._documented(each, by_key, rows) for name, each in columns_by_name.items()
        }
        names = [each.name for each in chosen]
        grouped = _libraries.group(self.into, self.how, arrays, names, rows)
        if self.doc and self.how in (None, "zip"):
            return self.into.documented(grouped, self._texts())
        return grouped

    def _documented(
        self, each: OneColumn | Computed, columns: Mapping[Any, _core.Column], rows: EntrySelection
    ) -> Any:
        array = each.array(columns, self.into, rows)
        title = each.title if self.doc and isinstance(each, Chosen) else None
        return array if title is None else self.into.documented(array, {"__doc__": title})

    def _texts(self) -> dict[str, Any]:
        if isinstance(self.doc, Mapping):
            return {key: getattr(self.table, name) for key, name in self.doc.items()}
        return {"__doc__": getattr(self.table, "title", None)}


def _virtual(each: OneColumn | Computed, read: Callable[[Leaf], Any]) -> Any:
    from ._libraries.awkward import Awkward

    if isinstance(each, Computed):
        raise InvalidArgumentError(f"virtual=True reads nothing to compute {each.name!r} with")
    if isinstance(each, Chosen) and each.interpretation is not None:
        raise InvalidArgumentError(f"virtual=True reads {each.name!r} as its type says only")
    if isinstance(each, Chosen) and each.parts is not None:
        return Awkward().nested({part.name: _virtual(part, read) for part in each.parts})
    (leaf,) = each.leaves()
    return read(leaf)
