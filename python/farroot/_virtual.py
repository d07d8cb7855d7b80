"""Awkward arrays whose columns are read when they are touched."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._awkward import ak
from ._libraries.awkward import to_layout
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from ._leaves import Leaf
    from ._libraries import How, Library
    from ._selection import ColumnQuery

_FORM_KEY = "node{id}"


class Accessed(NamedTuple):
    """An entry of an access log: a buffer of a branch or field was read."""

    branch: str
    buffer_key: str


def check(into: Library, how: How, choice: ColumnQuery) -> None:
    """Raises:
    InvalidArgumentError: for arguments that cannot go together with ``virtual=True``.
    """
    from ._libraries.awkward import Awkward

    if not isinstance(into, Awkward) or how is not None:
        raise InvalidArgumentError(
            "another library than Awkward, or how=..., cannot be used with 'virtual=True'"
        )
    if choice.cut is not None or choice.aliases:
        raise InvalidArgumentError("virtual=True computes nothing: no cut, no aliases")


def whole(steps: Iterator[Any]) -> Any:
    """The only step of a read; None where it has no entries.

    Raises:
        InvalidArgumentError: where there are more, as of a chain: steps end with files.
    """
    first = next(steps, None)
    if next(steps, None) is not None:
        raise InvalidArgumentError(
            "virtual=True reads no arrays that go on in another file; use iterate(virtual=True)"
        )
    return first


def says_all(empty: _core.Column) -> bool:
    """Whether a column without entries has its type: of objects of any class it does not."""
    match empty:
        case _core.WithParameter("objects", _):
            return False
        case (
            _core.List(_, content)
            | _core.Regular(_, _, content)
            | _core.Optional(_, content)
            | _core.WithParameter(_, content)
        ):
            return says_all(content)
        case _core.Record(_, _, fields):
            return all(says_all(field) for _, field in fields)
        case _core.Union(_, _, contents):
            return all(map(says_all, contents))
    return True


class _Buffers:
    """The buffers of one column, once one of them is needed."""

    def __init__(self, path: str, read: Callable[[], _core.Column], log: list[Any] | None):
        self._path = path
        self._read = read
        self._log = log
        self._buffers: dict[str, NDArray[Any]] | None = None

    def buffer(self, key: str) -> NDArray[Any]:
        if self._log is not None:
            self._log.append(Accessed(self._path, key))
        if self._buffers is None:
            array = ak.Array(to_layout(self._read()))
            _, _, self._buffers = ak.to_buffers(array, form_key=_FORM_KEY)
        return self._buffers[key]


def column(
    lazy: _core.Lazy, leaf: Leaf, position: int, start: int, stop: int, log: list[Any] | None
) -> ak.Array:
    """Entries ``start`` to ``stop`` of a column as an array that is read when looked at.

    Where only the data have the type, it is read at once.

    Args:
        position: Where the column is among those that ``lazy`` has.
    """
    read = partial(lazy.get, position, start, stop)
    if (decode := leaf.decoder) is not None:
        return ak.Array(decode(read()))
    empty = lazy.empty(position)
    if not says_all(empty):
        return ak.Array(to_layout(read()))
    form = to_layout(empty).form_with_key(_FORM_KEY)
    buffers = _Buffers(leaf.path, read, log)
    container = {key: partial(buffers.buffer, key) for key in form.expected_from_buffers()}
    return ak.from_buffers(form, stop - start, container)
