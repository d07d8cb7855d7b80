"""Measures how the time and the memory of each call grow with the size of what it works on.

    python bench/growth.py [--kinds columns,keys] [--calls merge] [--programs farroot]

Each call runs in a process of its own, for 10^2, 10^2.5, ... 10^5 columns, baskets, keys, files and
so on, up to the first run that takes more than --limit CPU seconds. Its exponent is the slope of
the logarithms of CPU time and size in the upper half of the sizes, where the time is above
--floor. Writes bench/record/growth.csv and growth.json, and the tables.
"""

from __future__ import annotations

import argparse
import math
import sys
from statistics import mean

import commands
import data
import growth_files
import machine
import record
import run
from growth_calls import CALLS, Call

SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
RECORD = data.BENCH / "record" / "growth"
#: A file that takes longer to be made is left out.
TIMEOUT_S = 300.0


def main() -> None:
    args = arguments()
    rows: list[dict] = []
    for call in CALLS:
        if not is_wanted(call.kind, args.kinds, whole=True) or not is_wanted(call.name, args.calls):
            continue
        for program in call.jobs:
            if is_wanted(program, args.programs):
                found = runs(call, program, args)
                print(line_of(summary(found, args.floor)), file=sys.stderr, flush=True)
                rows += found
    if not (args.kinds or args.calls or args.programs):
        write(rows, args.floor)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", help="only these, separated by commas; no record")
    parser.add_argument("--calls", help="only those whose names contain one of these; no record")
    parser.add_argument("--programs", help="only these; no record")
    parser.add_argument("--sizes", help="other sizes, separated by commas")
    parser.add_argument("--limit", type=float, default=8.0, help="CPU seconds of a run")
    parser.add_argument("--floor", type=float, default=0.05, help="CPU seconds that count")
    return parser.parse_args()


def is_wanted(name: str, words: str | None, whole: bool = False) -> bool:
    found = words.split(",") if words else [name]
    return any(word == name if whole else word in name for word in found)


def runs(call: Call, program: str, args: argparse.Namespace) -> list[dict]:
    """A run for each size, as far as time allows."""
    sizes = [int(size) for size in args.sizes.split(",")] if args.sizes else SIZES
    rows = []
    for size in sizes:
        if size > call.size_max:
            break
        row = {"kind": call.kind, "call": call.name, "program": program, "size": size}
        row |= one(call, program, size)
        rows.append(row)
        if row.get("cpu_s", math.inf) > args.limit:
            break
    return rows


def one(call: Call, program: str, size: int) -> dict:
    growth_files.path_of(call.kind, size)
    script = data.BENCH / "peers" / "growth.py"
    command = [run.python(), str(script), call.kind, call.name, program, str(size)]
    return commands.answer_of(command, {"FARROOT_STORE": "0"}, TIMEOUT_S)


def summary(rows: list[dict], floor_s: float) -> dict:
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
    line["exponent"] = slope([row for row in upper if row["cpu_s"] >= floor_s], "cpu_s")
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


def write(rows: list[dict], floor_s: float) -> None:
    keys = dict.fromkeys((row["kind"], row["call"], row["program"]) for row in rows)
    lines = [
        summary([row for row in rows if (row["kind"], row["call"], row["program"]) == key], floor_s)
        for key in keys
    ]
    about = "CPU time and memory of each call against the size of what it works on"
    facts = {"about": about, "figure": "exponent", "machine": machine.facts()}
    record.write(RECORD, facts, rows, lines)


if __name__ == "__main__":
    main()
