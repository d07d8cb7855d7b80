"""The plan of a read: bytes and requests that it would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import _html
from ._progress import size

if TYPE_CHECKING:
    from . import _core
from ._uproot import public


@public
class PlannedColumn(NamedTuple):
    """The ranges that would be fetched for one column.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> (column,) = tree.plan("MET_pt")[0].columns
        >>> column.name, column.pieces, column.decoded_bytes
        ('MET_pt', 1, 107)
    """

    name: str
    #: Baskets of a tree, pages of an RNTuple.
    pieces: int
    stored_bytes: int
    #: As expected from metadata.
    decoded_bytes: int
    #: From the first to the last byte in the file; None where nothing is to be fetched.
    span: tuple[int, int] | None

    @classmethod
    def of(cls, core: _core.PlannedColumn) -> PlannedColumn:
        """The engine's own."""
        return cls(core.name, core.pieces, core.stored_bytes, core.decoded_bytes, core.span)


@public
class Planned(NamedTuple):
    """The ranges that would be fetched of one tree or RNTuple.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> (planned,) = tree.plan("MET_pt")
        >>> planned.file_path, planned.object_path, len(planned.ranges)
        ('events.root', 'Events', 1)
    """

    file_path: str
    object_path: str
    columns: list[PlannedColumn]
    #: Ranges of bytes (half open) in the file's order, neighbours joined.
    ranges: list[tuple[int, int]]

    @classmethod
    def of(cls, core: _core.ReadPlan) -> Planned:
        """The engine's own."""
        return cls(
            core.url, core.path, [PlannedColumn.of(one) for one in core.columns], core.ranges
        )

    @property
    def stored_bytes(self) -> int:
        """Bytes that would be fetched."""
        return sum(column.stored_bytes for column in self.columns)


@public
class Plan(list[Planned]):
    """The plan of a read: of each tree and RNTuple, file after file.

    Example:
        >>> tree = farroot.open("events.root:Events")
        >>> plan = tree.plan(["MET_pt", "Muon_pt"])
        >>> plan.stored_bytes < 1000
        True
        >>> [column.name for column in plan[0].columns]
        ['MET_pt', 'Muon_pt']
    """

    @property
    def stored_bytes(self) -> int:
        """Bytes that would be fetched."""
        return sum(each.stored_bytes for each in self)

    def _repr_html_(self) -> str:
        parts = []
        for each in self:
            head = f"{each.file_path}:{each.object_path}, {size(each.stored_bytes)}"
            largest = max((column.stored_bytes for column in each.columns), default=0) or 1
            rows = [
                (
                    column.name,
                    column.pieces,
                    size(column.stored_bytes),
                    _html.Bar(column.stored_bytes / largest),
                    size(column.decoded_bytes),
                    "" if column.span is None else f"{column.span[0]:,} to {column.span[1]:,}",
                )
                for column in each.columns[: _html.ROWS_MAX]
            ]
            left = len(each.columns) - len(rows)
            more = f"and {left:,} more columns" if left else ""
            names = ("column", "pieces", "stored", "", "decoded", "bytes in the file")
            parts.append(_html.page(head, _html.table(names, rows, more)))
        return "".join(parts)
