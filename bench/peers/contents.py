"""Requests for single objects: their numbers, in the byte order of the machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clock
import numpy as np

#: The objects of a file of many.
MANY = {"filter_classname": "TH1D"}


def numbers(each: Any) -> list[Any]:
    """Arrays: contents of bins, coordinates of points, or items of a ``std::vector``."""
    if hasattr(each, "axes"):
        found = [each.values(flow=True)]
    elif hasattr(each, "values"):
        found = list(each.values())
    else:
        found = [np.asarray(each)]
    return [np.asarray(array, dtype=array.dtype.newbyteorder("=")) for array in found]


def run(open_file: Callable[[str], Any]) -> None:
    """Times a peer with uproot's names: from the path to the numbers of the objects."""
    args = clock.arguments()

    def job() -> list[list[Any]]:
        file = open_file(args.url)
        # Of many objects, directories are not listed anew for each.
        named = map(file.__getitem__, args.columns)
        return [numbers(each) for each in (named if args.columns else file.itervalues(**MANY))]

    clock.run(job, answer)


def answer(objects: list[list[Any]]) -> dict[str, Any]:
    """Objects, and bytes of their numbers."""
    payload = sum(array.nbytes for arrays in objects for array in arrays)
    return {"entries": len(objects), "payload_bytes": payload}
