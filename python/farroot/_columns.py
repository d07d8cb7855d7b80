"""Columns of a result: those that are read, and those that are computed from others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _core, _reinterpreted
from ._registry import registered
from .errors import UnsupportedError

if TYPE_CHECKING:
    from ._core import ColumnInfo
    from ._entries import EntrySelection
    from ._formulas import Formula
    from ._libraries import Library
    from ._registry import Decoder
    from .interpretation import Interpretation
    from .tree import Branch

#: What the engine calls a column: its address and, of a field at the top, those in it to keep.
Key = tuple[str, tuple[str, ...] | None]


@dataclass(frozen=True)
class Leaf:
    """What the engine reads as one column."""

    info: ColumnInfo
    #: Of a field at the top, the paths of those in it that are kept; without them a field comes in
    #: the lists that it is in.
    keep: tuple[str, ...] | None = None

    @cached_property
    def key(self) -> Key:
        """What the engine calls it."""
        return self.info.address, self.keep

    @property
    def path(self) -> str:
        """What it is called in any file."""
        return self.info.path

    @cached_property
    def decoder(self) -> Decoder | None:
        """What :func:`farroot.register` was given for its type, or None."""
        return registered(lambda: self.info.typename) if self.info.is_branch else None

    def request(self, optional: bool = False) -> _core.ColumnRequest:
        """What the engine is asked for; an optional column may be left out."""
        as_bytes = self.decoder is not None
        return _core.ColumnRequest(
            self.info.address, optional=optional, as_bytes=as_bytes, keep=self.keep
        )

    @property
    def is_readable(self) -> bool:
        """Whether this version can read it, as far as its type tells."""
        if self.decoder is not None:
            return True
        try:
            self.info.datashape(self.keep)
        except UnsupportedError:
            return False
        return True


@dataclass(frozen=True)
class Chosen:
    """A column of the result that is read: one, or several under the name of their parent."""

    name: str
    leaf: Leaf
    parts: tuple[Chosen, ...] | None = None
    #: Whether it is left out where its data cannot be read, since the caller did not name it.
    optional: bool = False
    #: The branch and how its bytes are read, where not as the branch's own type says.
    reinterpreted: tuple[Branch, Interpretation] | None = None

    @property
    def title(self) -> str | None:
        """What the file says of a branch."""
        return self.leaf.info.title if self.leaf.info.is_branch else None

    def leaves(self) -> Iterator[Leaf]:
        """What is read for it."""
        if self.parts is None:
            yield self.leaf
        else:
            for part in self.parts:
                yield from part.leaves()

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""
        if self.parts is not None:
            there = [part for part in self.parts if part.is_in(columns)]
            return into.nested({part.name: part.array(columns, into, rows) for part in there})
        column, decode = columns[self.leaf.key], self.leaf.decoder
        if self.reinterpreted is not None:
            return into.computed(_reinterpreted.array(column, *self.reinterpreted, into), rows)
        if decode is not None:
            return into.computed(decode(column), rows)
        is_branch = self.leaf.info.is_branch
        return into.of_branch(column, rows) if is_branch else into.array(column, rows)

    def is_in(self, columns: Mapping[Any, _core.Column]) -> bool:
        """Whether any of it has been read."""
        return any(leaf.key in columns for leaf in self.leaves())


@dataclass(frozen=True)
class Computed:
    """A column of the result that is computed from others."""

    name: str
    formula: Formula
    optional: bool = False

    def leaves(self) -> Iterator[Leaf]:
        """What is read for it."""
        return self.formula.leaves()

    def array(
        self, columns: Mapping[Any, _core.Column], into: Library, rows: EntrySelection
    ) -> Any:
        """Its array, from decoded columns by key."""
        used = {leaf.key: columns[leaf.key] for leaf in self.leaves()}
        return into.computed(self.formula.evaluated(used), rows)
