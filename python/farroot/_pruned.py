"""What is read of an RNTuple's field at the top: all of it, or some of the fields in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _core
    from ._entries import EntrySelection
    from ._libraries import Library

#: What the engine calls a column: a field in the lists that it is in or, with the fields to keep of
#: it, one at the top.
Key = tuple[int, tuple[int, ...] | None]


@dataclass(frozen=True)
class Pruned:
    """A column of the result: a field at the top with those fields in it that are wanted."""

    name: str
    key: Key
    optional: bool = False

    @property
    def decoder(self) -> None:
        """Types of fields are not registered."""

    @property
    def path(self) -> str:
        """As in the file."""
        return self.name

    def leaves(self) -> Iterator[Pruned]:
        """What is read for it."""
        yield self

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""
        return into.array(columns[self.key], rows)
