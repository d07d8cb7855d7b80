"""Which columns a call means, and how decoded ones become its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, _libraries
from ._entries import entry_range
from ._filters import Filter, is_glob
from ._libraries import How, Library
from .errors import InvalidArgumentError, KeyInFileError, UnreadableWarning, UnsupportedError, warn

if TYPE_CHECKING:
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
class Choice:
    """What a call says about the columns that it wants."""

    expressions: str | Iterable[str] | None = None
    filter_name: Filter = None
    filter_typename: Filter = None
    filter_branch: Callable[[Branch], bool] | None = None
    cut: str | None = None

    def __post_init__(self) -> None:
        if self.cut is not None:
            raise UnsupportedError(
                "cut is not evaluated by this version; read the columns that it names and mask them"
            )

    def of(self, place: HasBranches) -> list[Chosen]:
        """The columns, each under another name.

        Raises:
            KeyInFileError: for a name that no branch has, or a glob that none matches.
        """
        if self.expressions is None:
            return _named(_accepted(self._filtered(place)))
        one = isinstance(self.expressions, str)
        names = [self.expressions] if one else list(self.expressions)
        found: list[Chosen] = []
        for name in names:
            if not isinstance(name, str):
                raise InvalidArgumentError(f"an expression is a name or a glob, not {name!r}")
            found.extend(_expressed(place, name))
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


def _expressed(place: HasBranches, name: str) -> list[Chosen]:
    branch = place.find(name)
    if branch is not None:
        return [one(name, branch)]
    if not is_glob(name):
        raise place.no_such(name)
    matching = _accepted(place.items(filter_name=name, full_paths=False))
    if not matching:
        raise KeyInFileError(f"no readable branch matches {name!r}; in {place.tree.address}")
    return matching


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


def _named(chosen: list[Chosen]) -> list[Chosen]:
    """The same columns, each branch once; of those of one name, later ones by their path."""
    taken: dict[str, Chosen] = {}
    for each in chosen:
        before = taken.get(each.name)
        if before is None:
            taken[each.name] = each
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
        return cls(choice, _libraries.library(library), how)

    def of(self, place: HasBranches) -> Selection:
        """The columns of one tree; errors as `Choice.of`."""
        return Selection(place.tree, self.choice.of(place), self.into, self.how)

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
    chosen: list[Chosen]
    into: Library
    how: How

    @property
    def numbers(self) -> list[int]:
        """The branches to be read, each once."""
        numbers = (branch.number for each in self.chosen for branch in each.leaves())
        return list(dict.fromkeys(numbers))

    def read(self, start: int, stop: int) -> Any:
        """Columns of the entries ``start`` to ``stop``, all at once."""
        return self.assemble(self.tree._live().read(self.numbers, start, stop), start, stop)

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
        batches = self.tree._live().batches(self.numbers, start, stop, **step)
        return self._steps(batches, offset, report)

    def _steps(
        self, batches: _core.Batches, offset: int, report: Callable[[int, int], Any] | None
    ) -> Iterator[Any]:
        while (batch := batches.next()) is not None:
            start, stop, columns = batch
            arrays = self.assemble(columns, start + offset, stop + offset)
            # While the caller works on a step, and then on the next one, only the caller has it.
            del batch, columns
            yield arrays if report is None else (arrays, report(start, stop))
            del arrays

    def assemble(self, columns: Sequence[_core.Column], start: int, stop: int) -> Any:
        """Decoded columns, in the order of `numbers`, as the caller wants them."""
        by_number = dict(zip(self.numbers, columns, strict=True))
        arrays = {each.name: _array(each, by_number, self.into, start) for each in self.chosen}
        return _libraries.group(self.into, self.how, arrays, start, stop)


# Not a function within `assemble`: one that calls itself is part of a cycle, which would keep the
# columns until Python looks for such.
def _array(each: Chosen, columns: dict[int, _core.Column], into: Library, start: int) -> Any:
    if each.parts is None:
        return into.array(columns[each.branch.number], start)
    return into.nested({part.name: _array(part, columns, into, start) for part in each.parts})
