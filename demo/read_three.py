"""Reads three columns with one client, cold, and prints one line of JSON.

Usage: read_three.py farroot|uproot URL COLUMN... [--timeline FILE.svg]

The clock starts after the imports, since those cost no round trips.
"""

import argparse
import hashlib
import json
import time

import numpy as np


def main() -> None:
    """Reads, times and describes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=["farroot", "uproot"])
    parser.add_argument("url")
    parser.add_argument("columns", nargs="+")
    parser.add_argument("--timeline", metavar="FILE.svg")
    arguments = parser.parse_args()
    read = with_farroot if arguments.client == "farroot" else with_uproot
    print(json.dumps(read(arguments.url, arguments.columns, arguments.timeline)))


def with_farroot(url: str, columns: list[str], timeline: str | None) -> dict[str, object]:
    """farroot's own report counts its requests."""
    import awkward as ak
    import farroot

    started = time.perf_counter()
    tree = farroot.open(f"{url}:Events")
    arrays = tree.arrays(columns)
    seconds = time.perf_counter() - started
    report = tree.report()
    if timeline:
        tree.timeline(timeline)
    return {
        "seconds": seconds,
        "bytes": report["bytes_received"],
        "requests": report["requests"],
        "digest": digest(arrays, ak),
        "text": str(report),
        "timeline": tree.timeline(),
    }


def with_uproot(url: str, columns: list[str], _: str | None) -> dict[str, object]:
    """uproot counts in its source."""
    import awkward as ak
    import uproot

    started = time.perf_counter()
    tree = uproot.open(f"{url}:Events")
    arrays = tree.arrays(columns)
    seconds = time.perf_counter() - started
    source = tree.file.source
    return {
        "seconds": seconds,
        "bytes": source.num_requested_bytes,
        "requests": source.num_requests,
        "digest": digest(arrays, ak),
    }


def digest(arrays: object, ak: object) -> str:
    """The same for equal columns, whichever client has read them."""
    total = hashlib.sha256()
    for name in sorted(ak.fields(arrays)):
        column = arrays[name]
        if column.ndim > 1:
            total.update(np.asarray(ak.num(column)).astype(np.int64).tobytes())
        total.update(np.asarray(ak.flatten(column, axis=None)).tobytes())
    return total.hexdigest()[:16]


if __name__ == "__main__":
    main()
