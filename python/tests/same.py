"""Equality of two arrays: same type, same numbers, NaN where NaN."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np


def same_awkward(ours: Any, theirs: Any) -> bool:
    """Equal in type, parameters included, and in every value."""
    if str(ak.type(ours)) != str(ak.type(theirs)):
        return False
    return bool(ak.array_equal(ours, theirs, equal_nan=True))


def shared(ours: Any, theirs: Any) -> Any:
    """Ours, with those fields of records only that theirs have: pointers are left out there."""
    layout = _shared(ak.to_layout(ours), ak.to_layout(theirs))
    return ak.Array(layout, behavior=ak.behavior)


def _shared(ours: Any, theirs: Any) -> Any:
    if isinstance(ours, ak.contents.RecordArray) and isinstance(theirs, ak.contents.RecordArray):
        names = [name for name in ours.fields if name in theirs.fields]
        return ak.contents.RecordArray(
            [_shared(ours.content(name), theirs.content(name)) for name in names],
            None if ours.is_tuple else names,
            length=ours.length,
            parameters=ours.parameters,
        )
    if any(isinstance(each, ak.contents.RecordArray) for each in (ours, theirs)):
        return ours
    if hasattr(ours, "content") and hasattr(theirs, "content"):
        return ours.copy(content=_shared(ours.content, theirs.content))
    return ours


def same_numpy(ours: Any, theirs: Any) -> bool:
    """Equal in dtype and shape and, for objects, in their content."""
    if isinstance(ours, dict):
        return list(ours) == list(theirs) and all(same_numpy(ours[k], theirs[k]) for k in ours)
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    if ours.dtype == object:
        return all(map(_same_entry, ours, theirs))
    if ours.dtype.names is not None:
        return all(same_numpy(ours[name], theirs[name]) for name in ours.dtype.names)
    return bool(np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"))


def _same_entry(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        return same_numpy(ours, theirs)
    if isinstance(ours, np.ndarray):
        # uproot has classes of its own for vectors of vectors and of strings.
        items = list(theirs)
        return len(ours) == len(items) and all(map(_same_entry, ours, items))
    return bool(ours == theirs)
