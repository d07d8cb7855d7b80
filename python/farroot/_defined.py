"""New columns, defined by formulas, or by functions whose parameters name columns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from . import _core
from ._formulas import formula
from ._ours import called
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._core import Column
    from ._leaves import Leaf

#: The name of a new column, the columns that it is computed from, and their formula or function.
Definition: TypeAlias = tuple[
    str, list[str], _core.Program | Callable[["list[Column]", int], _core.Array]
]


@dataclass(frozen=True)
class _Name:
    """A column of which only the name is known."""

    key: str
    decoder: None = None
    is_group = False
    members: tuple[str, ...] = ()


def definition(
    name: str, how: str | Callable[..., Any], form: Literal["tree", "rntuple"] | None
) -> Definition:
    """A new column in the form that the engine takes.

    Raises:
        InvalidArgumentError: for a formula that cannot be parsed or names no columns, and for a
            function whose parameters do not name columns.
    """
    try:
        columns, value = _of_formula(how) if isinstance(how, str) else _of_function(how)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the new column {name}: {error}") from None
    if not columns:
        raise InvalidArgumentError(f"the new column {name}: it is computed from no column")
    if isinstance(value, _core.Program):
        return name, columns, value

    def compute(arrays: list[Column], entries: int) -> _core.Array:
        try:
            return _array(value(arrays), entries, form)
        except Exception as error:
            error.add_note(f"in computing the new column {name}")
            raise

    return name, columns, compute


def _array(found: Any, entries: int, form: Literal["tree", "rntuple"] | None) -> _core.Array:
    """A computed value as the column to write; a scalar is repeated for all entries."""
    import numpy as np

    from .writing._columns import to_column, to_layout, type_of

    if isinstance(found, (bool, int, float, np.generic)):
        found = np.full(entries, found)
    layout = to_layout(found)
    return _core.Array(to_column(layout, type_of(layout, form == "rntuple")))


def _of_formula(text: str) -> tuple[list[str], _core.Program]:
    read = formula(text, lambda name, _: cast("Leaf", _Name(name)), {})
    return [str(leaf.key) for leaf in read.leaves()], read.program


def _of_function(
    function: Callable[..., Any],
) -> tuple[list[str], Callable[[list[Column]], Any]]:
    parameters = inspect.signature(function).parameters.values()
    named = [each for each in parameters if each.default is each.empty]
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in named):
        wanted = "the parameters of its function name the columns, so *args and **kwargs cannot be"
        raise InvalidArgumentError(wanted)
    positional = sum(each.kind is not each.KEYWORD_ONLY for each in named)
    names = [each.name for each in named]

    def value(arrays: list[Column]) -> Any:
        from ._awkward import ak
        from ._libraries.awkward import to_layout

        given = [ak.Array(to_layout(array)) for array in arrays]
        words = dict(zip(names[positional:], given[positional:], strict=True))
        return called(function)(*given[:positional], **words)

    return names, value
