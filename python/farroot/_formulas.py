"""Expressions over columns: Python's operators and NumPy's functions, nothing else.

An expression is read as Python and evaluated here, node by node, on arrays of Awkward or NumPy.
What is not an operator, a number, a column or one of `FUNCTIONS` is refused, and texts are only
compared, so that nothing in an expression can do anything but compute. All of it works element by
element: the entries may come in any pieces.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _special_functions
from .errors import InvalidArgumentError, KeyInFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._core import Column, ColumnInfo, Table
    from ._selection import Leaf, Place

#: Names of functions, as in uproot.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(np, name)
    for name in (
        *("absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh"),
        *("cbrt", "ceil", "conjugate", "copysign", "cos", "cosh", "exp", "exp2", "expm1", "fabs"),
        *("floor", "fmax", "fmin", "hypot", "imag", "isfinite", "isinf", "isnan", "log", "log10"),
        *("log1p", "log2", "logical_and", "logical_not", "logical_or", "maximum", "minimum"),
        *("nextafter", "real", "rint", "round", "signbit", "sin", "sinh", "sqrt", "tan", "tanh"),
        *("trunc", "where"),
    )
} | {
    "abs": np.absolute,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "conj": np.conjugate,
    "neg": np.negative,
    **_special_functions.FUNCTIONS,
}

#: The function that names a column which is no Python name: ``get("a.b")``.
GETTER = "get"

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Formula:
    """An expression, and what its names stand for."""

    text: str
    root: ast.expr
    names: Mapping[str, Leaf | Formula]

    def leaves(self) -> Iterator[Leaf]:
        """The columns that are read for it."""
        for named in self.names.values():
            if isinstance(named, Formula):
                yield from named.leaves()
            else:
                yield named

    def value(self, columns: Mapping[Any, Any]) -> Any:
        """Its value for arrays by key."""

        def named(name: str) -> Any:
            meant = self.names[name]
            return meant.value(columns) if isinstance(meant, Formula) else columns[meant.key]

        return _value(self.root, named, self.text)

    def evaluated(self, columns: Mapping[Any, Column]) -> Any:
        """Its value for decoded columns: with NumPy alone where each entry has one number."""
        from . import _core

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

    def mask(self, columns: list[Column], entries: int) -> NDArray[np.bool_]:
        """Which entries stay, from the columns in the order of `keys`."""
        found = self.formula.evaluated(dict(zip(self.keys, columns, strict=True)))
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

    # Where a friend lacks an entry, nothing is true of it.
    return np.asarray(ak.to_numpy(ak.fill_none(array, False)))


def _not_a_cut(text: str, found: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"a cut gives one bool an entry; {text!r} gives {found}")


def formula(text: str, place: Place, aliases: Mapping[str, str]) -> Formula:
    """Reads an expression.

    Raises:
        InvalidArgumentError: where it is none, or none that may be evaluated.
        KeyInFileError: for a name that no column, alias or function has.
    """
    return _read(text, place, aliases, ())


def _read(text: str, place: Place, aliases: Mapping[str, str], within: tuple[str, ...]) -> Formula:
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        advice = ""
        for sign, instead in (("&&", "&"), ("||", "|"), ("!", "~")):
            if sign in text.replace("!=", ""):
                advice = f"; for {sign} write {instead}, with parentheses around comparisons"
                break
        raise InvalidArgumentError(
            f"{text!r} cannot be read as an expression: {error}{advice}"
        ) from None
    names: dict[str, Leaf | Formula] = {}
    for name in _names(root, text):
        if name in aliases:
            if name in within:
                raise InvalidArgumentError(f"the alias {name!r} refers to itself")
            names[name] = _read(aliases[name], place, aliases, (*within, name))
        else:
            names[name] = _leaf(place, name, text)
    return Formula(text, root, names)


def _leaf(place: Place, name: str, text: str) -> Leaf:
    """The column of a name in a formula: dots may stand for slashes."""
    from ._selection import Leaf

    core, below = place.table._live(), place._number
    spelled = (name, name.replace(".", "/"))
    own = (number for each in spelled if (number := core.find(each, below)) is not None)
    number = next(own, None)
    info = _of_friend(core, name, below) if number is None else place.table._columns()[number]
    if info.is_group:
        raise InvalidArgumentError(f"{name!r} in {text!r} only groups other branches")
    return Leaf(info)


def _of_friend(core: Table, name: str, below: int | None) -> ColumnInfo:
    try:
        return core.resolve(name, below)[0]
    except (KeyInFileError, IndexError):
        friend, _, path = name.partition(".")
        if "." not in path:
            raise
        return core.resolve(f"{friend}.{path.replace('.', '/')}", below)[0]


def _name(node: ast.expr) -> str | None:
    """The name of a column: a word, words with dots, or what the getter is given."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(value, attribute):
            before = _name(value)
            return None if before is None else f"{before}.{attribute}"
        case ast.Call(ast.Name("get"), [ast.Constant(str(name))], []):
            return name
    return None


def _names(node: ast.expr, text: str) -> Iterator[str]:
    """Names of columns; refuses what is not allowed."""
    name = _name(node)
    if name is not None:
        yield name
        return
    for part in _parts(node, text):
        yield from _names(part, text)


def _parts(node: ast.expr, text: str) -> list[ast.expr]:
    match node:
        case ast.Constant(bool() | int() | float() | complex()):
            return []
        case ast.UnaryOp(operation, operand) if type(operation) in _OPERATORS:
            return [operand]
        case ast.BinOp(left, operation, right) if type(operation) in _OPERATORS:
            return [left, right]
        case ast.Compare(left, [ast.Eq() | ast.NotEq()], [right]):
            return [side for side in (left, right) if not _is_text(side)]
        case ast.Compare(left, [operation], [right]) if type(operation) in _OPERATORS:
            return [left, right]
        case ast.Compare(_, [_, _, *_], _):
            raise _refused(text, "comparisons in a row; say (a < b) & (b < c)")
        case ast.BoolOp() | ast.UnaryOp(ast.Not()):
            raise _refused(text, "and, or, not; say &, |, ~ with parentheses around comparisons")
        case ast.Call(ast.Name(function), arguments, []):
            if function not in FUNCTIONS:
                raise _refused(text, f"a function {function!r}")
            return arguments
        case ast.Subscript(value, index):
            return [value, *_indices(index, text)]
    raise _refused(text, ast.unparse(node))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _indices(index: ast.expr, text: str) -> list[ast.expr]:
    match index:
        case ast.Tuple(elements):
            return [part for element in elements for part in _indices(element, text)]
        case ast.Slice(lower, upper, step):
            return [part for part in (lower, upper, step) if part is not None]
        case ast.Constant(value) if value is None or value is Ellipsis:
            return []
    return [index]


def _refused(text: str, what: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"the expression {text!r} may not contain {what}")


def _value(node: ast.expr, named: Callable[[str], Any], text: str) -> Any:
    name = _name(node)
    if name is not None:
        return named(name)
    match node:
        case ast.Constant(value):
            return value
        case ast.UnaryOp(operation, operand):
            return _OPERATORS[type(operation)](_value(operand, named, text))
        case ast.BinOp(left, operation, right) | ast.Compare(left, [operation], [right]):
            values = _value(left, named, text), _value(right, named, text)
            return _OPERATORS[type(operation)](*values)
        case ast.Call(ast.Name(function), arguments, []):
            return FUNCTIONS[function](*(_value(each, named, text) for each in arguments))
        case ast.Subscript(value, index):
            return _value(value, named, text)[_index(index, named, text)]
    raise _refused(text, ast.unparse(node))


def _index(node: ast.expr, named: Callable[[str], Any], text: str) -> Any:
    match node:
        case ast.Tuple(elements):
            return tuple(_index(element, named, text) for element in elements)
        case ast.Slice(lower, upper, step):
            parts = (lower, upper, step)
            return slice(*(None if p is None else _value(p, named, text) for p in parts))
    return _value(node, named, text)
