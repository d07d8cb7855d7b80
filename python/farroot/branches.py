"""What trees and branches have in common: branches under them, and reading those."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from ._entries import StepSize, entry_range, memory, step
from ._filters import Filter
from ._libraries import How
from ._named import ROWS_SHOWN, Named, Writable, write_table
from ._progress import Wanted
from ._selection import ColumnQuery, Doc, ReadRequest
from ._uproot import taken
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import awkward as ak
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from ._core import ColumnInfo
    from ._types import ArrowName, AwkwardName, BranchOptions, LibraryName, NumPyName, PandasName
    from .dataset import Steps
    from .tree import Branch, Tree


class HasBranches(Named["Branch"]):
    """A mapping from names to branches that reads many of them at once."""

    _separator = "/"
    _kind = "branch"
    _tree: Tree

    def _column(self, number: int) -> Branch:
        from .tree import Branch

        return Branch(self._tree, number)

    def _in(self) -> Tree:
        return self._tree

    @property
    def branches(self) -> list[Branch]:
        """The branches directly below, in the order of the file."""
        return self._direct()

    @property
    def tree(self) -> Tree:
        return self._tree

    #: What is read of.
    table = tree

    @property
    def itself(self) -> Branch | None:
        """The branch that this is; None for a tree."""
        return None if self._number is None else self._column(self._number)

    @property
    def num_entries(self) -> int:
        """Number of entries."""
        return self._tree._num_entries

    def _filtered(self, choice: ColumnQuery) -> list[tuple[str, ColumnInfo]]:
        own = self.itself
        # A branch without branches stands for itself.
        if own is not None and not len(self):
            return [(own.name, own._info)]
        return super()._filtered(choice)

    # -- names ---------------------------------------------------------------------------------

    @taken
    def items(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> list[tuple[str, Branch]]:
        """Names and branches, depth first.

        Args:
            filter_name: None, a name, a glob, ``"/regex/flags"``, a function of a name, or
                several of these; tried on the name and on the path.
            filter_typename: The same, for the C++ type.
            filter_branch: A function of the :class:`Branch`, or None.
            recursive: Whether branches of branches come too.
            full_paths: Whether these are named by their path, ``parent/child``, or by the last
                part of it.
            ignore_duplicates: Whether of several of one name only the first comes.
        """
        return self._items(
            filter_name,
            filter_typename,
            filter_branch,
            recursive=recursive,
            full_paths=full_paths,
            ignore_duplicates=ignore_duplicates,
        )

    @taken
    def keys(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> list[str]:
        """Names of the branches below; the arguments are those of :meth:`items`."""
        items = self.items(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
            full_paths=full_paths,
            ignore_duplicates=ignore_duplicates,
        )
        return [name for name, _ in items]

    @taken
    def values(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        recursive: bool = True,
    ) -> list[Branch]:
        """The branches below; the arguments are those of :meth:`items`."""
        items = self.items(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
        )
        return [branch for _, branch in items]

    @taken
    def common_entry_offsets(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        recursive: bool = True,
    ) -> list[int]:
        """Entries at which baskets of all these branches begin or end, in ascending order.

        The arguments are those of :meth:`items`. Branches without baskets do not count.

        Raises:
            UnsupportedError: of a chain, whose baskets are those of its files.
        """
        branches = self.values(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
        )
        own = [] if self.itself is None else [self.itself]
        offsets = [set(each.entry_offsets) for each in [*own, *branches] if each.num_baskets]
        return sorted(set.intersection(*offsets)) if offsets else [0]

    @taken
    def num_entries_for(
        self,
        memory_size: int | str,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
    ) -> int:
        """About how many entries take that much memory when decoded; nothing is read for it.

        Args:
            memory_size: Bytes, or a text such as ``"100 MB"``.

        The other arguments are those of :meth:`arrays`.
        """
        size = memory(memory_size)
        choice = ColumnQuery(expressions, filter_name, filter_typename, filter_branch, cut, aliases)
        leaves = ReadRequest.checked(choice, "np", None).of(self).leaves_with_cut
        start, stop = entry_range(self.num_entries, entry_start, entry_stop)
        own = [self._column(leaf.info.number) for leaf in leaves if leaf.info.friend is None]
        total = sum(branch.uncompressed_bytes for branch in own)
        if total == 0 or start == stop:
            return stop - start
        return max(1, round(size * self.num_entries / total))

    @taken
    def typenames(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        recursive: bool = True,
        full_paths: bool = True,
    ) -> dict[str, str]:
        """C++ types by name, as uproot spells them; the arguments are those of :meth:`items`."""
        items = self.items(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
            full_paths=full_paths,
        )
        return {name: branch.typename for name, branch in items}

    @taken
    def show(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        name_width: int | None = None,
        typename_width: int | None = None,
        interpretation_width: int | None = None,
        stream: Writable | None = None,
        limit: int | None = ROWS_SHOWN,
    ) -> None:
        """Prints a table of names, C++ types and the types of an entry as Awkward spells them.

        Args:
            name_width, typename_width, interpretation_width: Characters of each column, at
                least 3; what is longer is cut. None is as wide as needed, within reason.
            stream: Where to write, an object with a ``write(str)`` method; None is ``stdout``.
            limit: Branches that are shown at most, with a line that says how many more there
                are; None shows all.

        The other arguments are those of :meth:`items`.
        """
        widths = (name_width, typename_width, interpretation_width)
        if min(width for width in (*widths, 3) if width is not None) < 3:
            raise InvalidArgumentError("columns are at least 3 characters wide")
        items = self.items(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
            full_paths=full_paths,
        )
        write_table(items, stream, limit, widths)

    # -- reading -------------------------------------------------------------------------------

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: AwkwardName = "ak",
        how: None = None,
        **options: Unpack[BranchOptions],
    ) -> ak.Array: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: NumPyName,
        how: None = None,
        **options: Unpack[BranchOptions],
    ) -> dict[str, NDArray[Any]]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: PandasName,
        how: None = None,
        **options: Unpack[BranchOptions],
    ) -> pd.DataFrame: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: ArrowName,
        how: None = None,
        **options: Unpack[BranchOptions],
    ) -> pa.Table: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: type[tuple[Any, ...]],
        **options: Unpack[BranchOptions],
    ) -> tuple[Any, ...]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: type[list[Any]],
        **options: Unpack[BranchOptions],
    ) -> list[Any]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: type[dict[str, Any]],
        **options: Unpack[BranchOptions],
    ) -> dict[str, Any]: ...

    @overload
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        library: LibraryName = "ak",
        how: How,
        **options: Unpack[BranchOptions],
    ) -> Any: ...

    @taken
    def arrays(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
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
        """Reads columns, all at once.

        Args:
            expressions: Names, paths or globs of branches, or formulas of them; None takes all
                branches that the filters accept and this version can read. A branch of branches
                comes as one nested column. What is not named as it is (by a filter or a glob)
                is left out with an :class:`UnreadableWarning` where its data cannot be read.
            cut: A formula with one bool an entry: only entries where it is true are read. Its
                columns are read first, and of the others only baskets with such entries.
            aliases: Formulas by the names that they have in ``expressions``, ``cut`` and each
                other, beside those of the tree.
            filter_name, filter_typename, filter_branch: See :meth:`items`; only without
                ``expressions``.
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
                called now and then, in this thread, with a :class:`~farroot.Progress`. What it
                raises ends the read.

        Raises:
            KeyInFileError: for a name that no branch has.
            UnsupportedError: for a named branch of a type that cannot be read yet.
            InvalidArgumentError: for a formula that cannot be read, or may not be evaluated.

        Formulas are Python's operators (``&``, ``|`` and ``~`` rather than words) and NumPy's
        functions of one or two arrays, as in uproot; ``get("a.b")`` is a branch of any name.
        """
        choice = ColumnQuery(expressions, filter_name, filter_typename, filter_branch, cut, aliases)
        wish = ReadRequest.checked(choice, library, how, ak_add_doc)
        start, stop = entry_range(self.num_entries, entry_start, entry_stop)
        steps = wish.virtual_steps(self, (start, stop), {}, virtual=virtual, log=access_log)
        if steps is not None:
            from ._virtual import whole

            arrays = whole(steps)
            if arrays is not None:
                return arrays
        return wish.read(self, start, stop, progress=progress)

    @taken
    def iterate(
        self,
        expressions: str | Iterable[str] | None = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Callable[[Branch], bool] | None = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
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
        """Reads columns step by step; what comes next is fetched and decoded meanwhile.

        Args:
            step_size: Entries in a step, or the bytes that they take decoded at most, as
                ``"100 MB"``: such a step ends where a cluster does, if one ends in its second half.
            report: Whether to give pairs of arrays and :class:`~farroot.Report`.
            virtual: As for :meth:`arrays`; what is looked at in one step is fetched ahead for the
                next ones.
            on_error: ``"report"`` goes on behind what cannot be read, as :func:`farroot.iterate`
                does; not with ``virtual``.

        The other arguments are those of :meth:`arrays`. Fetching begins with the call; closing
        or dropping the iterator ends it.
        """
        from .dataset import Steps, is_report, steps_with_gaps

        choice = ColumnQuery(expressions, filter_name, filter_typename, filter_branch, cut, aliases)
        wish = ReadRequest.checked(choice, library, how, ak_add_doc)
        start, stop = entry_range(self.num_entries, entry_start, entry_stop)
        told = self._tree._report if report else None
        size = step(step_size)
        goes_on = is_report(on_error)
        if goes_on and virtual:
            raise InvalidArgumentError(
                'virtual=True reads nothing that on_error="report" could tell'
            )
        steps = wish.virtual_steps(
            self, (start, stop), size, virtual=virtual, log=access_log, report=told
        )
        if steps is not None:
            return Steps(steps, [])
        selection = wish.of(self)
        if goes_on:
            return steps_with_gaps(self._tree, selection, (start, stop), size, report, progress)
        return selection.steps(start, stop, size, report=told, progress=progress)
