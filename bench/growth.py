"""Measures how the time and the memory of each call grow with the size of what it works on.

    python bench/growth.py [--kinds columns,keys] [--calls merge] [--programs farroot]

Each call runs in a process of its own, for 10^2, 10^2.5, ... 10^5 columns, baskets, keys and so on,
one after the other up to the first that takes more than --limit CPU seconds. Its exponent is the
slope of the logarithms of CPU time and size in the upper half of the sizes, where the time is above
--floor. Writes bench/record/growth.csv and growth.json after each call, and the tables at the end.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import subprocess
import sys
from statistics import mean

import commands
import data
import machine
import record
import run
import tables
from growth_calls import CALLS, Call

SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
RECORD = data.BENCH / "record" / "growth"
#: A file that takes longer to be made is left out.
TIMEOUT_S = 300.0


def main() -> None:
    args = arguments()
    is_part = bool(args.kinds or args.calls or args.programs)
    rows = recorded() if args.resume else []
    facts = machine.facts()
    done = {(row["kind"], row["call"], row["program"]) for row in rows}
    for call in CALLS:
        if not is_wanted(call.kind, args.kinds, whole=True) or not is_wanted(call.name, args.calls):
            continue
        for program in call.jobs:
            if (call.kind, call.name, program) in done or not is_wanted(program, args.programs):
                continue
            found = runs(call, program, args)
            print(line_of(summary(found, args.floor)), file=sys.stderr, flush=True)
            rows += found
            if not is_part or args.resume:
                write(rows, args.floor, facts)
    if not is_part or args.resume:
        tables.write()


def recorded() -> list[dict]:
    """The rows of the record."""
    path = RECORD.with_suffix(".csv")
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = [
            {key: text for key, text in row.items() if text != ""} for row in csv.DictReader(file)
        ]
    numbers = ("size", "cpu_s", "peak_bytes")
    return [row | {key: record.parsed(row[key]) for key in numbers if key in row} for row in rows]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", help="only these, separated by commas; no record")
    parser.add_argument("--calls", help="only those whose names contain one of these; no record")
    parser.add_argument("--programs", help="only these; no record")
    parser.add_argument(
        "--resume", action="store_true", help="add what the record lacks, also with the above"
    )
    parser.add_argument("--sizes", help="other sizes, separated by commas")
    parser.add_argument("--limit", type=float, default=8.0, help="CPU seconds of a call")
    parser.add_argument("--floor", type=float, default=0.05, help="CPU seconds that count")
    return parser.parse_args()


def is_wanted(name: str, words: str | None, whole: bool = False) -> bool:
    found = words.split(",") if words else [name]
    return any(word == name if whole else word in name for word in found)


def runs(call: Call, program: str, args: argparse.Namespace) -> list[dict]:
    """A row for each size, as far as time allows."""
    sizes = [int(size) for size in args.sizes.split(",")] if args.sizes else SIZES
    sizes = [size for size in sizes if size <= call.size_max]
    script = data.BENCH / "peers" / "growth.py"
    words = [call.kind, call.name, program, ",".join(map(str, sizes)), str(args.limit)]
    begun = {"kind": call.kind, "call": call.name, "program": program}
    try:
        done = subprocess.run(
            [run.python(), str(script), *words],
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


def write(rows: list[dict], floor_s: float, machine_facts: dict) -> None:
    keys = dict.fromkeys((row["kind"], row["call"], row["program"]) for row in rows)
    lines = [
        summary([row for row in rows if (row["kind"], row["call"], row["program"]) == key], floor_s)
        for key in keys
    ]
    about = "CPU time and memory of each call against the size of what it works on"
    facts = {"about": about, "figure": "exponent", "machine": machine_facts}
    record.write(RECORD, facts, rows, lines)


if __name__ == "__main__":
    main()
