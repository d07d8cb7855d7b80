"""RNTuples of types that are made up from seeds, compared with the filled values and with uproot.

``python -m tests.seeded_ntuple FIRST SEEDS`` does so for any seeds, and prints the differences.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uproot

import farroot

from .corpus import memory_limited
from .root.seeded_ntuple import source
from .same import same_awkward
from .seeds import main, written


def compare(path: Path) -> Iterator[str]:
    """Yields the fields of one file that are not as they were filled, or not as uproot reads
    them."""
    told = path.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in told]
    lines = path.with_suffix(".projected").read_text(encoding="utf-8").splitlines()
    projected = {name: how for line in lines for name, how in json.loads(line).items()}
    with memory_limited(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = next(each for each in uproot.open(path) if each.endswith("events;1"))
        ours, theirs = farroot.open(f"{path}:{name}"), uproot.open(f"{path}:{name}")
        if ours.num_entries != len(entries):
            yield f"{path.name}: {ours.num_entries} entries instead of {len(entries)}"
            return
        lacking = {key for entry in entries for key in entry} - set(ours.keys(recursive=False))
        if lacking:
            yield f"{path.name}: lacks {lacking}"
        names = ours.keys()
        if names != theirs.keys():
            yield f"{path.name}: the names differ"
        for key in names:
            if ours[key].typename != theirs[key].typename:
                yield f"{path.name}:{key}: uproot spells it {theirs[key].typename}"
        for key in ours.keys(recursive=False):
            where = f"{path.name}:{key} ({ours[key].typename})"
            wanted = [_wanted(entry, key, projected) for entry in entries]
            yield from (f"{where}: {what}" for what in _compare(ours[key], theirs[key], wanted))


def _wanted(entry: dict[str, Any], name: str, projected: dict[str, list[str]]) -> Any:
    """The filled values of a field; `None` where it was not there yet."""
    match projected.get(name):
        case ["same", source]:
            return entry[source]
        case ["count", source]:
            return len(entry[source])
        case ["member", source, member]:
            return [each[member] for each in entry[source]]
    return entry.get(name, Ellipsis)


def _compare(ours: Any, theirs: Any, wanted: list[Any]) -> Iterator[str]:
    try:
        array = ours.array()
    except farroot.Error as error:
        yield f"refused: {error}"
        return
    got = array.to_list()
    if len(got) != len(wanted):
        yield f"{len(got)} entries instead of {len(wanted)}"
        return
    for number, (value, filled) in enumerate(zip(got, wanted, strict=True)):
        different = _difference(value, filled, "")
        if different is not None:
            yield f"entry {number}: {different}"
            return
    third = len(wanted) // 3
    for start, stop in ((third, 2 * third), (len(wanted) // 2, len(wanted)), (0, 1)):
        if str(ours.array(entry_start=start, entry_stop=stop).to_list()) != str(got[start:stop]):
            yield f"entries {start} to {stop} are others alone"
    try:
        expected = theirs.array()
        right = not any(map(_difference, expected.to_list(), wanted, [""] * len(wanted)))
    except Exception:
        return
    if str(array.type) != str(expected.type):
        yield f"{array.type} where uproot has {expected.type}"
    elif right and not same_awkward(array, expected):
        yield "other values than uproot's"


def _difference(got: Any, wanted: Any, where: str) -> str | None:
    """The first difference."""
    if wanted is Ellipsis:
        return None if _is_zero(got) else f"{where}: {got!r} from before the field was there"
    if isinstance(got, dict | tuple) and isinstance(wanted, dict):
        if isinstance(got, tuple):
            got = dict(zip(wanted, got, strict=True))
        if got.keys() != wanted.keys():
            return f"{where}: members {list(got)} instead of {list(wanted)}"
        pairs = ((f"{where}.{name}", got[name], wanted[name]) for name in got)
        return next((d for at, a, b in pairs if (d := _difference(a, b, at))), None)
    if isinstance(got, list | tuple) and isinstance(wanted, list):
        if len(got) != len(wanted):
            return f"{where}: {len(got)} instead of {len(wanted)} items"
        items = enumerate(zip(got, wanted, strict=True))
        return next((d for n, (a, b) in items if (d := _difference(a, b, f"{where}[{n}]"))), None)
    if isinstance(got, float) and isinstance(wanted, float | int):
        same = got == wanted or (math.isnan(got) and math.isnan(wanted))
        same = same and math.copysign(1, got) == math.copysign(1, wanted or got)
    else:
        same = type(got) is type(wanted) and got == wanted
    return None if same else f"{where}: {got!r} instead of {wanted!r}"


def _is_zero(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_zero, value.values()))
    return all(map(_is_zero, value)) if isinstance(value, list | tuple) else not value


def write(folder: Path, first: int, seeds: int) -> list[Path]:
    """The files of some seeds."""
    return written("write_seeded_ntuple", source, folder, first, seeds)


if __name__ == "__main__":
    sys.exit(main(write, compare))
