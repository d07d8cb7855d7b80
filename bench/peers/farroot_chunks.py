"""farroot: many chunks of one file, all requested at once, by its file system for fsspec."""

from __future__ import annotations

import clock
from farroot.fsspec import FileSystem

args = clock.arguments(
    ("--chunks", {"type": int, "default": 50_000}),
    ("--bytes", {"type": int, "default": 10_000}),
    ("--stride", {"type": int, "default": 20_000}),
)
starts = [number * args.stride for number in range(args.chunks)]
files = FileSystem()


def job() -> list[bytes]:
    ends = [start + args.bytes for start in starts]
    return files.cat_ranges([args.url] * len(starts), starts, ends, on_error="raise")


clock.run(job, lambda chunks: {"payload_bytes": sum(map(len, chunks))})
