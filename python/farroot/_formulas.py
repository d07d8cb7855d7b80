"""Formulas over columns: read by the engine, computed here on arrays of Awkward or NumPy.

All of it works element by element: the entries may come in any pieces.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._core import Column
    from ._selection import Leaf

#: What operators do, by how they are written and how many values they take.
_OPERATORS: dict[tuple[str, int], Callable[..., Any]] = {
    ("+", 1): operator.pos,
    ("-", 1): operator.neg,
    ("~", 1): operator.invert,
    ("+", 2): operator.add,
    ("-", 2): operator.sub,
    ("*", 2): operator.mul,
    ("/", 2): operator.truediv,
    ("//", 2): operator.floordiv,
    ("%", 2): operator.mod,
    ("**", 2): operator.pow,
    ("&", 2): operator.and_,
    ("|", 2): operator.or_,
    ("^", 2): operator.xor,
    ("<<", 2): operator.lshift,
    (">>", 2): operator.rshift,
    ("==", 2): operator.eq,
    ("!=", 2): operator.ne,
    ("<", 2): operator.lt,
    ("<=", 2): operator.le,
    (">", 2): operator.gt,
    (">=", 2): operator.ge,
    ("slice", 3): slice,
}

#: More bits than any number of a column has, for constants that are raised or shifted.
_BITS_MAX = 128
_REFUSED = (ArithmeticError, AttributeError, IndexError, TypeError, ValueError)


#: Types of one number an entry with which the engine compares as NumPy does.
_PLAIN = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64")
)


@functools.cache
def functions() -> dict[str, Callable[..., Any]]:
    """What the functions of formulas do."""
    import numpy as np

    from . import _special_functions

    special: dict[str, Callable[..., Any]] = {**_special_functions.FUNCTIONS, "neg": np.negative}
    return {
        name: special[name] if name in special else getattr(np, name)
        for name in _core.formula_functions()
    }


def _item(array: Any, index: Any) -> Any:
    """What an index takes of each entry; one that takes some of the entries is refused."""
    first, *rest = index if isinstance(index, tuple) else (index,)
    is_jagged = getattr(first, "ndim", 1) > 1 and "var" in str(getattr(first, "type", ""))
    if first is ...:
        is_whole = sum(each is not None for each in rest) < array.ndim
    else:
        is_whole = isinstance(first, slice) and first == slice(None)
    if not is_whole and not (is_jagged and not rest):
        what = "takes entries: write [:, 0] for the first item of each, and [:, :2] for two"
        raise ValueError(f"an index {what}")
    return array[index]


def _applied(name: str, arguments: list[Any]) -> Any:
    if name == "tuple":
        return tuple(arguments)
    if name == "[]":
        return _item(*arguments)
    if name in ("**", "<<") and all(isinstance(each, int) for each in arguments):
        base, by = arguments
        bits = base.bit_length() * by if name == "**" else base.bit_length() + by
        if bits > _BITS_MAX:
            raise ValueError("a constant is too large")
    known = _OPERATORS.get((name, len(arguments)))
    return (known or functions()[name])(*arguments)


@dataclass(frozen=True)
class Formula:
    """An expression, and what its names stand for."""

    text: str
    core: _core.Formula
    #: In the order of its columns.
    meant: tuple[Leaf | Formula, ...]

    def leaves(self) -> Iterator[Leaf]:
        """The columns that are read for it."""
        for each in self.meant:
            if isinstance(each, Formula):
                yield from each.leaves()
            else:
                yield each

    def value(self, columns: Mapping[Any, Any]) -> Any:
        """Its value for arrays by key."""
        stack: list[Any] = []
        for each in self.core.operations:
            if each.name == "constant":
                stack.append(each.value)
            elif each.name == "column":
                meant = self.meant[each.value]
                is_formula = isinstance(meant, Formula)
                stack.append(meant.value(columns) if is_formula else columns[meant.key])
            else:
                arguments = stack[len(stack) - each.count :]
                del stack[len(stack) - each.count :]
                stack.append(_applied(each.name, arguments))
        return stack.pop()

    def evaluated(self, columns: Mapping[Any, Column], entries: int) -> Any:
        """One value an entry for decoded columns; a constant is repeated.

        Raises:
            InvalidArgumentError: where it cannot be computed.
        """
        import numpy as np

        try:
            found = self._evaluated(columns)
        except _REFUSED as error:
            raise InvalidArgumentError(f"the formula {self.text!r}: {error}") from error
        if not hasattr(found, "layout") and np.ndim(found) == 0:
            return np.full(entries, found)
        if len(found) != entries:
            what = f"gives {len(found)} values for {entries} entries"
            raise InvalidArgumentError(f"the formula {self.text!r} {what}")
        return found

    def _evaluated(self, columns: Mapping[Any, Column]) -> Any:
        """Its value: with NumPy alone where each entry has one number."""
        flat = {
            key: column.array
            for key, column in columns.items()
            if isinstance(column, _core.Numbers) and column.array.ndim == 1
        }
        decoders = {leaf.key: decode for leaf in self.leaves() if (decode := leaf.decoder)}
        if len(flat) == len(columns) and not decoders:
            return self.value(flat)
        import awkward as ak

        from ._libraries.awkward import to_layout

        def array(key: Any, column: Column) -> Any:
            decode = decoders.get(key, to_layout)
            return ak.Array(decode(column))

        return self.value({key: array(key, column) for key, column in columns.items()})


@dataclass(frozen=True)
class Cut:
    """A formula with one bool an entry."""

    formula: Formula

    def leaves(self) -> list[Leaf]:
        """The columns that decide, each once."""
        return list({leaf.key: leaf for leaf in self.formula.leaves()}.values())

    @property
    def keys(self) -> list[Hashable]:
        """What the engine calls them."""
        return [leaf.key for leaf in self.leaves()]

    def decides(self) -> _core.Formula | _core.Mask:
        """What the engine asks: the formula itself where it means there what it means here."""
        if not self.keys:
            raise _not_a_cut(self.formula.text, "the same for all, without a column")
        meant = self.formula.meant
        shapes = [None if isinstance(each, Formula) else each.shape for each in meant]
        if len(self.keys) < len(meant) or not _PLAIN.issuperset(shapes):
            return self.mask
        only_compares = self.formula.core.only_compares([shape == "bool" for shape in shapes])
        return self.formula.core if only_compares else self.mask

    def mask(self, columns: list[Column], entries: int) -> NDArray[np.bool_]:
        """Which entries stay, from the columns in the order of `keys`."""
        import numpy as np

        found = self.formula.evaluated(dict(zip(self.keys, columns, strict=True)), entries)
        if not isinstance(found, (np.ndarray, np.generic)) and hasattr(found, "layout"):
            found = _flat(found, self.formula.text)
        mask = np.asarray(found)
        if mask.shape != (entries,) or mask.dtype != np.bool_:
            raise _not_a_cut(self.formula.text, f"{mask.dtype} of shape {mask.shape}")
        return np.ascontiguousarray(mask)


def _flat(array: Any, text: str) -> NDArray[Any]:
    """An Awkward array as a NumPy array of one number an entry."""
    if array.ndim != 1:
        raise _not_a_cut(text, str(array.type))
    import awkward as ak
    import numpy as np

    # Where a friend lacks an entry, nothing is true of it.
    return np.asarray(ak.to_numpy(ak.fill_none(array, False)))


def _not_a_cut(text: str, found: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"a cut gives one bool an entry; {text!r} gives {found}")


def formula(
    text: str,
    leaf: Callable[[str], Leaf],
    aliases: Mapping[str, str],
    within: tuple[str, ...] = (),
) -> Formula:
    """Reads an expression.

    Args:
        leaf: The column of a name.
        aliases: Formulas by their names, which go before those of columns.
        within: The aliases that it is part of.

    Raises:
        InvalidArgumentError: where it is none, or an alias refers to itself.
    """
    core = _core.Formula(text)

    def meant(name: str) -> Leaf | Formula:
        if name not in aliases:
            return leaf(name)
        if name in within:
            raise InvalidArgumentError(f"the alias {name!r} refers to itself")
        return formula(aliases[name], leaf, aliases, (*within, name))

    return Formula(text, core, tuple(meant(name) for name in core.columns))
