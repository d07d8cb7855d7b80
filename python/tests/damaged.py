"""Damaged files, read whole and compared with the values of the undamaged ones.

Bits are flipped, ranges are zeros, files are cut, blocks have changed places or come from other
files. The values read then are equal, an error, or silently different; the last is a fault
wherever the file says a thing twice or has a checksum of it. ``docs/damage.md`` says where it does
not.

``python -m tests.damaged FIRST COUNT [FILE...]`` does so for any seeds, and prints the faults.
"""

from __future__ import annotations

import os
import random
import struct
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

import farroot

from .skips import REPOSITORY, corpus_folder

TESTDATA = REPOSITORY / "crates" / "rootfile" / "testdata"
#: Larger files say no more, and take long to read a thousand times.
SIZE_MAX = 400_000
#: The file whose pages have no checksums, and are not compressed either.
PLAIN_PAGES = "ntuple_plain.root"
#: Kinds of places that hold no record, or one with a checksum or counts of its own.
CHECKED = ("page", "header", "footer", "page list", "gap", "free list", "key list")


@dataclass
class Tally:
    """The outcome of reading damaged files."""

    #: Values by outcome: "equal", "error", "different", and "untold", which nothing could tell.
    values: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def files() -> list[Path]:
    """Files of every writer: those of the repository, and small ones of the corpus."""
    folders = [TESTDATA, corpus_folder()]
    found = [path for folder in folders if folder for path in sorted(folder.glob("*.root"))]
    return [path for path in found if path.stat().st_size <= SIZE_MAX]


def damage(content: bytes, other: bytes, seed: int) -> tuple[str, bytes, list[range]]:
    """The kind of damage, the result, and which bytes are concerned."""
    chance = random.Random(seed)
    size, damaged = len(content), bytearray(content)
    kind = chance.choice(["flip", "flip", "zeros", "cut", "swap", "foreign"])
    if kind == "flip":
        places = [chance.randrange(size) for _ in range(chance.choice([1, 1, 3]))]
        for place in places:
            damaged[place] ^= 1 << chance.randrange(8)
        return f"flip {places}", bytes(damaged), [range(place, place + 1) for place in places]
    if kind == "cut":
        end = chance.randrange(size)
        return f"cut at {end}", content[:end], [range(end, size)]
    length = min(1 << chance.randrange(16) | chance.randrange(1 << 10), size // 2)
    start = chance.randrange(size - length + 1)
    touched = [range(start, start + length)]
    if kind == "zeros":
        damaged[start : start + length] = bytes(length)
    elif kind == "swap":
        second = chance.randrange(size - length + 1)
        block = content[start : start + length]
        damaged[start : start + length] = content[second : second + length]
        damaged[second : second + length] = block
        touched.append(range(second, second + length))
    else:
        stretch = other[start : start + length]
        damaged[start : start + len(stretch)] = stretch
    return f"{kind} {touched}", bytes(damaged), touched


def read(path: Path) -> tuple[dict[str, Any], bool]:
    """Everything in a file by name, errors among it; and whether a warning told of a loss."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            with farroot.open(path) as file:
                for name, value in _items(file):
                    found[name] = value
        except farroot.Error as error:
            found[""] = error
    lost = (farroot.errors.UnreadableWarning, farroot.errors.RecoveredWarning)
    return found, any(issubclass(warning.category, lost) for warning in told)


def _items(file: farroot.File) -> Iterator[tuple[str, Any]]:
    for path, kind in file.classnames(recursive=True).items():
        yield f"{path} class", kind
        try:
            yield f"{path} title", file.title_of(path)
            value = file[path]
            if isinstance(value, (farroot.Tree, farroot.RNTuple)):
                yield from ((f"{path} {name}", of) for name, of in _columns(value))
            elif not isinstance(value, farroot.file.Directory):
                yield path, _plain(value)
        except farroot.Error as error:
            yield path, error


def _columns(table: Any) -> Iterator[tuple[str, Any]]:
    yield "entries", table.num_entries
    for branch in table.values(recursive=True):
        if getattr(branch, "is_group", False):
            continue
        yield f"{branch.path} type", branch.typename
        try:
            yield branch.path, _signature(branch.array())
        except farroot.Error as error:
            yield branch.path, error


def _signature(array: Any) -> Any:
    form, length, buffers = ak.to_buffers(ak.to_packed(array))
    contents = {name: np.asarray(buffer).tobytes() for name, buffer in buffers.items()}
    return str(form), length, contents


def _plain(value: Any, depth: int = 0) -> Any:
    """An object in a form that can be compared, also where there are numbers that are none."""
    if isinstance(value, farroot.Error) or depth > 20:
        return type(value).__name__
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return [(_plain(key, depth + 1), _plain(one, depth + 1)) for key, one in value.items()]
    if isinstance(value, (list, tuple, set)):
        return [_plain(one, depth + 1) for one in value]
    members = getattr(value, "all_members", None)
    if members is not None:
        return type(value).__name__, _plain(dict(members), depth + 1)
    return repr(value)


@cache
def whole(path: Path) -> dict[str, Any]:
    return read(path)[0]


@cache
def untold(path: Path) -> list[range]:
    """Bytes of which nothing in the file tells the right value: see ``docs/damage.md``."""
    content = path.read_bytes()
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        records = farroot.open(path).map()
    for record in records:
        start, length = record.offset, record.stored_bytes
        if record.classname == "page" and path.name == PLAIN_PAGES:
            found.append(range(start, start + length))
        if record.classname in CHECKED or length < 29:
            continue
        stored, _, plain, _, key = struct.unpack_from(">iHIIH", content, start)
        payload = range(start + key, start + length)
        if stored == length and key < length:
            method = content[payload.start : payload.start + 2]
            if len(payload) == plain or method in (b"ZS", b"CS"):
                found.append(payload)
    return found


def compare(path: Path, seed: int, folder: Path, tally: Tally) -> None:
    """Reads a file that the seed says how to damage."""
    others = files()
    content = path.read_bytes()
    other = others[random.Random(seed).randrange(len(others))].read_bytes()
    what, damaged, touched = damage(content, other, seed)
    target = folder / f"damaged-{seed}.root"
    target.write_bytes(damaged)
    try:
        found, warned = read(target)
    finally:
        target.unlink()
    before = whole(path)
    open_to_doubt = untold(path)
    could_be_told = not any(
        part.start < place.stop and place.start < part.stop
        for part in open_to_doubt
        for place in touched
    )
    failed = [name for name, value in found.items() if isinstance(value, farroot.Error)]
    for name in before:
        outcome = _outcome(name, before, found, failed, warned)
        if outcome == "different":
            if could_be_told:
                got = "nothing" if name not in found else repr(found[name])[:100]
                tally.faults.append(f"{path.name} seed {seed}, {what}: {name} is {got}")
            else:
                outcome = "untold"
        tally.values[outcome] += 1
    for name in found.keys() - before.keys():
        is_told = any(name.startswith(one) for one in failed)
        if could_be_told and not is_told:
            tally.faults.append(f"{path.name} seed {seed}, {what}: {name} is new")


def _outcome(
    name: str, before: dict[str, Any], found: dict[str, Any], failed: list[str], warned: bool
) -> str:
    value = before[name]
    if isinstance(value, farroot.Error):
        return "equal" if name in found else "error"
    if name in found and found[name] == value:
        return "equal"
    # Of an object that cannot be opened there is one error, and none of its parts. A key whose
    # name has changed is found by the new one, and its record contradicts it.
    renamed = name not in found and any(one not in before for one in failed)
    is_told = renamed or any(name.startswith(one) for one in failed)
    return "error" if is_told or (warned and name not in found) else "different"


def run(first: int, count: int, paths: list[Path] | None = None) -> Tally:
    """Damages files as so many seeds from the first one on say."""
    paths, tally = paths or files(), Tally()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            compare(paths[seed % len(paths)], seed, Path(folder), tally)
    return tally


def main() -> int:
    os.environ["FARROOT_STORE"] = "0"
    first, count = map(int, sys.argv[1:3])
    tally = run(first, count, [Path(name) for name in sys.argv[3:]])
    print("\n".join(tally.faults))
    print(dict(tally.values))
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
