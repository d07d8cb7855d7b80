"""Reading columns of one table, all at once or step by step, into arrays of a library."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _core, _libraries
from ._entries import EntrySelection, steps_of_files
from ._leaves import AliasInfo, Leaf
from ._libraries import How, Library
from ._locks import cached_property
from ._progress import Progress, Telling, Wanted, is_wanted, waited
from ._selection import Chosen, ColumnQuery, Computed, Place, chosen_columns, without_doubles
from ._steps import Report, Steps
from ._types import Doc
from .errors import InvalidArgumentError, UnreadableWarning, warn

if TYPE_CHECKING:
    from ._formulas import Cut
    from ._protocols import Table


#: The report of a step, from its first and last entry (half open).
TellsEntries = Callable[[int, int], Report]


@dataclass(frozen=True)
class ReadRequest:
    """The arguments of `arrays`, `iterate` or `concatenate`, checked before anything is read."""

    choice: ColumnQuery
    into: Library
    how: How
    doc: Doc = False

    def of(self, place: Place) -> Selection:
        """The columns of one table; errors as `chosen_columns`."""
        cut = self.choice.decides(place)
        chosen: Sequence[Chosen | Computed] = chosen_columns(place, self.choice)
        if self.how is tuple or self.how is list:
            chosen = self.choice.in_order(chosen)
        else:
            chosen = without_doubles(place.table, chosen)
        aliases = self.choice.overrides()
        return Selection(place.table, chosen, cut, self.into, self.how, self.doc, aliases)

    def of_one(self) -> ReadRequest:
        """The same for one table, read by itself."""
        return replace(self, choice=replace(self.choice, of_many=False))

    def virtual_steps(
        self,
        place: Place,
        entries: tuple[int, int],
        step: _core.StepSize,
        log: list[Any] | None,
        report: TellsEntries | None = None,
    ) -> Iterator[Any]:
        """Steps whose columns are read when they are touched.

        Raises:
            InvalidArgumentError: for arguments that cannot go together with ``virtual=True``.
        """
        from . import _virtual

        _virtual.check(self.into, self.how, self.choice)
        return self.of(place).virtual_steps(*entries, step, log, report)

    def virtual(self, place: Place, entries: tuple[int, int], log: list[Any] | None) -> Any:
        """The same in one step."""
        from . import _virtual

        steps = self.virtual_steps(place, entries, _core.StepSize.whole(), log)
        arrays = _virtual.whole(steps)
        return self.read(place, *entries) if arrays is None else arrays

    def read(self, place: Place, start: int, stop: int, progress: Wanted = None) -> Any:
        """Columns of a range of entries, all at once."""
        selection = self.of(place)
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
    """Columns of one table, and the library and form of their arrays."""

    table: Table
    chosen: Sequence[Chosen | Computed]
    cut: Cut | None
    into: Library
    how: How
    #: Which texts of the file the arrays carry.
    doc: Doc = False
    #: The call's own aliases, which go before those of each file.
    aliases: Sequence[tuple[str, str]] = ()

    @cached_property
    def leaves(self) -> list[Leaf]:
        """The columns to read, each once."""
        return list({leaf.key: leaf for each in self.chosen for leaf in each.leaves()}.values())

    @cached_property
    def computed(self) -> list[Computed]:
        """The formulas that the engine computes, each once."""
        formulas = {each.name: each for each in self.chosen if isinstance(each, Computed)}
        return [each for each in formulas.values() if not each.formula.is_decoded]

    @cached_property
    def given(self) -> list[Leaf]:
        """The columns that come as they are read, each once."""
        computed = {each.name for each in self.computed}
        others = [each for each in self.chosen if each.name not in computed]
        return list({leaf.key: leaf for each in others for leaf in each.leaves()}.values())

    @cached_property
    def request(self) -> _core.Request:
        """The request to the engine; a column is required where one that uses it is."""
        named = {leaf.key for each in self.chosen if not each.optional for leaf in each.leaves()}
        columns = [leaf.request(optional=leaf.key not in named) for leaf in self.leaves]
        if self.cut is None:
            return _core.Request(columns, None, self._formulas())
        deciding = [leaf.request() for leaf in self.cut.leaves()]
        decision = _core.Decision(deciding, self.cut.decides())
        return _core.Request(columns, decision, self._formulas())

    def _formulas(self) -> _core.Formulas | None:
        """The formulas of the request; None where the columns come as they are read."""
        has_aliases = any(isinstance(leaf.info, AliasInfo) for leaf in self.leaves_with_cut)
        aliases = self.aliases if has_aliases else ()
        if not self.computed and not aliases:
            return None
        positions = {leaf.key: at for at, leaf in enumerate(self.leaves)}
        given = [positions[leaf.key] for leaf in self.given]
        computed = [
            (each.formula.program, [positions[leaf.key] for leaf in each.leaves()])
            for each in self.computed
        ]
        return _core.Formulas(given, computed, aliases)

    @property
    def leaves_with_cut(self) -> list[Leaf]:
        """The columns to read and those that only the cut needs."""
        deciding = [] if self.cut is None else self.cut.leaves()
        return list({leaf.key: leaf for leaf in [*self.leaves, *deciding]}.values())

    def plan(self, start: int, stop: int) -> list[_core.ReadPlan]:
        """The ranges that would be fetched, also to decide on entries."""
        columns = [leaf.request() for leaf in self.leaves_with_cut]
        return self.table._live().plan(_core.Request(columns), start, stop)

    def read(self, start: int, stop: int) -> Any:
        """Columns of the entries ``start`` to ``stop``, all at once."""
        batch = self.table._live().read(self.request, start, stop)
        self.warn_of(batch.columns)
        return self.assemble(batch.columns, EntrySelection(start, stop, batch.survivors))

    def telling(self, progress: Wanted, start: int, stop: int, steps: int | None) -> Telling | None:
        """Reports the progress of reading these entries in so many steps, where that is wanted."""
        if progress is None or not is_wanted(progress):
            return None
        core, is_chain = self.table._live(), self.table.is_chain
        begun = Progress(entries_total=stop - start, steps_total=steps)
        if is_chain:
            return Telling(progress, begun)
        tables = core.plan(self.request, start, stop)
        if self.cut is None:
            stored = sum(column.stored_bytes for each in tables for column in each.columns)
            begun = replace(begun, bytes_total=stored)
        return Telling(progress, begun, core.file if len(tables) == 1 else None)

    def steps(
        self,
        start: int,
        stop: int,
        step: _core.StepSize,
        *,
        report: TellsEntries | None = None,
        progress: Wanted = None,
    ) -> Steps:
        """Columns step by step; reading begins with the call.

        Args:
            report: Says with each step which entries it holds.
            progress: Receives the progress of the read.
        """
        if not self.chosen:
            return Steps(iter(()), [], 0)
        batches = self.table._live().batches(self.request, start, stop, step)
        total = batches.steps
        if total is None and step.entries is not None:
            total = steps_of_files(self.table.links, start, stop, step.entries)
        telling = self.telling(progress, start, stop, total)
        return Steps(self._steps(batches, report, telling), [], total)

    def _steps(
        self,
        batches: _core.Batches,
        report: TellsEntries | None,
        telling: Telling | None,
    ) -> Iterator[Any]:
        is_first = True
        try:
            while (batch := waited(telling, batches.next)) is not None:
                start, stop, columns = batch.start, batch.stop, batch.columns
                if is_first:
                    self.warn_of(columns)
                is_first = False
                made = [self.assemble(columns, EntrySelection(start, stop, batch.survivors))]
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
        step: _core.StepSize,
        log: list[Any] | None,
        report: TellsEntries | None = None,
    ) -> Iterator[Any]:
        """As `steps`, of columns that are read when they are touched."""
        from ._virtual import column

        positions = {leaf.key: at for at, leaf in enumerate(self.leaves)}
        asked = _core.Request([leaf.request() for leaf in self.leaves])
        lazy = self.table._live().lazy(asked, start, stop, step)

        def unread(leaf: Leaf, begin: int, end: int) -> Any:
            return column(lazy, leaf, positions[leaf.key], begin, end, log)

        while (batch := lazy.next()) is not None:
            begin, end = batch
            read = partial(unread, begin=begin, end=end)
            arrays = {each.name: _virtual(each, read) for each in self.chosen}
            made = [self.into.table(arrays, EntrySelection(begin, end))]
            del arrays
            yield made.pop() if report is None else (made.pop(), report(begin, end))

    def warn_of(self, columns: Sequence[_core.Column | _core.SkippedColumn]) -> None:
        """Warns about the columns that only their data have shown to be unreadable."""
        for column in columns:
            if isinstance(column, _core.SkippedColumn):
                fault = "left out, since this version cannot read its data"
                warn(f"{fault}: {column.reason}; in {self.table.address}", UnreadableWarning)

    def assemble(
        self,
        columns: Sequence[_core.Column | _core.SkippedColumn],
        rows: EntrySelection,
    ) -> Any:
        """Decoded columns, in the order of `given` and `computed`, as the caller wants them."""
        keys: list[Hashable] = [leaf.key for leaf in self.given]
        keys += [each.name for each in self.computed]
        by_key = {
            key: column
            for key, column in zip(keys, columns, strict=True)
            if not isinstance(column, _core.SkippedColumn)
        }
        chosen = [
            each
            for each in self.chosen
            if not each.optional or any(leaf.key in by_key for leaf in each.leaves())
        ]
        columns_by_name = {each.name: each for each in chosen}
        into = self.into.of_columns if self.how is None else self.into
        arrays = {
            name: self._documented(each, by_key, into, rows)
            for name, each in columns_by_name.items()
        }
        names = [each.name for each in chosen]
        grouped = _libraries.group(self.into, self.how, arrays, names, rows)
        if self.doc and self.how in (None, "zip"):
            return self.into.documented(grouped, self._texts())
        return grouped

    def _documented(
        self,
        each: Chosen | Computed,
        columns: Mapping[Any, _core.Column],
        into: Library,
        rows: EntrySelection,
    ) -> Any:
        array = each.array(columns, into, rows)
        title = each.title if self.doc and isinstance(each, Chosen) else None
        return array if title is None else into.documented(array, {"__doc__": title})

    def _texts(self) -> dict[str, Any]:
        if isinstance(self.doc, Mapping):
            return {key: getattr(self.table, name) for key, name in self.doc.items()}
        return {"__doc__": getattr(self.table, "title", None)}


def _virtual(each: Chosen | Computed, read: Callable[[Leaf], Any]) -> Any:
    from ._libraries.awkward import Awkward

    if isinstance(each, Computed):
        raise InvalidArgumentError(f"virtual=True reads nothing to compute {each.name!r} with")
    if each.reinterpreted is not None:
        raise InvalidArgumentError(f"virtual=True reads {each.name!r} as its type says only")
    if each.parts is not None:
        return Awkward().nested({part.name: _virtual(part, read) for part in each.parts})
    (leaf,) = each.leaves()
    return read(leaf)
