"""Reads three columns of h42 that are not in the page cache, from a local disk and from a mount of
FUSE that delays each read. Measures the time and the bytes read.

    python bench/posix.py [--runs 5] [--delay-ms 5]

Writes bench/record/posix.csv and .json. Without /dev/fuse, or the right to mount, it prints a
message and measures the local disk only.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import commands
import data
import machine
import record
import run
import slow_mount
from definitions import H42_COLUMNS, LOCAL_FARROOT, LOCAL_UPROOT, Experiment, Peer

DISK = "local disk"


def root(cache: str) -> Peer:
    return Peer(f"ROOT, cache {cache}", "root_getentry", "local", ("--cache", cache))


EXPERIMENT = Experiment(
    about="three branches of h42 that are not in memory, one thread",
    file="h42",
    columns=H42_COLUMNS,
    peers=(
        root("default"),
        root("trained"),
        root("none"),
        LOCAL_UPROOT,
        LOCAL_FARROOT,
        replace(LOCAL_FARROOT, name="farroot, two threads", environment={}),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--delay-ms", type=float, default=5.0)
    args = parser.parse_args()
    path = data.path_of(EXPERIMENT.file)
    facts = {"about": EXPERIMENT.about, "machine": machine.facts()}
    places: dict[str, Callable[[], contextlib.AbstractContextManager]] = {
        DISK: lambda: on_disk(path)
    }
    slow = f"{args.delay_ms:g} ms a read"
    places[slow] = lambda: on_slow_mount(path, args.delay_ms / 1000)
    rows = []
    for number in range(args.runs):
        for label, place in list(places.items()):
            for peer in EXPERIMENT.peers:
                row = {"run": number, "link": label, "peer": peer.name}
                try:
                    with place() as (there, counted):
                        row |= one(peer, there)
                        row |= {"disk_bytes": counted()} if counted else {}
                except OSError as error:
                    print(f"{label}: {error}: LEFT OUT", file=sys.stderr)
                    del places[label]
                    break
                rows.append(row)
                print(record.one_line(row), row.get("disk_bytes"), file=sys.stderr, flush=True)
    columns = data.facts_of(EXPERIMENT.file)["columns"]
    needed = sum(columns[name]["bytes"] for name in EXPERIMENT.columns)
    table = record.table(EXPERIMENT, list(EXPERIMENT.peers), rows)
    for line in table:
        if "disk_bytes" in line:
            line["disk_over_needed"] = line["disk_bytes"] / needed
    print(record.as_text(EXPERIMENT, table))
    for line in table:
        over = f"{line['disk_over_needed']:.2f}" if "disk_over_needed" in line else "?"
        print(f"{line['link']:16} {line['peer']:24} disk bytes / bytes needed: {over}")
    record.write(data.BENCH / "record" / "posix", facts, rows, table)


@contextlib.contextmanager
def on_disk(path: Path) -> Iterator[tuple[Path, None]]:
    """The file, dropped from the page cache. The process itself counts the bytes it reads."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    yield path, None


@contextlib.contextmanager
def on_slow_mount(path: Path, delay_s: float) -> Iterator[tuple[Path, Callable[[], int]]]:
    """The file in a mount of its own, and a function that returns the bytes read from it."""
    with slow_mount.mounted(path.parent, delay_s) as (folder, mount):
        yield folder / path.name, lambda: mount.bytes_read


def one(peer: Peer, path: Path) -> dict:
    script = data.BENCH / "peers" / f"{peer.script}.py"
    words = [str(path), *peer.options, "--tree", data.FILES[EXPERIMENT.file][1] or ""]
    command = [run.python(), str(script), *words, "--columns", ",".join(EXPERIMENT.columns)]
    environment = {"FARROOT_STORE": "0", **peer.environment}
    return commands.answer_of(command, environment, EXPERIMENT.timeout_s)


if __name__ == "__main__":
    main()
