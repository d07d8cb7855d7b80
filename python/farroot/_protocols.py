"""Tables and columns as the modules below their classes use them: trees and RNTuples, branches and
fields. They name these types, so that they need not name the classes, which import them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from . import _core
    from ._process import Live


class Table(Protocol):
    """A tree or an RNTuple."""

    _url: str
    _object_path: str
    _added: dict[str, Any]
    _shared: Live[_core.Table]

    @property
    def name(self) -> str: ...

    @property
    def file(self) -> Any: ...

    @property
    def table(self) -> Table: ...

    @property
    def _number(self) -> int | None: ...

    @property
    def num_entries(self) -> int: ...

    @property
    def _num_entries(self) -> int: ...

    @property
    def aliases(self) -> Mapping[str, str]: ...

    @property
    def url(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def is_chain(self) -> bool: ...

    @property
    def links(self) -> Any: ...

    @property
    def friends(self) -> Any: ...

    @property
    def _children(self) -> dict[int | None, list[int]]: ...

    def _live(self) -> _core.Table: ...

    def _columns(self) -> list[_core.ColumnInfo]: ...

    def _column(self, number: int) -> Any: ...

    def _column_of(self, info: _core.ColumnInfo) -> Any: ...

    def _beside(self, friends: dict[str, Any]) -> Table: ...

    def _filtered(self, choice: Any) -> list[tuple[str, _core.ColumnInfo]]: ...

    def arrays(self, *args: Any, **options: Any) -> Any: ...

    def iterate(self, *args: Any, **options: Any) -> Any: ...

    def _report(self, start: int, stop: int) -> Any: ...


class Column(Protocol):
    """A branch or a field."""

    @property
    def name(self) -> str: ...

    @property
    def typename(self) -> str: ...

    @property
    def _info(self) -> _core.ColumnInfo: ...

    @property
    def _shape_shown(self) -> str: ...

    def _walk(self, prefix: str, recursive: bool) -> Iterator[tuple[str, Any]]: ...


class Branch(Column, Protocol):
    """A branch of a tree."""

    @property
    def tree(self) -> Any: ...

    @property
    def parent(self) -> Any: ...

    @property
    def title(self) -> str: ...

    @property
    def classname(self) -> str: ...

    @property
    def datashape(self) -> str: ...

    @property
    def is_group(self) -> bool: ...

    def __iter__(self) -> Iterator[Any]: ...

    @property
    def interpretation(self) -> Any: ...

    def member(self, name: str) -> Any: ...
