"""Columns as the engine reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import _core
from ._locks import cached_property
from ._registry import registered
from .errors import UnsupportedError

if TYPE_CHECKING:
    from ._core import ColumnInfo
    from ._registry import Decoder

#: Identifies a column in the engine's batches: its address; of a field at the top, the paths of
#: the fields in it that are kept; whether it is read as bytes, and whether as a number of objects.
Key = tuple[str, tuple[str, ...] | None, bool, bool]


@dataclass(frozen=True)
class AliasInfo:
    """Stands for the column that an alias of each file is."""

    address: str
    is_branch = False
    is_group = False
    counts_objects = False
    friend = None
    members: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Its name."""
        return self.address

    typename = path


@dataclass(frozen=True)
class Leaf:
    """A column as the engine reads it."""

    info: ColumnInfo | AliasInfo
    #: Of a field at the top, the paths of those in it that are kept; without them a field comes in
    #: the lists that it is in.
    keep: tuple[str, ...] | None = None
    #: Whether it is read as bytes, of which an interpretation makes the array.
    is_raw: bool = False
    #: Whether it is the number of objects whose members are in branches of their own.
    counts: bool = False

    @property
    def column(self) -> ColumnInfo:
        """The column of one file.

        Raises:
            TypeError: for an alias, which each of many files has for itself.
        """
        if isinstance(self.info, AliasInfo):
            raise TypeError(f"{self.info.address!r} is an alias, and no column of one file")
        return self.info

    @cached_property
    def key(self) -> Key:
        """The engine's key of it."""
        return self.info.address, self.keep, self.is_raw, self.counts

    @property
    def members(self) -> Sequence[str]:
        """The members of its records that a formula names, each in the one before."""
        return self.info.members

    @property
    def is_group(self) -> bool:
        """Whether it only groups other branches."""
        return self.info.is_group and not self.counts

    @property
    def counts_objects(self) -> bool:
        """Whether it has the number of objects whose members are in branches of their own."""
        return self.info.counts_objects

    def counting(self) -> Leaf:
        """That number."""
        return replace(self, counts=True)

    @property
    def path(self) -> str:
        """Its name in any file."""
        return self.info.path

    @cached_property
    def decoder(self) -> Decoder | None:
        """The decoder that was registered for its type, or None."""
        if self.is_raw or self.counts or not self.info.is_branch:
            return None
        return registered(lambda: self.info.typename)

    def request(self, optional: bool = False) -> _core.ColumnRequest:
        """The request to the engine; an optional column may be left out."""
        as_bytes = self.is_raw or self.decoder is not None
        return _core.ColumnRequest(
            self.info.address,
            optional=optional,
            as_bytes=as_bytes,
            counts=self.counts,
            keep=self.keep,
        )

    @cached_property
    def shape(self) -> str | None:
        """The type of an entry in Awkward's spelling; None where farroot cannot decode it."""
        if self.decoder is not None:
            return None
        if isinstance(self.info, AliasInfo):
            return None
        try:
            return self.info.datashape(self.keep)
        except UnsupportedError:
            return None

    @property
    def is_readable(self) -> bool:
        """Whether this version can read it, as far as its type shows."""
        return self.decoder is not None or self.shape is not None
