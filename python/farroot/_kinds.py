"""Classes of Python for the engine's trees, RNTuples and files.

Each class enters itself here when it is defined, in the module with the name of its kind, which is
imported with the first one: modules that make them need not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from . import _core

if TYPE_CHECKING:
    from ._protocols import Table

Made = TypeVar("Made", bound=Callable[..., Any])

_MAKERS: dict[str, Callable[..., Any]] = {}
_TABLES: list[type[Any]] = []


def makes(kind: str) -> Callable[[Made], Made]:
    """Registers a class, or a function, that makes the users' objects of this kind."""

    def enter(maker: Made) -> Made:
        _MAKERS[kind] = maker
        if isinstance(maker, type):
            _TABLES.append(maker)
        return maker

    return enter


def _maker(kind: str) -> Callable[..., Any]:
    if kind not in _MAKERS:
        import_module(f"{__package__}.{kind}")
    return _MAKERS[kind]


def as_table(
    core: _core.Table, url: str, path: str | None, again: Callable[[], _core.Table] | None = None
) -> Table:
    """The engine's own; without a path, the only one in its file.

    Args:
        again: How to open it once more, where no file has it by this path.
    """
    make = _maker("tree" if core.is_tree else "ntuple")
    table: Table = make(core, url, core.path if path is None else path, again)
    return table


def open_table(url: str, path: str | None) -> Table:
    """Opens a file and the tree or RNTuple in it; without a path, the only one there is."""
    return as_table(_core.open_table(url, path), url, path)


def as_file(core: _core.File, url: str) -> Any:
    """A file that is open already."""
    return _maker("file")(core, url)


def is_table(one: Any) -> TypeGuard[Table]:
    """Whether it is a tree or an RNTuple."""
    return isinstance(one, tuple(_TABLES))
