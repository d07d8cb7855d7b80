"""Whether an object has the members that ROOT tells of it in JSON (`TBufferJSON`)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from farroot.containers import Container, STLSet
from farroot.objects import Object

#: Names that are no members; `fPID` belongs to references to an object.
NONE = ("_typename", "$pair", "fPID", "_blob")
#: Floating point has as many digits as ROOT prints.
DIGITS = 2e-5


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Where the two are not the same, and how."""
    if isinstance(ours, STLSet):
        ours = list(ours)
    elif isinstance(ours, Container):
        ours = ours.tolist()
    if isinstance(theirs, dict):
        yield from _object(ours, theirs, path)
    elif isinstance(theirs, list):
        yield from _list(ours, theirs, path)
    elif isinstance(theirs, str) and isinstance(ours, float):
        if not (math.isinf(ours) or math.isnan(ours)):
            yield f"{path}: {ours!r}, not {theirs!r}"
    elif theirs is None and isinstance(ours, float):
        # ROOT leaves some members of its own without a value, which may look like any number.
        if not math.isnan(ours):
            yield f"{path}: {ours!r}, not {theirs!r}"
    elif isinstance(theirs, float) or isinstance(ours, float):
        if not math.isclose(ours, theirs, rel_tol=DIGITS, abs_tol=1e-12):
            yield f"{path}: {ours!r}, not {theirs!r}"
    elif ours != theirs:
        yield f"{path}: {ours!r}, not {theirs!r}"


def _object(ours: Any, theirs: dict[str, Any], path: str) -> Iterator[str]:
    if "$ref" in theirs:
        return
    for name in ("arr", "fArray", "fString"):
        # Lists, arrays and strings compare as their content.
        if name in theirs and not isinstance(ours, Object):
            if not isinstance(ours, dict):
                yield from differences(ours, theirs[name], path)
            elif len(ours) != len(theirs[name]):
                yield f"{path}: {len(ours)} pairs, not {len(theirs[name])}"
            return
    if isinstance(ours, tuple):
        ours = {"first": ours[0], "second": ours[1]}
    if not isinstance(ours, Object | dict):
        yield f"{path}: {ours!r}, not an object"
        return
    for name, value in theirs.items():
        if name in NONE:
            continue
        if name not in ours:
            yield f"{path}: no {name}"
        else:
            yield from differences(ours[name], value, f"{path}.{name}")


def _list(ours: Any, theirs: list[Any], path: str) -> Iterator[str]:
    if isinstance(ours, np.ndarray):
        ours = ours.tolist()
    if isinstance(ours, dict):
        ours = list(ours.items())
    if not isinstance(ours, list):
        yield f"{path}: {ours!r}, not a list"
        return
    while theirs and isinstance(theirs[0], list) and not (ours and isinstance(ours[0], list)):
        theirs = [each for row in theirs for each in row]
    if len(ours) != len(theirs):
        yield f"{path}: {len(ours)}, not {len(theirs)} of them"
        return
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        yield from differences(mine, other, f"{path}[{number}]")
