"""What single objects are asked for: their numbers, in the byte order of the machine."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The objects of a file of many.
MANY = {"filter_classname": "TH1D"}


def numbers(each: Any) -> list[Any]:
    """Arrays: contents of bins, coordinates of points, or what a ``std::vector`` holds."""
    if hasattr(each, "axes"):
        found = [each.values(flow=True)]
    elif hasattr(each, "values"):
        found = list(each.values())
    else:
        found = [np.asarray(each)]
    return [np.asarray(array, dtype=array.dtype.newbyteorder("=")) for array in found]


def answer(objects: list[list[Any]]) -> dict[str, Any]:
    """Objects, and bytes of their numbers."""
    payload = sum(array.nbytes for arrays in objects for array in arrays)
    return {"entries": len(objects), "payload_bytes": payload}
