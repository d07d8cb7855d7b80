"""What a read would fetch."""

from __future__ import annotations

from typing import NamedTuple


class PlannedColumn(NamedTuple):
    """What would be fetched for one column."""

    name: str
    #: Baskets of a tree, pages of an RNTuple.
    pieces: int
    stored_bytes: int
    #: As expected from metadata.
    decoded_bytes: int
    #: From the first to the last byte in the file; None where nothing is to be fetched.
    span: tuple[int, int] | None


class Planned(NamedTuple):
    """What would be fetched of one tree or RNTuple."""

    file_path: str
    object_path: str
    columns: list[PlannedColumn]
    #: Ranges of bytes (half open) in the file's order, neighbours joined.
    ranges: list[tuple[int, int]]

    @property
    def stored_bytes(self) -> int:
        """Bytes that would be fetched."""
        return sum(column.stored_bytes for column in self.columns)
