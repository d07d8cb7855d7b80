"""Damaged files, through every way of reading, in processes that have little memory and time.

Counts are set to numbers that no file has, bits are flipped, files are cut. Each way ends in values
or in an error of farroot: never in a panic, an abort, another exception, or not at all.

``python -m tests.exhausted FIRST COUNT [FILE...]`` does so for any seeds, and prints the faults.
"""

from __future__ import annotations

import os
import random
import select
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from .skips import REPOSITORY

#: Memory beyond that of a process that has read something, and seconds for one way.
MEMORY, SECONDS = 1 << 30, 30
#: The values that replace counts.
COUNTS = (2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**48, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 0)
TESTDATA = REPOSITORY / "crates" / "rootfile" / "testdata"


def damage(content: bytes, seed: int) -> tuple[str, bytes]:
    """How bytes were damaged, as the seed says, and the result."""
    chance = random.Random(seed)
    damaged = bytearray(content)
    kind = chance.choice(["count", "count", "count", "flip", "cut"])
    if kind == "cut":
        end = chance.randrange(len(content))
        return f"cut at {end}", content[:end]
    if kind == "flip":
        places = [chance.randrange(len(content)) for _ in range(chance.choice([1, 3]))]
        for place in places:
            damaged[place] ^= 1 << chance.randrange(8)
        return f"flip {places}", bytes(damaged)
    width = chance.choice([2, 4, 4, 8, 8])
    order = chance.choice([">", ">", "<"])
    count = chance.choice(COUNTS) & (1 << 8 * width) - 1
    # Numbers are where zeros are: their high bytes.
    zeros = [at for at in range(len(content) - width) if not content[at]]
    place = chance.choice(zeros or [0])
    struct.pack_into(order + {2: "H", 4: "I", 8: "Q"}[width], damaged, place, count)
    return f"{count:#x} in {width} bytes at {place}", bytes(damaged)


def replaced(content: bytes, number: int) -> Iterator[tuple[str, bytes]]:
    """Each place at which a number stands, with each of the large counts there."""
    for width, name in ((8, "q"), (4, "i")):
        for order in "><":
            pattern = struct.pack(order + name, number)
            at = content.find(pattern)
            while at >= 0:
                for count in COUNTS:
                    damaged = bytearray(content)
                    value = count & (1 << 8 * width) - 1
                    struct.pack_into(order + name.upper(), damaged, at, value)
                    yield f"{value:#x} in {width} bytes at {at}", bytes(damaged)
                at = content.find(pattern, at + 1)


# Below: the process that reads.


def _tables(path: str) -> Iterator[Any]:
    import farroot

    file = farroot.open(path)
    for name, kind in file.classnames(recursive=True).items():
        if kind in ("TTree", "TNtuple", "TChain", "ROOT::RNTuple"):
            with suppress(farroot.Error):
                yield file[name]


def _steps(path: str, **options: Any) -> None:
    for table in _tables(path):
        for step in islice(table.iterate(**options), 3):
            len(step)


def _whole(path: str, **options: Any) -> None:
    for table in _tables(path):
        table.arrays(**options)


def _names(table: Any) -> list[str]:
    """Columns of plain numbers."""
    kinds = ("float", "double", "int32_t", "uint32_t", "int64_t", "std::int32_t", "std::int64_t")
    return [each.path for each in table.values() if each.typename in kinds]


def _cut(path: str, how: str) -> None:
    for table in _tables(path):
        for name in _names(table)[:1]:
            if how == "arrays":
                table.arrays(cut=f"{name} > 0")
            else:
                for step in islice(table.iterate(cut=f"{name} > 0", step_size=how), 3):
                    len(step)


def _virtual(path: str) -> None:
    for table in _tables(path):
        for step in islice(table.iterate(virtual=True, step_size="10 kB"), 3):
            for name in step.fields:
                step[name][:1].to_list()
        table.arrays(virtual=True)


def _chain(path: str) -> None:
    import farroot

    for table in _tables(path):
        chain = farroot.chain([table.address, table.address])
        for step in islice(chain.iterate(step_size=7), 3):
            len(step)
        with suppress(TypeError):
            len(chain.iterate(step_size=7))
        chain.arrays(entry_start=-5)


def _split(path: str) -> None:
    import farroot

    for table in _tables(path):
        for step in (7, "1 kB", "1 GB"):
            for part in islice(farroot.partitions([table.address], step_size=step), 3):
                str(part)
        table.num_entries_for("1 kB")
        with suppress(TypeError):
            len(table.iterate(step_size=1))


def _many(path: str) -> None:
    import farroot

    for table in _tables(path):
        with_gaps = farroot.iterate([table.address] * 2, step_size=7, on_error="report")
        for step in islice(with_gaps, 3):
            len(step)
        farroot.concatenate([table.address] * 2, entry_start=-7)
        list(farroot.num_entries([table.address]))


def _described(path: str) -> None:
    import io

    import farroot

    file = farroot.open(path)
    file.map()
    names = file.keys()
    for name in names:
        with suppress(farroot.Error):
            str(file[name])
    for table in _tables(path):
        table.show(stream=io.StringIO())
        table.plan()


def _copied(path: str, how: str) -> None:
    import farroot

    target = f"{path}.{how}"
    tables = list(_tables(path))
    try:
        if how == "merge":
            farroot.merge([path, path], target)
        for table in tables if how != "merge" else ():
            cut = next((f"{name} > 0" for name in _names(table)), None)
            if how == "skim":
                farroot.skim(table.address, target, overwrite=True)
            else:
                farroot.skim(table.address, target, cut=cut, overwrite=True)
    finally:
        with suppress(OSError):
            os.unlink(target)


def _shell(path: str, *words: str) -> None:
    """The command, in this process."""
    from farroot import _core

    code = _core.main(["farroot", words[0], path, *words[1:]])
    assert code in (0, 1), f"exit code {code}"


WAYS: dict[str, Any] = {
    "arrays": _whole,
    "arrays np": lambda path: _whole(path, library="np"),
    "first": lambda path: _whole(path, entry_stop=3),
    "last": lambda path: _whole(path, entry_start=-3),
    "iterate": _steps,
    "iterate 1": lambda path: _steps(path, step_size=1),
    "iterate 1 kB": lambda path: _steps(path, step_size="1 kB"),
    "iterate gaps": lambda path: _steps(path, step_size=7, on_error="report"),
    "cut": lambda path: _cut(path, "arrays"),
    "cut steps": lambda path: _cut(path, "1 kB"),
    "virtual": _virtual,
    "chain": _chain,
    "split": _split,
    "many": _many,
    "described": _described,
    "merge": lambda path: _copied(path, "merge"),
    "skim": lambda path: _copied(path, "skim"),
    "skim cut": lambda path: _copied(path, "skim cut"),
    "cat": lambda path: _shell(path, "cat"),
    "show": lambda path: _shell(path, "show"),
    "map": lambda path: _shell(path, "map"),
    "check": lambda path: _shell(path, "check"),
    "ls": lambda path: _shell(path, "ls", "-l"),
}


def _told(way: str, path: str) -> str:
    """The outcome of reading a file in one way."""
    import farroot

    try:
        WAYS[way](path)
    except farroot.Error as error:
        kind = type(error).__name__
        return f"FAULT {error}" if "defect" in str(error) else f"{kind}: {str(error)[:200]}"
    except MemoryError:
        return "MemoryError"
    except BaseException as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"FAULT {type(error).__name__}: {error!s:.200} at {where.filename}:{where.lineno}"
    return "read"


def serve() -> None:
    """Reads the file of each line, until there are no lines left."""
    import resource
    import warnings

    import farroot

    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 1)
    plain = str(TESTDATA / "plain.root")
    for way in ("arrays", "arrays np", "cut"):
        WAYS[way](plain)
    import pandas  # noqa: F401

    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY,) * 2)
    farroot.config(decode_threads=2)
    for line in sys.stdin:
        way, path = line.rstrip("\n").split("\t")
        answers.write(_told(way, path).replace("\n", " ") + "\n")


class Reader:
    """A process that reads, and another one in its place when it has come to its end."""

    def __init__(self, errors: Path) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._errors = errors

    def told(self, way: str, path: Path) -> str:
        """The outcome of reading a file in one way; also of the process itself."""
        if self._process is None:
            with self._errors.open("w") as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.exhausted", "serve"],
                    cwd=REPOSITORY / "python",
                    env={**os.environ, "FARROOT_STORE": "0"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(way, path, sep="\t", file=self._process.stdin, flush=True)
        is_there, _, _ = select.select([self._process.stdout], [], [], SECONDS)
        answer = self._process.stdout.readline() if is_there else ""
        if answer:
            return answer.rstrip()
        how = "no end" if not is_there else f"exit code {self._process.wait()}"
        self.close()
        said = self._errors.read_text(errors="replace").strip().splitlines()
        return f"FAULT {how}: {' / '.join(said[:2])[:300]}"

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def run(cases: Iterator[tuple[str, bytes]], ways: list[str] | None = None) -> list[str]:
    """The faults that reading damaged contents in so many ways shows."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(Path(folder) / "errors")
        target = Path(folder) / "damaged.root"
        try:
            for what, content in cases:
                target.write_bytes(content)
                for way in ways or WAYS:
                    told = reader.told(way, target)
                    if told.startswith("FAULT"):
                        faults.append(f"{what}, {way}: {told}")
                        print(faults[-1], flush=True)
        finally:
            reader.close()
    return faults


def files() -> list[Path]:
    """Small files of every writer, and of every kind of table."""
    return [path for path in sorted(TESTDATA.glob("*.root")) if path.stat().st_size < 100_000]


def cases(first: int, count: int, paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    for seed in range(first, first + count):
        path = paths[seed % len(paths)]
        what, content = damage(path.read_bytes(), seed)
        yield f"{path.name} seed {seed}, {what}", content


def main() -> int:
    if sys.argv[1:] == ["serve"]:
        serve()
        return 0
    first, count = map(int, sys.argv[1:3])
    paths = [Path(name) for name in sys.argv[3:]] or files()
    return 1 if run(cases(first, count, paths)) else 0


if __name__ == "__main__":
    sys.exit(main())
