"""Measures how the time and the memory of each call grow with the size of what it works on.

Each call runs in a process of its own, for 10^2, 10^2.5, ... 10^5 columns, baskets, keys and so on,
one after the other up to the first that takes more than some CPU seconds. Its exponent is the slope
of the logarithms of CPU time and size in the upper half of the sizes, where the time counts.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean

import commands
import data
from growth_calls import CALLS, Call
from model import Cell, Run

SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
#: CPU seconds of a call, after which no greater size is measured, and those that count.
LIMIT_S, FLOOR_S = 8.0, 0.05
#: A file that takes longer to be made is left out.
TIMEOUT_S = 300.0


class Growth:
    """All calls of all programs, for run.py: the kind of file takes the place of the link."""

    about = "CPU time and memory of each call against the size of what it works on"
    runs = 1

    def __init__(self) -> None:
        self.facts = {"figure": "exponent"}
        pairs = [(call, program) for call in CALLS for program in call.jobs]
        self.calls = {
            Cell(call.kind, f"{call.name}, {program}"): (call, program) for call, program in pairs
        }

    def cells(self) -> list[Cell]:
        return list(self.calls)

    def prepare(self) -> None:
        pass

    @contextmanager
    def lab(self) -> Iterator[list[str] | None]:
        yield None

    @contextmanager
    def opened(self) -> Iterator[Run]:
        yield lambda _, cell: runs(*self.calls[cell])

    def table(self, rows: list[dict]) -> list[dict]:
        keys = dict.fromkeys((row["kind"], row["call"], row["program"]) for row in rows)
        return [
            summary([row for row in rows if (row["kind"], row["call"], row["program"]) == key])
            for key in keys
        ]

    def text(self, lines: list[dict]) -> str:
        return "\n".join(map(line_of, lines))


def runs(call: Call, program: str) -> list[dict]:
    """A row for each size, as far as time allows."""
    sizes = [size for size in SIZES if size <= call.size_max]
    script = data.BENCH / "peers" / "growth.py"
    words = [call.kind, call.name, program, ",".join(map(str, sizes)), str(LIMIT_S)]
    begun = {"kind": call.kind, "call": call.name, "program": program}
    try:
        done = subprocess.run(
            [commands.python(), str(script), *words],
            capture_output=True,
            text=True,
            check=False,
            env={**commands.base_environment(), "FARROOT_STORE": "0"},
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode()
        return [*rows_of(output, begun), {**begun, "size": 0, "failed": "no answer in time"}]
    rows = rows_of(done.stdout, begun)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["no output"])[-1][:200]
        rows.append({**begun, "size": 0, "failed": why})
    return rows


def rows_of(output: str, begun: dict) -> list[dict]:
    found = [line for line in output.splitlines() if line.startswith("{")]
    return [begun | json.loads(line) for line in found]


def summary(rows: list[dict]) -> dict:
    """The greatest size, time and memory there, and the exponents."""
    good = [row for row in rows if "cpu_s" in row]
    line = {key: rows[0][key] for key in ("kind", "call", "program")}
    if len(good) < len(rows):
        line |= {"failed_at": rows[-1]["size"], "why": rows[-1]["failed"]}
    if not good:
        return line
    last = good[-1]
    line |= {key: last[key] for key in ("size", "cpu_s", "peak_bytes")}
    middle = math.sqrt(good[0]["size"] * last["size"])
    upper = [row for row in good if row["size"] >= middle]
    line["exponent"] = slope([row for row in upper if row["cpu_s"] >= FLOOR_S], "cpu_s")
    # Memory that the allocator has kept from the warm-up hides less.
    line["memory_exponent"] = slope(
        [row for row in upper if row["peak_bytes"] >= 100 << 20], "peak_bytes"
    )
    return line


def slope(rows: list[dict], key: str) -> float | None:
    """Of the logarithms, by least squares; None of less than two."""
    if len(rows) < 2:
        return None
    across = [math.log(row["size"]) for row in rows]
    up = [math.log(row[key]) for row in rows]
    centre, height = mean(across), mean(up)
    over = sum((x - centre) * (y - height) for x, y in zip(across, up, strict=True))
    return over / sum((x - centre) ** 2 for x in across)


def line_of(line: dict) -> str:
    start = f"{line['kind']:14} {line['call']:28} {line['program']:8}"
    if "size" not in line:
        return f"{start} failed: {line['why'][-200:]}"
    exponent, memory = (
        f"{line[key]:5.2f}" if line[key] is not None else "    -"
        for key in ("exponent", "memory_exponent")
    )
    failed = f" failed at {line['failed_at']}: {line['why'][-100:]}" if "failed_at" in line else ""
    return (
        f"{start} {line['size']:7} {line['cpu_s']:8.3f} s {line['peak_bytes'] / 1e6:7.0f} MB"
        f" n^{exponent} memory n^{memory}{failed}"
    )
