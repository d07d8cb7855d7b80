"""An append that ends in the middle: each directory has its old content or its new one."""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import uproot

import farroot

from .scripted_xrootd import OK, Asked, answer, scripted
from .test_merge_append import written
from .test_merge_ntuples import checked

#: Cuts within a write behind the old end, as a disk that fills up, or a lost machine, leaves them.
PARTS = 9


class Written(NamedTuple):
    """A write as the server has received it."""

    offset: int
    data: bytes


#: The objects of each directory, by their names.
Content = dict[str, dict[str, Any]]


def content(reader: Any, path: Path) -> Content:
    """The values of all tables and objects of a file."""
    found: Content = defaultdict(dict)
    with reader.open(path) as file:
        for key, kind in file.classnames().items():
            directory, _, name = key.rpartition("/")
            if kind == "TTree" or kind.endswith("RNTuple"):
                found[directory][name] = file[key].arrays().tolist()
            elif kind.startswith("TH1"):
                found[directory][name] = file[key].values().tolist()
            else:
                found[directory][name] = None if kind == "TDirectory" else str(file[key])
    return dict(found)


def inputs(folder: Path) -> tuple[Path, Path]:
    """A file, and another that adds to each of its tables and has new ones."""
    output, other = written(folder / "all.root", 0), written(folder / "other.root", 10)
    with farroot.update(other) as file:
        file["new/h"] = np.histogram(np.arange(3), bins=3)
        file.mktree("new/t", {"y": np.arange(4)})
    return output, other


def appended(output: Path, other: Path) -> list[Written]:
    """The writes of an append, in the order in which a server receives them."""
    writes: list[Written] = []

    def keeps(asked: Asked) -> bytes | None:
        if asked.name == "write":
            (offset,) = struct.unpack(">q", asked.parameters[4:12])
            writes.append(Written(offset, asked.data))
            server.content = after(server.content, writes[-1:])
        return answer(asked, OK) if asked.name in ("write", "sync") else None

    with scripted(output.read_bytes(), keeps) as server:
        merged = farroot.merge(other, f"root://127.0.0.1:{server.port}//all.root", append=True)
        assert not any("cop" in note for note in merged.notes)
        output.write_bytes(server.content)
    return writes


def after(before: bytes, writes: list[Written]) -> bytes:
    """The bytes of a file after some writes."""
    found = bytearray(before)
    for write in writes:
        assert write.offset <= len(found), "no write leaves a hole"
        found[write.offset : write.offset + len(write.data)] = write.data
    return bytes(found)


def prefixes(before: bytes, writes: list[Written]) -> Iterator[bytes]:
    """The file as an append that ends early leaves it: after each write, and in those that add
    bytes, also in the middle."""
    for number, write in enumerate(writes):
        is_behind = write.offset >= len(before)
        for part in range(1, PARTS if is_behind else 1):
            some = write.data[: len(write.data) * part // PARTS]
            yield after(before, [*writes[:number], Written(write.offset, some)])
        yield after(before, writes[: number + 1])


def test_every_prefix_of_an_append_has_old_or_new_directories(tmp_path: Path) -> None:
    output, other = inputs(tmp_path)
    for _ in range(2):
        before = output.read_bytes()
        old = content(farroot, output)
        writes = appended(output, other)
        new = content(farroot, checked(output))
        assert old != new == content(uproot, output)
        assert after(before, writes) == output.read_bytes()
        assert {write.offset >= len(before) for write in writes} == {True, False}
        cut = tmp_path / "cut.root"
        steps = []
        for number, prefix in enumerate(prefixes(before, writes)):
            cut.write_bytes(prefix)
            found = content(farroot, cut)
            # uproot takes long.
            assert number % 3 or content(uproot, cut) == found
            for directory in old.keys() | new.keys():
                both = (old.get(directory), new.get(directory))
                assert found.get(directory) in both, f"prefix {number}: {found}"
            steps.append(sum(found.get(each) == new[each] for each in new))
        # A directory with its new content keeps it, and all have theirs at the end.
        assert steps == sorted(steps)
        assert (steps[0], steps[-1]) == (0, len(new))
