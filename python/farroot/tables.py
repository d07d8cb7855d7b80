"""Trees and RNTuples as lazy frames of polars, which read only the columns of a query.

Other libraries of tables take the Arrow streams that :meth:`Tree.to_arrow` returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from ._credentials import Access
from ._imports import package
from ._locks import cached_property
from ._places import places_of
from ._predicates import cut_of
from ._types import StepSize
from ._uproot import taken
from .dataset import iterate
from .errors import UnreadableWarning, UnsupportedError, warn

if TYPE_CHECKING:
    from ._types import Credentials
    from .dataset import Files


@taken
def scan_polars(
    files: Files,
    *,
    step_size: StepSize = "100 MB",
    **credentials: Unpack[Credentials],
) -> Any:
    """A ``polars.LazyFrame`` of trees or RNTuples; a query reads only the data that it needs.

    Only columns that the query names are read. Comparisons of numbers with constants, joined by
    ``&`` and ``|``, become a cut: of the other columns, only baskets with entries that pass are
    fetched. polars itself applies the rest of the query. ``head(n)`` before a filter ends the read
    after n entries.

    Args:
        files: As for :func:`farroot.iterate`. The first is opened at once, for its columns; those
            of types that polars lacks are left out with an :class:`UnreadableWarning`.
        step_size: Entries that are read in one step, or their size in memory, decoded.
        token, proxy, ticket_cache, s3_profile, auth, insecure: As for
            :func:`farroot.with_credentials`.

    Raises:
        NotInstalledError: without polars or pyarrow.
        NotFoundError: no such file.

    Example:
        >>> import polars as pl
        >>> table = farroot.scan_polars("events.root:Events")
        >>> table.filter(pl.col("MET_pt") > 50).select("event").collect()["event"].to_list()
        [1, 3]
    """
    plugins = package("polars.io.plugins", "'farroot[polars]'")
    access = Access(**credentials)
    source = _Source(files, step_size, access)
    return plugins.register_io_source(source, schema=source.schema)


def _has_union(kind: Any) -> bool:
    """Whether an Arrow type has values of several types, in lists and records too."""
    inside = (kind.field(at).type for at in range(kind.num_fields))
    return str(kind).startswith(("dense_union", "sparse_union")) or any(map(_has_union, inside))


class _Source:
    """The callable from which polars takes the rows of a query."""

    def __init__(self, files: Files, step_size: StepSize, access: Access) -> None:
        first, *rest = places_of(files, access)
        self._table = first.opened()
        self._places = [replace(first, table=self._table), *rest]
        self._files: list[Any] = [self._table, *({one.url: one.path} for one in rest)]
        self._step_size = step_size

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The polars types of all columns that polars supports, by name."""
        import polars

        empty = self._table.arrays(entry_stop=0, library="arrow")
        types = {}
        for name in empty.column_names:
            try:
                if _has_union(empty.schema.field(name).type):
                    # polars panics over one in a list.
                    raise NotImplementedError("values of several types")
                types[name] = polars.Series(empty.column(name)).dtype
            except (polars.exceptions.PolarsError, NotImplementedError) as error:
                warn(f"{name} is left out: polars has no such type: {error}", UnreadableWarning)
        return types

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: Any,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[Any]:
        """Frames with the rows of a query.

        Args:
            with_columns: The query's columns; None for all.
            predicate: An expression of polars that rows must fulfil; None for all rows.
            n_rows: How many rows are read at most, counted before the predicate.
            batch_size: The number of rows that polars suggests; ignored for ``step_size``.
        """
        import polars

        wanted = [*self.schema] if with_columns is None else with_columns
        needed = [] if predicate is None else predicate.meta.root_names()
        read = [*dict.fromkeys([*wanted, *needed])]
        # n_rows counts rows that a cut would leave out.
        cut = None if predicate is None or n_rows is not None else cut_of(predicate)
        for url, table in self._tables(read, cut, n_rows):
            frame = polars.DataFrame(table)
            self._check(url, frame)
            yield (frame if predicate is None else frame.filter(predicate)).select(wanted)

    def _check(self, url: str, frame: Any) -> None:
        """Refuses columns of other types than those that polars got before."""
        for name, kind in frame.schema.items():
            if kind != self.schema[name]:
                known = f"{self.schema[name]} in {self._table.url}"
                raise UnsupportedError(f"{url}: column {name} is {kind} here and {known}")

    def _tables(
        self, names: list[str], cut: str | None, rows: int | None
    ) -> Iterator[tuple[str, Any]]:
        options: dict[str, Any] = {"step_size": self._step_size, "library": "arrow"}
        if rows is None:
            for table, report in iterate(self._files, names, cut, report=True, **options):
                yield report.file_path, table
            return
        for place in self._places:
            if rows == 0:
                return
            table = place.opened()
            for arrays in table.iterate(names, cut, entry_stop=rows, **options):
                yield place.url, arrays
            rows -= min(rows, table.num_entries)
