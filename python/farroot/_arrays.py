"""Reading branches and fields: the same calls for trees, RNTuples, chains and parts of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from . import _libraries
from ._entries import entry_range, memory, step_of
from ._libraries import How
from ._limits import STEP_SIZE
from ._named import Column, Named
from ._parts import is_report, steps_with_gaps
from ._reading import ReadRequest, Selection
from ._selection import ColumnQuery
from ._steps import Steps
from ._types import StepSize
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from ._awkward import ak
    from ._selection import Place
    from ._types import (
        ArrowName,
        AwkwardName,
        EntryOptions,
        EstimateOptions,
        LibraryName,
        NumPyName,
        Options,
        PandasName,
        ReadOptions,
        StepOptions,
    )


#: The containers of columns that ``how=`` names.
Grouped = TypeVar("Grouped", tuple[Any, ...], list[Any], dict[str, Any])


class Readable(Named[Column]):
    """A mapping from names to columns that reads many of them at once."""

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return self._table._num_entries

    def _asked(self, query: ColumnQuery) -> tuple[Place, ColumnQuery]:
        """Where the names of a query are looked up, and the query with the names there."""
        return self, query

    def _size_of(self, selection: Selection, start: int, stop: int) -> tuple[int, int]:
        """Decoded bytes of these columns, and how many entries take them."""
        raise NotImplementedError

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
        how: type[Grouped],
        **options: Unpack[Options],
    ) -> Grouped: ...

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

    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        **options: Unpack[ReadOptions],
    ) -> Any:
        """Reads columns, all at once.

        Args:
            expressions: Names, paths or globs of branches or fields, or formulas of them; None
                takes all columns that the filters accept and this version can read. A branch of
                branches comes as one nested column, a field in the one at the top that it is in. A
                column that is not named as it is (but by a filter or a glob) is left out with an
                :class:`UnreadableWarning` where its data cannot be read.
            cut: A formula with one bool an entry: only entries where it is true are read. Its
                columns are read first, and of the others only baskets or pages with such entries.
            aliases: Formulas by the names that they have in ``expressions``, ``cut`` and each
                other, beside those of the tree.
            filter_name, filter_typename, filter_branch, filter_field: See :meth:`items`; only
                without ``expressions``.
            entry_start, entry_stop: Half-open range of entries; None is the beginning and the
                end, negative numbers count from the end.
            library: ``"ak"``, ``"np"``, ``"pd"`` or ``"arrow"``.
            how: None for a record array, a dict of arrays or a DataFrame; ``tuple``, ``list``
                or ``dict`` for these; ``"zip"`` (Awkward only) puts lists that have the same
                counts into lists of records.
            ak_add_doc: Whether Awkward arrays carry the titles of branches and tree as ``__doc__``;
                or attributes of the tree by the names that they shall have.
            virtual: Whether columns are read only when they are touched (Awkward only).
            access_log: With ``virtual``, a list to which each look is appended.
            progress: True for a bar (of tqdm's or rich's, where installed), or a function that is
                called now and then, in this thread, with a :class:`~farroot.Progress`. Its
                exceptions end the read.

        Raises:
            KeyInFileError: for a name that no branch or field has.
            UnsupportedError: for a named one of a type that cannot be read.
            InvalidArgumentError: for a formula that cannot be read, or may not be evaluated.

        Formulas are Python's operators (``&``, ``|`` and ``~`` rather than words) and NumPy's
        functions of one or two arrays, as in uproot; ``get("a.b")`` is a branch of any name. A
        field in others comes in the lists that it is in. Aliases that the file has are ROOT's.
        """
        place, wish, entries = self._wish(expressions, cut, options)
        access_log = options.get("access_log")
        if options.get("virtual"):
            return wish.virtual(place, entries, access_log)
        _only_virtual(access_log)
        return wish.read(place, *entries, options.get("progress"))

    async def aarrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        **options: Unpack[ReadOptions],
    ) -> Any:
        """As :meth:`arrays`, to be awaited in a program of asyncio.

        Cancelling the task ends the read. A function that is given as ``progress`` is called in
        another thread.
        """
        from ._awaited import awaited

        return await awaited(partial(self.arrays, expressions, cut, **options))

    def _wish(
        self, expressions: str | Iterable[str] | None, cut: str | None, options: ReadOptions
    ) -> tuple[Place, ReadRequest, tuple[int, int]]:
        """The place of a call, its request, and the range of its entries."""
        place, query = self._asked(ColumnQuery.of(expressions, cut, options))
        into = _libraries.named(options.get("library", "ak"))
        wish = ReadRequest(query, into, options.get("how"), options.get("ak_add_doc", False))
        return place, wish, self._range(options)

    def _range(self, options: EntryOptions) -> tuple[int, int]:
        return entry_range(self.num_entries, options.get("entry_start"), options.get("entry_stop"))

    def iterate(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        **options: Unpack[StepOptions],
    ) -> Steps:
        """Reads columns step by step; the next steps are fetched and decoded meanwhile.

        Args:
            step_size: Entries in a step, or the bytes that they take decoded at most, as
                ``"100 MB"``: such a step ends where a cluster does, if one ends in its second half.
            report: Whether to give pairs of arrays and :class:`~farroot.Report`.
            virtual: As for :meth:`arrays`; columns that are touched in one step are prefetched for
                the next ones.
            on_error: ``"report"`` goes on behind damaged data, as :func:`farroot.iterate` does;
                not with ``virtual``.

        The other arguments are those of :meth:`arrays`. Fetching begins with the call; closing
        or dropping the iterator ends it.
        """
        place, wish, entries = self._wish(expressions, cut, options)
        report, virtual = options.get("report", False), options.get("virtual")
        told = self._table._report if report else None
        step = step_of(options.get("step_size", STEP_SIZE))
        goes_on = is_report(options.get("on_error", "raise"))
        access_log, progress = options.get("access_log"), options.get("progress")
        if virtual and goes_on:
            raise InvalidArgumentError(
                'virtual=True reads nothing that on_error="report" could tell'
            )
        if virtual:
            return Steps(wish.virtual_steps(place, entries, step, access_log, told), [])
        _only_virtual(access_log)
        selection = wish.of(place)
        if goes_on:
            return steps_with_gaps(self._table, selection, entries, step, report, progress)
        return selection.steps(*entries, step, report=told, progress=progress)

    def num_entries_for(
        self,
        memory_size: StepSize,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        **options: Unpack[EstimateOptions],
    ) -> int:
        """About how many entries take that much memory when decoded; nothing is read for it.

        Args:
            memory_size: Bytes, or a text such as ``"100 MB"``.

        The other arguments are those of :meth:`arrays`.
        """
        size = memory(memory_size)
        start, stop = self._range(options)
        place, query = self._asked(ColumnQuery.of(expressions, cut, options))
        selection = ReadRequest(query, _libraries.named("np"), None).of(place)
        total, entries = self._size_of(selection, start, stop)
        if total == 0 or start == stop:
            return stop - start
        return max(1, round(size * entries / total))


def _only_virtual(access_log: list[Any] | None) -> None:
    if access_log is not None:
        raise InvalidArgumentError("access_log needs virtual=True")
