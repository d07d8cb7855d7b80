"""Formulas that seeds make up, in Python's grammar and in ROOT's."""

from __future__ import annotations

import random

NUMBERS = ("flag", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
LISTS = ("v", "w", "fixed", "deep")
_CONSTANTS = ("0", "1", "2", "3", "-1", "7", "100", "0.5", "-2.5", "1e3", "True")
_OPERATORS = ("+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_OF_ONE = [
    "abs",
    "arctan",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "neg",
    "real",
    "imag",
    "conj",
    "rint",
    "round",
    "signbit",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "arcsinh",
]
_OF_TWO = [
    "arctan2",
    "copysign",
    "hypot",
    "fmax",
    "fmin",
    "maximum",
    "minimum",
    "logical_and",
    "logical_or",
    "nextafter",
]


def in_python(seed: int, depth: int = 3) -> str:
    """A formula in Python's grammar."""
    return _python(random.Random(seed), depth)


def _python(chance: random.Random, depth: int) -> str:
    def part() -> str:
        return _python(chance, depth - 1)

    kind = chance.random() if depth else 0.0
    if kind < 0.15:
        if chance.random() < 0.2:
            return chance.choice(_CONSTANTS)
        return chance.choice(LISTS if chance.random() < 0.25 else NUMBERS)
    if kind < 0.55:
        return f"({part()} {chance.choice(_OPERATORS)} {part()})"
    if kind < 0.6:
        return f"({part()} ** {chance.choice(('3', '0.5', 'u1', part()))})"
    if kind < 0.72:
        return f"({part()} {chance.choice(_COMPARISONS)} {part()})"
    if kind < 0.77:
        return f"({chance.choice('+-~')}{part()})"
    if kind < 0.88:
        return f"{chance.choice(_OF_ONE)}({part()})"
    if kind < 0.94:
        return f"{chance.choice(_OF_TWO)}({part()}, {part()})"
    if kind < 0.97:
        return f"where({part()} > 1, {part()}, {part()})"
    return chance.choice(
        ("fixed[:, 1]", "v[v > 0]", "deep[:, :1]", "fixed[:, ::-1]", "v[..., :2]", "(text == 'a')")
    )


_ROOT_NUMBERS = ("flag", "i1", "i2", "i4", "u1", "u2", "u4", "f4", "f8")
_ROOT_LISTS = (
    "v",
    "w",
    "fixed",
    "v[0]",
    "w[1]",
    "fixed[2]",
    "matrix[0][1]",
    "matrix",
    "matrix[][1]",
    "vec",
    "deep",
    "deeper",
    "one",
    "square",
    "square[][1]",
)
_ROOT_OPERATORS = ("+", "-", "*", "/", "&", "|", "<<", ">>", "&&", "||", "^")
_ROOT_OF_ONE = [
    "sqrt",
    "abs",
    "sq",
    "cos",
    "sin",
    "tan",
    "acos",
    "asin",
    "atan",
    "cosh",
    "sinh",
    "tanh",
    "log",
    "log10",
    "exp",
    "int",
    "sign",
    "TMath::Abs",
    "TMath::Sqrt",
    "TMath::Exp",
    "TMath::ATan",
    "TMath::Floor",
    "fabs",
    "floor",
    "ceil",
    "Sum$",
    "Max$",
    "Min$",
    "Length$",
]
_ROOT_OF_TWO = [
    "min",
    "max",
    "atan2",
    "fmod",
    "pow",
    "TMath::Power",
    "TMath::Max",
    "TMath::Min",
    "MinIf$",
    "MaxIf$",
]


def in_root(seed: int, depth: int = 3) -> str:
    """A formula in ROOT's grammar."""
    return _root(random.Random(seed), depth)


def _root(chance: random.Random, depth: int) -> str:
    def part() -> str:
        return _root(chance, depth - 1)

    kind = chance.random() if depth else 0.0
    if kind < 0.2:
        chosen = chance.random()
        if chosen < 0.3:
            return chance.choice(("0", "1", "2", "3", "7", "0.5", "2.5", "1e2", "0x1f", "pi"))
        return chance.choice(_ROOT_LISTS if chosen < 0.5 else _ROOT_NUMBERS)
    if kind < 0.45:
        return f"({part()} {chance.choice(_ROOT_OPERATORS)} {part()})"
    if kind < 0.55:
        # How operators bind.
        parts = [_root(chance, 0), _root(chance, 0), _root(chance, 0)]
        signs = [chance.choice(("+", "-", "*", "/", "==", "<", "&", "&&", "||", "^", "|"))]
        signs.append(chance.choice(("+", "-", "*", "/", "!=", ">", "&", "&&", "||", "|")))
        return f"({parts[0]}{signs[0]}{parts[1]}{signs[1]}{parts[2]})"
    if kind < 0.6:
        return f"({part()} % {chance.choice('2357')})"
    if kind < 0.7:
        return f"({part()} {chance.choice(_COMPARISONS)} {part()})"
    if kind < 0.76:
        return f"{chance.choice('!-')}({part()})"
    if kind < 0.88:
        return f"{chance.choice(_ROOT_OF_ONE)}({part()})"
    if kind < 0.95:
        return f"{chance.choice(_ROOT_OF_TWO)}({part()},{part()})"
    if kind < 0.98:
        return f"({part()} ? {part()} : {part()})"
    return chance.choice(
        ("Iteration$", "Length$", "Entry$", "Entries$", 'text=="a"', "Alt$(v[1],-1)")
    )
