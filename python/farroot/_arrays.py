"""Reading branches and fields: the same calls for trees, RNTuples, chains and parts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from . import _libraries
from ._entries import StepSize, entry_range, memory, step_of
from ._filters import Filter
from ._libraries import How
from ._named import Column, Named
from ._parts import is_report, steps_with_gaps
from ._progress import Wanted
from ._reading import ReadRequest, Selection
from ._selection import ColumnQuery, Doc
from ._steps import Steps
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from ._awkward import ak
    from ._selection import Place
    from ._types import ArrowName, AwkwardName, LibraryName, NumPyName, Options, PandasName


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
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Column], bool] | None = None,
        filter_field: Callable[[Column], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: float | None = None,
        entry_stop: float | None = None,
        library: LibraryName = "ak",
        how: Any = None,
        ak_add_doc: Doc = False,
        virtual: bool = False,
        access_log: list[Any] | None = None,
        progress: Wanted = None,
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
        accepts = filter_field or filter_branch
        query = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
        place, query = self._asked(query)
        wish = ReadRequest(query, _libraries.named(library), how, ak_add_doc)
        entries = entry_range(self.num_entries, entry_start, entry_stop)
        if virtual:
            return wish.virtual(place, entries, access_log)
        _only_virtual(access_log)
        return wish.read(place, *entries, progress)

    def iterate(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Column], bool] | None = None,
        filter_field: Callable[[Column], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: float | None = None,
        entry_stop: float | None = None,
        step_size: StepSize = "100 MB",
        library: LibraryName = "ak",
        how: How = None,
        ak_add_doc: Doc = False,
        report: bool = False,
        virtual: bool = False,
        access_log: list[Any] | None = None,
        on_error: Literal["raise", "report"] = "raise",
        progress: Wanted = None,
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
        accepts = filter_field or filter_branch
        query = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
        place, query = self._asked(query)
        wish = ReadRequest(query, _libraries.named(library), how, ak_add_doc)
        entries = entry_range(self.num_entries, entry_start, entry_stop)
        told = self._table._report if report else None
        step, goes_on = step_of(step_size), is_report(on_error)
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
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Column], bool] | None = None,
        filter_field: Callable[[Column], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: float | None = None,
        entry_stop: float | None = None,
    ) -> int:
        """About how many entries take that much memory when decoded; nothing is read for it.

        Args:
            memory_size: Bytes, or a text such as ``"100 MB"``.

        The other arguments are those of :meth:`arrays`.
        """
        size = memory(memory_size)
        start, stop = entry_range(self.num_entries, entry_start, entry_stop)
        accepts = filter_field or filter_branch
        query = ColumnQuery(expressions, filter_name, filter_typename, accepts, cut, aliases)
        place, query = self._asked(query)
        selection = ReadRequest(query, _libraries.named("np"), None).of(place)
        total, entries = self._size_of(selection, start, stop)
        if total == 0 or start == stop:
            return stop - start
        return max(1, round(size * entries / total))


def _only_virtual(access_log: list[Any] | None) -> None:
    if access_log is not None:
        raise InvalidArgumentError("access_log needs virtual=True")
