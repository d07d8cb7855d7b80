"""Expressions of polars as cuts, as far as they compare numbers with constants.

A cut may let more rows pass than the expression, which polars applies afterwards; never fewer. Two
things make them differ: for polars a NaN is larger than all numbers and equal to itself, and a
constant may be meant in the column's precision or in its own.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

#: Comparisons as polars names them, and whether a NaN in the column fulfils them.
_COMPARISONS = {
    "Gt": (">", True),
    "GtEq": (">=", True),
    "Lt": ("<", False),
    "LtEq": ("<=", False),
    "Eq": ("==", False),
    "NotEq": ("!=", True),
}
#: With the sides changed.
_TURNED = {"Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq", "Eq": "Eq", "NotEq": "NotEq"}
#: Integers that a double has, each and their neighbours.
_WHOLE_MAX = 2**53 - 1


def cut_of(predicate: Any) -> str | None:
    """A cut that each row passes for which the expression is true; None where there is none."""
    return _translated(_read(predicate))


def _read(predicate: Any) -> Any:
    """The expression as nested dicts, whose form polars does not promise."""
    import warnings

    with warnings.catch_warnings():
        # The form is unstable; what is not understood is left to polars.
        warnings.simplefilter("ignore")
        return json.loads(predicate.meta.serialize(format="json"))


def _translated(node: Any) -> str | None:
    match node:
        case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
            sides = [side for side in map(_translated, (left, right)) if side is not None]
            return " & ".join(f"({side})" for side in sides) or None
        case {"BinaryExpr": {"left": left, "op": "Or", "right": right}}:
            one, other = _translated(left), _translated(right)
            return None if one is None or other is None else f"({one}) | ({other})"
        case {"BinaryExpr": {"left": {"Column": name}, "op": op, "right": {"Literal": literal}}}:
            return _compared(name, op, literal)
        case {"BinaryExpr": {"left": {"Literal": literal}, "op": op, "right": {"Column": name}}}:
            return _compared(name, _TURNED.get(op, ""), literal)
        case {
            "Function": {
                "input": [{"Column": name}, {"Literal": low}, {"Literal": high}],
                "function": {"Boolean": {"IsBetween": _}},
            }
        }:
            # The ends may belong to it or not: more rows may pass than should.
            one, other = _compared(name, "GtEq", low), _compared(name, "LtEq", high)
            return None if one is None or other is None else f"({one}) & ({other})"
    return None


def _compared(name: str, op: str, literal: Any) -> str | None:
    value = _number(literal)
    if value is None or op not in _COMPARISONS or not name.isidentifier():
        return None
    sign, with_nan = _COMPARISONS[op]
    # As the column may have it, and as it is.
    values = (value, float(np.float32(value))) if isinstance(value, float) else (value,)
    if op in ("Eq", "NotEq") and len({*values}) > 1:
        return None
    value = min(values) if op in ("Gt", "GtEq") else max(values)
    cut = f"{name} {sign} {value!r}"
    may_be_nan = isinstance(value, float) and op != "NotEq"
    return f"({cut}) | ({name} != {name})" if with_nan and may_be_nan else cut


def _number(literal: Any) -> int | float | None:
    """The constant, where it is a finite number that no conversion changes."""
    match literal:
        # A scalar's type is that of the column.
        case {"Scalar": scalar} if isinstance(scalar, dict) and len(scalar) == 1:
            ((kind, value),) = scalar.items()
            if kind.startswith(("Int", "UInt")) and type(value) is int:
                return value if abs(value) <= _WHOLE_MAX else None
            if kind.startswith("Float") and type(value) in (int, float):
                with np.errstate(over="ignore"):
                    single = float(np.float32(value))
                return float(value) if math.isfinite(value) and math.isfinite(single) else None
    return None
