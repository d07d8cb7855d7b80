"""The floor of decoding on one thread: zstd alone, on the baskets or pages of a local file.

The C library itself, with one context for all. What is compressed is in memory, its place in the
file is known, and all goes into one buffer that stays in a cache: nothing is read, no array made.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from pathlib import Path

import clock
import uproot

HEADER = 9  # of a block: ZS, version, and three bytes each of compressed and uncompressed size

args = clock.arguments()
content = Path(args.url).read_bytes()
zstd = ctypes.CDLL(ctypes.util.find_library("zstd"))
zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
zstd.ZSTD_decompressDCtx.restype = ctypes.c_size_t
zstd.ZSTD_decompressDCtx.argtypes = [
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
]


def payloads(tree) -> Iterator[tuple[int, int]]:
    """Where the compressed bytes of all baskets or pages begin and end."""
    if isinstance(tree, uproot.behaviors.RNTuple.RNTuple):
        for cluster in tree.page_link_list:
            for column in cluster:
                for page in column.pages:
                    yield page.locator.offset, page.locator.offset + page.locator.num_bytes
        return
    for branch in [tree[name] for name in args.columns] or tree.branches:
        for number in range(branch.num_baskets):
            start = int(branch.member("fBasketSeek")[number])
            end = start + int(branch.member("fBasketBytes")[number])
            key_length = int.from_bytes(content[start + 14 : start + 16], "big")
            yield start + key_length, end


def blocks(tree) -> Iterator[tuple[int, int, int]]:
    """Place and length of each compressed block, and the length of its content."""
    for start, end in payloads(tree):
        while content[start : start + 2] == b"ZS" and start < end:
            compressed = int.from_bytes(content[start + 3 : start + 6], "little")
            length = int.from_bytes(content[start + 6 : start + 9], "little")
            yield start + HEADER, compressed, length
            start += HEADER + compressed


with uproot.open(args.url) as file:
    todo = sorted(blocks(file[args.tree]))
source = ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value
target = ctypes.create_string_buffer(max(length for _, _, length in todo))
context = zstd.ZSTD_createDCtx()


def job() -> int:
    for start, compressed, length in todo:
        written = zstd.ZSTD_decompressDCtx(context, target, length, source + start, compressed)
        if written != length:
            raise ValueError(f"block at {start}: {written} bytes, not {length}")
    return sum(length for _, _, length in todo)


clock.run(job, lambda total: {"decompressed_bytes": total})
