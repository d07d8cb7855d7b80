"""Which columns a call means, and how decoded ones become its result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core, _libraries
from ._entries import Rows, entry_range
from ._filters import Filter, is_glob
from ._libraries import How, Library
from .errors import InvalidArgumentError, KeyInFileError, UnreadableWarning, warn

if TYPE_CHECKING:
    from ._core import Mask
    from ._formulas import Cut, Formula
    from .branches import HasBranches
    from .tree import Branch, Tree


@dataclass(frozen=True)
class Chosen:
    """A column of the result: one branch, or several under the name of their parent."""

    name: str
    branch: Branch
    parts: tuple[Chosen, ...] | None = None

    def leaves(self) -> Iterator[Branch]:
        """The branches that are read for it."""
        if self.parts is None:
            yield self.branch
        else:
            for part in self.parts:
                yield from part.leaves()


@dataclass(frozen=True)
class Computed:
    """A column of the result that is computed from others."""

    name: str
    formula: Formula

    def leaves(self) -> Iterator[Branch]:
        """The branches that are read for it."""
        return self.formula.branches()


@dataclass(frozen=True)
class Choice:
    """What a call says about the columns and the entries that it wants."""

    expressions: str | Iterable[str] | None = None
    filter_name: Filter = None
    filter_typename: Filter = None
    filter_branch: Callable[[Branch], bool] | None = None
    cut: str | None = None
    aliases: Mapping[str, str] | None = None

    def decides(self, place: HasBranches) -> Cut | None:
        """What decides about entries.

        Raises:
            InvalidArgumentError: for a cut that cannot be read, or may not be evaluated.
            KeyInFileError: for a name in it that no branch has.
        """
        if self.cut is None:
            return None
        from ._formulas import Cut, formula

        return Cut(formula(self.cut, place, self._aliases(place)))

    def _aliases(self, place: HasBranches) -> Mapping[str, str]:
        return {**place.tree.aliases, **(self.aliases or {})}

    def of(self, place: HasBranches) -> list[Chosen | Computed]:
        """The columns, each under another name.

        Raises:
            KeyInFileError: for a name that no branch has, or a glob that none matches.
        """
        if self.expressions is None:
            return [*_named(_accepted(self._filtered(place)))]
        aliases = self._aliases(place)
        one = isinstance(self.expressions, str)
        names = [self.expressions] if one else list(self.expressions)
        found: list[Chosen | Computed] = []
        for name in names:
            if not isinstance(name, str):
                raise InvalidArgumentError(f"an expression is a string, not {name!r}")
            found.extend(_expressed(place, name, aliases))
        return _named(found)

    def _filtered(self, place: HasBranches) -> list[tuple[str, Branch]]:
        items = place.items(
            filter_name=self.filter_name,
            filter_typename=self.filter_typename,
            filter_branch=self.filter_branch,
            full_paths=False,
        )
        own = place.itself
        # A branch without branches stands for itself.
        return [(own.name, own)] if own is not None and not len(place) else items


def _expressed(
    place: HasBranches, text: str, aliases: Mapping[str, str]
) -> Sequence[Chosen | Computed]:
    branch = None if text in aliases else place.find(text)
    if branch is not None:
        return [one(text, branch)]
    if is_glob(text):
        matching = _accepted(place.items(filter_name=text, full_paths=False))
        if matching:
            return matching
    if text not in aliases and not _is_computed(text):
        if is_glob(text):
            raise KeyInFileError(f"no readable branch matches {text!r}; in {place.tree.address}")
        raise place.no_such(text)
    from ._formulas import formula

    return [Computed(text, formula(text, place, aliases))]


def _is_computed(text: str) -> bool:
    """Whether a text is an expression of more than a name."""
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return not isinstance(root, (ast.Name, ast.Attribute, ast.Constant))


def one(name: str, branch: Branch) -> Chosen:
    """A branch as a column of its own; one that only groups others as those, nested."""
    if not branch.is_group:
        return Chosen(name, branch)
    parts = [one(child.name, child) for child in branch.branches]
    return Chosen(name, branch, tuple(_named(parts)))


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
            chosen.append(one(name, branch))
        elif branch.is_readable:
            chosen.append(Chosen(name, branch))
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


Column = TypeVar("Column", "Chosen", "Computed", "Chosen | Computed")


def _named(chosen: Sequence[Column]) -> list[Column]:
    """The same columns, each branch once; of those of one name, later ones by their path."""
    taken: dict[str, Column] = {}
    for each in chosen:
        before = taken.get(each.name)
        if before is None:
            taken[each.name] = each
        elif isinstance(each, Computed) or isinstance(before, Computed):
            continue
        elif before.branch.number != each.branch.number and each.branch.path not in taken:
            taken[each.branch.path] = Chosen(each.branch.path, each.branch, each.parts)
    return list(taken.values())


@dataclass(frozen=True)
class Wish:
    """What a call of `arrays`, `iterate` or `concatenate` says, checked before anything is read."""

    choice: Choice
    into: Library
    how: How

    @classmethod
    def checked(cls, choice: Choice, library: str, how: How) -> Wish:
        """Raises:
        InvalidArgumentError: for a library that there is not.
        """
        return cls(choice, _libraries.named(library), how)

    def of(self, place: HasBranches) -> Selection:
        """The columns of one tree; errors as `Choice.of`."""
        cut = self.choice.decides(place)
        return Selection(place.tree, self.choice.of(place), cut, self.into, self.how)

    def read(
        self, place: HasBranches, entry_start: int | None = None, entry_stop: int | None = None
    ) -> Any:
        """Columns of a range of entries, all at once."""
        selection = self.of(place)
        return selection.read(*entry_range(place.num_entries, entry_start, entry_stop))


@dataclass(frozen=True)
class Selection:
    """Columns of one tree, and what becomes of them."""

    tree: Tree
    chosen: list[Chosen | Computed]
    cut: Cut | None
    into: Library
    how: How

    @property
    def numbers(self) -> list[int]:
        """The branches to be read, each once."""
        numbers = (branch.number for each in self.chosen for branch in each.leaves())
        return list(dict.fromkeys(numbers))

    @property
    def decision(self) -> tuple[list[int], Mask] | None:
        """What the engine is told of the cut: the branches that decide, and how."""
        return None if self.cut is None else (self.cut.numbers, self.cut.mask)

    @property
    def decision_by_path(self) -> tuple[list[str], Mask] | None:
        """The same for other trees, in which branches have other numbers."""
        return None if self.cut is None else (self.paths(self.cut.numbers), self.cut.mask)

    def paths(self, numbers: Iterable[int]) -> list[str]:
        return [self.tree._branch(number).path for number in numbers]

    def read(self, start: int, stop: int) -> Any:
        """Columns of the entries ``start`` to ``stop``, all at once."""
        survivors, columns = self.tree._live().read(self.numbers, start, stop, self.decision)
        return self.assemble(columns, Rows(start, stop, survivors))

    def steps(
        self,
        start: int,
        stop: int,
        step: dict[str, int],
        *,
        offset: int = 0,
        report: Callable[[int, int], Any] | None = None,
    ) -> Iterator[Any]:
        """Columns step by step; reading begins with the call.

        Args:
            offset: Entries before those of the tree.
            report: Says with each step which entries it holds.
        """
        if not self.chosen:
            return iter(())
        batches = self.tree._live().batches(self.numbers, start, stop, self.decision, **step)
        return self._steps(batches, offset, report)

    def _steps(
        self, batches: _core.Batches, offset: int, report: Callable[[int, int], Any] | None
    ) -> Iterator[Any]:
        while (batch := batches.next()) is not None:
            start, stop, survivors, columns = batch
            made = [self.assemble(columns, Rows(start, stop, survivors, offset))]
            # While the caller works on a step, and then on the next one, only the caller has it.
            del batch, columns
            yield made.pop() if report is None else (made.pop(), report(start, stop))

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

        lazy = self.tree._live().lazy(self.numbers, start, stop, **step)
        while (batch := lazy.next()) is not None:
            begin, end = batch
            arrays = {
                each.name: _virtual(each, partial(column, lazy, start=begin, stop=end, log=log))
                for each in self.chosen
            }
            made = [self.into.table(arrays, Rows(begin, end))]
            del arrays
            yield made.pop() if report is None else (made.pop(), report(begin, end))

    def assemble(self, columns: Sequence[_core.Column], rows: Rows) -> Any:
        """Decoded columns, in the order of `numbers`, as the caller wants them."""
        by_number = dict(zip(self.numbers, columns, strict=True))
        arrays = {each.name: _array(each, by_number, self.into, rows) for each in self.chosen}
        return _libraries.group(self.into, self.how, arrays, rows)


def _virtual(each: Chosen | Computed, column: Callable[..., Any]) -> Any:
    from ._libraries.awkward import Awkward

    if isinstance(each, Computed):
        raise InvalidArgumentError(f"virtual=True reads nothing to compute {each.name!r} with")
    if each.parts is None:
        return column(branch=each.branch)
    return Awkward().nested({part.name: _virtual(part, column) for part in each.parts})


# Not a function within `assemble`: one that calls itself is part of a cycle, which would keep the
# columns until Python looks for such.
def _array(
    each: Chosen | Computed, columns: dict[int, _core.Column], into: Library, rows: Rows
) -> Any:
    if isinstance(each, Computed):
        used = {branch.number: columns[branch.number] for branch in each.leaves()}
        return into.computed(each.formula.evaluated(used), rows)
    if each.parts is None:
        return into.array(columns[each.branch.number], rows)
    return into.nested({part.name: _array(part, columns, into, rows) for part in each.parts})
