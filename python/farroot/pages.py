"""Pages of an RNTuple's columns, and their offsets."""

from __future__ import annotations

from typing import NamedTuple

from . import _core
from ._uproot import public


class Locator(NamedTuple):
    """The place of a page in the file."""

    offset: int
    #: Bytes of the page there, without its checksum.
    num_bytes: int


@public
class Page(NamedTuple):
    """A compressed run of elements of a column."""

    num_elements: int
    #: Whether eight bytes of checksum follow.
    has_checksum: bool
    locator: Locator


@public
class ColumnPages(NamedTuple):
    """The pages of a column in one cluster.

    Example:
        >>> staff = farroot.open("staff.root:Staff")
        >>> first_cluster = staff.page_link_list[0]
        >>> [sum(page.num_elements for page in column.pages) for column in first_cluster]
        [3, 7, 3]
    """

    pages: list[Page]
    #: Number of the column's elements in all earlier clusters.
    element_offset: int
    #: Whether another column of the field has the values in this cluster.
    suppressed: bool
    #: Compression of the pages as ROOT's number, algorithm * 100 + level; None for a suppressed
    #: column.
    compression_settings: int | None

    @classmethod
    def of(cls, column: _core.ColumnPages) -> ColumnPages:
        """The engine's pages of a column, by uproot's names."""
        pages = [
            Page(elements, checksum, Locator(offset, stored - 8 * checksum))
            for elements, checksum, offset, stored in column.pages
        ]
        settings = None if column.is_suppressed else column.compression
        return cls(pages, column.first_element, column.is_suppressed, settings)
