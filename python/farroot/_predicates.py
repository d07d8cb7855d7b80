"""Translates expressions of polars that compare numbers with constants to cuts.

A cut may pass more rows than the expression, which polars applies afterwards, but never fewer. Cuts
and polars differ in two ways: for polars a NaN is larger than all numbers and equal to itself, and
polars may compare in the precision of the column or in that of the constant.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

#: polars' names of comparisons: the operator, and whether a NaN in the column fulfils it.
_COMPARISONS = {
    "Gt": (">", True),
    "GtEq": (">=", True),
    "Lt": ("<", False),
    "LtEq": ("<=", False),
    "Eq": ("==", False),
    "NotEq": ("!=", True),
}
#: The comparison that means the same with its sides exchanged.
_TURNED = {"Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq", "Eq": "Eq", "NotEq": "NotEq"}
#: The largest integer up to which a double represents every integer and both its neighbours.
_WHOLE_MAX = 2**53 - 1


def cut_of(predicate: Any) -> str | None:
    """A cut that passes every row for which the expression is true; None if there is none."""
    return _translated(_read(predicate))


def _read(predicate: Any) -> Any:
    """The expression as nested dicts; polars may change their form in any release."""
    import warnings

    with warnings.catch_warnings():
        # polars warns that the form is unstable; parts that are unknown here are left to polars.
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
            # Whether the ends belong to the interval is ignored: a cut may pass more rows.
            one, other = _compared(name, "GtEq", low), _compared(name, "LtEq", high)
            return None if one is None or other is None else f"({one}) & ({other})"
    return None


def _compared(name: str, op: str, literal: Any) -> str | None:
    value = _number(literal)
    if value is None or op not in _COMPARISONS or not name.isidentifier():
        return None
    sign, with_nan = _COMPARISONS[op]
    # The constant in the precision of the column, which may be single, and in its own.
    values = (value, float(np.float32(value))) if isinstance(value, float) else (value,)
    if op in ("Eq", "NotEq") and len({*values}) > 1:
        return None
    value = min(values) if op in ("Gt", "GtEq") else max(values)
    cut = f"{name} {sign} {value!r}"
    may_be_nan = isinstance(value, float) and op != "NotEq"
    return f"({cut}) | ({name} != {name})" if with_nan and may_be_nan else cut


def _number(literal: Any) -> int | float | None:
    """The constant, if it is an integer of at most 53 bits or finite in single precision."""
    match literal:
        # polars gives a scalar the type of the column.
        case {"Scalar": scalar} if isinstance(scalar, dict) and len(scalar) == 1:
            ((kind, value),) = scalar.items()
            if kind.startswith(("Int", "UInt")) and type(value) is int:
                return value if abs(value) <= _WHOLE_MAX else None
            if kind.startswith("Float") and type(value) in (int, float):
                with np.errstate(over="ignore"):
                    single = float(np.float32(value))
                return float(value) if math.isfinite(value) and math.isfinite(single) else None
    return None
