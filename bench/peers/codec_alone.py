"""The floor of decoding on one thread: the decompressor alone, on a local file's baskets, pages or
objects.

It calls the C library with one context for all: the system's zstd, LZ4 and LZMA, and for zlib
libdeflate where it is installed, else zlib. Compressed blocks are in memory, their places known;
all are decompressed into one buffer that stays in a cache: nothing is read, no array is made,
none of ROOT's checksums is verified. Blocks that are not compressed are copied there.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterator
from pathlib import Path

import clock
import contents
import uproot

HEADER = 9  # of a block: algorithm, version, and three bytes each of compressed and original size
CHECKSUM = 8  # in front of LZ4's bytes

args = clock.arguments(("--objects", {"action": "store_true", "help": "columns are objects"}))
stored = Path(args.url).read_bytes()


def library(name: str, **results: type) -> ctypes.CDLL:
    found = ctypes.util.find_library(name)
    if found is None:
        raise OSError(f"{name} is not installed")
    loaded = ctypes.CDLL(found)
    for function, result in results.items():
        getattr(loaded, function).restype = result
    return loaded


def zstd() -> Callable[[int, int, int, int], int]:
    lib = library("zstd", ZSTD_createDCtx=ctypes.c_void_p, ZSTD_decompressDCtx=ctypes.c_size_t)
    context = ctypes.c_void_p(lib.ZSTD_createDCtx())
    size = ctypes.c_size_t
    decompress = lib.ZSTD_decompressDCtx
    decompress.argtypes = [ctypes.c_void_p, ctypes.c_void_p, size, ctypes.c_void_p, size]
    return lambda source, length, to, room: decompress(context, to, room, source, length)


def zlib() -> Callable[[int, int, int, int], int]:
    size = ctypes.c_size_t
    try:
        lib = library("deflate", libdeflate_alloc_decompressor=ctypes.c_void_p)
    except OSError:
        plain = library("z").uncompress
        plain.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong]
        written = ctypes.c_ulong()

        def by_zlib(source: int, length: int, to: int, room: int) -> int:
            written.value = room
            failed = plain(to, ctypes.addressof(written), source, length)
            return -1 if failed else written.value

        return by_zlib
    context = ctypes.c_void_p(lib.libdeflate_alloc_decompressor())
    whole = lib.libdeflate_zlib_decompress
    whole.argtypes = [ctypes.c_void_p] * 2 + [size, ctypes.c_void_p, size, ctypes.c_void_p]
    # Without a place for the number of bytes, any other than all of them is an error.
    return lambda source, length, to, room: (
        -1 if whole(context, source, length, to, room, None) else room
    )


def lz4() -> Callable[[int, int, int, int], int]:
    decompress = library("lz4").LZ4_decompress_safe
    decompress.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    return lambda source, length, to, room: decompress(
        source + CHECKSUM, to, length - CHECKSUM, room
    )


def lzma() -> Callable[[int, int, int, int], int]:
    size = ctypes.c_size_t
    decode = library("lzma").lzma_stream_buffer_decode
    pointer = ctypes.c_void_p
    decode.argtypes = [pointer, ctypes.c_uint32, pointer, pointer, pointer, size, pointer, pointer]
    decode.argtypes += [size]
    memory = ctypes.c_uint64(1 << 30)
    read, written = size(), size()
    places = [ctypes.addressof(place) for place in (memory, read, written)]

    def decompress(source: int, length: int, to: int, room: int) -> int:
        read.value = written.value = 0
        failed = decode(places[0], 0, None, source, places[1], length, to, places[2], room)
        return -1 if failed else written.value

    return decompress


def nothing() -> Callable[[int, int, int, int], int]:
    def copy(source: int, length: int, to: int, room: int) -> int:
        ctypes.memmove(to, source, length)
        return length

    return copy


CODECS = {b"ZS": zstd, b"ZL": zlib, b"L4": lz4, b"XZ": lzma}


def payloads(tree) -> Iterator[tuple[int, int]]:
    """Where the compressed bytes of all baskets or pages, or of objects, begin and end."""
    if args.objects:
        for name in args.columns or tree.iterkeys(**contents.MANY):
            key = tree.key(name)
            start = key.data_cursor.index
            yield start, start + key.data_compressed_bytes
        return
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
            key_length = int.from_bytes(stored[start + 14 : start + 16], "big")
            yield start + key_length, end


def blocks(tree) -> Iterator[tuple[int, bytes, int, int]]:
    """Place, algorithm and length of each block, and the length of its content."""
    for start, end in payloads(tree):
        algorithm = stored[start : start + 2]
        if algorithm not in CODECS:
            yield start, b"", end - start, end - start
            continue
        while stored[start : start + 2] == algorithm and start < end:
            compressed = int.from_bytes(stored[start + 3 : start + 6], "little")
            length = int.from_bytes(stored[start + 6 : start + 9], "little")
            yield start + HEADER, algorithm, compressed, length
            start += HEADER + compressed


with uproot.open(args.url) as file:
    todo = sorted(blocks(file if args.objects else file[args.tree]))
base = ctypes.cast(ctypes.c_char_p(stored), ctypes.c_void_p).value
target = ctypes.create_string_buffer(max(length for *_, length in todo))
place = ctypes.addressof(target)
decompressors = {name: CODECS.get(name, nothing)() for name in {name for _, name, _, _ in todo}}


def job() -> int:
    for start, name, compressed, length in todo:
        written = decompressors[name](base + start, compressed, place, length)
        if written != length:
            raise ValueError(f"block at {start}: {written} bytes, not {length}")
    return sum(length for *_, length in todo)


clock.run(job, lambda total: {"decompressed_bytes": total})
